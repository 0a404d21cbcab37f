"""What a rule set says of requests to fill a match."""

import json
from typing import Any

from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.rules.flexmatch.rule_set import RuleSet
from evenmatch.server.gamelift.arns import location_in, session_of
from evenmatch.server.gamelift.backfill import _steps_in


def ruled(**more: Any) -> RuleSet:
    body = {
        "ruleLanguageVersion": "1.0",
        "teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 2}],
        **more,
    }
    return load_rule_set(json.dumps(body))


def test_later_priorities_are_those_of_the_expansions() -> None:
    target = "algorithm.backfillPriority"
    first = [{"waitTimeSeconds": 20, "value": "high"}, {"waitTimeSeconds": 30, "value": "low"}]
    later = [{"waitTimeSeconds": 10, "value": "normal"}, {"waitTimeSeconds": 30, "value": "high"}]
    rule_set = ruled(
        algorithm={"backfillPriority": "low"},
        expansions=[{"target": target, "steps": first}, {"target": target, "steps": later}],
    )
    assert _steps_in(rule_set) == ((10.0, "normal"), (20.0, "high"), (30.0, "high"))
    assert _steps_in(ruled()) == ()


def test_location_is_that_of_sessions_of_others() -> None:
    assert location_in("arn:aws:gamelift:eu-west-1::gamesession/fleet/1") == "eu-west-1"
    for none in ("", "mine", "arn:aws:gamelift:::gamesession/fleet/1", session_of("s0-m1")):
        assert location_in(none) is None
