import math

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.schlup import (
    bot_probability,
    bot_probability_bracket,
    error_bound,
    greedy_cost,
    greedy_cost_exact,
    multi_queue_cost,
    n_opt,
    periodic_cost,
    r_opt,
    schlup,
)

AT_TEN = {"k": 2, "rate": 10.0, "wait_max": 5.0}


def test_the_papers_examples() -> None:
    assert round(periodic_cost(8, **AT_TEN), 4) == 0.3622
    assert round(multi_queue_cost(6, **AT_TEN), 4) == 0.2311
    assert n_opt(**AT_TEN) == pytest.approx(9)
    assert round(r_opt(**AT_TEN), 2) == 5.77
    found = schlup(**AT_TEN)
    assert found["brackets"] == 6
    assert found["rounds_of"] in (4, 5)


BOTS = [  # k, rate, exact, printed; wait_max = 5
    (2, 1, 0.0067, 0.0337),
    (3, 1, 0.0404, 0.1179),
    (4, 1, 0.1247, 0.2583),
    (10, 3, 0.0374, 0.0699),
]


@pytest.mark.parametrize(("k", "rate", "exact", "printed"), BOTS)
def test_bot_probability_equals_the_reference(k, rate, exact, printed) -> None:
    assert round(bot_probability(k=k, rate=rate, wait_max=5), 4) == exact
    assert round(bot_probability(k=k, rate=rate, wait_max=5, printed=True), 4) == printed


@pytest.mark.parametrize(("k", "rate", "exact", "printed"), BOTS)
def test_bot_probability_equals_a_simulation(k, rate, exact, printed) -> None:
    runs = 100_000
    more = np.random.default_rng(k).exponential(1 / rate, (runs, k - 1)).sum(axis=1)
    share = float((more > 5).mean())
    assert abs(share - exact) < 4 * math.sqrt(exact / runs) + 0.0001
    assert abs(share - printed) > 0.01


def simulate_periodic(groups: int, k: int, rate: float, rounds: int, seed: int) -> np.ndarray:
    """Return the cost per match of each round, in which nobody is timed out."""
    rng = np.random.default_rng(seed)
    n = groups * k
    values = np.sort(rng.random((rounds, n)), axis=1).reshape(rounds, groups, k)
    gaps = rng.exponential(1 / rate, (rounds, n - 1))
    waits = (gaps * np.arange(1, n)).sum(axis=1)
    return (k * np.ptp(values, axis=2).sum(axis=1) + waits / 5.0) / groups


@pytest.mark.parametrize(
    ("groups", "k", "rate"), [(4, 2, 10.0), (1, 2, 3.0), (1, 4, 10.0), (2, 3, 5.0)]
)
def test_periodic_and_greedy_cost_equal_a_simulation(groups, k, rate) -> None:
    costs = simulate_periodic(groups, k, rate, 20_000, seed=groups + k)
    error = costs.std(ddof=1) / math.sqrt(len(costs))
    assert abs(costs.mean() - periodic_cost(groups * k, k=k, rate=rate, wait_max=5)) < 4 * error
    if groups == 1:
        assert abs(costs.mean() - greedy_cost(k=k, rate=rate, wait_max=5)) < 4 * error


def simulate_brackets(brackets: int, criteria: int, k: int, rate: float, seed: int) -> np.ndarray:
    """Return the cost of each match with a queue per cell and no deadline; wait_max prices it."""
    rng = np.random.default_rng(seed)
    count = 100_000
    times = np.cumsum(rng.exponential(1 / rate, count))
    values = rng.random((count, criteria))
    cells = (values * brackets).astype(int) @ brackets ** np.arange(criteria)
    waiting: dict[int, list[int]] = {}
    costs = []
    for i, cell in enumerate(cells.tolist()):
        group = waiting.setdefault(cell, [])
        group.append(i)
        if len(group) == k:
            spread = np.ptp(values[group], axis=0).mean()
            costs.append(k * spread + (k * times[i] - times[group].sum()) / 5.0)
            group.clear()
    return np.array(costs)


@pytest.mark.parametrize(("brackets", "criteria", "k", "rate"), [(6, 1, 2, 10.0), (3, 2, 4, 30.0)])
def test_multi_queue_cost_equals_a_simulation(brackets, criteria, k, rate) -> None:
    costs = simulate_brackets(brackets, criteria, k, rate, seed=1)
    error = costs.std(ddof=1) / math.sqrt(len(costs))
    setting = {"k": k, "rate": rate, "wait_max": 5.0, "criteria": criteria}
    assert abs(costs.mean() - multi_queue_cost(brackets, **setting)) < 4 * error
    if criteria > 1:
        assert abs(costs.mean() - multi_queue_cost(brackets, **setting, printed=True)) > 20 * error


@pytest.mark.parametrize(
    ("k", "criteria", "rate", "expected", "best"),
    [(10, 3, 10, 1.3, 1), (10, 3, 30, 1.7, 2), (4, 1, 10, 4.5, 4), (4, 2, 30, 3.1, 3)],
)
def test_brackets_for_several_criteria(k, criteria, rate, expected, best) -> None:
    found = schlup(k=k, rate=rate, wait_max=5, criteria=criteria)
    assert found["r_opt"] == pytest.approx(expected, abs=0.05)
    assert abs(found["brackets"] - best) <= 1
    around = [
        multi_queue_cost(r, k=k, rate=rate, wait_max=5, criteria=criteria) for r in range(1, 12)
    ]
    assert found["multi_queue_cost"] == min(around)


