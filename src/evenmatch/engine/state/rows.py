"""Rows of the tables: what the engine keeps of tickets, matches, proposals, players and keys."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from evenmatch.engine.state.transitions import PROPOSED, WAITING
from evenmatch.model.events import Refused
from evenmatch.model.match import Match, MatchOutcome, OpenMatch, Result
from evenmatch.model.queue import Backfill, Queue
from evenmatch.model.ticket import Rating, Ticket

KEEP_ENDED = 600.0
"""Seconds for which ended tickets and idempotency keys are kept."""


class LiveTicket(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A live ticket, the queues it still waits in, and the record of its last change.

    While a proposal has it, `match` is the proposal's id, and it is in no pool.
    """

    ticket: Ticket
    queues: tuple[str, ...]
    changed: int
    match: str | None = None

    @property
    def state(self) -> str:
        """Return the state of the ticket."""
        return WAITING if self.match is None else PROPOSED


class EndedTicket(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A ticket that no longer waits."""

    state: str
    sequence: int
    queues: tuple[str, ...]
    enqueued_at: float
    ended_at: float
    changed: int
    reason: str | None = None
    match: str | None = None
    players: tuple[str, ...] = ()


class KeptMatch(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A match with the record that made it, and what became of it.

    While it is `live`, its players may not queue again if its queue says so, and it may be filled
    where its queue allows that; at most until `ends_at`. A match that was called off has the
    reason in `void`, and in `voided` the record. Once its roster is done with, `fills` are the
    matches that filled it and `left` the players who had left, for outcomes that come later.
    One that is `registered` was made elsewhere, and is here only to be filled.
    """

    made: int
    match: Match
    live: bool = False
    ends_at: float = 0.0
    assignment: dict[str, str] | None = None
    assigned: int = 0
    void: str | None = None
    voided: int = 0
    outcome: MatchOutcome | None = None
    fills: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    registered: bool = False


class TicketView(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="event", tag="view"
):
    """A ticket as its owner sees it; `changed` is the record of its last change.

    While it is proposed, `accepted` are those of its players who have accepted. Until all of them
    have, `answer_by` is the instant by which it has to answer, and `long_wait` says that it had
    waited so long when it was asked that its players may have walked away. `size` is the number of
    its players.

    The tag tells it from `Refused` in the answers that idempotency keys keep.
    """

    id: str
    state: str
    queues: tuple[str, ...]
    enqueued_at: float
    changed: int
    ended_at: float | None = None
    reason: str | None = None
    match: str | None = None
    assignment: dict[str, str] | None = None
    answer_by: float | None = None
    long_wait: bool = False
    accepted: tuple[str, ...] = ()
    size: int = 1


class IdempotencyKey(msgspec.Struct, frozen=True, gc=False):
    """An idempotency key: the digest of its request, and the answer that it got."""

    digest: str
    at: float
    results: tuple[TicketView | Refused, ...]


class Proposal(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A match that waits for its players' acceptance.

    Args:
        made: The record that made it.
        match: The match as it is now.
        queue: Its queue as it was then: a proposal ends under the settings it began with.
        proposed_at: When it was proposed first, seconds.
        quality: What it was worth then; a repair may cost `ReadyCheck.loss_max` of it.
        until: Until when each ticket has to answer.
        accepted: The players of each ticket who have accepted.
        version: How often its players have changed.
        left: The players who have left it.
        open: Its free seats while replacements are sought; None while it is full.
    """

    made: int
    match: Match
    queue: Queue
    proposed_at: float
    quality: float | None
    until: dict[str, float]
    accepted: dict[str, tuple[str, ...]] = {}
    version: int = 0
    left: tuple[str, ...] = ()
    open: OpenMatch | None = None

    @property
    def tickets(self) -> tuple[str, ...]:
        """Return the ids of the tickets that are in it now."""
        if self.open is None:
            return self.match.tickets
        seated = {ticket_id for team in self.open.seated for ticket_id in team}
        return tuple([ticket_id for ticket_id in self.match.tickets if ticket_id in seated])

    def is_due_at(self, at: float) -> bool:
        """Return whether an answer or the end of the repair is due at this very instant."""
        return at in self.until.values() or (self.open is not None and self.open.expires_at == at)


def live_view(row: LiveTicket, proposal: Proposal | None) -> TicketView:
    """Return a live ticket as its owner sees it; `proposal` is the one that has it."""
    ticket = row.ticket
    known = (row.queues, ticket.enqueued_at, row.changed)
    view = TicketView(ticket.id, WAITING, *known, size=ticket.size)
    if proposal is None:
        return view
    accepted = proposal.accepted.get(ticket.id, ())
    view = replace(view, state=PROPOSED, match=row.match, accepted=accepted)
    if len(accepted) == ticket.size:
        return view
    by, accept = proposal.until[ticket.id], proposal.queue.accept
    since, latest = ticket.enqueued_at, proposal.match.at
    is_long = accept is not None and accept.had_waited_long(since, by, latest)
    return replace(view, answer_by=by, long_wait=is_long)


class FailedProposal(msgspec.Struct, frozen=True, gc=False):
    """A proposal that failed."""

    at: float
    reason: str


class Penalty(msgspec.Struct, frozen=True, gc=False):
    """How often a player failed ready-checks recently, and until when they may not queue."""

    count: int
    at: float
    until: float


Seated = tuple[tuple[Ticket, ...], ...]
"""Tickets by team, without the players who have left."""


class Roster(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Who plays in a running match.

    Args:
        queue: Name of its queue.
        seats: Seats by team.
        teams: The tickets that play now, by team, without the players who have left.
        roles: The role of each player who plays now; empty where there are none.
        region: Where it is played; None where nothing says so.
        version: How often it has been filled.
        since: Instant from which seats are free, seconds.
        left: Players who have left; they never come back to this match.
        fills: The matches that filled it.
        backfill: Whether it may be filled; None: it is kept only until it has a server.
        allocation: Name of the hook that is to find a server; None where it has one.
        open: The free seats that are to be filled; None while it asks for nobody.
        opened: The last instants at which it was opened.
        session: Under which its backend knows a match that was made elsewhere; empty of others.
        proposed: The fill that waits for its newcomers' acceptance, and has its seats until then;
            empty if there is none.
    """

    queue: str
    seats: tuple[int, ...]
    teams: Seated
    roles: dict[str, str] = {}
    region: str | None = None
    version: int = 0
    since: float = 0.0
    left: tuple[str, ...] = ()
    fills: tuple[str, ...] = ()
    backfill: Backfill | None = None
    allocation: str | None = None
    open: OpenMatch | None = None
    opened: tuple[float, ...] = ()
    session: str = ""
    proposed: str = ""

    @property
    def players(self) -> tuple[tuple[str, ...], ...]:
        """Return the ids of those who play now, by team."""
        return tuple([tuple([p.id for t in team for p in t.players]) for team in self.teams])

    @property
    def free(self) -> tuple[int, ...]:
        """Return the free seats by team; computer players give theirs up."""
        sizes = [sum([ticket.size for ticket in team]) for team in self.teams]
        return tuple([seats - size for seats, size in zip(self.seats, sizes, strict=True)])


class BackfillTicket(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A request to fill a match, under its caller's name for it.

    Args:
        queue: Name of the queue.
        match: The match that asks for players.
        enqueued_at: Instant of the request, seconds.
        state: `waiting`, `matched`, `cancelled` or `expired`.
        reason: Why it ended without newcomers.
        ended_at: When it ended; None while it waits.
        fill: The match that brought newcomers.
    """

    queue: str
    match: str
    enqueued_at: float
    state: str = WAITING
    reason: str | None = None
    ended_at: float | None = None
    fill: str | None = None


class StoredRating(msgspec.Struct, frozen=True, gc=False):
    """A rating, and the instant of the period, or of the outcome, in which it was made."""

    rating: Rating
    at: float


Ladder = dict[str, StoredRating]
"""Ratings by player, longest inactive first."""


class Period(msgspec.Struct):
    """The outcomes of a rating period, which are rated together.

    Args:
        system: The SPEC by which they are rated.
        seconds: How long a period is.
        starts_at: Engine time.
        ends_at: Engine time; while its outcomes are rated, that of the next slice.
        results: By match.
        played: The matches of each player, by the player's first match.
        before: Ratings at the start, of those who have their new ones already.
    """

    system: str
    seconds: float
    starts_at: float
    ends_at: float
    results: dict[str, Result] = {}
    played: dict[str, tuple[str, ...]] = {}
    before: dict[str, StoredRating | None] = {}

    def copy(self) -> Period:
        """Return a copy that later folds do not touch."""
        return msgspec.structs.replace(
            self, results=dict(self.results), played=dict(self.played), before=dict(self.before)
        )
