"""Party parity: how differently the teams of a match are made up of parties.

Source:
    Galactron, premades: equal party sizes 100 %, slightly and very different ones 60 and 0 %. For
    teams of n, the polynomial through these three points is used for any n.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, zip_longest

import numpy as np

from evenmatch.criteria.base import Comparison, Form, Gap, Keys, Limit, RolesByTeam, Seats
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.team_packing import Orders
from evenmatch.model.queue import Criterion, Format, Queue, Rule
from evenmatch.model.ticket import Ticket

STRAIGHT, SQUARE = 0.6, 0.4
"""Coefficients of the difference, and of its square, in the cost."""


def difference(shapes: Sequence[Sequence[int]]) -> float:
    """Return x, the largest difference between two teams, in [0, 1].

    Args:
        shapes: Party sizes by team, in any order.

    >>> difference([[1, 1, 1], [2, 1]]), difference([[3], [1, 1, 1]])
    (0.5, 1.0)
    """
    seats = max(map(sum, shapes))
    ordered = [sorted(shape, reverse=True) for shape in shapes]
    largest = max(
        (
            sum(abs(a - b) for a, b in zip_longest(one, two, fillvalue=0))
            for one, two in combinations(ordered, 2)
        ),
        default=0,
    )
    return min(1.0, largest / 2 / max(1, seats - 1))


def cost_of_difference(x: float) -> float:
    """Return the cost of a difference; both in [0, 1]."""
    return STRAIGHT * x + SQUARE * x * x


class PartyParity(Comparison):
    """The difference of the teams' sorted party sizes."""

    criterion_keys = Keys(("weight",))
    rule_keys = Keys(("limit", "expand", "accept"))
    attribute = ""
    limit = Limit("the largest difference of the teams' party sizes, from 0 to 1")
    form = Form.PARTIES
    gap_most = 1.0
    compared = "the difference in party sizes between its teams"
    raw = (Gap("teams of the same party sizes", "%", 1),)

    def __init__(self, definition: Criterion | Rule, queue: Queue) -> None:
        super().__init__(definition, queue)
        self.is_by_team = not queue.format.solo_only and len(queue.format.players) > 1

    @classmethod
    def is_told_of(cls, form: Format) -> bool:
        """Return whether teams may differ in their parties."""
        return not form.solo_only and len(form.players) > 1

    def cost(self, teams: Seats) -> float:
        """Return .6 x + .4 x^2."""
        return cost_of_difference(self.gap(teams))

    def cost_table(
        self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]
    ) -> Floats:
        """Return `cost` of many divisions."""
        x = self.gap_table(tickets, orders, layout)
        return STRAIGHT * x + SQUARE * x * x

    def raw_gaps(self, teams: Seats, roles: RolesByTeam = None) -> tuple[float, ...]:
        """Return 1 if all teams are made up of parties of the same sizes, else 0."""
        del roles
        shapes = {tuple(sorted([ticket.size for ticket in team])) for team in teams if team}
        return (float(len(shapes) == 1),)

    def gap(self, teams: Seats) -> float:
        """Return x; a team without people counts as one without parties, unless it may be empty."""
        may_be_empty = self.queue.format.is_variable
        return difference([[t.size for t in team] for team in teams if team or not may_be_empty])

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions."""
        # A party counts with its size at its first player and with 0 at the others, which sort
        # after all parties: so every team has its party sizes in as many columns as seats.
        sizes = np.array([s for t in tickets for s in (t.size, *([0] * (t.size - 1)))], dtype=float)
        layout = [seats for seats in layout if seats]
        widest = max(layout)
        shapes, start = [], 0
        for seats in layout:
            shape = np.zeros((len(orders), widest))
            shape[:, :seats] = -np.sort(-sizes[orders[:, start : start + seats]], axis=1)
            shapes.append(shape)
            start += seats
        largest: Floats = np.zeros(len(orders))
        for one, two in combinations(shapes, 2):
            np.maximum(largest, np.abs(one - two).sum(axis=1), out=largest)
        return np.minimum(1.0, largest / 2 / max(1, widest - 1))
