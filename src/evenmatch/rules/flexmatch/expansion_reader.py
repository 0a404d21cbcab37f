"""Expansions of a rule set: their targets, and the ages from which on they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from evenmatch.rules.fields import Fields
from evenmatch.rules.findings import excerpt
from evenmatch.rules.flexmatch.expressions import Expression, Scope, ValueType, type_of
from evenmatch.rules.flexmatch.rule_reader import reference_at
from evenmatch.rules.flexmatch.rule_set import (
    BACKFILL_PRIORITIES,
    BATCHINGS,
    STRATEGIES,
    AlgorithmExpansion,
    AlgorithmField,
    BatchDistanceRule,
    CollectionRule,
    ComparisonRule,
    CompoundRule,
    DistanceRule,
    ExpansionStep,
    FlexExpansion,
    FlexRule,
    LatencyRule,
    RuleExpansion,
    RuleField,
    SortRule,
    TeamDefinition,
    TeamExpansion,
    TeamField,
)

TARGET = re.compile(r"(rules?|teams?)\s*\[([^\[\]]*)\]\s*\.\s*(\w+)|algorithm\s*\.\s*(\w+)")
WAIT_MAX = 43_200
"""Seconds: the longest request timeout that AWS takes."""

RULE_FIELDS: dict[type[FlexRule], dict[str, RuleField]] = {
    ComparisonRule: {"referenceValue": "reference"},
    DistanceRule: {
        "maxDistance": "distance_max",
        "minDistance": "distance_min",
        "referenceValue": "reference",
    },
    BatchDistanceRule: {"maxDistance": "distance_max"},
    CollectionRule: {
        "minCount": "count_min",
        "maxCount": "count_max",
        "referenceValue": "reference",
    },
    LatencyRule: {"maxLatency": "latency_ms_max", "maxDistance": "distance_ms_max"},
    SortRule: {},
    CompoundRule: {},
}
"""The fields of each type of rule that an expansion can change, by their names in the language."""
TEAM_FIELDS: dict[str, TeamField] = {"minPlayers": "players_min", "maxPlayers": "players_max"}
ALGORITHM_FIELDS: dict[str, AlgorithmField] = {
    "strategy": "strategy",
    "batchingPreference": "batching",
    "balancedAttribute": "balanced_attribute",
    "backfillPriority": "backfill_priority",
}
ALGORITHM_WORDS: dict[AlgorithmField, tuple[str, ...]] = {
    "strategy": STRATEGIES,
    "batching": BATCHINGS,
    "backfill_priority": BACKFILL_PRIORITIES,
}
"""The words that a field of the algorithm may be; one without names an attribute."""


class _Target(NamedTuple):
    kind: Literal["rules", "teams", "algorithm"]
    names: tuple[str, ...]
    field: str


def read_expansions(
    objects: list[Fields],
    rules: Mapping[str, FlexRule],
    teams: tuple[TeamDefinition, ...],
    scope: Scope,
) -> tuple[FlexExpansion, ...]:
    """Return the usable expansions; findings receive the errors of the others.

    Args:
        objects: One for each expansion.
        rules: By name.
        teams: As the rule set defines them.
        scope: The names that expressions may use.
    """
    expansions: list[FlexExpansion] = []
    seen: dict[tuple[str, str], str] = {}
    for fields in objects:
        target = _target_of(fields)
        expansion: FlexExpansion | None = None
        if target is not None:
            _note_again(fields, target, seen)
            if target.kind == "rules":
                expansion = _of_rules(fields, target, rules, scope)
            elif target.kind == "teams":
                expansion = _of_teams(fields, target, teams)
            else:
                expansion = _of_algorithm(fields, target)
        else:
            fields.raw("steps")
        fields.end("an expansion")
        if expansion is not None:
            expansions.append(expansion)
    return tuple(expansions)


def _target_of(fields: Fields) -> _Target | None:
    text = fields.text("target", is_needed=True)
    if not text:
        return None
    match = TARGET.fullmatch(text.strip())
    if match is None:
        message = "must be like rules[name].maxDistance, teams[name].minPlayers or"
        message = f"{message} algorithm.strategy, got {excerpt(text)}"
        fields.findings.error(fields.at("target"), message)
        return None
    if match[4]:
        return _Target("algorithm", (), match[4])
    if match[1] in ("rule", "team"):
        message = f"begins with {match[1]}[...]; AWS writes {match[1]}s[...]"
        fields.findings.warning(fields.at("target"), message)
    names = tuple(dict.fromkeys(each.strip() for each in match[2].split(",")))
    return _Target("rules" if match[1].startswith("rule") else "teams", names, match[3])


def _note_again(fields: Fields, target: _Target, seen: dict[tuple[str, str], str]) -> None:
    for name in target.names or ("algorithm",):
        place = (f"{target.kind}[{name}]", target.field)
        if place in seen:
            message = f"is also the target of {seen[place]}; once both have begun, this one counts"
            fields.findings.warning(fields.at("target"), f"{message}; put all steps into one")
        seen[place] = fields.path


def _of_rules(
    fields: Fields, target: _Target, rules: Mapping[str, FlexRule], scope: Scope
) -> FlexExpansion | None:
    path = fields.at("target")
    field: RuleField | None = None
    wanted: set[ValueType] = set()
    for name in target.names:
        rule = rules.get(name)
        if rule is None:
            hint = fields.findings.hint(name, rules)
            message = f"names the rule {name!r}, which there is not; name one of rules{hint}"
            fields.findings.error(path, message)
            continue
        possible = RULE_FIELDS[type(rule)]
        if target.field not in possible:
            fields.findings.error(path, _no_such_field(rule, target.field, possible, fields))
            continue
        field = possible[target.field]
        _check_use(fields, rule, field, scope)
        if field == "reference":
            wanted |= _reference_types(fields, rule, scope)
    if len(wanted) > 1:
        message = "expands references of different types; write an expansion for each"
        fields.findings.error(path, message)
    if field is None:
        fields.raw("steps")
        return None
    steps = _read_references(fields, wanted.pop(), scope) if wanted else _read_numbers(fields)
    return RuleExpansion(rules=target.names, field=field, steps=steps)


def _check_use(fields: Fields, rule: FlexRule, field: RuleField, scope: Scope) -> None:
    """Refuse a distance that its rule does not use."""
    message = ""
    if isinstance(rule, BatchDistanceRule) and scope.attributes.get(rule.attribute) == "string":
        message = f"never applies: {rule.name} compares {rule.attribute}, a string; leave it out"
    if isinstance(rule, LatencyRule) and field == "distance_ms_max" and not rule.distance_reference:
        message = f"never applies: {rule.name} has no distanceReference; give it min or avg"
    if message:
        fields.findings.error(fields.at("target"), message)


def _no_such_field(
    rule: FlexRule, field: str, possible: Mapping[str, RuleField], fields: Fields
) -> str:
    if isinstance(rule, CompoundRule):
        return f"cannot be {field}: {rule.name} is a compound rule; expand the rules that it names"
    if isinstance(rule, SortRule):
        return f"cannot be {field}: {rule.name} sorts, and nothing of it can be expanded"
    hint = fields.findings.hint(field, possible)
    return f"cannot be {field} of {rule.name}; it has {', '.join(possible)}{hint}"


def _reference_types(fields: Fields, rule: FlexRule, scope: Scope) -> set[ValueType]:
    """Return the type of a rule's reference; nothing, and an error, if there is none to expand."""
    if isinstance(rule, DistanceRule):
        return {ValueType("number")}
    if isinstance(rule, CollectionRule) and rule.reference is not None:
        return {ValueType("string", int(rule.operation == "reference_intersection_count"))}
    if isinstance(rule, ComparisonRule) and rule.reference is not None:
        return {ValueType(type_of(rule.reference, scope.attributes).base)}
    message = f"expands the referenceValue of {rule.name}, which has none; give it one"
    fields.findings.error(fields.at("target"), message)
    return set()


