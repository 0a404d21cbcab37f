from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.wu import N_MAX, Pool, odd_share, patient_law, waiting_law, wu

GRID = list(product((1, 2, 3, 5), (0.05, 0.2, 0.5, 0.7, 0.95)))


def after_arrival(pool: Pool, n: int, *, is_high: bool) -> Pool:
    """Return who waits after an arrival: a set of 2n with an even number of high ones plays."""
    u, v = pool[0] + is_high, pool[1] + (not is_high)
    for high in range(0, 2 * n + 1, 2):
        if high <= u and 2 * n - high <= v:
            return u - high, v - (2 * n - high)
    return u, v


def reached(n: int, q: float) -> set[Pool]:
    """Return the pools that an empty one comes to."""
    known: set[Pool] = set()
    new = {(0, 0)}
    while new:
        known |= new
        kinds = [is_high for is_high, chance in ((True, q), (False, 1 - q)) if chance]
        new = {after_arrival(pool, n, is_high=kind) for pool in new for kind in kinds} - known
    return known


@pytest.mark.parametrize(("n", "q"), GRID)
def test_patient_law_is_stationary_to_the_last_digit(n: int, q: float) -> None:
    law = patient_law(n=n, q=q)
    high = Fraction(str(q))
    flow = dict.fromkeys(law, Fraction(0))
    for pool, share in law.items():
        flow[after_arrival(pool, n, is_high=True)] += share * high
        flow[after_arrival(pool, n, is_high=False)] += share * (1 - high)
    assert flow == law
    assert sum(law.values()) == 1
    assert law.keys() == reached(n, q)


@pytest.mark.parametrize(("n", "q"), GRID)
def test_lemma_3_2_and_the_state_count_hold_inside(n: int, q: float) -> None:
    law = patient_law(n=n, q=q)
    assert law[0, 0] == law[0, 1] == law[1, 0] == Fraction(1, 4 * n)
    assert len(law) == 2 * n * (n + 1) == wu(n=n, q=q, alpha=1).states
    sizes = tuple(
        sum((share for pool, share in law.items() if sum(pool) == k), Fraction(0))
        for k in range(2 * n + 1)
    )
    assert sizes == waiting_law(n=n, q=q)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("q", [0.0, 1.0])
def test_edges_are_no_limit(n: int, q: float) -> None:
    law = patient_law(n=n, q=q)
    assert law.keys() == reached(n, q)
    assert law.get((0, 1), 0) != law.get((1, 0), 0)
    found = wu(n=n, q=q, alpha=3)
    assert found.greedy_cost == found.patient_cost == n - 0.5
    assert (found.threshold, found.best, found.states) == (None, "tie", 2 * n)
    near = wu(n=n, q=abs(q - 1e-12), alpha=3)
    assert near.patient_cost == n
    assert near.states == 2 * n * (n + 1)


@pytest.mark.parametrize(("n", "q"), [*GRID, (2, 0.0), (2, 1.0)])
def test_patient_cost_is_the_mean_of_those_who_wait(n: int, q: float) -> None:
    found = wu(n=n, q=q, alpha=1)
    mean = sum(k * share for k, share in enumerate(waiting_law(n=n, q=q)))
    assert found.patient_cost == float(mean)
    assert sum(found.pi) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("n", "q"), GRID)
def test_odd_share_is_the_papers_sum(n: int, q: float) -> None:
    counts = np.random.default_rng(n).binomial(2 * n, q, 200_000)
    share = float(odd_share(n=n, q=q))
    # Four standard errors.
    assert abs((counts % 2).mean() - share) < 4 * np.sqrt(share * (1 - share) / 200_000)
    assert wu(n=n, q=q, alpha=2).greedy_cost == pytest.approx(n - 0.5 + 2 * share, rel=1e-14)


def test_tie_is_exact_where_decimals_meet() -> None:
    at = [wu(n=1, q=0.2, alpha=alpha) for alpha in (1.5624999, 1.5625, 1.5625001)]
    assert [each.best for each in at] == ["greedy", "tie", "patient"]
    assert at[1].threshold == 1.5625
    assert at[1].exact["threshold"] == "25/16"


def test_threshold_is_never_below_one_and_one_in_the_middle() -> None:
    assert {wu(n=n, q=0.5, alpha=1).threshold for n in (1, 2, 3, 5, 100)} == {1.0}
    thresholds = [wu(n=n, q=0.1, alpha=1).threshold or 0.0 for n in (1, 2, 3, 5, 100)]
    assert thresholds == sorted(thresholds, reverse=True)
    assert thresholds[-1] >= 1.0


def test_time_units_replace_alpha_by_alpha_times_rate_over_price() -> None:
    inside = wu(n=2, q=0.3, alpha=6.0)
    timed = wu(n=2, q=0.3, alpha=3.0, rate=0.5, wait_price=0.25)
    assert timed.greedy_cost == pytest.approx(0.5 * inside.greedy_cost)
    assert timed.patient_cost == pytest.approx(0.5 * inside.patient_cost)
    assert inside.threshold is not None
    assert timed.threshold == pytest.approx(0.5 * inside.threshold)
    assert timed.best == inside.best == "patient"


def test_figures_are_those_of_the_command() -> None:
    figures = wu(n=1, q=0.5, alpha=0.5).figures()
    names = "greedy_cost patient_cost threshold best pi states exact"
    assert set(names.split()) == figures.keys()
    assert figures["pi"] == [0.25, 0.5, 0.25]
    assert figures["exact"]["pi"] == ["1/4", "1/2", "1/4"]


def test_fractions_beyond_reading_are_left_out() -> None:
    found = wu(n=N_MAX, q=0.123456789, alpha=1)
    assert found.exact.keys() == {"patient_cost", "pi"}
    assert found.greedy_cost == pytest.approx(N_MAX)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"n": 0}, "n must be from 1 to 1000, got 0"),
        ({"n": N_MAX + 1}, "n must be from 1 to 1000"),
        ({"q": -0.1}, "q must be a probability from 0 to 1, got -0.1"),
        ({"q": 1.5}, "q must be a probability from 0 to 1"),
        ({"q": float("nan")}, "q must be a probability"),
        ({"alpha": -1.0}, "alpha must be >= 0 and finite, got -1"),
        ({"alpha": float("inf")}, "alpha must be >= 0 and finite"),
        ({"rate": 0.0}, "rate must be > 0 and finite, got 0"),
        ({"wait_price": 0.0}, "wait_price must be > 0"),
    ],
)
def test_bad_input_is_one_sentence(changed: dict[str, float], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        wu(**({"n": 2, "q": 0.5, "alpha": 1.0} | changed))


def test_law_of_all_pools_has_a_limit() -> None:
    with pytest.raises(ConfigError, match="n must be at most 50"):
        patient_law(n=51, q=0.5)
