"""The whole life of a match over GameLift's calls, with AWS's own clients, over a kill."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.extent import in_turn
from tests.integration.gamelift_clients import following, listening
from tests.integration.gamelift_sdks import Boto, Caller, CallFailed, JavaScript
from tests.integration.serving import CONFIG, Server, running
from tests.waiting import wait_until

FIVES = json.dumps(
    {
        "name": "fives",
        "ruleLanguageVersion": "1.0",
        "playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
        "teams": [
            {"name": "red", "minPlayers": 5, "maxPlayers": 5},
            {"name": "blue", "minPlayers": 5, "maxPlayers": 5},
        ],
        "rules": [
            {
                "name": "FairTeams",
                "type": "distance",
                "measurements": ["avg(teams[*].players.attributes[skill])"],
                "referenceValue": "avg(flatten(teams[*].players.attributes[skill]))",
                "maxDistance": 5,
            }
        ],
    }
)
ANSWER_SECONDS = 10
TARGET = "arn:aws:sns:eu-west-1:1234:events"


class Game:
    """A game's backend: a client, and shorter words for its calls."""

    def __init__(self, client: Caller) -> None:
        self.call = client.call

    def start(self, name: str) -> None:
        players = [{"PlayerId": name, "PlayerAttributes": {"skill": {"N": 10.5}}}]
        made = self.call("StartMatchmaking", TicketId=name, ConfigurationName="game",
                         Players=players)  # fmt: skip
        assert made["MatchmakingTicket"]["Status"] == "QUEUED"

    def answer(self, *names: str, how: str = "ACCEPT") -> None:
        for name in names:
            self.call("AcceptMatch", TicketId=name, PlayerIds=[name], AcceptanceType=how)

    def tickets(self, *names: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for at in range(0, len(names), 10):
            ids = list(names[at : at + 10])
            found += self.call("DescribeMatchmaking", TicketIds=ids)["TicketList"]
        assert [each["TicketId"] for each in found] == list(names)
        return found

    def states(self, *names: str) -> set[str]:
        return {each["Status"] for each in self.tickets(*names)}

    def until(self, state: str, *names: str) -> None:
        wait_until(lambda: self.states(*names) == {state})

    @contextmanager
    def refused(self, code: str, text: str = ".") -> Iterator[None]:
        with pytest.raises(CallFailed, match=text) as caught:
            yield
        assert caught.value.code == code


def begin(game: Game) -> list[str]:
    """Make a configuration, let ten meet, and one of them turn the match down."""
    assert game.call("ValidateMatchmakingRuleSet", RuleSetBody=FIVES) == {"Valid": True}
    made = game.call("CreateMatchmakingRuleSet", Name="fives", RuleSetBody=FIVES)
    assert made["RuleSet"]["RuleSetName"] == "fives"
    game.call(
        "CreateMatchmakingConfiguration",
        Name="game",
        RuleSetName="fives",
        RequestTimeoutSeconds=300,
        AcceptanceRequired=True,
        AcceptanceTimeoutSeconds=ANSWER_SECONDS,
        FlexMatchMode="STANDALONE",
        NotificationTarget=TARGET,
        CustomEventData="mine",
    )
    with game.refused("InvalidRequestException", "is used by"):
        game.call("DeleteMatchmakingRuleSet", Name="fives")
    names = [f"p{at}" for at in range(10)]
    for name in names:
        game.start(name)
    game.until("REQUIRES_ACCEPTANCE", *names)
    game.answer(*names[:7])
    with game.refused("InvalidRequestException"):
        game.call("AcceptMatch", TicketId="p1", PlayerIds=["x"], AcceptanceType="ACCEPT")
    game.answer("p7", how="REJECT")
    stay = [name for name in names if name != "p7"]
    assert game.states(*stay) == {"SEARCHING"}
    assert {each["StatusReason"] for each in game.tickets(*stay)} == {"AcceptanceFailed"}
    (gone,) = game.tickets("p7")
    assert (gone["Status"], gone["StatusReason"]) == ("CANCELLED", "AcceptanceRejected")
    game.start("r7")
    game.until("REQUIRES_ACCEPTANCE", *stay, "r7")
    return [*stay, "r7"]


def finish(game: Game, there: list[str]) -> None:
    """Let one stay silent, find another, complete the match, fill it, and clean up."""
    assert game.states(*there) == {"REQUIRES_ACCEPTANCE"}
    game.answer(*[name for name in there if name != "p9"])
    game.until("CANCELLED", "p9")
    (gone,) = game.tickets("p9")
    assert gone["StatusReason"] == "AcceptanceTimedOut"
    game.start("r9")
    there = [*[name for name in there if name != "p9"], "r9"]
    game.until("REQUIRES_ACCEPTANCE", *there)
    game.answer(*there)
    assert game.states(*there) == {"COMPLETED"}
    found = game.tickets(*there)
    (session,) = {each["GameSessionConnectionInfo"]["GameSessionArn"] for each in found}
    teams = [each["Players"][0]["Team"] for each in found]
    assert sorted(teams) == ["blue"] * 5 + ["red"] * 5

    roster = [
        {"PlayerId": name, "Team": team, "PlayerAttributes": {"skill": {"N": 10}}}
        for name, team in zip(there, teams, strict=True)
    ]
    asking = {"ConfigurationName": "game", "GameSessionArn": session}
    game.call("StartMatchBackfill", TicketId="f0", Players=roster[1:], **asking)
    game.call("StartMatchBackfill", TicketId="f1", Players=roster[1:], **asking)
    assert [each["Status"] for each in game.tickets("f0", "f1")] == ["CANCELLED", "SEARCHING"]
    game.start("x0")
    game.until("REQUIRES_ACCEPTANCE", "f1", "x0")
    assert game.states(*there) == {"COMPLETED"}, "who plays was asked"
    game.answer("x0", how="REJECT")
    game.until("CANCELLED", "x0")
    game.until("SEARCHING", "f1")
    game.start("n0")
    game.until("REQUIRES_ACCEPTANCE", "f1", "n0")
    game.answer("n0")
    game.until("COMPLETED", "f1", "n0")
    filled, came = game.tickets("f1", "n0")
    assert came["GameSessionConnectionInfo"]["GameSessionArn"] == session
    assert came["Players"][0]["Team"] == teams[0]
    assert len(filled["Players"]) == 10

    game.start("s0")
    game.call("StopMatchmaking", TicketId="s0")
    assert game.states("s0") == {"CANCELLED"}
    game.start("s1")
    with game.refused("InvalidRequestException", "players wait"):
        game.call("DeleteMatchmakingConfiguration", Name="game")
    game.call("StopMatchmaking", TicketId="s1")
    game.call("DeleteMatchmakingConfiguration", Name="game")
    game.call("DeleteMatchmakingRuleSet", Name="fives")
    assert game.call("DescribeMatchmakingRuleSets")["RuleSets"] == []
    with game.refused("NotFoundException"):
        game.call("StopMatchmaking", TicketId="never")


def details(heard: dict[str, tuple[dict[str, Any], str]]) -> list[dict[str, Any]]:
    """Return what the webhook has heard."""
    return [told["detail"] for told, _ in list(heard.values())]


def live_through(
    directory: Path, make: type[Boto] | type[JavaScript], protocol: str, *, is_killed: bool = False
) -> set[str]:
    """Drive a server through it all, and return the types of the bodies that were sent.

    A server that was killed gives all half a minute more to answer, so one client does for that.
    """
    with listening(every=6) as (url, heard):
        (directory / "secret").write_text("secret")
        hook = f'\n[server.notifications.events]\nurl = "{url}"\nsecret_file = "secret"\n'

        @contextmanager
        def playing() -> Iterator[tuple[Server, Game, Boto | JavaScript]]:
            with running(directory, CONFIG + hook) as server:
                client = make(server, protocol)
                try:
                    yield server, Game(client), client
                finally:
                    client.close()

        with ExitStack() as stack:
            server, game, client = stack.enter_context(playing())
            there = begin(game)
            if is_killed:
                server.kill()
                server, game, client = stack.enter_context(playing())
            followed = stack.enter_context(following(server))
            finish(game, there)
            last = "MatchmakingCancelled"
            wait_until(lambda: [e["event"] for e in followed].count(last) == 5)
            # The webhook turns some events down once, so it is behind.
            wait_until(lambda: "PotentialMatchCreated" in [e["type"] for e in details(heard)])
            sent = client.sent
        assert [each["event"] for each in followed].count("MatchmakingSucceeded") == 2
        assert {each["customEventData"] for each in details(heard)} == {"mine"}
        made = [each["data"] for each in followed if each["event"] == "PotentialMatchCreated"]
        assert len(made) == 3  # with another in place of the silent one, and the backfill twice
        for each in made:
            (metric,) = each["detail"]["ruleEvaluationMetrics"]
            assert metric["ruleName"] == "FairTeams"
            assert metric["passedCount"] > 0
    return sent


def test_whole_life_of_a_match_with_boto3(tmp_path: Path) -> None:
    assert live_through(tmp_path, Boto, "json", is_killed=True) == {"application/x-amz-json-1.1"}


@pytest.mark.long
def test_whole_life_of_a_match_with_the_sdk_for_javascript(tmp_path: Path) -> None:
    assert live_through(tmp_path, JavaScript, "json") == {"application/x-amz-json-1.1"}


@pytest.mark.long
@pytest.mark.parametrize("make", in_turn([Boto, JavaScript], 2))
def test_whole_life_of_a_match_in_cbor(tmp_path: Path, make: type[Boto] | type[JavaScript]) -> None:
    assert live_through(tmp_path, make, "cbor") == {"application/cbor"}
