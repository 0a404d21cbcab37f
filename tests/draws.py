"""Chance for tests at random points, which can be repeated."""

import os

import numpy as np


def chance(test: str, default: int | None = None) -> np.random.Generator:
    """Return a generator for one test; what it prints is shown when the test fails.

    Args:
        test: Its name: two tests draw differently.
        default: The seed where the environment does not set EVENMATCH_SEED; None takes another
            one in each run. Comparisons with a simulation fix it, since even an honest interval
            is missed now and then.
    """
    fresh = int(np.random.SeedSequence().entropy % 1_000_000) if default is None else default  # type: ignore[operator]
    seed = int(os.environ.get("EVENMATCH_SEED", fresh))
    print(f"EVENMATCH_SEED={seed} repeats {test}")
    return np.random.default_rng([seed, *test.encode()])


def rates(rng: np.random.Generator, count: int = 1) -> list[float]:
    """Draw rates of 0.01 to 10 per second, evenly by their logarithm, with three digits."""
    return [float(f"{10 ** rng.uniform(-2, 1):.3g}") for _ in range(count)]
