"""What a decision makes: matches, and matches with seats still free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from evenmatch.model.ticket import Rating

Priority = Literal["low", "normal", "high"]
"""Whether free seats of a running match are filled after, among or before new matches."""


class Match(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Tickets divided into teams; a match is final unless its allocation fails.

    Args:
        id: Unique in the shard.
        queue: Name of the queue.
        at: Engine time of the decision, seconds.
        tickets: Ticket ids by (enqueued_at, sequence).
        teams: Ticket ids by team, in the order of the format's sides.
        players: Player ids by team.
        bots: Seats filled by computer players.
        cost: What the criteria and the waits cost together; lower is better.
        quality: 1 minus the weighted mean cost of the criteria, without waits; None if no criterion
            is scaled to [0, 1].
        extends: The running match that this one fills, or None. In that case `tickets`, `teams`,
            `players` and `roles` are those of the newcomers only. `quality` and the criteria in
            `cost` are those of the whole match with them; the waits in `cost` are theirs.
        handicap: Points given to each team before the start; None if nobody gets any.
        roles: Each player's role by team, in the order of `players`; None if there are no roles.
        region: The region where it is played, the best one for all; None if latencies are not
            compared or no region is common to all.
        latency_delta: By team and player, how many milliseconds the latency to `region` is above
            the player's lowest latency.
        hosts: Ids of players who reach all others, best first; None if the queue asks for no hosts.
        off_side: Ids of the tickets that are on another side than they asked for; None if none is.
        wide: Whether it was made far beyond the usual gap, so that an upset counts as a result
            between equals; see `ratings.outcomes`.
    """

    id: str
    queue: str
    at: float
    tickets: tuple[str, ...]
    teams: tuple[tuple[str, ...], ...]
    players: tuple[tuple[str, ...], ...]
    bots: int = 0
    cost: float = 0.0
    quality: float | None = None
    extends: str | None = None
    handicap: tuple[float, ...] | None = None
    roles: tuple[tuple[str, ...], ...] | None = None
    region: str | None = None
    latency_delta: tuple[tuple[float, ...], ...] | None = None
    hosts: tuple[str, ...] | None = None
    off_side: tuple[str, ...] | None = None
    wide: bool = False


class OpenMatch(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A match or proposal with free seats; it enters matchers like a ticket.

    Args:
        id: The match it belongs to.
        queue: Name of the queue.
        sequence: Number of acceptance among tickets, for ties.
        enqueued_at: Engine time at which the seats became free.
        seated: Ids of the tickets that stay, by team.
        free: Free seats by team.
        roster_version: Counts changes of the seated; a stale version is refused.
        quality_floor: Lowest quality a replacement may give.
        priority: Before, among, or after new matches.
        expires_at: When the search ends, engine time.
        ticket: Under which the caller asks how it does; empty if nobody does.
        steps: Later priorities: engine time, rising, and what holds from then on.
    """

    id: str
    queue: str
    sequence: int
    enqueued_at: float
    seated: tuple[tuple[str, ...], ...]
    free: tuple[int, ...]
    roster_version: int = 0
    quality_floor: float = 0.0
    priority: Priority = "normal"
    expires_at: float | None = None
    ticket: str = ""
    steps: tuple[tuple[float, Priority], ...] = ()

    def priority_at(self, now: float) -> Priority:
        """Return the priority that holds at an instant."""
        held = self.priority
        for at, later in self.steps:
            if at > now:
                break
            held = later
        return held


# The result of a played match, and what is known of it so far.

OutcomeKind = Literal["reported", "counted", "disputed"]


class Result(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How a match ended, in one form for all who report it.

    Args:
        teams: Player ids by team, as in the match.
        ranks: Place of each team from 1, equal places are a draw: 1, 1, 3.
        quitters: Players who left before the end, sorted.
        wide: Whether the match was made far beyond the usual gap; see `ratings.outcomes`.
    """

    teams: tuple[tuple[str, ...], ...]
    ranks: tuple[int, ...]
    quitters: tuple[str, ...] = ()
    wide: bool = False


class MatchOutcome(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What is known of the outcome of one match.

    Args:
        state: `reported` by players and not yet agreed, `counted`, or `disputed`.
        result: What counted; None before that.
        reports: What each player who reported has said.
        until: Engine time at which the reports are judged.
    """

    state: OutcomeKind
    result: Result | None = None
    reports: dict[str, Result] = {}
    until: float = 0.0


class AgedRating(msgspec.Struct, frozen=True, gc=False):
    """A stored rating and its age.

    Args:
        rating: None of a player of whom nothing is known.
        periods: How many rating periods later it is now than when it was made, >= 0; 1 for
            somebody who played in the period before.
    """

    rating: Rating | None = None
    periods: int = 0


def places_of(numbers: Sequence[float]) -> tuple[int, ...]:
    """Return the place of each number among all: 1 for the smallest, equal for equal ones.

    >>> places_of([2.5, 0.0, 2.5])
    (2, 1, 2)
    """
    return tuple(1 + sum(other < number for other in numbers) for number in numbers)
