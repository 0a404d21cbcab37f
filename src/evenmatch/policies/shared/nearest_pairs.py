"""Pairs of a crowd in which the longest waiting choose first, each the nearest partner.

Where one limit on one gap decides and both must accept, the younger of two is the one who accepts
last. Whoever chooses has had all older ones offered before, so only younger ones are left to ask:
they are asked outwards from one's own value, and most often the first says yes. So nobody lists the
pairs, of which a crowd has nearly as many as its square.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Chooser(NamedTuple):
    """Who waits.

    Args:
        value: By which they are near each other.
        born: Since when they wait, in seconds.
        asks: Whether some older one may play with them now: others need not be asked.
    """

    value: float
    born: float
    asks: bool


def nearest_pairs(
    choosers: Sequence[Chooser],
    when: Callable[[float], float],
    is_due: Callable[[float, float], bool],
) -> tuple[list[tuple[int, int]], int]:
    """Return who takes whom, by number, and how many pairs were compared.

    Args:
        choosers: All who wait, longest waiting first.
        when: From a gap to the wait after which one accepts it; never falls with the gap.
        is_due: Whether an instant from which on a pair may play has come; the second argument is
            since when the younger waits.

    Complexity:
        O(n log n) where most find somebody near. Those who are near and do not wait long enough
        for a gap are asked in vain, each by all who wait longer, if there are such.
    """
    # The longest wait of those who are younger: where that is too short for a gap, all are.
    earliest = [math.inf] * len(choosers)
    for number in range(len(choosers) - 1, 0, -1):
        chooser = choosers[number]
        own = chooser.born if chooser.asks else math.inf
        earliest[number - 1] = min(earliest[number], own)
    asked = [number for number, each in enumerate(choosers) if each.asks]
    below, above = Side(choosers, asked, True), Side(choosers, asked, False)
    pairs, seen = [], 0
    taken = [False] * len(choosers)
    for number, chooser in enumerate(choosers):
        if taken[number]:
            continue
        if chooser.asks:
            below.drop(number)
            above.drop(number)
        low, high = below.first(chooser.value), above.first(chooser.value)
        while low >= 0 or high >= 0:
            gap_low = chooser.value - choosers[low].value if low >= 0 else math.inf
            gap_high = choosers[high].value - chooser.value if high >= 0 else math.inf
            # Of two as near, the one who has waited longer.
            takes_low = gap_low < gap_high or (gap_low == gap_high and low < high)
            gap, other = (gap_low, low) if takes_low else (gap_high, high)
            seen += 1
            wait = when(gap)
            if not is_due(earliest[number] + wait, earliest[number]):
                break
            born = choosers[other].born
            if is_due(born + wait, born):
                below.drop(other)
                above.drop(other)
                taken[other] = True
                pairs.append((number, other))
                break
            if takes_low:
                low = below.after(other)
            else:
                high = above.after(other)
    return pairs, seen


class Side:
    """Those who are left on one side of a value, nearest first, of equal ones the oldest first.

    Args:
        choosers: All who wait, by age.
        asked: Numbers of those who are left at first.
        is_below: Whether this is about smaller values; equal ones count as larger.
    """

    def __init__(self, choosers: Sequence[Chooser], asked: Sequence[int], is_below: bool) -> None:
        sign = -1.0 if is_below else 1.0
        self._sign = sign
        self._order = sorted(asked, key=lambda number: (sign * choosers[number].value, number))
        self._along = [sign * choosers[number].value for number in self._order]
        self._place = {number: place for place, number in enumerate(self._order)}
        # The next place where somebody is left, or one that leads there.
        self._next = list(range(len(asked) + 1))
        self._find = bisect_right if is_below else bisect_left

    def first(self, value: float) -> int:
        """Return the nearest one, -1 if nobody is left."""
        return self._left_from(self._find(self._along, self._sign * value))

    def after(self, number: int) -> int:
        """Return the next one farther away."""
        return self._left_from(self._place[number] + 1)

    def drop(self, number: int) -> None:
        """Leave somebody out from now on."""
        place = self._place[number]
        self._next[place] = place + 1

    def _left_from(self, place: int) -> int:
        leads = self._next
        end = place
        while leads[end] != end:
            end = leads[end]
        while leads[place] != end:
            leads[place], place = end, leads[place]
        return self._order[end] if end < len(self._order) else -1
