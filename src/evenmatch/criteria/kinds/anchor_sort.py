"""The kind that ranks players by their fit with the longest waiting one: `anchor_sort`.

A rule set of another matchmaker may order the candidates around the longest waiting ticket, the
**anchor**: by the distance of their number from its own, or by their value at the key of a map that
the anchor likes best. As a criterion, this becomes a cost that rises along the order.
"""

from __future__ import annotations

import math

from evenmatch.criteria.base import Comparison, Form, Seats
from evenmatch.criteria.condition.facts import exact, is_of_kind, merge_numbers
from evenmatch.model.queue import Criterion, Queue, Rule, Sort
from evenmatch.model.ticket import Ticket, attribute_of

BELOW = 0.1
"""Share of the costs that is left to values below 0: they are rare, and must keep their order."""


class AnchorSort(Comparison):
    """The mean cost of all players outside the anchor's party, by the anchor's order.

    It is stated by values, not by keys of a file: rule sets of other matchmakers are read into it.
    A distance d costs d / (d + knee) if near is best, and the rest of 1 if far is. A value x from 0
    on costs b + (1 - b) x / (x + knee) if little is best, with b = `BELOW`, and one below 0 costs
    b knee / (|x| + knee); if much is best, each costs the rest of 1. A player without a value costs
    1.
    """

    form = Form.ANCHOR
    gap_most = 1.0
    compared = "how well its players go with who has waited longest, by {}"

    def __init__(self, definition: Criterion | Rule, queue: Queue) -> None:
        super().__init__(definition, queue)
        assert isinstance(definition, Criterion)
        assert definition.sort is not None
        self._sort: Sort = definition.sort
        self._knee = definition.scale.knee

    def gap(self, teams: Seats) -> float:
        """Return the mean; 0 if nobody plays with the anchor's party, or it has no value."""
        first, *others = sorted([t for team in teams for t in team], key=lambda each: each.age_key)
        values = _values(first, self.definition.attribute, self._sort)
        if not values or not others:
            return 0.0
        key = _key(values, self._sort)
        costs = [each.size * self._cost(each, key, values[key]) for each in others]
        return math.fsum(costs) / sum([each.size for each in others])

    def _cost(self, ticket: Ticket, key: str, own: float) -> float:
        value = _values(ticket, self.definition.attribute, self._sort).get(key)
        if value is None:
            return 1.0
        order = self._sort.order
        if order in ("near", "far"):
            gap = abs(value - own)
            return (gap if order == "near" else self._knee) / (gap + self._knee)
        # As a quotient the small share keeps the order of large numbers, which a difference loses.
        share = self._knee / (abs(value) + self._knee)
        small = share * (BELOW if value < 0.0 else 1.0 - BELOW)
        return small if (value < 0.0) is (order == "low") else 1.0 - small


def _key(values: dict[str, float], sort: Sort) -> str:
    """Return the anchor's key; of several, the first by name."""
    best = min(values.values()) if sort.key == "min" else max(values.values())
    return min([key for key, value in values.items() if value == best])


def _values(ticket: Ticket, attribute: str, sort: Sort) -> dict[str, float]:
    """Return a party's value at each key that all its players have; a number has the key ""."""
    told: list[dict[str, float]] = []
    for player in ticket.players:
        value = attribute_of(ticket, player, attribute)
        if value is None:
            value = dict(sort.default)
        if isinstance(value, int | float) and math.isfinite(value):
            value = {"": float(value)}
        if not isinstance(value, dict) or not is_of_kind(value, "string_number_map"):
            return {}
        told.append(value)
    return {
        key: float(merge_numbers(sort.party, [exact(each[key]) for each in told]))
        for key in told[0]
        if all(key in each for each in told)
    }
