"""Which runs can be compiled: those in which nothing but arrivals and deadlines happens.

Kernels are loaded only after this has been asked: loading them takes as long as simulating
`FEW` tickets.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from evenmatch.cost.rules import Rules
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.policies.base import Policy
from evenmatch.solvers.kernel import HAS_NUMBA, is_cached

if TYPE_CHECKING:
    from evenmatch.policies.steps import Steps

FEW = 10_000
"""Tickets that the engine simulates in the time in which kernels are loaded."""


@runtime_checkable
class Stepped(Protocol):
    """A policy whose steps are compiled."""

    def steps(self, queue: Queue) -> Steps:
        """Return its step functions."""
        ...

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return its parameters by place."""
        ...


def why_not(queue: Queue, policy: Policy) -> str:
    """Return why a run of this queue under this policy is not compiled; "" if it can be."""
    if not isinstance(policy, Stepped):
        return f"policy {queue.policy} has no compiled steps"
    if max(queue.format.players) > 1:
        return "teams of several players are divided by the engine"
    if not Rules(queue).are_none:
        return "rules, sides and roles are kept by the engine"
    if queue.format.is_variable:
        return "matches of fewer players are started by the engine"
    if queue.handicap is not None:
        return "handicaps are stated by the engine"
    if any(criterion.kind not in ("spread", "mean_gap") for criterion in queue.criteria):
        return "not all criteria are spreads of numbers"
    if any(criterion.scale.kind == "percentile" for criterion in queue.criteria):
        return "percentiles are taken by the engine"
    return ""


def _is_ready() -> bool:
    """Return whether the compiled loop is at hand without waiting for numba or its compiler."""
    if "evenmatch.solvers.steps.play" in sys.modules:
        return True
    return "numba" in sys.modules and is_cached("play")


def why_engine(world: Scenario, queues: tuple[Queue, ...], policy: Policy) -> str:
    """Return why a scenario is simulated by the engine; "" if by a compiled run."""
    arrivals = world.arrivals
    if not HAS_NUMBA:
        return "numba is not installed"
    if len(queues) != 1:
        return "several queues claim tickets in turn"
    if arrivals is None or arrivals.process == "file":
        return "arrivals are recorded"
    if arrivals.process == "world":
        return "parties come from all over the world"
    if arrivals.classes or arrivals.patience is not None:
        return "tickets of several kinds, or with patience"
    if world.until is not None:
        return "the run ends before its tickets do"
    drawn = arrivals.attributes
    for criterion in queues[0].criteria:
        kind = drawn[criterion.attribute].kind if criterion.attribute in drawn else "none"
        if kind not in ("uniform", "normal", "exponential"):
            return f"attribute {criterion.attribute} is not drawn from a continuous distribution"
    if reason := why_not(queues[0], policy):
        return reason
    count = arrivals.count if arrivals.count is not None else FEW
    if count < FEW and not _is_ready():
        return "few tickets"
    return ""
