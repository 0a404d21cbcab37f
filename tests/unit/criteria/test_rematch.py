"""Rematches: each by hand, the table against the definition, and the rule's instants."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.criteria.divisions import Room, division_tables, divisions
from evenmatch.criteria.kinds.rematch import (
    duel_gap,
    freshness,
    matches_since_meeting,
    redraw_rule,
    rematch,
    rematch_table,
    rule_gap,
)
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Criterion, Format, Queue, Rule
from evenmatch.model.ticket import Player, Ticket, Value
from evenmatch.testing import player, ticket
from tests.extent import extent

NAMES = "abcdef"
REMATCH = Criterion("rematch", "recent", 1.0)


def solo(name: str, recent: Value | None = None, at: float = 0.0, rating: float = 1500.0) -> Ticket:
    """Return a ticket of one player who remembers this."""
    facts = {} if recent is None else {"recent": recent}
    number = NAMES.index(name) + 1
    return ticket(name, player(name, rating, **facts), at=at, sequence=number)


def duel(one: Ticket, two: Ticket, matches: int = 1) -> float:
    return rematch([[one], [two]], "recent", matches)


def test_opponents_of_the_last_match_cost_1_and_strangers_nothing() -> None:
    assert duel(solo("a", {"b": 1.0}), solo("b", {"a": 1.0})) == 1.0
    assert duel(solo("a", {"b": 1.0}), solo("c", {"d": 1.0})) == 0.0
    assert duel(solo("a"), solo("b")) == 0.0


def test_meeting_fades_over_the_matches_that_count() -> None:
    ago = [duel(solo("a", {"b": n}), solo("b", {"a": n}), 4) for n in (1.0, 2.0, 3.0, 4.0, 5.0)]
    assert ago == [1.0, 0.75, 0.5, 0.25, 0.0]


def test_who_has_played_others_since_is_new_again() -> None:
    rested, busy = solo("a", {"b": 1.0}), solo("b", {"c": 1.0, "a": 2.0})
    assert duel(rested, busy) == 0.0
    assert duel(rested, busy, 2) == 0.5
    assert duel(rested, solo("b", {"c": 1.0})) == 0.0


def test_where_only_one_remembers_anything_that_ones_word_counts() -> None:
    assert duel(solo("a", {"b": 1.0}), solo("b")) == 1.0
    assert duel(solo("b"), solo("a", {"b": 1.0})) == 1.0


@pytest.mark.parametrize("recent", [("b", "c"), "b", {"b": 1.0}])
def test_set_or_word_names_the_opponents_of_the_last_match(recent: Value) -> None:
    assert duel(solo("a", recent), solo("b")) == 1.0


def test_number_that_a_file_made_of_an_id_is_that_id() -> None:
    seven = ticket("x", player("7"), sequence=9)
    assert duel(solo("a", 7.0), seven) == 1.0
    assert duel(solo("a", 17.0), seven) == 0.0


@pytest.mark.parametrize(
    ("ago", "as_opponents", "as_mates"), [(1.0, 1.0, 0.5), (-1.0, 0.5, 1.0), (2.0, 0.0, 0.0)]
)
def test_changed_relation_costs_half(ago: float, as_opponents: float, as_mates: float) -> None:
    a, b, c, d = solo("a", {"b": ago}), solo("b", {"a": ago}), solo("c"), solo("d")
    # One of the six pairs has met.
    assert rematch([[a, c], [b, d]], "recent", 1) == pytest.approx(as_opponents / 6, abs=1e-15)
    assert rematch([[a, b], [c, d]], "recent", 1) == pytest.approx(as_mates / 6, abs=1e-15)


def test_own_party_costs_nothing() -> None:
    both = (player("a", recent={"b": -1.0}), player("b", recent={"a": -1.0}))
    party, other = ticket("p", *both), ticket("q", player("c"), player("d"), sequence=2)
    assert rematch([[party], [other]], "recent", 1) == 0.0
    assert rule_gap([party, other], "recent", 1) == 0.0


def test_opponents_win_over_mates_where_memories_contradict() -> None:
    assert matches_since_meeting(Player("a"), Player("b"), {"b": -2.0}, {"a": 2.0}) == 2.0
    assert matches_since_meeting(Player("b"), Player("a"), {"a": 2.0}, {"b": -2.0}) == 2.0


@pytest.mark.parametrize("seed", range(20))
def test_last_match_gives_the_variation_of_the_team_problem(seed: int) -> None:
    # There a pair is known by the number of its last match and its team in it; 1 - variation.
    rng = np.random.default_rng(seed)
    last, side, party = rng.integers(-1, 2, 6), rng.integers(0, 2, 6), [0, 0, 1, 2, 3, 4]

    def recent(i: int) -> dict[str, float] | None:
        if last[i] < 0:
            return None
        others = [j for j in range(6) if j != i and last[j] == last[i]]
        return {NAMES[j]: -1.0 if side[j] == side[i] else 1.0 for j in others}

    def known(i: int) -> Player:
        found = recent(i)
        return player(NAMES[i]) if found is None else player(NAMES[i], recent=found)

    members = [[i for i in range(6) if party[i] == p] for p in range(5)]
    tickets = [ticket(f"t{p}", *map(known, own), sequence=p + 1) for p, own in enumerate(members)]
    teams = [[tickets[0], tickets[1]], tickets[2:]]
    team = [0, 0, 0, 1, 1, 1]

    def variation(i: int, j: int) -> float:
        if party[i] == party[j] or last[i] < 0 or last[i] != last[j]:
            return 1.0
        return 0.0 if (side[i] == side[j]) == (team[i] == team[j]) else 0.5

    expected = 1.0 - np.mean([variation(i, j) for i, j in combinations(range(6), 2)])
    assert rematch(teams, "recent", 1) == pytest.approx(expected, abs=1e-12)


MEMORIES = st.none() | st.dictionaries(
    st.sampled_from(NAMES), st.sampled_from((-3.0, -2.0, -1.0, 1.0, 2.0, 3.0)), max_size=5
)


@settings(deadline=None, max_examples=extent(20, 60))
@given(
    st.lists(MEMORIES, min_size=6, max_size=6),
    st.sampled_from(((3, 3), (2, 4), (2, 2, 2), (1,) * 6)),
    st.booleans(),
    st.integers(1, 4),
)
def test_table_equals_the_definition_on_every_division(
    memories: list[dict[str, float] | None], layout: tuple[int, ...], paired: bool, matches: int
) -> None:
    people = [
        player(name) if known is None else player(name, recent=known)
        for name, known in zip(NAMES, memories, strict=True)
    ]
    paired = paired and max(layout) > 1
    groups = [people[:2], *([p] for p in people[2:])] if paired else [[p] for p in people]
    tickets = [ticket(f"t{n}", *own, sequence=n) for n, own in enumerate(groups, 1)]
    sizes = tuple(map(len, groups))
    found = list(divisions(sizes, Room(layout, layout, True), [None] * len(sizes)))
    ((_, orders),) = division_tables(sizes, found, layout)

    costs = rematch_table(tickets, orders, layout, "recent", matches)

    assert len(found) == len(costs) > 0
    for division, cost in zip(found, costs.tolist(), strict=True):
        teams = [[tickets[place] for place in team] for team in division]
        assert cost == pytest.approx(rematch(teams, "recent", matches), abs=1e-12)
        assert 0.0 <= cost <= 1.0


def test_best_division_separates_mates_of_the_last_match_or_joins_opponents() -> None:
    queue = Queue(format=Format((2, 2)), criteria=(REMATCH,))
    a, b = solo("a", {"b": 1.0}), solo("b", {"a": 1.0})
    seating = Objective(queue).seat([a, b, solo("c"), solo("d")])

    assert seating is not None
    assert seating.teams[0] == (a, b)  # the relation changes, and half of 1/6 is left
    assert seating.criteria_cost == pytest.approx(1 / 12, abs=1e-15)


def test_duels_short_way_counts_a_rematch_beside_other_criteria() -> None:
    spread = Criterion("spread", "rating", 3.0)
    objective = Objective(Queue(criteria=(spread, REMATCH)))
    one, two = solo("a", {"b": 1.0}, rating=0.5), solo("b", {"a": 1.0}, 2.0, rating=0.25)

    seating = objective.seat([one, two])

    assert seating is not None
    assert seating.criteria_cost == 3.0 * 0.25 + 1.0
    assert seating.quality == pytest.approx(1.0 - 1.75 / 4.0, abs=1e-15)
    assert seating.ready_at == 2.0


def test_memory_is_not_asked_for_and_a_count_below_1_is_refused() -> None:
    objective = Objective(Queue(criteria=(REMATCH,)))

    assert "recent" in objective.declared
    assert objective.missing(solo("a")) is None
    assert objective.missing(solo("a", {"b": -2.0, "c": 1.0})) is None
    assert objective.missing(solo("a", {"b": 0.5})) == (
        "attribute recent must count matches from 1 = the last one (-1 = in one team), got 0.5"
    )


RULE = redraw_rule(2, every=5.0)


def test_rematch_is_drawn_again_so_often_and_then_allowed() -> None:
    rules = Rules(Queue(rules=(RULE,)))
    one, two = solo("a", {"b": 1.0}, 1.0), solo("b", {"a": 1.0}, 4.0)

    # Two draws of 5 s each in the wait of both.
    assert rules.pair_ready_at(one, two) == rules.ready_at([[one], [two]]) == 14.0
    assert rules.pair_ready_at(one, solo("c", {"d": 1.0}, 4.0)) == 4.0


@given(MEMORIES, MEMORIES, st.integers(1, 4))
def test_duels_short_way_equals_the_rule_on_teams(
    first: dict[str, float] | None, second: dict[str, float] | None, matches: int
) -> None:
    tickets = [solo("a", first), solo("b", second)]
    expected = rule_gap(tickets, "recent", matches)

    assert duel_gap(*tickets, "recent", matches) == expected
    assert duel_gap(*reversed(tickets), "recent", matches) == expected


def test_rule_looks_as_far_back_as_it_says() -> None:
    one, two = solo("a", {"b": 3.0}), solo("b", {"a": 3.0})

    for matches, at in ((1, 0.0), (2, 0.0), (3, 10.0), (20, 10.0)):
        rules = Rules(Queue(rules=(redraw_rule(2, every=5.0, matches=matches),)))
        assert rules.pair_ready_at(one, two) == at


def test_rule_without_redraws_to_come_forbids_for_ever() -> None:
    rules = Rules(Queue(rules=(Rule("rematch", "recent"),)))

    assert rules.pair_ready_at(solo("a", ("b",)), solo("b")) == math.inf


@pytest.mark.parametrize("ago", [1.0, -1.0])
def test_rule_is_about_former_opponents_in_whatever_team(ago: float) -> None:
    queue = Queue(format=Format((2, 2)), rules=(RULE,))
    tickets = [solo("a", {"b": ago}), solo("b", {"a": ago}), solo("c"), solo("d")]
    at = 10.0 if ago > 0.0 else 0.0

    assert Rules(queue).pair_ready_at(*tickets[:2]) == at
    for teams in ((tickets[:2], tickets[2:]), (tickets[::2], tickets[1::2])):
        assert Rules(queue).ready_at(teams) == at


def test_waiting_longer_never_shrinks_what_the_rule_accepts() -> None:
    fresh = [freshness(ago, 3) for ago in (1.0, 2.0, 3.0, 4.0)]
    rules = Rules(Queue(rules=(redraw_rule(2, every=5.0, matches=3),)))
    instants = [
        rules.pair_ready_at(solo("a", {"b": ago}), solo("b", {"a": ago}))
        for ago in (1.0, 2.0, 3.0, 4.0)
    ]

    assert fresh == sorted(fresh, reverse=True)
    assert instants == [10.0, 10.0, 10.0, 0.0]
