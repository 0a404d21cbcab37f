"""Searches for the most even match of a newcomer with waiting tickets.

Nobody else has to be asked about: as long as the limit stays, whoever could play without the
newcomer would have played before it came.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.kinds.numeric import SUM_SLACK
from evenmatch.policies.shared.balance import Balance, BalanceEntry

CANDIDATES_MAX = 24
"""Tickets that one newcomer to a team is tried with, the longest waiting."""
ROWS_MAX = 32_768
"""Divisions that are compared for one newcomer; where there are more, fewer tickets are tried."""
TABLES_MAX = 32
"""Tables of divisions that are kept; one has at most `ROWS_MAX` x `CANDIDATES_MAX` bytes."""

Signs = NDArray[np.int8]


class EvenMatch(NamedTuple):
    """A match with a newcomer: how uneven it is, and who else plays."""

    imbalance: float
    others: list[BalanceEntry]


class EvenSetIndex(Protocol):
    """Waiting tickets, none of which may play without somebody new."""

    evaluations: int
    """Tickets and divisions looked at so far."""

    def add(self, entry: BalanceEntry) -> None:
        """Take a ticket in."""
        ...

    def remove(self, entry: BalanceEntry) -> None:
        """Let a ticket go."""
        ...

    def best(self, entry: BalanceEntry, limit: float) -> EvenMatch | None:
        """Return who plays with a newcomer, or None if no match is as even as the limit asks.

        It is the most even match, and of several the one with the longest waiting: that which has
        the oldest ticket in which two of them differ.

        Args:
            entry: The newcomer, not in the pool.
            limit: The largest imbalance that is accepted, as `Balance.imbalance` gives it.
        """
        ...


def pool_of(balance: Balance) -> EvenSetIndex:
    """Return an empty pool for a format of at most `balance.TEAM_MAX` players a team."""
    return PairPool(balance) if balance.players == 1 else TeamPool(balance)


class PairPool:
    """Single players by value.

    Complexity:
        O(log n) in Python for each newcomer, and a move of memory; besides, one step for each
        other value of the same imbalance.
    """

    def __init__(self, balance: Balance) -> None:
        self._imbalance: Callable[[float], float] = balance.imbalance
        self._line: list[BalanceEntry] = []
        self.evaluations = 0

    def add(self, entry: BalanceEntry) -> None:
        """Take a player in."""
        insort(self._line, entry)

    def remove(self, entry: BalanceEntry) -> None:
        """Let a player go."""
        del self._line[bisect_left(self._line, entry)]

    def best(self, entry: BalanceEntry, limit: float) -> EvenMatch | None:
        """Return the nearest player, the longest waiting of several, if it is near enough."""
        value, least = entry.value, limit
        self.evaluations += 1
        found: BalanceEntry | None = None
        for others in (self._above(value), self._below(value)):
            for other in others:
                self.evaluations += 1
                slack = SUM_SLACK * max(1.0, abs(value) + abs(other.value))
                imbalance = self._imbalance(abs(value - other.value))
                if imbalance > least + slack:
                    break
                is_better = imbalance < least - slack
                if found is None or is_better or other.age_key < found.age_key:
                    found = other
                least = min(least, imbalance)
        return None if found is None else EvenMatch(least, [found])

    def _above(self, value: float) -> Iterator[BalanceEntry]:
        """Yield the longest waiting player of each value from this one on."""
        line = self._line
        at = bisect_left(line, (value,))
        while at < len(line):
            yield line[at]
            at = bisect_right(line, (line[at].value, np.inf), at)

    def _below(self, value: float) -> Iterator[BalanceEntry]:
        """Yield the longest waiting player of each value below this one."""
        line = self._line
        at = bisect_left(line, (value,))
        while at > 0:
            at = bisect_left(line, (line[at - 1].value,), 0, at)
            yield line[at]


class TeamPool:
    """Tickets of teams by age.

    The search is exact among the `CANDIDATES_MAX` longest waiting, or fewer where their divisions
    are more than `ROWS_MAX`: 24 for two against two, 15 for three against three, 14 for seven
    against seven, and 12 between. Of tickets that are alike, in value and size, only so many count
    as fit.

    Complexity:
        O(ROWS_MAX x CANDIDATES_MAX) in numpy for each newcomer at most.
    """

    def __init__(self, balance: Balance) -> None:
        self._balance = balance
        self._players = balance.players
        self._by_age: list[tuple[tuple[float, int], BalanceEntry]] = []
        self.evaluations = 0

    def add(self, entry: BalanceEntry) -> None:
        """Take a ticket in."""
        insort(self._by_age, (entry.age_key, entry))

    def remove(self, entry: BalanceEntry) -> None:
        """Let a ticket go."""
        del self._by_age[bisect_left(self._by_age, (entry.age_key, entry))]

    def best(self, entry: BalanceEntry, limit: float) -> EvenMatch | None:
        """Return the most even match with a newcomer, if it is even enough."""
        candidates, signs = self._tried(entry)
        self.evaluations += 1 + len(self._by_age) + len(signs)
        if not len(signs):
            return None
        values = np.array([each.value for each in candidates])
        imbalances = self._balance.imbalances(np.abs(signs @ values + entry.value))
        slack = SUM_SLACK * max(1.0, float(np.abs(values).sum()) + abs(entry.value))
        least = float(imbalances.min())
        if least > limit + slack:
            return None
        rows = np.flatnonzero(imbalances <= least + slack)
        # The longer a player waits, the more they count: more than all who came later together.
        ages = sorted(range(len(candidates)), key=lambda at: candidates[at].age_key, reverse=True)
        ranks = np.empty(len(ages))
        ranks[ages] = 2.0 ** np.arange(len(ages))
        row = rows[int(np.argmax(np.abs(signs[rows]) @ ranks))]
        return EvenMatch(least, [candidates[at] for at in np.flatnonzero(signs[row]).tolist()])

    def _tried(self, entry: BalanceEntry) -> tuple[list[BalanceEntry], Signs]:
        """Return the candidates, larger parties first, and all divisions with a newcomer."""
        others = self._players * 2 - entry.size
        alike: Counter[tuple[float, int]] = Counter()
        tried: list[BalanceEntry] = []
        for _, each in self._by_age:
            if len(tried) == CANDIDATES_MAX:
                break
            key = each.value, each.size
            if alike[key] < others // each.size:
                alike[key] += 1
                tried.append(each)
        while True:
            in_order = sorted(tried, key=lambda each: -each.size)
            sizes = tuple([each.size for each in in_order])
            signs = divisions(self._players, entry.size, sizes)
            if signs is not None:
                return in_order, signs
            tried.pop()


@lru_cache(maxsize=TABLES_MAX)
def divisions(players: int, own: int, sizes: tuple[int, ...]) -> Signs | None:
    """Return every division of a newcomer and some others into two full teams.

    Args:
        players: Of a team.
        own: Players of the newcomer, who is in the first team.
        sizes: Players of each of the others.

    Returns:
        A row for each division: 1 in the newcomer's team, -1 in the other one, 0 in none. None
        where there are more than `ROWS_MAX`.

    >>> divisions(2, 1, (1, 1, 1)).tolist()
    [[-1, -1, 1], [-1, 1, -1], [1, -1, -1]]
    """
    rows = np.zeros((1, len(sizes)), dtype=np.int8)
    mine, theirs = np.array([players - own]), np.array([players])
    left = sum(sizes)
    for at, size in enumerate(sizes):
        left -= size
        some = []
        for sign, fits in ((-1, theirs >= size), (0, mine >= 0), (1, mine >= size)):
            taken = rows[fits]
            taken[:, at] = sign
            ours = mine[fits] - size * (sign == 1)
            others = theirs[fits] - size * (sign == -1)
            fillable = ours + others <= left
            some.append((taken[fillable], ours[fillable], others[fillable]))
        rows, mine, theirs = (np.concatenate(parts) for parts in zip(*some, strict=True))
        if len(rows) > ROWS_MAX:
            return None
    full: Signs = rows[(mine == 0) & (theirs == 0)]
    return full


# Even teams out of equal pairs: what large teams are looked for with, since counting is enough.
#
# Tickets of one value and one size are of a kind. Two teams are surely even if each kind comes in
# pairs, one ticket of each pair in either team. Where players have two skills and come alone no
# other teams are even, so this is exact there: 2n players can be chosen as soon as `u // 2 + v //
# 2 >= n`.
#
# Source:
#     Wu, Dynamic Matching With Teams, the patient policy of section 3.

PLAYERS_MAX = 50
"""Most players of a team."""

Kind = tuple[float, int]


class KindPool:
    """Tickets by age, and how many there are of each kind.

    Args:
        players: Of a team.

    Complexity:
        O(party sizes) for a newcomer who completes no match; O(n kinds) for one who does.
    """

    def __init__(self, players: int) -> None:
        self._players = players
        self._by_age: list[tuple[tuple[float, int], BalanceEntry]] = []
        self._counts: Counter[Kind] = Counter()
        # Pairs that the tickets make, by size.
        self._pairs: Counter[int] = Counter()
        self.evaluations = 0

    def add(self, entry: BalanceEntry) -> None:
        """Take a ticket in."""
        insort(self._by_age, (entry.age_key, entry))
        self._count(_kind(entry), 1)

    def remove(self, entry: BalanceEntry) -> None:
        """Let a ticket go."""
        del self._by_age[bisect_left(self._by_age, (entry.age_key, entry))]
        self._count(_kind(entry), -1)

    def best(self, entry: BalanceEntry, limit: float) -> EvenMatch | None:
        """Return who plays an even match with a newcomer, the longest waiting; None if nobody.

        Args:
            entry: The newcomer, not in the pool.
            limit: Not looked at: no imbalance is accepted.
        """
        del limit
        self.evaluations += 1
        own = _kind(entry)
        # They need a ticket of their kind, and the other pairs fill what is left of a team.
        if not self._counts[own]:
            return None
        self._count(own, 1)
        can_play = _fills(self._pairs, self._players)
        self._count(own, -1)
        return EvenMatch(0.0, self._longest(own)) if can_play else None

    def _longest(self, own: Kind) -> list[BalanceEntry]:
        """Return the longest waiting of those who can play with a newcomer."""
        # `left` are those not passed yet, `pairs` what can be made of them. Of a kind that is
        # `alone` a ticket was chosen whose mate is still to come; `free` are the places of a team
        # that no chosen ticket stands for, its mate being in the other team.
        left, pairs, alone = self._counts.copy(), self._pairs.copy(), {own}
        free = self._players - own[1]

        def pairs_of(kind: Kind) -> int:
            return (left[kind] - (kind in alone)) // 2

        pairs[own[1]] += pairs_of(own) - left[own] // 2
        found = []
        for _, each in self._by_age:
            self.evaluations += 1
            kind, size = _kind(each), each.size
            before = pairs_of(kind)
            left[kind] -= 1
            if kind in alone:
                alone.discard(kind)
                found.append(each)
            elif size <= free and left[kind] >= 1:
                alone.add(kind)
                pairs[size] += pairs_of(kind) - before
                before = pairs_of(kind)
                if _fills(pairs, free - size):
                    free -= size
                    found.append(each)
                else:
                    alone.discard(kind)
            pairs[size] += pairs_of(kind) - before
            if not free and not alone:
                break
        return found

    def _count(self, kind: Kind, by: int) -> None:
        before = self._counts[kind] // 2
        self._counts[kind] += by
        self._pairs[kind[1]] += self._counts[kind] // 2 - before
        if not self._counts[kind]:
            del self._counts[kind]


def _kind(entry: BalanceEntry) -> Kind:
    return entry.value, entry.size


def _fills(pairs: Counter[int], players: int) -> bool:
    """Return whether some pairs fill a team: a sum of sizes, each at most as often as it is there.

    >>> _fills(Counter({2: 3, 3: 1}), 7), _fills(Counter({2: 3, 3: 1}), 8)
    (True, False)
    """
    reached = 1
    for size, count in pairs.items():
        step, left = 1, min(count, players // size)
        while left > 0:
            taken = min(step, left)
            reached |= reached << (taken * size)
            left -= taken
            step *= 2
    return bool(reached >> players & 1)
