"""`closest_random`: rounds in which the longest waiting draw, and near opponents are likelier."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from evenmatch.criteria.rules import Rules
from evenmatch.criteria.values import number
from evenmatch.model.fields import Limit, RoundTime
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.shared.chance import Chance
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.rated_duels import (
    RATING,
    RatingKey,
    check_duel,
    rating_key,
    rating_limits,
    rating_rule,
)
from evenmatch.policies.shared.round_clock import RoundClock

CANDIDATES_MAX = 1_000_000


class ClosestRandom(msgspec.Struct, frozen=True, kw_only=True):
    """Every `every` seconds, draw a random opponent for each ticket; near ones are most likely.

    In each round the longest waiting tickets draw first. A ticket's m candidates are the free
    tickets whose rating is at most `limit` points away. Sorted by difference, the i-th is drawn
    with probability 2 (m + 1 - i) / (m (m + 1)), where i = 1 is the nearest. So close matches are
    preferred, but nobody gets the same opponent again and again. A ticket without candidates waits
    for the next round. The first round comes `every` seconds after the first ticket.

    Even two equal players who could play at once wait half a round on average. A ticket with nobody
    within `limit` waits until the queue's `wait_max`.

    When to use:
        For one against one among few players who should not always meet the same opponent, and who
        accept a fixed wait of half a round on average. Give the queue a `wait_max`, because a
        player with nobody in reach would wait for ever.

    Args:
        every: Seconds between rounds.
        limit: Largest difference between two ratings, in points; the queue's own rules hold too.
        candidates: The largest m: only so many of the nearest tickets can be drawn; by default all.

    Source:
        "Matching players in an online 1vs1 game", the author's second suggestion.

    Complexity:
        O(log n) per ticket and round if the limit alone decides; with further rules or sides,
        tickets are tested until m are found, which `candidates` bounds.
    """

    in_rounds = True
    evaluations_max = (0, 2, 1)

    every: RoundTime = 120.0
    limit: Limit = 500.0
    candidates: Annotated[int, Meta(ge=1, le=CANDIDATES_MAX)] | None = None

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return the rule that `limit` is short for."""
        del queue
        check_parameters(self)
        return (rating_rule(self.limit),)

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of duels."""
        check_duel("closest_random", queue)
        check_parameters(self)
        full = msgspec.structs.replace(queue, rules=queue.rules + self.rules(queue))
        clock = RoundClock(self.every, memory or {})
        return ClosestRandomMatcher(full, self, clock, Chance(seed, queue.name))


class ClosestRandomMatcher(NoJobs):
    """The waiting tickets by rating, and the clock."""

    def __init__(
        self, queue: Queue, policy: ClosestRandom, clock: RoundClock, chance: Chance
    ) -> None:
        self._rules = Rules(queue)
        self._limit_decides = len(queue.rules) == 1 and not queue.format.strict_sides
        # Widening limits of rating are asked at once, without a look at the tickets.
        self._widening = rating_limits(queue)[:-1]
        self._ratings_decide = len(rating_limits(queue)) == len(queue.rules) and not (
            queue.format.strict_sides
        )
        self._limit = policy.limit
        self._candidates = policy.candidates or CANDIDATES_MAX
        self._clock = clock
        self._chance = chance
        self._tickets: dict[str, Ticket] = {}
        self._by_sequence: dict[int, Ticket] = {}
        self._keys: list[RatingKey] = []
        self.evaluations = 0

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in, and start the clock if it stands."""
        if isinstance(entry, OpenMatch):
            return
        self._tickets[entry.id] = self._by_sequence[entry.sequence] = entry
        insort(self._keys, rating_key(entry))
        self._clock.start(now)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        ticket = self._tickets.get(entry_id)
        if ticket is not None:
            self._remove(ticket)
        if not self._tickets:
            self._clock.stop()

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Hold a round if one is due."""
        if not self._clock.is_due(now, fired):
            return Decision(wake_at=self._clock.round_at)
        groups = []
        for chooser in sorted(self._tickets.values(), key=lambda ticket: ticket.age_key):
            if chooser.id not in self._tickets:
                continue
            self._remove(chooser)
            opponent = self._draw(chooser, now)
            if opponent is None:
                self.enter(chooser, now)
            else:
                self._remove(opponent)
                groups.append(Grouping((chooser.id, opponent.id)))
        if self._tickets:
            self._clock.move_on(now)
        else:
            self._clock.stop()
        return Decision(tuple(groups), self._clock.round_at)

    def memory(self) -> Memory:
        """Return the beat; chance needs no memory."""
        return self._clock.memory()

    def _draw(self, chooser: Ticket, now: float) -> Ticket | None:
        """Return the opponent that a ticket draws among all others, None without candidates."""
        rating = number(chooser, RATING)
        self.evaluations += 1
        low, high = self._within(rating)
        uniform = self._chance.uniform(chooser.sequence)
        if self._limit_decides:
            if low == high:
                return None
            place = drawn_place(min(high - low, self._candidates), uniform)
            return self._by_sequence[self._keys[self._nearest(rating, place, low, high)][2]]
        candidates = []
        for at in self._outward(rating, low, high):
            self.evaluations += 1
            if self._may_play(chooser, rating, self._keys[at], now):
                candidates.append(self._keys[at][2])
                if len(candidates) == self._candidates:
                    break
        if not candidates:
            return None
        return self._by_sequence[candidates[drawn_place(len(candidates), uniform) - 1]]

    def _may_play(self, chooser: Ticket, rating: float, other: RatingKey, now: float) -> bool:
        """Return whether the queue's rules allow a pair within `limit` now."""
        if not self._ratings_decide:
            return self._rules.pair_ready_at(chooser, self._by_sequence[other[2]]) <= now
        born, gap = max(chooser.enqueued_at, other[1]), abs(rating - other[0])
        for when in self._widening:  # noqa: SIM110 - twice as fast as all()
            if born + when(gap) > now:
                return False
        return True

    def _within(self, rating: float) -> tuple[int, int]:
        """Return the slice of the ratings that are at most `limit` away."""
        # Searched by the difference itself, for a bound rating - limit may round past a rating.
        limit = self._limit
        low = bisect_left(self._keys, True, key=lambda key: rating - key[0] <= limit)
        high = bisect_left(self._keys, True, key=lambda key: key[0] - rating > limit)
        return low, high

    def _nearest(self, rating: float, place: int, low: int, high: int) -> int:
        """Return where the place-th nearest of the slice stands.

        The nearest `place` of a sorted slice are a slice of that length; a binary search finds
        where it starts, ties as in `_outward`, and its farther end is the one.
        """
        keys = self._keys
        first, last = low, high - place
        while first < last:
            middle = (first + last) // 2
            if rating - keys[middle][0] > keys[middle + place][0] - rating:
                first = middle + 1
            else:
                last = middle
        end = first + place - 1
        return first if rating - keys[first][0] > keys[end][0] - rating else end

    def _outward(self, rating: float, low: int, high: int) -> Iterator[int]:
        """Yield the places of a slice, nearest first, of equally near ones the lower first."""
        keys = self._keys
        above = bisect_left(keys, (rating,), low, high)
        below = above - 1
        while below >= low or above < high:
            if above >= high or (
                below >= low and rating - keys[below][0] <= keys[above][0] - rating
            ):
                yield below
                below -= 1
            else:
                yield above
                above += 1

    def _remove(self, ticket: Ticket) -> None:
        del self._tickets[ticket.id], self._by_sequence[ticket.sequence]
        del self._keys[bisect_left(self._keys, rating_key(ticket))]


def drawn_place(count: int, uniform: float) -> int:
    """Return i in 1..count with probability 2 (count + 1 - i) / (count (count + 1)).

    The first i whose cumulative weight i (2 count + 1 - i) / 2 exceeds the drawn one.

    Args:
        count: Candidates, m in the thread's formula, >= 1.
        uniform: In [0, 1).

    >>> [drawn_place(2, uniform) for uniform in (0.0, 0.66, 0.67, 0.99)]
    [1, 1, 2, 2]
    """
    drawn = uniform * count * (count + 1)
    edge = 2 * count + 1
    below = bisect_right(range(1, count + 1), drawn, key=lambda i: i * (edge - i))
    return min(below + 1, count)
