"""Configurations and rule sets of GameLift as queues."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenmatch.config.files import load_server, server_of
from evenmatch.config.gamelift import queue_name_of
from evenmatch.errors import ConfigError
from evenmatch.model.queue import ReadyCheck

RULES = {
    "ruleLanguageVersion": "1.0",
    "teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 2}],
}


def document(rules: Any = RULES, **changes: Any) -> dict[str, Any]:
    given = {"rule_set": "rules", "request_timeout": 30, **changes}
    body = json.dumps(rules)
    kept = {"rule_sets": {"rules": {"body": body}}, "configurations": {"game": given}}
    return {"queue": [{"name": "own", "players": 1}], "gamelift": kept}


def test_configuration_is_a_queue_beside_those_of_the_file() -> None:
    own, game = server_of(document())[0]
    assert (own.name, game.name, game.wait_max, game.accept) == ("own", "game", 30.0, None)
    assert (game.format.players, game.format.least_players) == ((2,), (1,))
    assert (game.on_deadline, game.backfill, game.group) == ("expire", "manual", "default")


def test_acceptance_is_a_ready_check_without_cooldowns() -> None:
    given = {"acceptance_required": True, "acceptance_timeout": 20}
    accept = server_of(document(**given))[0][1].accept
    assert isinstance(accept, ReadyCheck)
    assert (accept.seconds, accept.cooldowns, accept.again) == (20.0, (), 0.0)


def test_queue_arn_names_the_hook() -> None:
    arn = "arn:aws:gamelift:eu-west-1:1234:gamesessionqueue/fleet"
    queue = server_of(document(mode="WITH_QUEUE", queue_arns=[arn]))[0][1]
    assert queue.allocation == "fleet"
    assert server_of(document(queue_arns=[arn]))[0][1].allocation is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rule_set": "none"}, "has no 'none'"),
        ({"acceptance_required": True}, "acceptance_timeout is missing"),
        ({"mode": "WITH_QUEUE"}, "gamesessionqueue"),
        ({"mode": "WITH_QUEUE", "queue_arns": ["x"]}, "gamesessionqueue"),
        ({"request_timeout": 0}, r"game\.request_timeout must be between 1 and 43,200, got 0"),
        ({"mode": "WITH"}, r"game\.mode must be one of STANDALONE, WITH_QUEUE"),
        ({"description": ""}, r'game\.description must be a text of 1 to 1,024 characters, got ""'),
        ({"game_properties": [["map"]]}, r"game\.game_properties\[0\] must be a key and its value"),
        ({"unknown": 1}, r"gamelift\.configurations\.game\.unknown is not a known key"),
        ({"rules": {"teams": []}}, "ruleLanguageVersion"),
    ],
)
def test_what_cannot_be_played_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        server_of(document(**changes))


def test_key_that_is_missing_is_named_as_elsewhere() -> None:
    given = document()
    del given["gamelift"]["configurations"]["game"]["rule_set"]
    with pytest.raises(ConfigError, match=r"gamelift\.configurations\.game\.rule_set is missing$"):
        server_of(given)


def test_name_of_a_queue_of_the_file_is_taken() -> None:
    given = document()
    given["gamelift"]["configurations"]["own"] = given["gamelift"]["configurations"].pop("game")
    with pytest.raises(ConfigError, match="name of a queue"):
        server_of(given)


def test_names_that_are_too_long_for_queues_stay_different() -> None:
    names = [queue_name_of("x" * 100 + end) for end in ("a", "b", "")]
    assert len(set(names)) == 3
    assert {len(name) for name in names} == {64}


def test_target_must_name_a_webhook(tmp_path: Path) -> None:
    body = json.dumps(RULES)
    path = tmp_path / "mine.toml"
    text = f"""
[[queue]]
[gamelift.rule_sets.rules]
body = '''{body}'''
[gamelift.configurations.game]
rule_set = "rules"
request_timeout = 30
notification_target = "arn:aws:sns:eu-west-1:1:events"
"""
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"add \[server\.notifications\.events\]"):
        load_server(path)
    path.write_text(f'{text}[server.notifications.events]\nurl = "http://a/"\n')
    assert len(load_server(path)[0]) == 2
