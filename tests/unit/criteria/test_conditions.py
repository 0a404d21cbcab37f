"""Conditions: at which ages a match passes, and what a half-built one can become."""

import math

import pytest

from evenmatch.criteria.condition.ages import Conditions, Interval, first_after
from evenmatch.criteria.condition.partial_match import Outlook, PartialMatch
from evenmatch.criteria.rules import Rules
from evenmatch.errors import ConfigError
from evenmatch.model.condition import (
    AllOf,
    AnyOf,
    Condition,
    DistanceTest,
    ExactlyOne,
    FixedValue,
    FoldOf,
    NotOf,
    Phases,
    SizeTest,
    TeamProperty,
    Test,
    ValueTest,
)
from evenmatch.model.queue import Format, Queue, Rule
from evenmatch.model.ticket import Player, Ticket

SKILL = TeamProperty(teams=(0, 1), is_grouped=False, what="attribute", attribute="skill")
BY_TEAM = TeamProperty(teams=(0, 1), is_grouped=True, what="attribute", attribute="skill")
PLAYERS = TeamProperty(teams=(0, 1), is_grouped=True, what="players")
ALWAYS = AllOf()
NEVER = NotOf(AllOf())


def ticket(name: str, skill: float, at: float = 0.0) -> Ticket:
    number = abs(hash((name, skill, at))) % 1_000_000
    return Ticket(name, number, at, (Player(name, attributes={"skill": skill}),), ("main",))


def within(most: float) -> Test:
    return DistanceTest(measured=(FoldOf("max", SKILL),), reference=FoldOf("min", SKILL), most=most)


def intervals(test: Test, clock: str = "newest", second: float = 0.0) -> list[tuple[float, float]]:
    conditions = Conditions([Condition("c", test, clock)])  # type: ignore[arg-type]
    teams = [[ticket("a", 0.0)], [ticket("b", 50.0, second)]]
    return [tuple(each) for each in conditions.intervals(teams)]  # type: ignore[misc]


def test_a_rule_holds_in_a_set_of_ages() -> None:
    assert intervals(within(50)) == [(0.0, math.inf)]
    assert intervals(within(49)) == []
    shrinking = Phases((0.0, 5.0, 10.0), (within(50), within(10), within(60)))
    assert intervals(shrinking) == [(0.0, 5.0), (10.0, math.inf)]


def test_condition_that_does_not_change_is_one_statement_at_all_ages() -> None:
    steady, changing = AnyOf((within(1), within(2))), Phases((0.0, 5.0), (within(3), within(4)))
    before, after = Conditions([Condition("s", steady), Condition("c", changing)]).statements
    assert before[0] is after[0]
    assert before[1] != after[1]


def test_joins_are_operations_on_sets_of_ages() -> None:
    early = Phases((0.0, 8.0), (ALWAYS, NEVER))
    late = Phases((0.0, 4.0), (NEVER, ALWAYS))
    assert intervals(AllOf((early, late))) == [(4.0, 8.0)]
    assert intervals(AnyOf((early, late))) == [(0.0, math.inf)]
    assert intervals(NotOf(early)) == [(8.0, math.inf)]
    assert intervals(ExactlyOne((early, late))) == [(0.0, 4.0), (8.0, math.inf)]


def test_the_clock_is_that_of_the_newest_or_the_oldest_ticket() -> None:
    late = Phases((0.0, 10.0), (NEVER, ALWAYS))
    assert intervals(late, "newest", second=7.0) == [(17.0, math.inf)]
    assert intervals(late, "oldest", second=7.0) == [(10.0, math.inf)]
    # Nothing is legal before all have come, however old the oldest is.
    assert intervals(late, "oldest", second=12.0) == [(12.0, math.inf)]


def test_what_does_not_exist_is_neither_true_nor_false() -> None:
    nobody = TeamProperty(teams=(2,), is_grouped=False, what="attribute", attribute="skill")
    high = ValueTest(measured=(FoldOf("avg", nobody),), operator=">", reference=FixedValue(1.0))
    conditions = Conditions([Condition("c", high), Condition("not", NotOf(high))])
    teams = [[ticket("a", 0.0)], [ticket("b", 50.0)], []]
    assert conditions.intervals(teams) == ()
    assert [each.name for each in conditions.objections(teams, 0.0)] == ["c", "not"]
    assert Conditions([Condition("or", AnyOf((high, ALWAYS)))]).intervals(teams) != ()


