"""Batches of files are judged as the independent checker judges them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evenmatch.lab.batch_file import read_arrays
from evenmatch.solvers.batch.reference import cost_of
from tests.shared import shared_file

Matches = list[list[list[int]]]


def checked(instance: Path, matches: Matches, folder: Path) -> float:
    """Return the mean quality x 100 that the checker prints."""
    solution = folder / "solution.json"
    solution.write_text(json.dumps({"matches": [{"teams": teams} for teams in matches]}))
    command = [sys.executable, str(shared_file("batch/galactron.py"))]
    done = subprocess.run(
        [*command, "check", str(instance), str(solution)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def packed(first: list[int], n: int, rng: np.random.Generator) -> Matches:
    """Return teams of whole parties, the largest first: matches that are legal, and no better."""
    open_teams: list[list[int]] = []
    full = []
    sizes = np.diff(first)
    for party in np.lexsort((rng.random(len(sizes)), -sizes)).tolist():
        members = list(range(first[party], first[party + 1]))
        team = next((t for t in open_teams if len(t) + len(members) <= n), None)
        if team is None:
            open_teams.append(team := [])
        team += members
        if len(team) == n:
            open_teams.remove(team)
            full.append(team)
    return [[full[2 * i], full[2 * i + 1]] for i in range(len(full) // 2)]


@pytest.mark.parametrize(("players", "team_size"), [(48, 2), (90, 3), (150, 5)])
def test_quality_of_a_batch_is_that_of_the_checker(
    tmp_path: Path, players: int, team_size: int
) -> None:
    script = shared_file("batch/galactron.py")
    instance = tmp_path / "instance.npz"
    command = [sys.executable, str(script), "generate", str(players), str(team_size), "4"]
    subprocess.run([*command, str(instance)], check=True)
    batch = read_arrays(instance)
    matches = packed(batch.first.tolist(), team_size, np.random.default_rng(1))
    quality = 100 * float(np.mean([1 - cost_of(batch, teams) for teams in matches]))

    # The checker prints four decimals.
    assert quality == pytest.approx(checked(instance, matches, tmp_path), abs=1e-4)
