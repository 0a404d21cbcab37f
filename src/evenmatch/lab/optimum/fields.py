"""Turn the tickets of a queue into the arrays on which an optimum or a bound is computed.

`queue_field` is for duels, whose pairs are matched exactly. `group_field` is for any other format,
for which a bound prices groups: the cost of a match is bounded from below by the lowest and highest
value of each ticket. `spread` is exact, and so is `imbalance` between teams of one. A mean gap of k
values costs at least 2 / k of what their spread costs: the gaps of each other player to the lowest
and to the highest add up to the spread, and no scale gets steeper further out. Other criteria count
as 0. Rules are kept if they limit such a gap, at their widest; the waits that they cause, and the
division into teams, are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.expansion import widest
from evenmatch.criteria.kinds.numeric import Numeric
from evenmatch.criteria.percentile import RecentValues, placed_among, remember, samples_of
from evenmatch.criteria.registry import NUMERIC, kind_of
from evenmatch.criteria.rules import Rules, side_of
from evenmatch.criteria.scales import scale_values
from evenmatch.criteria.values import scaled_column
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.policies.shared.step_columns import is_code, term
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.solvers.bounds.group_prices import GroupField
from evenmatch.solvers.bounds.groups import GATE
from evenmatch.solvers.matching.matching import Field
from evenmatch.solvers.matching.pairs import TIME, UNTIL, Floats, Ints, pair_costs

Bools = NDArray[np.bool_]

PERCENTILE_SLACK = 1e-9
NEVER: Mapping[int, float] = MappingProxyType({})
"""Nobody was cancelled."""


@dataclass(frozen=True)
class QueueField:
    """A queue's tickets as arrays, and the cost of pairs."""

    field: Field
    position: Ints
    rules: Rules
    tickets: tuple[Ticket, ...]

    def judge(self, one: Ints, two: Ints) -> tuple[Floats, Floats]:
        """Return the true cost of pairs of ticket numbers and when they play; inf if never."""
        costs: Floats = np.full(len(one), np.inf)
        instants: Floats = np.full(len(one), np.inf)
        first, second = self.position[one], self.position[two]
        here = np.flatnonzero((first >= 0) & (second >= 0))
        first, second = first[here], second[here]
        low, high = np.minimum(first, second), np.maximum(first, second)
        f = self.field
        found = pair_costs(f.points, f.terms, f.gates, f.price, low, high)
        later = f.points[TIME, high]
        if f.refine is not None:
            found = f.refine(one[here], two[here], found)
            delay = _delays(self, low, high, np.isfinite(found))
            later = later + delay
        costs[here], instants[here] = found, later
        return costs, instants


def _numbers_of(queues: Sequence[Queue], place: int, arrivals: Sequence[Arrival]) -> list[int]:
    """Return which arrivals enter a queue; a ticket that names no queue enters the first."""
    name, is_first = queues[place].name, place == 0
    return [
        number
        for number, each in enumerate(arrivals)
        if (name in each.ticket.queues if each.ticket.queues else is_first)
    ]


def queue_field(
    queues: Sequence[Queue], place: int, arrivals: Sequence[Arrival], end: float | None
) -> QueueField:
    """Return the arrays of one queue.

    Args:
        queues: All queues; a ticket that names none enters the first.
        place: Index of the queue.
        arrivals: By ascending time.
        end: End of the run in seconds, None for no end.
    """
    queue = queues[place]
    numbers = _numbers_of(queues, place, arrivals)
    own = [arrivals[number] for number in numbers]
    ids: Ints = np.asarray(numbers, dtype=np.int64)
    times = np.array([each.at for each in own])
    rows = [times, last_instants(queue, own, times, end), *_sides_and_owners(queue, own)]
    tickets, rules = _tickets(queue, own), Rules(queue)
    terms = []
    for criterion in queue.criteria:
        rows.append(scaled_column(criterion, queue.name, tickets))
        terms.append(term(criterion, queue))
    gates = [0.0 for rule in queue.rules if is_code(rule)]
    for rule in queue.rules:
        if is_code(rule):
            rows.append(codes_of([attribute_of(t, t.players[0], rule.attribute) for t in tickets]))
    for limit in rules.limits:
        if limit.rule.unit != "relative":
            rows.append(np.array([limit.value(ticket) for ticket in tickets]))
            # The rules decide which rounded differences of percentiles are allowed.
            slack = PERCENTILE_SLACK if limit.rule.unit == "percentile" else 0.0
            gates.append(widest(limit.rule.limit, limit.rule.expand) + slack)
    points = np.ascontiguousarray(np.vstack(rows), dtype=np.float64)
    position: Ints = np.full(len(arrivals), -1, dtype=np.int64)
    position[ids] = np.arange(len(ids))
    delays = any(
        rule.kind not in NUMERIC or rule.unit != "difference" or rule.expand is not None
        for rule in queue.rules
        if not is_code(rule)
    )
    table = np.asarray(terms, dtype=np.float64).reshape(len(terms), 5)
    plain = Field(points, table, np.asarray(gates, dtype=np.float64), queue.price, ids)
    found = QueueField(plain, position, rules, tickets)
    return _with_delays(found) if delays else found


