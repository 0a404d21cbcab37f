"""Which runs can be compiled: those in which nothing but arrivals and deadlines happens.

Kernels are loaded only after this has been asked: loading them takes as long as simulating
`FEW` tickets.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from evenmatch.criteria.base import NumberGap
from evenmatch.criteria.registry import number_gap_of
from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import ArrivalClass, Arrivals, Choice, Distribution, Scenario
from evenmatch.policies.base import Policy
from evenmatch.solvers.kernel import HAS_NUMBA, is_cached

if TYPE_CHECKING:
    from evenmatch.policies.shared.step_matcher import Steps
    from evenmatch.solvers.service_orders.packs import ServicePlan
    from evenmatch.solvers.service_orders.plan import Layout

FEW = 10_000
"""Tickets that the engine simulates in the time in which kernels are loaded."""
SIDE = "side"
OF_PLAYERS = (NumberGap.WIDEST, NumberGap.PAIRS)
"""Gaps that no teams are needed for."""
SEVERAL = "several queues claim tickets in turn"


@runtime_checkable
class StepPolicy(Protocol):
    """A policy whose steps are compiled."""

    def steps(self, queue: Queue) -> Steps:
        """Return its step functions."""
        ...

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return its parameters by place."""
        ...


@runtime_checkable
class ServiceOrderPolicy(Protocol):
    """A policy that serves parties in an order, in compiled code."""

    def layout(self, queue: Queue) -> Layout:
        """Return which parties fit into a match."""
        ...

    def plan(self, queue: Queue) -> ServicePlan:
        """Return the arrays of its order."""
        ...


def has_steps_alone(queue: Queue, policy: Policy) -> bool:
    """Return whether a policy's kernels are steps of single players, and search for no teams.

    Rules, if there are any, are kept by the engine beside them.
    """
    return isinstance(policy, StepPolicy) and max(queue.format.players) == 1


def why_not(queue: Queue, policy: Policy) -> str:
    """Return why a run of this queue under this policy is not compiled; "" if it can be."""
    if not isinstance(policy, StepPolicy):
        return f"policy {queue.policy} has no compiled steps"
    if max(queue.format.players) > 1:
        return "teams of several players are divided by the engine"
    if not Rules(queue).are_none:
        return "rules, sides and roles are kept by the engine"
    if queue.format.is_variable:
        return "matches of fewer players are started by the engine"
    if queue.handicap is not None:
        return "handicaps are stated by the engine"
    if queue.accept is not None:
        return "ready-checks are kept by the engine"
    if queue.commit_jitter:
        return "newcomers are held back by the engine"
    if any(number_gap_of(criterion) not in OF_PLAYERS for criterion in queue.criteria):
        return "not all criteria are spreads of numbers"
    if any(criterion.scale.kind == "percentile" for criterion in queue.criteria):
        return "percentiles are taken by the engine"
    return ""


def why_no_parties(queue: Queue, policy: Policy) -> str:
    """Return why a run of parties in an order is not compiled; "" if it can be."""
    if not isinstance(policy, ServiceOrderPolicy):
        return f"policy {queue.policy} serves in no order"
    if queue.wait_max is not None or queue.accept is not None or queue.exclusive_match:
        return "deadlines, ready-checks and running matches are kept by the engine"
    if queue.format.is_variable:
        return "matches of fewer players are started by the engine"
    if queue.handicap is not None:
        return "handicaps are stated by the engine"
    if queue.commit_jitter:
        return "newcomers are held back by the engine"
    if queue.criteria:
        return "criteria are weighed by the engine"
    if queue.format.sides != queue.format.strict_sides:
        return "wishes for sides are granted by the engine"
    return ""


def _is_ready(module: str, kernel: str) -> bool:
    """Return whether a compiled loop is at hand without waiting for numba or its compiler."""
    if f"evenmatch.solvers.{module}" in sys.modules:
        return True
    return "numba" in sys.modules and is_cached(module, kernel)


def are_ordered(policies: Sequence[Policy]) -> bool:
    """Return whether all policies serve parties in an order."""
    return all(isinstance(policy, ServiceOrderPolicy) for policy in policies)


