"""One run of a policy on given players, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.base import Policy
from evenmatch.sim import compiled
from evenmatch.sim.compilable import why_not
from evenmatch.sim.stream import Arrival

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Played:
    """What came of a run.

    Args:
        tickets: Indices of the arrivals of each match, shape (matches, k); -1 for a bot.
        at: When each match was made, seconds.
        bots: Of each match.
        costs: Of each match.
        criteria: The part of each match's cost that is not waiting.
    """

    tickets: Ints
    at: Floats
    bots: Ints
    costs: Floats
    criteria: Floats


def arrivals_of(queue: Queue, times: Floats, values: Floats) -> list[Arrival]:
    """Return single players with the values of the queue's criteria.

    Args:
        queue: Its criteria name the attributes.
        times: Ascending, seconds, shape (n,).
        values: Shape (criteria, n).
    """
    names = [criterion.attribute for criterion in queue.criteria]
    rows = zip(times.tolist(), values.T.tolist(), strict=True)
    return [
        Arrival(
            at, NewTicket((Player(str(i), attributes=dict(zip(names, of_one, strict=True))),),
                          id=str(i)),
        )
        for i, (at, of_one) in enumerate(rows)
    ]  # fmt: skip


def play(queue: Queue, policy: Policy, times: Floats, values: Floats, *, seed: int = 0) -> Played:
    """Run a policy on one sequence, in compiled code where it has compiled steps.

    Args:
        queue: Where all players wait.
        policy: What decides.
        times: Ascending, seconds, shape (n,).
        values: Of the queue's criteria, in their order, shape (criteria, n).
        seed: Of the policy's own chance.
    """
    if not why_not(queue, policy):
        found = compiled.play(queue, policy, times, values)
        return Played(found.tickets, found.at, found.bots, found.costs, found.criteria)
    run = simulate(
        Scenario((queue,)), arrivals=arrivals_of(queue, times, values), policy=policy, seed=seed
    )
    matches = run.history.matches
    tickets: Ints = np.full((len(matches), queue.format.k), -1, dtype=np.int64)
    for row, match in enumerate(matches):
        tickets[row, : len(match.tickets)] = [int(name) for name in match.tickets]
    at = np.asarray([match.at for match in matches]) + run.history.offset
    bots: Ints = np.asarray([match.bots for match in matches], dtype=np.int64)
    costs = np.asarray([match.cost for match in matches])
    waits = np.where(tickets < 0, 0.0, at[:, None] - times[tickets]).sum(axis=1)
    waits += bots * (queue.wait_max or 0.0)
    return Played(tickets, at, bots, costs, costs - queue.price * waits)
