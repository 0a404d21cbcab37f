"""What a match is worth exactly, and while a search goes on, agrees with the reference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from evenmatch.solvers.teams.batch import Batch, Places
from evenmatch.solvers.teams.evaluate import PER_VIOLATION, evaluate
from evenmatch.solvers.teams.evaluation_input import ILLEGAL, scene_of
from evenmatch.solvers.teams.judge import judge
from evenmatch.solvers.teams.reference import cost_of, is_legal
from evenmatch.solvers.teams.search_state import board_of
from evenmatch.solvers.teams.start import start_matches
from tests.extent import extent, more
from tests.unit.solvers.batch.worlds import plain_batch, rich_batch, strange_batch

pytestmark = more

WORLDS = [
    plain_batch((3, 3), 40, 1),
    plain_batch((4, 4), 60, 2),
    plain_batch((5, 5), 60, 3),
    plain_batch((1, 1, 1, 1), 30, 3),
    rich_batch((2, 2), 40, 4),
    rich_batch((1, 4), 60, 5),
    rich_batch((2, 2, 2), 60, 6),
    rich_batch((3, 3), 70, 7, free=1),
    rich_batch((6, 6), 70, 8),
    rich_batch((2, 3, 4), 70, 9, free=1),
    strange_batch((5, 5), 80, 10),
    strange_batch((2, 4), 80, 11, sides=True),
    strange_batch((3, 3), 80, 12, sides=True),
    strange_batch((1, 1, 1), 80, 13),
    strange_batch((2, 2), 80, 14),
]


def teams_of(batch: Batch, row: np.ndarray) -> list[list[int]]:
    parts = np.split(row, np.cumsum(batch.seats)[:-1])
    return [[int(p) for p in part if p >= 0] for part in parts]


def random_matches(batch: Batch, seed: int) -> Places:
    rng = np.random.default_rng(seed)
    return np.vstack([start_matches(batch, "random", rng) for _ in range(extent(3, 8))])


@pytest.mark.parametrize("batch", WORLDS)
def test_judge_says_what_the_reference_says(batch: Batch) -> None:
    seated = random_matches(batch, 1)

    quality, legal = judge(scene_of(batch), batch, seated)

    assert len(seated) > extent(8, 20)
    for row, own, allowed in zip(seated, quality, legal, strict=True):
        teams = teams_of(batch, row)
        assert allowed == is_legal(batch, teams)
        broken_roles = not allowed and not np.isfinite(cost_of(batch, teams))
        if not broken_roles:
            assert own == pytest.approx(1.0 - cost_of(batch, teams), abs=1e-9)


@pytest.mark.parametrize("batch", [*WORLDS[:7], WORLDS[-1], WORLDS[-2]])
def test_energy_of_a_full_match_is_that_of_its_best_division(batch: Batch) -> None:
    scene = scene_of(batch)
    assert scene.is_divided
    seated = random_matches(batch, 2)[: extent(2, 6)]
    board = board_of(scene, len(seated))
    for row, who in enumerate(seated):
        board.seat[row] = by_size(batch, who)
    energies = np.zeros(len(seated))

    evaluate(scene, board, len(seated), energies)

    for who, energy in zip(seated, energies, strict=True):
        costs = [cost_of(batch, t) for t in divisions(batch, who) if is_legal(batch, t)]
        if costs:
            assert energy == pytest.approx(min(costs) - 1.0, abs=2e-5)
        else:
            assert energy > scene.numbers[ILLEGAL]


@pytest.mark.parametrize("batch", WORLDS[7:13])
@pytest.mark.parametrize("enough", [1, 2, 5])
def test_match_that_is_not_counted_to_the_end_breaks_as_many_rules_as_are_enough(
    batch: Batch, enough: int
) -> None:
    scene = scene_of(batch)
    assert not scene.is_divided
    seated = random_matches(batch, 3)
    board = board_of(scene, len(seated))
    board.seat[:] = seated
    whole, partly = np.zeros(len(seated)), np.zeros(len(seated))

    evaluate(scene, board, len(seated), whole)
    board.found[2] = enough
    evaluate(scene, board, len(seated), partly)

    at_least = scene.numbers[ILLEGAL] + enough * PER_VIOLATION - 1e-9
    for exact, found in zip(whole, partly, strict=True):
        if exact < at_least:
            assert found == exact
        else:
            assert at_least <= found <= exact
    assert enough > 1 or (partly < whole).any()


def by_size(batch: Batch, who: np.ndarray) -> list[int]:
    party = np.searchsorted(batch.first, who, side="right") - 1
    size = np.diff(batch.first)[party]
    return [int(who[at]) for at in np.lexsort((who, party, -size))]


def divisions(batch: Batch, who: np.ndarray) -> list[list[list[int]]]:
    """Return all ways to give whole parties to teams."""
    party = np.searchsorted(batch.first, who, side="right") - 1
    members = [[int(x) for x in who[party == p]] for p in sorted(set(party.tolist()))]
    found = []
    for chosen in product(range(len(batch.seats)), repeat=len(members)):
        teams: list[list[int]] = [[] for _ in batch.seats]
        for team, own in zip(chosen, members, strict=True):
            teams[team] += own
        if [len(team) for team in teams] == batch.seats.tolist():
            found.append(teams)
    return found
