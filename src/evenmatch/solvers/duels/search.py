"""Neighbour search: the cheapest partners of each player, and pairs that prices overlook.

Players are sorted along one row of values, the axis. Each accepts at most a limit there, and a gap
along the axis costs at least the sum of the terms on that row; both end a search.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.duels.pool import ACCEPT, ARRAYS, BETWEEN, Duels, Floats, Ints, duel_cost
from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import BLOCK, shape_gap, shared_width
from evenmatch.solvers.teams.batch import COLUMN, KNEE, SHAPE, STEP, TOP, WEIGHT

_SEARCH = f"{ARRAYS}, int64, float64[::1]"


def best_axis(duels: Duels) -> tuple[int, Floats]:
    """Return the row to sort players along, and the largest gap that each accepts there.

    Rows with a rule that both must accept come first, the one with the tightest limits relative to
    its spread; without any, the row whose terms weigh most.

    Returns:
        The row of values, and limits of shape (n,); inf if nothing limits the gap.
    """
    everywhere = np.full(duels.players, np.inf)
    best, best_share = -1, np.inf
    for rule, tolerances in zip(duels.rules, duels.tolerances, strict=True):
        column = int(rule[BETWEEN])
        share = float(np.median(tolerances)) / max(float(np.std(duels.values[column])), 1e-300)
        if rule[ACCEPT] == 0.0 and share < best_share:
            best, best_share = column, share
    if best < 0:
        weights = np.zeros(max(1, duels.values.shape[0]))
        np.add.at(weights, duels.terms[:, COLUMN].astype(np.int64), duels.terms[:, WEIGHT])
        return int(np.argmax(weights)), everywhere
    for rule, tolerances in zip(duels.rules, duels.tolerances, strict=True):
        if int(rule[BETWEEN]) == best and rule[ACCEPT] == 0.0:
            everywhere = np.minimum(everywhere, tolerances)
    return best, everywhere


@kernel("float64(float64[:,::1], int64, float64)", inline=True)
def _least_cost(terms: Floats, axis: int, gap: float) -> float:
    """Return a lower bound on the cost of a gap along the axis."""
    cost = 0.0
    for d in range(terms.shape[0]):
        if int(terms[d, COLUMN]) == axis:
            cost += terms[d, WEIGHT] * shape_gap(
                terms[d, SHAPE], terms[d, TOP], terms[d, KNEE], terms[d, STEP], gap
            )
    return cost


@kernel(f"int64[:,::1]({_SEARCH}, int64)")
def nearest(
    values: Floats,
    terms: Floats,
    rules: Floats,
    tolerances: Floats,
    axis: int,
    limits: Floats,
    most: int,
) -> Ints:
    """Return the cheapest partners of each player, -1 where there are fewer; shape (n, most).

    Half of them are searched for on either side along the axis, so that a player at the end of a
    cluster is somebody's partner too.

    Complexity:
        O(n * players within the limit along the axis, or within the cost of the last one kept).
    """
    count, half = values.shape[1], most // 2
    found = np.full((count, 2 * half), -1, dtype=np.int64)
    best = np.zeros(half)
    for i in range(count):
        for side in range(2):
            best[:] = np.inf
            step, first = 2 * side - 1, side * half
            j = i + step
            while 0 <= j < count:
                gap = abs(values[axis, j] - values[axis, i])
                if gap > limits[i] or _least_cost(terms, axis, gap) >= best[half - 1]:
                    break
                cost = duel_cost(values, terms, rules, tolerances, i, j)
                if cost < best[half - 1]:
                    at = half - 1
                    while at > 0 and best[at - 1] > cost:
                        best[at], found[i, first + at] = best[at - 1], found[i, first + at - 1]
                        at -= 1
                    best[at], found[i, first + at] = cost, j
                j += step
    return found


@kernel("Tuple((int64[:,::1], int64[:,::1], int64[::1]))(int64[::1], int64[:,::1], int64)")
def _by_blossom(worths: Ints, nest: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """Return tables by which most pairs inside a blossom are skipped quickly.

    If a player must be left over, all candidates for it are in one blossom, and its dual is as
    large as the price of leaving one over; so are the worths of all in it, until it is subtracted.

    Returns:
        For each player, the outermost blossom (or the player) and its dual; for each block of
        players, the highest worth, and the highest from there to the end; for each block, the
        outermost blossom that contains all of it, -1 if there are several.
    """
    blocks = (count + BLOCK - 1) // BLOCK
    outer = np.zeros((2, count), dtype=np.int64)
    tops = np.zeros((2, blocks), dtype=np.int64)
    lasts = np.full(blocks, -1, dtype=np.int64)
    for i in range(count):
        node = i
        while nest[1, node] > 0:
            node = nest[2, node]
        outer[0, i], outer[1, i] = node, nest[3, node]
        b = i // BLOCK
        if i % BLOCK == 0:
            lasts[b], tops[0, b] = node, worths[i]
        elif lasts[b] != node:
            lasts[b] = -1
        tops[0, b] = max(tops[0, b], worths[i])
    for b in range(blocks - 1, -1, -1):
        tops[1, b] = max(tops[0, b], tops[1, b + 1]) if b + 1 < blocks else tops[0, b]
    return outer, tops, lasts


@kernel(f"int64({_SEARCH}, float64, int64[::1], int64[:,::1], int64[::1], int64[:,::1])")
def overlooked(
    values: Floats,
    terms: Floats,
    rules: Floats,
    tolerances: Floats,
    axis: int,
    limits: Floats,
    scale: float,
    worths: Ints,
    nest: Ints,
    worst: Ints,
    out: Ints,
) -> int:
    """Find the pairs that cost less than what their players are worth: the test of optimality.

    Args:
        values: Numbers of the players, sorted along the axis.
        terms: See `Duels`.
        rules: See `Duels`.
        tolerances: See `Duels`.
        axis: The row of values that players are sorted by.
        limits: The largest gap along it that each accepts.
        scale: Costs are even integers, `2 * round(cost * scale)`.
        worths: Integer worth of each player.
        nest: The blossoms, by `matching.pairs.nesting`.
        worst: Filled with the largest shortfall of each player.
        out: Shape (4, room): filled with players, integer cost and shortfall of pairs.

    Returns:
        The number of such pairs, including those that `out` has no room for.

    Complexity:
        O(n * players within the limit, or within the cost that the highest worth of a block pays).
    """
    count = values.shape[1]
    outer, tops, lasts = _by_blossom(worths, nest, count)
    total = 0
    for i in range(count):
        mine = worths[i]
        for b in range(i // BLOCK, lasts.shape[0]):
            start = max(i + 1, b * BLOCK)
            if start >= count or values[axis, start] - values[axis, i] > limits[i]:
                break
            paid = 2.0 * scale * _least_cost(terms, axis, values[axis, start] - values[axis, i])
            if paid > mine + tops[1, b] + 2:
                break
            shared = outer[1, i] if lasts[b] == outer[0, i] else 0
            if paid > mine + tops[0, b] - shared + 2:
                continue
            for j in range(start, min(count, (b + 1) * BLOCK)):
                gap = values[axis, j] - values[axis, i]
                if gap > limits[i]:
                    break
                limit = mine + worths[j]
                if outer[0, i] == outer[0, j]:
                    limit -= outer[1, i]
                if limit <= 0 or gap > limits[j]:
                    continue
                cost = duel_cost(values, terms, rules, tolerances, i, j)
                if 2.0 * scale * cost >= limit + 2:
                    continue
                even = 2 * round(cost * scale)
                lack = mine + worths[j] - even - shared_width(nest, i, j)
                if lack > 0:
                    worst[i], worst[j] = max(worst[i], lack), max(worst[j], lack)
                    if total < out.shape[1]:
                        out[0, total], out[1, total] = i, j
                        out[2, total], out[3, total] = even, lack
                    total += 1
    return total
