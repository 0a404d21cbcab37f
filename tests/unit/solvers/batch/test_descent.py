"""Descents keep parties whole, spend what they are given, and end where no swap is better."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from evenmatch import MatchmakingError
from evenmatch.solvers.teams import descent as module
from evenmatch.solvers.teams.batch import Batch, Places
from evenmatch.solvers.teams.descent import Search, descent
from evenmatch.solvers.teams.evaluation_input import scene_of
from evenmatch.solvers.teams.judge import judge
from evenmatch.solvers.teams.reference import cost_of, is_legal
from evenmatch.solvers.teams.start import start_matches
from tests.extent import extent, more, thinned
from tests.unit.solvers.batch.test_judge import divisions
from tests.unit.solvers.batch.worlds import plain_batch, rich_batch

pytestmark = more

WORLDS = [
    plain_batch((3, 3), 40, 1),
    plain_batch((2, 2), 22, 2),
    plain_batch((5, 5), 60, 3),
    plain_batch((1, 1, 1, 1), 30, 3),
    rich_batch((2, 2), 40, 4),
    rich_batch((1, 4), 60, 5),
    rich_batch((2, 2, 2), 60, 6),
    rich_batch((3, 3), 70, 7, free=1),
    rich_batch((6, 6), 70, 8),
]
TOLERANCE = 2e-5  # searches add in single precision


def check_whole(batch: Batch, seated: Places) -> None:
    """Assert that nobody plays twice, and parties stay together in one team."""
    players = seated[seated >= 0]
    assert len(np.unique(players)) == len(players)
    starts = np.concatenate(([0], np.cumsum(batch.seats)))
    team_of = {}
    for row, seats in enumerate(seated):
        for team in range(len(batch.seats)):
            for p in seats[starts[team] : starts[team + 1]]:
                team_of[int(p)] = (row, team)
    for low, high in zip(batch.first, batch.first[1:], strict=False):
        assert len({team_of.get(p) for p in range(low, high)}) == 1


@pytest.mark.parametrize(("escape", "batch"), thinned(product(module.ESCAPES, WORLDS), 2))
def test_descent_keeps_parties_whole_and_gets_better_than_its_start(
    batch: Batch, escape: str
) -> None:
    scene = scene_of(batch)
    start = start_matches(batch, "skill", np.random.default_rng(1))
    before, legal = judge(scene, batch, start)

    plan = descent(batch, effort=30_000, seed=1, escape=escape)

    check_whole(batch, plan.seating)
    assert len(plan.seating) == len(start)
    assert plan.legal.sum() >= legal.sum()
    if legal.all():
        assert plan.quality.mean() > before.mean()
    assert 0 < plan.evaluations < 31_000


@pytest.mark.parametrize("seed", range(extent(2, 6)))
def test_no_swap_is_left_that_would_be_better(seed: int) -> None:
    batch = plain_batch((2, 2), 22, seed)
    search = Search(scene_of(batch), start_matches(batch, "skill", np.random.default_rng(0)))
    energy = search.run(10**9)
    groups = [parties_of(batch, row) for row in search.seat]
    groups += [[int(p) for p in own if p >= 0] for own in search.bench]
    matches = len(search.seat)
    values = [best_quality(batch, group) for group in groups[:matches]] + [0.0] * len(groups)
    assert -energy == pytest.approx(sum(values[:matches]), abs=TOLERANCE)
    for one, two in combinations(range(len(groups)), 2):
        for mine, its in swaps(batch, groups[one], groups[two]):
            first = [p for p in groups[one] if p not in mine] + list(its)
            second = [p for p in groups[two] if p not in its] + list(mine)
            after = best_quality(batch, first) if one < matches else 0.0
            after += best_quality(batch, second) if two < matches else 0.0
            assert after <= values[one] + values[two] + TOLERANCE


def parties_of(batch: Batch, row: np.ndarray) -> list[int]:
    party = np.searchsorted(batch.first, row, side="right") - 1
    return sorted(set(party.tolist()))


def best_quality(batch: Batch, parties: list[int]) -> float:
    who = np.concatenate([np.arange(batch.first[p], batch.first[p + 1]) for p in parties])
    ways = [teams for teams in divisions(batch, who) if is_legal(batch, teams)]
    return max((1.0 - cost_of(batch, teams) for teams in ways), default=-np.inf)


def swaps(
    batch: Batch, one: list[int], two: list[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return all exchanges of one party for a pack of the same size."""
    sizes = np.diff(batch.first)
    packs = [
        [pack for n in range(1, len(own) + 1) for pack in combinations(own, n)]
        for own in (one, two)
    ]
    return [
        (mine, its)
        for mine, its in product(*packs)
        if min(len(mine), len(its)) == 1 and sizes[list(mine)].sum() == sizes[list(its)].sum()
    ]


