import itertools
import math
from functools import cache

import networkx
import numpy as np
import pytest

from evenmatch.solvers.matching.matching import Field, Pairing, pair_up
from evenmatch.solvers.matching.pairs import nesting, pair_cost, shared_width
from tests.extent import extent, more

pytestmark = more

TOLERANCE = 1e-9  # costs are rounded to 2^-42 of the highest


def random_field(rng: np.random.Generator, count: int) -> tuple[Field, np.ndarray]:
    """Return points with sides, owners, limits, gates, and ties in times and values."""
    terms, gates = int(rng.integers(0, 3)), int(rng.integers(0, 2))
    times = np.sort(rng.random(count) * rng.choice([0.1, 1, 10, 50]))
    if rng.random() < 0.3:
        times = np.round(times * 4) / 4
    values = rng.random((terms + gates, count))
    if rng.random() < 0.3:
        values = np.round(values * 5) / 5
    sides = rng.integers(0, 3, count) if rng.random() < 0.3 else np.zeros(count)
    owners = rng.integers(0, count, count) if rng.random() < 0.3 else np.arange(count)
    until = times + rng.choice([1, 5, np.inf], count)
    table = [
        [rng.random() * 3, rng.integers(0, 3), rng.random() + 0.3, 0.2, rng.choice([0, 0.1])]
        for _ in range(terms)
    ]
    field = Field(
        np.ascontiguousarray(np.vstack([times, until, sides, owners, values]), dtype=float),
        np.array(table, dtype=float).reshape(terms, 5),
        rng.random(gates),
        float(rng.choice([0.2, 1, 0])),
        np.arange(count),
    )
    alone = rng.random(count) * 3 if rng.random() < 0.5 else np.full(count, rng.choice([0.5, 4.0]))
    return field, alone


def uniform_field(count: int, rate: float, seed: int = 0) -> tuple[Field, np.ndarray]:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1, count)) / rate
    rows = [times, times + 5.0, np.zeros(count), np.arange(count), rng.random(count)]
    terms = np.array([[2.0, 1.0, 1.0, 1.0, 0.0]])
    points = np.ascontiguousarray(np.vstack(rows), dtype=float)
    return Field(points, terms, np.zeros(0), 0.2, np.arange(count)), np.full(count, 4.0)


def cost_of(field: Field, i: int, j: int) -> float:
    return pair_cost(field.points, field.terms, field.gates, field.price, i, j)


def total(field: Field, alone: np.ndarray, found: Pairing) -> float:
    costs = []
    for i, mate in enumerate(found.mates.tolist()):
        if mate < 0:
            costs.append(float(alone[i]))
        elif i < mate:
            assert found.mates[mate] == i
            costs.append(cost_of(field, i, mate))
    return math.fsum(costs)


def by_brute_force(field: Field, alone: np.ndarray) -> float:
    count = len(alone)

    @cache
    def rest(taken: int) -> float:
        if taken == (1 << count) - 1:
            return 0.0
        i = next(k for k in range(count) if not taken >> k & 1)
        taken |= 1 << i
        others = [j for j in range(i + 1, count) if not taken >> j & 1]
        pairs = [cost_of(field, i, j) + rest(taken | 1 << j) for j in others]
        return min([float(alone[i]) + rest(taken), *pairs])

    return rest(0)


def by_networkx(field: Field, alone: np.ndarray) -> float:
    graph = networkx.Graph()
    for i, j in itertools.combinations(range(len(alone)), 2):
        gain = alone[i] + alone[j] - cost_of(field, i, j)
        if gain > 0:
            graph.add_edge(i, j, gain=gain)
    matched = networkx.max_weight_matching(graph, weight="gain")
    return float(alone.sum() - sum(graph[i][j]["gain"] for i, j in matched))


@pytest.mark.parametrize("seed", range(extent(30, 150)))
def test_small_matchings_equal_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    field, alone = random_field(rng, int(rng.integers(1, 12)))
    found = pair_up([field], alone, most=int(rng.integers(1, 7)))
    cost = total(field, alone, found)
    assert found.is_optimal
    assert cost == pytest.approx(by_brute_force(field, alone), abs=TOLERANCE)
    assert cost - TOLERANCE <= found.bound <= cost + TOLERANCE


