"""The result of solving a batch: matches, quality, bound, reasons."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from evenmatch.errors import ConfigError, NotSupported
from evenmatch.lab.solve.arrays import FileBatch
from evenmatch.lab.solve.factors import BatchFactor, factors_of
from evenmatch.lab.solve.search import (
    EVALUATIONS_A_SECOND,
    Method,
    SolveBudget,
    SolveObjective,
    load,
    nothing_found,
    search,
)
from evenmatch.policies.shared.condition_round import SHARE
from evenmatch.solvers.kernel import settle
from evenmatch.solvers.teams.batch import Batch, Floats, Places, Plan
from evenmatch.solvers.teams.evaluation_input import scene_of
from evenmatch.solvers.teams.judge import judge

POINTS = 100.0
SHARE_LEAST = 1e-9
"""Share of the weights below which criteria with a scale are none."""


class Settings(NamedTuple):
    """How to solve a batch.

    Args:
        method: How to search.
        objective: The objective to maximise.
        budget: How long to search.
        seed: Of all randomness.
        bound_seconds: Seconds to search for a bound; None = no bound.
    """

    method: Method = Method()
    objective: SolveObjective = SolveObjective()
    budget: SolveBudget = SolveBudget(1.0)
    seed: int = 1
    bound_seconds: float | None = None


class Bound(NamedTuple):
    """An upper bound on the quality of plans.

    Args:
        most: No plan with as many matches has a higher mean quality, in points; None = unknown.
        is_optimal: Whether the plan is proved to be optimal.
        reason: Why no bound is known; "" otherwise.
    """

    most: float | None = None
    is_optimal: bool = False
    reason: str = ""


UNKNOWN = Bound()
UNSCALED = "no bound on the quality: a criterion with the scale none counts in the cost only"


@dataclass(frozen=True)
class Solution:
    """Matches for a batch, and what is known about them; qualities are in points of 100.

    Args:
        given: The batch.
        settings: How it was solved.
        plan: The matches; its qualities are 1 - the cost by all criteria, with a scale or not.
        factors: The factors that they are judged by.
        elapsed: Seconds of the search, including pair data, without the proof.
        proof: An upper bound on the quality of the matches.
        reason: Why there are no matches, or fewer than players could fill; "" otherwise.
        explanation: Figures of each factor; empty unless requested.
    """

    given: FileBatch
    settings: Settings
    plan: Plan
    factors: tuple[BatchFactor, ...]
    elapsed: float
    proof: Bound = UNKNOWN
    reason: str = ""
    explanation: Mapping[str, Mapping[str, Any]] | None = None

    @property
    def quality(self) -> float | None:
        """Return the mean quality of the matches; None without matches, or without a scale."""
        own = self.qualities
        return None if own is None or not len(own) else float(own.mean())

    @cached_property
    def qualities(self) -> Floats | None:
        """Return the quality of each match by the criteria with a scale; None if none has one."""
        raw = [factor for factor in self.factors if not factor.is_scaled]
        if not raw:
            return POINTS * self.plan.quality
        share = sum(factor.weight for factor in raw)
        if share > 1.0 - SHARE_LEAST:
            return None
        cost = 1.0 - self.plan.quality
        for factor in raw:
            cost = cost - factor.weight * cost_of(factor.alone, self.plan.seating)
        return POINTS * (1.0 - cost / (1.0 - share))

    @property
    def bound(self) -> float | None:
        """Return an upper bound on the quality of plans with as many matches; None if unknown."""
        return self.proof.most

    @property
    def gap(self) -> float | None:
        """Return how far the quality may be from the best possible."""
        if self.bound is None or self.quality is None:
            return None
        return max(0.0, self.bound - self.quality)

    @property
    def bench(self) -> list[int]:
        """Return the players without a match."""
        seated = set(self.plan.seating.ravel().tolist())
        return [p for p in range(self.given.batch.players) if p not in seated]

    @cached_property
    def teams(self) -> list[list[list[int]]]:
        """Return the player numbers by match and team."""
        starts = np.concatenate(([0], np.cumsum(self.given.batch.seats))).tolist()
        return [
            [sorted(p for p in row[low:high] if p >= 0) for low, high in pairwise(starts)]
            for row in self.plan.seating.tolist()
        ]

    @cached_property
    def matches(self) -> list[dict[str, Any]]:
        """Return the matches: teams of player numbers, quality and factors; ids if known."""
        scaled = [factor for factor in self.factors if factor.is_scaled]
        names = [self.named(factor.name) for factor in scaled]
        costs = [cost_of(factor.alone, self.plan.seating) for factor in scaled]
        people, qualities = self.given.people, self.qualities
        rows = []
        for row, teams in enumerate(self.teams):
            quality = None if qualities is None else float(qualities[row])
            own = [POINTS * (1.0 - float(cost[row])) for cost in costs]
            match = {
                "teams": teams,
                "quality": quality,
                "factors": dict(zip(names, own, strict=True)),
            }
            rows.append(match if people is None else match | people.tell(teams))
        return rows

    @property
    def summary(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        own = self.qualities
        told = {
            "matches": self.matches,
            "quality": self.quality,
            "median": _points(own, 50.0),
            "p10": _points(own, 10.0),
            "bound": self.bound,
            "gap": self.gap,
            "optimal": self.proof.is_optimal,
            "bench": self.bench,
            "evaluations": self.plan.evaluations,
            "elapsed": self.elapsed,
            "reason": self.reason,
            "bound_reason": self.proof.reason,
        }
        return told if self.explanation is None else told | {"explain": self.explanation}

    def named(self, factor: str) -> str:
        """Return the name of a factor for people."""
        return self.given.names.get(factor, factor)

    def __repr__(self) -> str:
        return f"Solution(matches={len(self.plan.seating)}, quality={self.quality})"


def cost_of(batch: Batch, seating: Places) -> Floats:
    """Return the exact cost of each match."""
    if not len(seating):
        return np.zeros(0)
    quality, _ = judge(scene_of(batch), batch, seating)
    return 1.0 - quality


def _points(quality: Floats | None, percentile: float) -> float | None:
    if quality is None or not len(quality):
        return None
    return float(np.percentile(quality, percentile))


# Solving a batch: the search, and the proof of how far its matches are from the optimum.

BOUND_EFFORT_A_SECOND = 4e7
"""Numbers that the proof may examine per second; the clock is read only between its rounds."""
BOUND_SHARE, PLAN_SHARE = 0.65, 0.25
"""Shares of the time of a proof: for the bound, and then for a better plan. The rest is for the
choice of the best plan."""
TABLE_SECONDS = 1e-7
"""Seconds that the tables of a proof take per pair of players and division of the seats. Nothing
can end them early, and they take some 40 bytes per pair."""
PLAN_TIMES = 3.0
"""The search for a better plan lasts at most this many times as long as the bound took."""
DUEL = (1, 1)
MATCHING_SECONDS, MATCHING_POWER = 2.5e-8, 2.66
"""Seconds of a matching by facts that are no gaps of numbers: a factor, and a power of the players.
If a budget is shorter than this, one against one is searched like teams."""
MATCHED_ALWAYS = 200
"""Players whose matching takes no time worth asking for."""
TRIES_A_SECOND = 4_000
"""Changes of matches by conditions that are tried per second."""

OnProof = Callable[[float, float], None]
"""Called with the bound so far, in points, and the share of the time that is spent."""


def _silent(bound: float, share: float) -> None:
    del bound, share


def solve_batch(
    given: FileBatch,
    settings: Settings,
    on_part: Callable[[], None] = lambda: None,
    on_proof: OnProof = _silent,
) -> Solution:
    """Solve a batch with settings in range.

    Args:
        given: The batch.
        settings: How to solve it.
        on_part: Called when a part of the search is done.
        on_proof: Called during the proof.

    Raises:
        ConfigError: A party is larger than every team.
    """
    batch = given.batch
    largest, room = int(np.diff(batch.first).max(initial=0)), int(batch.seats.max())
    if largest > room:
        raise ConfigError(f"a party of {largest} players does not fit into a team of {room}")
    factors = factors_of(batch, given.columns, given.role_weight)
    load(settings.method)
    is_matched = settings.method.name == "anneal" and _is_matched(batch, settings.budget)
    began = time.perf_counter()
    if given.conditions is not None:
        plan, proof = _by_conditions(given, settings, on_part), UNKNOWN
    elif is_matched and settings.objective.name == "mean":
        plan, proof = _paired(batch)
    else:
        method, budget = settings.method, settings.budget
        plan = search(batch, method, settings.objective, budget, settings.seed, on_part)
        proof = UNKNOWN
    elapsed = time.perf_counter() - began
    plan, objection = _kept(given, plan)
    is_scaled = all(factor.is_scaled for factor in factors)
    if settings.bound_seconds is None:
        proof = UNKNOWN
    elif len(plan.seating) and proof.most is None:
        plan, proof = _proved(given, plan, settings, on_proof if is_scaled else _silent)
    if proof.most is not None and not is_scaled:
        proof = proof._replace(most=None, reason=UNSCALED)
    reason = _reason(batch, plan, objection)
    return Solution(given, settings, plan, factors, elapsed, proof, reason)


def _is_duel(batch: Batch) -> bool:
    """Return whether a matching of pairs covers all terms and rules."""
    is_plain = batch.fullness == 0.0 and not batch.role_seats.size
    is_full = bool((batch.seats == batch.seats_min).all()) and batch.players > 1
    is_single = batch.players == len(batch.first) - 1
    return tuple(batch.seats.tolist()) == DUEL and is_single and is_full and is_plain


def _is_matched(batch: Batch, budget: SolveBudget) -> bool:
    """Return whether to solve a batch by a matching: if it covers all, and the budget suffices."""
    if not _is_duel(batch):
        return False
    from evenmatch.solvers.duels.plan import compares_only_numbers

    seconds = budget.seconds or 0.0
    if budget.evaluations is not None:
        seconds = budget.evaluations / EVALUATIONS_A_SECOND
    is_quick = MATCHING_SECONDS * batch.players**MATCHING_POWER <= seconds
    return batch.players <= MATCHED_ALWAYS or is_quick or compares_only_numbers(batch)


def _paired(batch: Batch) -> tuple[Plan, Bound]:
    """Return the round of one against one: a matching, with its certificate."""
    from evenmatch.solvers.duels.plan import plan_duels

    duel_plan = plan_duels(batch)
    if not len(duel_plan.plan.seating):
        return nothing_found(batch), UNKNOWN
    return duel_plan.plan, Bound(POINTS * duel_plan.bound, duel_plan.is_optimal)


def _by_conditions(given: FileBatch, settings: Settings, on_part: Callable[[], None]) -> Plan:
    """Return matches that pass conditions: by a search that supports some, and by others."""
    batch, budget = given.batch, settings.budget
    assert given.conditions is not None
    rounds, tickets, at = given.conditions

    def find() -> Plan:
        if _is_matched(batch, budget):
            return _paired(batch)[0]
        return search(batch, settings.method, settings.objective, budget, settings.seed, on_part)

    tries = (
        budget.evaluations // SHARE
        if budget.evaluations is not None
        else int((budget.seconds or 0.0) * TRIES_A_SECOND)
    )
    return rounds.plan(batch, tickets, at, find, seed=settings.seed, tries=tries)


def _proved(
    given: FileBatch, plan: Plan, settings: Settings, on_proof: OnProof
) -> tuple[Plan, Bound]:
    """Return the best plan found by the objective, and what is proved about it.

    Both plans have only legal matches, and equally many. Conditions that the batch does
    not include only reduce the legal plans, so the bound still holds.
    """
    batch = given.batch
    from evenmatch.solvers.bounds.set_packing import PROVEN, prove

    settle()  # Kernels that are loaded or compiled only now would use up the time.
    seconds, began = settings.bound_seconds or 0.0, time.perf_counter()
    is_mean = settings.objective.name == "mean"
    ends = [began + (BOUND_SHARE if is_mean else 1.0) * seconds]

    def progress(bound: float, share: float) -> None:
        on_proof(POINTS * bound, max(share, (time.perf_counter() - began) / seconds))

    def improved(plan: Plan) -> Plan:
        ends.append(began + seconds)
        now = time.perf_counter()
        longest = min(PLAN_TIMES * (now - began), PLAN_SHARE * seconds)
        budget = SolveBudget(longest, parts=settings.budget.parts)
        found = search(batch, settings.method, settings.objective, budget, settings.seed + 1)
        return found if found.quality[found.legal].sum() > plan.quality.sum() else plan

    try:
        _check_tables(batch, seconds)
        proof = prove(
            batch,
            plan,
            effort=seconds * BOUND_EFFORT_A_SECOND,
            optimum=True,
            progress=progress,
            keep_going=lambda: time.perf_counter() < ends[-1],
            left=lambda: ends[-1] - time.perf_counter(),
            improve=improved if is_mean else None,
        )
    except NotSupported as error:
        # No quality is above 1, so a higher bound is useless.
        most = None if given.conditions is None else POINTS
        return plan, Bound(most, reason=str(error))
    if is_mean:
        better, _ = _kept(given, _judged(given, proof.plan))
        is_whole = len(better.seating) == len(plan.seating)
        if is_whole and better.quality.sum() >= plan.quality.sum():
            plan = better._replace(evaluations=plan.evaluations)
    is_optimal = proof.bound - float(plan.quality.mean()) <= PROVEN
    return plan, Bound(POINTS * proof.bound, is_optimal)


def _check_tables(batch: Batch, seconds: float) -> None:
    """Raise an error if the tables of a proof alone would outlast its time."""
    from evenmatch.solvers.bounds.party_costs import team_sizes

    needed = TABLE_SECONDS * batch.players**2 * len(team_sizes(batch))
    if needed > BOUND_SHARE * seconds:
        raise NotSupported(
            f"the tables of a bound for {batch.players:,} players take longer than {seconds:g} s "
            f"leave for them; give it {math.ceil(needed / BOUND_SHARE):,} s at least, or leave it "
            "out"
        )


def _judged(batch: FileBatch, plan: Plan) -> Plan:
    """Return a plan with the qualities of its matches by all criteria, if a batch lacks some."""
    if batch.conditions is None:
        return plan
    return batch.conditions.rounds.judged(batch.batch, batch.conditions.tickets, plan)


def _kept(batch: FileBatch, plan: Plan) -> tuple[Plan, str]:
    """Return the matches that break no rule, and a rule that others break."""
    kept, objection = plan.legal.copy(), ""
    if batch.people is not None:
        told = Solution(batch, Settings(), plan, (), 0.0).teams
        for row in range(len(kept)):
            broken = batch.people.objection(told[row])
            kept[row] &= not broken
            objection = objection or broken
    if kept.all():
        return plan, objection
    return Plan(plan.seating[kept], plan.quality[kept], kept[kept], plan.evaluations), objection


def _reason(batch: Batch, plan: Plan, objection: str) -> str:
    """Return why players stay without a match although there are enough of them."""
    least = int(batch.seats_min.sum())
    if batch.players < least:
        are = "player is" if batch.players == 1 else "players are"
        return f"{batch.players} {are} fewer than the {least} of a match"
    missing = (batch.players - int((plan.seating >= 0).sum())) // max(least, 1)
    if missing <= 0:
        return ""
    why = f" ({objection})" if objection else ""
    if not len(plan.seating):
        return f"no match is possible with these parties under these rules, or none was found{why}"
    more = "one more match is" if missing == 1 else f"{missing} more matches are"
    return f"{more} not possible with these parties under these rules, or not found{why}"
