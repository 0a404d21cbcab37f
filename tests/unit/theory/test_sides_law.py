import math

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.sides import sides, sides_law

POINTS = [(0.3, 0.3, 0.4), (0.4, 0.3, 0.3), (0.01, 0.4, 0.59), (0.0, 0.2, 0.8), (2.0, 1.0, 3.0)]


@pytest.mark.parametrize(("a", "b", "flexible"), POINTS)
def test_means_are_those_of_the_paper(a: float, b: float, flexible: float) -> None:
    law, known = sides_law(a=a, b=b, flexible=flexible), sides(a=a, b=b, flexible=flexible)
    assert law.everybody.mean == pytest.approx(known.mean, rel=1e-12)
    assert law.a.mean == pytest.approx(known.mean_a, rel=1e-12)
    assert law.b.mean == pytest.approx(known.mean_b, rel=1e-12)
    assert law.flexible.mean == pytest.approx(known.mean_flexible, rel=1e-12)


@pytest.mark.parametrize(("a", "b", "flexible"), POINTS)
def test_half_of_all_players_never_wait(a: float, b: float, flexible: float) -> None:
    # Each match has one who waited and one who did not.
    assert sides_law(a=a, b=b, flexible=flexible).everybody.p_no_wait == pytest.approx(0.5)


def test_quantiles_are_those_of_a_queue_followed_by_hand() -> None:
    a, b, flexible, count = 0.4, 0.3, 0.3, 400_000
    waits = _waits_by_hand(a, b, flexible, count, seed=5)
    law = sides_law(a=a, b=b, flexible=flexible).everybody
    for share in (0.6, 0.8, 0.9, 0.95):
        # Waits of neighbours hang together; fifty batches give the error of the share.
        batches = (waits <= law.quantile(share)).reshape(50, -1).mean(axis=1)
        error = batches.std(ddof=1) / math.sqrt(50)
        assert batches.mean() == pytest.approx(share, abs=4.0 * error)
        assert error < 0.01


def test_a_crowded_side_has_no_law() -> None:
    with pytest.raises(
        ConfigError, match=r"flexible must exceed the difference of the sides, 0\.2"
    ):
        sides_law(a=0.5, b=0.3, flexible=0.2)


def _waits_by_hand(
    a: float, b: float, flexible: float, count: int, seed: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Match each newcomer with the longest waiting whom it may meet; kinds are 0, 1 and 2."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1.0 / (a + b + flexible), count))
    kinds = rng.choice(3, count, p=np.array([a, b, flexible]) / (a + b + flexible))
    waits, pool = np.zeros(count), []
    for player in range(count):
        meets = next((x for x in pool if kinds[x] == 2 or kinds[x] != kinds[player]), None)
        if kinds[player] == 2 and pool:
            meets = pool[0]
        if meets is None:
            pool.append(player)
        else:
            pool.remove(meets)
            waits[meets] = times[player] - times[meets]
    return waits


@pytest.mark.parametrize("flexible", [0.1000000001, 0.1000000000001, 0.10000000000000002])
def test_law_keeps_its_digits_next_to_the_boundary(flexible: float) -> None:
    law, known = (formula(a=0.4, b=0.3, flexible=flexible) for formula in (sides_law, sides))
    assert law.everybody.mean == pytest.approx(known.mean, rel=1e-12)
    assert law.a.mean == pytest.approx(known.mean_a, rel=1e-12)
