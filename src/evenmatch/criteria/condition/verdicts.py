"""Whether tests hold for a whole match: true, false, or undefined if a value does not exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

from evenmatch.criteria.base import Seats
from evenmatch.criteria.condition.facts import (
    Number,
    TicketFacts,
    Undefined,
    exact,
    intersection,
    is_of_kind,
)
from evenmatch.criteria.condition.measures import (
    Compute,
    ConditionMeasures,
    MatchValues,
    Measure,
    exact_mean,
    items_of,
    strings_of,
)
from evenmatch.model.condition import (
    AllOf,
    AnyOf,
    AttributeTest,
    DistanceTest,
    ExactlyOne,
    Leaf,
    Measured,
    NotOf,
    Phases,
    PlaceTest,
    SetTest,
    SizeTest,
    SpreadTest,
    TeamProperty,
    Test,
    ValueTest,
    depth_of,
    merge_of,
)
from evenmatch.model.ticket import attribute_of

Holds = Callable[[MatchValues], bool]
"""Whether a test holds; raises Undefined or InDoubt."""
Truth = bool | None
SLACK = 1e-9
"""Numbers that differ by less than this, relatively, may be equal, unless both are exact."""


class InDoubt(Exception):
    """Two numbers are nearly equal, so that rounding may decide their order."""


class Statement(NamedTuple):
    """A compiled test: the number of a leaf, or several parts that are joined."""

    join: Literal["leaf", "and", "or", "xor", "not"]
    number: int = -1
    parts: tuple[Statement, ...] = ()


class Verdicts:
    """The compiled tests of one queue; equal ones are evaluated once per match."""

    def __init__(self) -> None:
        self._numbers: dict[Leaf, int] = {}
        self.leaves: list[Leaf] = []
        self._holds: list[Holds] = []
        self._places: list[tuple[str, str]] = []
        self.measures = ConditionMeasures()
        self.facts = TicketFacts(self.measures.facts, self._places)

    def statement(self, test: Test) -> Statement:
        """Return a test without phases in compiled form."""
        if isinstance(test, NotOf):
            return Statement("not", parts=(self.statement(test.part),))
        if isinstance(test, AllOf | AnyOf | ExactlyOne):
            join: Literal["and", "or", "xor"] = (
                "and" if isinstance(test, AllOf) else "or" if isinstance(test, AnyOf) else "xor"
            )
            return Statement(join, parts=tuple([self.statement(part) for part in test.parts]))
        assert not isinstance(test, Phases)
        if test not in self._numbers:
            self._numbers[test] = len(self._holds)
            self.leaves.append(test)
            self._holds.append(self._made(test, self.measures))
        return Statement("leaf", self._numbers[test])

    def place_of(self, leaf: PlaceTest) -> int:
        """Return the number by which `TicketFacts.places` gives the latencies of a test."""
        key = leaf.attribute, leaf.party
        if key not in self._places:
            self._places.append(key)
        return self._places.index(key)

    def values(self, teams: Seats) -> MatchValues:
        """Return the values of a match, for its evaluation."""
        return MatchValues(teams, self.facts)

    def truth(self, statement: Statement, values: MatchValues, told: dict[int, Truth]) -> Truth:
        """Return whether a statement holds; None if a missing value decides.

        Args:
            statement: The statement.
            values: The match's values.
            told: The answers of leaves that were evaluated already, by number.
        """
        if statement.join == "leaf":
            number = statement.number
            if number not in told:
                told[number] = self._leaf_truth(number, values)
            return told[number]
        if statement.join == "not":
            truth = self.truth(statement.parts[0], values, told)
            return None if truth is None else not truth
        if statement.join == "xor":
            truths = [self.truth(part, values, told) for part in statement.parts]
            if truths.count(True) > 1:
                return False
            return None if None in truths else truths.count(True) == 1
        # What decides a join: one false part of `and`, one true part of `or`.
        decisive = statement.join == "or"
        unclear = False
        for part in statement.parts:
            truth = self.truth(part, values, told)
            if truth is decisive:
                return decisive
            unclear |= truth is None
        return None if unclear else not decisive

    def _leaf_truth(self, number: int, values: MatchValues) -> Truth:
        try:
            return self._holds[number](values)
        except Undefined:
            return None
        except InDoubt:
            try:
                return self._holds[number](values.exactly())
            except Undefined:
                return None

    def _made(self, leaf: Leaf, measures: ConditionMeasures) -> Holds:
        if isinstance(leaf, AttributeTest):
            return _attribute_test(leaf)
        if isinstance(leaf, SizeTest):
            return _size_test(leaf)
        if isinstance(leaf, ValueTest):
            return _value_test(leaf, measures)
        if isinstance(leaf, DistanceTest):
            return _distance_test(leaf, measures)
        if isinstance(leaf, SpreadTest):
            return _spread_test(leaf, measures)
        if isinstance(leaf, SetTest):
            return _set_test(leaf, measures)
        return _place_test(leaf, self.place_of(leaf))


# Comparing


def is_close(one: Number, other: Number) -> bool:
    """Return whether rounding may decide how two numbers compare."""
    if not (isinstance(one, float) or isinstance(other, float)):
        return False
    return bool(abs(one - other) <= SLACK * max(1.0, abs(one), abs(other)))


def _compares(one: Measure, operator: str, other: Measure) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return bool((one == other) == (operator == "="))
    if is_close(one, other):
        raise InDoubt
    if one == other:
        return operator in ("=", "<=", ">=")
    return operator == "!=" or (operator[0] == "<" if one < other else operator[0] == ">")


def single_values(value: Measure) -> Iterator[Measure]:
    """Yield the single values of nested lists."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from single_values(each)
    else:
        yield value


