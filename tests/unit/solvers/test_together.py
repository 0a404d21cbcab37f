"""Pairs that gain most together, beside all ways to pair a few."""

import numpy as np
import pytest

from evenmatch.solvers.steps.together import NONE, Floats, most_together


def total(gains: Floats, mates: list[int]) -> float:
    return sum(gains[i, j] for i, j in enumerate(mates) if j > i)


def largest_first(gains: Floats) -> float:
    """Return what is gained if the largest gain always comes first."""
    free, found = set(range(len(gains))), 0.0
    while True:
        pairs = [(gains[i, j], i, j) for i in free for j in free if i < j and gains[i, j] >= 0.0]
        if not pairs:
            return found
        gain, i, j = max(pairs)
        found, free = found + gain, free - {i, j}


def most(gains: Floats, free: frozenset[int]) -> float:
    """Return the most that can be gained, by trying all ways."""
    if len(free) < 2:
        return 0.0
    i = min(free)
    rest = free - {i}
    return max(
        most(gains, rest),
        *(gains[i, j] + most(gains, rest - {j}) for j in rest if gains[i, j] >= 0.0),
        0.0,
    )


def drawn(rng: np.random.Generator, count: int) -> Floats:
    """Return gains of players on a line, each of whom would pay something else."""
    at, worth = rng.uniform(0.0, 1.0, count), rng.uniform(0.0, 0.4, count)
    gains = worth + worth[:, None] - np.abs(at - at[:, None])
    np.fill_diagonal(gains, -np.inf)
    return np.ascontiguousarray(gains)


def test_pairs_are_mutual_and_nobody_is_left_who_would_gain() -> None:
    rng = np.random.default_rng(1)
    for count in (0, 1, 2, 3, 30):
        gains = drawn(rng, count)
        mates = most_together(gains).tolist()
        for i, j in enumerate(mates):
            assert j == NONE or (mates[j] == i and j != i and gains[i, j] >= 0.0)
        left = [i for i, j in enumerate(mates) if j == NONE]
        assert not any(gains[i, j] > 0.0 for i in left for j in left)


def test_gains_are_near_the_most_there_is_and_never_below_the_largest_first() -> None:
    rng = np.random.default_rng(2)
    found = best = greedy = 0.0
    for _ in range(60):
        gains = drawn(rng, 9)
        own, first = total(gains, most_together(gains).tolist()), largest_first(gains)
        assert own >= first - 1e-6
        found, greedy = found + own, greedy + first
        best += most(gains, frozenset(range(9)))
    assert greedy < 0.98 * best
    assert found > 0.995 * best


@pytest.mark.parametrize("count", [2, 7, 40])
def test_all_alike_play_but_one(count: int) -> None:
    gains = np.full((count, count), 0.5)
    np.fill_diagonal(gains, -np.inf)
    assert most_together(gains).tolist().count(NONE) == count % 2
