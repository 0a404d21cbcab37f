"""`adaptive_sides`: players choose their side as long as enough of them do not mind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from evenmatch.criteria.rules import side_of
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Format, Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.greedy import EVALUATIONS_MAX, GreedyMatcher
from evenmatch.policies.shared.parameters import check_parameters

Spare = Annotated[float, Meta(ge=-1.0, le=1.0)]
"""Largest `span`."""
PRIOR = 20.0
"""Flexible players assumed before the first came: no side closes for a few who want the same."""


class AdaptiveSides(msgspec.Struct, frozen=True, kw_only=True):
    """Give players the side they ask for as long as waits allow it; otherwise place them freely.

    A side's *spare* is 1 - (share of the players who ask for it) / (its share of the seats). With
    two equal sides a and b, the crowded side's spare is flexible - |a - b|, in shares of all
    players. If it is 0 or less, players who insist on the crowded side wait longer and longer. The
    policy measures the shares from the players who arrive, with weights that fall to 1/e over
    `span` players, and starts as if 20 flexible players had already come. Players who already wait
    when a running queue gets this policy are not counted, because mostly those who want the crowded
    side still wait.

    When a side's spare falls below `reserve`, the side is closed: players who ask for it, including
    those who already wait, are matched as if they were flexible. It opens again when its spare
    reaches `reopen`. The policy matches tickets as `greedy` does, and players who ask for an open
    side always get it. If the match allows it, players also get a closed side that they ask for,
    because the queue has `side_choice = "prefer"`. The summary counts the others as `off_side`.

    When to use:
        If players may choose a side and their preferences change over the day, after a patch or
        with the map. Where sides are binding, waits grow without limit as soon as more players want
        the crowded side than there are other and flexible players together; this policy gives up
        wishes only then.

    Args:
        reserve: The spare below which a side is closed, in [-1, 1]; with -1 none ever is. The mean
            wait for a crowded side is about 1 / (spare x players per second).
        reopen: The spare at which it opens again, >= reserve, in [-1, 1].
        span: Number of players over which the measurement forgets; >= 1. Its noise is about 0.7 /
            sqrt(span).

    Source:
        Xu, Yu, Wu, Rule Designs for Optimal Online Game Matchmaking, (12) and section VI, which
        leaves adaptive rules to the future.

    Complexity:
        That of `greedy`, but with parties each newcomer is compared with all waiting tickets; when
        a side closes or opens, every waiting ticket is examined again.
    """

    held_back = "adaptive_sides keeps seats for those who insist on a side"
    evaluations_max = (EVALUATIONS_MAX, 2)
    """That of `greedy`, and all who wait where a side is closed or opened."""

    reserve: Spare = 0.1
    reopen: Spare = 0.2
    span: Annotated[float, Meta(ge=1.0, le=1e6, extra={"unit": "players"})] = 500.0

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue whose sides are wishes."""
        del seed
        if queue.format.side_choice != "prefer":
            raise ConfigError(
                "adaptive_sides sometimes gives players another side than they asked for; give "
                f'queue {queue.name} sides and side_choice = "prefer"'
            )
        check_parameters(self)
        if self.reserve > self.reopen:
            raise ConfigError(
                f"adaptive_sides: reopen must be from reserve ({self.reserve}) to 1, got "
                f"{self.reopen}"
            )
        return AdaptiveSidesMatcher(queue, Wishes(queue.format, self, memory or {}))


class Wishes:
    """What share of the players asks for each side, and which sides are closed.

    Args:
        form: Seats and sides.
        policy: When sides are closed and opened.
        memory: What was measured before a restart.
    """

    def __init__(self, form: Format, policy: AdaptiveSides, memory: Memory) -> None:
        self._chosen = policy
        self._sides = form.sides
        self._parts = [seats / form.k for seats in form.players]
        self._shares: list[float] = list(memory.get("shares", [0.0] * len(form.sides)))
        # What the weights of all arrivals and of those assumed sum to; it tends to 1.
        self._weight: float = memory.get("weight", 1.0 if memory else min(1.0, PRIOR / policy.span))
        self._newest: int = memory.get("newest", 0)
        self._is_new = not memory
        self.closed: frozenset[str] = frozenset(memory.get("closed", ()))

    def spares(self) -> Sequence[float]:
        """Return each side's spare."""
        return [1.0 - s / part for s, part in zip(self._shares, self._parts, strict=True)]

    def note(self, ticket: Ticket, now: float) -> bool:
        """Count a ticket unless it was counted before; return whether a side closed or opened.

        Args:
            ticket: It comes into the pool.
            now: When it does. Those that came into a pool before it had this policy are left out.
        """
        if ticket.sequence <= self._newest:
            return False
        self._newest = ticket.sequence
        self._is_new = self._is_new and ticket.enqueued_at < now
        if self._is_new:
            return False
        wish = side_of(ticket)
        kept = (1.0 - 1.0 / self._chosen.span) ** ticket.size
        self._weight = kept * self._weight + (1.0 - kept)
        newer = (1.0 - kept) / self._weight
        self._shares = [
            share + newer * ((side == wish) - share)
            for side, share in zip(self._sides, self._shares, strict=True)
        ]
        before = self.closed
        self.closed = frozenset(
            side
            for side, spare in zip(self._sides, self.spares(), strict=True)
            if spare < (self._chosen.reopen if side in before else self._chosen.reserve)
        )
        return self.closed != before

    def memory(self) -> Memory:
        """Return the measure and the closed sides."""
        closed = [side for side in self._sides if side in self.closed]
        measured = {"shares": self._shares, "weight": self._weight, "newest": self._newest}
        return {**measured, "closed": closed}


class AdaptiveSidesMatcher(GreedyMatcher):
    """`greedy` among tickets that insist on open sides only."""

    def __init__(self, queue: Queue, wishes: Wishes) -> None:
        super().__init__(queue, EVALUATIONS_MAX, closes=True)
        self._wishes = wishes
        if not queue.format.solo_only:
            # Where parties do not fit otherwise, the best division may break any wish. So each
            # is looked at, and tickets of a kind cannot stand for each other.
            self._is_judged, self._has_lines = True, False
        self.close(wishes.closed)

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Count a ticket and take it in."""
        if isinstance(entry, Ticket) and self._wishes.note(entry, now):
            self.close(self._wishes.closed)
        super().enter(entry, now)

    def accepts(self, tickets: Sequence[Ticket], now: float) -> bool:
        """Return whether the best division keeps every wish for an open side."""
        seating, closed = self._objective.seat(tickets, now=now), self._wishes.closed
        return seating is not None and all(
            side_of(ticket) in ("", name) or side_of(ticket) in closed
            for name, team in zip(self._queue.format.sides, seating.teams, strict=True)
            for ticket in team
        )

    def memory(self) -> Memory:
        """Return what was measured, and which sides are closed."""
        return self._wishes.memory()
