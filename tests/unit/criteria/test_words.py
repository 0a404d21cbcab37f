"""`same`, `overlap` and `avoid`: shares of pairs, hard rules that steps lift, and who is listed."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.criteria.divisions import Room, division_tables, divisions
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import comparison_of
from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Criterion, Expansion, Format, Pairs, Queue, Rule
from evenmatch.model.ticket import Ticket, Value
from evenmatch.testing import player, ticket
from tests.extent import extent

NAMES = "abcdef"
FORM = Format((2, 2))
LIFTED = Expansion(steps=((60.0, 1.0),))


def solo(name: str, at: float = 0.0, **facts: Value) -> Ticket:
    return ticket(name, player(name, **facts), at=at, sequence=NAMES.index(name) + 1)


def match(name: str, *values: Value) -> tuple[list[Ticket], list[Ticket]]:
    """Return two teams of two whose players have these values."""
    tickets = [solo(each, **{name: value}) for each, value in zip(NAMES, values, strict=False)]
    return tickets[:2], tickets[2:]


def cost(kind: str, *values: Value) -> float:
    given = Criterion(kind, "x")  # type: ignore[arg-type]
    return comparison_of(given, Queue(format=FORM)).cost(match("x", *values))


def test_same_costs_the_share_of_pairs_that_differ() -> None:
    assert cost("same", "eu", "eu", "eu", "eu") == 0.0
    assert cost("same", "eu", "eu", "eu", "us") == 0.5
    assert cost("same", "eu", "us", "asia", 5.0) == 1.0


def test_overlap_costs_the_share_of_pairs_without_a_common_element() -> None:
    assert cost("overlap", ("de", "en"), ("en", "fr"), "en", ("en",)) == 0.0
    assert cost("overlap", ("de", "en"), ("en", "fr"), ("fr",), ("fr",)) == pytest.approx(2 / 6)
    assert cost("overlap", ("de",), ("en",), ("fr",), ()) == 1.0


def ready_at(rule: Rule, teams: tuple[list[Ticket], list[Ticket]]) -> float:
    return Rules(Queue(format=FORM, rules=(rule,))).ready_at(teams)


@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        ((("de", "en"), ("en", "fr"), "en", ("en",)), True),
        # Each two have an element in common, but not all four the same one.
        ((("de", "en"), ("en", "fr"), ("de", "fr"), ("de", "en", "fr")), False),
    ],
)
def test_overlap_as_a_rule_asks_for_one_element_that_all_have(
    values: tuple[Value, ...], allowed: bool
) -> None:
    assert ready_at(Rule("overlap", "x"), match("x", *values)) == (0.0 if allowed else math.inf)


@pytest.mark.parametrize("kind", ["same", "overlap"])
def test_steps_lift_the_rule_for_both_or_for_either(kind: str) -> None:
    tickets = [solo("a", 1.0, x="de"), solo("b", 5.0, x="en")]
    for accept, at in (("both", 65.0), ("either", 61.0)):
        rule = Rule(kind, "x", expand=LIFTED, accept=accept)  # type: ignore[arg-type]
        rules = Rules(Queue(rules=(rule,)))
        assert rules.pair_ready_at(*tickets) == rules.ready_at([[each] for each in tickets]) == at
    rules = Rules(Queue(rules=(Rule(kind, "x"),)))  # type: ignore[arg-type]
    assert rules.pair_ready_at(*tickets) == math.inf
    assert rules.pair_ready_at(tickets[0], solo("c", 7.0, x="de")) == 7.0


def test_griefers_play_among_themselves_by_a_hidden_attribute() -> None:
    rules = Rules(Queue(format=FORM, rules=(Rule("same", "pool"),)))
    good, bad = match("pool", *["kind"] * 4), match("pool", *["griefer"] * 4)

    assert rules.ready_at(good) == rules.ready_at(bad) == 0.0
    assert rules.ready_at((good[0], bad[1])) == math.inf
    assert rules.pair_ready_at(good[0][0], bad[0][1]) == math.inf
    assert cost("same", "kind", "kind", "griefer", "griefer") == pytest.approx(4 / 6)


@pytest.mark.parametrize("kind", ["same", "overlap"])
def test_value_must_be_there(kind: str) -> None:
    objective = Objective(Queue(rules=(Rule(kind, "x"),)))  # type: ignore[arg-type]

    assert objective.missing(solo("a")) == "attribute x is missing"
    assert objective.missing(solo("a", x="de")) is None


def avoid(pairs: Pairs | None = None, expand: Expansion | None = None) -> Rule:
    return Rule("avoid", "avoid", expand=expand, pairs=pairs)


def test_nobody_meets_whom_either_lists() -> None:
    listed, lister = solo("a"), solo("b", avoid=("a", "x"))
    teams = ([listed, solo("c")], [lister, solo("d")])

    assert ready_at(avoid(), teams) == math.inf
    assert ready_at(avoid(), ([lister, solo("c")], [listed, solo("d")])) == math.inf
    assert ready_at(avoid(expand=LIFTED), teams) == 60.0
    assert ready_at(avoid(), ([solo("c"), listed], [solo("d"), solo("e")])) == 0.0


def test_avoid_may_be_about_enemies_or_teammates_only() -> None:
    one, two = solo("a"), solo("b", avoid="a")
    apart, together = ([one, solo("c")], [two, solo("d")]), ([one, two], [solo("c"), solo("d")])

    assert ready_at(avoid("enemies"), apart) == ready_at(avoid("teammates"), together) == math.inf
    assert ready_at(avoid("teammates"), apart) == ready_at(avoid("enemies"), together) == 0.0


@pytest.mark.parametrize(("pairs", "is_together"), [("enemies", True), ("teammates", False)])
def test_teams_are_made_so_that_who_avoids_whom_is_kept(pairs: Pairs, is_together: bool) -> None:
    tickets = [solo("a", avoid=("b",)), *map(solo, "bcd")]
    seating = Objective(Queue(format=FORM, rules=(avoid(pairs),))).seat(tickets, now=0.0)

    assert seating is not None
    assert seating.ready_at == 0.0
    team = next(team for team in seating.teams if tickets[0] in team)
    assert (tickets[1] in team) is is_together


def test_own_party_is_no_reason_to_wait_for_ever() -> None:
    party = ticket("t", player("a", avoid=("b",)), player("b"))
    rules = Rules(Queue(format=FORM, rules=(avoid(),)))

    assert rules.ready_at(([party], [solo("c"), solo("d")])) == 0.0


def test_list_need_not_be_there_and_is_no_map() -> None:
    objective = Objective(Queue(rules=(avoid(),)))

    assert objective.missing(solo("a")) is None
    assert objective.missing(solo("a", avoid=("b",))) is None
    assert objective.missing(solo("a", avoid={"b": 1.0})) == (
        "attribute avoid must be a set of player ids, got a map"
    )


@settings(deadline=None, max_examples=extent(20, 40))
@given(
    st.lists(st.sets(st.sampled_from(NAMES), max_size=2), min_size=6, max_size=6),
    st.sampled_from(((3, 3), (2, 4), (2, 2, 2), (1,) * 6, (6,))),
    st.booleans(),
    st.sampled_from(("same", "overlap", "enemies", "teammates", "all")),
)
def test_tables_equal_the_definitions_on_every_division(
    drawn: list[set[str]], layout: tuple[int, ...], paired: bool, what: str
) -> None:
    if (what == "enemies" and len(layout) == 1) or (what == "teammates" and max(layout) == 1):
        return
    people = [player(n, x=tuple(sorted(s))) for n, s in zip(NAMES, drawn, strict=True)]
    paired = paired and max(layout) > 1
    groups = [people[:2], *([p] for p in people[2:])] if paired else [[p] for p in people]
    tickets = [ticket(f"t{n}", *own, sequence=n) for n, own in enumerate(groups, 1)]
    sizes = tuple(map(len, groups))
    found = list(divisions(sizes, Room(layout, layout, True), [None] * len(sizes)))
    ((_, orders),) = division_tables(sizes, found, layout)
    is_soft = what in ("same", "overlap")
    rule = Rule(what, "x") if is_soft else Rule("avoid", "x", pairs=what)  # type: ignore[arg-type]
    queue = Queue(format=Format(layout))
    compared = comparison_of(rule, queue)
    soft = comparison_of(Criterion(what, "x"), queue) if is_soft else None  # type: ignore[arg-type]

    gaps = compared.gap_table(tickets, orders, layout)

    for row, division in enumerate(found):
        teams = [[tickets[place] for place in team] for team in division]
        assert gaps[row] == compared.gap(teams)
        if soft is not None:
            assert soft.cost_table(tickets, orders, layout)[row] == soft.cost(teams)
        for at, one in enumerate(tickets):
            for two in tickets[:at]:
                assert compared.pair_gap(one, two) <= gaps[row]
