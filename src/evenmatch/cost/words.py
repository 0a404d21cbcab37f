"""The kinds that compare words: `same`."""

from __future__ import annotations

from evenmatch.cost.comparison import Comparison, Seats
from evenmatch.model.ticket import Ticket, Value, attribute_of


class Same(Comparison):
    """Whether all players have the same value: the gap is 0 if they do, else 1."""

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a value that must be there, whatever it is."""
        return "is missing" if value is None else None

    def gap(self, teams: Seats) -> float:
        """Return 0 if all values are equal, else 1."""
        name = self.given.attribute
        values = [attribute_of(t, p, name) for team in teams for t in team for p in t.players]
        return 0.0 if all(value == values[0] for value in values) else 1.0

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return `gap` of the two: who differ, differ in every match."""
        return self.gap(((one,), (two,)))
