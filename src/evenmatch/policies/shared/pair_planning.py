"""The cheapest way to pair the tickets of a duel's queue, those included that are to come."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from evenmatch.criteria.rules import Rules
from evenmatch.criteria.values import scaled_numbers
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.step_columns import StepColumns
from evenmatch.solvers.matching.dense import NO_DELAYS, pair_few
from evenmatch.solvers.matching.matching import Field, pair_up
from evenmatch.solvers.matching.pairs import OWNER, SIDE, TIME, UNTIL, Floats, Ints, pair_costs

DENSE_MAX = 300
"""Beyond so many tickets the pairs that matter are searched for, not all of them weighed."""
RETRY_AFTER = 1.0
"""Seconds after which so many tickets are looked at again where rules widen."""


class Entrant(msgspec.Struct, eq=False):
    """A ticket that waits or will come, and what is known about it.

    Args:
        ticket: Its `enqueued_at` may lie ahead.
        row: Its column of the arrays: arrival, deadline, side, owner, scaled values.
        number: Ascends in the order in which entrants became known.
        ready_at: By the number of an entrant known before: the instant from which the two may play.
    """

    ticket: Ticket
    row: tuple[float, ...]
    number: int
    ready_at: dict[int, float]


class Planning:
    """Turns tickets into arrays and pairs them.

    Args:
        queue: Of duels.
        policy: The policy's name for messages.
        wait_max: Seconds after which a ticket can no longer be paired; inf if never.
    """

    def __init__(self, queue: Queue, policy: str, wait_max: float) -> None:
        self._queue = queue
        self._wait_max = wait_max
        self._rules = Rules(queue)
        self._columns = StepColumns(queue, policy)
        self._terms = self._columns.table[0]
        self._gates: Floats = np.zeros(0)
        self._count = 0
        self.has_rules = bool(queue.rules)
        self.weight = float(self._terms[:, 0].sum())

    def entrant(self, ticket: Ticket) -> Entrant:
        """Return what the arrays need to know of a ticket."""
        self._count += 1
        at = ticket.enqueued_at
        side = self._columns.side(ticket)
        values = [scaled_numbers(c, self._queue.name, ticket)[0] for c in self._queue.criteria]
        return Entrant(ticket, (at, at + self._wait_max, side, 0.0, *values), self._count, {})

    def ready_at(self, one: Entrant, two: Entrant) -> float:
        """Return the instant from which two tickets may play; inf if never."""
        if not self.has_rules:
            return max(one.ticket.enqueued_at, two.ticket.enqueued_at)
        if one.number > two.number:
            one, two = two, one
        at = two.ready_at.get(one.number)
        if at is None:
            at = two.ready_at[one.number] = self._rules.pair_ready_at(one.ticket, two.ticket)
        return at

    def times(self, entrants: Sequence[Entrant], now: float) -> tuple[Floats, Floats]:
        """Return from and until which instant each can be paired, in seconds from now."""
        rows = np.array([entrant.row[:2] for entrant in entrants])
        return np.maximum(rows[:, 0] - now, 0.0), rows[:, 1] - now

    def best_pairs(
        self, entrants: Sequence[Entrant], alone: Floats, now: float
    ) -> tuple[list[tuple[Entrant, Entrant]], float]:
        """Return the pairs of the cheapest matching, and when another pair may become better.

        Args:
            entrants: By ascending arrival.
            alone: Cost of leaving each unpaired, shape (n,).
            now: Waits before it are spent and count for nothing.

        Returns:
            The pairs, and the first instant after `now` at which a rule lets two of the others
            play who would gain by it; inf if there is none.

        Complexity:
            See `solvers.matching.dense.pair_few`, and `matching.pair_up` beyond `DENSE_MAX`.
        """
        field = self._field(entrants, now)
        if len(entrants) <= DENSE_MAX:
            ready = self._ready_table(entrants, now)
            mates = pair_few(field, alone, ready)
            retry_at = now + _next_ready(field, alone, ready, mates)
        else:
            mates, retry_at = pair_up([field], alone).mates, math.inf
            if self.has_rules:
                retry_at = now + RETRY_AFTER
        pairs = [
            (entrants[one], entrants[two]) for one, two in enumerate(mates.tolist()) if two > one
        ]
        return pairs, retry_at

    def costs(self, entrant: Entrant, others: Sequence[tuple[float, ...]]) -> Floats:
        """Return what the criteria of pairing a ticket with others cost; inf if sides forbid it.

        Args:
            entrant: The ticket.
            others: Rows without their two times.
        """
        points: Floats = np.zeros((len(entrant.row), len(others) + 1))
        points[SIDE:] = np.array([entrant.row[SIDE:], *others]).T
        points[OWNER] = np.arange(len(others) + 1)
        two: Ints = np.arange(1, len(others) + 1)
        return pair_costs(points, self._terms, self._gates, 0.0, np.zeros_like(two), two)

    def _field(self, entrants: Sequence[Entrant], now: float) -> Field:
        points: Floats = np.ascontiguousarray(np.array([e.row for e in entrants]).T)
        points[TIME], points[UNTIL] = self.times(entrants, now)
        # A player who is announced while an earlier ticket of theirs waits cannot play themselves.
        owners: dict[str, float] = {}
        points[OWNER] = [
            owners.setdefault(e.ticket.players[0].id, float(i)) for i, e in enumerate(entrants)
        ]
        price = self._queue.price

        def refine(one: Ints, two: Ints, costs: Floats) -> Floats:
            found = costs.copy()
            for place in np.flatnonzero(np.isfinite(costs)).tolist():
                i, j = int(one[place]), int(two[place])
                ready = self.ready_at(entrants[i], entrants[j]) - now
                delay = max(0.0, ready - max(points[TIME, i], points[TIME, j]))
                late = ready > min(points[UNTIL, i], points[UNTIL, j])
                found[place] = math.inf if late else costs[place] + 2.0 * price * delay
            return found

        ids: Ints = np.arange(len(entrants))
        found = refine if self.has_rules else None
        return Field(points, self._terms, self._gates, price, ids, found)

    def _ready_table(self, entrants: Sequence[Entrant], now: float) -> Floats:
        """Return the instant from which each pair may play, in seconds from now."""
        if not self.has_rules:
            return NO_DELAYS
        count = len(entrants)
        table: Floats = np.full((count, count), math.inf)
        for i in range(count):
            for j in range(i + 1, count):
                table[i, j] = self.ready_at(entrants[i], entrants[j]) - now
        return table


def _next_ready(field: Field, alone: Floats, ready: Floats, mates: Ints) -> float:
    """Return in how many seconds a rule first lets two unpaired points play who gain by it."""
    if not ready.shape[0]:
        return math.inf
    starts, untils = field.points[TIME], field.points[UNTIL]
    one, two = np.nonzero(np.isfinite(ready) & (mates < 0)[:, None] & (mates < 0)[None, :])
    at = ready[one, two]
    ahead = (at > starts[two]) & (at <= np.minimum(untils[one], untils[two]))
    one, two, at = one[ahead], two[ahead], at[ahead]
    costs = pair_costs(field.points, field.terms, field.gates, field.price, one, two)
    return float(at[costs < alone[one] + alone[two]].min(initial=math.inf))
