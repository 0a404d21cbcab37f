import bisect
import math

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.recommend_window import recommend_window
from tests.extent import only


def costs_of_windows(
    deltas: list[float], *, alpha: float, periods: int, seed: int
) -> list[tuple[float, float]]:
    """Return the cost per period of each width and its standard error.

    One uniform skill a period; it plays the nearest who waits if he is within delta, and each who
    is left costs 1. All widths meet the same players.
    """
    skills = np.random.default_rng(seed).random(periods).tolist()
    found = []
    for delta in deltas:
        pool: list[float] = []
        costs = np.zeros(periods)
        for period, skill in enumerate(skills):
            place = bisect.bisect(pool, skill)
            near = min(
                range(max(0, place - 1), min(len(pool), place + 1)),
                key=lambda i: abs(pool[i] - skill),
                default=None,
            )
            if near is not None and abs(pool[near] - skill) <= delta:
                costs[period] = 2 * alpha * abs(pool.pop(near) - skill)
            else:
                pool.insert(place, skill)
            costs[period] += len(pool)
        batches = costs.reshape(100, -1).mean(axis=1)
        found.append((float(batches.mean()), float(batches.std(ddof=1)) / 10.0))
    return found


@pytest.mark.parametrize(
    ("alpha", "per_root"), only([(4.0, 0.791), (16.0, 0.756), (64.0, 0.737), (256.0, 0.727)], 1, 3)
)
def test_recommended_window_is_the_best_of_a_grid(alpha: float, per_root: float) -> None:
    found = recommend_window(alpha=alpha, rate=1, density=1)
    widths = [0.4, 0.6, 0.8, 1.0, 1.3]
    runs = costs_of_windows(
        [width / math.sqrt(alpha) for width in widths], alpha=alpha, periods=60_000, seed=7
    )
    costs = [cost for cost, _ in runs]
    best = widths[costs.index(min(costs))]
    # Around the best width the cost is flat: neighbours on this grid differ by 1 or 2 %.
    assert costs[2] <= 1.01 * min(costs)
    assert best in (0.6, 0.8, 1.0)
    cost, error = runs[2]
    assert abs(cost / math.sqrt(alpha) - per_root) < 4 * error / math.sqrt(alpha) + 0.001
    assert found.delta == pytest.approx(0.8 / math.sqrt(alpha))
    assert found.cost == pytest.approx(cost, rel=0.10)
    assert found.is_measured


def test_units_cancel() -> None:
    one = recommend_window(alpha=16, rate=1, density=1)
    # Skill in points of a range of 400, twice the players, half the price of waiting.
    other = recommend_window(alpha=16 / 400, rate=2, density=1 / 400, wait_price=0.5)
    assert other.delta == pytest.approx(400 * one.delta / 2)
    assert other.cost == pytest.approx(one.cost / 2)
    four_times = recommend_window(alpha=16, rate=4, density=1)
    assert four_times.delta == pytest.approx(one.delta / 2)


def test_width_beyond_the_measured_ones_is_said_to_be() -> None:
    assert not recommend_window(alpha=1, rate=1, density=1).is_measured
    assert recommend_window(alpha=4, rate=1, density=1).figures() == {
        "delta": 0.4,
        "cost": 1.44,
        "is_measured": True,
    }


@pytest.mark.parametrize("name", ["alpha", "rate", "density", "wait_price"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_bad_input_is_one_sentence(name: str, value: float) -> None:
    given = {"alpha": 1.0, "rate": 1.0, "density": 1.0, "wait_price": 1.0} | {name: value}
    with pytest.raises(ConfigError, match=f"{name} must be > 0 and finite"):
        recommend_window(**given)


def test_numbers_too_far_apart_are_refused() -> None:
    with pytest.raises(ConfigError, match="too far apart"):
        recommend_window(alpha=1e-300, rate=1e-300, density=1e-300)
