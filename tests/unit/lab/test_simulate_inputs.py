"""`evenmatch.simulate` says what is wrong with what it is given."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.errors import ArrivalsError, ConfigError, NotSupported
from evenmatch.lab.check_matches import MatchCheck
from evenmatch.lab.simulate import PLAIN_MOST, plain_if_few, simulate
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.stream import Arrival

CLOCK = "[[queue]]\n[arrivals]\nprocess='regular'\ninterval=2\ncount=4"


def test_one_name_to_split_by_is_one_name() -> None:
    assert list(simulate(parse_scenario(CLOCK), by="size").summary["by"]) == ["size"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"seed": 1.5}, "seed must be a whole number or a numpy SeedSequence, got 1.5"),
        ({"seed": True}, "seed must be a whole number"),
        ({"arrivals": 3}, "arrivals must be a file's path, or a sequence"),
        ({"policy": 3}, "policy must be a SPEC"),
        ({"by": 3}, "by must be a name or several"),
        ({"by": [1]}, "by must be a name or several"),
        ({"scenario": {}}, "scenario must be the path of a TOML file or a Scenario, got dict"),
    ],
)
def test_wrong_type_is_a_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        simulate(**{"scenario": parse_scenario(CLOCK), **given})


def test_arrivals_may_come_from_a_generator() -> None:
    arrivals = [Arrival(at, NewTicket((Player(str(at)),))) for at in (0.0, 1.0, 2.0)]
    found = simulate(parse_scenario(CLOCK), arrivals=(each for each in arrivals))
    assert found.tickets == simulate(parse_scenario(CLOCK), arrivals=arrivals).tickets


ROLES = """
[[queue]]
teams = 2
players = 2
wait_max = 60.0
roles = {tank = 1, dps = 1}
"""


def test_roles_of_a_file_are_assigned_and_stand_in_the_matches(tmp_path: Path) -> None:
    arrivals = tmp_path / "a.csv"
    arrivals.write_text("at,player,roles\n0,a,tank\n1,b,dps+tank\n2,c,tank\n3,d|e,dps|tank\n")

    run = simulate(parse_scenario(ROLES), arrivals=arrivals)

    (match,) = run.matches
    assert match["teams"] == [["0", "1"], ["3"]]
    assert match["roles"] == [["tank", "dps"], ["dps", "tank"]]
    assert run.summary["unfinished"] + run.summary["expired"] == 1
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(match))
    assert list(MatchCheck(parse_scenario(ROLES).queues).problems(path)) == []


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("bard", "queue main: role bard is not one of tank, dps"),
        ("tank|tank", "queue main: the party's roles do not go together in one team of 1 tank"),
    ],
)
def test_roles_that_no_match_gives_are_refused(tmp_path: Path, cell: str, sentence: str) -> None:
    arrivals = tmp_path / "a.csv"
    arrivals.write_text(f"at,size,roles\n0,{1 + cell.count('|')},{cell}\n")

    with pytest.raises(ArrivalsError, match=r"column roles") as caught:
        simulate(parse_scenario(ROLES), arrivals=arrivals)

    assert sentence in str(caught.value)


BRAWL = """
[[queue]]
teams = 8
players = 1
players_min = [1, 1, 0, 0, 0, 0, 0, 0]
wait_max = 10.0
policy = "POLICY"
[[queue.criteria]]
kind = "imbalance"
attribute = "rating"
weight = 1.0
scale = {kind = "capped", max = 1000.0}
[arrivals]
process = "regular"
interval = 2.0
count = 21
[attributes.rating]
distribution = "uniform"
min = 1000.0
max = 2000.0
"""


@pytest.mark.parametrize("policy", ["greedy", "periodic:rounds_of=1", "group_price"])
def test_smaller_matches_start_at_the_deadline_and_nobody_expires(policy: str) -> None:
    run = simulate(parse_scenario(BRAWL.replace("POLICY", policy)))

    # Six come in 10 s, so no match is ever full.
    assert [len(match["tickets"]) for match in run.matches] == [6, 6, 6, 3]
    assert run.summary["expired"] == 0
    assert run.matches[0]["at"] == run.tickets[0]["enqueued_at"] + 10.0
    assert run.summary["wait"]["max"] == 10.0


def test_bound_of_full_matches_is_not_claimed_for_smaller_ones() -> None:
    with pytest.raises(NotSupported, match="starts matches of 2 to 8 players"):
        simulate(parse_scenario(BRAWL.replace("POLICY", "greedy")), optimum=True)


def test_policy_that_cuts_by_one_criterion_refuses_roles() -> None:
    text = ROLES + 'party_sizes = [1]\npolicy = "periodic"\n' + CLOCK.partition("\n")[2]
    with pytest.raises(ConfigError, match="periodic does not support roles; queue main has some"):
        simulate(parse_scenario(text))


RULED = """
[[queue]]
wait_max = 60.0
policy = "price"
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {kind = "linear", min = 0.0, max = 3000.0}
[[queue.rules]]
kind = "spread"
attribute = "rating"
limit = 200.0
"""


def test_few_rows_of_a_file_are_not_worth_a_compiler(tmp_path: Path) -> None:
    found = {}
    for rows in (40, PLAIN_MOST + 1):
        arrivals = tmp_path / f"{rows}.csv"
        arrivals.write_text("\n".join(["at,rating", *[f"{at},1500" for at in range(rows)]]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "evenmatch.lab.simulate.plain_if_few",
                lambda count, *_, rows=rows: nullcontext(found.setdefault(rows, count)),
            )
            simulate(parse_scenario(RULED), arrivals=arrivals)
    assert found == {40: 40, PLAIN_MOST + 1: PLAIN_MOST + 1}


@pytest.mark.parametrize(
    ("spec", "is_plain"), [("price", True), ("group_price", True), ("window", False)]
)
def test_rules_do_not_ask_for_a_compiler_and_searches_do(spec: str, is_plain: bool) -> None:
    queues = parse_scenario(RULED).queues
    way = plain_if_few(40, queues, [parse_policy(spec)])
    assert isinstance(way, nullcontext) is not is_plain
