"""How good a match is: criteria and waiting in one number, and quality for people.

    cost = sum_d f_d q_d(match) + wait_price * (sum of its players' waits + wait_max per bot)
    quality = 1 - sum_d f_d q_d(match) / sum_d f_d

A bot makes every q_d of its match 1. Waits never enter quality. This is Schlup's eq. (1) for
`spread` criteria with the default price 1/wait_max, and the objective of every other source with
other criteria and prices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from evenmatch.cost.comparison import Seats
from evenmatch.cost.kinds import comparison_of
from evenmatch.cost.numeric import Numeric
from evenmatch.cost.percentile import samples_of
from evenmatch.cost.rules import Rules, side_of
from evenmatch.cost.teams import Division, Orders, division_table, divisions
from evenmatch.cost.venue import Venues
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Ticket, Value, attribute_of

COST_SLACK = 1e-12
"""Divisions whose costs differ by less are equal; the first of them is taken."""
LOOK_AGAIN = 64
"""Divisions that the table likes best and the reference looks at again, for rules on teams."""


class Seating(msgspec.Struct, frozen=True, gc=False):
    """Tickets divided into teams, and what that is worth.

    Args:
        teams: Tickets by team.
        criteria_cost: sum_d f_d q_d.
        quality: In [0, 1]; None if no criterion is scaled to [0, 1].
        ready_at: Instant from which every rule holds for every ticket.
    """

    teams: tuple[tuple[Ticket, ...], ...]
    criteria_cost: float
    quality: float | None
    ready_at: float


def weights_of(queue: Queue) -> list[float]:
    """Return the weight of each criterion: k / (number of criteria) where none is given."""
    default = queue.format.k / max(1, len(queue.criteria))
    return [default if c.weight is None else c.weight for c in queue.criteria]


class Objective:
    """The criteria, prices and rules of one queue, ready to be asked."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.rules = Rules(queue)
        self.venues = Venues(queue)
        self.weights = weights_of(queue)
        scaled = [c.scale.kind != "none" for c in queue.criteria]
        compared = [comparison_of(criterion, queue) for criterion in queue.criteria]
        self._terms = list(zip(compared, self.weights, scaled, strict=True))
        self._scaled_weight = math.fsum(weight for _, weight, counts in self._terms if counts)
        self._quality_of_nothing = 1.0 if all(scaled) else None
        self._divided = [each for each in self._terms if each[0].is_by_team]
        self._by_team = bool(self._divided) or self.rules.depend_on_teams
        self._one_each = max(queue.format.players) == 1 and not queue.format.sides
        self._is_plain_duel = queue.format.is_duel and not queue.format.sides
        compared += [comparison_of(rule, queue) for rule in queue.rules]
        checks = [(each.given.attribute, each.problem) for each in compared if each.given.attribute]
        checks += [(queue.handicap.attribute, Numeric.problem)] if queue.handicap else []
        self._checks = tuple(dict.fromkeys(checks))
        sides = ("side",) if queue.format.sides else ()
        self.samples = samples_of(queue)
        self.declared = frozenset(
            (*(attribute for attribute, _ in self._checks), *queue.attributes, *sides)
        )

    def missing(self, ticket: Ticket | NewTicket) -> str | None:
        """Return a sentence about what the ticket lacks or has wrong, or None."""
        for player in ticket.players:
            for attribute, problem in self._checks:
                if wrong := problem(attribute_of(ticket, player, attribute)):
                    return f"attribute {attribute} {wrong}"
        return _side_problem(ticket, self.queue.format.sides)

    def seat(
        self, tickets: Sequence[Ticket], bots: int = 0, now: float = math.inf
    ) -> Seating | None:
        """Divide tickets into teams by the best split under the criteria.

        Args:
            tickets: By (enqueued_at, sequence).
            bots: Seats that computer players fill.
            now: A division that is legal now is preferred to a better one that is not yet.

        Returns:
            The best division found, or None if the tickets do not fill a match.

        Complexity:
            One evaluation where no criterion compares teams; else up to `DIVISIONS_MAX`.
        """
        if self._is_plain_duel and len(tickets) == 2 and not bots:
            return self._seat_duel(tickets[0], tickets[1])
        if self._one_each:
            if len(tickets) + bots != self.queue.format.k:
                return None
            return self._evaluate(tuple((t,) for t in tickets) + ((),) * bots, bots)
        sizes = tuple(ticket.size for ticket in tickets)
        sides, seats = self.queue.format.sides, self.queue.format.players
        names = [side_of(ticket) if sides else "" for ticket in tickets]
        wanted = tuple(sides.index(name) if name else None for name in names)
        if self._by_team and not bots:
            return self._best(tickets, *division_table(sizes, seats, wanted, bool(sides)), now)
        division = next(divisions(sizes, seats, wanted, named=bool(sides), spare=bots), None)
        return None if division is None else self._evaluate(_teams(tickets, division), bots)

    def factors(self, teams: Seats, bots: int = 0) -> tuple[float, ...]:
        """Return the cost q_d of each criterion in the queue's order; waits are not in it.

        Args:
            teams: Tickets by team, `Seating.teams` or any other division.
            bots: Seats that computer players fill; with any, every criterion costs 1.
        """
        if bots:
            return (1.0,) * len(self._terms)
        return tuple([compared.cost(teams) for compared, _, _ in self._terms])

    def cost(self, seating: Seating, bots: int, at: float) -> float:
        """Return the whole cost of a match made at the instant `at`."""
        waits = 0.0
        for team in seating.teams:
            for ticket in team:
                waits += len(ticket.players) * (at - ticket.enqueued_at)
        if bots:
            waits += bots * (self.queue.wait_max or 0.0)
        return seating.criteria_cost + self.queue.price * waits

    def _best(
        self, tickets: Sequence[Ticket], found: Sequence[Division], orders: Orders, now: float
    ) -> Seating | None:
        """Return the best of many divisions: legal soonest, then cheapest, then first."""
        if not found:
            return None
        layout = self.queue.format.players
        costs = np.zeros(len(orders))
        for compared, weight, _ in self._divided:
            costs += weight * compared.cost_table(tickets, orders, layout)
        if not self.rules.depend_on_teams:
            row = int(np.argmax(costs <= costs.min() + COST_SLACK))
            return self._evaluate(_teams(tickets, found[row]), 0)
        late = np.maximum(self.rules.ready_table(tickets, orders, layout), now)
        best: tuple[float, float] | None = None
        chosen = None
        for row in np.lexsort((costs, late))[:LOOK_AGAIN].tolist():
            # The table is never late: whoever follows is legal no sooner than it says. And of
            # divisions that never become legal, one is as good as another.
            if best is not None and (late[row] > best[0] or best[0] == math.inf == late[row]):
                break
            seating = self._evaluate(_teams(tickets, found[row]), 0)
            key = (max(seating.ready_at, now), seating.criteria_cost)
            if best is None or key < best:
                best, chosen = key, seating
        return chosen

    def _seat_duel(self, one: Ticket, two: Ticket) -> Seating:
        """Return the only division of a duel, by a shorter way."""
        total = scaled = 0.0
        for compared, weight, counts in self._terms:
            cost = weight * compared.cost_of_duel(one, two)
            total += cost
            if counts:
                scaled += cost
        ready_at = self.rules.duel_ready_at(one, two)
        return Seating(((one,), (two,)), total, self._quality(scaled), ready_at)

    def _evaluate(self, teams: tuple[tuple[Ticket, ...], ...], bots: int) -> Seating:
        ready_at = self.rules.ready_at(teams)
        if bots:
            return Seating(
                teams, math.fsum(self.weights), self._quality(self._scaled_weight), ready_at
            )
        total = scaled = 0.0
        for compared, weight, counts in self._terms:
            cost = weight * compared.cost(teams)
            total += cost
            if counts:
                scaled += cost
        return Seating(teams, total, self._quality(scaled), ready_at)

    def _quality(self, scaled: float) -> float | None:
        if self._scaled_weight:
            return 1.0 - scaled / self._scaled_weight
        return self._quality_of_nothing


def _side_problem(ticket: Ticket | NewTicket, sides: tuple[str, ...]) -> str | None:
    """Return a sentence about a side that is no side of the queue, or about two in one party."""
    if not sides:
        return None
    insisted = side_of(ticket)
    for player in ticket.players:
        side = attribute_of(ticket, player, "side")
        if side is None or side == "":
            continue
        if side not in sides:
            allowed = f"one of {', '.join(sides)}, or absent"
            return f"side must be {allowed}, got {_shown(side)}"
        if side != insisted:
            return f"side must be the same for a whole party, got {insisted} and {side}"
    return None


def _shown(value: Value) -> str:
    return f"{value:.80}" if isinstance(value, str) else f"{value!r:.80}"


def _teams(tickets: Sequence[Ticket], division: Division) -> tuple[tuple[Ticket, ...], ...]:
    return tuple(tuple(tickets[party] for party in team) for team in division)
