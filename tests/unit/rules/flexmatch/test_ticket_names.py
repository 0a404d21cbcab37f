"""Attributes whose names have another meaning in tickets."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from evenmatch import simulate
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.validation.queue import check_queue
from evenmatch.errors import ArrivalsError
from evenmatch.model.queue import Criterion, Queue
from evenmatch.model.scenario import Scenario
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


def test_only_a_tilde_that_could_be_misread_is_escaped() -> None:
    assert [ticket_name(each) for each in ("a~b", "~", "a~1", "a~.")] == [
        "a~b",
        "~",
        "a~01",
        "a~~1",
    ]
    texts = ["".join(each) for size in range(1, 6) for each in product("~01.", repeat=size)]
    found = [ticket_name(each) for each in texts]
    assert len(set(found)) == len(texts)
    assert [declared_name(each) for each in found] == texts


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


@pytest.mark.parametrize(
    ("declared", "key"), [("leaves_at", "leaves_at_value"), ("a.b", '"a~1b"'), ("a~b", '"a~b"')]
)
def test_recording_without_the_name_in_tickets_is_told_how_to_map_it(
    tmp_path: Path, declared: str, key: str
) -> None:
    rule_set = rule_set_of(playerAttributes=[{"type": "number", "name": declared}])
    queue = compile_rule_set(rule_set).queue(Queue("main", policy="by_rules"))
    (tmp_path / "a.csv").write_text("at,mu\n0,1\n")
    with pytest.raises(ArrivalsError) as error:
        simulate(Scenario((queue,)), arrivals=tmp_path / "a.csv")
    name = ticket_name(declared)
    assert f"attribute {name} is missing" in str(error.value)
    assert f"the file has no column {name}: " in str(error.value)
    assert f'add {key} = "ITS NAME" to [arrivals.columns], or give --columns {key}="ITS NAME"' in (
        str(error.value)
    )
