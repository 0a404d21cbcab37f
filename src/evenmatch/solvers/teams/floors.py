"""What each player adds at least to the pairs of any match: searches give up early by it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Singles

MOST = 16
"""In larger matches only so many of a player's cheapest enemies and mates are counted."""


def floors_of(costs: Singles, seats: Sequence[int]) -> Singles:
    """Return half of the cheapest enemies and mates that a player can have; shape (n,).

    The pairs of a full match cost at least the sum over its players, whatever its division.

    Args:
        costs: `Pairs.costs`, shape (n, n, 2).
        seats: Seats by team.

    Complexity:
        O(n^2) reads of the table.
    """
    k = sum(seats)
    mates, enemies = min(min(seats) - 1, MOST), min(k - max(seats), MOST)
    floors = np.zeros(len(costs), dtype=np.float32)
    if len(costs) > max(mates, enemies):
        _floors(costs, enemies, mates, floors)
    return floors


@kernel("void(float32[:,:,::1], int64, int64, float32[::1])")
def _floors(costs: Singles, enemies: int, mates: int, floors: Singles) -> None:
    best = np.zeros((2, MOST), dtype=np.float32)
    for i in range(costs.shape[0]):
        best[:, :] = np.inf
        for j in range(costs.shape[0]):
            if j == i:
                continue
            for kind in range(2):
                last = (enemies if kind == 0 else mates) - 1
                cost = costs[i, j, kind]
                if last < 0 or cost >= best[kind, last]:
                    continue
                at = last
                while at > 0 and best[kind, at - 1] > cost:
                    best[kind, at] = best[kind, at - 1]
                    at -= 1
                best[kind, at] = cost
        total = np.float32(0.0)
        for at in range(enemies):
            total += best[0, at]
        for at in range(mates):
            total += best[1, at]
        # A little less, since sums are added in another order.
        floors[i] = np.float32(0.49999) * total
