"""`virtual_rating`: who waits is matched by a rating that sinks until it reaches somebody."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from typing import Literal

import msgspec

from evenmatch.criteria.expansion import inverse
from evenmatch.model.fields import Limit, Rate
from evenmatch.model.queue import Expansion, Queue, Rule
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.shared.pair_matcher import PairMatcher, SoonestPairing, TreeTicket, is_due
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.rated_duels import any_rating, check_duel

RECENT_MAX = 1_000
"""Entries whose median a newcomer's virtual rating goes to."""


class VirtualRating(msgspec.Struct, frozen=True, kw_only=True):
    """Match a waiting player by a virtual rating, which moves towards weaker players as they wait.

    A ticket of rating r that has waited for w seconds has the virtual rating v = r - rate * w. It
    accepts every real rating from v - limit to r + limit. A pair plays as soon as *one* of the two
    accepts the other, so a player waiting at the top soon meets the best player below. With
    `toward=median`, v moves to the median instead, from either side, and stays there. The median is
    taken over the last 1,000 tickets when the ticket enters, so that the range which it accepts
    only grows. The policy computes the instant at which v comes within `limit` of somebody, and
    does not poll.

    The other player need not accept; the rating of the result makes that fair. A match whose
    ratings differ by more than `limit` is wide: `is_wide` says so, and you pass it to
    `evenmatch.rate` as `wide`. A favourite who wins then gains next to nothing, and one who loses,
    loses as much as against an equal. With `toward=down`, any two players whom the queue's other
    rules allow meet in the end. With `toward=median`, two players who are more than `limit` beyond
    the median on opposite sides never meet, and only the queue's `wait_max` ends their wait.

    When to use:
        For one against one on a ladder with few players at the top, where a match against a much
        weaker player is better than none. Rate wide matches as such: the policy's `is_wide` says
        which they are, and `evenmatch.rate` takes `wide`.

    Args:
        rate: Points per second by which the virtual rating moves.
        limit: Largest difference between a virtual and a real rating, in points.
        toward: Where virtual ratings move: `down`, or to the `median` of the ratings of the last
            1,000 tickets.

    Source:
        "Matching players in an online 1vs1 game", the first answer, on virtual ratings.

    Complexity:
        O(log n) per arrival if ratings alone decide; with further rules or sides, plus a step for
        each ticket that they forbid.
    """

    held_back = "virtual_rating waits until a virtual rating comes within reach of another player"
    evaluations_max = (8, 8, 4, 1)

    rate: Rate = 2.0
    limit: Limit = 150.0
    toward: Literal["down", "median"] = "down"

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return no limit, for the match may be as wide as the wait was long."""
        return any_rating(queue)

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of duels."""
        del seed
        check_duel("virtual_rating", queue)
        check_parameters(self)
        return VirtualRatingMatcher(queue, self, memory or {})

    def is_wide(self, first: float, second: float) -> bool:
        """Return whether a match needed a virtual rating, so that its outcome counts as `wide`.

        Args:
            first: One player's rating when the match was made.
            second: The other's.

        Example:
            >>> from evenmatch import rate
            >>> before = {"top": {"mean": 2655.0}, "low": {"mean": 2044.0}}
            >>> wide = VirtualRating(limit=150).is_wide(2655, 2044)
            >>> match = {"teams": [["top"], ["low"]], "ranks": [2, 1], "wide": wide}
            >>> rate("elo", before, [match])["top"]["mean"]
            2639.0
        """
        return abs(first - second) > self.limit


