"""`pair_limit`: how often the same two players meet, by what either of them remembers."""

import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.criteria.divisions import Room, division_tables, divisions
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import comparison_of
from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Expansion, Format, Pairs, Queue, Rule
from evenmatch.model.ticket import Ticket, Value
from evenmatch.testing import player, ticket
from tests.extent import extent

NAMES = "abcdef"
FORM = Format((2, 2))


def solo(name: str, at: float = 0.0, **met: float) -> Ticket:
    """Return a ticket of one player who remembers so many matches with others."""
    sequence = NAMES.index(name) + 1
    return ticket(name, player(name, meetings=met), at=at, sequence=sequence)


def limit(most: float, pairs: Pairs | None = None, expand: Expansion | None = None) -> Rule:
    return Rule("pair_limit", "meetings", most, expand=expand, pairs=pairs)


def ready_at(rule: Rule, *teams: list[Ticket]) -> float:
    return Rules(Queue(format=FORM, rules=(rule,))).ready_at(teams)


def test_pair_meets_as_often_as_the_limit_says_and_not_once_more() -> None:
    one, other = [solo("a", b=1.0), solo("c")], [solo("b"), solo("d")]

    assert ready_at(limit(2.0), one, other) == 0.0
    assert ready_at(limit(1.0), one, other) == math.inf


def test_larger_of_two_memories_counts() -> None:
    teams = [solo("a", b=1.0), solo("c")], [solo("b", a=3.0), solo("d")]

    assert ready_at(limit(3.0), *teams) == math.inf
    assert ready_at(limit(4.0), *teams) == 0.0


def test_limit_may_be_about_enemies_or_teammates_only() -> None:
    one, two = solo("a", b=5.0), solo("b")
    apart, together = ([one, solo("c")], [two, solo("d")]), ([one, two], [solo("c"), solo("d")])

    assert ready_at(limit(2.0, "enemies"), *apart) == math.inf
    assert ready_at(limit(2.0, "enemies"), *together) == 0.0
    assert ready_at(limit(2.0, "teammates"), *apart) == 0.0
    assert ready_at(limit(2.0, "teammates"), *together) == math.inf


def test_limit_that_widens_lets_them_meet_after_a_wait() -> None:
    rule = limit(1.0, expand=Expansion(steps=((60.0, 2.0), (300.0, 3.0))))
    rules = Rules(Queue(rules=(rule,)))

    assert rules.pair_ready_at(solo("a", b=1.0), solo("b", at=10.0)) == 70.0
    assert rules.pair_ready_at(solo("a", b=2.0), solo("b", at=10.0)) == 310.0
    assert rules.pair_ready_at(solo("a", b=3.0), solo("b", at=10.0)) == math.inf


def test_members_of_one_party_have_chosen_each_other() -> None:
    party = ticket("t", player("a", meetings={"b": 9.0}), player("b"))

    assert ready_at(limit(1.0), [party], [solo("c"), solo("d")]) == 0.0


def test_teams_are_made_so_that_the_limit_is_kept() -> None:
    tickets = [solo("a", b=2.0), *map(solo, "bcd")]
    seating = Objective(Queue(format=FORM, rules=(limit(2.0, "enemies"),))).seat(tickets, now=0.0)

    assert seating is not None
    assert seating.ready_at == 0.0
    assert {t.id for t in seating.teams[0]} in ({"a", "b"}, {"c", "d"})


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (("b",), "attribute meetings must be a map from player id to a number of matches"),
        ({"b": -1.0}, "attribute meetings must count matches from 0, got -1"),
        ({"b": 0.0}, None),
        (None, None),
    ],
)
def test_memory_must_count_matches(value: Value | None, sentence: str | None) -> None:
    facts = {} if value is None else {"meetings": value}
    asked = ticket("a", player("a", **facts))

    assert Objective(Queue(rules=(limit(1.0),))).missing(asked) == sentence


COUNTS = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 4).map(float), max_size=3)


@settings(deadline=None, max_examples=extent(20, 40))
@given(
    st.lists(COUNTS, min_size=6, max_size=6),
    st.sampled_from(((3, 3), (2, 4), (2, 2, 2), (1,) * 6, (6,))),
    st.sampled_from(("all", "enemies", "teammates")),
)
def test_gap_is_that_of_the_pair_that_met_most_on_every_division(
    met: list[dict[str, float]], layout: tuple[int, ...], pairs: Pairs
) -> None:
    if (pairs == "enemies" and len(layout) == 1) or (pairs == "teammates" and max(layout) == 1):
        return
    tickets = [solo(name, **own) for name, own in zip(NAMES, met, strict=True)]
    found = list(divisions((1,) * 6, Room(layout, layout, True), [None] * 6))
    ((_, orders),) = division_tables((1,) * 6, found, layout)
    compared = comparison_of(limit(2.0, pairs), Queue(format=Format(layout)))
    gaps = compared.gap_table(tickets, orders, layout)

    for row, division in enumerate(found):
        seats = [(at, place) for at, team in enumerate(division) for place in team]
        counts = [
            max(met[one].get(NAMES[two], 0.0), met[two].get(NAMES[one], 0.0))
            for (team, one), (other, two) in combinations(seats, 2)
            if pairs == "all" or (team == other) == (pairs == "teammates")
        ]
        most = max(counts)
        assert gaps[row] == (most + 1.0 if most else 0.0)
        assert gaps[row] == compared.gap([[tickets[at] for at in team] for team in division])
        assert gaps[row] <= compared.gap_max(tickets)
        for one, two in combinations(tickets, 2):
            assert compared.pair_gap(one, two) <= gaps[row]
