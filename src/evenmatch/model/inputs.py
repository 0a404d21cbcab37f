"""Everything that can change the engine's state. Each input carries its instant, `now`."""

from __future__ import annotations

from typing import Any

import msgspec

from evenmatch.model.match import Priority
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player, Value


class _Input(msgspec.Struct, frozen=True, gc=False, tag_field="kind", tag=str.lower):
    now: float


class Configure(_Input, frozen=True):
    """Set the queues; the first input of every journal.

    `pause` names the queues that take no new tickets and make no matches; `by` says what brought
    the queues, where it was not the configuration that the server was started with.
    """

    queues: tuple[Queue, ...]
    seed: int = 0
    version: int = 1
    pause: tuple[str, ...] = ()
    by: str = ""


class Enqueue(_Input, frozen=True, omit_defaults=True):
    """Accept tickets; a bulk create is one input.

    `key` and `digest` are the caller's idempotency key and the digest of the request's body.
    `strict` refuses attributes that none of a ticket's queues declares: a server's callers are
    told of typing errors, while a simulation carries along whatever its file holds.
    """

    tickets: tuple[NewTicket, ...]
    key: str | None = None
    digest: str = ""
    strict: bool = False


class Cancel(_Input, frozen=True, omit_defaults=True):
    """Take a live ticket back; `reason` is `player`, `operator`, `silent` or a caller's word.

    `by` is the player who asks for it, where that is known.
    """

    ticket: str
    reason: str = "player"
    by: str | None = None


class Advance(_Input, frozen=True):
    """Let time pass: fire every wake-up and deadline due at `now`."""


class Assign(_Input, frozen=True):
    """Say where a match is played; `assignment` is opaque."""

    match: str
    assignment: dict[str, str]


class Finish(_Input, frozen=True):
    """End a live match, so that its players may queue again."""

    match: str


class Update(_Input, frozen=True, omit_defaults=True):
    """Refresh facts of a waiting ticket: what is given takes the place of what was.

    `players` name players of the ticket; their rating and roles, where given, and the attributes
    that are given, are replaced. `strict` is as in `Enqueue`.
    """

    ticket: str
    attributes: dict[str, Value] = {}
    players: tuple[Player, ...] = ()
    strict: bool = False


class Accept(_Input, frozen=True):
    """Confirm a proposal for these players of a ticket; empty means all of them."""

    match: str
    ticket: str
    players: tuple[str, ...] = ()


class Decline(_Input, frozen=True):
    """Turn a proposal down for these players of a ticket; empty means who has not accepted."""

    match: str
    ticket: str
    players: tuple[str, ...] = ()


class Prolong(_Input, frozen=True, omit_defaults=True):
    """Give those who are asked for acceptance more seconds, because the server was away.

    `tickets` names those whose clients may not be back yet; empty means everybody who is asked.
    """

    seconds: float
    tickets: tuple[str, ...] = ()


class Skip(_Input, frozen=True):
    """Wake no policy before `until`: of the rounds that were missed, the one then stands for all.

    Deadlines in between keep their instants, and a queue still decides before one of its own.
    Until `now` itself it skips nothing: its record only says how late it is, see
    `server.runtime.time_records`.
    """

    until: float


class Open(_Input, frozen=True, omit_defaults=True):
    """Ask for players for the free seats of a running match (backfill); a repeat is a heartbeat.

    Args:
        match: The match.
        roster_version: How often the match has been filled, as far as the caller knows.
        left: Players who have left it, now or before.
        free: Seats by team that are to be filled; empty means all that are free.
        priority: Before, among, or after new matches.
        lease: Seconds after which it closes unless it is asked for again.
        quality_floor: The least that the match may be worth with the newcomers.
        ticket: Under which the caller asks again how the request does; empty if they do not.
        steps: Later priorities: seconds after the request, rising, and what holds from then on.
    """

    match: str
    roster_version: int
    left: tuple[str, ...] = ()
    free: tuple[int, ...] = ()
    priority: Priority = "normal"
    lease: float = 30.0
    quality_floor: float = 0.0
    ticket: str = ""
    steps: tuple[tuple[float, Priority], ...] = ()


class Register(_Input, frozen=True, omit_defaults=True):
    """Ask for players for a match that was made elsewhere; its roster comes with the request.

    The match ends here with the request: with the first who join it, or without anybody. One of
    the same session that still asks for players gives way to the new one.

    Args:
        queue: The queue whose tickets may join, and whose rules say who.
        teams: Who plays now, by team, in the order of the queue's format.
        session: Under which its backend knows it; empty if it has no name.
        region: Where it is played; None where nothing says so.
        ticket: Under which the caller asks again how the request does; empty if they do not.
        priority: Before, among, or after new matches.
        steps: Later priorities: seconds after the request, rising, and what holds from then on.
        lease: Seconds after which the request ends.
    """

    queue: str
    teams: tuple[tuple[Player, ...], ...]
    session: str = ""
    region: str | None = None
    ticket: str = ""
    priority: Priority = "normal"
    steps: tuple[tuple[float, Priority], ...] = ()
    lease: float = 30.0


class Close(_Input, frozen=True):
    """Stop asking for players for a running match."""

    match: str


class Void(_Input, frozen=True):
    """Call a match off because there is no place to play it; its tickets wait again."""

    match: str
    reason: str


class Outcome(_Input, frozen=True, omit_defaults=True):
    """Report the result of a played match, in the form of `evenmatch.rate`.

    Args:
        match: The match.
        ranks: Place of each team; lower is better, equal is a draw.
        points: In place of ranks: what each team scored; higher is better.
        handicap: Points given to each team before the start; None means those of the match.
        teams: Player ids by team; empty means the teams of the match, in its order.
        quitters: Players who left before the end.
        wide: Whether the match was made far beyond the usual gap; None asks the match.
        player: The player who reports; None for the game's own service.
    """

    match: str
    ranks: tuple[float, ...] | None = None
    points: tuple[float, ...] | None = None
    handicap: tuple[float, ...] | None = None
    teams: tuple[tuple[str, ...], ...] = ()
    quitters: tuple[str, ...] = ()
    wide: bool | None = None
    player: str | None = None


class Settle(_Input, frozen=True, omit_defaults=True):
    """Hand in the plan of a finished job: groups of ticket ids, and data for the policy alone.

    `number` is the one that the engine gave the job; of a job that it does not know, or has
    forgotten since, nothing comes.
    """

    queue: str
    number: int
    matches: tuple[tuple[str, ...], ...] = ()
    data: dict[str, Any] = {}


Input = (
    Configure
    | Enqueue
    | Cancel
    | Advance
    | Assign
    | Finish
    | Update
    | Accept
    | Decline
    | Prolong
    | Skip
    | Open
    | Register
    | Close
    | Void
    | Outcome
    | Settle
)
