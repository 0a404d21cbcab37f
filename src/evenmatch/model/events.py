"""What came of an input: facts in the order in which they happened.

Each has a fold in `engine.state.reducers.REDUCERS`; the views of a server pick those that they
know.
"""

from __future__ import annotations

import msgspec

from evenmatch.model.match import Match, OpenMatch, Result
from evenmatch.model.ticket import Rating, Ticket


class _Event(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag=str.lower):
    pass


class Configured(_Event, frozen=True):
    """The queues of the input are in force."""


class Placed(msgspec.Struct, frozen=True, gc=False):
    """The percentile of each player of a ticket among the `last` values of a queue."""

    last: int
    places: tuple[float, ...]


class Accepted(_Event, frozen=True, omit_defaults=True):
    """Ticket number `item` of the input waits now, under this id and sequence.

    `percentiles` says where it stands among the last values of its queues, by `queue/attribute`,
    `ratings` what the shard knew of those of its players who came without a rating, `defaults` what
    its queues take for attributes that it left out.
    """

    item: int
    ticket: str
    sequence: int
    percentiles: dict[str, Placed] = {}
    ratings: dict[str, Rating] = {}
    defaults: dict[str, float | str | tuple[str, ...]] = {}


class Existing(_Event, frozen=True):
    """Item `item` names exactly the players of a live ticket; nothing new was made."""

    item: int
    ticket: str


class Refused(_Event, frozen=True, omit_defaults=True):
    """Item `item` was refused; the other items are not affected.

    `seconds` later it may be taken, where that is known.
    """

    item: int
    code: str
    message: str
    where: str = ""
    ticket: str | None = None
    match: str | None = None
    seconds: float | None = None


class Matched(_Event, frozen=True):
    """A match was made; its tickets wait no longer."""

    match: Match


class Updated(_Event, frozen=True, omit_defaults=True):
    """A waiting ticket has other attributes now, and these places by percentile.

    It is the ticket of the input; or, at an advance, one whose players met so long ago that it
    counts no more for a `pair_limit`.
    """

    ticket: str
    percentiles: dict[str, Placed] = {}


class Proposed(_Event, frozen=True):
    """A match waits for its players' acceptance, each ticket's until an instant."""

    match: Match
    until: dict[str, float]


class Confirmed(_Event, frozen=True):
    """Players of a ticket accepted a proposal."""

    match: str
    ticket: str
    players: tuple[str, ...]


class SeatsFreed(_Event, frozen=True):
    """A proposal has lost players, and replacements are sought for their seats only."""

    open: OpenMatch


class Repaired(_Event, frozen=True):
    """A proposal is full again: `match` is what it is now; `joined` must answer by `until`."""

    match: Match
    joined: tuple[str, ...]
    until: dict[str, float]


class Prolonged(_Event, frozen=True):
    """Whoever is asked has until later to answer, and a repair until later to succeed."""

    match: str
    until: dict[str, float]
    expires_at: float | None


class Skipped(_Event, frozen=True):
    """Policies are asked again when the time that the server missed is over."""


WITHDRAWN = "fill_withdrawn"
"""Reason of a proposal that came to nothing because the match that it was to fill asks for nobody
any more, or for others: nobody has failed it."""


class Dissolved(_Event, frozen=True):
    """A proposal came to nothing; those of its tickets that have not ended wait again."""

    match: str
    reason: str
    tickets: tuple[str, ...]


class Penalised(_Event, frozen=True):
    """A player failed a ready-check, the `count`-th time, and may queue again from `until` on."""

    player: str
    group: str
    count: int
    until: float


class LeftQueue(_Event, frozen=True):
    """A ticket's deadline took it out of one queue; it still waits in others."""

    ticket: str
    queue: str


class Cancelled(_Event, frozen=True, omit_defaults=True):
    """A live ticket was taken back; `match` is the proposal that it left, if it was in one."""

    ticket: str
    reason: str
    match: str | None = None


class Expired(_Event, frozen=True):
    """A ticket ended without a match."""

    ticket: str
    reason: str


class Assigned(_Event, frozen=True, omit_defaults=True):
    """The match has a place to be played: the one of the input, unless `assignment` says it."""

    match: str
    assignment: dict[str, str] | None = None


class Opened(_Event, frozen=True, omit_defaults=True):
    """A running match asks for players, or for longer; `left` are players who are new to have left.

    Without free seats it only says who has left.
    """

    open: OpenMatch
    left: tuple[str, ...] = ()


class Registered(_Event, frozen=True):
    """A match that was made elsewhere is known now, with its tickets by team; `opened` follows."""

    match: Match
    teams: tuple[tuple[Ticket, ...], ...]
    session: str
    ends_at: float


class Closed(_Event, frozen=True):
    """A running match asks for players no longer.

    The reason is `close`, `lease`, `queue_changed`, or `replaced` by a newer request.
    """

    match: str
    reason: str


class Voided(_Event, frozen=True, omit_defaults=True):
    """A match was called off, and its `fills` with it; these tickets wait again.

    Its players are not matched as the same set again before `again_at`.
    """

    match: str
    reason: str
    tickets: tuple[Ticket, ...]
    again_at: float
    fills: tuple[str, ...] = ()


class Finished(_Event, frozen=True):
    """A live match ended; `reason` is `finish`, `match_max` or `outcome`."""

    match: str
    reason: str


class JobAsked(_Event, frozen=True):
    """A queue's policy asked for a job; the engine numbers the jobs of a shard from 1."""

    queue: str
    number: int


class JobSettled(_Event, frozen=True):
    """A job is over; `dropped` matches of its plan could not be played any more."""

    queue: str
    number: int
    dropped: int


class Reported(_Event, frozen=True):
    """A player reported how the match ended; the reports are judged at `until`."""

    match: str
    player: str
    result: Result
    until: float


class Counted(_Event, frozen=True):
    """The outcome of a match counts: the game's service said so, or its players agree.

    `ladder` is where it waits for the end of the rating period, None if it does not.
    """

    match: str
    result: Result
    ladder: str | None = None


class Disputed(_Event, frozen=True):
    """The players of a match did not agree on its outcome in time."""

    match: str


class PeriodBegan(_Event, frozen=True):
    """A ladder collects the outcomes of a rating period, to be rated by `system`.

    `seconds` is how long periods are; the bounds are engine time.
    """

    ladder: str
    system: str
    seconds: float
    starts_at: float
    ends_at: float


class PeriodEnded(_Event, frozen=True):
    """A ladder's rating period is over; its outcomes are rated slice by slice."""

    ladder: str


class Rated(_Event, frozen=True):
    """New ratings of these players, made at `at`, or in the rating period that began then.

    `next_at` is when the next slice of the period is rated; None of a single outcome.
    """

    ladder: str
    ratings: dict[str, Rating]
    at: float
    next_at: float | None = None


Event = (
    Configured
    | Accepted
    | Existing
    | Refused
    | Matched
    | Updated
    | Proposed
    | Confirmed
    | SeatsFreed
    | Repaired
    | Dissolved
    | Prolonged
    | Skipped
    | Penalised
    | LeftQueue
    | Cancelled
    | Expired
    | Assigned
    | Opened
    | Registered
    | Closed
    | Voided
    | Finished
    | JobAsked
    | JobSettled
    | Reported
    | Counted
    | Disputed
    | PeriodBegan
    | PeriodEnded
    | Rated
)