def _with_delays(plain: QueueField) -> QueueField:
    """Add to the costs of pairs the time until the rules let them play."""
    field = plain.field

    def refine(one: Ints, two: Ints, costs: Floats) -> Floats:
        first, second = plain.position[one], plain.position[two]
        low, high = np.minimum(first, second), np.maximum(first, second)
        delay = _delays(plain, low, high, np.isfinite(costs))
        until = np.minimum(field.points[UNTIL, low], field.points[UNTIL, high])
        never = ~np.isfinite(delay)
        delay[never] = 0.0
        late = field.points[TIME, high] + delay > until
        # Both players wait.
        return np.where(late | never, np.inf, costs + 2.0 * field.price * delay)

    changed = Field(field.points, field.terms, field.gates, field.price, field.ids, refine)
    return QueueField(changed, plain.position, plain.rules, plain.tickets)


def _delays(found: QueueField, low: Ints, high: Ints, ask: Bools) -> Floats:
    """Return the seconds from the later arrival until the rules let each pair play."""
    tickets, rules = found.tickets, found.rules
    delays: Floats = np.zeros(len(low))
    for at in np.flatnonzero(ask).tolist():
        one, two = tickets[low[at]], tickets[high[at]]
        ready_at = rules.duel_ready_at(one, two)
        delays[at] = ready_at - max(one.enqueued_at, two.enqueued_at)
    return delays


def last_instants(queue: Queue, own: Sequence[Arrival], times: Floats, end: float | None) -> Floats:
    """Return the last instant at which each ticket can be matched in the queue."""
    until: Floats = np.full(len(own), math.inf if end is None else end)
    until = np.minimum(until, times + queue.ends_after)
    for place, each in enumerate(own):
        if each.leaves_at is not None:
            # Tickets that leave go before everything else of the same instant.
            until[place] = min(until[place], math.nextafter(each.leaves_at, -math.inf))
    return until


def _sides_and_owners(queue: Queue, own: Sequence[Arrival]) -> tuple[Floats, Floats]:
    names = [side_of(each.ticket) if queue.format.strict_sides else "" for each in own]
    codes = {name: float(code) for code, name in enumerate(["", *queue.format.strict_sides])}
    sides = np.array([codes[name] for name in names])
    return sides, codes_of([each.ticket.players[0].id for each in own])


def codes_of(values: Sequence[object]) -> Floats:
    """Return a number for each value, equal for equal values."""
    codes: dict[object, float] = {}
    keys = [value if not isinstance(value, dict) else tuple(value.items()) for value in values]
    return np.array([codes.setdefault(key, float(len(codes))) for key in keys])


def _tickets(queue: Queue, own: Sequence[Arrival]) -> tuple[Ticket, ...]:
    """Return the tickets as the engine accepts them, with their places among the last values."""
    samples, recent = samples_of(queue), dict[str, RecentValues]()
    tickets = []
    for sequence, arrival in enumerate(own):
        new = arrival.ticket
        places = placed_among(new, samples, recent)
        remember(new, (queue.name,), places, recent)
        tickets.append(
            Ticket(
                new.id or str(sequence),
                sequence,
                arrival.at,
                new.players,
                new.queues,
                new.attributes,
                {key: placed.places for key, placed in places.items()},
            )
        )
    return tuple(tickets)


SLACK = 1e-9
"""Relative widening of a limit on a bounded gap, against rounding."""