def why_engine(world: Scenario, queues: Sequence[Queue], policies: Sequence[Policy]) -> str:
    """Return why a scenario is simulated by the engine; "" if by a compiled run.

    Args:
        world: The scenario.
        queues: Its queues, under the policies.
        policies: One for each queue.
    """
    arrivals = world.arrivals
    if reason := _why_always(world, queues):
        return reason
    if arrivals is None or arrivals.process == "file":
        return "arrivals are recorded"
    if arrivals.process == "world":
        return "parties come from all over the world"
    if arrivals.patience is not None:
        return "tickets have patience"
    if are_ordered(policies):
        reason = _why_other_parties(arrivals, queues)
        for queue, policy in zip(queues, policies, strict=True):
            reason = reason or why_no_parties(queue, policy)
        is_ready = _is_ready("service_orders.arrivals", "play_parties")
    else:
        reason = "" if len(queues) == 1 else SEVERAL
        reason = reason or _why_other_tickets(arrivals, queues[0])
        reason = reason or why_not(queues[0], policies[0])
        is_ready = _is_ready("steps.play", "play")
    if reason:
        return reason
    count = arrivals.count if arrivals.count is not None else FEW
    return "few tickets" if count < FEW and not is_ready else ""


def why_engine_of_recording(
    world: Scenario, queues: Sequence[Queue], policies: Sequence[Policy]
) -> str:
    """Return why a recording is simulated by the engine; "" if a compiled run may do it.

    Its rows say the rest: see `run.read_recording`.
    """
    if reason := _why_always(world, queues):
        return reason
    if len(queues) > 1:
        return SEVERAL
    if queues[0].exclusive_match:
        return "running matches are kept by the engine"
    if any(criterion.attribute == "" for criterion in queues[0].criteria):
        return "not all criteria are spreads of numbers"
    return why_not(queues[0], policies[0])


def is_worth_loading(tickets: int) -> bool:
    """Return whether a run has so many tickets that loading compiled kernels pays."""
    return tickets >= FEW or _is_ready("steps.play", "play")


def _why_always(world: Scenario, queues: Sequence[Queue]) -> str:
    """Return why the engine simulates a scenario whatever arrives; "" if nothing speaks for it."""
    if not HAS_NUMBA:
        return "numba is not installed"
    if world.outcomes is not None or any(queue.rating is not None for queue in queues):
        return "outcomes change ratings"
    if world.until is not None:
        return "the run ends before its tickets do"
    return ""


def _why_other_tickets(arrivals: Arrivals, queue: Queue) -> str:
    """Return why arrivals are no single players with drawn numbers; "" if they are."""
    if arrivals.classes:
        return "tickets of several kinds"
    drawn = arrivals.attributes
    for criterion in queue.criteria:
        kind = drawn[criterion.attribute].kind if criterion.attribute in drawn else "none"
        if kind not in ("uniform", "normal", "exponential"):
            return f"attribute {criterion.attribute} is not drawn from a continuous distribution"
    return ""


def _why_other_parties(arrivals: Arrivals, queues: Sequence[Queue]) -> str:
    """Return why arrivals are no parties that one queue takes as they come; "" if they are."""
    if len(queues) > 1 and any(queue.format.sides for queue in queues):
        return SEVERAL
    by_name = {queue.name: queue for queue in queues}
    for each in arrivals.classes or (ArrivalClass(),):
        names = each.queues or (queues[0].name,)
        if len(names) > 1:
            return SEVERAL
        if names[0] not in by_name or not by_name[names[0]].format.admits(each.size):
            return "the engine says which parties are refused"
        if not _is_side(each.attributes.get(SIDE, ""), queues[0]):
            return "the engine says which sides are refused"
    drawn = arrivals.attributes.get(SIDE)
    if drawn is not None and queues[0].format.sides and not _are_sides(drawn, queues[0]):
        return "the engine says which sides are refused"
    return ""


def _are_sides(distribution: Distribution, queue: Queue) -> bool:
    return isinstance(distribution, Choice) and all(
        _is_side(value, queue) for value in distribution.values
    )


def _is_side(value: object, queue: Queue) -> bool:
    return not queue.format.sides or value in ("", *queue.format.sides)
