"""What waiting longer would buy: a scenario at half, once and twice the mean wait that it wants.

Only queues whose policy keeps a mean wait (`target_wait`) can answer that; all of a scenario's are
changed by the same factor, and everything else stays, the arrivals too.
"""

from __future__ import annotations

import math
from itertools import islice

import msgspec
import numpy as np

from evenmatch.lab.simulate import checked_by, simulate, with_policy
from evenmatch.lab.study.sweep import TARGET, with_parameter
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.policies.base import Policy
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.metrics import Summary

TICKETS_MAX = 2_000
"""Arrivals that are played at the most."""


def target_of(queue: Queue, policy: Policy) -> float | None:
    """Return the mean wait that a policy keeps in a queue, seconds; None where it keeps none."""
    if not hasattr(policy, TARGET):
        return None
    own: float | None = getattr(policy, TARGET)
    return queue.target if own is None else own


def target_in(scenario: Scenario, policy: str | None = None) -> float | None:
    """Return the mean wait that the first queue with such a target keeps; None if none has one.

    Args:
        scenario: The queues.
        policy: A SPEC in place of theirs.
    """
    queues, resolve = with_policy(scenario.queues, policy)
    found = (target_of(queue, resolve(queue)) for queue in queues)
    return next((target for target in found if target is not None), None)


def at_factor(scenario: Scenario, factor: float, policy: str | None = None) -> Scenario:
    """Return a scenario whose queues keep a mean wait that is some times as long.

    Args:
        scenario: As it is.
        factor: How many times as long.
        policy: A SPEC in place of the queues' own; it is theirs afterwards.
    """
    queues, resolve = with_policy(scenario.queues, policy)
    changed = tuple([_at_factor(queue, resolve(queue), factor) for queue in queues])
    return msgspec.structs.replace(scenario, queues=changed)


def _at_factor(queue: Queue, policy: Policy, factor: float) -> Queue:
    target = target_of(queue, policy)
    if target is None:
        return queue
    if getattr(policy, TARGET) is not None:
        spec = with_parameter(queue.policy, TARGET, factor * target)
        return msgspec.structs.replace(queue, policy=spec)
    return msgspec.structs.replace(queue, target_wait=factor * target)


class Short(msgspec.Struct, frozen=True):
    """The first arrivals of a scenario, small enough to send to another process.

    Args:
        scenario: The scenario.
        tickets: How many at least.
        seconds: How long they come at least, unless they are `TICKETS_MAX` before.
    """

    scenario: Scenario
    tickets: int
    seconds: float = 0.0


def play_short(task: Short) -> Summary:
    """Return the figures of the first arrivals of a scenario, until the last of them came.

    What those who were left over waited after that would say nothing of a queue that goes on.
    """
    world, arrivals = task.scenario, task.scenario.arrivals
    assert arrivals is not None
    seeds = np.random.SeedSequence(world.seed)
    first: list[Arrival] = []
    check = checked_by(*with_policy(world.queues, None))
    coming = arrivals_of(arrivals, seeds, queues=world.queues, check=check)
    for each in islice(coming, TICKETS_MAX):
        if len(first) >= task.tickets and each.at - first[0].at >= task.seconds:
            break
        first.append(each)
    if first:
        # Times are told from the whole second of the first arrival on.
        last = first[-1].at - math.floor(first[0].at)
        until = last if world.until is None else min(last, world.until)
        world = msgspec.structs.replace(world, until=until)
    return simulate(world, arrivals=first).summary
