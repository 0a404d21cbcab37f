"""Values of expressions for a whole match: numbers, strings, and lists of these by team.

Quick numbers come first: whole ones are exact, others may have a rounding error. If a comparison of
two nearly equal numbers that are not both whole depends on it, exact numbers are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeGuard

import msgspec

from evenmatch.criteria.base import Seats
from evenmatch.criteria.condition.facts import (
    Fact,
    Number,
    Strings,
    TicketFacts,
    Undefined,
    exact,
    intersection,
    plain,
    quick,
)
from evenmatch.model.condition import ONCE, FixedValue, FoldOf, Measured, TeamProperty, depth_of

Measure = Any
"""A number, a string, a player's strings as a tuple, or a list of these: by the expression."""
Compute = Callable[["MatchValues"], Measure]
Function = Callable[[list[Measure]], Measure]
DIGITS = 10**20
"""Precision of square roots of exact numbers: one part in this many."""


class MatchValues:
    """The values of one match, each computed once.

    Args:
        teams: Tickets by team.
        facts: Reads the tickets' facts.
        is_exact: Whether numbers are exact, which takes longer.
    """

    __slots__ = ("facts", "is_exact", "known", "teams")

    def __init__(self, teams: Seats, facts: TicketFacts, *, is_exact: bool = False) -> None:
        self.teams = teams
        self.facts = facts
        self.is_exact = is_exact
        self.known: dict[int, Measure | None] = {}

    def exactly(self) -> MatchValues:
        """Return the same match in exact numbers."""
        return MatchValues(self.teams, self.facts, is_exact=True)


