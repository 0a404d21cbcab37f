"""How good a match is: criteria and waiting in one number, and quality for people.

    cost = sum_d f_d q_d(match) + wait_price * (sum of its players' waits + wait_max per bot)
    quality = 1 - sum_d f_d q_d(match) / sum_d f_d

A bot makes every q_d of its match 1. Waits never enter quality. This is Schlup's eq. (1) for
`spread` criteria with the default price 1/wait_max, and the objective of every other source with
other criteria and prices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from evenmatch.cost.criteria import SHAPES, reference
from evenmatch.cost.rules import Rules, Seats, number, numbers, side_of
from evenmatch.cost.scale import scale_gap, scale_value
from evenmatch.cost.teams import divisions
from evenmatch.model.queue import Criterion, Queue
from evenmatch.model.ticket import NewTicket, Ticket, attribute_of


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


class Objective:
    """The criteria, prices and rules of one queue, ready to be asked."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.rules = Rules(queue)
        default = queue.format.k / max(1, len(queue.criteria))
        self.weights = [default if c.weight is None else c.weight for c in queue.criteria]
        scaled = [c.scale.kind != "none" for c in queue.criteria]
        self._terms = list(zip(queue.criteria, self.weights, scaled, strict=True))
        self._scaled_weight = math.fsum(weight for _, weight, counts in self._terms if counts)
        self._quality_of_nothing = 1.0 if all(scaled) else None
        self._team_shaped = any(SHAPES[c.kind] == "team" for c in queue.criteria)
        self._by_team = self._team_shaped or self.rules.depend_on_teams
        seats = queue.format.players
        self._one_each = max(seats) == 1 and not queue.format.sides
        self._is_plain_duel = queue.format.is_duel and not queue.format.sides
        compared = [c.attribute for c in queue.criteria]
        compared += [r.attribute for r in queue.rules if r.kind != "same"]
        self._numbers = tuple(dict.fromkeys(compared))
        self._present = tuple(r.attribute for r in queue.rules if r.kind == "same")

    def missing(self, ticket: Ticket | NewTicket) -> str | None:
        """Return a sentence about an attribute that the ticket lacks, or None."""
        for player in ticket.players:
            for attribute in self._numbers:
                value = attribute_of(ticket, player, attribute)
                if type(value) is not float:
                    what = "is missing" if value is None else f"must be a number, got {value!r:.80}"
                    return f"attribute {attribute} {what}"
            for attribute in self._present:
                if attribute_of(ticket, player, attribute) is None:
                    return f"attribute {attribute} is missing"
        sides = self.queue.format.sides
        if sides and (side := side_of(ticket)) and side not in sides:
            return f"side must be one of {', '.join(sides)}, or absent, got {side}"
        return None

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
        best: Seating | None = None
        best_key = (math.inf, math.inf)
        for teams in self._divisions(tickets, bots):
            seating = self._evaluate(teams, bots)
            key = (max(seating.ready_at, now), seating.criteria_cost)
            if best is None or key < best_key:
                best, best_key = seating, key
            if not self._by_team or bots:
                break
        return best

    def cost(self, seating: Seating, bots: int, at: float) -> float:
        """Return the whole cost of a match made at the instant `at`."""
        waits = 0.0
        for team in seating.teams:
            for ticket in team:
                waits += len(ticket.players) * (at - ticket.enqueued_at)
        if bots:
            waits += bots * (self.queue.wait_max or 0.0)
        return seating.criteria_cost + self.queue.price * waits

    def _divisions(
        self, tickets: Sequence[Ticket], bots: int
    ) -> Iterator[tuple[tuple[Ticket, ...], ...]]:
        seats = self.queue.format.players
        if self._one_each:
            if len(tickets) + bots == len(seats):
                yield tuple((t,) for t in tickets) + ((),) * bots
            return
        sides = self.queue.format.sides
        wanted = (
            [sides.index(side) if (side := side_of(t)) else None for t in tickets]
            if sides
            else [None] * len(tickets)
        )
        sizes = [ticket.size for ticket in tickets]
        for division in divisions(sizes, seats, wanted, named=bool(sides), spare=bots):
            yield tuple(tuple(tickets[i] for i in team) for team in division)

    def _seat_duel(self, one: Ticket, two: Ticket) -> Seating:
        """Return the only division of a duel, by a shorter way."""
        total = scaled = 0.0
        for criterion, weight, counts in self._terms:
            scale, attribute = criterion.scale, criterion.attribute
            first = scale_value(scale, number(one, attribute))
            second = scale_value(scale, number(two, attribute))
            if criterion.step:
                cost = weight * reference(criterion, ((first,), (second,)))
            else:
                cost = weight * scale_gap(scale, abs(first - second))
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
        for criterion, weight, counts in self._terms:
            cost = weight * _criterion_cost(criterion, teams)
            total += cost
            if counts:
                scaled += cost
        return Seating(teams, total, self._quality(scaled), ready_at)

    def _quality(self, scaled: float) -> float | None:
        if self._scaled_weight:
            return 1.0 - scaled / self._scaled_weight
        return self._quality_of_nothing


def _criterion_cost(criterion: Criterion, teams: Seats) -> float:
    """Return q_d of a division, by the reference."""
    scale, attribute = criterion.scale, criterion.attribute
    values = [
        [scale_value(scale, v) for t in team for v in numbers(t, attribute)] for team in teams
    ]
    return reference(criterion, values)