def test_numbers_are_compared_as_their_decimals_say() -> None:
    total = FoldOf("sum", SKILL)
    same = ValueTest(measured=(total,), operator="=", reference=FixedValue(0.3))
    conditions = Conditions([Condition("c", same)])
    assert conditions.intervals([[ticket("a", 0.1)], [ticket("b", 0.2)]]) != ()
    assert conditions.intervals([[ticket("a", 0.1)], [ticket("b", 0.2000001)]]) == ()


def test_a_match_is_ready_from_the_start_of_the_interval_that_counts() -> None:
    ends = Phases((0.0, 5.0, 9.0), (ALWAYS, NEVER, ALWAYS))
    rules = Rules(
        Queue(format=Format((1, 1)), rules=(Rule("condition", condition=Condition("c", ends)),))
    )
    teams = [[ticket("a", 0.0)], [ticket("b", 50.0)]]
    assert [rules.ready_at(teams, since) for since in (-math.inf, 4.9, 5.0, 20.0)] == [0, 0, 9, 9]
    assert "condition c" in rules.objection(teams, 6.0)
    assert first_after((Interval(0.0, 5.0),), 5.0) == math.inf


def test_two_clocks_are_refused() -> None:
    with pytest.raises(ConfigError, match="one clock"):
        Conditions([Condition("a", ALWAYS), Condition("b", ALWAYS, "oldest")])


def may(test: Test, teams: list[list[Ticket]], others: list[Ticket]) -> bool:
    """Return whether a half-built match of up to two against two may still pass a test."""
    conditions = Conditions([Condition("c", test), Condition("s", SizeTest((0, 0), (2, 2)))])
    outlook = Outlook(conditions.verdicts)
    facts = outlook.facts
    partial = PartialMatch((0, 0), (2, 2), facts.count, facts.map_count)
    for number, team in enumerate(teams):
        for each in team:
            maps = [facts.places(each, m, is_exact=False) for m in range(facts.map_count)]
            partial.join(number, each, facts.of(each, is_exact=False), maps)
    values = [outlook.facts.of(each, is_exact=False) for each in others]
    from evenmatch.criteria.condition.value_bounds import ANYTHING, Span

    spans = [
        Span(min(v[fact][0] for v in values), max(v[fact][0] for v in values))
        if values
        else ANYTHING  # type: ignore[index]
        for fact in range(outlook.facts.count)
    ]
    assert partial.look_ahead(len(others), spans)
    return outlook.can_pass(conditions.statements[0], partial)


def test_what_more_players_can_mend_is_not_judged_too_soon() -> None:
    one, other = ticket("a", 0.0), ticket("b", 10.0)
    equal = ValueTest(measured=(FoldOf("count", PLAYERS),), operator="=")
    assert may(equal, [[one], []], [other])
    assert not may(equal, [[one], []], [])
    fair = DistanceTest(
        measured=(FoldOf("avg", BY_TEAM),), reference=FoldOf("avg", SKILL), most=1.0
    )
    assert may(fair, [[one], [other]], [ticket("c", 0.0), ticket("d", 10.0)])
    assert not may(fair, [[one], [other]], [])
    enough = ValueTest(measured=(FoldOf("sum", SKILL),), operator=">=", reference=FixedValue(30.0))
    assert may(enough, [[other], []], [ticket("c", 20.0)])
    assert not may(enough, [[other], []], [ticket("c", 5.0)])


def test_what_more_players_cannot_mend_is_left() -> None:
    one, other = ticket("a", 0.0), ticket("b", 10.0)
    assert not may(within(5), [[one], [other]], [ticket("c", 5.0)])
    assert may(NotOf(within(5)), [[one], []], [other])
    assert not may(NotOf(within(50)), [[one], []], [other])
    fixed = ValueTest(measured=(SKILL,), operator="<", reference=FixedValue(5.0))
    assert not may(fixed, [[other], []], [one])
