"""The optimum in hindsight: the least possible cost of a run, all arrivals known.

In duels, two tickets may play from the later arrival on, or from when the rules let them; the pair
costs its criteria and the waits until then. `fields.costs_alone` gives the cost of tickets left
alone. So the optimum is a lower bound on a run's `cost + cost_waiting`. A ticket in several queues
takes the cheapest match of any, or the cheapest way of staying alone.

For other formats, for parties, for rule sets and for queues that compare rematches, only a lower
bound is known; `lab.optimum.fields` says on what.

With a warm-up, it is the least possible value of the counted figures: all tickets are there to
play, a match counts if one of its tickets does, and tickets of the warm-up left alone cost nothing.

Source:
    Schlup, Automatic Game Matching, section 5.1: OPT, a minimum weight matching.

Differs from the paper:
    It does not say when OPT may use a bot. Both readings are computed, see `Optimum`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from evenmatch.criteria.registry import NUMERIC
from evenmatch.criteria.remembered_matches import remembering_kind
from evenmatch.errors import NotSupported
from evenmatch.lab.optimum.fields import (
    NEVER,
    QueueField,
    costs_alone,
    group_field,
    is_exact,
    queue_field,
)
from evenmatch.model.queue import Queue
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.solvers.bounds.group_prices import GroupField, lower_bound
from evenmatch.solvers.bounds.regroup import improved
from evenmatch.solvers.matching.matching import ROUNDS_MAX, pair_up
from evenmatch.solvers.matching.pairs import Floats, Ints

EXACT_MAX = 20_000
"""Most tickets for which the optimum is proved by default."""
GAP_MAX = 0.001
"""With more tickets, a cost within this fraction above its lower bound is accepted."""


@dataclass(frozen=True)
class Optimum:
    """The cheapest way to pair the arrivals.

    Args:
        cost: Total cost, including tickets left alone.
        bound: Lower bound; equal to `cost` except for rounding if `is_optimal`.
        is_optimal: Whether the cost is proved to be the least.
        pairs: (earlier index, later index, time of the match in seconds), by time.
        alone: Indices of the tickets left alone, ascending.
    """

    cost: float
    bound: float
    is_optimal: bool
    pairs: tuple[tuple[int, int, float], ...]
    alone: tuple[int, ...]


def optimum(
    queues: Sequence[Queue],
    arrivals: Sequence[Arrival],
    *,
    end: float | None = None,
    first_counted: int = 0,
    bots_at_once: bool = False,
    cancelled_at: Mapping[int, float] = NEVER,
    rounds_max: int = ROUNDS_MAX,
) -> Optimum:
    """Return the cheapest matches of all arrivals, known in advance.

    Args:
        queues: Duels of single players; solved jointly.
        arrivals: By ascending time; each is one ticket that was accepted.
        end: End of the run in seconds; None means the last arrival if tickets have no deadline.
        first_counted: Index of the first ticket after the warm-up.
        bots_at_once: Whether a bot may play with a ticket as soon as it arrives.
        cancelled_at: When tickets were cancelled in the run, by index: alone they cost no more than
            their wait until then.
        rounds_max: Most searches for pairs missing in the graph; fewer give two-sided bounds.

    Raises:
        NotSupported: A queue or a ticket is not a duel of single players, or a queue compares
            rematches, which depend on earlier matches, or another quantity that is not a number.

    Complexity:
        See `solvers.matching.matching.pair_up`.
    """
    _check(queues, arrivals)
    fields = [queue_field(queues, place, arrivals, end) for place in range(len(queues))]
    alone = costs_alone(
        queues,
        arrivals,
        end=end,
        first_counted=first_counted,
        bots_at_once=bots_at_once,
        cancelled_at=cancelled_at,
    )
    gap_max = 0.0 if len(arrivals) <= EXACT_MAX else GAP_MAX
    pairing = pair_up(
        [each.field for each in fields], alone, rounds_max=rounds_max, gap_max=gap_max
    )
    one = np.flatnonzero(pairing.mates > np.arange(len(arrivals)))
    costs, instants = _best_of(fields, one, pairing.mates[one])
    left = np.flatnonzero(pairing.mates < 0)
    cost = math.fsum(costs.tolist()) + math.fsum(alone[left].tolist())
    pairs = zip(one.tolist(), pairing.mates[one].tolist(), instants.tolist(), strict=True)
    return Optimum(
        cost=cost,
        bound=min(cost, pairing.bound),
        is_optimal=pairing.is_optimal,
        pairs=tuple(sorted(pairs, key=lambda pair: (pair[2], pair[0]))),
        alone=tuple(left.tolist()),
    )


def optimum_figures(
    queues: Sequence[Queue],
    arrivals: Sequence[Arrival],
    cost: float,
    *,
    end: float | None = None,
    first_counted: int = 0,
    matches: Sequence[PlayedMatch] = (),
    cancelled_at: Mapping[int, float] = NEVER,
) -> dict[str, float | None]:
    """Return the figures that `--optimum` adds to a summary.

    Args:
        queues: As simulated.
        arrivals: The tickets of the run.
        cost: Cost of the run: `cost + cost_waiting`.
        end: End of the run in seconds.
        first_counted: Index of the first ticket after the warm-up.
        matches: Full matches of the run, from which a better plan may be found.
        cancelled_at: When tickets were cancelled in the run, by index.

    Returns:
        `optimum_cost`, `ratio` and `optimum_cost_immediate` (bots allowed at once); or, if only a
        bound is known, `bound_cost`, `gap` (cost / bound - 1) and `best_known_cost`, the cost of
        the cheapest plan found or played. For a rule set, the bound is that of the queue without
        it, which allows more.
    """
    are_ruled = any(map(_has_conditions, queues))
    queues = [*map(_without_conditions, queues)]
    for queue in queues:
        if queue.format.is_variable:
            raise NotSupported(
                f"a bound is known for full matches; queue {queue.name} starts matches of "
                f"{queue.format.k_min} to {queue.format.k} players"
            )
    if are_ruled or not _is_pairing(queues, arrivals):
        fields = [group_field(queues, place, arrivals, end) for place in range(len(queues))]
        alone = costs_alone(
            queues, arrivals, end=end, first_counted=first_counted, cancelled_at=cancelled_at
        )
        known = cost
        is_free = not (first_counted or are_ruled) and len(queues) == 1
        if is_free and is_exact(queues[0], arrivals):
            known -= saved_by_regrouping(fields[0], matches)
        return _bound_figures(lower_bound(fields, alone, known), cost, known)
    best = optimum(
        queues, arrivals, end=end, first_counted=first_counted, cancelled_at=cancelled_at
    )
    if not best.is_optimal:
        return _bound_figures(best.bound, cost, min(cost, best.cost))
    immediate = best.cost
    if any(queue.on_deadline == "bots" and queue.wait_max is not None for queue in queues):
        immediate = optimum(
            queues,
            arrivals,
            end=end,
            first_counted=first_counted,
            bots_at_once=True,
            cancelled_at=cancelled_at,
        ).cost
    return {
        "optimum_cost": best.cost,
        "ratio": cost / best.cost if best.cost > 0.0 else None,
        "optimum_cost_immediate": immediate,
    }


def _bound_figures(bound: float, cost: float, known: float) -> dict[str, float | None]:
    gap = cost / bound - 1.0 if bound > 0.0 else None
    return {"bound_cost": bound, "gap": gap, "best_known_cost": known}


def _is_pairing(queues: Sequence[Queue], arrivals: Sequence[Arrival]) -> bool:
    """Return whether the cheapest pairs are the optimum."""
    return all(
        queue.format.is_duel and not remembering_kind(queue) and not _not_numeric(queue)
        for queue in queues
    ) and all(len(arrival.ticket.players) == 1 for arrival in arrivals)


def _not_numeric(queue: Queue) -> str:
    """Return a kind of the queue's criteria that compares no numbers, or ""."""
    return next((each.kind for each in queue.criteria if each.kind not in NUMERIC), "")


