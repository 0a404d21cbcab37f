"""`evenmatch.solve`: matches for a batch, how good they are, and how far from the best possible."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from evenmatch.errors import ConfigError, NotSupported
from evenmatch.lab.batch_file import Given, read_batch
from evenmatch.lab.factors import factors_of
from evenmatch.lab.search import (
    Budget,
    load,
    nothing_found,
    parse_method,
    parse_objective,
    search,
)
from evenmatch.lab.solution import POINTS as POINTS
from evenmatch.lab.solution import UNKNOWN, Bound, Settings
from evenmatch.lab.solution import Solution as Solution
from evenmatch.lab.solution import cost_of as cost_of
from evenmatch.solvers.batch.batch import Batch, Plan
from evenmatch.solvers.kernel import COMPILING, on_compile

if not on_compile:
    # From Python nobody else would say why the first batch takes a minute.
    on_compile.append(lambda: print(COMPILING, file=sys.stderr, flush=True))

BUDGET_MS, BUDGET_MS_MAX = 1_000, 86_400_000
EFFORT_MAX = 10**12
PARTS_MAX = 64
BOUND_SECONDS, BOUND_SECONDS_MAX = 30, 86_400
SEED_MAX = 2**62
BOUND_EFFORT_A_SECOND = 4e7
"""Numbers that the proof may look at; the clock is asked only between its rounds."""
DUEL = (1, 1)

OnProof = Callable[[float, float], None]
"""Is told the bound so far, in points, and the share of the time that is spent."""


def _silent(bound: float, share: float) -> None:
    del bound, share


def solve(
    batch: str | Path | Mapping[str, Any],
    *,
    policy: str = "anneal",
    budget_ms: int | None = None,
    effort: int | None = None,
    parts: int = 1,
    seed: int = 1,
    objective: str = "mean",
    bound: bool = False,
    bound_seconds: int = BOUND_SECONDS,
    explain: bool = False,
) -> Solution:
    """Divide a batch of waiting parties into matches of teams.

    Args:
        batch: A file, `.npz` or `.json`, or what such a `.json` holds: `format`, `criteria`,
            `rules`, `tickets` and `pairs`.
        policy: `anneal`, or `descent` with `escape=restarts|forced` and
            `start=skill|party|region|random`.
        budget_ms: Milliseconds to search; None means 1,000 unless `effort` is given.
        effort: Evaluations to search for instead: the same result on every machine.
        parts: Independent searches, each on a thread of its own; the best one counts.
        seed: Of all chance.
        objective: `mean`, `sqrt`, `power:P`, `rms`, or `median` or `p10`, which choose among
            restarts.
        bound: Whether to prove how good matches can be at the most.
        bound_seconds: Seconds that the proof may take.
        explain: Whether to tell what each factor does, and what the others gain without it.

    Returns:
        The matches; `Solution.summary` is the dict of `evenmatch solve --json`.

    Raises:
        ConfigError: The batch or a setting cannot be used.
        NotSupported: A package is missing.

    Example:
        >>> tickets = [
        ...     {"players": [{"id": name, "attributes": {"skill": skill}}]}
        ...     for name, skill in (("ada", 2100), ("bob", 1800), ("cyd", 1650), ("dan", 1500))
        ... ]
        >>> criterion = {"kind": "imbalance", "attribute": "skill", "scale": {"max": 3000}}
        >>> form = {"teams": 2, "players": 2}
        >>> found = solve({"format": form, "criteria": [criterion], "tickets": tickets}, effort=100)
        >>> sorted(map(sorted, found.matches[0]["ids"]))
        [['ada', 'dan'], ['bob', 'cyd']]
    """
    settings = settings_of(
        policy=policy,
        objective=objective,
        budget=budget_of(budget_ms, effort, parts),
        seed=seed,
        bound_seconds=bound_seconds if bound else None,
    )
    found = solved(_given(batch), settings)
    if not explain:
        return found
    from evenmatch.lab.explain_batch import explained

    return replace(found, explanation=explained(found))


def settings_of(
    *, policy: str, objective: str, budget: Budget, seed: int, bound_seconds: int | None
) -> Settings:
    """Return settings that are known to be in range.

    Raises:
        ConfigError: One is not.
        NotSupported: They need a package that is missing.
    """
    if find_spec("numba") is None:
        raise NotSupported("solve needs more packages: pip install 'evenmatch[solve]'")
    if bound_seconds is not None and find_spec("highspy") is None:
        raise NotSupported("a bound needs more packages: pip install 'evenmatch[solve]'")
    _check_range("seed", seed, 0, SEED_MAX)
    if bound_seconds is not None:
        _check_range("bound_seconds", bound_seconds, 1, BOUND_SECONDS_MAX)
    seconds = None if bound_seconds is None else float(bound_seconds)
    return Settings(parse_method(policy), parse_objective(objective), budget, seed, seconds)


def budget_of(budget_ms: int | None, effort: int | None, parts: int) -> Budget:
    """Return how long to search.

    Raises:
        ConfigError: Both are given, or a number is out of range.
    """
    _check_range("parts", parts, 1, PARTS_MAX)
    if effort is not None:
        if budget_ms is not None:
            raise ConfigError("give a budget of milliseconds or an effort, not both")
        _check_range("effort", effort, 1, EFFORT_MAX)
        return Budget(evaluations=effort, parts=parts)
    chosen = BUDGET_MS if budget_ms is None else budget_ms
    _check_range("budget_ms", chosen, 0, BUDGET_MS_MAX)
    return Budget(chosen / 1000.0, parts=parts)


def _check_range(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high or value != int(value):
        raise ConfigError(f"{what} must be a whole number from {low:,} to {high:,}, got {value}")


def _given(batch: str | Path | Mapping[str, Any]) -> Given:
    if isinstance(batch, str | Path):
        return read_batch(Path(batch))
    if isinstance(batch, Mapping):
        from evenmatch.lab.batch_json import batch_of_tickets

        return batch_of_tickets(batch)
    raise ConfigError(f"a batch is a file or a mapping, got {type(batch).__name__}")


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
        for row in np.flatnonzero(kept).tolist():
            broken = given.people.objection(told[row])
            kept[row] = not broken
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
