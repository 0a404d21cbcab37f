"""What tickets cost that play with nobody.

- With `on_deadline = "bots"`, a match with bots: all weights, and `wait_max` of waiting for each
  seat if bots come at the time-out only, for each bot if they may come at once;
- with `expire`, the waiting price until its deadline; with `keep` or without a deadline, until
  the end; if it cancels or the run ends sooner, until then.

A ticket in several queues pays the cheapest of their ways.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenmatch.model.queue import Queue
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.solvers.matching.pairs import Floats


def costs_alone(
    queues: Sequence[Queue],
    arrivals: Sequence[Arrival],
    *,
    end: float | None,
    first_counted: int = 0,
    bots_at_once: bool = False,
) -> Floats:
    """Return what each ticket costs if it is left alone.

    Args:
        queues: As simulated; a ticket without names enters the first.
        arrivals: By ascending time.
        end: End of the run in seconds; None means the last arrival where tickets have no deadline.
        first_counted: Tickets before it cost nothing alone.
        bots_at_once: Whether bots may play with a ticket as soon as it arrives.
    """
    by_name = {queue.name: queue for queue in queues}
    last = arrivals[-1].at if arrivals else 0.0
    alone = np.zeros(len(arrivals))
    for place, arrival in enumerate(arrivals[first_counted:], first_counted):
        names = arrival.ticket.queues or (queues[0].name,)
        own = [by_name[name] for name in names]
        over = math.inf if end is None else end
        leaves = math.inf if arrival.leaves_at is None else arrival.leaves_at
        stop = min(arrival.at + _patience(own), leaves, over)
        idle = max(0.0, (last if math.isinf(stop) else stop) - arrival.at)
        alone[place] = _cost_alone(
            own, arrival, idle, min(math.nextafter(leaves, 0.0), over), bots_at_once
        )
    return alone


def cost_with_bots(queue: Queue) -> float:
    """Return what the criteria cost of a match with bots: the sum of their weights."""
    default = queue.format.k / max(1, len(queue.criteria))
    return math.fsum(default if c.weight is None else c.weight for c in queue.criteria)


def _patience(own: Sequence[Queue]) -> float:
    """Return the seconds after which no queue holds a ticket any more."""
    return max(
        math.inf if queue.wait_max is None or queue.on_deadline == "keep" else queue.wait_max
        for queue in own
    )


def _cost_alone(
    own: Sequence[Queue], arrival: Arrival, idle: float, until: float, bots_at_once: bool
) -> float:
    """Return the cheapest way; `idle` is how long nobody comes, `until` the last instant."""
    costs = []
    size = len(arrival.ticket.players)
    is_ended_by_bots = False
    for queue in own:
        if queue.on_deadline != "bots" or queue.wait_max is None:
            continue
        criteria_cost = cost_with_bots(queue)
        waited = queue.price * queue.wait_max
        bots = criteria_cost + (queue.format.k - size) * waited
        is_due = arrival.at + queue.wait_max <= until
        if bots_at_once:
            costs.append(bots)
        elif is_due:
            costs.append(bots + size * waited)
        # A party may break a rule by itself; then not even bots play with it.
        is_ended_by_bots |= is_due and (size == 1 or not queue.rules)
    if not is_ended_by_bots:
        costs.append(own[0].price * size * idle)
    return min(costs)
