"""Divisions into two teams are the best there are."""

from __future__ import annotations

import numpy as np
import pytest

from evenmatch.solvers.teams.evaluation_input import scene_of
from evenmatch.solvers.teams.reference import cost_of, is_legal
from evenmatch.solvers.teams.start import start_matches
from evenmatch.solvers.teams.two_team_division import is_exact, split_matches
from tests.unit.solvers.batch.test_judge import divisions, teams_of
from tests.unit.solvers.batch.worlds import plain_batch, rich_batch


@pytest.mark.parametrize(
    "batch",
    [
        plain_batch((6, 6), 60, 1, largest=4),
        plain_batch((3, 8), 60, 2, largest=3),
        rich_batch((6, 6), 60, 3),
    ],
)
def test_no_other_division_is_better(batch) -> None:  # type: ignore[no-untyped-def]
    scene = scene_of(batch)
    seated = start_matches(batch, "random", np.random.default_rng(2))[:2]

    divided = split_matches(scene, seated)

    assert is_exact(scene)
    for row, own in zip(seated, divided, strict=True):
        assert sorted(row.tolist()) == sorted(own.tolist())
        costs = [cost_of(batch, t) for t in divisions(batch, row) if is_legal(batch, t)]
        if costs:
            assert is_legal(batch, teams_of(batch, own))
            assert cost_of(batch, teams_of(batch, own)) == pytest.approx(min(costs), abs=2e-6)


def test_larger_matches_are_left_as_they_are_and_said_to_be() -> None:
    batch = plain_batch((9, 9), 60, 1)
    scene = scene_of(batch)
    seated = start_matches(batch, "skill", np.random.default_rng(1))
    assert not is_exact(scene)
    assert split_matches(scene, seated) is seated
