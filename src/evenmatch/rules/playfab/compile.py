"""From a PlayFab queue to one of ours: the format of its matches, its conditions, its criteria.

Requirements on matches become conditions. Each ticket has its own wait: a match must pass each rule
as it is for every one of its tickets, which is the newest ticket if rules only loosen. The weight
of a rule, by which PlayFab orders candidates, becomes that of a criterion, whose cost is PlayFab's
distance: 0 if all are alike, 1 at the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec

from evenmatch.criteria.base import Form, NumberGap
from evenmatch.criteria.condition.ages import by_age
from evenmatch.criteria.registry import kind_with
from evenmatch.model.condition import (
    AllOf,
    AnyOf,
    AttributeTest,
    Clock,
    Condition,
    DistanceTest,
    FixedValue,
    FoldOf,
    Operator,
    PlaceTest,
    SetTest,
    SizeTest,
    SpreadTest,
    TeamProperty,
    Test,
    ValueKind,
    ValueTest,
)
from evenmatch.model.fields import LARGEST
from evenmatch.model.queue import Criterion, Format, Rule, Scale
from evenmatch.model.ticket import LATENCY
from evenmatch.rules.flexmatch.compile import CRITERIA_MAX, RULES_MAX, CompiledRuleSet
from evenmatch.rules.playfab.queue import (
    DifferenceRule,
    MatchTotalRule,
    PlayFabQueue,
    PlayFabRule,
    RegionSelectionRule,
    RuleAttribute,
    SetIntersectionRule,
    StringEqualityRule,
    TeamDifferenceRule,
    TeamSizeBalanceRule,
    ages_of,
    only_loosens,
    values_at,
)

TICKETS, ATTRIBUTES = "two tickets at least", "player attributes"
BEST_MS = 1.0
WORST_MS = 1e6
"""The most milliseconds that a criterion compares."""
NOBODY = -2 * LARGEST
"""Stands for a missing number; no ticket can have it."""
KINDS: dict[type, ValueKind] = {
    StringEqualityRule: "string",
    SetIntersectionRule: "string_list",
}
"""The types of rules' attributes that are not numbers."""


def compile_queue(queue: PlayFabQueue) -> CompiledRuleSet:
    """Return the format, the conditions and the criteria of a queue."""
    criteria = [*criteria_of(queue).values()]
    return CompiledRuleSet(
        format=format_of(queue),
        criteria=tuple([criterion for criterion, _ in criteria]),
        rules=_rules(queue),
        attributes=tuple(attributes_of(queue)),
        defaults=tuple(
            [
                (name, default)
                for name, each in attributes_of(queue).items()
                if (default := shared_default(queue, each)) is not None
            ]
        ),
        sources=tuple([source for _, source in criteria]),
    )


def attributes_of(queue: PlayFabQueue) -> dict[str, RuleAttribute]:
    """Return the attributes that tickets may have beside latencies, by name."""
    return {each.name: each for rule in queue.rules if (each := attribute_in(rule)) is not None}


def attribute_in(rule: PlayFabRule) -> RuleAttribute | None:
    """Return the attribute that a rule reads; None if it reads none, or latencies."""
    found = getattr(rule, "attribute", None)
    return found if isinstance(found, RuleAttribute) else None


def kind_of_attribute(rule: PlayFabRule) -> ValueKind:
    """Return the type of the attribute of a rule."""
    return KINDS.get(type(rule), "number")


def shared_default(
    queue: PlayFabQueue, attribute: RuleAttribute
) -> float | str | tuple[str, ...] | None:
    """Return the default of an attribute for tickets that lack it, if all rules agree."""
    all_of = [attribute_in(rule) for rule in queue.rules]
    same = [each for each in all_of if each is not None and each.name == attribute.name]
    if any(each.missing != "default" or each.default != same[0].default for each in same):
        return None
    return same[0].default


# The format


def format_of(queue: PlayFabQueue) -> Format:
    """Return the teams of a match, and which parties may queue."""
    least, most = sizes_of(queue)
    # A player attribute `side` does not mean the side that a ticket asks for; the reader has
    # renamed those of rules, so that a ticket may choose its team.
    names = tuple([team.name for team in queue.teams])
    largest = min(queue.ticket_max, max(most))
    sizes = tuple(range(1, largest + 1)) if largest < max(most) else ()
    return Format(most, names, sizes, players_min=() if least == most else least)


