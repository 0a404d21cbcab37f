"""The best division of two teams of three, written out: the inner loop of 3v3 searches.

A match costs the sum of all its pairs as enemies plus, for each pair of mates, the difference. Its
ten divisions stand in the order 012 013 014 015 023 024 025 034 035 045 of the first team.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Floats, Places, Singles
from evenmatch.solvers.teams.options import NEVER, options_of
from evenmatch.solvers.teams.pairs import CELLS

DIVISIONS = 10


@lru_cache(maxsize=8)
def trio_parity(largest: int, weight: float) -> Singles:
    """Return the weighted parity cost of each division by key; `NEVER` where it splits a party."""
    options = options_of((3, 3), largest)
    table = np.full((len(options.first) - 1, DIVISIONS), NEVER, dtype=np.float32)
    number: dict[tuple[int, ...], int] = {
        (0, *pair): at for at, pair in enumerate(combinations(range(1, 6), 2))
    }
    for key in range(len(table)):
        for option in range(options.first[key], options.first[key + 1]):
            if options.parity[option] < NEVER:
                own = np.flatnonzero(options.teams[option] == options.teams[option, 0])
                table[key, number[tuple(own.tolist())]] = weight * options.parity[option]
    return table


@kernel("float32(float32[:,::1], float64[::1], float32)", inline=True, allocates=False)
def _gap_cost(curves: Singles, gap_numbers: Floats, gap: float) -> float:
    """Return the weighted cost of a gap between sums; numbers: cells per unit, interpolated."""
    cells = min(abs(float(gap)) * gap_numbers[0] + 1e-9, float(CELLS))
    low = int(cells)
    cost = curves[0, low]
    if gap_numbers[1] > 0.0:
        cost += np.float32(cells - low) * (curves[0, low + 1] - cost)
    return cost


@kernel("float32(float32[:,:,::1], int64, int64)", inline=True, allocates=False)
def _more(local: Singles, row: int, pair: int) -> float:
    """Return how much more a pair costs as mates than as enemies."""
    return local[row, pair, 1] - local[row, pair, 0]


@kernel(
    "float64(float32[:,:,::1], int64, float32[::1], float32[::1], float32[:,::1], float64[::1])",
    inline=True,
    allocates=False,
)
def trio_cost(
    local: Singles,
    row: int,
    parity: Singles,
    v: Singles,
    curves: Singles,
    gap: Floats,
) -> float:
    """Return the cost of the best division of six players, hosts left out."""
    d01, d02, d03 = _more(local, row, 0), _more(local, row, 1), _more(local, row, 2)
    d04, d05, d12 = _more(local, row, 3), _more(local, row, 4), _more(local, row, 5)
    d13, d14, d15 = _more(local, row, 6), _more(local, row, 7), _more(local, row, 8)
    d23, d24, d25 = _more(local, row, 9), _more(local, row, 10), _more(local, row, 11)
    d34, d35, d45 = _more(local, row, 12), _more(local, row, 13), _more(local, row, 14)
    # Sum of the first team minus that of the second = 2 (first - half).
    s1, s2, s3 = 2 * v[1], 2 * v[2], 2 * v[3]
    s4, s5 = 2 * v[4], 2 * v[5]
    rest = v[1] + v[2] + v[3] + v[4] + v[5] - v[0]
    c0 = parity[0] + d01 + d02 + d12 + d34 + d35 + d45 + _gap_cost(curves, gap, s1 + s2 - rest)
    c1 = parity[1] + d01 + d03 + d13 + d24 + d25 + d45 + _gap_cost(curves, gap, s1 + s3 - rest)
    c2 = parity[2] + d01 + d04 + d14 + d23 + d25 + d35 + _gap_cost(curves, gap, s1 + s4 - rest)
    c3 = parity[3] + d01 + d05 + d15 + d23 + d24 + d34 + _gap_cost(curves, gap, s1 + s5 - rest)
    c4 = parity[4] + d02 + d03 + d23 + d14 + d15 + d45 + _gap_cost(curves, gap, s2 + s3 - rest)
    c5 = parity[5] + d02 + d04 + d24 + d13 + d15 + d35 + _gap_cost(curves, gap, s2 + s4 - rest)
    c6 = parity[6] + d02 + d05 + d25 + d13 + d14 + d34 + _gap_cost(curves, gap, s2 + s5 - rest)
    c7 = parity[7] + d03 + d04 + d34 + d12 + d15 + d25 + _gap_cost(curves, gap, s3 + s4 - rest)
    c8 = parity[8] + d03 + d05 + d35 + d12 + d14 + d24 + _gap_cost(curves, gap, s3 + s5 - rest)
    c9 = parity[9] + d04 + d05 + d45 + d12 + d13 + d23 + _gap_cost(curves, gap, s4 + s5 - rest)
    least = min(min(min(c0, c1), min(c2, c3)), min(min(c4, c5), min(c6, c7)))
    least = min(least, min(c8, c9))
    shared = local[row, 0, 0]
    for pair in range(1, 15):
        shared += local[row, pair, 0]
    return float(shared + least)


@kernel("int64(int32[:,:,::1], int64)", inline=True, allocates=False)
def trio_hosts(bits: Places, row: int) -> int:
    """Return how many of six players reach all others."""
    b0, b1, b2 = bits[row, 0, 0], bits[row, 1, 0], bits[row, 2, 0]
    b3, b4, b5 = bits[row, 3, 0], bits[row, 4, 0], bits[row, 5, 0]
    b6, b7, b8 = bits[row, 6, 0], bits[row, 7, 0], bits[row, 8, 0]
    b9, b10, b11 = bits[row, 9, 0], bits[row, 10, 0], bits[row, 11, 0]
    b12, b13, b14 = bits[row, 12, 0], bits[row, 13, 0], bits[row, 14, 0]
    # Bit 1: the first of the pair reaches the second; bit 2: the other way round.
    found = ((b0 & b1 & b2 & b3 & b4) >> 1) & 1
    found += ((b0 >> 1) & b5 & b6 & b7 & b8) >> 1 & 1
    found += (((b1 & b5) >> 1) & b9 & b10 & b11) >> 1 & 1
    found += (((b2 & b6 & b9) >> 1) & b12 & b13) >> 1 & 1
    found += (((b3 & b7 & b10 & b12) >> 1) & b14) >> 1 & 1
    found += ((b4 & b8 & b11 & b13 & b14) >> 2) & 1
    return int(found)
