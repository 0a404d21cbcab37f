"""Requests for inputs about a match: who accepts it, where it is played, how it ended."""

from __future__ import annotations

from evenmatch.engine.engine import Engine
from evenmatch.errors import NotHost, NotInMatch
from evenmatch.model.inputs import Accept, Assign, Close, Decline, Finish, Input, Open, Outcome
from evenmatch.server.auth.ownership import check_answer, speaks_for
from evenmatch.server.auth.principal import principal_of
from evenmatch.server.http.match_states import state_of_match, state_of_open_match
from evenmatch.server.http.responses import (
    ASSIGNMENT_BYTES_MAX,
    ASSIGNMENT_ENTRIES_MAX,
    InvalidRequest,
    Scope,
)
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.views.followers import ticket_state
from evenmatch.wire.backfill import BackfillState, OpenForBackfill
from evenmatch.wire.matches import AnswerCheck, MatchState, ReportOutcome
from evenmatch.wire.tickets import TicketState, decode

ANSWER = 'an object such as {"ticket": "s0-1", "players": ["ada"]}'
ASSIGNMENT = 'an object of texts such as {"connection": "10.0.0.1:7777"}'
OUTCOME = 'an outcome such as {"ranks": [1, 2]}'
OPENING = 'an object such as {"roster_version": 0, "left": ["ada"], "lease": 30}'
REPORT_BYTES_MAX = 262_144
"""Bytes of what names all players of a match; no input about a ticket or match takes more."""


class AnswerReadyCheck:
    """Accept a match for a ticket, or for some of its players; or turn it down.

    Args:
        runtime: Where the input is handed in.
        kind: Which of the two.
    """

    body_bytes_max = 65_536

    def __init__(self, runtime: Runtime, kind: type[Accept] | type[Decline]) -> None:
        self._runtime = runtime
        self._kind = kind

    def input_of(self, scope: Scope, body: bytes) -> Input:
        """Return the answer to the check."""
        given = decode(body, AnswerCheck, ANSWER)
        match_id, runtime = scope["path_params"]["match"], self._runtime
        caller = principal_of(scope)
        players = speaks_for(caller, runtime.engine, given.ticket, given.players)
        check_answer(caller, runtime.engine, match_id, given.ticket)
        return self._kind(runtime.now(), match_id, given.ticket, players)

    def answer(self, engine: Engine, input_: Accept | Decline) -> TicketState:
        """Return the ticket."""
        return ticket_state(engine.view(input_.ticket), self._runtime.now())


class _ChangeMatch:
    """A request that is answered with the match.

    Args:
        runtime: Where the input is handed in.
    """

    body_bytes_max = 65_536

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def answer(self, engine: Engine, input_: Assign | Finish | Outcome) -> MatchState:
        """Return the match."""
        return state_of_match(engine, input_.match)


class AssignMatch(_ChangeMatch):
    """Say where a match is played."""

    body_bytes_max = ASSIGNMENT_BYTES_MAX

    def input_of(self, scope: Scope, body: bytes) -> Input:
        """Return the assignment."""
        assignment = decode(body, dict[str, str], ASSIGNMENT)
        if not 1 <= len(assignment) <= ASSIGNMENT_ENTRIES_MAX:
            raise InvalidRequest(
                f"an assignment has 1 to {ASSIGNMENT_ENTRIES_MAX} entries, got {len(assignment)}"
            )
        match_id, caller = scope["path_params"]["match"], principal_of(scope)
        if caller.is_player:
            check_host(self._runtime.engine, match_id, caller.name)
        return Assign(self._runtime.now(), match_id, assignment)


class FinishMatch(_ChangeMatch):
    """End a live match, so that its players may queue again."""

    def input_of(self, scope: Scope, body: bytes) -> Input:
        """Return the end."""
        del body
        return Finish(self._runtime.now(), scope["path_params"]["match"])


class ReportMatch(_ChangeMatch):
    """Take what the game's service or a player says of how a match ended."""

    body_bytes_max = REPORT_BYTES_MAX

    def input_of(self, scope: Scope, body: bytes) -> Input:
        """Return the outcome."""
        told, caller = decode(body, ReportOutcome, OUTCOME), principal_of(scope)
        own = caller.name if caller.is_player else None
        if own is not None and told.player not in (None, own):
            raise NotInMatch(
                f"players can report only for themselves; leave player out, or give {own!r}",
                where="/player",
            )
        return Outcome(
            self._runtime.now(),
            scope["path_params"]["match"],
            told.ranks,
            told.points,
            told.handicap,
            told.teams,
            told.quitters,
            # Whether a match is wide is not for those to say who gain by it.
            told.wide if own is None and told.player is None else None,
            told.player if own is None else own,
        )


class _ChangeSeats:
    """A request that is answered with who plays, and who is asked for.

    Args:
        runtime: Where the input is handed in.
    """

    body_bytes_max = REPORT_BYTES_MAX

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def answer(self, engine: Engine, input_: Open | Close) -> BackfillState:
        """Return who plays, and who is asked for."""
        return state_of_open_match(engine, input_.match, self._runtime.now())


class OpenMatch(_ChangeSeats):
    """Ask for players for a running match, or go on asking."""

    def input_of(self, scope: Scope, body: bytes) -> Input:
        """Return the question."""
        given = decode(body, OpenForBackfill, OPENING)
        return Open(
            self._runtime.now(),
            scope["path_params"]["match"],
            given.roster_version,
            given.left,
            given.free,
            given.priority,
            given.lease,
            given.quality_floor,
        )


class CloseMatch(_ChangeSeats):
    """Ask for nobody any more."""

    def input_of(self, scope: Scope, body: bytes) -> Input:
        """Return the end of asking."""
        del body
        return Close(self._runtime.now(), scope["path_params"]["match"])


def check_host(engine: Engine, match_id: str, player: str) -> None:
    """Refuse a player who may not say where a match is played.

    Raises:
        NotHost: He is not the first of its hosts, or a hook of the game finds its server.
    """
    match = engine.match(match_id).match
    if (match.hosts or ("",))[0] != player:
        raise NotHost(
            f"player {player!r} is not the first of the hosts of match {match_id}", match=match_id
        )
    queue = engine.tables.queues.get(match.queue)
    if queue is not None and queue.allocation is not None:
        raise NotHost(
            f"the servers of queue {queue.name} come from its allocation hook, not from players",
            match=match_id,
        )
