"""Values of expressions for a match: exact numbers, strings, players, and lists of these.

`NoValue` is raised if a value does not exist: the least, the greatest or the average of nothing,
and the common values of no lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt
from statistics import median, pvariance, variance

from evenmatch.rules.flexmatch.checker.match import (
    CandidateMatch,
    CandidatePlayer,
    CandidateTicket,
    Readings,
    exact,
)
from evenmatch.rules.flexmatch.expressions import (
    Call,
    Constant,
    Expression,
    Function,
    Property,
    type_of,
)
from evenmatch.rules.flexmatch.rule_set import Merge, RuleSet, SetMerge

Value = Fraction | str | CandidatePlayer | list["Value"]
DIGITS = 10**20
"""Precision of square roots: one part in this many."""


class NoValue(Exception):
    """A value that does not exist; the message says which."""


class Measurer:
    """Computes the expressions of one rule for one match.

    Args:
        rule_set: Has the defaults of attributes.
        match: The match.
        party: How values of a party are merged; None if each player's own counts.
        readings: How unclear parts of the language are interpreted.
    """

    def __init__(
        self,
        rule_set: RuleSet,
        match: CandidateMatch,
        party: Merge | SetMerge | None,
        readings: Readings,
    ) -> None:
        self._defaults = {each.name: each.default for each in rule_set.attributes}
        self._types = rule_set.scope.attributes
        self._match = match
        self._party = party
        self._readings = readings

    def value(self, expression: Expression) -> Value:
        """Return the value of an expression.

        Raises:
            NoValue: There is none.
        """
        if isinstance(expression, Constant):
            constant = expression.value
            if isinstance(constant, tuple):
                return list(constant)
            return constant if isinstance(constant, str) else exact(constant)
        if isinstance(expression, Property):
            return self._property(expression)
        return self._call(expression)

    def leaves(self, expression: Expression) -> list[Value]:
        """Return all single values of an expression."""
        return list(leaves_of(self.value(expression)))

    # Properties

    def _property(self, wanted: Property) -> Value:
        if wanted.what == "teams":
            return list(wanted.teams) if wanted.is_grouped else wanted.teams[0]
        by_team: list[Value] = [self._of_team(wanted, team) for team in wanted.teams]
        if wanted.is_grouped:
            return by_team
        return [each for team in by_team if isinstance(team, list) for each in team]

    def _of_team(self, wanted: Property, team: str) -> list[Value]:
        tickets = self._match.teams.get(team, ())
        if wanted.what == "players":
            return [player for each in tickets for player in each.players]
        if wanted.what == "player_ids":
            return [player.id for each in tickets for player in each.players]
        values: list[Value] = []
        for each in tickets:
            values += self.attribute(each, wanted.attribute)
        return values

    def attribute(self, ticket: CandidateTicket, name: str) -> list[Value]:
        """Return the values that a ticket adds to a list: one for each player, or one."""
        own = [self._own(player, name) for player in ticket.players]
        merged: Value
        if self._party is None or self._types[name] == "string":
            return own
        is_number = self._types[name] == "number"
        if is_number != (self._party in ("min", "max", "avg")):
            return own
        if is_number:
            merged = fold(self._party, own, self._readings)
        else:
            sets = [each for each in own if isinstance(each, list)]
            merged = union(sets) if self._party == "union" else intersection(sets)
        return [merged] * (len(own) if self._readings.party_weight == "players" else 1)

    def _own(self, player: CandidatePlayer, name: str) -> Value:
        value = player.attributes.get(name, self._defaults[name])
        if isinstance(value, str):
            return value
        if isinstance(value, int | float):
            return exact(value)
        assert isinstance(value, tuple | list)
        return list(dict.fromkeys(value))

    # Functions

    def _call(self, call: Call) -> Value:
        argument = self.value(call.argument)
        depth = type_of(call.argument, self._types).depth
        if call.function == "flatten":
            lists = _elements(argument)
            return [one for each in lists for one in _elements(each)] if depth > 1 else lists
        return self._innermost(call.function, argument, depth)

    def _innermost(self, function: Function, value: Value, depth: int) -> Value:
        """Apply a function to the innermost lists of a value that nests to a depth."""
        own = 2 if function == "set_intersection" else 1
        elements = _elements(value)
        if depth > own:
            return [self._innermost(function, each, depth - 1) for each in elements]
        if function == "set_intersection":
            return intersection([_elements(each) for each in elements])
        return fold(function, elements, self._readings)


def leaves_of(value: Value) -> Iterator[Value]:
    """Yield the single values of nested lists."""
    if isinstance(value, list):
        for each in value:
            yield from leaves_of(each)
    else:
        yield value


def _elements(value: Value) -> list[Value]:
    assert isinstance(value, list), value
    return value


# Functions of lists


def fold(function: str, values: list[Value], readings: Readings) -> Fraction:
    """Return the result of a function of a list.

    Raises:
        NoValue: The list is empty, and the function is neither `count` nor `sum`.
    """
    if function == "count":
        return Fraction(len(values))
    numbers = [each for each in values if isinstance(each, Fraction)]
    assert len(numbers) == len(values), values
    if function == "sum":
        return sum(numbers, Fraction(0))
    if not numbers:
        raise NoValue(f"the {function} of nothing is undefined")
    if function == "min":
        return min(numbers)
    if function == "max":
        return max(numbers)
    if function == "avg":
        return sum(numbers, Fraction(0)) / len(numbers)
    if function == "median":
        return median(numbers)
    assert function == "stddev", function
    return deviation(numbers, readings)


def deviation(numbers: list[Fraction], readings: Readings) -> Fraction:
    """Return the standard deviation, exact if it is a fraction, else to twenty digits.

    >>> deviation([Fraction(2), Fraction(4)], Readings())
    Fraction(1, 1)
    """
    if readings.stddev == "population":
        return root(pvariance(numbers))
    if len(numbers) < 2:
        raise NoValue("the standard deviation of a sample of one is undefined")
    return root(variance(numbers))


def root(square: Fraction) -> Fraction:
    """Return the square root of a number that is not negative."""
    up, down = isqrt(square.numerator), isqrt(square.denominator)
    if up * up == square.numerator and down * down == square.denominator:
        return Fraction(up, down)
    return Fraction(isqrt(square.numerator * DIGITS**2 // square.denominator), DIGITS)


def union(sets: list[list[Value]]) -> list[Value]:
    """Return the values that any collection has, each once."""
    return list(dict.fromkeys(each for one in sets for each in _strings(one)))


def intersection(sets: list[list[Value]]) -> list[Value]:
    """Return the values that all collections have, each once.

    Raises:
        NoValue: There is no collection.
    """
    if not sets:
        raise NoValue("what no collections have in common is undefined")
    first, *others = [_strings(each) for each in sets]
    return list(dict.fromkeys(each for each in first if all(each in one for one in others)))


def _strings(values: list[Value]) -> list[str]:
    strings = [each for each in values if isinstance(each, str)]
    assert len(strings) == len(values), values
    return strings
