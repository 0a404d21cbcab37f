"""The independent checker accepts every solution, and says the same quality."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evenmatch.lab.batch_arrays import read_arrays
from evenmatch.solvers.batch.solve import anneal
from tests.shared import shared_file


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
    checker = shared_file("batch/galactron.py")
    instance, solution = tmp_path / "batch.npz", tmp_path / "solution.json"
    numbers = [str(value) for value in (players, team_size, seed)]
    subprocess.run([sys.executable, checker, "generate", *numbers, instance], check=True)

    plan = anneal(read_arrays(instance), effort=3_000, seed=1)

    matches = [
        {"teams": [row[:team_size].tolist(), row[team_size:].tolist()]} for row in plan.seated
    ]
    solution.write_text(json.dumps({"matches": matches}))
    done = subprocess.run(
        [sys.executable, checker, "check", instance, solution],
        check=True,
        capture_output=True,
        text=True,
    )
    assert float(done.stdout) == pytest.approx(100.0 * plan.quality.mean(), abs=1e-4)


def test_optimum_of_thirty_players_is_found(tmp_path: Path) -> None:
    checker = shared_file("batch/galactron.py")
    for seed, best in ((1, 81.67), (2, 79.12)):
        instance = tmp_path / f"{seed}.npz"
        numbers = ["30", "3", str(seed)]
        subprocess.run([sys.executable, checker, "generate", *numbers, instance], check=True)
        plan = anneal(read_arrays(instance), effort=1_500_000, seed=1)
        assert 100.0 * plan.quality.mean() == pytest.approx(best, abs=0.006)