def test_the_energy_that_is_kept_is_that_of_the_seats() -> None:
    batch = plain_batch((3, 3), 100, 5)
    search = Search(scene_of(batch), start_matches(batch, "skill", np.random.default_rng(0)))
    energy = search.run(10**9)
    assert search.swaps > 10
    quality, legal = judge(scene_of(batch), batch, search.divided())
    assert legal.all()
    assert -energy == pytest.approx(quality.sum(), abs=1e-3)


@pytest.mark.parametrize("escape", module.ESCAPES)
def test_more_effort_is_never_worse_and_the_same_seed_gives_the_same_plan(escape: str) -> None:
    batch = plain_batch((3, 3), 60, 2)
    plans = [descent(batch, effort=e, seed=3, escape=escape) for e in (5_000, 50_000, 50_000)]
    assert plans[0].quality.mean() <= plans[1].quality.mean() + TOLERANCE
    assert plans[1].seating.tolist() == plans[2].seating.tolist()
    random = [descent(batch, effort=5_000, seed=s, escape=escape, start="random") for s in (3, 4)]
    assert random[0].seating.tolist() != random[1].seating.tolist()


@pytest.mark.parametrize("start", ["skill", "party", "region", "random"])
def test_every_start_can_be_descended_from(start: str) -> None:
    batch = plain_batch((3, 3), 40, 1)
    plan = descent(batch, effort=5_000, seed=1, start=start)
    check_whole(batch, plan.seating)
    assert plan.legal.all()


def test_who_is_worth_more_comes_from_the_bench() -> None:
    batch = plain_batch((2, 2), 22, 3, largest=1)
    worth = np.zeros(22)
    worth[[4, 11]] = 5.0
    plan = descent(batch._replace(worth=worth), effort=20_000, seed=1)
    assert {4, 11} <= set(plan.seating.ravel().tolist())


@pytest.mark.parametrize("players", [0, 3, 4])
def test_too_few_to_swap_end_at_once(players: int) -> None:
    batch = plain_batch((2, 2), players, 1, largest=1)
    plan = descent(batch, effort=1_000, seed=1)
    assert plan.seating.shape == (players // 4, 4)
    assert plan.evaluations == 0


def test_without_effort_the_start_is_given_back() -> None:
    batch = plain_batch((3, 3), 40, 1)
    plan = descent(batch, effort=0, seed=1)
    start = start_matches(batch, "skill", np.random.default_rng(1))
    assert sorted(map(sorted, plan.seating.tolist())) == sorted(map(sorted, start.tolist()))


@pytest.mark.parametrize("given", [{"escape": "hope"}, {"start": "best"}])
def test_unknown_words_are_refused(given: dict[str, str]) -> None:
    with pytest.raises(MatchmakingError, match="must be one of"):
        descent(plain_batch((2, 2), 8, 1), effort=1, seed=1, **given)


def test_too_many_matches_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROUPS_MAX", 5)
    with pytest.raises(MatchmakingError, match="at most 5 matches"):
        descent(plain_batch((2, 2), 40, 1), effort=1, seed=1)
