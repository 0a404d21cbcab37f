"""Factors: each alone, what they add up to, and what is left without one."""

import numpy as np
import pytest

import evenmatch
from evenmatch.lab.solve.arrays import batch_of
from evenmatch.lab.solve.factors import factors_of, figures_of, without
from evenmatch.lab.solve.solution import cost_of
from tests.unit.lab.batches import SKILL, SPREAD, arrays, singles
from tests.unit.lab.batches import batch_of as tickets_of
from tests.unit.lab.test_batch_json import role_batch

SIX = batch_of(arrays(36, 3, seed=2))


def test_factors_add_up_to_the_cost_of_a_match() -> None:
    seated = evenmatch.solve(role_batch(), effort=500)
    whole = 1.0 - seated.plan.quality
    parts = [f.weight * cost_of(f.alone, seated.plan.seating) for f in seated.factors]
    assert sum(f.weight for f in seated.factors) == pytest.approx(1.0)
    assert np.sum(parts, axis=0) == pytest.approx(whole, abs=1e-6)


def test_shares_of_the_variance_sum_to_one() -> None:
    from evenmatch.lab.solve.search import Method, SolveBudget, SolveObjective, search

    plan = search(SIX, Method(), SolveObjective(), SolveBudget(evaluations=100), 1)
    figures = figures_of(factors_of(SIX, ("skill",)), plan.seating, cost_of)
    assert len(figures) == 6
    assert sum(each.share or 0.0 for each in figures) == pytest.approx(1.0)


def test_without_one_the_others_weigh_the_whole() -> None:
    factors = factors_of(SIX, ("skill",))
    left = factors_of(without(SIX, factors, factors[0].name), ("skill",))
    assert [f.name for f in left] == [f.name for f in factors[1:]]
    assert sum(f.weight for f in left) == pytest.approx(1.0)
    assert left[0].weight / left[1].weight == pytest.approx(factors[1].weight / factors[2].weight)


def test_factors_of_one_kind_have_names_of_their_own() -> None:
    raw = tickets_of(singles([1.0, 2.0, 3.0, 4.0]), SKILL, SKILL, SPREAD)
    (match,) = evenmatch.solve(raw, effort=10).matches
    assert list(match["factors"]) == [
        "imbalance of skill",
        "imbalance of skill 2",
        "spread of skill",
    ]


def test_roles_stay_when_their_ranks_do_not_count() -> None:
    found = evenmatch.solve(role_batch(), effort=2_000)
    bare = without(found.given.batch, found.factors, "role_rank")
    assert np.array_equal(np.isinf(bare.role_cost), np.isinf(found.given.batch.role_cost))
    assert float(bare.role_cost[np.isfinite(bare.role_cost)].max()) == 0.0
