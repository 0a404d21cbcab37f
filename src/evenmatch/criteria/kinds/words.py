"""The kinds that compare words and sets of words: `same`, `overlap` and `avoid`.

As rules they have a gap of 0 (all is well) or 1, so steps such as [[60, 1]] lift them. As criteria
`same` and `overlap` cost the share of pairs that differ or have nothing in common.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import TypeVar

from evenmatch.criteria.base import Assigned, Comparison, Gap, Seats
from evenmatch.criteria.kinds.worst_pair import WorstPair
from evenmatch.criteria.relation import Seat
from evenmatch.model.ticket import Ticket, Value, attribute_of

Each = TypeVar("Each")


def elements(value: Value | None) -> Collection[str]:
    """Return the elements of a set; files turn one of one element into a word or a number.

    >>> elements(("en", "fr")), elements("en"), elements(7.0), elements(None)
    (('en', 'fr'), ('en',), ('7',), ())
    """
    if value is None:
        return ()
    if isinstance(value, tuple):
        return value
    if isinstance(value, dict):
        return tuple(value)
    return (value if isinstance(value, str) else f"{value:.17g}",)


class Same(Comparison):
    """Whether all players have the same value."""

    raw = (Gap("pairs who differ", "%"),)

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a value that must be there, whatever it is."""
        return "is missing" if value is None else None

    def cost(self, teams: Seats) -> float:
        """Return the share of pairs of players whose values differ."""
        return _share(self._values(teams), lambda one, two: one != two)

    def gap(self, teams: Seats) -> float:
        """Return 0 if all values are equal, else 1."""
        values = self._values(teams)
        return 0.0 if all(value == values[0] for value in values) else 1.0

    def raw_gaps(self, teams: Seats, roles: Assigned = None) -> tuple[float, ...]:
        """Return the share of pairs, as a criterion costs it."""
        del roles
        return (self.cost(teams),)

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return `gap` of the two: who differ, differ in every match."""
        return self.gap(((one,), (two,)))

    def _values(self, teams: Seats) -> list[Value | None]:
        name = self.given.attribute
        return [attribute_of(t, p, name) for team in teams for t in team for p in t.players]


class Overlap(Same):
    """Whether all players have an element in common."""

    raw = (Gap("pairs with nothing in common", "%"),)

    def cost(self, teams: Seats) -> float:
        """Return the share of pairs of players without a common element."""
        return _share([set(elements(value)) for value in self._values(teams)], set.isdisjoint)

    def gap(self, teams: Seats) -> float:
        """Return 0 if there is an element that everybody has, else 1."""
        values = [elements(value) for value in self._values(teams)]
        return 0.0 if set(values[0]).intersection(*values[1:]) else 1.0


class Avoid(WorstPair):
    """Whether nobody meets a player whom either of the two lists."""

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a list; none at all is fine."""
        if isinstance(value, dict):
            return "must be a set of player ids, got a map"
        return None

    def between(self, first: Seat, second: Seat) -> float:
        """Return 1 if one lists the other, else 0."""
        (_, ticket, one), (_, other, two) = first, second
        name = self.given.attribute
        return float(
            two.id in elements(attribute_of(ticket, one, name))
            or one.id in elements(attribute_of(other, two, name))
        )


def _share(values: Sequence[Each], is_apart: Callable[[Each, Each], bool]) -> float:
    """Return the share of pairs that are apart; 0 without any pair."""
    found = [is_apart(one, two) for one, two in combinations(values, 2)]
    return sum(found) / len(found) if found else 0.0