class ConditionMeasures:
    """Compiled expressions, and the facts that they need."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self._slots: dict[tuple[Measured, str], tuple[int, Compute]] = {}

    def fact_of(self, team_property: TeamProperty, party: str | None) -> int:
        """Return the index of the fact that a property of players needs."""
        how = party or ""
        is_of_numbers = how.removesuffix(ONCE) in ("min", "max", "avg")
        if team_property.kind == "string" or (team_property.kind == "number") != is_of_numbers:
            how = ""
        fact = Fact(
            team_property.attribute,
            team_property.kind,
            team_property.default,
            how,
            team_property.is_optional,
        )
        if fact not in self.facts:
            self.facts.append(fact)
        return self.facts.index(fact)

    def compile(self, measured: Measured, party: str | None) -> Compute:
        """Return a function that computes an expression.

        Args:
            measured: The expression.
            party: How a party's values are merged; None: not at all.
        """
        key = measured, party or ""
        if key not in self._slots:
            made = self._made(measured, party)  # which may add slots of its own
            self._slots[key] = len(self._slots), made
        slot, compute = self._slots[key]

        def once(values: MatchValues) -> Measure:
            known = values.known
            if slot in known:
                value = known[slot]
                if value is None:
                    raise Undefined
                return value
            try:
                value = known[slot] = compute(values)
            except Undefined:
                known[slot] = None
                raise
            return value

        return compute if isinstance(measured, FixedValue) else once

    def _made(self, measured: Measured, party: str | None) -> Compute:
        if isinstance(measured, FixedValue):
            return _fixed(measured)
        if isinstance(measured, TeamProperty):
            return self._property(measured, party)
        if measured.name == "flatten" and is_by_team(measured.of):
            return self._property(msgspec.structs.replace(measured.of, is_grouped=False), party)
        return _fold(measured, self.compile(measured.of, party))

    def _property(self, wanted: TeamProperty, party: str | None) -> Compute:
        teams = wanted.teams
        if wanted.what == "teams":
            names: Measure = [str(team) for team in teams] if wanted.is_grouped else str(teams[0])
            return lambda _: names
        is_told = wanted.what in ("attribute", "party_sizes")
        fact = self.fact_of(wanted, party) if is_told else None

        def of_team(values: MatchValues, team: int) -> list[Measure]:
            found: list[Measure] = []
            for ticket in values.teams[team]:
                if fact is None:
                    found += [player.id for player in ticket.players]
                    continue
                told = values.facts.of(ticket, is_exact=values.is_exact)[fact]
                if told is None:
                    raise Undefined
                found += told
            return found

        def by_team(values: MatchValues) -> Measure:
            return [of_team(values, team) for team in teams]

        def in_one(values: MatchValues) -> Measure:
            return [each for team in teams for each in of_team(values, team)]

        return by_team if wanted.is_grouped else in_one


def is_by_team(measured: Measured) -> TypeGuard[TeamProperty]:
    """Return whether an expression is a list, by team, of a property of players."""
    return isinstance(measured, TeamProperty) and measured.is_grouped and measured.what != "teams"


def _fixed(measured: FixedValue) -> Compute:
    value = measured.value
    if isinstance(value, tuple):
        strings: Measure = list(value)
        return lambda _: strings
    if isinstance(value, str):
        return lambda _: value
    number = exact(value)
    fast = quick(number)
    return lambda values: number if values.is_exact else fast


def _fold(measured: FoldOf, inner: Compute) -> Compute:
    depth = depth_of(measured.of)
    if measured.name == "flatten":
        if depth < 2:
            return inner
        return lambda values: [one for each in lists_of(inner(values)) for one in each]
    if measured.name == "set_intersection":
        return lambda values: _innermost(_shared, inner(values), depth - 1)
    fast, slow = QUICK[measured.name], EXACT[measured.name]
    return lambda values: _innermost(slow if values.is_exact else fast, inner(values), depth)


def _innermost(function: Function, value: Measure, depth: int) -> Measure:
    """Apply a function to the innermost lists of a value that nests to a depth."""
    if depth > 1:
        return [_innermost(function, each, depth - 1) for each in items_of(value)]
    return function(items_of(value))


def items_of(value: Measure) -> list[Measure]:
    """Return the elements of a list; the strings of a player count as one element."""
    return list(value) if isinstance(value, tuple) else value


def lists_of(value: Measure) -> list[list[Measure]]:
    """Return the elements of a list of lists."""
    return [items_of(each) for each in items_of(value)]


# Functions of lists


def _shared(values: list[Measure]) -> Measure:
    return list(intersection([strings_of(each) for each in values]))


def strings_of(value: Measure) -> Strings:
    """Return a list of strings as a collection."""
    return tuple(value)


def _numbers(values: list[Measure]) -> list[Number]:
    if not values:
        raise Undefined
    return values


def mean(values: Sequence[Number]) -> Number:
    """Return the mean; a whole number only if it is certain.

    >>> mean([1, 2, 3]), mean([1, 2])
    (2, 1.5)
    """
    total: Number = sum(values)
    if isinstance(total, int) and total % len(values) == 0:
        return total // len(values)
    return total / len(values)


def exact_mean(values: Sequence[Number]) -> Number:
    """Return the mean of exact numbers, exactly."""
    return plain(Fraction(sum(values)) / len(values))


def _median(values: Sequence[Number], of_two: Callable[[Sequence[Number]], Number]) -> Number:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else of_two(ordered[middle - 1 : middle + 1])


def _several(values: list[Measure]) -> list[Number]:
    """Return the numbers, at least two: a sample of one has no deviation."""
    if len(values) < 2:
        raise Undefined
    return values


def _deviation(values: Sequence[Number], off: int = 0) -> Number:
    """Return the standard deviation, or, if `off` is 1, that of a sample, divided by n - 1."""
    if min(values) == max(values):
        return 0
    middle = math.fsum(values) / len(values)
    return math.sqrt(math.fsum([(each - middle) ** 2 for each in values]) / (len(values) - off))


def _exact_deviation(values: Sequence[Number], off: int = 0) -> Number:
    middle = exact_mean(values)
    square = Fraction(sum([(each - middle) ** 2 for each in values])) / (len(values) - off)
    up, down = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if up * up == square.numerator and down * down == square.denominator:
        return plain(Fraction(up, down))
    return Fraction(math.isqrt(square.numerator * DIGITS**2 // square.denominator), DIGITS)


_COMMON: dict[str, Function] = {
    "min": lambda values: min(_numbers(values)),
    "max": lambda values: max(_numbers(values)),
    "sum": lambda values: sum(values),
    "count": len,
}
QUICK: dict[str, Function] = {
    **_COMMON,
    "avg": lambda values: mean(_numbers(values)),
    "median": lambda values: _median(_numbers(values), mean),
    "stddev": lambda values: _deviation(_numbers(values)),
    "stddev_sample": lambda values: _deviation(_several(values), off=1),
}
EXACT: dict[str, Function] = {
    **_COMMON,
    "avg": lambda values: exact_mean(_numbers(values)),
    "median": lambda values: _median(_numbers(values), exact_mean),
    "stddev": lambda values: _exact_deviation(_numbers(values)),
    "stddev_sample": lambda values: _exact_deviation(_several(values), off=1),
}