class VirtualRatingMatcher(PairMatcher):
    """Everybody's reach over the ratings, and the medians that it goes to."""

    def __init__(self, queue: Queue, policy: VirtualRating, memory: Memory) -> None:
        super().__init__(queue)
        self._ratings_decide = not queue.rules and not queue.format.strict_sides
        self._limit = policy.limit
        self._when = inverse(policy.limit, Expansion(rate=policy.rate))
        self._median = _Medians(memory) if policy.toward == "median" else None

    def entered(self, waiting: TreeTicket, now: float) -> None:
        """Note where the virtual rating of a newcomer goes."""
        del now
        if self._median is not None:
            self._median.enter(waiting.ticket.sequence, waiting.rating)

    def removed(self, waiting: TreeTicket) -> None:
        """Forget where it went."""
        if self._median is not None:
            del self._median.aims[waiting.ticket.sequence]

    def bound(self, waiting: TreeTicket, gap: float) -> float:
        """Return when the longest waiting reaches so far: nobody does earlier."""
        del waiting
        return self.oldest_at() + self._when(gap)

    def ready_at(self, waiting: TreeTicket, gap: float, other: TreeTicket) -> float:
        """Return the instant at which one reaches the other and the queue's rules allow it."""
        at = self._reached_at(waiting, other, gap)
        if at == math.inf or self._ratings_decide:
            return at
        return max(at, self.rules.pair_ready_at(other.ticket, waiting.ticket))

    def soonest(self, waiting: TreeTicket) -> SoonestPairing:
        """Find the first instant at which a ticket and an older one reach each other."""
        if not self._ratings_decide:
            return super().soonest(waiting)
        # A ticket behind the nearest older neighbour is reached later than the neighbour itself,
        # and the pair of those two is the business of the younger of them.
        around = self.nearest_older(waiting)
        self.evaluations += len(around)
        gaps = [abs(waiting.rating - other.rating) for other in around]
        at = min(map(self.ready_at, [waiting] * len(around), gaps, around), default=math.inf)
        return SoonestPairing(at, tuple([other.ticket.sequence for other in around]))

    def due(self, waiting: TreeTicket, now: float, fired: bool) -> list[TreeTicket]:
        """Return the older tickets that a ticket may play now."""
        if not self._ratings_decide:
            return super().due(waiting, now, fired)
        born = waiting.ticket.enqueued_at
        self.evaluations += 2
        return [
            other
            for other in self.nearest_older(waiting)
            if is_due(
                self.ready_at(waiting, abs(waiting.rating - other.rating), other), born, now, fired
            )
        ]

    def memory(self) -> Memory:
        """Return the last ratings and where each waiting ticket's goes; nothing for `down`."""
        return {} if self._median is None else self._median.memory()

    def _reached_at(self, one: TreeTicket, two: TreeTicket, gap: float) -> float:
        """Return the instant at which one of two tickets reaches the other."""
        first, second = one.ticket.enqueued_at, two.ticket.enqueued_at
        reached = min(first + self._reach(one, two, gap), second + self._reach(two, one, gap))
        return max(first, second, reached)

    def _reach(self, own: TreeTicket, other: TreeTicket, gap: float) -> float:
        """Return the wait after which a ticket accepts another's real rating; inf if never."""
        aim = -math.inf if self._median is None else self._median.aims[own.ticket.sequence]
        way = aim - own.rating
        if gap <= self._limit:
            return 0.0
        is_on_the_way = (way < 0.0) == (other.rating < own.rating) and gap <= abs(way) + self._limit
        return self._when(gap) if is_on_the_way else math.inf


class _Medians:
    """The median of the last entries, and what it was when each waiting ticket entered."""

    def __init__(self, memory: Memory) -> None:
        self._recent: deque[float] = deque(memory.get("recent", ()))
        self._sorted = sorted(self._recent)
        self._seen: int = memory.get("seen", 0)
        self.aims: dict[int, float] = dict(memory.get("aims", ()))

    def enter(self, sequence: int, rating: float) -> None:
        """Count a new ticket, and note its aim; one that a restart brings back keeps its own."""
        if sequence > self._seen:
            self._seen = sequence
            self._recent.append(rating)
            insort(self._sorted, rating)
            if len(self._recent) > RECENT_MAX:
                gone = self._recent.popleft()
                del self._sorted[bisect_left(self._sorted, gone)]
        if sequence not in self.aims:
            middle = len(self._sorted)
            low, high = self._sorted[(middle - 1) // 2], self._sorted[middle // 2]
            self.aims[sequence] = low / 2 + high / 2

    def memory(self) -> Memory:
        """Return plain data."""
        return {"recent": list(self._recent), "seen": self._seen, "aims": list(self.aims.items())}
