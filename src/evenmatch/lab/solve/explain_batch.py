"""What each factor does in the matches of a batch, and what the others gain without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evenmatch.lab.solve.factors import BatchFactor, figures_of, without
from evenmatch.lab.solve.solution import POINTS, Solution, cost_of
from evenmatch.lab.solve.solved import solved
from evenmatch.solvers.teams.batch import Places


def explained(
    solution: Solution, on_done: Callable[[], None] = lambda: None
) -> dict[str, dict[str, Any]]:
    """Return by factor its figures, in points, and what leaving it out does to the others' means.

    The batch is solved again without each factor, with the same budget and seed. Where there is one
    factor only, or no match, nothing can be left out, and `without` is empty.

    Args:
        solution: Matches that were found.
        on_done: Called after each factor.
    """
    figures = figures_of(solution.factors, solution.plan.seated, cost_of)
    before = _means(solution.factors, solution.plan.seated)
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
    return _means(factors, solved(bare, solution.settings._replace(bound_seconds=None)).plan.seated)


def _means(factors: Sequence[BatchFactor], seated: Places) -> dict[str, float]:
    if not len(seated):
        return {}
    return {f.name: POINTS * float(1.0 - cost_of(f.alone, seated).mean()) for f in factors}
