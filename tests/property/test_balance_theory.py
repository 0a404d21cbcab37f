"""What `greedy`, `patient` and `imbalance_threshold` cost in the engine, against exact theory.

One player comes in each period; waiting costs 1 a period, a match of two teams of n 2 n alpha
times the difference of their sums. Each figure is the mean of `RUNS` runs, and its standard error
comes from how much they differ.
"""

import math

import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.config.files import parse_scenario
from tests.extent import extent, more, only

pytestmark = more

SCENARIO = """
seed = {seed}
[[queue]]
teams = 2
players = {n}
wait_price = 1.0
on_deadline = "keep"
policy = "{policy}"
[[queue.criteria]]
kind = "imbalance"
measure = "sum"
attribute = "skill"
scale = {{kind = "none"}}
weight = {weight}
[arrivals]
process = "regular"
interval = 1.0
count = {count}
[attributes.skill]
{skill}
"""
RUNS, COUNT = extent(4, 6), 1000
UNIFORM = 'distribution = "uniform"'


def skills(*values: float, probs: tuple[float, ...] = ()) -> str:
    even = tuple([1.0 / len(values)] * len(values))
    return f'distribution = "choice"\nvalues = {list(values)}\nprobs = {list(probs or even)}'


def mean_cost(policy: str, n: int, alpha: float, skill: str) -> tuple[float, float]:
    """Return the cost of a period, and its standard error."""
    found = []
    for seed in range(RUNS):
        text = SCENARIO.format(
            seed=seed, n=n, policy=policy, weight=2.0 * n * alpha, count=COUNT, skill=skill
        )
        summary = simulate(parse_scenario(text)).summary
        found.append((summary["cost"] + summary["cost_waiting"]) / COUNT)
    return float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(RUNS))


@pytest.mark.parametrize(
    ("n", "q", "alpha"),
    only([(1, 0.3, 1.0), (2, 0.3, 0.5), (2, 0.05, 2.0), (3, 0.5, 1.0)], 2, 3),
)
def test_greedy_costs_what_the_formula_says(n: int, q: float, alpha: float) -> None:
    mean, error = mean_cost("greedy", n, alpha, skills(1.0, 0.0, probs=(q, 1.0 - q)))
    known = n - 0.5 + alpha * (1.0 - (2.0 * q - 1.0) ** (2 * n)) / 2.0
    assert mean == pytest.approx(known, abs=3.0 * error)


@pytest.mark.parametrize(("n", "q"), only([(1, 0.3), (2, 0.3), (3, 0.5), (5, 0.3)], 0, 2))
def test_patience_costs_n_and_saves_all_imbalance(n: int, q: float) -> None:
    mean, error = mean_cost("patient", n, 5.0, skills(1.0, 0.0, probs=(q, 1.0 - q)))
    assert mean == pytest.approx(n, abs=3.0 * error)


@pytest.mark.parametrize("n", [1, 2])
def test_with_one_type_patience_costs_half_a_period_less(n: int) -> None:
    # All are equal, so nothing is left to chance; the last one of all plays.
    mean, _ = mean_cost("patient", n, 5.0, skills(1.0, 0.0, probs=(1.0, 0.0)))
    assert mean == pytest.approx(n - 0.5, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "types", "alpha", "delta", "known"),
    only(
        [
            (1, 3, 2.0, 0.5, 1.25),
            (1, 3, 4.0, 0.0, 1.5),
            (1, 5, 4.0, 0.25, 1.653333 * 1.0023),
            (1, 5, 8.0, 0.25, 2.217841 * 1.0005),
            (1, 8, 8.0, 2 / 7, 2.238568 * 1.0048),
            (2, 3, 2.0, 0.5, 2.123321 * 1.0037),
            (2, 3, 4.0, 0.0, 2.245926),
        ],
        0,
        3,
        6,
    ),
)
def test_the_best_limit_costs_what_exact_evaluation_says(
    n: int, types: int, alpha: float, delta: float, known: float
) -> None:
    skill = skills(*[number / (types - 1) for number in range(types)])
    mean, error = mean_cost(f"imbalance_threshold:delta={delta}", n, alpha, skill)
    # The excess over the optimum is known to .01 %.
    assert mean == pytest.approx(known, abs=3.0 * error + 5e-5 * known)


def test_on_uniform_skill_the_cost_grows_with_the_root_of_the_weight() -> None:
    mean, error = mean_cost("imbalance_threshold:delta=0.1", 1, 64.0, UNIFORM)
    assert mean == pytest.approx(0.737 * 8.0, abs=3.0 * error + 5e-4 * 8.0)


@pytest.mark.parametrize(
    ("n", "alpha", "skill", "delta"),
    only(
        [
            (1, 64.0, UNIFORM, 0.1),
            (1, 64.0, 'distribution = "normal"\nmean = 0.5\ndeviation = 0.15', 0.1),
            (1, 2.0, skills(1.0, 0.0, probs=(0.1, 0.9)), 1.0),
            (2, 64.0, UNIFORM, 0.0375),
            (2, 4.0, skills(0.0, 0.5, 1.0), 0.0),
        ],
        *(0, 2, 4),
    ),
)
def test_the_learnt_limit_costs_hardly_more_than_the_best(
    n: int, alpha: float, skill: str, delta: float
) -> None:
    # Nearly all of the difference is paid in the first 200 periods, while little is known yet.
    learnt, _ = mean_cost("imbalance_threshold", n, alpha, skill)
    best, _ = mean_cost(f"imbalance_threshold:delta={delta}", n, alpha, skill)
    assert learnt < 1.15 * best
