"""What a player would pay at most: the balance that defines it, and forbidden partners."""

import math

import numpy as np
import pytest

from evenmatch.policies.lookahead import break_even


@pytest.mark.parametrize("seed", range(20))
def test_mean_saving_equals_the_gain(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.exponential(1.0, int(rng.integers(1, 60)))
    gain = float(rng.choice([0.001, 0.1, 3.0]))

    top = break_even(costs, gain)

    assert np.maximum(top - costs, 0.0).mean() == pytest.approx(gain, rel=1e-9)


def test_forbidden_partners_save_nothing() -> None:
    assert break_even(np.array([1.0, math.inf]), 0.5) == 2.0
    assert break_even(np.array([math.inf]), 0.5) == math.inf
