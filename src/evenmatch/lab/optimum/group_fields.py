"""From the tickets of a queue of any format to the arrays on which groups are priced.

What a match costs is bounded from below by the lowest and highest value of each ticket: `spread`
is exact, and so is `imbalance` between teams of one. A mean gap of k values costs at least 2 / k of
what their spread costs: the gaps of each other player to the lowest and to the highest add up to
the spread, and no scale is steeper further out. Other criteria count nothing. Rules are kept where
they are a limit on such a gap, at the widest they ever get; what they cost in waiting, and the
division into teams, count nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenmatch.criteria.expansion import widest
from evenmatch.criteria.kinds.numeric import Numeric
from evenmatch.criteria.registry import kind_of
from evenmatch.criteria.rules import side_of
from evenmatch.criteria.scales import scale_values
from evenmatch.lab.optimum.pair_fields import codes_of, last_instants
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import attribute_of
from evenmatch.policies.shared.step_columns import is_code, term
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.solvers.bounds.groups import GATE
from evenmatch.solvers.bounds.prices import GroupField
from evenmatch.solvers.matching.pairs import Floats, Ints

SLACK = 1e-9
"""Part by which a limit on a bounded gap is widened, against rounding."""


def group_field(
    queues: Sequence[Queue], place: int, arrivals: Sequence[Arrival], end: float | None
) -> GroupField:
    """Return the arrays of one queue.

    Args:
        queues: All queues; a ticket without names enters the first.
        place: Which of them.
        arrivals: By ascending time.
        end: End of the run in seconds, None for no end.
    """
    queue = queues[place]
    numbers = [
        number
        for number, each in enumerate(arrivals)
        if (queue.name in each.ticket.queues if each.ticket.queues else place == 0)
    ]
    own = [arrivals[number] for number in numbers]
    times = np.array([each.at for each in own])
    sizes = np.array([float(len(each.ticket.players)) for each in own])
    head = [times, last_instants(queue, own, times, end), *_sides_and_owners(queue, own), sizes]
    lows, highs, terms = [], [], []
    for criterion in queue.criteria:
        part = _part_of_spread(queue, criterion)
        if part > 0.0:
            low, high = _ends(own, criterion.attribute)
            lows.append(scale_values(criterion.scale, low))
            highs.append(scale_values(criterion.scale, high))
            weight, *shape = term(criterion, queue)
            terms.append((part * weight, *shape))
    for rule in queue.rules:
        part = _part_of_spread(queue, rule)
        if is_code(rule):
            low = high = _values_of_same(own, rule.attribute)
        elif part > 0.0 and rule.unit == "difference":
            low, high = _ends(own, rule.attribute)
        else:
            continue
        limit = 0.0 if is_code(rule) else widest(rule.limit, rule.expand) / part
        lows.append(low)
        highs.append(high)
        terms.append((0.0, GATE, limit if part == 1.0 else limit * (1.0 + SLACK), 1.0, 0.0))
    ids: Ints = np.asarray(numbers, dtype=np.int64)
    points = np.ascontiguousarray(np.vstack([*head, *lows, *highs]), dtype=np.float64)
    table = np.asarray(terms, dtype=np.float64).reshape(len(terms), 5)
    return GroupField(points, table, queue.price, queue.format.k, ids, _bots(queue))


def is_exact(queue: Queue, arrivals: Sequence[Arrival]) -> bool:
    """Return whether the arrays say what every full match costs, and all may be matched."""
    people = [player.id for each in arrivals for player in each.ticket.players]
    is_alone = len(set(people)) == len(people) == len(arrivals)
    is_free = not (queue.rules or queue.format.sides or queue.format.roles or queue.exclusive_match)
    return is_alone and is_free and all(_part_of_spread(queue, c) == 1.0 for c in queue.criteria)


def _part_of_spread(queue: Queue, what: Criterion | Rule) -> float:
    """Return which part of the players' spread a comparison is at least; 0 if unknown."""
    if (
        isinstance(what, Criterion)
        and what.scale.kind == "percentile"
        and not what.scale.sample.quantiles
    ):
        # Percentiles among the last values depend on the order of arrival: nothing is claimed.
        return 0.0
    kind = kind_of(what)
    return kind.part_of_widest(queue.format) if issubclass(kind, Numeric) else 0.0


def _bots(queue: Queue) -> tuple[float, float] | None:
    if queue.on_deadline != "bots" or queue.wait_max is None:
        return None
    return cost_with_bots(queue), queue.wait_max


def _sides_and_owners(queue: Queue, own: Sequence[Arrival]) -> tuple[Floats, Floats]:
    """Return codes of the sides, if no two tickets may share one, and of lone players."""
    is_named = bool(queue.format.insisted) and max(queue.format.players) == 1
    codes = {name: float(code) for code, name in enumerate(["", *queue.format.insisted])}
    sides = np.array([codes[side_of(each.ticket)] if is_named else 0.0 for each in own])
    parties = [each.ticket.players for each in own]
    return sides, codes_of(
        [p[0].id if len(p) == 1 else ("party", at) for at, p in enumerate(parties)]
    )


def _ends(own: Sequence[Arrival], attribute: str) -> tuple[Floats, Floats]:
    """Return the lowest and the highest value of each ticket's players."""
    values = [[attribute_of(a.ticket, p, attribute) for p in a.ticket.players] for a in own]
    low: Floats = np.array([min(each) for each in values], dtype=np.float64)  # type: ignore[type-var]
    high: Floats = np.array([max(each) for each in values], dtype=np.float64)  # type: ignore[type-var]
    return low, high


def _values_of_same(own: Sequence[Arrival], attribute: str) -> Floats:
    return codes_of([attribute_of(a.ticket, a.ticket.players[0], attribute) for a in own])


# What tickets cost that play with nobody.
#
# - With `on_deadline = "bots"`, a match with bots: all weights, and `wait_max` of waiting for each
#   seat if bots come at the time-out only, for each bot if they may come at once;
# - with `expire`, the waiting price until its deadline; with `keep` or without a deadline, until
#   the end; if it cancels or the run ends sooner, until then.
#
# A ticket in several queues pays the cheapest of their ways.


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
