"""What the engine refuses to believe of a policy, and the match that it makes of the rest."""

import math

import pytest

from evenmatch.engine.matching.decision_check import check_grouping, describe, playable
from evenmatch.engine.matching.pool import Pool, check_decision
from evenmatch.errors import PolicyError
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Player, Ticket, Value
from evenmatch.policies.base import Decision, Grouping
from evenmatch.policies.greedy import Greedy
from evenmatch.policies.window import Window
from evenmatch.testing import player, queue, rule, ticket

BOTS = queue(wait_max=10, on_deadline="bots")


def pool(in_queue: Queue, *tickets: Ticket) -> Pool:
    made = Pool(in_queue, Greedy(), seed=1)
    for each in tickets:
        made.enter(each, each.enqueued_at)
    return made


@pytest.mark.parametrize(
    ("wake_at", "fired"), [(math.inf, True), (5.5, True), (5.5, False), (5.0, False)]
)
def test_wake_up_that_is_still_to_come_is_fine(wake_at: float, fired: bool) -> None:
    check_decision(pool(queue()), Decision(wake_at=wake_at), 5.0, fired)


@pytest.mark.parametrize(
    ("wake_at", "fired"), [(5.0, True), (4.0, True), (4.0, False), (math.nan, False)]
)
def test_wake_up_in_the_past_breaks_the_contract(wake_at: float, fired: bool) -> None:
    with pytest.raises(PolicyError) as caught:
        check_decision(pool(queue()), Decision(wake_at=wake_at), 5.0, fired)

    assert str(caught.value) == (
        f"policy greedy of queue main: wake_at must be later than 5.0, got {wake_at}"
    )


def test_legal_group_is_seated_in_order_of_age() -> None:
    a, b = ticket("a", at=2, sequence=2), ticket("b", at=1, sequence=1)

    tickets, seating = check_grouping(pool(queue(), b, a), Grouping(("a", "b")), 2.0, False)

    assert [each.id for each in tickets] == ["b", "a"]
    assert seating.teams == ((b,), (a,))


@pytest.mark.parametrize(
    ("grouping", "broken"),
    [
        (Grouping(("a", "a")), "a ticket is used twice (tickets a, a)"),
        (Grouping(("a", "x")), "a ticket does not wait in this queue (tickets x)"),
        (Grouping(("a",)), "the tickets do not fill the teams exactly (tickets a)"),
        (Grouping(("a", "b", "c")), "the tickets do not fill the teams exactly (tickets a, b, c)"),
        (
            Grouping(("a", "b"), extends="s0-m1"),
            "the engine fills running matches, so extends must be None (tickets a, b)",
        ),
        (Grouping(()), "the tickets do not fill the teams exactly (tickets )"),
        (
            Grouping(("a", "c")),
            "rule spread of rating allows it only from 40 s on, not at 39 s (tickets a, c)",
        ),
    ],
)
def test_group_that_is_no_match_breaks_the_contract(grouping: Grouping, broken: str) -> None:
    in_queue = queue(rules=(rule(limit=10, rate=1.0),))
    waiting = (ticket("a", 0, sequence=1), ticket("b", 5, sequence=2), ticket("c", 50, sequence=3))

    with pytest.raises(PolicyError) as caught:
        check_grouping(pool(in_queue, *waiting), grouping, 39.0, True)

    assert str(caught.value) == f"policy greedy of queue main: {broken}"


def test_rule_holds_from_its_exact_instant_on() -> None:
    in_queue = queue(rules=(rule(limit=10, rate=1.0),))
    at_work = pool(in_queue, ticket("a", 0, sequence=1), ticket("c", 50, sequence=3))

    assert check_grouping(at_work, Grouping(("a", "c")), 40.0, True)[1].ready_at == 40.0


def test_rules_that_the_policy_stands_for_count_too() -> None:
    at_work = Pool(queue(), Window(limit=10), seed=1)
    for each in (ticket("a", 0, sequence=1), ticket("b", 50, sequence=2)):
        at_work.enter(each, 0.0)

    with pytest.raises(PolicyError, match="rule spread of rating never allows it"):
        check_grouping(at_work, Grouping(("a", "b")), 0.0, False)


def test_bots_play_at_the_deadline_of_a_queue_that_has_them() -> None:
    at_work = pool(BOTS, ticket("a", sequence=1))

    _, seating = check_grouping(at_work, Grouping(("a",), bots=1), 10.0, True)

    assert [len(team) for team in seating.teams] == [1, 0]


