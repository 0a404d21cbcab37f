"""FlexMatch rule sets and candidate matches for tests, and a finder that tries everything."""

import json
from collections.abc import Iterator, Sequence
from itertools import count, product
from typing import Any

from evenmatch.rules.findings import Finding
from evenmatch.rules.flexmatch.checker.judgement import legal_instants, objections_to
from evenmatch.rules.flexmatch.checker.match import (
    CandidateMatch,
    CandidatePlayer,
    CandidateTicket,
    Readings,
)
from evenmatch.rules.flexmatch.reader import load_rule_set, read_rule_set
from evenmatch.rules.flexmatch.rule_set import RuleSet
from tests.shared import shipped

_numbers = count(1)


def published(name: str) -> str:
    """Return the text of a rule set that ships with the tests, by the start of its file's name."""
    (path,) = shipped("flexmatch").glob(f"{name}*.json")
    return path.read_text(encoding="utf-8")


def text_of(*rules: dict[str, Any], **sections: Any) -> str:
    """Return a rule set of two teams, red and blue, of one to five players with some attributes."""
    table: dict[str, Any] = {
        "ruleLanguageVersion": "1.0",
        "playerAttributes": [
            {"name": "skill", "type": "number", "default": 10},
            {"name": "mode", "type": "string", "default": "duel"},
            {"name": "maps", "type": "string_list", "default": ["ice"]},
            {"name": "wishes", "type": "string_number_map", "default": {"ice": 1}},
        ],
        "teams": [
            {"name": "red", "minPlayers": 1, "maxPlayers": 5},
            {"name": "blue", "minPlayers": 1, "maxPlayers": 5},
        ],
        "rules": list(rules),
    }
    return json.dumps(table | sections)


def rule_set_of(*rules: dict[str, Any], **sections: Any) -> RuleSet:
    return load_rule_set(text_of(*rules, **sections))


def findings_of(*rules: dict[str, Any], **sections: Any) -> list[Finding]:
    return list(read_rule_set(text_of(*rules, **sections))[1])


def ticket(
    *players: CandidatePlayer, at: float = 0.0, latencies: Any = None, **attributes: Any
) -> CandidateTicket:
    """Return a ticket: of these players, or of one player with these attributes."""
    number = next(_numbers)
    alone = player(latencies=latencies, **attributes)
    return CandidateTicket(id=f"t{number}", players=players or (alone,), enqueued_at=at)


def player(name: str = "", latencies: Any = None, **attributes: Any) -> CandidatePlayer:
    values = {key.replace("_", "-"): value for key, value in attributes.items()}
    return CandidatePlayer(id=name or f"p{next(_numbers)}", attributes=values, latencies=latencies)


def match(**teams: Sequence[CandidateTicket]) -> CandidateMatch:
    return CandidateMatch(teams={name: tuple(tickets) for name, tickets in teams.items()})


def who_objects(
    rule_set: RuleSet, candidate: CandidateMatch, now: float = 0.0, readings: Readings | None = None
) -> list[str]:
    return [each.rule or each.reason for each in objections_to(rule_set, candidate, now, readings)]


def divisions(rule_set: RuleSet, pool: Sequence[CandidateTicket]) -> Iterator[CandidateMatch]:
    """Yield every way to put some tickets of a small pool into teams that are not too full ever."""
    assert len(pool) <= 8
    names = rule_set.scope.all_teams()
    for places in product((None, *names), repeat=len(pool)):
        teams = {
            name: tuple(each for each, place in zip(pool, places, strict=True) if place == name)
            for name in names
        }
        yield CandidateMatch(teams=teams)


def legal_matches(
    rule_set: RuleSet, pool: Sequence[CandidateTicket], now: float
) -> list[CandidateMatch]:
    """Return all legal matches of a small pool at a time, by trying everything."""
    return [each for each in divisions(rule_set, pool) if not objections_to(rule_set, each, now)]


def first_legal(rule_set: RuleSet, pool: Sequence[CandidateTicket]) -> float | None:
    """Return the first instant at which a small pool has a legal match; None if it never has."""
    instants = [
        legal[0][0]
        for each in divisions(rule_set, pool)
        if (legal := legal_instants(rule_set, each))
    ]
    return min(instants, default=None)