def lists_at(value: Measure, depth: int) -> list[Measure]:
    """Return the lists at a depth of nesting."""
    if depth == 0:
        return [value]
    return [one for each in items_of(value) for one in lists_at(each, depth - 1)]


# Tests


def _attribute_test(leaf: AttributeTest) -> Holds:
    def holds(values: MatchValues) -> bool:
        for team in values.teams:
            for ticket in team:
                for player in ticket.players:
                    if problem_of(leaf, attribute_of(ticket, player, leaf.attribute)):
                        return False
        return True

    return holds


def problem_of(leaf: AttributeTest, value: object) -> str | None:
    """Return what is wrong with a player's attribute, as the end of a sentence, or None."""
    if value is None:
        return "is missing" if leaf.is_needed else None
    if not is_of_kind(value, leaf.kind):
        return f"must be a {leaf.kind}, got {value!r:.80}"
    if leaf.is_filled and not value:
        return "is empty"
    return None


def _size_test(leaf: SizeTest) -> Holds:
    def holds(values: MatchValues) -> bool:
        sizes = [sum([ticket.size for ticket in team]) for team in values.teams]
        bounds = zip(leaf.least, sizes, leaf.most, strict=True)
        return sum(sizes) > 0 and all(least <= size <= most for least, size, most in bounds)

    return holds


def _value_test(leaf: ValueTest, measures: ConditionMeasures) -> Holds:
    if leaf.reference is None:
        return _among_themselves(leaf, measures)
    reference = measures.compile(leaf.reference, merge_of(leaf))
    measured = [measures.compile(each, merge_of(leaf)) for each in leaf.measured]

    def holds(values: MatchValues) -> bool:
        wanted = reference(values)
        return all(
            _compares(one, leaf.operator, wanted)
            for each in measured
            for one in single_values(each(values))
        )

    return holds


def _among_themselves(leaf: ValueTest, measures: ConditionMeasures) -> Holds:
    depths = [depth_of(each) for each in leaf.measured]
    measured = [measures.compile(each, merge_of(leaf)) for each in leaf.measured]

    def holds(values: MatchValues) -> bool:
        singles: list[Measure] = []
        lists: list[Measure] = []
        for depth, each in zip(depths, measured, strict=True):
            value = each(values)
            if depth == 0:
                singles.append(value)
            else:
                lists += lists_at(value, depth - 1)
        return all(_agree(items_of(each), leaf.operator) for each in [singles, *lists])

    return holds