@pytest.mark.parametrize(
    ("in_queue", "now", "fired", "bots"),
    [
        (BOTS, 9.0, True, 1),
        (BOTS, 10.0, False, 1),
        (BOTS, 10.0, True, -1),
        (queue(wait_max=10), 10.0, True, 1),
        (queue(on_deadline="bots"), 10.0, True, 1),
    ],
    ids=["early", "not-fired", "negative", "expire", "no-deadline"],
)
def test_bots_at_any_other_time_break_the_contract(
    in_queue: Queue, now: float, fired: bool, bots: int
) -> None:
    at_work = pool(in_queue, ticket("a", sequence=1))

    with pytest.raises(PolicyError, match="bots play only at a ticket's deadline"):
        check_grouping(at_work, Grouping(("a",), bots=bots), now, fired)


def test_message_names_at_most_twenty_tickets() -> None:
    names = tuple(f"t{number}" for number in range(50))

    with pytest.raises(PolicyError) as caught:
        check_grouping(pool(queue()), Grouping(names), 0.0, False)

    assert str(caught.value).endswith("t18, t19)")


def test_match_is_described_with_teams_players_cost_and_quality() -> None:
    criterion = Criterion("spread", "rating", scale=Scale("linear", 0.0, 1000.0))
    in_queue = queue(criteria=(criterion,), wait_max=10)
    at_work = pool(in_queue, ticket("a", 0, at=0, sequence=1), ticket("b", 250, at=2, sequence=2))
    tickets, seating = check_grouping(at_work, Grouping(("b", "a")), 4.0, False)

    match = describe("s0-m1", at_work, tickets, seating, 0, 4.0)

    assert match.id == "s0-m1"
    assert match.queue == "main"
    assert match.at == 4.0
    assert match.tickets == ("a", "b")
    assert match.teams == match.players == (("a",), ("b",))
    assert match.bots == 0
    assert match.cost == 2 * 0.25 + (4.0 + 2.0) / 10
    assert match.quality == 0.75


EARLY = Queue(
    format=Format((2, 2), players_min=(1, 1)), wait_max=10.0, on_deadline="bots", policy="greedy"
)


def test_match_that_may_start_early_is_checked_against_its_minimum() -> None:
    waiting = pool(EARLY, ticket("a", sequence=1), ticket("b", sequence=2))

    _, seating = check_grouping(waiting, Grouping(("a", "b")), 0.0, False)

    assert [len(team) for team in seating.teams] == [1, 1]
    with pytest.raises(PolicyError, match="do not fill the teams to their minimum"):
        check_grouping(waiting, Grouping(("a",)), 0.0, False)


def test_bots_fill_no_more_than_the_minimum() -> None:
    waiting = pool(EARLY, ticket("a", sequence=1), ticket("b", sequence=2))

    assert check_grouping(waiting, Grouping(("a",), bots=1), 10.0, True)[1].ready_at == 0.0
    with pytest.raises(PolicyError, match="bots fill a match only up to its minimum"):
        check_grouping(waiting, Grouping(("a", "b"), bots=1), 10.0, True)


def test_match_names_the_role_of_each_player() -> None:
    duo = Queue(format=Format((2, 2), roles=(("tank", 1), ("dps", 1))))
    own = {"a": ("dps",), "b": ("tank", "dps"), "c": (), "d": ("dps", "tank")}
    tickets = [
        ticket(name, Player(name, roles=roles), sequence=n)
        for n, (name, roles) in enumerate(own.items())
    ]
    waiting = pool(duo, *tickets)

    found, seating = check_grouping(waiting, Grouping(tuple(own)), 0.0, False)
    match = describe("m", waiting, found, seating, 0, 0.0)

    assert match.players == (("a", "b"), ("c", "d"))
    assert match.roles == (("dps", "tank"), ("tank", "dps"))


def test_tickets_whose_roles_do_not_fit_break_the_contract() -> None:
    duo = Queue(format=Format((2, 2), roles=(("tank", 1), ("dps", 1))))
    tanks = [ticket(n, Player(n, roles=("tank",)), sequence=ord(n)) for n in "abc"]

    with pytest.raises(PolicyError, match="do not fill the teams with the roles that players"):
        check_grouping(
            pool(duo, *tanks, ticket("d", sequence=999)), Grouping(tuple("abcd")), 0.0, False
        )


