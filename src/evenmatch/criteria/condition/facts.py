"""What conditions read of a ticket: the values that it puts into lists, parties merged.

Numbers are kept twice. The quick one is a whole number where the value is one, and so exact, and
otherwise a float that may be off by a rounding. The exact one is the fraction that the shortest
decimal notation stands for, so that a tenth and two tenths are three tenths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from evenmatch.model.condition import ONCE, ValueKind
from evenmatch.model.ticket import Ticket, Value, attribute_of

Number = Any
"""An int, a float or a Fraction: the type checker knows no name for all three."""
Strings = tuple[str, ...]
FactValues = list[Any]
"""What a ticket puts into a list: a number, a string or strings for each of its players."""
Places = dict[str, Number]
KEPT_MAX = 20_000
"""Tickets whose values are kept."""
WHOLE_MAX = 2.0**53
"""From here on floats are not exact, and mean what their decimals say."""


class Undefined(Exception):
    """A value that does not exist: the average of nobody, or what a player has not told."""


def exact(number: float) -> int | Fraction:
    """Return what the shortest decimal notation of a number stands for.

    >>> exact(0.1) + exact(0.2) == exact(0.3)
    True
    """
    if abs(number) < WHOLE_MAX and number == int(number):
        return int(number)
    return plain(Fraction(repr(float(number))))


def plain(number: int | Fraction) -> int | Fraction:
    """Return a fraction that is a whole number as one."""
    if isinstance(number, Fraction) and number.denominator == 1:
        return number.numerator
    return number


def quick(number: int | Fraction) -> int | float:
    """Return a number that is fast to compute with; whole numbers stay exact."""
    return number if isinstance(number, int) else float(number)


def merge_numbers(how: str, values: Sequence[int | Fraction]) -> int | Fraction:
    """Return what a party's numbers are as one."""
    if how == "min":
        return min(values)
    if how == "max":
        return max(values)
    return plain(Fraction(sum(values), len(values)))


def is_of_kind(value: object, kind: ValueKind) -> bool:
    """Return whether a value is what an attribute should be."""
    if kind == "number":
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return math.isfinite(value)
    if kind == "string":
        return isinstance(value, str)
    if kind == "string_list":
        # A recording turns a list of one word into the word.
        return isinstance(value, str | tuple)
    return isinstance(value, dict) and all(is_of_kind(each, "number") for each in value.values())


class Fact(NamedTuple):
    """An attribute, and how a party has it: merged by `party`, or player by player if "".

    Without a name it is the size of the party. Of one that `is_optional`, players who lack it put
    nothing into lists.
    """

    attribute: str
    kind: ValueKind
    default: Value | None
    party: str
    is_optional: bool = False


class TicketFacts:
    """Reads facts of tickets, each once.

    Args:
        facts: What is read; a fact is asked for by its place here.
        places: Pairs of a map of latencies and how a party's are merged.
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
        """Return the values of all facts; None for what some player has not told."""
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
    """Return what some collection has, each string once."""
    return tuple(dict.fromkeys([each for one in sets for each in one]))


def intersection(sets: Sequence[Strings]) -> Strings:
    """Return what all collections have, each string once.

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
