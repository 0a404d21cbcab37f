"""A long recording in pieces: each piece run alone, and shown next to its own optimum.

In a queue without deadline a run of a piece may end with tickets that still wait. They are paired
at the last arrival by minimum cost, so that every policy pays for everybody; of an odd number one
is left out, and the optimum leaves one out too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from evenmatch.lab.pair_fields import queue_field
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.policies.base import Policy
from evenmatch.sim.history import WAITING
from evenmatch.sim.stream import Arrival
from evenmatch.solvers.matching import pair_up
from evenmatch.solvers.pairs import FIRST_VALUE, TIME


class Piece(msgspec.Struct, frozen=True):
    """One piece of a recording.

    Args:
        tickets: How many were accepted; a player who waits already is not taken again.
        cost: What the policy's matches cost, those of the last arrival included.
        optimum: The least that the same tickets could have cost.
        left: Tickets that were paired at the last arrival.
    """

    tickets: int
    cost: float
    optimum: float
    left: int

    @property
    def ratio(self) -> float:
        """Return cost / optimum."""
        return self.cost / self.optimum if self.optimum > 0.0 else math.nan


def pieces(
    queue: Queue, arrivals: Sequence[Arrival], policy: str | Policy, length: int
) -> list[Piece]:
    """Run consecutive pieces of a recording, each from an empty queue; the rest is left out.

    Args:
        queue: One against one, without deadline.
        arrivals: By ascending time.
        policy: A SPEC or a policy.
        length: Arrivals in each piece.

    Complexity:
        That of the runs and of `optimum` for each piece.
    """
    starts = range(0, len(arrivals) - length + 1, length)
    return [_piece(queue, arrivals[start : start + length], policy) for start in starts]


def _piece(queue: Queue, arrivals: Sequence[Arrival], policy: str | Policy) -> Piece:
    first = math.floor(arrivals[0].at)
    last = arrivals[-1].at - first
    world = Scenario((queue,), until=last)
    # Under its row's number, so that the run's tickets are found again.
    named = [
        Arrival(each.at, msgspec.structs.replace(each.ticket, id=str(row)))
        for row, each in enumerate(arrivals)
    ]
    history = simulate(world, arrivals=named, policy=policy).history
    accepted = [
        Arrival(at, named[int(row)].ticket)
        for row, at in zip(history.ids, history.enqueued_at, strict=True)
    ]
    left = [place for place, state in enumerate(history.states) if state == WAITING]
    cost = math.fsum(match.cost for match in history.matches)
    at_last, alone = _pair_up(queue, [Arrival(last, accepted[place].ticket) for place in left])
    paired = [place for number, place in enumerate(left) if number not in alone]
    cost += at_last + queue.price * math.fsum(last - history.enqueued_at[place] for place in paired)
    return Piece(len(accepted), cost, _pair_up(queue, accepted)[0], len(left))


def _pair_up(queue: Queue, arrivals: Sequence[Arrival]) -> tuple[float, list[int]]:
    """Return the least cost of pairing everybody but, of an odd number, one; and who is alone."""
    if len(arrivals) < 2:
        return 0.0, list(range(len(arrivals)))
    found = queue_field((queue,), 0, arrivals, None)
    # Being left alone costs more than any pair, so that at most one is.
    points = found.field.points
    widest = [float(np.ptp(points[row])) for row in range(FIRST_VALUE, points.shape[0])]
    terms = found.field.terms[:, 0].tolist()
    most = math.fsum(weight * gap for weight, gap in zip(terms, widest, strict=False))
    most += queue.price * float(np.ptp(points[TIME]))
    mates = pair_up([found.field], np.full(len(arrivals), 1.0 + most)).mates
    one = np.flatnonzero(mates > np.arange(len(arrivals)))
    costs, _ = found.judge(one, mates[one])
    return math.fsum(costs.tolist()), np.flatnonzero(mates < 0).tolist()