def sizes_of(queue: PlayFabQueue) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the fewest and the most players of each team, of one if there are none."""
    if not queue.teams:
        return (queue.players_min,), (queue.players_max,)
    least = tuple([team.players_min for team in queue.teams])
    return least, tuple([team.players_max for team in queue.teams])


# Conditions


def _rules(queue: PlayFabQueue) -> tuple[Rule, ...]:
    named = [*_of_sizes(queue), *_of_attributes(queue)]
    named += [(rule.name, condition_of(queue, rule)) for rule in queue.rules]
    if len(named) > RULES_MAX:
        rest = named[RULES_MAX - 1 :]
        joined = AllOf(tuple([test for _, test in rest]))
        named = [*named[: RULES_MAX - 1], (", ".join([name for name, _ in rest]), joined)]
    clock, kind = clock_of(queue), kind_with(Form.CONDITION)
    return tuple([Rule(kind, condition=Condition(name, test, clock)) for name, test in named])


def clock_of(queue: PlayFabQueue) -> Clock:
    """Return whose age counts: each ticket's, or the newest one's if rules only loosen."""
    return "newest" if all(map(only_loosens, queue.rules)) else "each"


def _of_sizes(queue: PlayFabQueue) -> Iterator[tuple[str, Test]]:
    """Yield the requirements of a match apart from rules."""
    least, most = sizes_of(queue)
    tests: list[Test] = []
    everybody = FoldOf("count", TeamProperty(teams=_teams(queue), is_grouped=False, what="players"))
    if queue.players_min > sum(least):
        tests.append(_compares(everybody, ">=", queue.players_min))
    if queue.players_max < sum(most):
        tests.append(_compares(everybody, "<=", queue.players_max))
    # Separate, so that a search knows the sizes.
    yield "team sizes" if queue.teams else "match size", SizeTest(least, most)
    if tests:
        yield "match size", AllOf(tuple(tests))
    if sum(size > 0 for size in least) < 2 and queue.ticket_max >= queue.players_min:
        own = FoldOf("max", TeamProperty(teams=_teams(queue), is_grouped=False, what="party_sizes"))
        yield TICKETS, ValueTest(measured=(own,), operator="<", reference=everybody)


def _of_attributes(queue: PlayFabQueue) -> Iterator[tuple[str, Test]]:
    """Yield which attributes players must have, and the types of the others."""
    tests: dict[AttributeTest, None] = {}
    for rule in queue.rules:
        if (own := attribute_in(rule)) is not None:
            is_needed = own.missing == "needed"
            kind = kind_of_attribute(rule)
            tests[AttributeTest(attribute=own.name, kind=kind, is_needed=is_needed)] = None
        elif isinstance(rule, RegionSelectionRule):
            test = AttributeTest(attribute=LATENCY, kind="string_number_map", is_filled=True)
            tests[test] = None
    if tests:
        yield ATTRIBUTES, AllOf(tuple(tests))


def condition_of(queue: PlayFabQueue, rule: PlayFabRule) -> Test:
    """Return the requirement of a rule, by age."""
    tests: dict[float, Test] = {}
    for age in ages_of(rule):
        values = values_at(rule, age)
        tests[age] = AllOf() if values is None else _test(queue, rule, values)
    return by_age(tests)


def _test(queue: PlayFabQueue, rule: PlayFabRule, values: tuple[float, ...]) -> Test:
    """Return the requirement of a rule for given values of its numbers."""
    if isinstance(rule, StringEqualityRule):
        return SpreadTest(of=_property(queue, rule.attribute, "string"))
    if isinstance(rule, DifferenceRule):
        own = _property(queue, rule.attribute, "number")
        return SpreadTest(of=own, most=values[0], party=rule.merge)
    if isinstance(rule, SetIntersectionRule):
        measured = (_property(queue, rule.attribute, "string_list"),)
        return (
            SetTest(measured=measured, counts="shared", least=values[0]) if values[0] else AllOf()
        )
    if isinstance(rule, MatchTotalRule):
        total = FoldOf("sum", _property(queue, rule.attribute, "number"))
        least, most = values
        return AllOf((_compares(total, ">=", least), _compares(total, "<=", most)))
    if isinstance(rule, RegionSelectionRule):
        return PlaceTest(ms_max=values[0], party="max")
    if isinstance(rule, TeamDifferenceRule):
        return _team_difference(queue, rule.attribute, values[0])
    if isinstance(rule, TeamSizeBalanceRule):
        sizes = FoldOf("count", TeamProperty(teams=_teams(queue), is_grouped=True, what="players"))
        return DistanceTest(measured=(sizes,), reference=FoldOf("min", sizes), most=values[0])
    return _similarity(queue)


def _team_difference(queue: PlayFabQueue, attribute: RuleAttribute, most: float) -> Test:
    """Return the test that averages of teams are close; with `any`, of those that have one."""
    mean = FoldOf("avg", _property(queue, attribute, "number", is_grouped=True))
    close = DistanceTest(measured=(mean,), reference=FoldOf("min", mean), most=most)
    if attribute.missing != "any":
        return close
    own = _property(queue, attribute, "number")
    teams = [msgspec.structs.replace(own, teams=(team,)) for team in own.teams]
    means = [FoldOf("avg", team) for team in teams]
    lack = [_lacks(queue, attribute, number) for number in own.teams]
    pairs = [
        AnyOf((lack[a], lack[b], DistanceTest(measured=(means[a],), reference=means[b], most=most)))
        for a, b in combinations(own.teams, 2)
    ]
    # Pairs are many, and decide only where a team has no average.
    return AnyOf((close, AllOf((AnyOf(tuple(lack)), *pairs))))


def _lacks(queue: PlayFabQueue, attribute: RuleAttribute, number: int) -> Test:
    """Return the test that nobody in a team has a number.

    A default below all numbers shows it, and not a count: a search knows the least number of those
    who may join, and so whether a team can still lack it.
    """
    own = _property(queue, attribute, "number")
    given = msgspec.structs.replace(own, teams=(number,), default=NOBODY, is_optional=False)
    nobody: Test = _compares(FoldOf("max", given), "<=", NOBODY)
    return nobody if queue.teams[number].players_min else AnyOf((_is_empty(number), nobody))


def _is_empty(team: int) -> Test:
    players = FoldOf("count", TeamProperty(teams=(team,), is_grouped=False, what="players"))
    return _compares(players, "=", 0)


def large_from(queue: PlayFabQueue) -> float:
    """Return the number of players from which on a party is large: half of the largest team."""
    return max([team.players_max for team in queue.teams], default=queue.players_max) / 2


def _similarity(queue: PlayFabQueue) -> Test:
    """Return the test that every team has a large party, or none has."""
    least = large_from(queue)
    have: list[Test] = []
    lack: list[Test] = []
    for number, team in enumerate(queue.teams):
        largest = FoldOf("max", TeamProperty(teams=(number,), is_grouped=False, what="party_sizes"))
        have.append(_compares(largest, ">=", least))
        small: Test = _compares(largest, "<", least)
        if not team.players_min:
            small = AnyOf((_is_empty(number), small))
        lack.append(small)
    return AnyOf((AllOf(tuple(have)), AllOf(tuple(lack))))


def _compares(measured: FoldOf, operator: Operator, value: float) -> ValueTest:
    return ValueTest(measured=(measured,), operator=operator, reference=FixedValue(float(value)))


def _teams(queue: PlayFabQueue) -> tuple[int, ...]:
    return tuple(range(max(1, len(queue.teams))))


def _property(
    queue: PlayFabQueue, attribute: RuleAttribute, kind: ValueKind, *, is_grouped: bool = False
) -> TeamProperty:
    return TeamProperty(
        teams=_teams(queue),
        is_grouped=is_grouped,
        what="attribute",
        attribute=attribute.name,
        kind=kind,
        default=attribute.default if attribute.missing == "default" else None,
        is_optional=attribute.missing == "any",
    )


# Criteria


def criteria_of(queue: PlayFabQueue) -> dict[str, tuple[Criterion, str]]:
    """Return the criteria of a queue, each by the path of its rule, and with its source.

    Of more than a queue may have, those of the largest weights.
    """
    found = {
        rule.path: each for rule in queue.rules if (each := criterion_of(queue, rule)) is not None
    }
    if len(found) > CRITERIA_MAX:
        heaviest = sorted(queue.rules, key=lambda rule: -(rule.weight or 0.0))
        kept = [rule.path for rule in heaviest if rule.path in found][:CRITERIA_MAX]
        found = {path: each for path, each in found.items() if path in kept}
    return found


def criterion_of(queue: PlayFabQueue, rule: PlayFabRule) -> tuple[Criterion, str] | None:
    """Return a rule's weight as a criterion, and its source; None if there is no criterion.

    A criterion compares all players, so attributes that some may lack are not used.
    """
    if not rule.weight:
        return None
    source = f"weight of {rule.name}"
    values = values_at(rule, 0.0)
    if isinstance(rule, RegionSelectionRule):
        worst = min(max(values[0] if values else BEST_MS, 2 * BEST_MS), WORST_MS)
        return (
            Criterion(
                kind_with(Form.PLACES),
                LATENCY,
                weight=rule.weight,
                pairs="region",
                best=BEST_MS,
                worst=worst,
            ),
            source,
        )
    attribute = attribute_in(rule)
    if attribute is None or isinstance(rule, MatchTotalRule):
        return None
    if attribute.missing == "any" or (
        attribute.missing == "default" and shared_default(queue, attribute) is None
    ):
        return None
    if isinstance(rule, StringEqualityRule):
        return Criterion(kind_with(Form.WORD), attribute.name, weight=rule.weight), source
    if isinstance(rule, SetIntersectionRule):
        return Criterion(kind_with(Form.SETS), attribute.name, weight=rule.weight), source
    if not values or values[0] < 1e-9:
        return None
    gap = NumberGap.TEAMS if isinstance(rule, TeamDifferenceRule) else NumberGap.WIDEST
    scale = Scale("capped", max=values[0])
    kind = kind_with(Form.NUMBERS, gap)
    return Criterion(kind, attribute.name, weight=rule.weight, scale=scale), source
