"""A second judge accepts every solution and says the same quality, and knows the best of some."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenmatch.lab.solve.arrays import read_arrays
from evenmatch.solvers.teams.solve import anneal
from tests import galactron


@pytest.mark.parametrize(
    ("players", "team_size", "seed"),
    [
        (6, 3, 1), (30, 3, 1), (31, 3, 2), (65, 3, 3), (103, 3, 4), (300, 3, 5),
        (20, 1, 1), (41, 2, 1), (67, 4, 1), (100, 5, 1), (137, 5, 2), (250, 5, 3),
    ],
)  # fmt: skip
def test_solution_passes_the_checker(
    players: int, team_size: int, seed: int, tmp_path: Path
) -> None:
    batch = galactron.drawn(players, team_size, seed)
    instance = galactron.written(tmp_path / "batch.npz", batch)

    plan = anneal(read_arrays(instance), effort=3_000, seed=1)

    matches = [(row[:team_size].tolist(), row[team_size:].tolist()) for row in plan.seating]
    assert len(matches) == players // (2 * team_size)
    assert galactron.check(batch, matches) == pytest.approx(100.0 * plan.quality.mean(), abs=1e-6)


@pytest.mark.parametrize(
    ("players", "team_size", "seed"), [(12, 3, 1), (13, 3, 2), (10, 2, 3), (8, 1, 4), (11, 5, 5)]
)
def test_search_finds_the_best_of_all_divisions(
    players: int, team_size: int, seed: int, tmp_path: Path
) -> None:
    batch = galactron.drawn(players, team_size, seed)
    instance = galactron.written(tmp_path / "batch.npz", batch)
    plan = anneal(read_arrays(instance), effort=20_000, seed=1)
    assert 100.0 * plan.quality.mean() == pytest.approx(galactron.best_of(batch), abs=1e-6)


@pytest.mark.parametrize(("seed", "best"), [(1, 81.67), (2, 79.12)])
def test_optimum_of_thirty_players_is_found(seed: int, best: float) -> None:
    file = galactron.DATA / f"galactron_30_{seed}.npz"
    plan = anneal(read_arrays(file), effort=1_500_000, seed=1)
    assert 100.0 * plan.quality.mean() == pytest.approx(best, abs=0.006)
    matches = [(row[:3].tolist(), row[3:].tolist()) for row in plan.seating]
    assert galactron.check(np.load(file), matches) == pytest.approx(best, abs=0.006)
