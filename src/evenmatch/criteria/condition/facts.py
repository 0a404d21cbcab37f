"""What conditions read of a ticket: the values that it adds to lists, with parties merged.

Numbers exist in two versions. The quick one is an integer if the value is whole, and so exact, and
otherwise a float that may have a rounding error. The exact one is the fraction given by the
shortest decimal notation, so that 0.1 + 0.2 equals 0.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from evenmatch.model.condition import ONCE, ValueKind
from evenmatch.model.ticket import Ticket, Value, attribute_of

Number = Any
"""An int, a float or a Fraction: the type checker has no name for all three."""
Strings = tuple[str, ...]
FactValues = list[Any]
"""What a ticket adds to a list: a number, a string or strings for each of its players."""
Places = dict[str, Number]
KEPT_MAX = 20_000
"""Most tickets whose values are cached."""
WHOLE_MAX = 2.0**53
"""From here on, floats are not exact, and the value is that of their decimals."""


class Undefined(Exception):
    """A value that does not exist: the average of nobody, or a missing attribute."""


def exact(number: float) -> int | Fraction:
    """Return the exact number that the shortest decimal notation of a number gives.

    >>> exact(0.1) + exact(0.2) == exact(0.3)
    True
    """
    if abs(number) < WHOLE_MAX and number == int(number):
        return int(number)
    return plain(Fraction(repr(float(number))))


def plain(number: int | Fraction) -> int | Fraction:
    """Return a fraction that is a whole number as an integer."""
    if isinstance(number, Fraction) and number.denominator == 1:
        return number.numerator
    return number


def quick(number: int | Fraction) -> int | float:
    """Return a number that is fast to compute with; whole numbers stay exact."""
    return number if isinstance(number, int) else float(number)


def merge_numbers(how: str, values: Sequence[int | Fraction]) -> int | Fraction:
    """Return the single number into which a party's numbers are merged."""
    if how == "min":
        return min(values)
    if how == "max":
        return max(values)
    return plain(Fraction(sum(values), len(values)))


def is_of_kind(value: object, kind: ValueKind) -> bool:
    """Return whether a value has the type that an attribute should have."""
    if kind == "number":
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return math.isfinite(value)
    if kind == "string":
        return isinstance(value, str)
    if kind == "string_list":
        # Recorded arrivals turn a list of one word into the word.
        return isinstance(value, str | tuple)
    return isinstance(value, dict) and all(is_of_kind(each, "number") for each in value.values())


class Fact(NamedTuple):
    """An attribute, and how a party has it: merged by `party`, or player by player if "".

    Without a name it is the size of the party. If it `is_optional`, players who lack it add nothing
    to lists.
    """

    attribute: str
    kind: ValueKind
    default: Value | None
    party: str
    is_optional: bool = False


class TicketFacts:
    """Reader of facts of tickets, which reads each ticket once.

    Args:
        facts: The facts to read; a fact is addressed by its index here.
        places: Pairs of a map of latencies and how a party's maps are merged.
    """

    def __init__(self, facts: Sequence[Fact], places: Sequence[tuple[str, str]]) -> None:
        # Both may grow until the first ticket is read.
        self._facts = facts
        self._places = places
        self._kept: dict[
            int, tuple[Ticket, tuple[list[FactValues | None], list[FactValues | None]]]
        ] = {}
        self._kept_places: dict[int, tuple[Ticket, tuple[list[Places], list[Places]]]] = {}

    @property
    def count(self) -> int:
        """Return how many facts there are."""
        return len(self._facts)

    @property
    def map_count(self) -> int:
        """Return how many maps of latencies there are."""
        return len(self._places)

    def of(self, ticket: Ticket, *, is_exact: bool) -> list[FactValues | None]:
        """Return the values of all facts; None for a fact that some player lacks."""
        kept = self._kept.get(ticket.sequence)
        if kept is None or kept[0] is not ticket:
            if len(self._kept) >= KEPT_MAX:
                self._kept.clear()
            exactly = [_values_of(ticket, fact) for fact in self._facts]
            kept = self._kept[ticket.sequence] = ticket, ([*map(_quickly, exactly)], exactly)
        return kept[1][is_exact]

    def places(self, ticket: Ticket, number: int, *, is_exact: bool) -> Places:
        """Return the merged latencies to places that all players of a ticket report."""
        kept = self._kept_places.get(ticket.sequence)
        if kept is None or kept[0] is not ticket:
            if len(self._kept_places) >= KEPT_MAX:
                self._kept_places.clear()
            own = [_places_of(ticket, *each) for each in self._places]
            fast = [{place: quick(ms) for place, ms in each.items()} for each in own]
            kept = self._kept_places[ticket.sequence] = ticket, (fast, own)
        return kept[1][is_exact][number]


def _quickly(values: FactValues | None) -> FactValues | None:
    if values and isinstance(values[0], int | Fraction):
        return [quick(each) for each in values]
    return values


def _values_of(ticket: Ticket, fact: Fact) -> FactValues | None:
    if not fact.attribute:
        return [ticket.size] * ticket.size
    told = [attribute_of(ticket, player, fact.attribute) for player in ticket.players]
    values = [fact.default if value is None else value for value in told]
    if fact.is_optional:
        values = [value for value in values if value is not None]
        if not values:
            return []
    if not all(is_of_kind(value, fact.kind) for value in values):
        return None
    how = fact.party.removesuffix(ONCE)
    times = 1 if fact.party.endswith(ONCE) else len(values)
    if fact.kind == "number":
        numbers = [exact(value) for value in values if isinstance(value, int | float)]
        return [merge_numbers(how, numbers)] * times if fact.party else numbers
    if fact.kind == "string":
        return [value for value in values if isinstance(value, str)]
    sets = [_strings(value) for value in values if isinstance(value, str | tuple)]
    if not fact.party:
        return sets
    one = union(sets) if how == "union" else intersection(sets)
    return [one] * times


def _strings(value: str | Strings) -> Strings:
    return (value,) if isinstance(value, str) else tuple(dict.fromkeys(value))


def union(sets: Sequence[Strings]) -> Strings:
    """Return the strings that any collection has, each once."""
    return tuple(dict.fromkeys([each for one in sets for each in one]))


def intersection(sets: Sequence[Strings]) -> Strings:
    """Return the strings that all collections have, each once.

    Raises:
        Undefined: There is no collection.
    """
    if not sets:
        raise Undefined
    others = [frozenset(each) for each in sets[1:]]
    return tuple(dict.fromkeys([e for e in sets[0] if all(e in other for other in others)]))


def _places_of(ticket: Ticket, attribute: str, party: str) -> Places:
    maps = [attribute_of(ticket, player, attribute) for player in ticket.players]
    told = [each for each in maps if isinstance(each, dict) and is_of_kind(each, _MAP)]
    if len(told) < len(maps):
        return {}
    return {
        place: merge_numbers(party, [exact(each[place]) for each in told])
        for place in told[0]
        if all(place in each for each in told)
    }


_MAP: ValueKind = "string_number_map"
