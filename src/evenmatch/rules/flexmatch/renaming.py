"""Gives the attributes of a rule set the names that they have in tickets."""

from __future__ import annotations

from msgspec.structs import replace

from evenmatch.model.ticket_names import ticket_name
from evenmatch.rules.flexmatch.expressions import Call, Constant, Expression, Property
from evenmatch.rules.flexmatch.rule_set import (
    BatchDistanceRule,
    CollectionRule,
    ComparisonRule,
    DistanceRule,
    FlexExpansion,
    FlexRule,
    RuleExpansion,
    RuleSet,
    SortRule,
)


def with_ticket_names(rule_set: RuleSet) -> RuleSet:
    """Return a rule set whose attributes are called as in tickets; see `model.ticket_names`."""
    if all(each.name == ticket_name(each.name) for each in rule_set.attributes):
        return rule_set
    algorithm = rule_set.algorithm
    return replace(
        rule_set,
        attributes=tuple(
            [replace(each, name=ticket_name(each.name)) for each in rule_set.attributes]
        ),
        rules=tuple([_rule(each) for each in rule_set.rules]),
        expansions=tuple([_expansion(each) for each in rule_set.expansions]),
        algorithm=replace(algorithm, balanced_attribute=ticket_name(algorithm.balanced_attribute)),
    )


def _rule(rule: FlexRule) -> FlexRule:
    if isinstance(rule, BatchDistanceRule | SortRule):
        return replace(rule, attribute=ticket_name(rule.attribute))
    if isinstance(rule, ComparisonRule | DistanceRule | CollectionRule):
        measurements = tuple([_expression(each) for each in rule.measurements])
        reference = None if rule.reference is None else _expression(rule.reference)
        return replace(rule, measurements=measurements, reference=reference)
    return rule


def _expansion(expansion: FlexExpansion) -> FlexExpansion:
    if not isinstance(expansion, RuleExpansion):
        return expansion
    steps = [
        replace(step, value=_expression(step.value))
        if isinstance(step.value, Constant | Property | Call)
        else step
        for step in expansion.steps
    ]
    return replace(expansion, steps=tuple(steps))


def _expression(expression: Expression) -> Expression:
    if isinstance(expression, Call):
        return replace(expression, argument=_expression(expression.argument))
    if isinstance(expression, Property):
        return replace(expression, attribute=ticket_name(expression.attribute))
    return expression
