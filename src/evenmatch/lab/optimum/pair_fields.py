"""From the tickets of a duel's queue to the arrays on which pairs are matched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.expansion import widest
from evenmatch.criteria.percentile import RecentValues, placed_among, remember, samples_of
from evenmatch.criteria.registry import NUMERIC
from evenmatch.criteria.rules import Rules, side_of
from evenmatch.criteria.values import scaled_column
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.policies.shared.step_columns import is_code, term
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.solvers.matching.matching import Field
from evenmatch.solvers.matching.pairs import TIME, UNTIL, Floats, Ints, pair_costs

Bools = NDArray[np.bool_]

PERCENTILE_SLACK = 1e-9


@dataclass(frozen=True)
class QueueField:
    """A queue's tickets as arrays, and what its pairs cost."""

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


def queue_field(
    queues: Sequence[Queue], place: int, arrivals: Sequence[Arrival], end: float | None
) -> QueueField:
    """Return the arrays of one queue.

    Args:
        queues: All queues; a ticket without names enters the first.
        place: Which of them.
        arrivals: By ascending time.
        end: End of the run in seconds, None for no end.
    """
    queue = queues[place]
    is_first = place == 0
    numbers = [
        number
        for number, each in enumerate(arrivals)
        if (queue.name in each.ticket.queues if each.ticket.queues else is_first)
    ]
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
            # The rules have the last word on what a rounded difference of percentiles is.
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
    """Let the costs of pairs hold the time until the rules let them play."""
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
    if queue.wait_max is not None and queue.on_deadline != "keep":
        until = np.minimum(until, times + queue.wait_max)
    for place, each in enumerate(own):
        if each.leaves_at is not None:
            # Tickets that leave go before everything else of the same instant.
            until[place] = min(until[place], math.nextafter(each.leaves_at, -math.inf))
    return until


def _sides_and_owners(queue: Queue, own: Sequence[Arrival]) -> tuple[Floats, Floats]:
    names = [side_of(each.ticket) if queue.format.insisted else "" for each in own]
    codes = {name: float(code) for code, name in enumerate(["", *queue.format.insisted])}
    sides = np.array([codes[name] for name in names])
    return sides, codes_of([each.ticket.players[0].id for each in own])


def codes_of(values: Sequence[object]) -> Floats:
    """Return a number for each value, equal for equal values."""
    codes: dict[object, float] = {}
    keys = [value if not isinstance(value, dict) else tuple(value.items()) for value in values]
    return np.array([codes.setdefault(key, float(len(codes))) for key in keys])


def _tickets(queue: Queue, own: Sequence[Arrival]) -> tuple[Ticket, ...]:
    """Return the tickets as the engine accepts them, placed among the last values."""
    samples, recent = samples_of(queue), dict[str, RecentValues]()
    tickets = []
    for sequence, arrival in enumerate(own):
        given = arrival.ticket
        places = placed_among(given, samples, recent)
        remember(given, (queue.name,), places, recent)
        tickets.append(
            Ticket(
                given.id or str(sequence),
                sequence,
                arrival.at,
                given.players,
                given.queues,
                given.attributes,
                {key: placed.places for key, placed in places.items()},
            )
        )
    return tuple(tickets)
