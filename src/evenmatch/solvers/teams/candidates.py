"""The best partners of each player: where a search looks first."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import APART, Floats, Ints, Places, Singles
from evenmatch.solvers.teams.evaluation_input import Scene
from evenmatch.solvers.teams.pairs import Measures, pair_of

PARTNERS = 16
"""Candidates of each player."""
NEAR = 48
"""Neighbours on each side to examine in each order, if there is no table of pairs."""


def candidates_of(scene: Scene) -> Places:
    """Return the partners with whom a player's pair costs least, cheapest first; -1 pads the rows.

    With a table of pairs, all players are compared; without one, only those near a player in the
    order of skill, overall and within the best region and the second best.

    Complexity:
        O(n^2) reads of a table, or O(n * 300) pairs.
    """
    count = len(scene.party)
    found: Places = np.full((count, PARTNERS), -1, dtype=np.int32)
    if len(scene.costs):
        _best_in_table(scene.costs, scene.bits, scene.party, found)
    else:
        _best_in_orders(scene.measures, scene.shares, scene.party, _orders(scene), found)
    return found


def _orders(scene: Scene) -> Ints:
    """Return orders in which likely partners stand close together; shape (orders, n)."""
    values, latency = scene.measures.values, scene.measures.latency
    count = len(scene.party)
    skill = values[0] if len(values) else np.zeros(count)
    orders = [np.argsort(skill, kind="stable")]
    if latency.shape[1]:
        by_distance = np.argsort(latency, axis=1, kind="stable")
        for rank in range(min(2, latency.shape[1])):
            orders.append(np.lexsort((skill, by_distance[:, rank])))
    return np.ascontiguousarray(np.vstack(orders), dtype=np.int64)


@kernel("void(float32[:,::1], int32[:,::1], int64, int64, float64)", inline=True, allocates=False)
def _offer(best: Singles, found: Places, i: int, j: int, cost: float) -> None:
    """Insert j among the partners of i if it belongs there; `best` holds one row of costs."""
    at = found.shape[1] - 1
    while at > 0 and (found[i, at - 1] < 0 or best[0, at - 1] > cost):
        best[0, at], found[i, at] = best[0, at - 1], found[i, at - 1]
        at -= 1
    best[0, at], found[i, at] = cost, j


@kernel("void(float32[:,:,::1], int32[:,:,::1], int32[::1], int32[:,::1])")
def _best_in_table(costs: Singles, bits: Places, party: Places, found: Places) -> None:
    best = np.zeros((1, found.shape[1]), dtype=np.float32)
    last = found.shape[1] - 1
    for i in range(costs.shape[0]):
        best[0, :] = np.inf
        for j in range(costs.shape[0]):
            cost = costs[i, j, 0] + costs[i, j, 1]
            if cost < best[0, last] and party[i] != party[j] and bits[i, j, 0] & 1 == 0:
                _offer(best, found, i, j, cost)


@kernel("void(Measures, float64[::1], int32[::1], int64[:,::1], int32[:,::1])")
def _best_in_orders(
    measures: Measures, shares: Floats, party: Places, orders: Ints, found: Places
) -> None:
    count, last = party.shape[0], found.shape[1] - 1
    best = np.zeros((1, found.shape[1]), dtype=np.float32)
    place = np.zeros((orders.shape[0], count), dtype=np.int64)
    seen = np.full(count, -1, dtype=np.int64)
    for order in range(orders.shape[0]):
        for at in range(count):
            place[order, orders[order, at]] = at
    for i in range(count):
        best[0, :] = np.inf
        for order in range(orders.shape[0]):
            middle = place[order, i]
            for at in range(max(0, middle - NEAR), min(count, middle + NEAR + 1)):
                j = orders[order, at]
                if seen[j] == i or party[i] == party[j]:
                    continue
                seen[j] = i
                as_enemies, as_mates, ping, flags = pair_of(measures, i, j, False)
                cost = (as_enemies + as_mates) * shares[0] + ping * (shares[1] + shares[2])
                if cost < best[0, last] and flags & APART == 0:
                    _offer(best, found, i, j, cost)
