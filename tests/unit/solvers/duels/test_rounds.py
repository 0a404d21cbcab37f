import math
from functools import cache

import networkx
import numpy as np
import pytest

from evenmatch import MatchmakingError
from evenmatch.solvers.duels import rounds
from evenmatch.solvers.duels.pool import Duels, duel_cost
from evenmatch.solvers.duels.rounds import DuelRound, pair_duels, pair_neighbours
from evenmatch.solvers.matching.pairs import CAPPED, LOG, RAW
from tests.bench.pools import ladder
from tests.extent import thinned

TOLERANCE = 1e-6  # costs are rounded to 2^-42 of what leaving a player over costs


def cost_of(duels: Duels, i: int, j: int) -> float:
    return duel_cost(*duels[:4], i, j)


def by_brute_force(duels: Duels) -> tuple[int, float]:
    """Return the most pairs, and the least cost of pairs and of who stays over with so many."""

    @cache
    def rest(taken: int) -> tuple[int, float]:
        if taken == (1 << duels.players) - 1:
            return 0, 0.0
        i = next(k for k in range(duels.players) if not taken >> k & 1)
        taken |= 1 << i
        found = [(rest(taken), 0, float(duels.worth[i]))]
        for j in range(i + 1, duels.players):
            if not taken >> j & 1 and math.isfinite(cost := cost_of(duels, i, j)):
                found.append((rest(taken | 1 << j), 1, cost))
        totals = [(-more - here, cost + own) for (more, cost), here, own in found]
        fewest, cost = min(totals)
        return -fewest, cost

    return rest(0)


def check_legal(duels: Duels, found: DuelRound) -> None:
    for i, j in found.pairs.tolist():
        assert found.mates[i] == j
        assert found.mates[j] == i
        assert math.isfinite(cost_of(duels, i, j))
    own = [cost_of(duels, i, j) for i, j in found.pairs.tolist()]
    over = duels.worth[found.mates < 0].tolist()
    assert found.cost == pytest.approx(math.fsum(own + over), abs=1e-9)


def check_best(duels: Duels, found: DuelRound) -> None:
    pairs, cost = by_brute_force(duels)
    check_legal(duels, found)
    assert len(found.pairs) == pairs
    assert found.cost == pytest.approx(cost, abs=TOLERANCE)
    assert found.is_optimal
    assert cost - TOLERANCE <= found.bound <= cost + TOLERANCE


def random_ladder(rng: np.random.Generator, count: int, *, is_uniform: bool) -> Duels:
    ratings = rng.random(count) * rng.choice([1.0, 5.0, 20.0])
    if rng.random() < 0.4:
        ratings = np.round(ratings * 2) / 2
    limits = np.full(count, rng.choice([0.5, 1.0, 3.0, np.inf]))
    if not is_uniform:
        limits = np.minimum(limits, rng.choice([0.2, 0.5, 1.0, 2.0], count))
    worth = rng.random(count) * 3 if rng.random() < 0.5 else np.zeros(count)
    return ladder(ratings, limits, worth=worth)


def random_duels(rng: np.random.Generator, count: int) -> Duels:
    """Return players with several terms of all shapes and rules of both kinds."""
    columns, d, q = (int(x) for x in rng.integers([1, 0, 0], [4, 4, 3]))
    values = rng.random((columns, count))
    if rng.random() < 0.3:
        values = np.round(values * 4) / 4
    terms = np.array(
        [
            [
                rng.integers(0, 4),
                rng.random(),
                rng.integers(0, columns),
                rng.choice([RAW, CAPPED, LOG]),
                rng.random() + 0.3,
                0.2,
                rng.choice([0.0, 0.1]),
            ]
            for _ in range(d)
        ]
    ).reshape(d, 7)
    rules = np.array([[0, rng.integers(0, columns), rng.integers(0, 2)] for _ in range(q)])
    tolerances = rng.choice([0.1, 0.3, 0.6, np.inf], (q, count))
    worth = rng.random(count) if rng.random() < 0.5 else np.zeros(count)
    return Duels(values, terms, rules.reshape(q, 3).astype(float), tolerances, worth)


@pytest.mark.parametrize("seed", thinned(range(200), 5))
def test_sorted_neighbours_are_exact_with_equal_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    duels = random_ladder(rng, int(rng.integers(1, 12)), is_uniform=True)
    found = rounds._by_neighbours(duels)
    assert found is not None
    check_best(duels, found)


