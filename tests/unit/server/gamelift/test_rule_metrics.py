"""`ruleEvaluationMetrics`: what the rules say of a match and of those around it."""

import json
from typing import Any

from evenmatch.model.ticket import LATENCY, Player, Ticket
from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.rules.flexmatch.rule_set import RuleSet
from evenmatch.server.gamelift import rule_metrics
from evenmatch.server.gamelift.rule_metrics import metrics_of_match, metrics_of_ticket

NEAR = {
    "name": "near",
    "type": "distance",
    "measurements": ["teams[*].players.attributes[skill]"],
    "referenceValue": 10,
    "maxDistance": 5,
}
FAST = {"name": "fast", "type": "latency", "maxLatency": 100}


def ruled(*rules: dict[str, Any], size: int = 1, **more: Any) -> RuleSet:
    teams = [{"name": name, "minPlayers": size, "maxPlayers": size} for name in ("red", "blue")]
    declared = [{"name": "skill", "type": "number", "default": 10}]
    body = {"ruleLanguageVersion": "1.0", "playerAttributes": declared, "teams": teams}
    return load_rule_set(json.dumps({**body, "rules": rules, **more}))


def waits(name: str, skill: float = 10, at: float = 0.0, ms: float = 20.0, size: int = 1) -> Ticket:
    told = {"skill": skill, LATENCY: {"eu": ms}}
    players = tuple(Player(f"{name}{n}", attributes=told) for n in range(size))  # type: ignore[arg-type]
    return Ticket(name, 1, at, players, ("game",))


def counts(metrics: rule_metrics.Metrics) -> dict[str, tuple[int, int]]:
    return {
        str(each["ruleName"]): (int(each["passedCount"]), int(each["failedCount"]))
        for each in metrics
    }


def test_match_is_judged_and_each_in_which_another_stands_for_its_newest() -> None:
    teams = {"red": [waits("a", at=1.0)], "blue": [waits("b", at=5.0)]}
    others = [waits("far", skill=50), waits("slow", ms=300), waits("fine")]
    found = metrics_of_match(ruled(NEAR, FAST), teams, others, now=9.0)
    assert counts(found) == {"near": (3, 1), "fast": (3, 1)}
    assert [each["ruleName"] for each in found] == ["near", "fast"]
    assert teams == {"red": [waits("a", at=1.0)], "blue": [waits("b", at=5.0)]}


def test_tickets_of_another_size_stand_for_nobody() -> None:
    teams = {"red": [waits("a")], "blue": [waits("b")]}
    found = metrics_of_match(ruled(NEAR), teams, [waits("two", 50, size=2)], now=1.0)
    assert counts(found) == {"near": (1, 0)}


def test_rules_are_those_of_the_age_of_the_match() -> None:
    wider = [
        {"target": "rules[near].maxDistance", "steps": [{"waitTimeSeconds": 10, "value": 100}]}
    ]
    rule_set = ruled(NEAR, expansions=wider)
    for now, passed in ((9.0, (0, 1)), (10.0, (1, 0))):
        teams = {"red": [waits("a", 50)], "blue": [waits("b", 50)]}
        assert counts(metrics_of_match(rule_set, teams, [], now)) == {"near": passed}


def test_ticket_that_ended_is_judged_with_those_who_wait() -> None:
    gone = waits("gone")
    others = [waits("far", skill=50), waits("near"), waits("late")]
    assert counts(metrics_of_ticket(ruled(NEAR), gone, others, 9.0)) == {"near": (2, 1)}
    assert counts(metrics_of_ticket(ruled(NEAR), gone, [], 9.0)) == {"near": (0, 0)}


def test_work_has_a_limit() -> None:
    teams = {"red": [waits("a")], "blue": [waits("b")]}
    many = [waits(f"w{n}") for n in range(1_000)]
    assert counts(metrics_of_match(ruled(NEAR), teams, many, 1.0)) == {
        "near": (rule_metrics.TRIALS, 0)
    }
    large = {
        name: [waits(f"{name}{n}") for n in range(rule_metrics.WORK)] for name in ("red", "blue")
    }
    assert counts(metrics_of_match(ruled(NEAR, size=20), large, many, 1.0)) == {"near": (1, 0)}


def test_rule_set_without_rules_has_no_metrics() -> None:
    teams = {"red": [waits("a")], "blue": [waits("b")]}
    assert metrics_of_match(ruled(), teams, [], 1.0) == []