def test_optimal_parameters_are_where_the_costs_are_least() -> None:
    setting = {"k": 5, "rate": 20.0, "wait_max": 8.0}
    n, r = n_opt(**setting), r_opt(**setting, criteria=2)
    for step in (0.9, 1.1):
        assert periodic_cost(n, **setting) < periodic_cost(n * step, **setting)
        here = multi_queue_cost(r, **setting, criteria=2)
        assert here < multi_queue_cost(r * step, **setting, criteria=2)


@pytest.mark.parametrize(
    ("k", "rate"), [(2, 1.0), (4, 1.0), (10, 3.0), (2, 0.01), (4, 0.05), (3, 0.3)]
)
def test_exact_cost_of_greedy_equals_a_simulation(k: int, rate: float) -> None:
    rng = np.random.default_rng(3)
    count = 40_000
    times = np.cumsum(rng.exponential(1.0 / rate, (count, k - 1)), axis=1)
    coming = times <= 5.0
    end = np.where(coming.all(axis=1), times[:, -1], 5.0)
    waits = end + np.where(coming, end[:, None] - times, 5.0).sum(axis=1)
    values = rng.random((count, k))
    spread = np.where(coming.all(axis=1), np.ptp(values, axis=1), 1.0)
    costs = k * spread + waits / 5.0
    # Four standard errors: wrong once in 16,000 seeds.
    allowed = 4.0 * costs.std() / np.sqrt(count)
    assert greedy_cost_exact(k=k, rate=rate, wait_max=5.0) == pytest.approx(
        costs.mean(), abs=allowed
    )


RATES = [10.0**power for power in (-300, -9, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 2, 4, 9)]


@pytest.mark.parametrize("k", [2, 3, 4, 10, 100])
@pytest.mark.parametrize("rate", RATES)
def test_error_bound_holds_at_every_rate(k: int, rate: float) -> None:
    setting = {"k": k, "rate": rate, "wait_max": 5.0}
    cost, exact = greedy_cost(**setting), greedy_cost_exact(**setting)
    bound = error_bound(**setting)
    assert abs(exact - cost) <= bound * cost * (1 + 1e-12) + 1e-12
    loose = (k / 2 - 1) * bot_probability(**setting)
    assert bound * cost <= abs(exact - cost) * (1 + 1e-9) + loose + 1e-9, "it is not given away"


@pytest.mark.parametrize("k", [2, 3, 10])
def test_no_match_costs_more_than_its_players_can(k: int) -> None:
    costs = [greedy_cost_exact(k=k, rate=rate, wait_max=5.0) for rate in RATES]
    assert costs[0] == pytest.approx(2 * k)
    assert costs[-1] == pytest.approx(k * (k - 1) / (k + 1))
    assert costs == sorted(costs, reverse=True)


def test_printed_bound_is_that_of_the_paper() -> None:
    setting = {"k": 3, "rate": 1.0, "wait_max": 5.0}
    cost, chance = greedy_cost(**setting), bot_probability(**setting, printed=True)
    assert error_bound(**setting, printed=True) == pytest.approx(6 * chance / cost**2)


def test_a_bracket_has_its_part_of_the_arrivals() -> None:
    assert bot_probability_bracket(3, **AT_TEN, criteria=2) == pytest.approx(math.exp(-50 / 9))
    assert bot_probability_bracket(1, **AT_TEN) == bot_probability(**AT_TEN)


def test_figures_of_periodic_matching_are_undefined_for_several_criteria() -> None:
    found = schlup(**AT_TEN, criteria=2)
    assert found["periodic_cost"] is None
    assert found["n_opt"] is None
    assert schlup(**AT_TEN, criteria=2, printed=True)["n_opt"] == pytest.approx(9)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"k": 1}, "k must be from 2 to 1,000,000, got 1"),
        ({"rate": 0.0}, "rate must be > 0 tickets per second and finite, got 0"),
        ({"wait_max": -3.0}, "wait_max must be > 0 s and finite, got -3"),
        ({"rounds_of": 0}, "rounds_of must be from 1"),
        ({"brackets": 0}, "brackets must be from 1"),
        ({"criteria": 0}, "criteria must be from 1"),
        ({"criteria": 61}, "criteria must be from 1 to 60"),
    ],
)
def test_numbers_out_of_range_are_refused(changed, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence):
        schlup(**(AT_TEN | changed))


def test_where_few_come_a_round_has_one_match_and_a_criterion_one_bracket() -> None:
    found = schlup(k=2, rate=0.001, wait_max=5.0)
    assert (found["n_opt"], found["r_opt"]) == (2.0, 1.0)
    assert (found["rounds_of"], found["brackets"]) == (1, 1)
    assert schlup(k=2, rate=0.001, wait_max=5.0, printed=True)["n_opt"] == pytest.approx(-0.9)


def test_brackets_that_nobody_comes_to_always_need_bots() -> None:
    # The players expected in a bracket are fewer than any float above 0.
    found = schlup(k=2, rate=1e-300, wait_max=1e290, brackets=100_000, criteria=20)
    assert found["bot_probability_bracket"] == 1.0