def test_plan_keeps_what_can_be_played_now() -> None:
    in_queue = queue(rules=(rule(limit=10, rate=1.0),))
    ratings = {"a": 0, "b": 5, "c": 50, "d": 0, "e": 5, "f": 0}
    at_work = pool(
        in_queue,
        *(ticket(name, each, sequence=n) for n, (name, each) in enumerate(ratings.items(), 1)),
    )
    plan = (("b", "a"), ("d", "gone"), ("c", "d"), ("a", "e"), ("e", "e"), ("f",), (), ("f", "e"))

    assert playable(at_work, plan, 20.0) == (("b", "a"), ("f", "e"))
    assert list(at_work.planned_seatings) == [("a", "b"), ("e", "f")]


def test_match_of_a_plan_is_divided_into_teams_once() -> None:
    at_work = pool(queue(), ticket("a", sequence=1), ticket("b", sequence=2))
    playable(at_work, (("b", "a"),), 1.0)

    _, seating = check_grouping(at_work, Grouping(("b", "a")), 1.0, False)

    assert seating is at_work.planned_seatings["a", "b"]


def seated(in_queue: Queue, *facts: dict[str, Value]) -> Match:
    """Return the match of single players a, b, ... who have these attributes."""
    people = [
        ticket(name, player(name, **own), sequence=number)
        for number, (name, own) in enumerate(zip("abcdef", facts, strict=False), 1)
    ]
    found = pool(in_queue, *people)
    grouping = Grouping(tuple(each.id for each in people))
    return describe("m", found, *check_grouping(found, grouping, 0.0, False), 0, 0.0)


def test_match_states_where_it_is_played_and_who_can_host_it() -> None:
    asks = (Criterion("latency", "latency", pairs="region"), Criterion("host_options", "connect"))
    match = seated(
        queue(criteria=asks),
        {"latency": {"eu": 60.0, "us": 20.0}, "connect": "open"},
        {"latency": {"eu": 20.0, "us": 90.0}, "connect": ("a",)},
    )

    assert (match.region, match.latency_delta) == ("eu", ((40.0,), (0.0,)))
    assert match.hosts == ("a", "b")


def test_match_without_a_common_region_and_without_hosts_says_so() -> None:
    asks = (Criterion("latency", "latency"), Criterion("host_options", "connect"))
    match = seated(
        queue(criteria=asks),
        {"latency": {"us": 20.0}, "connect": "strict"},
        {"latency": {"eu": 20.0}, "connect": "moderate"},
    )

    assert (match.region, match.latency_delta, match.hosts) == (None, None, ())


def test_places_that_all_know_are_no_regions_where_everybody_was_measured() -> None:
    asks = queue(criteria=(Criterion("latency", "latency"),))
    measured = ({"b": 40.0, "x": 10.0}, {"a": 50.0, "x": 20.0})
    match = seated(asks, *({"latency": known} for known in measured))

    assert (match.region, match.latency_delta, match.hosts) == (None, None, None)


def test_queue_that_asks_for_neither_has_no_venue() -> None:
    match = seated(queue(), {"latency": {"eu": 5.0}}, {"latency": {"eu": 5.0}})

    assert (match.region, match.latency_delta, match.hosts) == (None, None, None)


def test_match_says_who_is_on_another_side_only_where_sides_are_wishes() -> None:
    wishes = Format((1, 1), ("A", "B"), side_choice="prefer")
    both = ({"side": "B"}, {"side": "B"})

    assert seated(Queue("q", wishes), *both).off_side == ("b",)
    assert seated(Queue("q", wishes), {"side": "B"}, {"side": ""}).off_side is None
    assert seated(queue(sides=("A", "B")), {"side": "B"}, {"side": ""}).off_side is None


def test_rule_without_an_attribute_is_named_by_its_kind() -> None:
    squads = queue("main", 3, 3, rules=(Rule("party_parity", limit=0.5),))
    alone = [ticket(name, sequence=ord(name)) for name in "bcd"]
    with pytest.raises(PolicyError, match="rule party_parity never allows it"):
        check_grouping(
            pool(squads, ticket("a", 1, 2, 3), *alone), Grouping(tuple("abcd")), 0.0, False
        )


def test_match_of_a_plan_that_lost_a_player_is_dropped_even_where_fewer_may_play() -> None:
    format_ = Format((2, 2), players_min=(1, 1))
    names = ("a", "b", "c", "d")
    three = [ticket(name, at=1, sequence=n) for n, name in enumerate(names[:3], start=1)]

    assert playable(pool(Queue("main", format_), *three), (names[:3], names), 2.0) == (names[:3],)
    assert playable(pool(Queue("main", format_), *three), (names,), 2.0) == ()
