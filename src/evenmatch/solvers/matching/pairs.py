"""Costs of pairs of points in time: the nearest pairs, and those that a set of prices overlooks.

A field of points is an array with a column for each point, by ascending time, and these rows: the
time; the last instant at which the point may be paired; its side (0 = flexible; points of the same
side never pair); its owner (points of the same owner never pair); then a row for each term of the
cost; then one for each gate. A term is (weight, shape, top, knee, step); a gate is the largest gap
that a pair may ever have.

    cost = sum of weight * shape(gap) + price * (difference of times)

Costs are handled as even integers, rounded once per pair: `2 * round(cost * scale)`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TIME, UNTIL, SIDE, OWNER, FIRST_VALUE = range(5)
RAW, CAPPED, LOG = 0.0, 1.0, 2.0
"""Shapes of terms: the gap; gap / top up to 1; logarithmic up to 1."""
BLOCK = 64
STEP_SLACK = 1e-9
"""A gap this close below a multiple of `step` counts as that multiple."""

_FIELD = "float64[:,::1], float64[:,::1], float64[::1], float64"


@kernel("float64(float64, float64, float64, float64, float64)", inline=True)
def shape_gap(shape: float, top: float, knee: float, step: float, gap: float) -> float:
    """Return what a gap costs before its weight.

    Inner loops of a pool pass it numbers: a call that takes an array costs three times as much as
    the calculation itself.
    """
    if step > 0.0:
        gap = math.floor(gap / step + STEP_SLACK) * step
    if shape != RAW:
        gap = min(gap, top)
        gap = gap / top if shape == CAPPED else math.log1p(gap / knee) / math.log1p(top / knee)
    return gap


@kernel("float64(float64[:,::1], int64, float64)", inline=True)
def unweighted_cost(terms: Floats, term: int, gap: float) -> float:
    """Return what a gap between values costs before the weight of its term."""
    return shape_gap(terms[term, 1], terms[term, 2], terms[term, 3], terms[term, 4], gap)


@kernel(f"float64({_FIELD}, int64, int64)", inline=True)
def pair_cost(points: Floats, terms: Floats, gates: Floats, price: float, i: int, j: int) -> float:
    """Return the cost of pairing point i with a later point j; infinity if it is forbidden."""
    if points[TIME, j] > points[UNTIL, i] or points[OWNER, i] == points[OWNER, j]:
        return np.inf
    if points[SIDE, i] != 0.0 and points[SIDE, i] == points[SIDE, j]:
        return np.inf
    first_gate = FIRST_VALUE + terms.shape[0]
    for g in range(gates.shape[0]):
        if abs(points[first_gate + g, i] - points[first_gate + g, j]) > gates[g]:
            return np.inf
    cost: float = price * (points[TIME, j] - points[TIME, i])
    for d in range(terms.shape[0]):
        gap = abs(points[FIRST_VALUE + d, i] - points[FIRST_VALUE + d, j])
        cost += terms[d, 0] * unweighted_cost(terms, d, gap)
    return cost


@kernel(f"float64[::1]({_FIELD}, int64[::1], int64[::1])")
def pair_costs(
    points: Floats, terms: Floats, gates: Floats, price: float, one: Ints, two: Ints
) -> Floats:
    """Return the cost of many pairs, the earlier point of each first."""
    costs = np.zeros(one.shape[0])
    for p in range(one.shape[0]):
        costs[p] = pair_cost(points, terms, gates, price, one[p], two[p])
    return costs


@kernel(f"void({_FIELD}, int64, int64, float64[::1], int64[::1])")
def _offer(
    points: Floats,
    terms: Floats,
    gates: Floats,
    price: float,
    i: int,
    j: int,
    best: Floats,
    who: Ints,
) -> None:
    """Insert j among the best partners of i, cheapest first, if it belongs there."""
    cost = pair_cost(points, terms, gates, price, min(i, j), max(i, j))
    at = best.shape[0] - 1
    if not cost < best[at]:
        return
    while at > 0 and best[at - 1] > cost:
        best[at], who[at] = best[at - 1], who[at - 1]
        at -= 1
    best[at], who[at] = cost, j


@kernel(f"int64[:,::1]({_FIELD}, int64)")
def nearest(points: Floats, terms: Floats, gates: Floats, price: float, most: int) -> Ints:
    """Return the cheapest partners of each point, -1 where there are fewer; shape (n, most).

    Complexity:
        O(n * points in a window of time); the window ends where the wait alone costs more.
    """
    count = points.shape[1]
    found = np.full((count, most), -1, dtype=np.int64)
    for i in range(count):
        best = np.full(most, np.inf)
        for j in range(i + 1, count):
            wait = points[TIME, j] - points[TIME, i]
            if price * wait >= best[most - 1] or points[TIME, j] > points[UNTIL, i]:
                break
            _offer(points, terms, gates, price, i, j, best, found[i])
        for j in range(i - 1, -1, -1):
            if price * (points[TIME, i] - points[TIME, j]) >= best[most - 1]:
                break
            _offer(points, terms, gates, price, i, j, best, found[i])
    return found


@kernel("int64[:,::1](int64[::1], int64[::1], int64)")
def nesting(around: Ints, widths: Ints, count: int) -> Ints:
    """Return the table of blossoms around `count` vertices that `shared_width` reads.

    Rows: the blossom around, the depth, a jump some levels up, and the sum of the duals of the
    node and of all around it. Jumps make a walk up deep nests logarithmic.

    Source:
        Myers, An Applicative Random-Access Stack (1983).
    """
    nodes = around.shape[0]
    nest = np.full((4, nodes), -1, dtype=np.int64)
    path = np.zeros(nodes, dtype=np.int64)
    for v in range(count):
        length, node = 0, v
        while node >= 0 and nest[1, node] < 0:
            path[length] = node
            length, node = length + 1, around[node]
        for at in range(length - 1, -1, -1):
            child = path[at]
            above = around[child]
            own = widths[child] if child >= count else 0
            nest[0, child] = above
            if above < 0:
                nest[1, child], nest[2, child], nest[3, child] = 0, child, own
                continue
            jump = nest[2, above]
            is_even = nest[1, above] - nest[1, jump] == nest[1, jump] - nest[1, nest[2, jump]]
            nest[1, child] = nest[1, above] + 1
            nest[2, child] = nest[2, jump] if is_even else above
            nest[3, child] = nest[3, above] + own
    return nest


@kernel("int64(int64[:,::1], int64, int64)")
def shared_width(nest: Ints, first: int, second: int) -> int:
    """Return the sum of the duals of the blossoms that contain both vertices: O(log n)."""
    if nest[1, first] < nest[1, second]:
        first, second = second, first
    while nest[1, first] > nest[1, second]:
        jump = nest[2, first]
        first = jump if nest[1, jump] >= nest[1, second] else nest[0, first]
    while first != second:
        if nest[1, first] == 0:
            return 0
        if nest[2, first] != nest[2, second]:
            first, second = nest[2, first], nest[2, second]
        else:
            first, second = nest[0, first], nest[0, second]
    total: int = nest[3, first]
    return total


@kernel("UniTuple(int64[::1], 2)(int64[::1], int64[::1])")
def _block_tops(worths: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """Return the highest worth in each block of points, and from each block to the end.

    The first says what a search may skip, the second when it may stop.
    """
    blocks = (ids.shape[0] + BLOCK - 1) // BLOCK
    tops = np.zeros(blocks + 1, dtype=np.int64)
    for i in range(ids.shape[0]):
        tops[i // BLOCK] = max(tops[i // BLOCK], worths[ids[i]])
    rest = tops.copy()
    for b in range(blocks - 1, -1, -1):
        rest[b] = max(rest[b], rest[b + 1])
    return tops, rest


@kernel(f"int64({_FIELD}, int64[::1], float64, int64[::1], int64[:,::1], int64[::1], int64[:,::1])")
def overlooked(
    points: Floats,
    terms: Floats,
    gates: Floats,
    price: float,
    ids: Ints,
    scale: float,
    worths: Ints,
    nest: Ints,
    worst: Ints,
    out: Ints,
) -> int:
    """Find the pairs that cost less than what their ends are worth: the test of optimality.

    Args:
        points: The field.
        terms: Its terms.
        gates: Its gates.
        price: Cost per second.
        ids: Number of each point, in no particular order.
        scale: Factor from costs to integers, see above; a power of two.
        worths: Integer worth of each number's point.
        nest: The blossoms, by `nesting`.
        worst: Set to the largest shortfall of each number's point.
        out: Shape (4, room): set to the two numbers, integer cost and shortfall of each pair.

    Returns:
        The number of such pairs, including those that `out` has no room for.

    Complexity:
        O(n * points within the time that the highest worth of a block pays for).
    """
    count = points.shape[1]
    tops, rest = _block_tops(worths, ids)
    blocks = tops.shape[0] - 1
    total = 0
    for i in range(count):
        mine = worths[ids[i]]
        for b in range(i // BLOCK, blocks):
            start = max(i + 1, b * BLOCK)
            if start >= count or points[TIME, start] > points[UNTIL, i]:
                break
            paid = 2.0 * scale * price * (points[TIME, start] - points[TIME, i])
            if paid > mine + rest[b] + 2:
                break
            if paid > mine + tops[b] + 2:
                continue
            for j in range(start, min(count, (b + 1) * BLOCK)):
                cost = pair_cost(points, terms, gates, price, i, j)
                limit = mine + worths[ids[j]]
                if cost == np.inf or 2.0 * scale * cost >= limit + 2:
                    continue
                even = 2 * round(cost * scale)
                lack = limit - even
                if lack > 0:
                    lack -= shared_width(nest, ids[i], ids[j])
                if lack > 0:
                    worst[ids[i]] = max(worst[ids[i]], lack)
                    worst[ids[j]] = max(worst[ids[j]], lack)
                    if total < out.shape[1]:
                        out[0, total], out[1, total] = ids[i], ids[j]
                        out[2, total], out[3, total] = even, lack
                    total += 1
    return total