def _of_teams(
    fields: Fields, target: _Target, teams: tuple[TeamDefinition, ...]
) -> FlexExpansion | None:
    path = fields.at("target")
    names = [each.name for each in teams]
    wanted = tuple(names) if target.names == ("*",) else target.names
    unknown = [name for name in wanted if name not in names]
    for name in unknown:
        hint = fields.findings.hint(name, names)
        message = f"names the team {name!r}, which teams does not define{hint}"
        fields.findings.error(path, message)
    field = TEAM_FIELDS.get(target.field)
    if field is None:
        hint = fields.findings.hint(target.field, TEAM_FIELDS)
        allowed = " or ".join(TEAM_FIELDS)
        fields.findings.error(path, f"must end with {allowed}, got {target.field}{hint}")
        fields.raw("steps")
        return None
    steps = _read_numbers(fields, is_count=True)
    return TeamExpansion(teams=wanted, field=field, steps=steps)


def _of_algorithm(fields: Fields, target: _Target) -> FlexExpansion | None:
    field = ALGORITHM_FIELDS.get(target.field)
    if field is None:
        hint = fields.findings.hint(target.field, ALGORITHM_FIELDS)
        message = f"must end with one of {', '.join(ALGORITHM_FIELDS)}, got {target.field}{hint}"
        fields.findings.error(fields.at("target"), message)
        fields.raw("steps")
        return None
    words = ALGORITHM_WORDS.get(field)
    steps = []
    for step, wait in _waits(fields):
        value = step.word("value", words) if words else step.text("value", is_needed=True)
        steps.append(ExpansionStep(wait, value))
    return AlgorithmExpansion(field=field, steps=tuple(steps))


