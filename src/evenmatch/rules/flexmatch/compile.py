"""From a rule set to a queue: the format of its matches, its conditions, and its criteria.

Requirements on matches become conditions, in the readings that the checker lists. Preferences
become criteria: the sort rules in their order, the attribute that the set balances, and, if it has
neither, the numbers that its distance rules compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from evenmatch.criteria.base import Form, NumberGap
from evenmatch.criteria.condition.ages import by_age
from evenmatch.criteria.registry import kind_with
from evenmatch.model.condition import (
    AllOf,
    AnyOf,
    AttributeTest,
    Condition,
    DistanceTest,
    ExactlyOne,
    FixedValue,
    FoldOf,
    Measured,
    NotOf,
    PlaceTest,
    SetTest,
    SizeTest,
    SpreadTest,
    TeamProperty,
    Test,
    ValueTest,
)
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale, Sort
from evenmatch.model.ticket import LATENCY
from evenmatch.rules.flexmatch.checker.match import Readings
from evenmatch.rules.flexmatch.expressions import Call, Constant, Expression, Property
from evenmatch.rules.flexmatch.renaming import with_ticket_names
from evenmatch.rules.flexmatch.rule_set import (
    BatchDistanceRule,
    CollectionRule,
    ComparisonRule,
    CompoundRule,
    DistanceRule,
    ExpansionStep,
    FlexRule,
    LatencyRule,
    PlayerAttribute,
    RuleExpansion,
    RuleSet,
    SortRule,
    TeamExpansion,
)
from evenmatch.rules.flexmatch.statements import RuleName, Statement

RULES_MAX = 16
"""Most rules of a queue; the remaining rules of a rule set are joined to the last of them."""
CRITERIA_MAX = 16
"""Most criteria of a queue; what would be more of them says nothing of how good a match is."""
GAP_COMPARED = 100.0
"""The gap of a number that costs half of the most that one criterion may cost."""
SORTED = ("number", "string_number_map")
SortOrder = Literal["high", "low", "near", "far"]
KEYS: dict[str | None, Literal["max", "min"] | None] = {
    None: None,
    "maxValue": "max",
    "minValue": "min",
}
SORTING = Scale(knee=GAP_COMPARED)
SIZES, ATTRIBUTES = "team sizes", "player attributes"
POLICY = "by_rules"


class CompiledRuleSet(msgspec.Struct, frozen=True):
    """A rule set in the form of a queue.

    Args:
        format: The widest sizes of its teams over all ages.
        criteria: How good a match is.
        rules: What makes it legal.
        attributes: The attributes that tickets may have.
        defaults: Their values if a ticket has none.
        sources: For each criterion, the part of the rule set that it comes from.
    """

    format: Format
    criteria: tuple[Criterion, ...]
    rules: tuple[Rule, ...]
    attributes: tuple[str, ...]
    defaults: tuple[tuple[str, float | str | tuple[str, ...]], ...] = ()
    sources: tuple[str, ...] = ()

    def queue(self, base: Queue) -> Queue:
        """Return a queue that plays by the rule set, with everything else unchanged."""
        return msgspec.structs.replace(
            base,
            format=self.format,
            criteria=self.criteria,
            rules=self.rules,
            attributes=tuple(dict.fromkeys((*base.attributes, *self.attributes))),
            defaults=self.defaults,
        )


def compile_rule_set(rule_set: RuleSet, readings: Readings | None = None) -> CompiledRuleSet:
    """Return the format, the conditions and the criteria of a rule set without errors.

    Args:
        rule_set: The rule set.
        readings: How to interpret what the language leaves open; None: the checker's default.
    """
    rule_set = with_ticket_names(rule_set)
    compiler = _Compiler(rule_set, readings or Readings())
    form = compiler.format()
    criteria = _criteria(rule_set, form)
    return CompiledRuleSet(
        format=form,
        criteria=tuple([criterion for criterion, _ in criteria]),
        rules=compiler.rules(),
        attributes=tuple([each.name for each in rule_set.attributes]),
        defaults=tuple(
            [
                (each.name, each.default)
                for each in rule_set.attributes
                if each.default is not None and not isinstance(each.default, dict)
            ]
        ),
        sources=tuple([source for _, source in criteria]),
    )


def join_conditions(rules: Sequence[Rule], most: int) -> tuple[Rule, ...]:
    """Return conditions as at most `most` rules, one or more: the remaining ones are joined."""
    if len(rules) <= most:
        return tuple(rules)
    rest = [each.condition for each in rules[most - 1 :] if each.condition is not None]
    name = ", ".join([each.name for each in rest])
    one = Condition(name, AllOf(tuple([each.test for each in rest])), rest[0].clock)
    return (*rules[: most - 1], Rule(rules[0].kind, condition=one))


class _Compiler:
    def __init__(self, rule_set: RuleSet, readings: Readings) -> None:
        self._rule_set = rule_set
        self._readings = readings
        self._is_once = readings.party_weight == "ticket"
        self._teams = {name: number for number, name in enumerate(rule_set.scope.all_teams())}
        self._attributes = {each.name: each for each in rule_set.attributes}
        self._tests: dict[str, Test] = {}
        for rule in rule_set.rules:
            self._tests[rule.name] = self._scheduled(rule)

    # The format

    def format(self) -> Format:
        """Return the widest sizes of the teams, and their names."""
        sizes = self._sizes()
        least = tuple(map(min, zip(*[each.least for each in sizes.values()], strict=True)))
        most = tuple(map(max, zip(*[each.most for each in sizes.values()], strict=True)))
        return Format(most, tuple(self._teams), players_min=() if least == most else least)

    def _sizes(self) -> dict[float, SizeTest]:
        """Return the sizes of the teams by the age from which on they hold."""
        expansions = [e for e in self._rule_set.expansions if isinstance(e, TeamExpansion)]
        found: dict[float, SizeTest] = {}
        for wait in _waits([each.steps for each in expansions]):
            least: list[int] = []
            most: list[int] = []
            for team in self._rule_set.teams:
                own = [each for each in expansions if team.name in each.teams]
                fewest = _value_at(own, "players_min", wait, team.players_min)
                highest = _value_at(own, "players_max", wait, team.players_max)
                assert isinstance(fewest, float | int)
                assert isinstance(highest, float | int)
                least += [int(fewest)] * team.quantity
                most += [int(highest)] * team.quantity
            found[wait] = SizeTest(tuple(least), tuple(most))
        return found

    # Rules

    def rules(self) -> tuple[Rule, ...]:
        """Return the conditions of a match, each as a rule."""
        named: list[tuple[str, Test]] = [(SIZES, by_age(self._sizes()))]
        supporting = self._rule_set.supporting()
        brought = [_declared(each) for each in self._rule_set.attributes]
        if any(isinstance(each, LatencyRule) for each in self._rule_set.rules):
            test = AttributeTest(attribute=LATENCY, kind="string_number_map", is_filled=True)
            brought.append(test)
        if brought:
            named.append((ATTRIBUTES, AllOf(tuple(brought))))
        named += [
            (rule.name, self._tests[rule.name])
            for rule in self._rule_set.rules
            if rule.name not in supporting and not isinstance(rule, SortRule)
        ]
        age, kind = self._rule_set.algorithm.age, kind_with(Form.CONDITION)
        rules = [Rule(kind, condition=Condition(name, test, age)) for name, test in named]
        return join_conditions(rules, RULES_MAX)

    def _scheduled(self, rule: FlexRule) -> Test:
        """Return the requirement of a rule, by age."""
        if isinstance(rule, CompoundRule):
            return self._statement(rule.statement)
        expansions = [
            each
            for each in self._rule_set.expansions
            if isinstance(each, RuleExpansion) and rule.name in each.rules
        ]
        tests: dict[float, Test] = {}
        for wait in _waits([each.steps for each in expansions]):
            changed = {
                each.field: _value_at(expansions, each.field, wait, getattr(rule, each.field))
                for each in expansions
            }
            tests[wait] = self._test(msgspec.structs.replace(rule, **changed))
        return by_age(tests)

    def _statement(self, statement: Statement) -> Test:
        if isinstance(statement, RuleName):
            return self._tests[statement.name]
        parts = tuple([self._statement(part) for part in statement.parts])
        if statement.operator == "not":
            return NotOf(parts[0])
        if statement.operator == "and":
            return AllOf(parts)
        return AnyOf(parts) if statement.operator == "or" else ExactlyOne(parts)

    def _test(self, rule: FlexRule) -> Test:
        if isinstance(rule, ComparisonRule):
            return ValueTest(
                measured=self._all(rule.measurements),
                operator=rule.operation,
                reference=None if rule.reference is None else self._measured(rule.reference),
                # Without a reference each player's own value counts.
                party=None if rule.reference is None else rule.party,
                is_once=self._is_once and rule.reference is not None,
            )
        if isinstance(rule, DistanceRule):
            return DistanceTest(
                measured=self._all(rule.measurements),
                reference=self._measured(rule.reference),
                least=rule.distance_min,
                most=rule.distance_max,
                party=rule.party,
                is_once=self._is_once,
            )
        if isinstance(rule, BatchDistanceRule):
            of = self._property(tuple(self._teams.values()), rule.attribute)
            return SpreadTest(of=of, most=rule.distance_max, party=rule.party)
        if isinstance(rule, CollectionRule):
            return self._set_test(rule)
        if isinstance(rule, LatencyRule):
            return PlaceTest(
                ms_max=rule.latency_ms_max,
                distance_max=rule.distance_ms_max,
                reference=rule.distance_reference or "min",
                party=rule.party,
            )
        return AllOf()

    def _set_test(self, rule: CollectionRule) -> Test:
        holders = rule.operation == "contains"
        shared = rule.operation == "intersection"
        is_apart = holders and self._readings.contains == "players"
        reference = None if rule.reference is None or shared else self._measured(rule.reference)
        return SetTest(
            measured=self._all(rule.measurements),
            counts="holders" if holders else "shared" if shared else "in_reference",
            reference=reference,
            least=rule.count_min,
            most=rule.count_max,
            # Each player's own collection counts by itself, unless interpreted otherwise.
            party=None if is_apart else rule.party,
            is_once=holders and not is_apart,
        )

    # Expressions

    def _all(self, expressions: Sequence[Expression]) -> tuple[Measured, ...]:
        return tuple([self._measured(each) for each in expressions])

    def _measured(self, expression: Expression) -> Measured:
        if isinstance(expression, Constant):
            return FixedValue(expression.value)
        if isinstance(expression, Call):
            is_sample = self._readings.stddev == "sample" and expression.function == "stddev"
            name = "stddev_sample" if is_sample else expression.function
            return FoldOf(name, self._measured(expression.argument))
        teams = tuple([self._teams[name] for name in expression.teams])
        if expression.what == "attribute":
            return self._property(teams, expression.attribute, is_grouped=expression.is_grouped)
        return TeamProperty(teams=teams, is_grouped=expression.is_grouped, what=expression.what)

    def _property(
        self, teams: tuple[int, ...], attribute: str, *, is_grouped: bool = False
    ) -> TeamProperty:
        declared = self._attributes[attribute]
        default = declared.default
        return TeamProperty(
            teams=teams,
            is_grouped=is_grouped,
            what="attribute",
            attribute=attribute,
            kind=declared.type,
            default=None if isinstance(default, dict) else default,
        )


def _declared(attribute: PlayerAttribute) -> Test:
    return AttributeTest(
        attribute=attribute.name, kind=attribute.type, is_needed=attribute.default is None
    )


# Schedules

Expansion = RuleExpansion | TeamExpansion


def _waits(schedules: Iterable[Sequence[ExpansionStep]]) -> list[float]:
    """Return the ages at which something changes, ascending from 0."""
    return sorted({0.0} | {step.wait for steps in schedules for step in steps})


def _value_at(expansions: Sequence[Expansion], field: str, wait: float, start: object) -> object:
    """Return a value at an age: the last expansion of it that has begun decides."""
    value = start
    for each in expansions:
        begun = [step.value for step in each.steps if step.wait <= wait]
        if each.field == field and begun:
            value = begun[-1]
    return value


# Criteria


def _criteria(rule_set: RuleSet, form: Format) -> list[tuple[Criterion, str]]:
    """Return the criteria, as many as a queue may have, each with the part that it comes from."""
    declared = {each.name: each for each in rule_set.attributes}
    teams = len(form.players)
    found = _by_sort_rules(rule_set, declared, form)
    balanced = rule_set.algorithm.balanced_attribute
    if balanced and not any(each.attribute == balanced for each, _ in found):
        found.append((_criterion(balanced, teams), f"balancedAttribute: {balanced}"))
    if not found:
        named: dict[str, str] = {}
        for rule in rule_set.rules:
            if isinstance(rule, DistanceRule):
                for expression in (*rule.measurements, rule.reference):
                    for attribute in _attributes_in(expression):
                        named.setdefault(attribute, f"distance rule {rule.name}")
            elif isinstance(rule, BatchDistanceRule):
                named.setdefault(rule.attribute, f"batchDistance rule {rule.name}")
        numeric = [name for name in named if declared[name].type == "number"]
        found = [(_criterion(name, teams), f"{named[name]}: {name}") for name in numeric]
    if any(isinstance(rule, LatencyRule) for rule in rule_set.rules) and not found:
        region = Criterion(kind_with(Form.PLACES), LATENCY, pairs="region")
        found.append((region, "latency rules: the region that all play in"))
    return found[:CRITERIA_MAX]


def _by_sort_rules(
    rule_set: RuleSet, declared: Mapping[str, PlayerAttribute], form: Format
) -> list[tuple[Criterion, str]]:
    """Return the criteria of sort rules; each counts twice as much as the next in the list."""
    rules = {
        rule.attribute: rule
        for rule in reversed(rule_set.rules)
        if isinstance(rule, SortRule) and declared[rule.attribute].type in SORTED
    }
    ordered = [*rules.values()][::-1][:CRITERIA_MAX]
    shares = [2.0**-place for place in range(len(ordered))]
    found = []
    for rule, share in zip(ordered, shares, strict=True):
        weight = form.k * share / sum(shares) if len(ordered) > 1 else None
        criterion = _of_sort_rule(rule, declared[rule.attribute], len(form.players))
        criterion = msgspec.structs.replace(criterion, weight=weight)
        found.append((criterion, f"sort rule {rule.name}: {rule.attribute}"))
    return found


def _of_sort_rule(rule: SortRule, attribute: PlayerAttribute, teams: int) -> Criterion:
    """Return a sort rule as a criterion: nearness of numbers as ours, all else by the anchor."""
    is_rising = rule.direction == "ascending"
    if rule.kind == "distance" and is_rising and rule.map_key is None:
        return _criterion(rule.attribute, teams)
    if rule.kind == "distance":
        order: SortOrder = "near" if is_rising else "far"
    else:
        order = "low" if is_rising else "high"
    default = attribute.default if isinstance(attribute.default, dict) else {}
    sort = Sort(
        order=order,
        key=KEYS[rule.map_key],
        party=rule.party,
        default=tuple(default.items()),
    )
    return Criterion(kind_with(Form.ANCHOR), rule.attribute, scale=SORTING, sort=sort)


def _criterion(attribute: str, teams: int) -> Criterion:
    scale = Scale("log", knee=GAP_COMPARED, max=GAP_COMPARED * 10)
    gap = NumberGap.TEAMS if teams > 1 else NumberGap.WIDEST
    return Criterion(kind_with(Form.NUMBERS, gap), attribute, scale=scale)


def _attributes_in(expression: Expression) -> list[str]:
    while isinstance(expression, Call):
        expression = expression.argument
    if isinstance(expression, Property) and expression.attribute:
        return [expression.attribute]
    return []
