"""Compiled runs: arrays in, matches out, the same ones as the engine makes.

A run is compiled where its policy has steps (`policies.steps`) and nothing but arrivals and
deadlines happens: one queue of single players, each another one, who do not leave by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenmatch.cost.criteria import table
from evenmatch.cost.rules import Rules
from evenmatch.cost.scale import scale_values
from evenmatch.errors import NotSupported
from evenmatch.model.queue import Queue
from evenmatch.policies.base import Policy
from evenmatch.policies.columns import Columns
from evenmatch.policies.steps import Steps, make_pool
from evenmatch.solvers import play as kernels
from evenmatch.solvers.waiting import FREE_TOP, grow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ON_DEADLINE = {"expire": kernels.EXPIRE, "bots": kernels.BOTS, "keep": kernels.KEEP}
CHUNK = 100_000
"""Arrivals between two calls of `on_done`."""


@runtime_checkable
class Stepped(Protocol):
    """A policy whose steps are compiled."""

    def steps(self, queue: Queue) -> Steps:
        """Return its step functions."""
        ...

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return its parameters by place."""
        ...


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Args:
        tickets: Shape (matches, k): numbers of arrivals by age, -1 for bots, by time of making.
        at: Instant of each match, seconds.
        bots: Bots of each match.
        criteria: Criteria cost of each match.
        costs: Whole cost of each match.
        expired_at: Instant at which each arrival expired, NaN if it did not.
    """

    tickets: Ints
    at: Floats
    bots: Ints
    criteria: Floats
    costs: Floats
    expired_at: Floats


def why_not(queue: Queue, policy: Policy) -> str:
    """Return why a run of this queue under this policy is not compiled; "" if it is."""
    if not isinstance(policy, Stepped):
        return f"policy {queue.policy} has no compiled steps"
    if max(queue.format.players) > 1:
        return "teams of several players are divided by the engine"
    if not Rules(queue).are_none:
        return "rules and sides are kept by the engine"
    if any(criterion.kind not in ("spread", "mean_gap") for criterion in queue.criteria):
        return "not all criteria are spreads of numbers"
    return ""


def play(
    queue: Queue,
    policy: Policy,
    times: Floats,
    values: Floats,
    *,
    seed: int = 0,
    on_done: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Run arrivals through a queue in compiled code.

    Args:
        queue: Single players, criteria that are spreads, no rules.
        policy: One with steps.
        times: Shape (n,): instants of arrival in seconds, ascending.
        values: Shape (criteria, n): attribute values in the order of the queue's criteria.
        seed: Not used: no policy with steps draws.
        on_done: Called with the number of arrivals played so far, at times.

    Raises:
        NotSupported: The run cannot be compiled; the sentence says why.

    Complexity:
        That of the policy's steps; memory O(n).
    """
    del seed
    if reason := why_not(queue, policy):
        raise NotSupported(f"a compiled run of queue {queue.name} is not to be had: {reason}")
    assert isinstance(policy, Stepped)
    count, seats = len(times), queue.format.k
    steps = policy.steps(queue)
    waiting = make_pool(queue, Columns(queue, queue.policy), steps, policy.numbers(queue))
    scaled = _scaled(queue, values, count)
    slots: Ints = np.zeros((waiting[0].shape[1], seats), dtype=np.int64)
    tickets: Ints = np.full((count // 2 + 1 if seats == 2 else count + 1, seats), -1, np.int64)
    if queue.on_deadline == "bots":
        tickets = np.full((count + 1, seats), -1, np.int64)
    at = np.zeros(len(tickets))
    expired_at = np.full(count, math.nan)
    state = np.zeros(kernels.STATE, dtype=np.int64)
    on_deadline = ON_DEADLINE[queue.on_deadline]
    given = np.ascontiguousarray(times, dtype=np.float64)
    while state[kernels.ROW] <= count:
        state[kernels.STOP] = min(count + 1, int(state[kernels.ROW]) + CHUNK)
        kernels.play(
            steps.kind,
            waiting,
            on_deadline,
            given,
            scaled,
            slots,
            tickets,
            at,
            expired_at,
            state,
        )
        if waiting[4][FREE_TOP] == 0:
            waiting = grow(waiting, 2 * waiting[0].shape[1])
            slots = np.zeros((waiting[0].shape[1], seats), dtype=np.int64)
        on_done(min(count, int(state[kernels.ROW])))
    made = int(state[kernels.MADE])
    return _outcome(queue, tickets[:made], at[:made], given, scaled, expired_at)


def _scaled(queue: Queue, values: Floats, count: int) -> Floats:
    """Return the values as criteria compare them, shape (criteria, arrivals)."""
    given = np.asarray(values, dtype=np.float64).reshape(len(queue.criteria), count)
    rows = [scale_values(c.scale, row) for c, row in zip(queue.criteria, given, strict=True)]
    return np.ascontiguousarray(np.array(rows, dtype=np.float64).reshape(len(rows), count))


def _outcome(
    queue: Queue, tickets: Ints, at: Floats, times: Floats, scaled: Floats, expired_at: Floats
) -> Outcome:
    """Add bots and costs to matches."""
    bots: Ints = (tickets < 0).sum(axis=1)
    weights = [
        queue.format.k / len(queue.criteria) if c.weight is None else c.weight
        for c in queue.criteria
    ]
    criteria = np.zeros(len(tickets))
    full = bots == 0
    layout = queue.format.players
    for criterion, weight, row in zip(queue.criteria, weights, scaled, strict=True):
        criteria[full] += weight * table(criterion, row[tickets[full]], layout)
        criteria[~full] += weight
    waits = np.where(tickets < 0, 0.0, at[:, None] - times[tickets]).sum(axis=1)
    waits += bots * (queue.wait_max or 0.0)
    return Outcome(tickets, at, bots, criteria, criteria + queue.price * waits, expired_at)
