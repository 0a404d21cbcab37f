"""StartMatchBackfill: a game session asks for players, and brings its roster with it.

    the session of a match that this server made, and all players given still play in it
        -> the match itself asks for players (`Open`)
    any other session, or none
        -> the roster given becomes a match of its own for as long as it asks (`Register`)

Both are inputs with the caller's ticket id, so what became of a request is journalled.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from evenmatch.config.gamelift import queue_name_of
from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import BackfillTicket, Roster
from evenmatch.engine.state.state import Tables
from evenmatch.errors import InvalidOpening, MatchmakingError, NoBackfill
from evenmatch.model.inputs import Close, Input, Open, Register
from evenmatch.model.match import Priority
from evenmatch.model.ticket import Player
from evenmatch.rules.flexmatch.rule_set import AlgorithmExpansion, RuleSet
from evenmatch.server.auth.ownership import check_match
from evenmatch.server.auth.principal import Principal
from evenmatch.server.gamelift import arns, shapes
from evenmatch.server.gamelift.memory import PREFIX, GameLiftMemory
from evenmatch.server.gamelift.players import players_of, shape_of
from evenmatch.server.gamelift.resources import Resources
from evenmatch.server.gamelift.service_errors import invalid
from evenmatch.server.gamelift.shapes import Status
from evenmatch.server.gamelift.ticket_view import WHY, played_in, side_name
from evenmatch.server.runtime.runtime import Runtime

PRIORITIES: Mapping[str, Priority] = {"high": "high", "normal": "normal", "low": "low"}
STATUS: Mapping[str, Status] = {
    "waiting": "SEARCHING",
    "matched": "COMPLETED",
    "cancelled": "CANCELLED",
    "expired": "TIMED_OUT",
}


class Backfills:
    """The backfills of one server.

    Args:
        runtime: The shard at work.
        resources: Its configurations.
        rule_set: Gives a rule set by its name.
        wall: Unix time of an engine instant.
        memory: Keeps what the players of a request came with.
    """

    def __init__(
        self,
        runtime: Runtime,
        resources: Resources,
        rule_set: Callable[[str], RuleSet],
        wall: Callable[[float], float],
        memory: GameLiftMemory,
    ) -> None:
        self._runtime = runtime
        self._resources = resources
        self._rule_set = rule_set
        self._wall = wall
        self._memory = memory

    def __contains__(self, ticket: str) -> bool:
        """Return whether a ticket is one of a backfill."""
        return PREFIX + ticket in self._tables.backfills

    @property
    def _tables(self) -> Tables:
        return self._runtime.engine.tables

    async def start(
        self, request: shapes.StartMatchBackfill, caller: Principal
    ) -> shapes.MatchmakingTicket:
        """Let a session ask for players; an earlier request of the same session ends.

        Raises:
            ServiceError: The players fit neither the rule set nor its teams, or the id was used.
        """
        name, table = self._resources.configuration(request.configuration_name)
        rule_set = self._rule_set(table.rule_set)
        players = players_of(request.players, rule_set)
        ticket = request.ticket_id if request.ticket_id is not None else str(uuid.uuid4())
        if not ticket or ticket in self or self._tables.knows(PREFIX + ticket):
            raise invalid(f"TicketId: {ticket!r} was used before, or is empty")
        queue = queue_name_of(name)
        sides = self._tables.queues[queue].format.sides
        places = [_side_of(at, each.team, sides) for at, each in enumerate(request.players)]
        asking: dict[str, Any] = {
            "ticket": PREFIX + ticket,
            "priority": PRIORITIES[rule_set.algorithm.backfill_priority],
            "steps": _steps_in(rule_set),
            "lease": float(table.request_timeout),
        }
        arn = request.game_session_arn or ""
        match = self._seen(arns.match_in(arn), caller) if arn.startswith(arns.SESSION) else ""
        roster = self._own(match, queue)
        if roster is not None and _plays_as(roster, players, places):
            left = sorted({p for team in roster.players for p in team} - {p.id for p in players})
            if not left and not any(roster.free):
                raise invalid("Players: no place is free; name those who still play only")
            opening: Input = Open(self._runtime.now(), match, roster.version, tuple(left), **asking)
        else:
            if roster is not None and roster.open is not None:
                await self._runtime.ask(Close(self._runtime.now(), match))
            teams = tuple(
                tuple(p for p, place in zip(players, places, strict=True) if place == at)
                for at in range(len(sides))
            )
            region = arns.location_in(arn)
            kept_match = self._tables.matches.get(match)
            if (
                kept_match is not None
                and kept_match.registered
                and kept_match.assignment is not None
            ):
                arn = kept_match.assignment["session"]
            opening = Register(self._runtime.now(), queue, teams, arn, region, **asking)
        try:
            await self._runtime.ask(opening)
        except (InvalidOpening, NoBackfill) as error:
            raise invalid(f"Players: {error.message}") from None
        self._memory.keep_roster(ticket, request.players)
        return self.describe(self._runtime.engine, ticket, is_new=True)

    async def stop(self, ticket: str) -> None:
        """Let a session ask for no more players.

        Raises:
            ServiceError: The request has ended otherwise.
        """
        row = self._tables.backfills[PREFIX + ticket]
        if row.state == "waiting":
            await self._runtime.ask(Close(self._runtime.now(), row.match))
            row = self._tables.backfills[PREFIX + ticket]
        if row.state != "cancelled":
            raise invalid(f"ticket {ticket!r} has ended: {STATUS[row.state]}")

    def describe(
        self, engine: Engine, ticket: str, *, is_new: bool = False
    ) -> shapes.MatchmakingTicket:
        """Return a backfill's ticket as GameLift shows it, with its newcomers once it is done."""
        tables = engine.tables
        row = tables.backfills[PREFIX + ticket]
        name = self._name_of(row.queue)
        status, (reason, message) = _status_of(tables, row)
        if is_new:
            status, reason, message = "QUEUED", "", ""
        return shapes.MatchmakingTicket(
            ticket_id=ticket,
            configuration_name=name,
            configuration_arn=arns.arn_of(arns.CONFIGURATION, name),
            status=status,
            status_reason=reason or None,
            status_message=message or None,
            start_time=self._wall(row.enqueued_at),
            end_time=None if row.ended_at is None else self._wall(row.ended_at),
            players=self._shown(tables, ticket, row),
            game_session_connection_info=shapes.GameSessionConnectionInfo(
                game_session_arn=played_in(tables, row.match)
            ),
        )

    def queue_of(self, ticket: str) -> str:
        """Return the queue of a backfill."""
        return self._tables.backfills[PREFIX + ticket].queue

    def _seen(self, match: str, caller: Principal) -> str:
        """Return a match; "" if the caller's key is for other queues, like a session of others."""
        try:
            check_match(caller, self._runtime.engine, match)
        except MatchmakingError:
            return ""
        return match

    def _name_of(self, queue: str) -> str:
        found = self._resources.of_queue(queue)
        return queue if found is None else found[0]

    def _own(self, match: str, queue: str) -> Roster | None:
        """Return the roster of a match that this server made and that still runs; else None.

        Raises:
            ServiceError: It is one of another configuration.
        """
        if not match:
            return None
        try:
            roster = self._runtime.engine.roster(match)
        except MatchmakingError:
            return None
        if roster.session:
            return None
        if roster.queue != queue:
            raise invalid(f"ConfigurationName: match {match} is one of {roster.queue!r}")
        return roster

    def _shown(
        self, tables: Tables, ticket: str, row: BackfillTicket
    ) -> tuple[shapes.PlayerShape, ...]:
        """Return who plays in the match now; of those who came since, the ids and the team."""
        asked = self._memory.roster_of(ticket)
        if row.state not in ("waiting", "matched") and asked:
            return asked
        roster = tables.rosters.get(row.match)
        known: dict[str | None, shapes.PlayerShape] = {}
        if roster is not None:
            seated = [p for team in roster.teams for t in team for p in t.players]
            known.update((p.id, shape_of(p)) for p in seated)
        known.update((each.player_id, each) for each in asked)
        return tuple(
            replace(
                known.get(name) or shapes.PlayerShape(player_id=name),
                team=side_name(tables, row.queue, at),
            )
            for at, team in enumerate(_teams_in(tables, row))
            for name in team
        )