def group_field(
    queues: Sequence[Queue], place: int, arrivals: Sequence[Arrival], end: float | None
) -> GroupField:
    """Return the arrays of one queue.

    Args:
        queues: All queues; a ticket that names none enters the first.
        place: Index of the queue.
        arrivals: By ascending time.
        end: End of the run in seconds, None for no end.
    """
    queue = queues[place]
    numbers = _numbers_of(queues, place, arrivals)
    own = [arrivals[number] for number in numbers]
    times = np.array([each.at for each in own])
    sizes = np.array([float(len(each.ticket.players)) for each in own])
    head = [
        times,
        last_instants(queue, own, times, end),
        *_sides_and_loners(queue, own),
        sizes,
    ]
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
    """Return whether the arrays give the exact cost of every full match and allow all tickets."""
    people = [player.id for each in arrivals for player in each.ticket.players]
    is_alone = len(set(people)) == len(people) == len(arrivals)
    is_free = not (queue.rules or queue.format.sides or queue.format.roles or queue.exclusive_match)
    return is_alone and is_free and all(_part_of_spread(queue, c) == 1.0 for c in queue.criteria)


def _part_of_spread(queue: Queue, what: Criterion | Rule) -> float:
    """Return a lower bound on a comparison, as a share of the players' spread; 0 if unknown."""
    if (
        isinstance(what, Criterion)
        and what.scale.kind == "percentile"
        and not what.scale.sample.quantiles
    ):
        # Percentiles among the last values depend on the order of arrival, so there is no bound.
        return 0.0
    kind = kind_of(what)
    return kind.part_of_widest(queue.format) if issubclass(kind, Numeric) else 0.0


def _bots(queue: Queue) -> tuple[float, float] | None:
    if queue.on_deadline != "bots" or queue.wait_max is None:
        return None
    return cost_with_bots(queue), queue.wait_max


def _sides_and_loners(queue: Queue, own: Sequence[Arrival]) -> tuple[Floats, Floats]:
    """Return codes of the sides, if no two tickets may share one, and of lone players."""
    is_named = bool(queue.format.strict_sides) and max(queue.format.players) == 1
    codes = {name: float(code) for code, name in enumerate(["", *queue.format.strict_sides])}
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


# The cost of tickets that no other ticket plays with.
#
# - With `on_deadline = "bots"`, a match with bots: all weights, and `wait_max` of waiting for each
#   seat if bots come only at the deadline, for each bot if they may come at once;
# - with `expire`, the price of waiting until its deadline; with `keep` or without a deadline, until
#   the end; if it is cancelled or the run ends sooner, until then.
#
# Who declines in a ready-check, or keeps silent, is cancelled because of a match that was proposed;
# with other matches they might have played later. So they may be matched as if they had not been,
# and yet alone cost no more than the wait that they paid for.
#
# A ticket in several queues pays the cheapest of these.


def costs_alone(
    queues: Sequence[Queue],
    arrivals: Sequence[Arrival],
    *,
    end: float | None,
    first_counted: int = 0,
    bots_at_once: bool = False,
    cancelled_at: Mapping[int, float] = NEVER,
) -> Floats:
    """Return the cost of leaving each ticket alone.

    Args:
        queues: As simulated; a ticket that names none enters the first.
        arrivals: By ascending time.
        end: End of the run in seconds; None means the last arrival if tickets have no deadline.
        first_counted: Index of the first ticket that counts; earlier ones cost nothing alone.
        bots_at_once: Whether bots may play with a ticket as soon as it arrives.
        cancelled_at: When tickets were cancelled in the run, by index, for whatever reason.
    """
    by_name = {queue.name: queue for queue in queues}
    last = arrivals[-1].at if arrivals else 0.0
    alone = np.zeros(len(arrivals))
    for place, arrival in enumerate(arrivals[first_counted:], first_counted):
        names = arrival.ticket.queues or (queues[0].name,)
        own = [by_name[name] for name in names]
        over = math.inf if end is None else end
        leaves = math.inf if arrival.leaves_at is None else arrival.leaves_at
        stop = min(arrival.at + max(queue.ends_after for queue in own), leaves, over)
        idle = max(0.0, (last if math.isinf(stop) else stop) - arrival.at)
        cost = _cost_alone(own, arrival, idle, min(math.nextafter(leaves, 0.0), over), bots_at_once)
        if place in cancelled_at:
            paid = own[0].price * (cancelled_at[place] - arrival.at)
            cost = min(cost, paid * len(arrival.ticket.players))
        alone[place] = cost
    return alone


def cost_with_bots(queue: Queue) -> float:
    """Return the criteria cost of a match with bots: the sum of the weights."""
    default = queue.format.k / max(1, len(queue.criteria))
    return math.fsum(default if c.weight is None else c.weight for c in queue.criteria)


def _cost_alone(
    own: Sequence[Queue], arrival: Arrival, idle: float, until: float, bots_at_once: bool
) -> float:
    """Return the cheapest alternative; `idle` is the wait alone, `until` the last instant."""
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
