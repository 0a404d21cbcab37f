"""Write a rule set as the text of a file: plain JSON, without comments or defaults."""

from __future__ import annotations

import msgspec

from evenmatch.rules.flexmatch.expansion_reader import ALGORITHM_FIELDS, RULE_FIELDS, TEAM_FIELDS
from evenmatch.rules.flexmatch.expressions import (
    Call,
    Constant,
    Expression,
    Property,
    Scope,
    render_expression,
)
from evenmatch.rules.flexmatch.rule_set import (
    Algorithm,
    AlgorithmExpansion,
    BatchDistanceRule,
    CollectionRule,
    ComparisonRule,
    CompoundRule,
    DistanceRule,
    FlexExpansion,
    FlexRule,
    LatencyRule,
    RuleExpansion,
    RuleSet,
    SortRule,
    TeamDefinition,
    TeamExpansion,
)
from evenmatch.rules.flexmatch.statements import render_statement

Table = dict[str, object]


def render_rule_set(rule_set: RuleSet) -> str:
    """Return the JSON text of a rule set; reading it gives an equal one."""
    scope = rule_set.scope
    table: Table = {"name": rule_set.name or None, "ruleLanguageVersion": "1.0"}
    table["playerAttributes"] = [
        _kept({"name": each.name, "type": each.type, "default": each.default})
        for each in rule_set.attributes
    ]
    table["algorithm"] = _algorithm(rule_set.algorithm)
    table["teams"] = [_team(each) for each in rule_set.teams]
    table["rules"] = [_rule(each, scope) for each in rule_set.rules]
    table["expansions"] = [_expansion(each, scope) for each in rule_set.expansions]
    text = msgspec.json.encode({key: value for key, value in table.items() if value})
    return msgspec.json.format(text, indent=2).decode() + "\n"


def _kept(table: Table) -> Table:
    """Return a table without the keys that have no value."""
    return {key: value for key, value in table.items() if value is not None}


def _number(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() and abs(value) < 1e15 else value


def _algorithm(algorithm: Algorithm) -> Table:
    return _kept(
        {
            "strategy": algorithm.strategy,
            "batchingPreference": algorithm.batching,
            "sortByAttributes": algorithm.sort_by or None,
            "balancedAttribute": algorithm.balanced_attribute or None,
            "expansionAgeSelection": algorithm.age,
            "backfillPriority": algorithm.backfill_priority,
        }
    )


def _team(team: TeamDefinition) -> Table:
    return _kept(
        {
            "name": team.name,
            "minPlayers": team.players_min,
            "maxPlayers": team.players_max,
            "quantity": team.quantity if team.quantity > 1 else None,
        }
    )


def _value(expression: Expression | None, scope: Scope) -> object:
    if isinstance(expression, Constant):
        value = expression.value
        return _number(value) if isinstance(value, float) else value
    return None if expression is None else render_expression(expression, scope)


def _rule(rule: FlexRule, scope: Scope) -> Table:
    table: Table = {"name": rule.name, "type": _type(rule)}
    table["description"] = rule.description or None
    match rule:
        case SortRule():
            table |= {
                "sortAttribute": rule.attribute,
                "sortDirection": rule.direction,
                "mapKey": rule.map_key,
            }
        case BatchDistanceRule():
            table |= {"batchAttribute": rule.attribute}
        case CompoundRule():
            table |= {"statement": render_statement(rule.statement)}
        case ComparisonRule() | DistanceRule() | CollectionRule():
            table["measurements"] = [render_expression(each, scope) for each in rule.measurements]
        case LatencyRule():
            table["distanceReference"] = rule.distance_reference
    if isinstance(rule, ComparisonRule | CollectionRule):
        table["operation"] = rule.operation
    for key, field in RULE_FIELDS[type(rule)].items():
        value = getattr(rule, field)
        is_number = value is None or isinstance(value, float)
        table[key] = _number(value) if is_number else _value(value, scope)
    if not isinstance(rule, CompoundRule):
        table["partyAggregation"] = rule.party
    if isinstance(rule, ComparisonRule) and rule.reference is None and rule.party == "avg":
        del table["partyAggregation"]
    return _kept(table)


def _type(rule: FlexRule) -> str:
    if isinstance(rule, SortRule):
        return f"{rule.kind}Sort"
    return str(rule.__struct_config__.tag)


def _expansion(expansion: FlexExpansion, scope: Scope) -> Table:
    match expansion:
        case RuleExpansion():
            fields = {field: key for each in RULE_FIELDS.values() for key, field in each.items()}
            target = f"rules[{','.join(expansion.rules)}].{fields[expansion.field]}"
        case TeamExpansion():
            keys = {field: key for key, field in TEAM_FIELDS.items()}
            target = f"teams[{','.join(expansion.teams)}].{keys[expansion.field]}"
        case AlgorithmExpansion():
            words = {field: key for key, field in ALGORITHM_FIELDS.items()}
            target = f"algorithm.{words[expansion.field]}"
    steps: list[Table] = []
    for step in expansion.steps:
        value = step.value
        if isinstance(value, Constant | Property | Call):
            shown = _value(value, scope)
        else:
            shown = _number(value) if isinstance(value, float) else value
        steps.append({"waitTimeSeconds": _number(step.wait), "value": shown})
    return {"target": target, "steps": steps}
