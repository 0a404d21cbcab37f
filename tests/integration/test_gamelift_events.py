"""GameLift's events: what each says, over a webhook and over server-sent events."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.gamelift_clients import (
    DUEL,
    FOREIGN,
    client_of,
    following,
    listening,
    on,
    player,
    prepare,
    refused,
    states,
)
from tests.integration.gamelift_sdks import Boto, CallFailed
from tests.integration.serving import CONFIG, running
from tests.waiting import wait_until

NEAR = json.dumps(
    {
        **json.loads(DUEL),
        "rules": [
            {
                "name": "near",
                "type": "distance",
                "measurements": ["teams[*].players.attributes[skill]"],
                "referenceValue": 10,
                "maxDistance": 5,
            }
        ],
    }
)
TRIO = json.dumps({**json.loads(DUEL), "teams": [{"name": "t", "minPlayers": 3, "maxPlayers": 3}]})


def kinds(heard: list[dict[str, Any]]) -> list[str]:
    return [each["event"] for each in heard]


def has(heard: list[dict[str, Any]], *wanted: str) -> Callable[[], bool]:
    return lambda: kinds(heard) == list(wanted)


def test_events_say_what_aws_documents(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        client = client_of(server)
        asked = {"AcceptanceRequired": True, "AcceptanceTimeoutSeconds": 60}
        prepare(client, NEAR, "asked", CustomEventData="mine", **asked)
        prepare(client, NEAR, "quick", RequestTimeoutSeconds=1)
        with following(server) as heard, following(server, "?configuration=quick") as quick:

            def start(ticket: str, configuration: str, skill: float) -> None:
                client.start_matchmaking(
                    TicketId=ticket,
                    ConfigurationName=configuration,
                    Players=[player(ticket, skill=skill)],
                )

            start("far", "asked", 90)
            start("a", "asked", 10)
            start("b", "asked", 12)
            wait_until(lambda: states(client, "b") == ["REQUIRES_ACCEPTANCE"])
            client.accept_match(TicketId="a", PlayerIds=["a"], AcceptanceType="ACCEPT")
            client.accept_match(TicketId="b", PlayerIds=["b"], AcceptanceType="REJECT")
            wait_until(lambda: "AcceptMatchCompleted" in kinds(heard))
            start("late", "quick", 10)
            wait_until(has(quick, "MatchmakingSearching", "MatchmakingTimedOut"))
            client.stop_matchmaking(TicketId="far")
            wait_until(lambda: kinds(heard).count("MatchmakingCancelled") == 2)
        told = [each["data"] for each in heard]
        by: dict[str, list[dict[str, Any]]] = {}
        for each in told:
            by.setdefault(each["detail"]["type"], []).append(each["detail"])
        assert [int(each["id"]) for each in heard] == sorted({int(each["id"]) for each in heard})
        mine = [each for each in told if each["resources"][0].endswith("/asked")]
        assert {each["detail"]["customEventData"] for each in mine} == {"mine"}
        assert {each["detail-type"] for each in told} == {"GameLift Matchmaking Event"}

        assert by["MatchmakingSearching"][0]["estimatedWaitMillis"] == "NOT_AVAILABLE"
        (made,) = by["PotentialMatchCreated"]
        assert made["acceptanceRequired"] is True
        assert made["acceptanceTimeout"] == 60
        # The match, and one in which the newest gives way to the one who waits and is far.
        (near,) = made["ruleEvaluationMetrics"]
        assert near == {"ruleName": "near", "passedCount": 1, "failedCount": 1}
        seats = {each["playerId"]: each["team"] for each in made["gameSessionInfo"]["players"]}
        assert seats.keys() == {"a", "b"}
        assert set(seats.values()) == {"red", "blue"}

        yes, no = by["AcceptMatch"]
        said = [
            {each["playerId"]: each.get("accepted") for each in it["gameSessionInfo"]["players"]}
            for it in (yes, no)
        ]
        assert said == [{"a": True, "b": None}, {"a": True, "b": False}]
        assert {each["matchId"] for each in by["AcceptMatch"]} == {made["matchId"]}
        (completed,) = by["AcceptMatchCompleted"]
        assert completed["acceptance"] == "Rejected"
        reasons = [(each["tickets"][0]["ticketId"], each["reason"]) for each in
                   by["MatchmakingCancelled"]]  # fmt: skip
        assert reasons == [("b", "AcceptanceRejected"), ("far", "Cancelled")]
        # Who was stopped had somebody beside them, with whom the rule says no.
        (metric,) = by["MatchmakingCancelled"][1]["ruleEvaluationMetrics"]
        assert metric["ruleName"] == "near"
        assert metric["failedCount"] > 0
        assert metric["passedCount"] == 0
        (late,) = by["MatchmakingTimedOut"]
        assert late["reason"] == "TimedOut"
        assert late["ruleEvaluationMetrics"] == [
            {"ruleName": "near", "passedCount": 0, "failedCount": 0}
        ]


def test_client_takes_up_where_it_left_off(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        client = client_of(server)
        prepare(client, TRIO)

        def start(ticket: str) -> None:
            client.start_matchmaking(
                TicketId=ticket, ConfigurationName="game", Players=[player(ticket)]
            )

        start("unheard")
        with following(server) as heard:
            start("a")
            wait_until(has(heard, "MatchmakingSearching"))
        start("b")
        with following(server, last=heard[0]["id"]) as rest:
            wait_until(
                has(rest, "MatchmakingSearching", "PotentialMatchCreated", "MatchmakingSucceeded")
            )
        done = rest[-1]["data"]["detail"]
        (arn,) = {done["gameSessionInfo"]["gameSessionArn"]}
        assert arn.endswith(done["matchId"])
        assert len(done["gameSessionInfo"]["players"]) == 3
        with following(server, last=heard[0]["id"]) as again:
            wait_until(lambda: len(again) == 3)
        assert again == rest
        with following(server, last="1") as early:
            wait_until(lambda: len(early) == 5)
        assert kinds(early)[0] == "missed"
        server.kill()
    with running(tmp_path) as server:
        # Of what came before the restart nothing is kept, and the client hears so.
        with following(server, last=rest[0]["id"]) as after:
            wait_until(has(after, "missed"))
        for wrong in ("?configuration=a&other=1", "?after=1"):
            assert server.call("GET", f"/v1/gamelift/events{wrong}").status == 400
        bad = {"Last-Event-ID": "x"}
        assert server.call("GET", "/v1/gamelift/events", headers=bad).status == 400


def test_backfill_is_a_ticket_in_events(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        client = client_of(server)
        prepare(client, DUEL)
        given = {"ConfigurationName": "game", "GameSessionArn": FOREIGN}
        with following(server) as heard:
            for ticket in ("f1", "f2"):
                client.start_match_backfill(TicketId=ticket, Players=[on("red", "r")], **given)
            client.start_matchmaking(
                TicketId="new", ConfigurationName="game", Players=[player("b")]
            )
            wait_until(lambda: "MatchmakingSucceeded" in kinds(heard))
            client.start_match_backfill(TicketId="f3", Players=[on("red", "r")], **given)
            client.stop_matchmaking(TicketId="f3")
            wait_until(lambda: kinds(heard)[-1] == "MatchmakingCancelled")
        assert kinds(heard) == [
            "MatchmakingSearching", "MatchmakingCancelled", "MatchmakingSearching",
            "MatchmakingSearching", "PotentialMatchCreated", "MatchmakingSucceeded",
            "MatchmakingSearching", "MatchmakingCancelled",
        ]  # fmt: skip
        done = heard[5]["data"]["detail"]
        assert [each["ticketId"] for each in done["tickets"]] == ["f2", "new"]
        assert done["gameSessionInfo"]["gameSessionArn"] == FOREIGN
        teams = {each["playerId"]: each["team"] for each in done["gameSessionInfo"]["players"]}
        assert teams == {"r": "red", "b": "blue"}


def test_target_that_hangs_blocks_nobody(tmp_path: Path) -> None:
    """One webhook takes the connection and never answers; the other hears all meanwhile."""
    with socket.create_server(("127.0.0.1", 0)) as silent, listening() as (url, heard):
        hanging = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        (tmp_path / "secret").write_text("secret")
        hooks = f'\n[server.notifications.hangs]\nurl = "{hanging}"\n'
        hooks += f'\n[server.notifications.works]\nurl = "{url}"\nsecret_file = "secret"\n'
        with running(tmp_path, CONFIG + hooks) as server:
            client = client_of(server)
            arn = "arn:aws:sns:eu-west-1:1234:"
            prepare(client, DUEL, "bad", NotificationTarget=arn + "hangs")
            prepare(client, DUEL, "good", NotificationTarget=arn + "works")
            for name in ("bad", "good"):
                for at in range(2):
                    client.start_matchmaking(
                        TicketId=f"{name}{at}",
                        ConfigurationName=name,
                        Players=[player(f"{name}{at}")],
                    )
                wait_until(lambda n=name: states(client, f"{n}0", f"{n}1") == ["COMPLETED"] * 2)
            wait_until(lambda: len(heard) == 4)
            silent.settimeout(5)
            connection, _ = silent.accept()
            connection.close()
            with refused("InvalidRequestException"):
                client.stop_matchmaking(TicketId="bad0")


def test_keys_sign_calls_of_cbor_and_hear_of_their_own_queues(tmp_path: Path) -> None:
    def add(name: str, *more: str) -> dict[str, str]:
        command = [sys.executable, "-m", "evenmatch.cli.main", "keys", "add", name]
        command += ["--data", str(tmp_path / "data"), "--json", *more]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        found: dict[str, str] = json.loads(done.stdout)
        return found

    (tmp_path / "data").mkdir()
    boss = add("boss", "--rights", "operate,tickets", "--signing")
    one = add("one", "--rights", "matches", "--queues", "mine")
    blind = add("blind", "--rights", "tickets")
    with running(tmp_path) as server:
        client = Boto(server, "cbor", boss["id"], boss["key"])
        with pytest.raises(CallFailed) as wrong:
            Boto(server, "cbor", boss["id"], "wrong").call("DescribeMatchmakingRuleSets")
        assert wrong.value.code == "UnrecognizedClientException"
        client.call("CreateMatchmakingRuleSet", Name="duel", RuleSetBody=DUEL)
        for name in ("mine", "other"):
            client.call(
                "CreateMatchmakingConfiguration", Name=name, RuleSetName="duel",
                RequestTimeoutSeconds=60, AcceptanceRequired=False, FlexMatchMode="STANDALONE",
            )  # fmt: skip
        path = "/v1/gamelift/events"
        for key, query, status in (
            (blind["key"], "", 403), (one["key"], "?configuration=other", 400), ("", "", 401),
        ):  # fmt: skip
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            assert server.call("GET", path + query, headers=headers).status == status
        with (
            following(server, key=one["key"]) as heard,
            following(server, key=boss["key"]) as everything,
        ):
            for name in ("other", "mine"):
                client.call(
                    "StartMatchmaking", TicketId=name, ConfigurationName=name,
                    Players=[{"PlayerId": name}],
                )  # fmt: skip
            wait_until(lambda: len(everything) == 2)
            wait_until(lambda: len(heard) == 1)
            assert heard[0]["data"]["detail"]["tickets"][0]["ticketId"] == "mine"
