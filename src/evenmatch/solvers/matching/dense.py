"""The cheapest way to pair a few points in time: all pairs at once, no search for overlooked ones.

For up to about fifty points, the graph of all pairs with a gain is small, and building it in one
kernel takes less time than `solvers.matching` needs to choose the pairs that matter.
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.blossom import grow
from evenmatch.solvers.matching.forest import MATE, forest_of
from evenmatch.solvers.matching.matching import PRECISION_BITS, Field, _mend
from evenmatch.solvers.matching.pairs import TIME, UNTIL, Floats, Ints, pair_cost

NO_DELAYS: Floats = np.zeros((0, 0))


def pair_few(field: Field, alone: Floats, ready: Floats = NO_DELAYS) -> Ints:
    """Pair points, or leave them alone, at the least total cost.

    Args:
        field: The points; `ids` and `refine` are not used.
        alone: Cost of leaving each point alone, finite, >= 0; shape (n,).
        ready: Shape (n, n), read where row < column: the instant from which a pair may play; both
            points of the pair wait until then. Shape (0, 0) if every pair may play at once.

    Returns:
        Partner of each point, -1 for none; shape (n,).

    Complexity:
        O(n^2) for the pairs; the matching takes about as long for points spread over time and
        value: 50 points take 0.1 ms.
    """
    count = len(alone)
    top = float(alone.max(initial=0.0))
    scale = 2.0 ** math.floor(PRECISION_BITS - 1 - math.log2(max(top, 1e-200)))
    f = field
    edges = _gaining(f.points, f.terms, f.gates, f.price, alone, ready, scale)
    edge_count = edges.shape[1]
    if edge_count == 0:
        return np.full(count, -1, dtype=np.int64)
    starts, slots = _slots(edges, count)
    duals: Ints = np.zeros(count, dtype=np.int64)
    mates: Ints = np.full(count, -1, dtype=np.int64)
    _mend(edges, duals, mates, starts, slots)
    forest = forest_of(duals, mates, edges, starts, slots)
    for relaxed in (1, 0):
        grow(forest, count, relaxed)
    found: Ints = forest.nodes[MATE, :count].copy()
    return found


@kernel(
    "int64[:,::1](float64[:,::1], float64[:,::1], float64[::1], float64, float64[::1],"
    " float64[:,::1], float64)"
)
def _gaining(
    points: Floats,
    terms: Floats,
    gates: Floats,
    price: float,
    alone: Floats,
    ready: Floats,
    scale: float,
) -> Ints:
    """Return the pairs that cost less than leaving both alone: ends and even gains, (3, m)."""
    count = alone.shape[0]
    edges = np.empty((3, count * (count - 1) // 2), dtype=np.int64)
    found = 0
    for i in range(count):
        for j in range(i + 1, count):
            cost = pair_cost(points, terms, gates, price, i, j)
            if ready.shape[0] > 0:
                if ready[i, j] > min(points[UNTIL, i], points[UNTIL, j]):
                    continue
                cost += 2.0 * price * max(0.0, ready[i, j] - points[TIME, j])
            rest = alone[i] + alone[j] - cost
            if rest <= 0.0:
                continue
            gain = 2 * (round(alone[i] * scale) + round(alone[j] * scale) - round(cost * scale))
            if gain > 0:
                edges[0, found], edges[1, found], edges[2, found] = i, j, gain
                found += 1
    return edges[:, :found].copy()


@kernel("UniTuple(int64[::1], 2)(int64[:,::1], int64)")
def _slots(edges: Ints, count: int) -> tuple[Ints, Ints]:
    """Return, for each vertex, the edges at it: starts of shape (n + 1,) and edge numbers."""
    starts = np.zeros(count + 1, dtype=np.int64)
    edge_count = edges.shape[1]
    for side in range(2):
        for e in range(edge_count):
            starts[edges[side, e] + 1] += 1
    for v in range(count):
        starts[v + 1] += starts[v]
    free = starts[:-1].copy()
    slots = np.empty(2 * edge_count, dtype=np.int64)
    for side in range(2):
        for e in range(edge_count):
            v = edges[side, e]
            slots[free[v]] = e
            free[v] += 1
    return starts, slots
