"""Attributes whose names have another meaning in tickets."""

from typing import Any

import pytest

from evenmatch.criteria.objective import Objective
from evenmatch.criteria.validation.queue import check_queue
from evenmatch.model.queue import Criterion, Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.model.ticket_names import declared_name, ticket_name
from evenmatch.rules.flexmatch.compile import compile_rule_set
from tests.flexmatch_kit import rule_set_of

NAMES = [
    "skill",
    "side",
    "side_value",
    "side_value_value",
    "roles",
    "a.b",
    "a~b",
    "a~1b",
    "a_value",
]


def rules_on(name: str) -> list[dict[str, Any]]:
    of = f"teams[*].players.attributes[{name}]"
    return [
        {"name": "Near", "type": "batchDistance", "batchAttribute": name, "maxDistance": 5},
        {"name": "Fair", "type": "distance", "measurements": [f"avg({of})"],
         "referenceValue": f"avg(flatten({of}))", "maxDistance": 10},
        {"name": "Most", "type": "comparison", "measurements": [f"flatten({of})"],
         "operation": "<=", "referenceValue": 99},
        {"name": "Sort", "type": "distanceSort", "sortAttribute": name,
         "sortDirection": "ascending"},
    ]  # fmt: skip


def test_names_in_tickets_are_different_and_lead_back() -> None:
    found = [ticket_name(each) for each in NAMES]
    assert found[:2] == ["skill", "side_value"]
    assert len(set(found)) == len(NAMES)
    assert [declared_name(each) for each in found] == NAMES


def queue_on(name: str) -> Queue:
    reference = f"max(teams[red].players.attributes[{name}])"
    steps = [{"waitTimeSeconds": 5, "value": reference}]
    rule_set = rule_set_of(
        *rules_on(name),
        {"name": "Here", "type": "latency", "maxLatency": 50},
        playerAttributes=[{"name": name, "type": "number", "default": 1}],
        algorithm={"strategy": "balanced", "balancedAttribute": name},
        expansions=[{"target": "rules[Fair].referenceValue", "steps": steps}],
    )
    return compile_rule_set(rule_set).queue(Queue(wait_max=60.0))


@pytest.mark.parametrize("name", ["side", "latency", "roles", "a.b"])
def test_rule_set_means_the_same_under_any_name(name: str) -> None:
    queue = queue_on(name)
    check_queue(queue)
    assert repr(queue).replace(ticket_name(name), "skill") == repr(queue_on("skill"))


def test_teams_keep_their_names_beside_an_attribute_called_side() -> None:
    attributes = [{"name": "side", "type": "string", "default": "x"}]
    compiled = compile_rule_set(rule_set_of(playerAttributes=attributes))
    assert compiled.format.sides == ("red", "blue")


def test_ticket_that_uses_the_declared_name_is_told_the_name_in_tickets() -> None:
    attributes = {"type": "number", "name": "size"}
    plain = compile_rule_set(rule_set_of(playerAttributes=[attributes]))
    compared = compile_rule_set(rule_set_of(*rules_on("size"), playerAttributes=[attributes]))
    ticket = NewTicket((Player("p", attributes={"size": 3.0}),))
    origin = "(the rule set's size is called so in tickets)"
    for compiled in (plain, compared):
        wrong = Objective(compiled.queue(Queue())).missing(ticket)
        assert wrong == f"attribute size_value is missing {origin}"
    by_hand = Queue(criteria=(Criterion("spread", "size_value"),))
    assert Objective(by_hand).missing(ticket) == "attribute size_value is missing"
