"""The players with whom one may ever play, according to one gate."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.steps.skip_list import AXIS, COMPARED, LEFT, REACH, RIGHT, is_older
from evenmatch.solvers.steps.waiting import (
    FOUND,
    NONE,
    OLDEST,
    SIZE,
    YOUNGER,
    Floats,
    Ints,
    WaitingRoster,
)

FEW = 8
"""If at most one in this many waiting players is in reach, they are sorted by age; else all are
taken, in order."""


@kernel("void(float64[:,::1], int64[:,::1], int64)", inline=True)
def _sort_by_age(points: Floats, links: Ints, count: int) -> None:
    """Sort the first players by age, by Shell's method: neighbours come in no order of age."""
    step = 1
    while 3 * step < count:
        step = 3 * step + 1
    while step > 0:
        for first in range(step, count):
            slot, at = links[FOUND, first], first
            while at >= step and is_older(points, links, slot, links[FOUND, at - step]):
                links[FOUND, at] = links[FOUND, at - step]
                at -= step
            links[FOUND, at] = slot
        step //= 3


@kernel("int64(WaitingRoster, int64)", allocates=False)
def find_within(waiting: WaitingRoster, slot: int) -> int:
    """Write all players that the axis allows into the row `FOUND`, by age; return their number.

    Some who are too far away may be among them: the cost of a pair excludes them.

    Complexity:
        O(m log m) for m players in reach, O(n) if they are a large share of all.
    """
    points, links, numbers, counts = waiting.points, waiting.links, waiting.numbers, waiting.counts
    count, most = 0, counts[SIZE] // FEW
    if numbers[REACH] < np.inf:
        row = int(numbers[AXIS])
        for side in (LEFT, RIGHT):
            other = links[side, slot]
            while (
                count <= most
                and other != NONE
                and abs(points[row, other] - points[row, slot]) <= numbers[REACH]
            ):
                if count < most:
                    links[FOUND, count] = other
                count += 1
                other = links[side, other]
        if count <= most:
            _sort_by_age(points, links, count)
            numbers[COMPARED] += count + 1.0
            return count
    count = 0
    other = counts[OLDEST]
    while other != NONE:
        if other != slot:
            links[FOUND, count] = other
            count += 1
        other = links[YOUNGER, other]
    numbers[COMPARED] += count
    return count
