"""Searches: legal, repeatable, as good as their energies say, and better than where they began."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.solvers.teams.anneal import Annealing, least_after
from evenmatch.solvers.teams.batch import APART, Batch, Plan
from evenmatch.solvers.teams.evaluate import least_energy
from evenmatch.solvers.teams.moves import FROM_ROW, MATCHES, TO_ROW, propose, rewrite
from evenmatch.solvers.teams.reference import cost_of, is_legal
from evenmatch.solvers.teams.solve import (
    anneal,
    best_of,
    child_seeds,
    plan_of,
    power_of,
    prepare,
    restarts_for,
    search,
)
from tests.unit.solvers.batch.test_judge import teams_of
from tests.unit.solvers.batch.test_start import check_legal
from tests.unit.solvers.batch.worlds import plain_batch, rich_batch

WORLDS = [
    plain_batch((3, 3), 65, 1),
    plain_batch((2, 2), 30, 2),
    plain_batch((5, 5), 63, 3),
    plain_batch((8, 8), 70, 4),
    plain_batch((1, 1, 1, 1), 30, 5),
    plain_batch((1, 1), 21, 6),
    rich_batch((2, 2), 40, 4),
    rich_batch((1, 4), 60, 5),
    rich_batch((2, 2, 2), 60, 6),
    rich_batch((3, 3), 50, 7, free=1),
    rich_batch((6, 6), 60, 8),
    rich_batch((2, 3, 4), 50, 9, free=1),
]


@pytest.mark.parametrize("batch", WORLDS)
def test_plan_is_whole_parties_and_its_quality_is_the_reference_s(batch: Batch) -> None:
    plan = anneal(batch, effort=4_000, seed=1)

    check_legal(batch, plan.seating)
    assert len(plan.seating) == len(prepare(batch).seating) > 0
    for row, quality, legal in zip(plan.seating, plan.quality, plan.legal, strict=True):
        teams = teams_of(batch, row)
        assert legal == is_legal(batch, teams)
        if legal:
            assert quality == pytest.approx(1.0 - cost_of(batch, teams), abs=1e-9)


@pytest.mark.parametrize("batch", WORLDS)
def test_energies_kept_by_moves_are_those_of_the_matches(batch: Batch) -> None:
    batch = batch._replace(worth=np.random.default_rng(1).random(batch.players))
    ready = prepare(batch)
    one = Annealing(ready.scene, ready.seating, ready.candidates, seed=3)
    for at in range(4):
        one.run(1_000, at / 4, (at + 1) / 4)
    one.finish(2_000)
    kept = one.energy

    again = Annealing(ready.scene, one.seated(), ready.candidates, seed=3)

    # Divisions that are part of the state have been improved by the final split.
    assert again.energy <= kept + 1e-4
    if ready.scene.is_divided:
        assert again.energy == pytest.approx(kept, abs=1e-4)


@pytest.mark.parametrize("batch", WORLDS)
def test_bench_and_places_stay_true(batch: Batch) -> None:
    ready = prepare(batch)
    one = Annealing(ready.scene, ready.seating, ready.candidates, seed=5)
    one.run(5_000)
    rows, places = np.nonzero(one.board.seat[:-2] >= 0)
    who = one.board.seat[rows, places]
    assert np.array_equal(one.walk.place[0, who], rows)
    assert np.array_equal(one.walk.place[1, who], places)
    on_bench = one.walk.bench[: one.walk.counts[1]].tolist()
    seated_parties = set(ready.scene.party[who].tolist())
    assert sorted([*on_bench, *seated_parties]) == list(range(len(batch.first) - 1))


@pytest.mark.parametrize("batch", WORLDS)
def test_bound_of_a_move_is_that_of_the_match_it_would_make(batch: Batch) -> None:
    batch = batch._replace(worth=np.random.default_rng(1).random(batch.players))
    ready = prepare(batch)
    annealing = Annealing(ready.scene, ready.seating, ready.candidates, 1)
    annealing.run(500)
    scene, board, walk = annealing.scene, annealing.board, annealing.walk
    compared = 0
    for _ in range(400):
        if not propose(scene, board, walk) or walk.packs[2, FROM_ROW] == walk.packs[2, TO_ROW]:
            continue
        bound = least_after(scene, board, walk)
        trial = int(walk.counts[MATCHES]) + 1
        board.seat[trial] = board.seat[walk.packs[2, TO_ROW]]
        rewrite(scene, board, walk, trial, 1)
        assert bound == pytest.approx(least_energy(scene, board, trial), abs=1e-9)
        compared += 1
    assert compared > 50


def test_equal_arguments_give_equal_plans_and_slices_do_not_matter_to_that() -> None:
    batch = plain_batch((3, 3), 65, 1)
    one, two = (anneal(batch, effort=20_000, seed=7, restarts=2) for _ in range(2))
    assert np.array_equal(one.seating, two.seating)
    assert one.evaluations == two.evaluations
    other = anneal(batch, effort=20_000, seed=8, restarts=2)
    assert not np.array_equal(one.seating, other.seating)


def test_search_finds_the_optimum_of_two_matches() -> None:
    batch = plain_batch((2, 2), 8, 3, largest=1)
    best = 0.0
    for first in combinations(range(8), 4):
        rest = [p for p in range(8) if p not in first]
        best = max(best, _best_quality(batch, list(first)) + _best_quality(batch, rest))

    plan = anneal(batch, effort=3_000, seed=1)

    assert plan.quality.sum() == pytest.approx(best, abs=1e-6)


def _best_quality(batch: Batch, four: list[int]) -> float:
    one = four[0]
    return max(
        1.0 - cost_of(batch, [[one, mate], [p for p in four if p not in (one, mate)]])
        for mate in four[1:]
    )


def test_players_of_worth_are_seated_though_qualities_then_exceed_one() -> None:
    # Early rejection once assumed that no match can be worth more than 1.
    batch = plain_batch((3, 3), 44, 1)
    first = int(batch.first[np.flatnonzero(np.diff(batch.first) == 1)[0]])
    for player in range(first, 44):
        worth = np.zeros(44)
        worth[player] = 50.0
        plan = anneal(batch._replace(worth=worth), effort=3_000, seed=player)
        assert player in plan.seating


def test_resolving_pairs_of_matches_only_gains_and_splits_no_party() -> None:
    # A prototype's re-solve split parties, which gained three points that were not there.
    batch = plain_batch((3, 3), 90, 2)
    ready = prepare(batch)
    one = Annealing(ready.scene, ready.seating, ready.candidates, seed=1)
    one.run(3_000)
    before = one.energy
    one.finish(10**6)
    assert one.energy < before
    check_legal(batch, one.seated())
    plan = plan_of(ready, one)
    assert plan.quality.sum() == pytest.approx(-one.energy, abs=1e-4)


def test_forbidden_pairs_are_kept_apart_where_that_can_be() -> None:
    batch = plain_batch((3, 3), 36, 1)
    party = np.repeat(np.arange(len(batch.first) - 1), np.diff(batch.first))
    avoid = [(i, j, APART) for i in range(36) for j in range(i) if party[i] != party[j]]
    chosen = np.random.default_rng(1).choice(len(avoid), 120, replace=False)
    facts = batch.facts._replace(avoid=np.array(avoid, dtype=np.int64)[chosen])

    plan = anneal(batch._replace(facts=facts), effort=60_000, seed=1)

    assert plan.legal.all()


def test_objectives_sum_transformed_qualities() -> None:
    batch = plain_batch((3, 3), 65, 1)
    quality = plan_of(prepare(batch), _begun(batch, "mean")).quality
    transformed = {
        "mean": quality,
        "sqrt": quality**0.5,
        "power:0.1": quality**0.1,
        "rms": -np.square(1.0 - quality),
    }
    for objective, gains in transformed.items():
        assert _begun(batch, objective).energy == pytest.approx(-gains.sum(), abs=1e-4)


def _begun(batch: Batch, objective: str) -> Annealing:
    ready = prepare(batch, objective=objective)
    return Annealing(ready.scene, ready.seating, ready.candidates, seed=1)


@pytest.mark.parametrize("objective", ["sqrt", "power:0.1", "rms"])
def test_every_objective_is_searched_for(objective: str) -> None:
    batch = plain_batch((3, 3), 120, 5)
    one = _begun(batch, objective)
    before = one.energy
    one.pace(60_000)
    one.run(60_000)
    again = _begun(batch, "mean")
    again.pace(60_000)
    again.run(60_000)
    found = plan_of(prepare(batch), one).quality.mean()
    assert one.energy < before
    # The best by another measure of the same matches is nearly as good by the mean.
    assert found == pytest.approx(plan_of(prepare(batch), again).quality.mean(), abs=0.02)


@pytest.mark.parametrize("name", ["best", "power:0", "power:x", "power:", "power:11", "sqrt:2"])
def test_unknown_objectives_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="got .*" + name):
        power_of(name)


def test_selection_takes_the_best_by_its_own_measure_and_counts_all_evaluations() -> None:
    seated = np.zeros((3, 2), dtype=np.int32)
    legal = np.ones(3, dtype=bool)
    even = Plan(seated, np.array([0.6, 0.6, 0.6]), legal, 5)
    steep = Plan(seated, np.array([0.1, 0.9, 0.9]), legal, 7)
    worth = np.zeros(1)
    chosen = {
        select: best_of([even, steep], worth, objective="mean", select=select)
        for select in ("mean", "median", "p10")
    }
    assert [float(plan.quality[0]) for plan in chosen.values()] == [0.1, 0.1, 0.6]
    assert {plan.evaluations for plan in chosen.values()} == {12}
    with pytest.raises(ConfigError, match="select is one of"):
        best_of([even], worth, objective="mean", select="best")


def test_parts_of_a_job_make_the_same_plan_as_the_whole() -> None:
    batch = plain_batch((3, 3), 65, 1)
    ready = prepare(batch)
    plans = [search(ready, 5_000, seed) for seed in child_seeds(4, 3)]
    best = best_of(plans, batch.worth, objective="mean", select="mean")
    whole = anneal(batch, effort=15_000, seed=4, restarts=3)
    assert np.array_equal(best.seating, whole.seating)


@pytest.mark.parametrize("players", [0, 1, 5])
def test_too_few_players_make_no_match(players: int) -> None:
    batch = plain_batch((3, 3), players, 1)
    plan = anneal(batch, effort=100, seed=1)
    assert plan.seating.shape == (0, 6)


def test_no_effort_gives_the_start() -> None:
    batch = plain_batch((3, 3), 40, 1)
    plan = anneal(batch, effort=0, seed=1)
    assert len(plan.seating) == 6
    with pytest.raises(ConfigError, match="effort must be >= 0"):
        anneal(batch, effort=-1, seed=1)


def test_restarts_come_with_plenty_of_effort_alone() -> None:
    assert restarts_for(10**6, 300) == 1
    assert restarts_for(10**6, 30) > 1
    assert restarts_for(10**12, 30) == 16


def test_without_a_table_of_pairs_matches_are_worth_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for batch in (plain_batch((3, 3), 65, 1), rich_batch((2, 2), 40, 4)):
        table = prepare(batch)
        with monkeypatch.context() as patched:
            patched.setattr("evenmatch.solvers.teams.evaluation_input.PLAYERS_IN_TABLE", 10)
            free = prepare(batch)
        assert not len(free.scene.costs)
        assert np.array_equal(free.scene.floor, np.zeros(batch.players))
        one = Annealing(table.scene, table.seating, table.candidates, seed=1)
        two = Annealing(free.scene, free.seating, free.candidates, seed=1)
        assert two.walk.energies == pytest.approx(one.walk.energies, abs=1e-5)
        before = two.energy
        two.run(4_000)
        assert two.energy < before
        plan = plan_of(free, two)
        assert np.array_equal(plan.legal, two.walk.energies[:-2] < 0.0)
        if plan.legal.all():
            assert plan.quality.sum() == pytest.approx(-two.energy, abs=1e-3)
