"""Latency: pings and joint regions by hand, tables against the definition, and the rules."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.criteria.divisions import Room, division_tables, divisions
from evenmatch.criteria.kinds.latency import (
    Known,
    Latency,
    RegionLimits,
    are_measured,
    cheapest,
    common_regions,
    cost_of_ms,
    costs_of_ms,
    ping,
    ping_table,
)
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import comparison_of
from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Criterion, Expansion, Format, Pairs, Queue, Rule
from evenmatch.model.ticket import Player, Ticket, Value
from evenmatch.testing import player, ticket
from tests.extent import extent

NAMES = "abcdef"
ALL_PAIRS: tuple[Pairs, ...] = ("enemies", "teammates", "all", "region")


def solo(name: str, at: float = 0.0, **ms: float) -> Ticket:
    """Return a ticket of one player with these latencies."""
    number = NAMES.index(name) + 1
    return ticket(name, player(name, latency=ms), at=at, sequence=number)


def criterion(pairs: Pairs | None = None, players: tuple[int, ...] = (1, 1)) -> Latency:
    found = comparison_of(
        Criterion("latency", "latency", pairs=pairs), Queue(format=Format(players))
    )
    assert isinstance(found, Latency)
    return found


def region_for(known: list[Known], weigh: Latency | None) -> str | None:
    found = cheapest(common_regions(known), weigh)
    return None if found is None else found.name


def rules(limit: float, pairs: Pairs | None = None, *players: int, **more: object) -> Rules:
    rule = Rule("latency", "latency", limit, pairs=pairs, **more)  # type: ignore[arg-type]
    return Rules(Queue(format=Format(players or (1, 1)), rules=(rule,)))


def test_ping_is_the_way_over_the_best_common_region() -> None:
    a, b = {"eu": 20.0, "us": 90.0, "asia": 1.0}, {"eu": 70.0, "us": 10.0}
    assert ping(Player("a"), Player("b"), a, b) == 90.0


def test_measured_ping_counts_before_regions_and_the_larger_of_two() -> None:
    one, two = Player("a"), Player("b")
    assert ping(one, two, {"eu": 1.0, "b": 50.0}, {"eu": 1.0}) == 50.0
    assert ping(one, two, {"eu": 1.0}, {"eu": 1.0, "a": 50.0}) == 50.0
    assert ping(one, two, {"b": 50.0}, {"a": 60.0}) == 60.0


COST_OF_60 = cost_of_ms(60.0, 25.0, 400.0)
BOTH, ONE, OTHER, NONE = (True, True), (True, False), (False, True), (False, False)


@pytest.mark.parametrize("measured", [BOTH, ONE, OTHER, NONE])
def test_ping_that_one_side_has_measured_is_measured(measured: tuple[bool, bool]) -> None:
    # Both know x, which is a player of another match, or a region if nobody was measured.
    one, two = ({name: 50.0} if known else {} for name, known in zip("ba", measured, strict=True))
    teams = ((solo("a", x=30.0, **one),), (solo("b", x=40.0, **two),))
    assert are_measured(teams, "latency") == any(measured)
    assert criterion().gap(teams) == (50.0 if any(measured) else 70.0)
    queue = Queue(criteria=(Criterion("latency", "latency"),))
    venue = Objective(queue).venues.of(teams, 0.0)
    assert venue.region == (None if any(measured) else "x")


def test_everybody_is_measured_only_if_every_two_are() -> None:
    teams = (
        (solo("a", x=1.0, c=10.0), solo("b", x=1.0, d=10.0)),
        (solo("c", x=1.0, b=10.0), solo("d", x=1.0, a=10.0)),
    )
    assert not are_measured(teams, "latency"), "a and b, and c and d, know nothing of each other"
    assert are_measured((teams[0][:1], teams[1][:1]), "latency")


def test_two_without_a_common_region_cannot_be_joined_and_cost_1() -> None:
    assert ping(Player("a"), Player("b"), {"eu": 20.0}, {"us": 10.0}) == math.inf
    assert criterion().cost(([solo("a", eu=20.0)], [solo("b", us=10.0)])) == 1.0


@pytest.mark.parametrize(
    ("ms", "cost"), [(0.0, 0.0), (25.0, 0.0), (50.0, 0.25), (100.0, 0.5), (400.0, 1.0), (9e9, 1.0)]
)
def test_milliseconds_cost_by_their_logarithm_from_best_to_worst(ms: float, cost: float) -> None:
    assert cost_of_ms(ms, 25.0, 400.0) == pytest.approx(cost, abs=1e-15)
    assert costs_of_ms(np.array([ms, math.inf]), 25.0, 400.0) == pytest.approx([cost, 1.0])


def test_pairs_say_who_counts() -> None:
    # a and b are 50 ms apart, everybody else 100 ms or 400 ms.
    far = {"x": 200.0}
    a, b = solo("a", x=25.0, y=200.0), solo("b", x=25.0, y=200.0)
    c, d = ticket("c", player("c", latency=far), sequence=3), solo("d", x=75.0)
    teams = ([a, b], [c, d])

    def mean(*ms: float) -> float:
        return sum(cost_of_ms(each, 25.0, 400.0) for each in ms) / len(ms)

    form = (2, 2)
    assert criterion(None, form).cost(teams) == pytest.approx(mean(225.0, 100.0, 225.0, 100.0))
    assert criterion("teammates", form).cost(teams) == pytest.approx(mean(50.0, 275.0))
    assert criterion("all", form).cost(teams) == pytest.approx(
        mean(50.0, 275.0, 225.0, 100.0, 225.0, 100.0)
    )


def test_region_is_chosen_for_all_at_once_by_the_mean_cost() -> None:
    # Milliseconds alone say us (mean 110 against 120), costs say eu, which is perfect for two.
    people = [
        solo("a", eu=25.0, us=110.0),
        solo("b", eu=25.0, us=110.0),
        solo("c", eu=310.0, us=110),
    ]
    found = criterion("region", (2, 1))
    known = [each.players[0].attributes["latency"] for each in people]

    assert region_for(known, None) == "us"  # type: ignore[arg-type]
    assert region_for(known, found) == "eu"  # type: ignore[arg-type]
    assert found.cost((people[:2], people[2:])) == pytest.approx(cost_of_ms(310, 25, 400) / 3)


def test_region_must_be_known_to_everybody_else_the_match_costs_1() -> None:
    people = [solo("a", eu=20.0), solo("b", eu=20.0, us=30.0), solo("c", us=30.0)]

    assert criterion("region", (2, 1)).cost((people[:2], people[2:])) == 1.0


def test_equal_regions_are_chosen_by_least_milliseconds_then_by_name() -> None:
    found = criterion("region")
    assert region_for([{"b": 10.0, "a": 20.0}] * 2, found) == "b"
    assert region_for([{"b": 20.0, "a": 20.0}] * 2, found) == "a"


def test_rule_and_criterion_of_a_queue_answer_for_the_teams_they_are_asked_about() -> None:
    found = criterion("region", (1, 1))
    near, far = solo("a", eu=20.0), solo("b", eu=200.0)
    team = [near]

    changing = (team, [near])
    assert found.gap(changing) == 20.0
    team[0] = far
    assert found.gap(changing) == 200.0
    fixed = ((near,), (near,))
    assert [found.gap(fixed), found.gap(((far,), (far,))), found.gap(fixed)] == [20.0, 200.0, 20.0]
    assert criterion("region", (1, 1)).cost(fixed) == 0.0


def test_pings_to_players_of_the_match_are_no_regions() -> None:
    a, b = solo("a", b=1.0, eu=40.0), solo("b", b=0.0, eu=40.0)
    assert criterion("region").cost(([a], [b])) == pytest.approx(cost_of_ms(40.0, 25.0, 400.0))


def test_latencies_of_a_party_and_of_its_players_add_up() -> None:
    pair = Ticket(
        "t", 1, 0.0, (Player("a"), Player("b", attributes={"latency": {"us": 5.0}})), ("main",),
        {"latency": {"eu": 30.0}},
    )  # fmt: skip
    assert ping_table([pair, solo("c", us=6.0, eu=90.0)], "latency").tolist() == [
        [0.0, 60.0, 120.0],
        [60.0, 0.0, 11.0],
        [120.0, 11.0, 0.0],
    ]


PLACES = st.dictionaries(
    st.sampled_from(("eu", "us", *NAMES)), st.sampled_from((0.0, 30.0, 77.5, 410.0)), min_size=1
)


@settings(deadline=None, max_examples=extent(20, 60))
@given(
    st.lists(PLACES, min_size=6, max_size=6),
    st.sampled_from(((3, 3), (2, 4), (2, 2, 2), (1,) * 6)),
    st.booleans(),
    st.sampled_from(ALL_PAIRS),
)
def test_tables_equal_the_definitions_on_every_division(
    known: list[dict[str, float]], layout: tuple[int, ...], paired: bool, pairs: Pairs
) -> None:
    people = [player(name, latency=ms) for name, ms in zip(NAMES, known, strict=True)]
    paired = paired and max(layout) > 1
    groups = [people[:2], *([p] for p in people[2:])] if paired else [[p] for p in people]
    tickets = [ticket(f"t{n}", *own, sequence=n) for n, own in enumerate(groups, 1)]
    sizes = tuple(map(len, groups))
    found = list(divisions(sizes, Room(layout, layout, True), [None] * len(sizes)))
    ((_, orders),) = division_tables(sizes, found, layout)
    queue = Queue(format=Format(layout))
    soft = comparison_of(Criterion("latency", "latency", pairs=pairs), queue)
    hard = comparison_of(Rule("latency", "latency", pairs=pairs), queue)

    costs = soft.cost_table(tickets, orders, layout)
    gaps = hard.gap_table(tickets, orders, layout)

    assert len(found) == len(costs) > 0
    for division, cost, gap in zip(found, costs.tolist(), gaps.tolist(), strict=True):
        teams = [[tickets[place] for place in team] for team in division]
        assert cost == pytest.approx(soft.cost(teams), abs=1e-12)
        assert gap == hard.gap(teams)
        assert 0.0 <= cost <= 1.0
        for at, one in enumerate(tickets):
            for two in tickets[:at]:
                assert hard.pair_gap(one, two) <= gap


def test_rule_limits_the_largest_ping_and_widens() -> None:
    one, two = solo("a", 1.0, eu=40.0), solo("b", 3.0, eu=50.0)

    assert rules(90.0).pair_ready_at(one, two) == 3.0
    assert rules(80.0).pair_ready_at(one, two) == math.inf
    assert rules(80.0, expand=Expansion(rate=2.0)).pair_ready_at(one, two) == 8.0
    assert rules(80.0, expand=Expansion(rate=2.0), accept="either").ready_at([[one], [two]]) == 6.0


def test_rule_on_a_region_limits_the_largest_latency_to_the_joint_one() -> None:
    people = [
        solo("a", eu=10.0, us=100.0),
        solo("b", eu=150.0, us=20.0),
        solo("c", eu=20.0, us=90.0),
    ]
    teams = (people[:2], people[2:])

    # eu has the least mean, 60 ms against 70 ms, but us is open first: it has 100 ms at most.
    wider = Expansion(rate=1.0, max=150.0)
    assert rules(150.0, "region", 2, 1).ready_at(teams) == 0.0
    assert rules(100.0, "region", 2, 1, expand=wider).ready_at(teams) == 0.0
    assert rules(90.0, "region", 2, 1, expand=wider).ready_at(teams) == 10.0
    assert rules(149.0, "region", 2, 1).ready_at(teams) == 0.0
    assert rules(99.0, "region", 2, 1).ready_at(teams) == math.inf
    # With us, a and b are within 100 ms of it, and somebody else may choose us.
    assert rules(100.0, "region", 2, 1).pair_ready_at(*people[:2]) == 0.0
    assert rules(99.0, "region", 2, 1).pair_ready_at(*people[:2]) == math.inf


def test_match_is_played_in_the_best_region_that_is_ever_legal_for_all() -> None:
    people = [solo("a", eu=10.0, us=60.0), solo("b", eu=10.0, us=60.0), solo("c", eu=110.0, us=60)]
    teams = (people[:2], people[2:])
    chosen = Criterion("latency", "latency", pairs="region")
    for criteria in ((), (chosen,)):
        for accept in ("both", "either"):
            rule = Rule("latency", "latency", 100.0, pairs="region", accept=accept)  # type: ignore[arg-type]
            objective = Objective(Queue(format=Format((2, 1)), criteria=criteria, rules=(rule,)))
            seating = objective.judge(tuple(map(tuple, teams)))

            assert seating.ready_at == 0.0
            assert seating.criteria_cost == pytest.approx(3.0 * len(criteria) * COST_OF_60)
            venue = objective.venues.of(teams, 0.0)
            assert (venue.region, venue.delta) == ("us", ((50.0, 50.0), (0.0,)))


def test_match_without_a_region_that_is_ever_legal_for_all_is_never_legal() -> None:
    people = [solo("a", eu=10.0, us=60.0), solo("b", eu=10.0, us=101.0), solo("c", eu=101.0, us=6)]
    rule = Rule("latency", "latency", 100.0, pairs="region")
    chosen = Criterion("latency", "latency", pairs="region")
    objective = Objective(Queue(format=Format((2, 1)), criteria=(chosen,), rules=(rule,)))
    seating = objective.judge((tuple(people[:2]), tuple(people[2:])))

    assert (seating.ready_at, seating.quality) == (math.inf, 0.0)
    assert objective.venues.of(seating.teams, math.inf).region is None


def test_each_attribute_has_rules_of_its_own_and_pings_of_players_bound_no_region() -> None:
    queue = Queue(
        rules=(
            Rule("latency", "latency", 80.0, pairs="region"),
            Rule("latency", "latency", 60.0, pairs="region", expand=Expansion(rate=1.0, max=90.0)),
            Rule("latency", "latency", 30.0, pairs="enemies"),
            Rule("latency", "other", 20.0, pairs="region"),
        )
    )

    assert RegionLimits(queue, "latency").furthest == 80.0
    assert RegionLimits(queue, "other").furthest == 20.0
    assert RegionLimits(queue, "third").furthest == math.inf


def test_venue_is_that_of_the_attribute_by_which_a_region_is_chosen() -> None:
    near = {"eu": 10.0, "us": 20.0}
    teams = [
        (ticket(name, Player(name, attributes={"far": {"x": 5.0, other: 9.0}, "near": near})),)
        for name, other in ("ab", "ba")
    ]
    rule = Rule("latency", "near", 50.0, pairs="region")
    pings = Criterion("latency", "far")

    assert Objective(Queue(criteria=(pings,), rules=(rule,))).venues.of(teams, 0.0).region == "eu"
    assert Objective(Queue(criteria=(pings,))).venues.of(teams, 0.0).region is None


def test_match_waits_for_no_cheaper_region_and_gets_it_once_it_is_open() -> None:
    people = [
        solo("a", eu=25.0, us=110.0),
        solo("b", eu=25.0, us=110.0),
        solo("c", eu=310.0, us=110),
    ]
    rule = Rule("latency", "latency", 200.0, pairs="region", expand=Expansion(rate=1.0))
    chosen = Criterion("latency", "latency", pairs="region", weight=1.0)
    objective = Objective(Queue(format=Format((2, 1)), criteria=(chosen,), rules=(rule,)))
    teams = (tuple(people[:2]), tuple(people[2:]))
    us, eu = cost_of_ms(110.0, 25.0, 400.0), cost_of_ms(310.0, 25.0, 400.0) / 3.0

    for now, region, cost in ((-5.0, "us", us), (0.0, "us", us), (109.0, "us", us)):
        seating = objective.judge(teams, now)
        assert (seating.ready_at, seating.criteria_cost) == (0.0, pytest.approx(cost))
        assert objective.venues.of(teams, max(now, 0.0)).region == region
        assert objective.factors(teams, region=region) == (pytest.approx(cost),)
    assert eu < us
    for now in (110.0, math.inf):
        assert objective.judge(teams, now).criteria_cost == pytest.approx(eu)
        assert objective.venues.of(teams, now).region == "eu"


def test_duel_costs_what_the_regions_cost_that_are_open_when_it_is_played() -> None:
    one, two = solo("a", eu=25.0, us=110.0), solo("b", eu=300.0, us=160.0)
    rule = Rule("latency", "latency", 200.0, pairs="region", expand=Expansion(rate=1.0))
    chosen = Criterion("latency", "latency", pairs="region", weight=1.0)
    objective = Objective(Queue(criteria=(chosen,), rules=(rule,)))

    costs = []
    for now in (0.0, 99.0, 100.0):
        seating = objective.seat((one, two), now=now)
        assert seating is not None
        assert seating.ready_at == 0.0
        costs.append(seating.criteria_cost)
    us = (cost_of_ms(110.0, 25.0, 400.0) + cost_of_ms(160.0, 25.0, 400.0)) / 2.0
    eu = cost_of_ms(300.0, 25.0, 400.0) / 2.0
    assert costs == pytest.approx([us, us, eu])
    assert eu < us


def test_enemies_too_far_apart_are_put_into_one_team_where_the_rule_asks_it() -> None:
    near, far = solo("a", eu=10.0), solo("b", eu=90.0)
    queue = Queue(
        format=Format((2, 2)), rules=(Rule("latency", "latency", 110.0, pairs="enemies"),)
    )
    tickets = [near, far, solo("c", eu=20.0), solo("d", eu=15.0)]

    assert Rules(queue).pair_ready_at(far, tickets[2]) == 0.0
    assert Objective(queue).seat(tickets, now=0.0).ready_at == 0.0  # type: ignore[union-attr]
    alone = [*tickets[:2], solo("c", eu=30.0), solo("d", eu=25.0)]
    assert Objective(queue).seat(alone, now=0.0).ready_at == math.inf  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "attribute latency is missing"),
        (30.0, 'must be a map of milliseconds such as {"eu": 30}, got 30.0'),
        ({}, "got an empty map"),
        ({"eu": -1.0}, "attribute latency must be finite and >= 0 ms, got -1.0 for eu"),
        ({"eu": 5.0, "us": math.nan}, "must be finite and >= 0 ms, got nan for us"),
        ({"eu": math.inf}, "must be finite and >= 0 ms, got inf for eu"),
    ],
)
def test_latencies_that_are_none_are_refused(value: Value | None, problem: str) -> None:
    objective = Objective(Queue(criteria=(Criterion("latency", "latency"),)))
    facts: dict[str, Value] = {} if value is None else {"latency": value}

    assert problem in (objective.missing(ticket("a", player("a", **facts))) or "")
    assert objective.missing(solo("a", eu=0.0)) is None
