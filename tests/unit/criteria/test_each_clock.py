"""Conditions that go by the age of each ticket of a match."""

import math
from typing import Any, get_args

import pytest

from evenmatch.criteria.condition.ages import Conditions, Interval, common
from evenmatch.errors import ConfigError
from evenmatch.model.condition import (
    AllOf,
    Clock,
    Condition,
    FixedValue,
    FoldOf,
    Phases,
    SetTest,
    SpreadTest,
    TeamProperty,
    ValueTest,
)
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.by_rules import ByRules
from evenmatch.policies.hooks import check_conditions

CLOCKS: tuple[Clock, ...] = get_args(Clock)

ALL = TeamProperty(teams=(0,), is_grouped=False, what="players")
NEVER = ValueTest(measured=(FoldOf("count", ALL),), operator="<", reference=FixedValue(0.0))


def ticket(name: str, at: float, *values: Any, key: str = "value") -> Ticket:
    players = tuple(
        [
            Player(f"{name}{n}", attributes={} if value is None else {key: value})
            for n, value in enumerate(values or (None,))
        ]
    )
    return Ticket(name, 1 + ord(name), at, players, ("main",))


def conditions(test: object, clock: str = "each") -> Conditions:
    return Conditions((Condition("rule", test, clock),))  # type: ignore[arg-type]


def test_match_is_legal_while_it_is_at_the_age_of_every_ticket() -> None:
    closing = Phases((0.0, 10.0), (AllOf(), NEVER))
    opening = Phases((0.0, 5.0), (NEVER, AllOf()))
    teams = ((ticket("a", 0.0), ticket("b", 4.0)),)
    assert conditions(closing).intervals(teams) == (Interval(4.0, 10.0),)
    assert conditions(opening).intervals(teams) == (Interval(9.0, math.inf),)
    both = AllOf((closing, opening))
    assert conditions(both).intervals(teams) == (Interval(9.0, 10.0),)
    assert conditions(both).intervals(((ticket("a", 0.0), ticket("b", 5.0)),)) == ()


def test_instant_is_judged_as_the_intervals_say() -> None:
    found = conditions(AllOf((Phases((0.0, 10.0), (AllOf(), NEVER)),)))
    teams = ((ticket("a", 0.0), ticket("b", 4.0)),)
    for now in (4.0, 9.5, 10.0, 12.0, 15.0):
        is_legal = any(each.start <= now < each.end for each in found.intervals(teams))
        assert found.holds_at(now, teams) == is_legal
        assert (found.objections(teams, now) == []) == is_legal


def test_clock_of_each_is_that_of_the_newest_where_nothing_tightens() -> None:
    widening = Phases((0.0, 5.0, 20.0), (NEVER, AllOf(), AllOf()))
    teams = ((ticket("a", 0.0), ticket("b", 7.0), ticket("c", 3.0)),)
    expected = conditions(widening, "newest").intervals(teams)
    assert conditions(widening).intervals(teams) == expected == (Interval(12.0, math.inf),)


def test_common_of_intervals_that_only_touch_is_nothing() -> None:
    assert common([(Interval(0.0, 5.0),), (Interval(5.0, 9.0),)]) == ()


def test_conditions_with_two_clocks_are_refused() -> None:
    two = [Condition("a", AllOf(), "each"), Condition("b", AllOf(), "newest")]
    with pytest.raises(ConfigError, match="one clock"):
        Conditions(two)


def test_party_sizes_are_those_of_each_players_ticket() -> None:
    sizes = TeamProperty(teams=(0,), is_grouped=False, what="party_sizes")
    test = ValueTest(
        measured=(FoldOf("max", sizes),), operator="=", reference=FixedValue(3.0), party="min"
    )
    alone, three = ticket("a", 0.0, 1), ticket("b", 0.0, 1, 2, 3)
    assert conditions(test).holds_at(0.0, ((alone, three),))
    assert not conditions(test).holds_at(0.0, ((alone,),))


def test_players_who_lack_what_is_optional_are_left_out() -> None:
    number = TeamProperty(
        teams=(0,), is_grouped=False, what="attribute", attribute="value", is_optional=True
    )
    near = conditions(SpreadTest(of=number, most=1.0, party="avg"))
    strangers = ticket("a", 0.0, None, None)
    assert near.holds_at(0.0, ((strangers,),))
    assert near.holds_at(0.0, ((strangers, ticket("b", 0.0, 4, None), ticket("c", 0.0, 5)),))
    assert not near.holds_at(0.0, ((strangers, ticket("b", 0.0, 4, None), ticket("c", 0.0, 6)),))
    words = TeamProperty(
        teams=(0,),
        is_grouped=False,
        what="attribute",
        attribute="value",
        kind="string_list",
        is_optional=True,
    )
    shared = conditions(SetTest(measured=(words,), counts="shared", least=1))
    assert shared.holds_at(0.0, ((strangers,),))
    assert not shared.holds_at(0.0, ((ticket("b", 0.0, ("x",)), ticket("c", 0.0, ("y",))),))


class OldHand:
    """A policy that knows conditions, but only by the age of one ticket of a match."""

    knows_conditions = True


def test_policy_that_does_not_know_the_clock_of_each_is_refused() -> None:
    rules = [Rule("condition", condition=Condition("a", AllOf(), clock)) for clock in CLOCKS]
    queues = [Queue(rules=(rule,)) for rule in rules]
    for queue in queues:
        check_conditions(ByRules(), queue)
    for queue in queues[:2]:
        check_conditions(OldHand(), queue)
    with pytest.raises(ConfigError, match="tighten with the wait of each ticket"):
        check_conditions(OldHand(), queues[2])