def _agree(values: list[Measure], operator: str) -> bool:
    """Return whether all values are equal, or all different."""
    ordered = sorted(values)
    for one, other in pairwise(ordered):
        if not isinstance(one, str) and is_close(one, other):
            raise InDoubt
    different = len(set(values))
    return different <= 1 if operator == "=" else different == len(values)


def _distance_test(leaf: DistanceTest, measures: ConditionMeasures) -> Holds:
    reference = measures.compile(leaf.reference, merge_of(leaf))
    measured = [measures.compile(each, merge_of(leaf)) for each in leaf.measured]
    within = _within(leaf.least, leaf.most)

    def holds(values: MatchValues) -> bool:
        center = reference(values)
        return all(
            within(abs(one - center)) for each in measured for one in single_values(each(values))
        )

    return holds


def _within(least: float | None, most: float | None) -> Callable[[Number], bool]:
    """Return a function that tells whether a number is within bounds."""
    low = None if least is None else exact(least)
    high = None if most is None else exact(most)

    def within(number: Number) -> bool:
        for bound in (low, high):
            if bound is not None and is_close(number, bound):
                raise InDoubt
        return (low is None or number >= low) and (high is None or number <= high)

    return within


def _spread_test(leaf: SpreadTest, measures: ConditionMeasures) -> Holds:
    compute = measures.compile(leaf.of, leaf.party)
    within = _within(None, leaf.most)

    def holds(values: MatchValues) -> bool:
        found = items_of(compute(values))
        if leaf.most is None:
            return len(set(found)) <= 1
        if not found:
            if leaf.of.is_optional:
                return True
            raise Undefined
        return within(max(found) - min(found))

    return holds


# Collections


def _set_test(leaf: SetTest, measures: ConditionMeasures) -> Holds:
    parts: list[tuple[Measured, Compute]] = [
        (each, measures.compile(each, merge_of(leaf))) for each in leaf.measured
    ]
    reference = None
    if leaf.reference is not None:
        reference = measures.compile(leaf.reference, merge_of(leaf))
    within = _within(leaf.least, leaf.most)

    def holds(values: MatchValues) -> bool:
        for measured, compute in parts:
            value = compute(values)
            wanted = None if reference is None else reference(values)
            if not all(within(each) for each in _counts(leaf, measured, value, wanted)):
                return False
        return True

    return holds


def _counts(
    leaf: SetTest, measured: Measured, value: Measure, wanted: Measure | None
) -> Iterator[int]:
    """Yield the numbers to which the bounds of a test of collections apply."""
    depth = depth_of(measured)
    if leaf.counts == "in_reference":
        names = set(single_values(wanted or []))
        for each in lists_at(value, depth - 1):
            yield len(names.intersection(items_of(each)))
    elif depth == 1:
        strings = items_of(value)
        yield len(set(strings)) if leaf.counts == "shared" else strings.count(wanted or "")
    else:
        for group in lists_at(value, depth - 2):
            collections = [items_of(each) for each in items_of(group)]
            if leaf.counts == "shared":
                if not collections and isinstance(measured, TeamProperty) and measured.is_optional:
                    continue
                yield len(intersection([*map(strings_of, collections)]))
            else:
                yield sum([wanted in each for each in collections])


# Places


def _place_test(leaf: PlaceTest, number: int) -> Holds:
    most = None if leaf.ms_max is None else exact(leaf.ms_max)
    apart = None if leaf.distance_max is None else exact(leaf.distance_max)

    def holds(values: MatchValues) -> bool:
        tickets = [ticket for team in values.teams for ticket in team]
        told = [values.facts.places(ticket, number, is_exact=True) for ticket in tickets]
        for place in told[0] if told else ():
            if not all(place in each for each in told):
                continue
            latencies = [each[place] for each in told]
            if most is not None and max(latencies) > most:
                continue
            if apart is None:
                return True
            weighted = [
                each
                for ticket, each in zip(tickets, latencies, strict=True)
                for _ in ticket.players
            ]
            center = min(weighted) if leaf.reference == "min" else exact_mean(weighted)
            if all(abs(each - center) <= apart for each in latencies):
                return True
        return False

    return holds
