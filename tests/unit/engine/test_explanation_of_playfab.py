"""Why a ticket waits in a queue that plays by a PlayFab queue."""

import sys
from types import FrameType
from typing import Any

from evenmatch.engine.engine import Engine
from evenmatch.explain.explanations import explain
from evenmatch.model.explanation import QueuePart
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from tests.playfab_play import Json, queue_of

DUEL: Json = {"Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2}
TEAMS = [{"Name": name, "MinTeamSize": 1, "MaxTeamSize": 4} for name in "ab"]


def part_of(text: Json, *players: dict[str, Any]) -> QueuePart:
    """Return why the first of some players waits, who came together a moment ago."""
    engine = Engine(lambda queue: parse_policy(queue.policy))
    engine.step(Configure(0.0, (queue_of(text),)))
    tickets = [
        NewTicket((Player(f"p{number}", attributes=each),), id=f"p{number}")
        for number, each in enumerate(players)
    ]
    engine.step(Enqueue(1.0, tuple(tickets)))
    return explain(engine, "p0", 1.0).queues[0]


def close(delta: float, limit: float) -> Json:
    """Return a rule that allows a difference of 0, and `delta` more each second."""
    expansion = {"Type": "Linear", "Delta": delta, "Limit": limit, "SecondsBetweenExpansions": 1}
    rule = {"Type": "DifferenceRule", "Name": "Close", "Attribute": {"Path": "skill"}}
    return rule | {"Difference": 0, "Expansion": expansion}


def test_match_that_is_legal_after_very_many_steps_is_told() -> None:
    part = part_of(DUEL | {"Rules": [close(1, 500)]}, {"skill": 0.0}, {"skill": 300.0})
    assert part.reason.code == "not_yet"
    assert part.later is not None
    assert part.later.at == 301.0
    assert part.summary.endswith("is legal in 300 s; until then Close says no.")


def test_first_of_two_matches_that_are_legal_after_very_many_steps_is_told() -> None:
    players = [{"skill": skill} for skill in (0.0, 300.0, -100.0)]
    part = part_of(DUEL | {"Rules": [close(1, 500)]}, *players)
    assert part.later is not None
    assert (part.later.tickets, part.later.at) == (("p0", "p2"), 101.0)


def test_rule_that_forbids_a_match_at_the_last_of_very_many_steps_is_named() -> None:
    mode = {"Type": "StringEqualityRule", "Name": "Mode", "Attribute": {"Path": "mode"}}
    players = [{"skill": 0.0, "mode": "x"}, {"skill": 300.0, "mode": "y"}]
    part = part_of(DUEL | {"Rules": [close(1, 500), mode]}, *players)
    assert part.changes == ("without rule Mode there would be a match",)
    part = part_of(DUEL | {"Rules": [close(1, 100)]}, {"skill": 0.0}, {"skill": 300.0})
    assert part.later is None
    assert part.changes == ("without rule Close there would be a match",)


def test_players_missing_are_those_of_the_smallest_match_of_all_teams() -> None:
    text = {"Name": "main", "MinMatchSize": 5, "MaxMatchSize": 6, "Teams": TEAMS}
    assert part_of(text, {}).changes == ("4 more players",)
    part = part_of(text, {}, {}, {})
    assert (part.reason.code, part.changes) == ("seats", ("2 more players",))
    assert "The smallest match needs 2 more players." in part.summary


def test_work_of_an_explanation_grows_with_the_number_of_steps_and_not_with_its_square() -> None:
    calls = 0

    def count(frame: FrameType, event: str, given: object) -> None:
        nonlocal calls
        calls += event == "call"

    made: list[int] = []
    for steps in (100, 400):
        text = DUEL | {"Rules": [close(1, steps)]}
        calls = 0
        sys.setprofile(count)
        try:
            part = part_of(text, *[{"skill": 1e4 * number} for number in range(20)])
        finally:
            sys.setprofile(None)
        assert part.later is None
        made.append(calls)
    assert made[1] < 6 * made[0]
