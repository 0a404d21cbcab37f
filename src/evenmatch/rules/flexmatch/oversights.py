"""Rules of a rule set without purpose: those without effect, contradictions, unread attributes.

AWS accepts all of these. Two rules that require different values of one thing are never satisfied
together, which is an error; a rule that every match satisfies, and an attribute that nothing reads
but that every player must have, are warnings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from evenmatch.rules.findings import FindingList, child_path, excerpt
from evenmatch.rules.flexmatch.bounds import Range, Sizes, bounds_of, players_of
from evenmatch.rules.flexmatch.expressions import (
    Call,
    Constant,
    Expression,
    Property,
    type_of,
)
from evenmatch.rules.flexmatch.rule_set import (
    BatchDistanceRule,
    CollectionRule,
    ComparisonRule,
    DistanceRule,
    FlexRule,
    RuleExpansion,
    RuleSet,
    SortRule,
)


def note_oversights(rule_set: RuleSet, sizes: Sizes, findings: FindingList) -> None:
    """Note rules without effect, rules that contradict each other, and unread attributes."""
    supporting = rule_set.supporting()
    _note_unread(rule_set, findings)
    fixed: list[tuple[int, ComparisonRule]] = []
    for number, rule in enumerate(rule_set.rules):
        if rule.name in supporting or not isinstance(rule, ComparisonRule):
            continue
        if rule.reference is None or _is_expanded(rule, rule_set):
            continue
        path = child_path(f"$.rules[{number}]", "referenceValue")
        if _always_holds(rule, rule_set, sizes):
            message = "always passes with these team sizes; change it, or delete the rule"
            findings.warning(path, message)
        if isinstance(rule.reference, Constant):
            other = _opponent(rule, fixed, sizes)
            if other is not None:
                message = f"never passes together with {other[1].name} ($.rules[{other[0]}])"
                hint = "both compare the same values; change one, or join them in a compound rule"
                findings.error(path, f"{message}: {hint}")
            fixed.append((number, rule))


def _is_expanded(rule: FlexRule, rule_set: RuleSet) -> bool:
    return any(
        isinstance(each, RuleExpansion) and rule.name in each.rules for each in rule_set.expansions
    )


# Attributes


def _note_unread(rule_set: RuleSet, findings: FindingList) -> None:
    """Record attributes that nothing reads, although players without them are never matched."""
    read = set(_read(rule_set))
    for number, attribute in enumerate(rule_set.attributes):
        if attribute.default is None and attribute.name not in read:
            message = (
                "is used by no rule, but has no default, so a player without it is never matched"
            )
            path = child_path(f"$.playerAttributes[{number}]", "name")
            findings.warning(path, f"{message}; give it a default, or delete it")


def _read(rule_set: RuleSet) -> Iterator[str]:
    """Yield the names of all attributes that are read anywhere."""
    yield rule_set.algorithm.balanced_attribute
    yield from rule_set.algorithm.sort_by
    for rule in rule_set.rules:
        if isinstance(rule, SortRule | BatchDistanceRule):
            yield rule.attribute
        elif isinstance(rule, ComparisonRule | DistanceRule | CollectionRule):
            for each in (*rule.measurements, *([] if rule.reference is None else [rule.reference])):
                yield from _named(each)
    for expansion in rule_set.expansions:
        for step in expansion.steps:
            if isinstance(step.value, Constant | Property | Call):
                yield from _named(step.value)


def _named(expression: Expression) -> Iterator[str]:
    while isinstance(expression, Call):
        expression = expression.argument
    if isinstance(expression, Property) and expression.attribute:
        yield expression.attribute


# Comparisons


def _always_holds(rule: ComparisonRule, rule_set: RuleSet, sizes: Sizes) -> bool:
    """Return whether the team sizes alone decide that a comparison holds."""
    attributes = rule_set.scope.attributes
    if rule.reference is None or type_of(rule.measurements[0], attributes).base != "number":
        return False
    (wanted,) = bounds_of(rule.reference, sizes)
    measured = [each for one in rule.measurements for each in bounds_of(one, sizes)]
    return all(_is_certain(each, rule.operation, wanted) for each in measured)


def _is_certain(one: Range, operation: str, other: Range) -> bool:
    """Return whether the comparison holds for all numbers of the two ranges."""
    if not all(map(math.isfinite, (one.least, one.most, other.least, other.most))):
        return False
    if operation == "=":
        return one.least == one.most == other.least == other.most
    if operation == "!=":
        return one.most < other.least or other.most < one.least
    return {
        "<": one.most < other.least,
        "<=": one.most <= other.least,
        ">": one.least > other.most,
        ">=": one.least >= other.most,
    }[operation]


def _opponent(
    rule: ComparisonRule, others: list[tuple[int, ComparisonRule]], sizes: Sizes
) -> tuple[int, ComparisonRule] | None:
    """Return an earlier rule with which a rule never holds, with its number."""
    own = [each for each in rule.measurements if players_of(each, sizes).least >= 1]
    for number, other in others:
        if other.party == rule.party and any(each in other.measurements for each in own):
            assert isinstance(rule.reference, Constant)
            assert isinstance(other.reference, Constant)
            one, two = rule.reference.value, other.reference.value
            if not _can_both_hold((rule.operation, one), (other.operation, two)):
                return number, other
    return None


Demand = tuple[str, float | str | tuple[str, ...]]
"""An operation and the value on its right."""


def _can_both_hold(one: Demand, other: Demand) -> bool:
    """Return whether one value satisfies two comparisons.

    >>> _can_both_hold(("=", "x"), ("=", "y")), _can_both_hold((">=", 5.0), ("<=", 5.0))
    (False, True)
    """
    for (operation, value), (against, bound) in ((one, other), (other, one)):
        if operation == "=":
            return _holds(value, against, bound)
    (operation, value), (against, bound) = one, other
    if not (isinstance(value, float) and isinstance(bound, float)):
        return True
    low = [v for op, v in ((operation, value), (against, bound)) if op[0] == ">"]
    high = [v for op, v in ((operation, value), (against, bound)) if op[0] == "<"]
    if not low or not high:
        return True
    is_closed = operation[1:] == against[1:] == "="
    return low[0] < high[0] or (is_closed and low[0] == high[0])


def _holds(value: object, operation: str, bound: object) -> bool:
    if operation in ("=", "!="):
        return (value == bound) is (operation == "=")
    assert isinstance(value, float), excerpt(value)
    assert isinstance(bound, float), excerpt(bound)
    return {
        "<": value < bound,
        "<=": value <= bound,
        ">": value > bound,
        ">=": value >= bound,
    }[operation]
