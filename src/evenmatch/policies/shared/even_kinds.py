"""Even teams out of equal pairs: what large teams are looked for with, since counting is enough.

Tickets of one value and one size are of a kind. Two teams are surely even if each kind comes in
pairs, one ticket of each pair in either team. Where players have two skills and come alone no other
teams are even, so this is exact there: 2n players can be chosen as soon as `u // 2 + v // 2 >= n`.

Source:
    Wu, Dynamic Matching With Teams, the patient policy of section 3.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter

from evenmatch.policies.shared.balance import BalanceEntry
from evenmatch.policies.shared.even_sets import EvenMatch

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
        # He needs a ticket of his kind, and the other pairs fill what is left of a team.
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
