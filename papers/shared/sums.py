"""From measured sequences to estimates and rows."""

from __future__ import annotations

from collections.abc import Sequence

from papers.shared.measure import Estimate, Measured, ratio
from papers.shared.row import Effort

CRITERIA, TIME = "criteria cost", "time cost"
"""The two parts of a cost, as rows name them."""


def cost_per_match(measured: Sequence[Measured], policy: str) -> Estimate:
    """Return what a match costs under a policy."""
    return ratio([m.costs[policy] for m in measured], [m.matches[policy] for m in measured])


def parts_per_match(measured: Sequence[Measured], policy: str) -> dict[str, Estimate]:
    """Return the criteria cost and the time cost of a match, by their names in a row."""
    matches = [m.matches[policy] for m in measured]
    criteria = [m.criteria[policy] for m in measured]
    time = [m.costs[policy] - m.criteria[policy] for m in measured]
    return {CRITERIA: ratio(criteria, matches), TIME: ratio(time, matches)}


def cost_over_optimum(measured: Sequence[Measured], policy: str) -> Estimate:
    """Return what a policy costs, times the optimum in hindsight."""
    return ratio([m.costs[policy] for m in measured], optima(measured))


def parts_over_optimum(measured: Sequence[Measured], policy: str) -> dict[str, Estimate]:
    """Return the criteria cost and the time cost of a policy, times the optimum in hindsight."""
    best = optima(measured)
    time = [m.costs[policy] - m.criteria[policy] for m in measured]
    criteria = [m.criteria[policy] for m in measured]
    return {CRITERIA: ratio(criteria, best), TIME: ratio(time, best)}


def optima(measured: Sequence[Measured]) -> list[float]:
    """Return the optimum of each sequence."""
    found = [each.optimum for each in measured]
    assert None not in found, "the task asked for the optimum"
    return [each for each in found if each is not None]


def seeds(effort: Effort, *, quick: int, full: int) -> range:
    """Return the seeds of the sequences."""
    return range(effort.seed, effort.seed + (quick if effort.quick else full))