# Steps


def _waits(fields: Fields) -> Iterable[tuple[Fields, float]]:
    """Yield the steps with their ages, which must ascend."""
    before: float | None = None
    objects = fields.objects("steps", is_needed=True)
    if fields.raw("steps") == []:
        fields.findings.error(fields.at("steps"), "must have at least one step")
    for step in objects:
        wait = step.number("waitTimeSeconds", is_needed=True)
        path = step.at("waitTimeSeconds")
        if wait is not None:
            if wait < 0:
                step.findings.error(path, f"must be at least 0 s, got {wait:g}")
            elif before is not None and wait <= before:
                message = f"must be more than {before:g} s, that of the step before; waits count"
                step.findings.error(path, f"{message} from the start, got {wait:g}")
            elif wait == 0:
                step.findings.warning(path, "is 0, so the step always counts; put it in the rule")
            elif wait > WAIT_MAX:
                shown = f"{wait:,.0f}" if wait < 1e15 else f"{wait:g}"
                message = f"is never reached: AWS ends a request after {WAIT_MAX:,} s at most"
                step.findings.warning(path, f"{message}, got {shown}")
            before = wait
        yield step, wait or 0.0
        step.end("a step")


def _read_numbers(fields: Fields, *, is_count: bool = False) -> tuple[ExpansionStep, ...]:
    steps = []
    for step, wait in _waits(fields):
        value = step.number("value", is_needed=True)
        if is_count and value is not None and not (value.is_integer() and 0 <= value <= 200):
            message = f"must be a whole number from 0 to 200, got {excerpt(step.raw('value'))}"
            step.findings.error(step.at("value"), message)
        steps.append(ExpansionStep(wait, value or 0.0))
    return tuple(steps)


def _read_references(fields: Fields, wanted: ValueType, scope: Scope) -> tuple[ExpansionStep, ...]:
    steps = []
    for step, wait in _waits(fields):
        value: Expression | None = None
        if step.has("value"):
            raw, path = step.raw("value"), step.at("value")
            value = reference_at(raw, path, wanted, scope, step.findings)
        else:
            step.findings.error(step.at("value"), "is missing; give it a reference value")
        if value is not None:
            steps.append(ExpansionStep(wait, value))
    return tuple(steps)