@pytest.mark.parametrize("seed", thinned(range(200), 5))
def test_a_ladder_with_limits_of_all_sizes_is_exact(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    duels = random_ladder(rng, int(rng.integers(1, 12)), is_uniform=False)
    check_best(duels, pair_duels(duels))


@pytest.mark.parametrize("seed", thinned(range(200), 5))
def test_several_criteria_and_rules_are_exact(seed: int) -> None:
    rng = np.random.default_rng(2000 + seed)
    duels = random_duels(rng, int(rng.integers(1, 12)))
    check_best(duels, pair_duels(duels))


@pytest.mark.parametrize("seed", thinned(range(60), 3))
def test_costs_and_rules_pair_by_pair_are_exact(seed: int) -> None:
    rng = np.random.default_rng(3000 + seed)
    duels = random_duels(rng, int(rng.integers(2, 11)))
    beside = rng.random((duels.players, duels.players)) * 0.5
    beside = np.where(rng.random(beside.shape) < 0.2, np.inf, beside)
    beside = np.maximum(beside, beside.T)
    found = pair_duels(duels, lambda i, j: beside[i, j], extra_top=0.5)
    graph = networkx.Graph()
    for i in range(duels.players):
        for j in range(i):
            cost = cost_of(duels, i, j) + beside[i, j]
            if math.isfinite(cost):
                graph.add_edge(i, j, weight=duels.worth[i] + duels.worth[j] - cost)
    best = networkx.max_weight_matching(graph, maxcardinality=True)
    gain = sum(graph[i][j]["weight"] for i, j in best)
    assert len(found.pairs) == len(best)
    assert found.cost == pytest.approx(float(duels.worth.sum()) - gain, abs=TOLERANCE)
    assert found.is_optimal


@pytest.mark.parametrize("seed", range(3))
def test_medium_pools_equal_networkx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    duels = random_duels(rng, 90)
    found = pair_duels(duels)
    graph = networkx.Graph()
    for i in range(90):
        for j in range(i):
            if math.isfinite(cost := cost_of(duels, i, j)):
                graph.add_edge(i, j, weight=duels.worth[i] + duels.worth[j] - cost)
    best = networkx.max_weight_matching(graph, maxcardinality=True)
    gain = sum(graph[i][j]["weight"] for i, j in best)
    assert len(found.pairs) == len(best)
    assert found.cost == pytest.approx(float(duels.worth.sum()) - gain, abs=TOLERANCE)


def thread_pool(count: int, seed: int) -> Duels:
    """Return ratings N(1500, 350) and limits of 150, widening by 2 a second up to 500."""
    rng = np.random.default_rng(seed)
    waits = rng.exponential(60.0, count)
    return ladder(rng.normal(1500.0, 350.0, count), np.minimum(150.0 + 2.0 * waits, 500.0))


@pytest.mark.parametrize("seed", range(6))
def test_nearly_everybody_of_a_thousand_plays_at_the_least_gap(seed: int) -> None:
    duels = thread_pool(1000, seed)
    found = pair_duels(duels)
    check_legal(duels, found)
    gaps = np.abs(duels.values[0][:, None] - duels.values[0])
    may_play = gaps <= np.minimum(duels.tolerances[0][:, None], duels.tolerances[0])
    have_partners = int((may_play.sum(axis=1) > 1).sum())
    assert 2 * len(found.pairs) >= 0.98 * have_partners
    assert found.is_optimal
    assert found.cost == pytest.approx(found.bound, abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_the_graph_finds_what_neighbours_prove(seed: int) -> None:
    duels = thread_pool(400, seed)._replace(tolerances=np.full((1, 400), 150.0))
    one, two = rounds._by_neighbours(duels), rounds._by_graph(duels, None, 0.0, 60)
    assert one is not None
    assert len(one.pairs) == len(two.pairs)
    assert one.cost == pytest.approx(two.cost, abs=1e-4)


@pytest.mark.parametrize("place", [0, 250, 500])
def test_a_player_far_from_all_costs_no_match(place: int) -> None:
    duels = thread_pool(500, 1)
    far = float(duels.values[0].max() + 1000.0)
    more = ladder(
        np.insert(duels.values[0], place, far), np.insert(duels.tolerances[0], place, 500.0)
    )
    before, after = pair_duels(duels), pair_duels(more)
    assert len(after.pairs) == len(before.pairs)
    assert after.mates[place] == -1
    assert after.cost == pytest.approx(before.cost, abs=1e-9)


def test_the_most_pairs_come_before_the_closest() -> None:
    found = pair_duels(ladder(np.array([0.0, 9.0, 10.0, 19.0]), np.full(4, 10.0)))
    assert found.pairs.tolist() == [[0, 1], [2, 3]]


def test_who_is_worth_most_plays_when_somebody_must_stay_over() -> None:
    ratings, limits = np.array([0.0, 1.0, 3.0]), np.full(3, 10.0)
    assert pair_duels(ladder(ratings, limits)).mates.tolist() == [1, 0, -1]
    waited = pair_duels(ladder(ratings, limits, worth=np.array([9.0, 0.0, 9.0])))
    assert waited.mates.tolist() == [2, -1, 0]


def test_a_search_cut_short_still_gives_a_bound() -> None:
    rng = np.random.default_rng(5)
    values = rng.random((3, 300))
    terms = np.array([[0.0, 1.0, column, RAW, 1.0, 1.0, 0.0] for column in range(3)])
    duels = Duels(values, terms, np.zeros((0, 3)), np.zeros((0, 300)), np.zeros(300))
    short, full = pair_duels(duels, searches_max=1), pair_duels(duels)
    assert full.is_optimal
    assert not short.is_optimal
    assert short.bound <= full.cost + TOLERANCE
    assert full.cost <= short.cost + TOLERANCE


@pytest.mark.parametrize("count", [0, 1])
def test_nobody_and_one_player_make_no_match(count: int) -> None:
    found = pair_duels(ladder(np.zeros(count), np.zeros(count)))
    assert found.pairs.shape == (0, 2)
    assert found.cost == 0.0
    assert found.is_optimal


def test_players_who_look_alike_all_play() -> None:
    found = pair_duels(ladder(np.full(501, 7.0), np.zeros(501)))
    assert len(found.pairs) == 250
    assert found.cost == 0.0


def test_neighbours_who_refuse_each_other_are_left_to_the_graph() -> None:
    along = np.array([0.0, 2.0, 2.5, 3.0])
    both, either = np.array([3.0, 1.0, 3.0, 1.0]), np.full(4, np.inf)
    assert pair_neighbours(along, (both, either), 1.0, np.zeros(4)) is None
    assert pair_duels(ladder(along, both)).pairs.tolist() == [[0, 2], [1, 3]]


def test_too_many_players_are_refused() -> None:
    count = rounds.PLAYERS_MAX + 1
    with pytest.raises(MatchmakingError, match="at most 100,000 players, got 100,001"):
        pair_duels(ladder(np.zeros(count), np.zeros(count)))
