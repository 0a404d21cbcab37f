"""`evenmatch.solve`: matches for a batch, their quality, and its distance from the optimum."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evenmatch.errors import ConfigError, NotSupported
from evenmatch.lab.solve.arrays import FileBatch
from evenmatch.lab.solve.factors import BatchFactor, figures_of, without
from evenmatch.lab.solve.json_batch import RuledBatch, batch_of_tickets, read_batch
from evenmatch.lab.solve.search import SolveBudget, parse_method, parse_objective
from evenmatch.lab.solve.solution import POINTS, Settings, Solution, cost_of, solve_batch
from evenmatch.solvers.kernel import compiling, on_compile
from evenmatch.solvers.teams.batch import Places

if not on_compile:
    # From Python, nothing else would explain why the first batch takes a minute.
    on_compile.append(lambda: print(compiling(), file=sys.stderr, flush=True))

BUDGET_MS, BUDGET_MS_MAX = 1_000, 86_400_000
EFFORT_MAX = 10**12
PARTS_MAX = 64
BOUND_SECONDS, BOUND_SECONDS_MAX = 30, 86_400
SEED_MAX = 2**62


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
    rules: str | Path | None = None,
    waited: float | None = None,
) -> Solution:
    """Divide a batch of waiting parties into matches of teams.

    Args:
        batch: A file, `.npz` or `.json`, or the object of such a `.json`: `format` or
            `rules_file`; `criteria`, `rules`, `tickets`, `waited` and `pairs`.
        policy: `anneal`, or `descent` with `escape=restarts|forced` and
            `start=skill|party|region|random`.
        budget_ms: Milliseconds to search; None means 1,000 unless `effort` is given.
        effort: Evaluations to search for instead: the same result on every machine.
        parts: Independent searches, each on a thread of its own; the best one counts.
        seed: Of all randomness.
        objective: `mean`, `sqrt`, `power:P`, `rms`, or `median` or `p10`, which choose among
            restarts.
        bound: Whether to prove an upper bound on how good the matches can be.
        bound_seconds: Seconds that the proof may take.
        explain: Whether to report the figures of each factor, and how the others gain without it.
        rules: A FlexMatch rule set or a PlayFab queue that matches must obey, in place of a
            `format`; `rules` of the batch hold beside it.
        waited: Seconds that all tickets have waited, for rules that widen.

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
    ruled = RuledBatch(None if rules is None else Path(rules), waited)
    solution = solve_batch(_given(batch, ruled), settings)
    if not explain:
        return solution
    return replace(solution, explanation=explained(solution))


def settings_of(
    *, policy: str, objective: str, budget: SolveBudget, seed: int, bound_seconds: int | None
) -> Settings:
    """Return settings, checked to be in range.

    Raises:
        ConfigError: A setting is out of range.
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


def budget_of(budget_ms: int | None, effort: int | None, parts: int) -> SolveBudget:
    """Return how long to search.

    Raises:
        ConfigError: Both are given, or a number is out of range.
    """
    _check_range("parts", parts, 1, PARTS_MAX)
    if effort is not None:
        if budget_ms is not None:
            raise ConfigError("give a budget of milliseconds or an effort, not both")
        _check_range("effort", effort, 1, EFFORT_MAX)
        return SolveBudget(evaluations=effort, parts=parts)
    chosen = BUDGET_MS if budget_ms is None else budget_ms
    _check_range("budget_ms", chosen, 0, BUDGET_MS_MAX)
    return SolveBudget(chosen / 1000.0, parts=parts)


def _check_range(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high or value != int(value):
        raise ConfigError(f"{what} must be a whole number from {low:,} to {high:,}, got {value}")


def _given(batch: str | Path | Mapping[str, Any], ruled: RuledBatch) -> FileBatch:
    if isinstance(batch, str | Path):
        return read_batch(Path(batch), ruled)
    if isinstance(batch, Mapping):
        return batch_of_tickets(ruled.told(batch))
    raise ConfigError(f"a batch is a file or a mapping, got {type(batch).__name__}")


# The figures of each factor in the matches of a batch, and the gain of the others without it.


def explained(
    solution: Solution, on_done: Callable[[], None] = lambda: None
) -> dict[str, dict[str, Any]]:
    """Return each factor's figures, in points, and the change of others' means without it.

    The batch is solved again without each factor, with the same budget and seed. If there is only
    one factor, or no match, nothing can be left out, and `without` is empty.

    Args:
        solution: Matches that were found.
        on_done: Called after each factor.
    """
    figures = figures_of(solution.factors, solution.plan.seating, cost_of)
    before = _means(solution.factors, solution.plan.seating)
    told: dict[str, dict[str, Any]] = {}
    for factor, own in zip(solution.factors, figures, strict=False):
        after = _means_without(solution, factor.name)
        told[solution.named(factor.name)] = {
            "weight": own.weight,
            "mean": own.mean,
            "spread": own.spread,
            "zeros": own.zeros,
            "share": own.share,
            "without": {solution.named(name): after[name] - before[name] for name in after},
        }
        on_done()
    return told


def _means_without(solution: Solution, name: str) -> dict[str, float]:
    """Return the mean of each factor in matches that are made without one of them."""
    factors, given = solution.factors, solution.given
    if len(factors) < 2:
        return {}
    bare = given._replace(batch=without(given.batch, factors, name))
    return _means(
        factors, solve_batch(bare, solution.settings._replace(bound_seconds=None)).plan.seating
    )


def _means(factors: Sequence[BatchFactor], seating: Places) -> dict[str, float]:
    if not len(seating):
        return {}
    return {f.name: POINTS * float(1.0 - cost_of(f.alone, seating).mean()) for f in factors}
