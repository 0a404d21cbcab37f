"""`closest_random`: rounds in which the longest waiting draw, and near opponents are likelier."""

from __future__ import annotations

import math
from bisect import bisect_left, insort

import msgspec

from evenmatch.cost.rules import Rules, number
from evenmatch.cost.valid import LIMITS, SECONDS
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.chance import Chance
from evenmatch.policies.clock import RoundClock
from evenmatch.policies.rated import RATING, check_duel, check_number, rating_rule


class ClosestRandom(msgspec.Struct, frozen=True, kw_only=True):
    """Every `every` seconds, let the longest waiting draw an opponent, the nearest most likely.

    In each round the tickets choose by age. A ticket's m candidates are those still free whose
    rating is at most `limit` points away; sorted by difference, the i-th is drawn with
    probability 2 (m + 1 - i) / (m (m + 1)), i = 1 for the nearest. So close matches are preferred
    without giving anybody the same opponent again and again. Whoever has no candidate waits for
    the next round. Rounds are counted from the first entry.

    For few players who shall not always meet the same one, and who accept a fixed wait: two equal
    players who could play at once wait half a round on average. A ticket nobody is within `limit`
    of waits on; the queue's `wait_max` ends that.

    Args:
        every: Seconds between rounds.
        limit: Largest difference of two ratings, in points; other rules of the queue hold too.

    Source:
        "Matching players in an online 1vs1 game", the author's second suggestion.

    Complexity:
        O(log n) per ticket and round where the limit alone decides; with further rules or sides
        O(m) per ticket, for each candidate is asked.
    """

    fills = False

    every: float = 120.0
    limit: float = 500.0

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return the rule that `limit` is short for."""
        del queue
        check_number("closest_random: limit", self.limit, LIMITS)
        return (rating_rule(self.limit),)

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of duels."""
        check_duel("closest_random", queue)
        check_number("closest_random: every", self.every, SECONDS)
        full = msgspec.structs.replace(queue, rules=queue.rules + self.rules(queue))
        clock = RoundClock(self.every, memory or {})
        return ClosestRandomMatcher(full, self.limit, clock, Chance(seed, queue.name))


Key = tuple[float, float, int]
"""A ticket's place in the order of ratings: rating, `enqueued_at`, sequence."""


class ClosestRandomMatcher(NoJobs):
    """The waiting tickets by rating, and the clock."""

    def __init__(self, queue: Queue, limit: float, clock: RoundClock, chance: Chance) -> None:
        self._rules = Rules(queue)
        self._limit_decides = len(queue.rules) == 1 and not queue.format.sides
        self._limit = limit
        self._clock = clock
        self._chance = chance
        self._tickets: dict[str, Ticket] = {}
        self._by_sequence: dict[int, Ticket] = {}
        self._keys: list[Key] = []

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in, and start the clock if it stands."""
        if isinstance(entry, OpenMatch):
            return
        self._tickets[entry.id] = self._by_sequence[entry.sequence] = entry
        insort(self._keys, _key(entry))
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
        low, high = self._within(rating)
        if self._limit_decides:
            if low == high:
                return None
            place = drawn_place(high - low, self._chance.uniform(chooser.sequence))
            return self._by_sequence[self._keys[self._nearest(rating, place, low, high)][2]]
        around = sorted(range(low, high), key=lambda at: self._farness(rating, at))
        free = [self._by_sequence[self._keys[at][2]] for at in around]
        candidates = [t for t in free if self._rules.pair_ready_at(chooser, t) <= now]
        if not candidates:
            return None
        place = drawn_place(len(candidates), self._chance.uniform(chooser.sequence))
        return candidates[place - 1]

    def _within(self, rating: float) -> tuple[int, int]:
        """Return the slice of the ratings that are at most `limit` away."""
        keys, limit = self._keys, self._limit
        low = bisect_left(keys, rating - limit, key=lambda key: key[0])
        high = bisect_left(keys, math.nextafter(rating + limit, math.inf), key=lambda key: key[0])
        # A bound may round to the other side of a rating; the difference is what the rule asks.
        while low > 0 and abs(rating - keys[low - 1][0]) <= limit:
            low -= 1
        while low < high and abs(rating - keys[low][0]) > limit:
            low += 1
        while high < len(keys) and abs(keys[high][0] - rating) <= limit:
            high += 1
        while high > low and abs(keys[high - 1][0] - rating) > limit:
            high -= 1
        return low, high

    def _nearest(self, rating: float, place: int, low: int, high: int) -> int:
        """Return where the place-th nearest of the slice stands.

        The nearest `place` of a sorted slice are a slice of that length; a binary search finds
        where it starts, ties as in `_farness`, and its farther end is the one.
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

    def _farness(self, rating: float, at: int) -> tuple[float, bool, int]:
        """Return the order of candidates: by difference, lower ratings first, inner ones first."""
        other = self._keys[at][0]
        is_above = other >= rating
        return abs(other - rating), is_above, at if is_above else -at

    def _remove(self, ticket: Ticket) -> None:
        del self._tickets[ticket.id], self._by_sequence[ticket.sequence]
        del self._keys[bisect_left(self._keys, _key(ticket))]


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
    place = math.floor((edge - math.sqrt(max(0.0, edge * edge - 4.0 * drawn))) / 2) + 1
    while place > 1 and (place - 1) * (edge - (place - 1)) > drawn:
        place -= 1
    while place < count and place * (edge - place) <= drawn:
        place += 1
    return min(place, count)


def _key(ticket: Ticket) -> Key:
    return (number(ticket, RATING), ticket.enqueued_at, ticket.sequence)
