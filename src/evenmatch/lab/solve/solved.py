"""A batch, solved: the search, and the proof of how far its matches are from the best."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from evenmatch.errors import ConfigError, NotSupported
from evenmatch.lab.solve.arrays import Given
from evenmatch.lab.solve.factors import factors_of
from evenmatch.lab.solve.search import load, nothing_found, search
from evenmatch.lab.solve.solution import POINTS, UNKNOWN, Bound, Settings, Solution
from evenmatch.solvers.teams.batch import Batch, Plan

BOUND_EFFORT_A_SECOND = 4e7
"""Numbers that the proof may look at; the clock is asked only between its rounds."""
DUEL = (1, 1)

OnProof = Callable[[float, float], None]
"""Is told the bound so far, in points, and the share of the time that is spent."""


def _silent(bound: float, share: float) -> None:
    del bound, share


def solved(
    given: Given,
    settings: Settings,
    on_part: Callable[[], None] = lambda: None,
    on_proof: OnProof = _silent,
) -> Solution:
    """Solve a batch with settings in range.

    Args:
        given: The batch.
        settings: How.
        on_part: Called when a part of the search is done.
        on_proof: Called while the proof goes on.

    Raises:
        ConfigError: A party is larger than every team.
    """
    batch = given.batch
    largest, room = int(np.diff(batch.first).max(initial=0)), int(batch.seats.max())
    if largest > room:
        raise ConfigError(f"a party of {largest} players does not fit into a team of {room}")
    factors = factors_of(batch, given.columns, given.role_weight)
    load(settings.method)
    is_matched = _is_duel(batch) and settings.method.name == "anneal"
    began = time.perf_counter()
    if is_matched and settings.objective.name == "mean":
        plan, proof = _paired(batch)
    else:
        method, budget = settings.method, settings.budget
        plan = search(batch, method, settings.objective, budget, settings.seed, on_part)
        proof = UNKNOWN
    elapsed = time.perf_counter() - began
    plan, objection = _kept(given, plan)
    if settings.bound_seconds is None:
        proof = UNKNOWN
    elif len(plan.seated) and proof.most is None:
        plan, proof = _proved(batch, plan, settings, on_proof)
        plan, objection = _kept(given, plan) if not objection else (plan, objection)
    reason = _reason(batch, plan, objection)
    return Solution(given, settings, plan, factors, elapsed, proof, reason)


def _is_duel(batch: Batch) -> bool:
    """Return whether a matching of pairs knows all that counts."""
    is_plain = batch.fullness == 0.0 and not batch.role_seats.size
    is_full = bool((batch.seats == batch.seats_min).all()) and batch.players > 1
    is_single = batch.players == len(batch.first) - 1
    return tuple(batch.seats.tolist()) == DUEL and is_single and is_full and is_plain


def _paired(batch: Batch) -> tuple[Plan, Bound]:
    """Return the round of one against one: a matching, with its certificate."""
    from evenmatch.solvers.duels.plan import plan_duels

    found = plan_duels(batch)
    if not len(found.plan.seated):
        return nothing_found(batch), UNKNOWN
    return found.plan, Bound(POINTS * found.bound, found.is_optimal)


def _proved(batch: Batch, plan: Plan, settings: Settings, on_proof: OnProof) -> tuple[Plan, Bound]:
    """Return the best plan seen by the objective, and what is proved of it."""
    from evenmatch.solvers.bounds.sets import PROVEN, prove

    seconds = settings.bound_seconds or 0.0
    until = time.perf_counter() + seconds

    def progress(bound: float, share: float) -> None:
        left = max(0.0, until - time.perf_counter())
        on_proof(POINTS * bound, max(share, 1.0 - left / seconds))

    try:
        proof = prove(
            batch,
            plan,
            effort=seconds * BOUND_EFFORT_A_SECOND,
            optimum=True,
            progress=progress,
            keep_going=lambda: time.perf_counter() < until,
        )
    except NotSupported as error:
        return plan, Bound(reason=str(error))
    if settings.objective.name == "mean":
        plan = proof.plan._replace(evaluations=plan.evaluations)
    is_optimal = proof.bound - float(plan.quality.mean()) <= PROVEN
    return plan, Bound(POINTS * proof.bound, is_optimal)


def _kept(given: Given, plan: Plan) -> tuple[Plan, str]:
    """Return the matches that break no rule, and a rule that others break."""
    kept, objection = plan.legal.copy(), ""
    if given.people is not None:
        told = Solution(given, Settings(), plan, (), 0.0).teams
        for row in range(len(kept)):
            broken = given.people.objection(told[row])
            kept[row] &= not broken
            objection = objection or broken
    if kept.all():
        return plan, objection
    return Plan(plan.seated[kept], plan.quality[kept], kept[kept], plan.evaluations), objection


def _reason(batch: Batch, plan: Plan, objection: str) -> str:
    """Return why players stay without a match although there are enough of them."""
    least = int(batch.seats_min.sum())
    if batch.players < least:
        are = "player is" if batch.players == 1 else "players are"
        return f"{batch.players} {are} fewer than the {least} of a match"
    missing = batch.matches_most - len(plan.seated)
    if missing <= 0:
        return ""
    why = f" ({objection})" if objection else ""
    if not len(plan.seated):
        return f"no match is possible with these parties under these rules, or none was found{why}"
    more = "one more match is" if missing == 1 else f"{missing} more matches are"
    return f"{more} not possible with these parties under these rules, or not found{why}"
