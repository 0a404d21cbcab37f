"""Host options: who reaches whom, how many hosts a match has, and which come first."""

import math

import pytest

from evenmatch.criteria.host_reach import hosts_of, reaches
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import comparison_of
from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Ticket, Value
from evenmatch.testing import player, ticket

HOSTS = Criterion("host_options", "connect")
FORM = Format((2, 2))


def solo(name: str, connect: Value | None, at: float = 0.0, **latency: float) -> Ticket:
    facts: dict[str, Value] = {} if connect is None else {"connect": connect}
    if latency:
        facts["latency"] = latency
    return ticket(name, player(name, **facts), at=at, sequence=ord(name))


def cost(*connects: Value) -> float:
    tickets = [solo(name, each) for name, each in zip("abcd", connects, strict=True)]
    return comparison_of(HOSTS, Queue(format=FORM)).cost((tickets[:2], tickets[2:]))


@pytest.mark.parametrize(
    ("one", "two", "works"),
    [
        ("open", "open", True), ("open", "moderate", True), ("open", "strict", True),
        ("moderate", "moderate", True), ("moderate", "strict", False), ("strict", "strict", False),
    ],
)  # fmt: skip
def test_routers_reach_each_other_both_ways_or_not_at_all(one: str, two: str, works: bool) -> None:
    assert reaches(one, two, "b") is works
    assert reaches(two, one, "a") is works


def test_set_names_whom_one_reaches_and_an_open_router_is_reached_by_anyone() -> None:
    assert reaches(("b", "c"), (), "b")
    assert not reaches(("c",), (), "b")
    assert reaches((), "open", "b")
    assert reaches("open", (), "b")
    assert not reaches("moderate", ("a",), "b")


def test_files_turn_a_set_of_one_id_into_a_word_or_a_number() -> None:
    assert reaches("b", (), "b")
    assert reaches(7.0, (), "7")
    assert not reaches(7.0, (), "17")


def test_no_one_and_two_hosts_have_the_qualities_of_the_source() -> None:
    assert cost("strict", "strict", "moderate", "moderate") == 1.0
    assert cost("open", "strict", "moderate", "moderate") == 0.4
    assert cost("open", "strict", "open", "strict") == 0.0
    assert cost("moderate", "moderate", "moderate", "moderate") == 0.0
    assert cost(("b", "c", "d"), ("a", "c"), ("a", "b", "d"), ()) == 0.0
    assert cost(("b", "c", "d"), ("a", "c"), ("b", "d"), ()) == 0.4


def test_rule_asks_for_two_hosts_then_for_one_then_for_none() -> None:
    expand = Expansion(steps=((10.0, 1.0), (30.0, 2.0)))
    rules = Rules(Queue(format=FORM, rules=(Rule("host_options", "connect", expand=expand),)))
    others = [solo(name, "strict", 3.0) for name in "bcd"]
    nobody, one = [solo("a", "strict"), *others], [solo("a", "open"), *others]
    two = [solo("a", "open"), solo("b", "open", 3.0), *others[1:]]

    for tickets, ready_at in ((nobody, 33.0), (one, 13.0), (two, 3.0)):
        assert rules.ready_at((tickets[:2], tickets[2:])) == ready_at


def test_rule_counts_missing_hosts() -> None:
    one = [solo("a", "open"), *(solo(name, "strict") for name in "bcd")]
    for limit, ready_at in ((0.0, math.inf), (1.0, 0.0)):
        rules = Rules(Queue(format=FORM, rules=(Rule("host_options", "connect", limit),)))
        assert rules.ready_at((one[:2], one[2:])) == ready_at


def test_hosts_come_by_mean_ping_to_the_others_where_latencies_are_known_else_by_id() -> None:
    queue = Queue(format=Format((1, 2)), criteria=(HOSTS, Criterion("latency", "latency")))
    people = [
        solo("a", ("b", "c"), eu=90.0),
        solo("b", ("a", "c"), eu=5.0),
        solo("c", (), eu=40.0),
    ]
    teams = (people[:1], people[1:])

    assert Objective(queue).venues.of(teams, 0.0).hosts == ("b", "a")
    alone = Queue(format=Format((1, 2)), criteria=(HOSTS,))
    assert Objective(alone).venues.of(teams, 0.0).hosts == ("a", "b")
    assert [p.id for _, p in hosts_of(teams, "connect")] == ["a", "b"]


def test_absent_attribute_and_a_map_are_refused() -> None:
    objective = Objective(Queue(criteria=(HOSTS,)))

    assert objective.missing(solo("a", None)) == "attribute connect is missing"
    assert objective.missing(solo("a", {"b": 1.0})) == (
        "attribute connect must be a set of player ids or one of open, moderate, strict, got a map"
    )
    assert objective.missing(solo("a", ())) is None
