"""Few points, all pairs: against every way to pair them, and against the sparse solver."""

import math

import numpy as np
import pytest

from evenmatch.solvers.matching.dense import pair_few
from evenmatch.solvers.matching.matching import Field, pair_up
from evenmatch.solvers.matching.pairs import TIME, UNTIL, Floats, pair_cost


def field(seed: int, count: int, wait_max: float = 5.0) -> tuple[Field, Floats]:
    """Return points in time and one value, and what leaving each alone costs."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.random(count) * 3.0)
    points = np.vstack([times, times + wait_max, np.zeros(count), np.arange(count)])
    points = np.ascontiguousarray(np.vstack([points, rng.random(count)]))
    terms = np.array([[2.0, 1.0, 1.0, 1.0, 0.0]])
    found = Field(points, terms, np.zeros(0), 0.2, np.arange(count))
    return found, 0.1 + rng.random(count) * 0.5


def cost_of(given: Field, i: int, j: int, ready: Floats) -> float:
    cost = pair_cost(given.points, given.terms, given.gates, given.price, i, j)
    if len(ready):
        if ready[i, j] > min(given.points[UNTIL, i], given.points[UNTIL, j]):
            return math.inf
        cost += 2 * given.price * max(0.0, ready[i, j] - given.points[TIME, j])
    return cost


def least(given: Field, alone: Floats, ready: Floats, left: tuple[int, ...]) -> float:
    """Return the least cost of all ways to pair the points that are left."""
    if not left:
        return 0.0
    i, *rest = left
    ways = [alone[i] + least(given, alone, ready, tuple(rest))]
    for j in rest:
        others = tuple(k for k in rest if k != j)
        cost = cost_of(given, i, j, ready)
        if cost < math.inf:
            ways.append(cost + least(given, alone, ready, others))
    return min(ways)


def total(given: Field, alone: Floats, ready: Floats, mates: list[int]) -> float:
    pairs = [cost_of(given, i, j, ready) for i, j in enumerate(mates) if j > i]
    return math.fsum(pairs) + math.fsum(alone[i] for i, j in enumerate(mates) if j < 0)


@pytest.mark.parametrize("seed", range(30))
def test_matching_is_the_cheapest_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed + 100)
    count = int(rng.integers(1, 9))
    given, alone = field(seed, count, wait_max=float(rng.choice([1.0, 5.0])))
    ready = np.zeros((0, 0))
    if seed % 2:
        ready = rng.random((count, count)) * 6.0

    mates = pair_few(given, alone, ready).tolist()

    assert all(j < 0 or mates[j] == i for i, j in enumerate(mates))
    best = least(given, alone, ready, tuple(range(count)))
    assert total(given, alone, ready, mates) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_fifty_points_cost_what_the_sparse_solver_finds(seed: int) -> None:
    given, alone = field(seed, 50)
    none = np.zeros((0, 0))

    mine = total(given, alone, none, pair_few(given, alone).tolist())
    other = pair_up([given], alone)

    assert other.is_optimal
    assert mine == pytest.approx(total(given, alone, none, other.mates.tolist()), abs=1e-9)


def test_points_that_gain_nothing_stay_alone() -> None:
    given, _ = field(1, 6)
    assert pair_few(given, np.zeros(6)).tolist() == [-1] * 6
