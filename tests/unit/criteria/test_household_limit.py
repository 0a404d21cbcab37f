"""`household_limit`: how many players of one household are in a match, or in a team."""

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


def solo(name: str, *homes: str, at: float = 0.0) -> Ticket:
    """Return a ticket of one player of these households."""
    facts: dict[str, Value] = {"household": tuple(sorted(homes))} if homes else {}
    return ticket(name, player(name, **facts), at=at, sequence=NAMES.index(name) + 1)


def limit(most: float, pairs: Pairs | None = None, expand: Expansion | None = None) -> Rule:
    return Rule("household_limit", "household", most, expand=expand, pairs=pairs)


def ready_at(rule: Rule, *teams: list[Ticket]) -> float:
    return Rules(Queue(format=FORM, rules=(rule,))).ready_at(teams)


def test_players_of_a_household_are_counted_in_the_whole_match() -> None:
    teams = [solo("a", "x"), solo("b")], [solo("c", "x"), solo("d")]

    assert ready_at(limit(1.0), *teams) == math.inf
    assert ready_at(limit(2.0), *teams) == 0.0


def test_whoever_names_no_household_shares_none() -> None:
    assert ready_at(limit(1.0), [solo("a"), solo("b")], [solo("c"), solo("d")]) == 0.0


def test_one_common_key_of_several_is_enough() -> None:
    teams = [solo("a", "card", "home"), solo("b")], [solo("c", "card", "elsewhere"), solo("d")]

    assert ready_at(limit(1.0), *teams) == math.inf


def test_household_may_play_together_but_not_against_itself() -> None:
    one, two = solo("a", "x"), solo("b", "x")
    apart, together = ([one, solo("c")], [two, solo("d")]), ([one, two], [solo("c"), solo("d")])

    assert ready_at(limit(1.0, "enemies"), *apart) == math.inf
    assert ready_at(limit(1.0, "enemies"), *together) == 0.0
    assert ready_at(limit(1.0, "teammates"), *apart) == 0.0
    assert ready_at(limit(1.0, "teammates"), *together) == math.inf


def test_teams_are_made_so_that_a_household_is_not_its_own_enemy() -> None:
    tickets = [solo("a", "x"), solo("b"), solo("c", "x"), solo("d")]
    seating = Objective(Queue(format=FORM, rules=(limit(1.0, "enemies"),))).seat(tickets, now=0.0)

    assert seating is not None
    assert seating.ready_at == 0.0
    assert {t.id for t in seating.teams[0]} in ({"a", "c"}, {"b", "d"})


def test_squad_that_queues_one_by_one_does_not_fill_a_free_for_all() -> None:
    squad = Rule("household_limit", "party", 2.0)
    rules = Rules(Queue(format=Format((1,) * 6), rules=(squad,)))
    alone = [ticket(name, player(name, party="reds"), sequence=n) for n, name in enumerate("abc")]
    others = [ticket(name, player(name), sequence=n) for n, name in enumerate("def", 3)]

    assert rules.ready_at([[each] for each in (*alone, *others)]) == math.inf
    assert rules.ready_at([[each] for each in (*alone[:2], *others)]) == 0.0


def test_limit_that_widens_lets_them_play_after_a_wait() -> None:
    rules = Rules(Queue(rules=(limit(1.0, expand=Expansion(steps=((60.0, 2.0),))),)))

    assert rules.pair_ready_at(solo("a", "x"), solo("b", "x", at=10.0)) == 70.0
    assert rules.pair_ready_at(solo("a", "x"), solo("b", "y", at=10.0)) == 10.0


@pytest.mark.parametrize(
    ("rule", "is_refused"),
    [
        (limit(2.0), True),
        (limit(2.0, "teammates"), True),
        (limit(2.0, "enemies"), False),
        (limit(3.0), False),
        (limit(1.0, expand=Expansion(steps=((5.0, 3.0),))), False),
    ],
)
def test_party_that_is_too_many_by_itself_is_told_at_once(rule: Rule, is_refused: bool) -> None:
    party = ticket("t", *(player(name, household="x") for name in "abc"))
    told = Objective(Queue(format=Format((3, 3)), rules=(rule,))).missing(party)

    sentence = "3 players of the party share household, a match takes 2"
    assert told == (sentence if is_refused else None)


def test_household_is_a_name_or_names() -> None:
    asked = ticket("t", player("a", household={"x": 1.0}))

    assert Objective(Queue(rules=(limit(1.0),))).missing(asked) == (
        "attribute household must be a name or a set of names, got a map"
    )


@settings(deadline=None, max_examples=extent(20, 40))
@given(
    st.lists(st.sets(st.sampled_from("xyz"), max_size=2), min_size=6, max_size=6),
    st.sampled_from(((3, 3), (2, 4), (2, 2, 2), (1,) * 6, (6,))),
    st.sampled_from(("all", "enemies", "teammates")),
)
def test_gap_is_that_of_the_largest_household_on_every_division(
    homes: list[set[str]], layout: tuple[int, ...], pairs: Pairs
) -> None:
    if (pairs == "enemies" and len(layout) == 1) or (pairs == "teammates" and max(layout) == 1):
        return
    tickets = [solo(name, *own) for name, own in zip(NAMES, homes, strict=True)]
    found = list(divisions((1,) * 6, Room(layout, layout, True), [None] * 6))
    ((_, orders),) = division_tables((1,) * 6, found, layout)
    compared = comparison_of(limit(2.0, pairs), Queue(format=Format(layout)))
    gaps = compared.gap_table(tickets, orders, layout)

    for row, division in enumerate(found):
        most = 0
        for key in "xyz":
            by_team = [sum(key in homes[place] for place in team) for team in division]
            whole = sum(by_team) if pairs == "all" or max(by_team) < sum(by_team) else 0
            most = max(most, max(by_team) if pairs == "teammates" else whole)
        # One player alone is within any limit, whether it is counted or not.
        assert max(gaps[row], 1.0) == max(most, 1.0)
        assert gaps[row] == compared.gap([[tickets[at] for at in team] for team in division])
        assert gaps[row] <= max(compared.gap_max(tickets), 1.0)
        for one, two in combinations(tickets, 2):
            assert max(compared.pair_gap(one, two), 1.0) <= max(gaps[row], 1.0)