@pytest.mark.parametrize("seed", range(extent(3, 12)))
def test_medium_matchings_equal_networkx(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    field, alone = random_field(rng, int(rng.integers(40, 130)))
    found = pair_up([field], alone)
    assert found.is_optimal
    assert total(field, alone, found) == pytest.approx(by_networkx(field, alone), abs=TOLERANCE)


def test_dense_places_with_deep_blossoms_equal_networkx() -> None:
    field, alone = uniform_field(extent(90, 200), rate=500.0)
    found = pair_up([field], alone)
    assert total(field, alone, found) == pytest.approx(by_networkx(field, alone), abs=TOLERANCE)


def test_a_proof_does_not_depend_on_the_first_graph() -> None:
    field, alone = uniform_field(2000, rate=10.0)
    costs = [total(field, alone, pair_up([field], alone, most=most)) for most in (1, 3, 12)]
    assert costs == pytest.approx([costs[0]] * 3, abs=TOLERANCE)


def test_bounds_hold_when_it_stops_early() -> None:
    field, alone = uniform_field(5000, rate=10.0)
    early = pair_up([field], alone, most=5, rounds_max=1)
    best = total(field, alone, pair_up([field], alone))
    assert not early.is_optimal
    assert early.bound <= best <= total(field, alone, early)
    within = pair_up([field], alone, gap_max=0.001)
    assert within.rounds <= 3
    assert within.bound <= best <= total(field, alone, within) <= 1.001 * within.bound


def test_two_fields_are_solved_jointly() -> None:
    field, _ = uniform_field(6, rate=3.0)
    times, values = field.points[0], field.points[4]
    first, second = field.points[:, [0, 1, 2, 3]], field.points[:, [2, 3, 4, 5]]
    halves = [
        Field(np.ascontiguousarray(part), field.terms, field.gates, field.price, ids)
        for part, ids in ((first, np.arange(4)), (second, np.arange(2, 6)))
    ]
    found = pair_up(halves, np.full(6, 4.0))
    ends = [(i, int(j)) for i, j in enumerate(found.mates) if i < j]
    assert all(j < 4 or i > 1 for i, j in ends)
    got = sum(2 * abs(values[i] - values[j]) + 0.2 * (times[j] - times[i]) for i, j in ends)
    graph = networkx.Graph()
    for i, j in itertools.combinations(range(6), 2):
        if j < 4 or i > 1:
            graph.add_edge(i, j, gain=8 - cost_of(field, i, j))
    matched = networkx.max_weight_matching(graph, weight="gain")
    assert got == pytest.approx(sum(8 - graph[i][j]["gain"] for i, j in matched))


def test_nothing_to_pair() -> None:
    field = Field(np.zeros((4, 0)), np.zeros((0, 5)), np.zeros(0), 1.0, np.zeros(0, dtype=np.int64))
    found = pair_up([field], np.zeros(0))
    assert len(found.mates) == 0
    assert found.is_optimal
    assert pair_up([], np.array([1.0])).mates.tolist() == [-1]


def test_shared_width_equals_a_walk_up_the_nest() -> None:
    rng = np.random.default_rng(3)
    count, nodes = 60, 110
    around = np.full(nodes, -1, dtype=np.int64)
    for node in range(nodes - 1):
        low = max(node + 1, count)
        around[node] = rng.integers(low, min(low + 3, nodes)) if rng.random() < 0.97 else -1
    widths = 2 * rng.integers(0, 5, nodes)
    nest = nesting(around, widths, count)

    def above(node: int) -> set[int]:
        return set() if around[node] < 0 else {int(around[node])} | above(int(around[node]))

    for one, two in itertools.combinations(range(count), 2):
        expected = sum(int(widths[node]) for node in above(one) & above(two))
        assert shared_width(nest, one, two) == expected
