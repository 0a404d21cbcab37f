import math

import networkx
import numpy as np
import pytest

from evenmatch import MatchmakingError
from evenmatch.solvers.duels.plan import plan_duels
from evenmatch.solvers.teams.batch import Batch, Facts, empty_batch, empty_facts
from evenmatch.solvers.teams.reference import cost_of, is_legal
from tests.extent import thinned

TOLERANCE = 1e-6


def symmetric(rng: np.random.Generator, n: int, high: float) -> np.ndarray:
    half = np.triu(rng.random((n, n)) * high, 1)
    return (half + half.T).astype(np.float32)


def random_facts(rng: np.random.Generator, n: int) -> Facts:
    """Return players with everything that a batch may know of them, each part now and then."""
    facts = empty_facts(n)._replace(values=rng.random((2, n)))
    if rng.random() < 0.5:
        facts = facts._replace(gaps=np.array([[3.0, rng.random(), 1.0, 2.0, 1.0, 0.3, 0.0]]))
    if rng.random() < 0.6:
        latency = (rng.random((n, 3)) * 200).astype(np.float32)
        latency[rng.random((n, 3)) < 0.2] = np.inf
        weights = rng.choice([0.0, 0.4], 4)
        facts = facts._replace(latency=latency, ping_weights=weights)
        if rng.random() < 0.5:
            facts = facts._replace(ping=symmetric(rng, n, 500.0))
        if rng.random() < 0.5:
            facts = facts._replace(ping_max=rng.choice([150.0, 300.0, np.inf], (2, n)))
    pairs = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.2]
    met = [[i, j, rng.random(), rng.integers(0, 2)] for i, j in pairs]
    facts = facts._replace(met=np.array(met).reshape(-1, 4), met_weight=0.3)
    avoid = [[i, j, rng.integers(1, 8)] for i, j in pairs[::2]]
    facts = facts._replace(avoid=np.array(avoid, dtype=np.int64).reshape(-1, 3))
    if rng.random() < 0.5:
        facts = facts._replace(
            words=rng.integers(0, 2, (2, n)),
            words_weight=rng.choice([0.2, np.inf], 2),
            tongues=rng.integers(1, 8, (1, n)).astype(np.uint64),
            tongues_weight=rng.choice([0.2, np.inf], 1),
        )
    if rng.random() < 0.3:
        return facts._replace(connect=rng.integers(0, 2, (n, n)).astype(np.uint8))
    if rng.random() < 0.3:
        return facts._replace(network=rng.integers(0, 3, n))
    return facts


def random_batch(rng: np.random.Generator, n: int) -> Batch:
    batch = empty_batch(np.array([1, 1]), np.arange(n + 1), random_facts(rng, n))
    kind, shape = rng.integers(0, 4), rng.integers(0, 3)
    batch = batch._replace(
        terms=np.array([[kind, 0.7, 0.0, shape, 1.0, 0.3, 0.0]]),
        parity=0.1,
        hosts=np.array([0.3, 0.1, 0.0]) if rng.random() < 0.5 else np.zeros(3),
        worth=rng.random(n) if rng.random() < 0.5 else np.zeros(n),
    )
    if rng.random() < 0.5:
        rules = np.array([[0.0, 0.0, rng.integers(0, 2)]])
        batch = batch._replace(rules=rules, tolerances=rng.choice([0.2, 0.5, np.inf], (1, n)))
    if rng.random() < 0.3:
        roles = rng.choice([0.0, 0.1, np.inf], (n, 2)).astype(np.float32)
        batch = batch._replace(role_seats=np.array([1, 1]), role_cost=roles)
    return batch


@pytest.mark.parametrize("seed", thinned(range(150), 5))
def test_plan_of_duels_is_the_best_by_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch = random_batch(rng, int(rng.integers(2, 14)))
    graph = networkx.Graph()
    for i in range(batch.players):
        for j in range(i):
            if is_legal(batch, [[i], [j]]):
                gain = 1.0 - cost_of(batch, [[i], [j]]) + batch.worth[i] + batch.worth[j]
                graph.add_edge(i, j, weight=gain)
    best = networkx.max_weight_matching(graph, maxcardinality=True)
    found = plan_duels(batch)
    seated = found.plan.seating.tolist()
    assert len(seated) == len(best)
    assert found.is_optimal
    for (i, j), quality in zip(seated, found.plan.quality.tolist(), strict=True):
        assert is_legal(batch, [[i], [j]])
        # Pings are kept in single precision.
        assert quality == pytest.approx(1.0 - cost_of(batch, [[i], [j]]), abs=TOLERANCE)
    total = math.fsum(found.plan.quality) + sum(batch.worth[p] for pair in seated for p in pair)
    most = sum(graph[i][j]["weight"] for i, j in best)
    assert total == pytest.approx(most, abs=TOLERANCE)
    if seated:
        assert found.bound * len(seated) == pytest.approx(most, abs=TOLERANCE)


def test_plans_are_the_same_each_time() -> None:
    plans = [plan_duels(random_batch(np.random.default_rng(4), 60)) for _ in range(2)]
    assert plans[0].plan.seating.tolist() == plans[1].plan.seating.tolist()


@pytest.mark.parametrize(
    ("seats", "first", "sentence"),
    [
        ([2, 2], [0, 1, 2, 3, 4], r"teams of 1 \+ 1 players, got \[2, 2\]"),
        ([1, 1, 1], [0, 1, 2, 3], r"got \[1, 1, 1\]"),
        ([1, 1], [0, 1, 3, 4], "parties of one player"),
    ],
)
def test_other_teams_and_parties_are_refused(
    seats: list[int], first: list[int], sentence: str
) -> None:
    batch = empty_batch(np.array(seats), np.array(first), empty_facts(first[-1]))
    with pytest.raises(MatchmakingError, match=sentence):
        plan_duels(batch)