def _side_of(at: int, team: str | None, sides: Sequence[str]) -> int:
    """Return the number of a player's team.

    Raises:
        ServiceError: The player has none, or one that there is not.
    """
    if team is None and len(sides) == 1:
        return 0
    if team is None or team not in sides:
        got = "is missing" if team is None else f"{team[:64]!r} is no team"
        raise invalid(f"Players[{at}].Team: {got}; the rule set has {', '.join(sides)}")
    return sides.index(team)


def _steps_in(rule_set: RuleSet) -> tuple[tuple[float, Priority], ...]:
    """Return the later priorities of a rule set; of two that begin at once, the last one."""
    steps: dict[float, Priority] = {}
    for each in rule_set.expansions:
        if isinstance(each, AlgorithmExpansion) and each.field == "backfill_priority":
            steps |= {step.wait: PRIORITIES[str(step.value)] for step in each.steps}
    return tuple(sorted(steps.items()))


def _plays_as(roster: Roster, players: Sequence[Player], places: Sequence[int]) -> bool:
    """Return whether all these players play in a match, each in the team that is given."""
    teams = roster.players
    return all(each.id in teams[at] for each, at in zip(players, places, strict=True))


def _status_of(tables: Tables, row: BackfillTicket) -> tuple[Status, tuple[str, str]]:
    if row.state == "waiting":
        roster = tables.rosters.get(row.match)
        if roster is not None and roster.proposed:
            return "REQUIRES_ACCEPTANCE", ("", "")
        return ("QUEUED" if row.queue in tables.paused else "SEARCHING"), ("", "")
    if row.state == "matched":
        return "COMPLETED", ("", "")
    if row.reason == "match_over":
        return "FAILED", WHY["match_over"]
    return STATUS[row.state], WHY.get(row.reason or "", ("Cancelled", f"Cancelled: {row.reason}."))


def _teams_in(tables: Tables, row: BackfillTicket) -> tuple[tuple[str, ...], ...]:
    """Return who plays in the match of a request now, or did when it ended, by team."""
    roster = tables.rosters.get(row.match)
    if roster is not None:
        return roster.players
    kept_match = tables.matches.get(row.match)
    if kept_match is None:
        return ()
    fills = [tables.matches[fill].match for fill in kept_match.fills if fill in tables.matches]
    return tuple(
        tuple(name for each in (kept_match.match, *fills) for name in each.players[at])
        for at in range(len(kept_match.match.players))
    )
