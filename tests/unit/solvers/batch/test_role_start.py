"""Starts with roles are legal and lose no match; searches find roles, and sizes of matches."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from evenmatch.solvers.matching.pairs import CAPPED
from evenmatch.solvers.teams import quota, start
from evenmatch.solvers.teams.batch import MEAN_GAP, Batch, empty_batch, empty_facts
from evenmatch.solvers.teams.reference import is_legal
from evenmatch.solvers.teams.solve import anneal
from evenmatch.solvers.teams.start import start_matches
from tests.unit.solvers.batch.test_judge import teams_of
from tests.unit.solvers.batch.test_start import batch_of, check_legal

SHARES = {"tank": 0.25, "healer": 0.3, "dps": 0.75}
"""How many players take each role; nobody takes none."""


def batch_with_roles(sizes: list[int], seats: list[int], roles: list[int], seed: int) -> Batch:
    """Return a batch whose players take some of the first roles of `SHARES`."""
    rng = np.random.default_rng(seed)
    batch = batch_of(sizes, seats)
    takes = rng.random((batch.players, len(roles))) < list(SHARES.values())[: len(roles)]
    takes[~takes.any(axis=1), -1] = True
    costs = np.where(takes, rng.random(takes.shape) * 0.02, np.inf).astype(np.float32)
    facts = batch.facts._replace(values=rng.integers(0, 400, (1, batch.players)).astype(float))
    terms = np.array([[MEAN_GAP, 0.5, 0.0, CAPPED, 400.0, 0.0, 0.0]])
    role_seats = np.array(roles, dtype=np.int64)
    return batch._replace(facts=facts, terms=terms, role_seats=role_seats, role_cost=costs)


def most_matches(batch: Batch) -> int:
    """Return how many matches can be made at most, by trying all sets of teams."""
    parties = range(len(batch.first) - 1)
    members = [list(range(batch.first[p], batch.first[p + 1])) for p in parties]
    teams = [
        set(chosen)
        for count in range(1, int(batch.seats[0]) + 1)
        for chosen in combinations(parties, count)
        if sum(len(members[p]) for p in chosen) == batch.seats[0]
        and has_roles(batch, [player for p in chosen for player in members[p]])
    ]

    def pack(free: set[int], begin: int) -> int:
        best = 0
        for at in range(begin, len(teams)):
            if teams[at] <= free:
                best = max(best, 1 + pack(free - teams[at], at + 1))
        return best

    return pack(set(parties), 0) // len(batch.seats)


def has_roles(batch: Batch, team: list[int]) -> bool:
    limits = batch.role_seats.tolist()
    return any(
        all(given.count(role) <= limit for role, limit in enumerate(limits))
        and all(math.isfinite(batch.role_cost[p, r]) for p, r in zip(team, given, strict=True))
        for given in product(range(len(limits)), repeat=len(team))
    )


@pytest.mark.parametrize("seed", range(12))
def test_as_many_matches_are_made_as_parties_and_roles_allow(seed: int) -> None:
    sizes = [[1] * 9, [2, 2] + [1] * 5, [2, 2, 2, 1, 1, 1]][seed % 3]
    batch = batch_with_roles(sizes, [2, 2], [1, 1], seed)
    seated = start_matches(batch, "skill", np.random.default_rng(0))
    assert len(seated) == most_matches(batch)
    check_legal(batch, seated)
    assert all(is_legal(batch, teams_of(batch, row)) for row in seated)


@pytest.mark.parametrize("order", start.ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_search_keeps_the_roles_that_the_start_found(order: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 1, 1, 2], 80).tolist()
    batch = batch_with_roles(sizes, [5, 5], [1, 1, 3], seed)
    seated = start_matches(batch, order, rng)
    check_legal(batch, seated)
    assert all(is_legal(batch, teams_of(batch, row)) for row in seated)
    plan = anneal(batch, effort=5_000, seed=seed)
    assert plan.legal.all()
    assert len(plan.legal) == len(seated) >= 5


def test_search_finds_roles_where_the_start_ignores_them(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = batch_with_roles([1] * 70 + [2] * 15, [5, 5], [1, 1, 3], 4)
    best = len(start_matches(batch, "skill", np.random.default_rng(0)))
    monkeypatch.setattr(quota, "STATES_MAX", 2)
    seated = start_matches(batch, "skill", np.random.default_rng(0))
    before = sum(is_legal(batch, teams_of(batch, row)) for row in seated)
    assert before < best / 2
    plan = anneal(batch, effort=20_000, seed=1)
    assert plan.legal.sum() >= 0.9 * best


def test_nobody_with_a_role_makes_no_match() -> None:
    batch = batch_with_roles([1] * 8, [2, 2], [1, 1], 1)
    costs = np.full_like(batch.role_cost, np.inf)
    costs[:, 0] = 0.0
    none = start_matches(batch._replace(role_cost=costs), "skill", np.random.default_rng(0))
    assert none.shape == (0, 4)


def test_parties_go_from_match_to_match_without_an_equal_pack_in_return() -> None:
    # Free-for-all of 2 to 6: two clans of 3 and 5 far apart are best left as they are, while the
    # start seats four and four.
    values = np.array([[0.0] * 3 + [300.0] * 5])
    facts = empty_facts(8)._replace(values=values)
    batch = empty_batch(np.ones(6, dtype=np.int64), np.arange(9), facts)._replace(
        seats_min=np.array([1, 1, 0, 0, 0, 0]),
        terms=np.array([[MEAN_GAP, 0.8, 0.0, CAPPED, 400.0, 0.0, 0.0]]),
        fullness=0.2,
    )
    assert (start_matches(batch, "skill", np.random.default_rng(0)) >= 0).sum(axis=1).tolist() == [
        4,
        4,
    ]
    plan = anneal(batch, effort=5_000, seed=1)
    assert sorted((plan.seating >= 0).sum(axis=1).tolist()) == [3, 5]
    assert plan.legal.all()
