"""Kinds whose gap is that of the worst pair of players: `avoid` and `pair_limit`.

A pair counts if it is in the relation that the rule compares (`pairs`), unless both are of one
party, whose members have chosen each other. A player who names nobody has no gap to anybody.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from evenmatch.criteria.base import Comparison, Seats
from evenmatch.criteria.relation import (
    Seat,
    are_surely,
    is_by_team,
    max_over_pairs,
    pairs_within,
    related_pairs,
)
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.team_packing import Orders
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Ticket, attribute_of


class WorstPair(Comparison):
    """The largest gap between two players in a relation."""

    pairs_allowed = ("enemies", "teammates", "all")

    def __init__(self, definition: Criterion | Rule, queue: Queue) -> None:
        super().__init__(definition, queue)
        self.pairs = pairs_within(definition.pairs or self.pairs_default, queue.format)
        self.is_by_team = is_by_team(self.pairs)

    @abstractmethod
    def between(self, first: Seat, second: Seat) -> float:
        """Return the gap between players of two parties, whatever their teams."""

    def gap(self, teams: Seats) -> float:
        """Return the largest gap between two players in the relation."""
        name = self.definition.attribute
        if not any(attribute_of(t, p, name) for team in teams for t in team for p in t.players):
            return 0.0
        return max((self._apart(*pair) for pair in related_pairs(teams, self.pairs)), default=0.0)

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions."""
        if not self.is_by_team:
            return super().gap_table(tickets, orders, layout)
        seats = _seats(*tickets)
        table = np.zeros((len(seats), len(seats)))
        for (row, one), (column, two) in combinations(enumerate(seats), 2):
            table[row, column] = table[column, row] = self._apart(one, two)
        return max_over_pairs(table, orders, layout, self.pairs)

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return `gap` of the two if they are certainly in the relation."""
        if not are_surely(self.pairs, self.queue.format, one, two):
            return 0.0
        return max(self.between(first, second) for first in _seats(one) for second in _seats(two))

    def _apart(self, first: Seat, second: Seat) -> float:
        return 0.0 if first[1] is second[1] else self.between(first, second)


def _seats(*tickets: Ticket) -> list[Seat]:
    return [(0, ticket, player) for ticket in tickets for player in ticket.players]
