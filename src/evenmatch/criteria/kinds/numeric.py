"""The kinds that compare numbers: `spread`, `mean_gap` and `imbalance` of an attribute."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenmatch.criteria.base import Assigned, Comparison, Gap, Seats
from evenmatch.criteria.criterion import gap_of, gap_table, reference, table
from evenmatch.criteria.scales import Floats, scale_gap, scale_value
from evenmatch.criteria.team_packing import Orders
from evenmatch.criteria.values import number, numbers, places, scaled_column, scaled_numbers, shown
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Ticket, Value

DUEL = Gap("gap")
"""Between two players all three kinds are the same."""
RAW = {
    ("spread", "mean"): Gap("widest gap"),
    ("spread", "sum"): Gap("widest gap"),
    ("mean_gap", "mean"): Gap("player gap"),
    ("mean_gap", "sum"): Gap("player gap"),
    ("imbalance", "mean"): Gap("team gap"),
    ("imbalance", "sum"): Gap("team gap of sums"),
}
"""By kind and measure."""
SUM_SLACK = 1e-12
"""How far two ways to add up the values of a match may differ, relative to their sum."""


class Numeric(Comparison):
    """Differences of numbers, defined on plain numbers in `cost.criteria`."""

    def __init__(self, given: Criterion | Rule, queue: Queue) -> None:
        super().__init__(given, queue)
        # Of single players it matters only who they are, not in which team each is.
        self.is_by_team = given.kind == "imbalance" and max(queue.format.players) > 1
        self.raw = (DUEL if queue.format.is_duel else RAW[given.kind, given.measure],)

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a value that must be a number."""
        if type(value) is float or type(value) is int:
            return None
        return "is missing" if value is None else f"must be a number, got {shown(value)}"

    def cost(self, teams: Seats) -> float:
        """Return the scaled gap of scaled values."""
        criterion, name = self._criterion, self.queue.name
        by_team = [[v for t in team for v in scaled_numbers(criterion, name, t)] for team in teams]
        return reference(criterion, by_team)

    def cost_table(
        self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]
    ) -> Floats:
        """Return `cost` of many divisions."""
        column = scaled_column(self._criterion, self.queue.name, tickets)
        return table(self._criterion, column[orders], layout)

    def cost_of_duel(self, one: Ticket, two: Ticket, at: float = math.inf) -> float:
        """Return `cost` of two solo tickets: between two, every gap is the plain difference."""
        del at
        criterion = self._criterion
        scale, attribute = criterion.scale, criterion.attribute
        if scale.kind == "percentile" or criterion.step:
            return self.cost(((one,), (two,)))
        first = scale_value(scale, number(one, attribute))
        second = scale_value(scale, number(two, attribute))
        return scale_gap(scale, abs(first - second))

    def gap(self, teams: Seats) -> float:
        """Return the gap of what the rule compares; teams without people are left out."""
        by_team = [[v for t in team for v in self.values(t)] for team in teams if team]
        return gap_of(self.given.kind, by_team, self.given.measure)

    def raw_gaps(self, teams: Seats, roles: Assigned = None) -> tuple[float, ...]:
        """Return the gap of the attribute's values, in whatever unit the rule or scale has."""
        del roles
        name, measure = self.given.attribute, self.given.measure
        by_team = [[v for t in team for v in numbers(t, name)] for team in teams if team]
        return (gap_of(self.given.kind, by_team, measure),)

    def raw_table(self, values: Floats, layout: Sequence[int]) -> Floats:
        """Return `raw_gaps` of many matches; `values` has their players' team by team."""
        return gap_table(self.given.kind, values, layout, self.given.measure)

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions."""
        if not self.is_by_team:
            return super().gap_table(tickets, orders, layout)
        values = np.array([value for ticket in tickets for value in self.values(ticket)])
        gaps = gap_table(self.given.kind, values[orders], layout, self.given.measure)
        # Sums of the table and of the reference may round differently: be lenient here, the
        # caller asks the reference about the rows that it likes.
        return gaps - SUM_SLACK * max(1.0, float(np.abs(values).sum()))

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return the pair's spread; means and teams say nothing about two of many."""
        if self.given.kind == "spread" or self.queue.format.is_duel:
            return self.gap(((one,), (two,)))
        return 0.0

    def values(self, ticket: Ticket) -> list[float]:
        """Return what a rule compares of each player."""
        rule = self.given
        if isinstance(rule, Rule) and rule.unit == "percentile":
            return places(ticket, self.queue.name, rule.attribute, rule.sample)
        return numbers(ticket, rule.attribute)

    @property
    def _criterion(self) -> Criterion:
        assert isinstance(self.given, Criterion)
        return self.given
