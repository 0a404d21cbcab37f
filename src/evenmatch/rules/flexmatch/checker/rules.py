"""The verdict of each type of rule on a match; `judgement` lists the readings that are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

import msgspec

from evenmatch.rules.flexmatch.checker.match import (
    CandidateMatch,
    CandidateTicket,
    Readings,
    exact,
)
from evenmatch.rules.flexmatch.checker.measures import (
    Measurer,
    NoValue,
    Value,
    fold,
    intersection,
    leaves_of,
)
from evenmatch.rules.flexmatch.expressions import Expression, type_of
from evenmatch.rules.flexmatch.rule_set import (
    BatchDistanceRule,
    CollectionRule,
    ComparisonRule,
    DistanceRule,
    FlexRule,
    LatencyRule,
    Merge,
    RuleSet,
)


class Verdict(NamedTuple):
    """Whether a rule holds, None if it is undefined; and why it does not.

    With `bars`, the match is illegal whatever statement contains the rule.
    """

    holds: bool | None
    reason: str
    bars: bool = False


PASSED = Verdict(True, "")


class _Case(NamedTuple):
    """A match and the rule set that judges it."""

    rule_set: RuleSet
    match: CandidateMatch
    readings: Readings


def verdict_of(
    rule: FlexRule, rule_set: RuleSet, match: CandidateMatch, readings: Readings
) -> Verdict:
    """Return the verdict of a rule that is not a compound.

    Args:
        rule: The rule at the age of the match.
        rule_set: The rule's.
        match: One without faults.
        readings: How to interpret what the language leaves open.
    """
    case = _Case(rule_set, match, readings)
    try:
        if isinstance(rule, ComparisonRule):
            return _comparison(rule, case)
        if isinstance(rule, DistanceRule):
            return _distance(rule, case)
        if isinstance(rule, BatchDistanceRule):
            return _batch_distance(rule, case)
        if isinstance(rule, CollectionRule):
            return _collection(rule, case)
        if isinstance(rule, LatencyRule):
            return _latency(rule, case)
    except NoValue as undefined:
        return Verdict(None, str(undefined))
    return PASSED


def shown(value: Value) -> str:
    """Return a value for a sentence."""
    return f"{float(value):.10g}" if isinstance(value, Fraction) else repr(value)


# Comparison

COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


def _comparison(rule: ComparisonRule, case: _Case) -> Verdict:
    if rule.reference is None:
        return _among_themselves(rule, case)
    measurer = Measurer(case.rule_set, case.match, rule.party, case.readings)
    reference = measurer.value(rule.reference)
    for measurement in rule.measurements:
        for value in measurer.leaves(measurement):
            if not _compares(value, rule.operation, reference):
                sentence = f"{shown(value)} is not {rule.operation} {shown(reference)}"
                return Verdict(False, sentence)
    return PASSED


def _compares(value: Value, operation: str, reference: Value) -> bool:
    if operation in ("=", "!="):
        return (value == reference) == (operation == "=")
    assert isinstance(value, Fraction)
    assert isinstance(reference, Fraction)
    return COMPARE[operation](value, reference)


def _among_themselves(rule: ComparisonRule, case: _Case) -> Verdict:
    measurer = Measurer(case.rule_set, case.match, None, case.readings)
    types = case.rule_set.scope.attributes
    singles: list[Value] = []
    lists: list[list[Value]] = []
    for measurement in rule.measurements:
        value = measurer.value(measurement)
        depth = type_of(measurement, types).depth
        if depth == 0:
            singles.append(value)
        else:
            lists += _lists_at(value, depth - 1)
    for values in [singles, *lists]:
        different = len(set(map(_hashable, values)))
        if rule.operation == "=" and different > 1:
            return Verdict(False, f"{_some(values)} are not all equal")
        if rule.operation == "!=" and different < len(values):
            return Verdict(False, f"{_some(values)} are not all different")
    return PASSED


def _hashable(value: Value) -> Fraction | str:
    assert isinstance(value, Fraction | str)
    return value


def _some(values: list[Value]) -> str:
    return ", ".join(shown(each) for each in values[:10]) + (", ..." if len(values) > 10 else "")


def _lists_at(value: Value, depth: int) -> Iterator[list[Value]]:
    """Yield the lists at a depth of nesting."""
    assert isinstance(value, list)
    if depth == 0:
        yield value
        return
    for each in value:
        yield from _lists_at(each, depth - 1)


# Distance


def _distance(rule: DistanceRule, case: _Case) -> Verdict:
    measurer = Measurer(case.rule_set, case.match, rule.party, case.readings)
    reference = measurer.value(rule.reference)
    assert isinstance(reference, Fraction)
    for measurement in rule.measurements:
        for value in measurer.leaves(measurement):
            assert isinstance(value, Fraction)
            distance = abs(value - reference)
            said = f"{shown(value)} is {shown(distance)} from {shown(reference)}"
            if rule.distance_max is not None and distance > exact(rule.distance_max):
                return Verdict(False, f"{said}, at most {rule.distance_max:g} is allowed")
            if rule.distance_min is not None and distance < exact(rule.distance_min):
                return Verdict(False, f"{said}, at least {rule.distance_min:g} is needed")
    return PASSED


def _batch_distance(rule: BatchDistanceRule, case: _Case) -> Verdict:
    measurer = Measurer(case.rule_set, case.match, rule.party, case.readings)
    values = [v for each in case.match.tickets() for v in measurer.attribute(each, rule.attribute)]
    if rule.distance_max is None:
        if len(set(map(_hashable, values))) > 1:
            return Verdict(False, f"the players have {_some(values)} as {rule.attribute}")
        return PASSED
    spread = fold("max", values, case.readings) - fold("min", values, case.readings)
    if spread > exact(rule.distance_max):
        allowed = f"at most {rule.distance_max:g} is allowed"
        return Verdict(False, f"the tickets are {shown(spread)} {rule.attribute} apart, {allowed}")
    return PASSED


# Collection


def _collection(rule: CollectionRule, case: _Case) -> Verdict:
    if rule.operation == "contains":
        one_by_one = case.readings.contains == "players"
        readings = msgspec.structs.replace(case.readings, party_weight="ticket")
        party = None if one_by_one else rule.party
        measurer = Measurer(case.rule_set, case.match, party, readings)
    else:
        measurer = Measurer(case.rule_set, case.match, rule.party, case.readings)
    for measurement in rule.measurements:
        for count in _counts(rule, measurement, measurer, case):
            said = f"{rule.operation} counts {count}"
            if rule.count_min is not None and count < exact(rule.count_min):
                return Verdict(False, f"{said}, at least {rule.count_min:g} is needed")
            if rule.count_max is not None and count > exact(rule.count_max):
                return Verdict(False, f"{said}, at most {rule.count_max:g} is allowed")
    return PASSED


def _counts(
    rule: CollectionRule, measurement: Expression, measurer: Measurer, case: _Case
) -> Iterator[int]:
    """Yield the numbers to which the bounds of a collection rule apply."""
    value = measurer.value(measurement)
    depth = type_of(measurement, case.rule_set.scope.attributes).depth
    reference = None if rule.reference is None else measurer.value(rule.reference)
    if rule.operation == "reference_intersection_count":
        assert reference is not None
        wanted = set(leaves_of(reference))
        for collection in _lists_at(value, depth - 1):
            yield len(wanted.intersection(map(_hashable, collection)))
    elif depth == 1:
        assert isinstance(value, list)
        if rule.operation == "contains":
            yield value.count(_hashable(reference or ""))
        else:
            yield len(set(map(_hashable, value)))
    else:
        for collections in _lists_at(value, depth - 2):
            sets = [each for each in collections if isinstance(each, list)]
            if rule.operation == "contains":
                yield sum(1 for each in sets if reference in each)
            else:
                yield len(intersection(sets))


# Latency


def _latency(rule: LatencyRule, case: _Case) -> Verdict:
    measured: list[tuple[dict[str, Fraction], int]] = []
    for ticket in case.match.tickets():
        silent = [each.id for each in ticket.players if not each.latencies]
        if silent:
            return Verdict(None, f"the player {silent[0]} has no latencies", bars=True)
        weight = len(ticket.players) if case.readings.party_weight == "players" else 1
        measured.append((_of_party(ticket, rule.party, case.readings), weight))
    common = [place for place in measured[0][0] if all(place in each for each, _ in measured)]
    limit = rule.latency_ms_max
    near = [
        place
        for place in common
        if limit is None or all(each[place] <= exact(limit) for each, _ in measured)
    ]
    if not near:
        within = "" if limit is None else f" within {limit:g} ms"
        return Verdict(False, f"no location suits all tickets{within}")
    if rule.distance_ms_max is None:
        return PASSED
    for place in near:
        weighted: list[Value] = []
        for each, weight in measured:
            weighted += [each[place]] * weight
        assert rule.distance_reference is not None
        reference = fold(rule.distance_reference, weighted, case.readings)
        if all(abs(each[place] - reference) <= exact(rule.distance_ms_max) for each, _ in measured):
            return PASSED
    apart = f"the {rule.distance_reference} by at most {rule.distance_ms_max:g} ms"
    return Verdict(False, f"in no location all tickets differ from {apart}")


def _of_party(ticket: CandidateTicket, party: Merge, readings: Readings) -> dict[str, Fraction]:
    """Return the merged latency of a ticket for each location that all its players report."""
    reported = [each.latencies or {} for each in ticket.players]
    return {
        place: fold(party, [exact(each[place]) for each in reported], readings)
        for place in reported[0]
        if all(place in each for each in reported)
    }
