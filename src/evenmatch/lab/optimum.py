"""The optimum in hindsight: the least that a run of duels could have cost, all arrivals known.

Two tickets may play from the later arrival on, or from when the rules let them; the pair costs its
criteria and the waits until then. A ticket left alone pays:

- with `on_deadline = "bots"`, a match with a bot: all weights, and two times `wait_max` of waiting
  (its own and the bot's) if bots come at the time-out only, once if a bot may come at once;
- with `expire`, the waiting price until its deadline; with `keep` or without a deadline, until
  the end; if it cancels or the run ends sooner, until then.

So the optimum bounds a run's `cost + cost_waiting`. A ticket in several queues takes the cheapest
match of any and pays the cheapest way of staying alone.

Source:
    Schlup, Automatic Game Matching, section 5.1: OPT, a minimum weight matching.

Differs from the paper:
    It does not say when OPT may use a bot. Both readings are here, see `Optimum`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenmatch.errors import NotSupported
from evenmatch.lab.pair_fields import QueueField, queue_field
from evenmatch.model.queue import Queue
from evenmatch.sim.stream import Arrival
from evenmatch.solvers.matching import ROUNDS_MAX, pair_up
from evenmatch.solvers.pairs import Floats, Ints

EXACT_MAX = 20_000
"""Tickets up to which the optimum is proved unless the caller says otherwise."""
GAP_MAX = 0.001
"""Beyond, a cost this fraction above its lower bound is good enough."""


@dataclass(frozen=True)
class Optimum:
    """The cheapest way to pair the arrivals.

    Args:
        cost: What it costs in all, tickets left alone included.
        bound: Nothing costs less; equal to `cost` but for rounding if `is_optimal`.
        is_optimal: Whether the cost is proved to be the least.
        pairs: (earlier index, later index, time of the match in seconds), by time.
        alone: Indices of the tickets left alone, ascending.
        rounds: Searches for pairs that the graph had overlooked.
    """

    cost: float
    bound: float
    is_optimal: bool
    pairs: tuple[tuple[int, int, float], ...]
    alone: tuple[int, ...]
    rounds: int


def optimum(
    queues: Sequence[Queue],
    arrivals: Sequence[Arrival],
    *,
    end: float | None = None,
    bots_at_once: bool = False,
    rounds_max: int = ROUNDS_MAX,
    gap_max: float | None = None,
) -> Optimum:
    """Return the cheapest matches of all arrivals, known in advance.

    Args:
        queues: Duels of single players; solved jointly.
        arrivals: By ascending time; each is one ticket that was accepted.
        end: End of the run in seconds; None means the last arrival where tickets have no deadline.
        bots_at_once: Whether a bot may play with a ticket as soon as it arrives.
        rounds_max: Searches for pairs that the graph overlooked; fewer give two-sided bounds.
        gap_max: A cost within this fraction above the bound will do; None asks for a proof up to
            `EXACT_MAX` tickets, and for `GAP_MAX` beyond.

    Raises:
        NotSupported: A queue or a ticket is no duel of single players, or a queue compares
            rematches, which follow from the matches made before.

    Complexity:
        See `solvers.matching.pair_up`.
    """
    _check(queues, arrivals)
    last = arrivals[-1].at if arrivals else 0.0
    fields = [queue_field(queues, place, arrivals, end) for place in range(len(queues))]
    alone = _alone(queues, arrivals, last if end is None else end, end, bots_at_once)
    if gap_max is None:
        gap_max = 0.0 if len(arrivals) <= EXACT_MAX else GAP_MAX
    found = pair_up([each.field for each in fields], alone, rounds_max=rounds_max, gap_max=gap_max)
    one = np.flatnonzero(found.mates > np.arange(len(arrivals)))
    costs, instants = _best_of(fields, one, found.mates[one])
    left = np.flatnonzero(found.mates < 0)
    cost = math.fsum(costs.tolist()) + math.fsum(alone[left].tolist())
    pairs = zip(one.tolist(), found.mates[one].tolist(), instants.tolist(), strict=True)
    return Optimum(
        cost=cost,
        bound=min(cost, found.bound),
        is_optimal=found.is_optimal,
        pairs=tuple(sorted(pairs, key=lambda pair: (pair[2], pair[0]))),
        alone=tuple(left.tolist()),
        rounds=found.rounds,
    )


def optimum_figures(
    queues: Sequence[Queue],
    arrivals: Sequence[Arrival],
    cost: float,
    *,
    end: float | None = None,
    rounds_max: int = ROUNDS_MAX,
) -> dict[str, float | None]:
    """Return the figures that `--optimum` adds to a summary.

    Args:
        queues: As simulated.
        arrivals: The tickets of the run.
        cost: What the run cost: `cost + cost_waiting`.
        end: End of the run in seconds.
        rounds_max: See `optimum`.

    Returns:
        `optimum_cost`, `ratio` and `optimum_cost_immediate` (bots allowed at once); or, where
        the rounds did not suffice for a proof, `bound_cost` and `gap` (cost / bound - 1).
    """
    best = optimum(queues, arrivals, end=end, rounds_max=rounds_max)
    if not best.is_optimal:
        gap = cost / best.bound - 1.0 if best.bound > 0.0 else None
        return {"bound_cost": best.bound, "gap": gap}
    immediate = best.cost
    if any(queue.on_deadline == "bots" and queue.wait_max is not None for queue in queues):
        immediate = optimum(queues, arrivals, end=end, bots_at_once=True).cost
    return {
        "optimum_cost": best.cost,
        "ratio": cost / best.cost if best.cost > 0.0 else None,
        "optimum_cost_immediate": immediate,
    }


def _check(queues: Sequence[Queue], arrivals: Sequence[Arrival]) -> None:
    for queue in queues:
        if not queue.format.is_duel:
            raise NotSupported(
                f"the optimum is known for one player against one; queue {queue.name} has"
                f" {' against '.join(map(str, queue.format.players))}"
            )
        if queue.remembers:
            raise NotSupported(
                f"the optimum is known where pairs do not depend on earlier matches; queue "
                f"{queue.name} has rematch; leave it out to compare the rest"
            )
    for place, arrival in enumerate(arrivals):
        if len(arrival.ticket.players) != 1:
            raise NotSupported(
                f"the optimum is known for single players; arrival {place} is a party"
            )


def _best_of(fields: Sequence[QueueField], one: Ints, two: Ints) -> tuple[Floats, Floats]:
    """Return the cost and the instant of each pair, in the queue where it is cheapest."""
    costs: Floats = np.full(len(one), np.inf)
    instants: Floats = np.zeros(len(one))
    for field in fields:
        found, at = field.judge(one, two)
        better = found < costs
        costs[better], instants[better] = found[better], at[better]
    return costs, instants


def _alone(
    queues: Sequence[Queue],
    arrivals: Sequence[Arrival],
    last: float,
    end: float | None,
    bots_at_once: bool,
) -> Floats:
    """Return what each ticket costs if it is left alone."""
    by_name = {queue.name: queue for queue in queues}
    alone = np.zeros(len(arrivals))
    for place, arrival in enumerate(arrivals):
        names = arrival.ticket.queues or (queues[0].name,)
        own = [by_name[name] for name in names]
        alone[place] = _cost_alone(own, arrival, last, end, bots_at_once)
    return alone


def _cost_alone(
    own: Sequence[Queue], arrival: Arrival, last: float, end: float | None, bots_at_once: bool
) -> float:
    leaves = math.inf if arrival.leaves_at is None else arrival.leaves_at
    over = math.inf if end is None else end
    # Until when it waits for nothing: it expires, leaves, or the run ends.
    patience = max(
        math.inf if queue.wait_max is None or queue.on_deadline == "keep" else queue.wait_max
        for queue in own
    )
    stop = min(arrival.at + patience, leaves, over)
    idle = max(0.0, (last if math.isinf(stop) else stop) - arrival.at)
    costs = []
    is_ended_by_bots = False
    for queue in own:
        if queue.on_deadline != "bots" or queue.wait_max is None:
            continue
        deadline = arrival.at + queue.wait_max
        weights = [
            2 / len(queue.criteria) if c.weight is None else c.weight for c in queue.criteria
        ]
        bot = math.fsum(weights) + queue.price * queue.wait_max
        if bots_at_once:
            costs.append(bot)
        elif deadline < leaves and deadline <= over:
            costs.append(bot + queue.price * queue.wait_max)
        is_ended_by_bots |= deadline < leaves and deadline <= over
    if not is_ended_by_bots:
        costs.append(own[0].price * idle)
    return min(costs)