def _has_conditions(queue: Queue) -> bool:
    return any(rule.condition is not None for rule in queue.rules)


def _without_conditions(queue: Queue) -> Queue:
    """Return a queue without conditions, whose optimum is a lower bound on that with them."""
    rules = tuple([rule for rule in queue.rules if rule.condition is None])
    return msgspec.structs.replace(queue, rules=rules)


def _check_conditions(queue: Queue) -> None:
    """Refuse conditions, which may cease to hold and look at whole matches."""
    if _has_conditions(queue):
        raise NotSupported(
            f"the best in hindsight is not known by a rule set, and queue {queue.name} has one; a "
            "bound is: simulate with optimum"
        )


def _check(queues: Sequence[Queue], arrivals: Sequence[Arrival]) -> None:
    for queue in queues:
        _check_conditions(queue)
        if not queue.format.is_duel:
            raise NotSupported(
                f"the optimum is known for one player against one; queue {queue.name} has"
                f" {' against '.join(map(str, queue.format.players))}"
            )
        if other := remembering_kind(queue):
            raise NotSupported(
                f"the optimum is known where pairs do not depend on earlier matches; queue "
                f"{queue.name} has {other}; leave it out to compare the rest"
            )
        if other := _not_numeric(queue):
            raise NotSupported(
                f"the optimum is known where criteria compare numbers; queue {queue.name} has "
                f"{other}; leave it out to compare the rest"
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


# A plan that is cheaper than a run: its full matches, with tickets exchanged.

PlayedMatch = tuple[float, Sequence[int]]
"""The cost of a full match, and the indices of its tickets."""


def saved_by_regrouping(field: GroupField, matches: Sequence[PlayedMatch]) -> float:
    """Return by how much a search lowers the cost of the full matches of a run.

    Tickets that played with bots or with nobody stay as they are.

    Args:
        field: The tickets, with costs that are exact; a ticket's index is its number.
        matches: Full matches of the run.
    """
    if not matches:
        return 0.0
    groups: Ints = np.array([group for _, group in matches], dtype=np.int64)
    paid = math.fsum(cost for cost, _ in matches)
    _, planned = improved(field.points, field.terms, field.price, groups)
    return max(0.0, paid - planned)
