"""Slots in the order of one value: a skip list, which finds neighbours without a full search.

All slots are in the first lane, a quarter of them in the second, a quarter of those in the third,
so a newcomer skips most others on the way to its place. Equal values are ordered by age, so the
order does not depend on who was inserted first after a restart.

Source:
    Pugh, Skip Lists (1990); the draws are a hash of the sequence, so runs can be repeated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import TIME

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LANES = 8
DRAWS = 4**LANES
MIX, MIXED = 73_244_475, 2**31 - 1
"""Constants that mix the draws: values may themselves be multiples of the sequence."""
SEQUENCE = 0
"""Row of links: the sequences, see `waiting`."""
LEFT, RIGHT = 7, 8
"""Rows of links in the first lane; those of each other lane follow by two."""
BEST = LEFT + 2 * LANES
"""Row of links in the first lane: see `skip_list_search`; those of the other lanes follow."""
LANE_LINKS = 3 * LANES
LEFTMOST = 8
"""Index in counts of the first slot of each lane."""
AXIS, REACH, COMPARED = 5, 6, 7
"""Numbers: the row of points that orders the slots, or `NO_AXIS`; the largest gap in that row at
which two may ever play; how often a slot was compared with another one."""
NO_AXIS = -1.0
NONE = -1
LOOSE = -2
"""Left neighbour of a slot that is not in a lane."""


@kernel("boolean(float64[:,::1], int64[:,::1], int64, int64)", inline=True)
def is_older(points: Floats, links: Ints, one: int, two: int) -> bool:
    """Return whether a slot comes before another one by age."""
    if points[TIME, one] != points[TIME, two]:
        return bool(points[TIME, one] < points[TIME, two])
    return bool(links[SEQUENCE, one] < links[SEQUENCE, two])


@kernel("int64(int64)", inline=True)
def _draw(sequence: int) -> int:
    """Return a number below `DRAWS`, by multiplying and shifting the bits of a sequence."""
    drawn = sequence & MIXED
    drawn = ((drawn ^ (drawn >> 16)) * MIX) & MIXED
    drawn = ((drawn ^ (drawn >> 16)) * MIX) & MIXED
    return (drawn ^ (drawn >> 16)) % DRAWS


@kernel("void(float64[:,::1], int64[:,::1], float64[::1], int64[::1], int64)", allocates=False)
def link(points: Floats, links: Ints, numbers: Floats, counts: Ints, slot: int) -> None:
    """Insert a slot whose values are written; does nothing in a pool without an axis.

    Complexity:
        O(log n).
    """
    if numbers[AXIS] == NO_AXIS:
        return
    row = int(numbers[AXIS])
    value = points[row, slot]
    drawn = _draw(links[SEQUENCE, slot])
    before = NONE
    for lane in range(LANES - 1, -1, -1):
        left, right = LEFT + 2 * lane, RIGHT + 2 * lane
        after = counts[LEFTMOST + lane] if before == NONE else links[right, before]
        while after != NONE and (
            points[row, after] < value
            or (points[row, after] == value and is_older(points, links, after, slot))
        ):
            before, after = after, links[right, after]
            numbers[COMPARED] += 1.0
        if drawn >= DRAWS >> (2 * lane):
            links[left, slot] = LOOSE
            continue
        links[left, slot], links[right, slot] = before, after
        if before == NONE:
            counts[LEFTMOST + lane] = slot
        else:
            links[right, before] = slot
        if after != NONE:
            links[left, after] = slot


@kernel("void(int64[:,::1], int64[::1], int64)", allocates=False)
def unlink(links: Ints, counts: Ints, slot: int) -> None:
    """Remove a slot from all lanes, if it is in any: O(1) on average."""
    for lane in range(LANES):
        before, after = links[LEFT + 2 * lane, slot], links[RIGHT + 2 * lane, slot]
        if before == LOOSE:
            break
        if before == NONE:
            counts[LEFTMOST + lane] = after
        else:
            links[RIGHT + 2 * lane, before] = after
        if after != NONE:
            links[LEFT + 2 * lane, after] = before
    links[LEFT, slot] = LOOSE
