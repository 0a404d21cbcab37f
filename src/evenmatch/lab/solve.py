"""Solve a batch: matches, how good they are, how far from the best possible, and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.lab.batch_file import Given
from evenmatch.lab.factors import Factor, FactorFigures, factors_of, figures_of, without
from evenmatch.lab.search import Budget, Method, Objective, search
from evenmatch.solvers.batch.batch import Batch, Floats, Places, Plan
from evenmatch.solvers.batch.judge import judge
from evenmatch.solvers.batch.scene import scene_of

POINTS = 100.0
BOUND_EFFORT = 6e9
"""Numbers that the proof may look at where only a budget of time ends it."""
DUEL = (1, 1)


class Settings(NamedTuple):
    """What to do with a batch.

    Args:
        method: How to search.
        objective: What is maximised.
        budget: How long to search.
        seed: Of all chance.
        bound_seconds: How long to look for a bound; None = no bound.
    """

    method: Method = Method()
    objective: Objective = Objective()
    budget: Budget = Budget(1.0)
    seed: int = 1
    bound_seconds: float | None = None


class Solution(NamedTuple):
    """Matches for a batch, and what is known about them.

    Args:
        given: The batch.
        settings: How it was solved.
        plan: The matches.
        factors: What it is judged by.
        elapsed: Seconds of the search, pair data included; without the proof.
        bound: No plan with as many matches has a higher mean quality, in [0, 1]; None = not asked.
        is_optimal: Whether the plan is proved to be a best one.
        reason: Why there are no matches, or fewer than players could fill; "" otherwise.
    """

    given: Given
    settings: Settings
    plan: Plan
    factors: tuple[Factor, ...]
    elapsed: float
    bound: float | None = None
    is_optimal: bool = False
    reason: str = ""

    @property
    def quality(self) -> float | None:
        """Return the mean quality of the matches in points; None without matches."""
        return POINTS * float(self.plan.quality.mean()) if len(self.plan.quality) else None

    @property
    def bench(self) -> list[int]:
        """Return the players without a match."""
        seated = set(self.plan.seated.ravel().tolist())
        return [p for p in range(self.given.batch.players) if p not in seated]

    def named(self, factor: str) -> str:
        """Return what people call a factor."""
        return self.given.names.get(factor, factor)

    def as_json(self) -> dict[str, Any]:
        """Return the object of `--json`; qualities, bound and gap in points of 100."""
        quality, bound = self.quality, None if self.bound is None else POINTS * self.bound
        own = self.plan.quality
        return {
            "matches": self.matches(),
            "quality": quality,
            "median": _points(own, 50.0),
            "p10": _points(own, 10.0),
            "bound": bound,
            "gap": None if bound is None or quality is None else max(0.0, bound - quality),
            "optimal": self.is_optimal,
            "bench": self.bench,
            "evaluations": self.plan.evaluations,
            "elapsed": self.elapsed,
            "reason": self.reason,
        }

    def matches(self) -> list[dict[str, Any]]:
        """Return the matches: teams of player indices, quality and factors in points."""
        seats = self.given.batch.seats.tolist()
        starts = np.concatenate(([0], np.cumsum(seats))).tolist()
        evaluated = [1.0 - cost_of(factor.alone, self.plan.seated) for factor in self.factors]
        rows = []
        for row, seated in enumerate(self.plan.seated.tolist()):
            teams = [[p for p in seated[low:high] if p >= 0] for low, high in pairwise(starts)]
            factors = {
                self.named(factor.name): POINTS * float(values[row])
                for factor, values in zip(self.factors, evaluated, strict=True)
            }
            quality = POINTS * float(self.plan.quality[row])
            rows.append({"teams": teams, "quality": quality, "factors": factors})
        return rows


def solve(
    given: Given,
    settings: Settings,
    on_part: Callable[[], None] = lambda: None,
    on_proof: Callable[[float], None] = lambda _: None,
) -> Solution:
    """Solve a batch.

    Args:
        given: The batch.
        settings: How.
        on_part: Called when a part of the search is done.
        on_proof: Called with the share of the proof that is done.

    Raises:
        ConfigError: A party is larger than every team.
    """
    batch = given.batch
    largest, room = int(np.diff(batch.first).max(initial=0)), int(batch.seats.max())
    if largest > room:
        raise ConfigError(f"a party of {largest} players does not fit into a team of {room}")
    factors = factors_of(batch, given.columns)
    began = time.perf_counter()
    is_duel = tuple(batch.seats.tolist()) == DUEL and batch.players == len(batch.first) - 1
    bound, is_optimal = None, False
    if is_duel and settings.method.name == "anneal":
        plan, bound, is_optimal = _duels(batch)
    else:
        plan = search(
            batch, settings.method, settings.objective, settings.budget, settings.seed, on_part
        )
    elapsed = time.perf_counter() - began
    plan = _legal_only(plan)
    asked = settings.bound_seconds
    if asked is None:
        bound, is_optimal = None, False
    elif bound is None and len(plan.seated):
        plan, bound, is_optimal = _proved(batch, plan, asked, on_proof)
    reason = _reason(batch, plan)
    return Solution(given, settings, plan, factors, elapsed, bound, is_optimal, reason)


def _duels(batch: Batch) -> tuple[Plan, float, bool]:
    """Return the round of one against one: a matching, with its certificate."""
    from evenmatch.solvers.duels.plan import plan_duels

    found = plan_duels(batch)
    return found.plan, found.bound, found.is_optimal


def _proved(
    batch: Batch, plan: Plan, seconds: float, on_proof: Callable[[float], None]
) -> tuple[Plan, float, bool]:
    """Return the best plan seen, the bound, and whether the plan reaches it."""
    from evenmatch.solvers.bounds.sets import prove

    until = time.perf_counter() + seconds

    def progress(_: float, share: float) -> None:
        left = max(0.0, until - time.perf_counter())
        on_proof(max(share, 1.0 - left / seconds))

    proof = prove(
        batch,
        plan,
        effort=BOUND_EFFORT,
        optimum=True,
        progress=progress,
        keep_going=lambda: time.perf_counter() < until,
    )
    best = proof.plan._replace(evaluations=plan.evaluations)
    return _legal_only(best), proof.bound, proof.is_optimal


def _legal_only(plan: Plan) -> Plan:
    """Return the plan without matches that break a hard rule."""
    if plan.legal.all():
        return plan
    kept = plan.legal
    return Plan(plan.seated[kept], plan.quality[kept], kept[kept], plan.evaluations)


def _reason(batch: Batch, plan: Plan) -> str:
    """Return why players stay without a match although there are enough of them."""
    least = int(batch.seats_min.sum())
    if batch.players < least:
        return f"{batch.players} players are fewer than the {least} of a match"
    missing = batch.matches_most - len(plan.seated)
    if missing <= 0:
        return ""
    what = "no match is" if not len(plan.seated) else f"{missing} more matches are"
    return f"{what} possible with these parties under these rules, or was not found"


def cost_of(batch: Batch, seated: Places) -> Floats:
    """Return the exact cost of each match."""
    if not len(seated):
        return np.zeros(0)
    quality, _ = judge(scene_of(batch), batch, seated)
    return 1.0 - quality


def explain(solution: Solution) -> tuple[FactorFigures, ...]:
    """Return what each factor does in the matches of a solution."""
    return figures_of(solution.factors, solution.plan.seated, cost_of)


def effects_of_dropping(
    solution: Solution, on_done: Callable[[], None] = lambda: None
) -> Mapping[str, Mapping[str, float]]:
    """Return by factor left out what that changes in the mean of each other, in points.

    The batch is solved again without each factor, with the same budget and seed.
    """
    settings, batch = solution.settings, solution.given.batch
    before = _means(solution.factors, solution.plan.seated)
    effects = {}
    for factor in solution.factors:
        bare = without(batch, solution.factors, factor.name)
        given = solution.given._replace(batch=bare)
        plan = solve(given, settings._replace(bound_seconds=None)).plan
        after = _means(solution.factors, plan.seated)
        effects[factor.name] = {name: after[name] - before[name] for name in before}
        on_done()
    return effects


def _means(factors: Sequence[Factor], seated: Places) -> dict[str, float]:
    return {
        factor.name: POINTS * float(1.0 - cost_of(factor.alone, seated).mean())
        for factor in factors
        if len(seated)
    }


def _points(quality: Floats, percentile: float) -> float | None:
    return POINTS * float(np.percentile(quality, percentile)) if len(quality) else None
