"""What AWS's service does besides its model, call by call, and how it says no."""

import json
import random
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from evenmatch.server.gamelift import cbor
from tests.extent import extent
from tests.integration.gamelift_clients import (
    DUEL,
    FOREIGN,
    SETTINGS,
    client_of,
    on,
    player,
    prepare,
    refused,
    states,
)
from tests.integration.serving import CONFIG, Server, running
from tests.integration.test_gamelift import fitting
from tests.waiting import GIVE_UP, wait_until

SQUADS = {
    **json.loads(DUEL),
    "teams": [
        {"name": "red", "minPlayers": 2, "maxPlayers": 2},
        {"name": "blue", "minPlayers": 2, "maxPlayers": 2},
    ],
}


@pytest.fixture
def server(tmp_path: Path) -> Any:
    with running(tmp_path) as found:
        yield found


def start(client: Any, ticket: str, *names: str, **more: Any) -> None:
    given = {"ConfigurationName": "game", **more}
    players = [player(each) for each in names or (ticket,)]
    client.start_matchmaking(TicketId=ticket, Players=players, **given)


def reason(client: Any, ticket: str) -> str:
    (told,) = client.describe_matchmaking(TicketIds=[ticket])["TicketList"]
    return str(told["StatusReason"])


def test_whole_tickets_of_rejecters_end_and_all_others_search_on(server: Server) -> None:
    """A party of two of which one accepts and one rejects, an accepter, and one still to answer."""
    client = client_of(server)
    prepare(client, json.dumps(SQUADS), AcceptanceRequired=True, AcceptanceTimeoutSeconds=60)
    start(client, "party", "p", "q")
    start(client, "yes")
    start(client, "open")
    everybody = ("party", "yes", "open")
    wait_until(lambda: states(client, *everybody) == ["REQUIRES_ACCEPTANCE"] * 3)
    client.accept_match(TicketId="yes", PlayerIds=["yes"], AcceptanceType="ACCEPT")
    client.accept_match(TicketId="yes", PlayerIds=["yes"], AcceptanceType="ACCEPT")
    client.accept_match(TicketId="party", PlayerIds=["p"], AcceptanceType="ACCEPT")
    assert states(client, *everybody) == ["REQUIRES_ACCEPTANCE"] * 3
    client.accept_match(TicketId="party", PlayerIds=["q"], AcceptanceType="REJECT")
    assert states(client, *everybody) == ["CANCELLED", "SEARCHING", "SEARCHING"]
    assert [reason(client, each) for each in everybody] == [
        "AcceptanceRejected", "AcceptanceFailed", "AcceptanceFailed",
    ]  # fmt: skip
    # Nobody has to wait for having turned a match down, and the repair asks again.
    start(client, "party2", "p", "q")
    there = ("party2", "yes", "open")
    wait_until(lambda: states(client, *there) == ["REQUIRES_ACCEPTANCE"] * 3)
    client.accept_match(TicketId="yes", PlayerIds=["yes"], AcceptanceType="ACCEPT")
    client.accept_match(TicketId="open", PlayerIds=["open"], AcceptanceType="ACCEPT")
    client.accept_match(TicketId="party2", PlayerIds=["p", "q"], AcceptanceType="ACCEPT")
    assert states(client, *there) == ["COMPLETED"] * 3
    # Late, and once more.
    client.accept_match(TicketId="open", PlayerIds=["open"], AcceptanceType="ACCEPT")
    with refused("InvalidRequestException", "COMPLETED"):
        client.accept_match(TicketId="open", PlayerIds=["open"], AcceptanceType="REJECT")
    with refused("InvalidRequestException", "CANCELLED"):
        client.accept_match(TicketId="party", PlayerIds=["p"], AcceptanceType="ACCEPT")


def test_match_without_acceptance_asks_nobody(server: Server) -> None:
    client = client_of(server)
    prepare(client, DUEL)
    start(client, "a")
    with refused("InvalidRequestException", "SEARCHING"):
        client.accept_match(TicketId="a", PlayerIds=["a"], AcceptanceType="ACCEPT")
    start(client, "b")
    (told,) = client.describe_matchmaking(TicketIds=["a"])["TicketList"]
    assert told["Status"] == "COMPLETED"
    match = told["GameSessionConnectionInfo"]["GameSessionArn"].rpartition("/")[2]
    assert server.call("GET", f"/v1/matches/{match}").body["match"] == match


def test_rule_sets_cannot_be_edited_and_what_is_in_use_not_deleted(server: Server) -> None:
    client = client_of(server)
    prepare(client, DUEL)
    with refused("InvalidRequestException", "cannot be changed"):
        client.create_matchmaking_rule_set(Name="game-rules", RuleSetBody=DUEL)
    with refused("InvalidRequestException", "is used by"):
        client.delete_matchmaking_rule_set(Name="game-rules")
    start(client, "a")
    with refused("InvalidRequestException", "players wait"):
        client.delete_matchmaking_configuration(Name="game")
    client.stop_matchmaking(TicketId="a")
    client.start_match_backfill(
        TicketId="f", ConfigurationName="game", GameSessionArn=FOREIGN, Players=[on("red", "r")]
    )
    with refused("InvalidRequestException", "ask for players"):
        client.delete_matchmaking_configuration(Name="game")
    client.stop_matchmaking(TicketId="f")
    client.stop_matchmaking(TicketId="f")
    client.delete_matchmaking_configuration(Name="game")
    client.delete_matchmaking_rule_set(Name="game-rules")
    with refused("NotFoundException"):
        client.delete_matchmaking_rule_set(Name="game-rules")


@pytest.mark.parametrize("priority", ["high", "low"])
def test_backfill_priority_of_the_rule_set_decides(server: Server, priority: str) -> None:
    """Two come at once, or nearly: with `low` they play each other, with `high` one fills."""
    client = client_of(server)
    body = {**json.loads(DUEL), "algorithm": {"backfillPriority": priority}}
    prepare(client, json.dumps(body))
    given = {"ConfigurationName": "game", "GameSessionArn": FOREIGN}
    start(client, "first")
    if priority == "low":
        # Whoever waits already would join at once, so they come while the match is full.
        start(client, "second")
        assert states(client, "first", "second") == ["COMPLETED"] * 2
    client.start_match_backfill(TicketId="f", Players=[on("red", "r")], **given)
    wanted = "COMPLETED" if priority == "high" else "SEARCHING"
    wait_until(lambda: states(client, "f") == [wanted])


def test_backfill_whose_time_is_over_is_told_so(server: Server) -> None:
    client = client_of(server)
    prepare(client, DUEL, RequestTimeoutSeconds=1)
    given = {"ConfigurationName": "game", "GameSessionArn": FOREIGN}
    client.start_match_backfill(TicketId="f", Players=[on("red", "r")], **given)
    wait_until(lambda: states(client, "f") == ["TIMED_OUT"])
    assert reason(client, "f") == "TimedOut"
    with refused("InvalidRequestException", "TIMED_OUT"):
        client.stop_matchmaking(TicketId="f")


def test_backfill_with_a_queue_places_newcomers_in_the_session_at_once(tmp_path: Path) -> None:
    hook = '\n[server.allocation.fleet]\nkind = "webhook"\nurl = "http://127.0.0.1:9/"\n'
    with running(tmp_path, CONFIG + hook) as server:
        client = client_of(server)
        arn = "arn:aws:gamelift:eu-west-1:1234:gamesessionqueue/fleet"
        prepare(client, DUEL, FlexMatchMode="WITH_QUEUE", GameSessionQueueArns=[arn])
        client.start_match_backfill(
            TicketId="f", ConfigurationName="game", GameSessionArn=FOREIGN,
            Players=[on("red", "r")],
        )  # fmt: skip
        start(client, "new")
        (told,) = client.describe_matchmaking(TicketIds=["new"])["TicketList"]
        assert told["Status"] == "COMPLETED"
        info = told["GameSessionConnectionInfo"]
        assert info["GameSessionArn"] == FOREIGN
        assert [each["PlayerId"] for each in info["MatchedPlayerSessions"]] == ["new"]


def test_average_of_an_empty_team_allows_no_match(server: Server) -> None:
    client = client_of(server)
    lonely = json.loads(DUEL)
    lonely["teams"][1]["minPlayers"] = 0
    close = {"name": "close", "type": "distance", "maxDistance": 5, "referenceValue": 10}
    close["measurements"] = ["avg(teams[blue].players.attributes[skill])"]
    lonely["rules"] = [close]
    prepare(client, json.dumps(lonely))
    start(client, "a")
    assert states(client, "a") == ["SEARCHING"]
    start(client, "b")
    wait_until(lambda: states(client, "a", "b") == ["COMPLETED"] * 2)


def ruled(rule: Any, **more: Any) -> str:
    return json.dumps({**json.loads(DUEL), "rules": [rule], **more})


def compound(statement: str) -> str:
    same = {"name": "Same", "type": "comparison", "operation": "=",
            "measurements": ["flatten(teams[*].players.attributes[skill])"]}  # fmt: skip
    rule = {"name": "All", "type": "compound", "statement": statement}
    return json.dumps({**json.loads(DUEL), "rules": [same, rule]})


def distance(measurement: str, limit: Any = 5) -> str:
    return ruled({"name": "d", "type": "distance", "measurements": [measurement],
                  "referenceValue": 10, "maxDistance": limit})  # fmt: skip


BODIES = {
    "nests 1,000 deep": DUEL[:-1] + ', "x": ' + "[" * 1_000 + "]" * 1_000 + "}",
    "statement of 1,000 nots": compound("not(" * 1_000 + "Same" + ")" * 1_000),
    "expression of 1,000 averages": distance("avg(" * 1_000 + "1" + ")" * 1_000),
    "10,000 rules": json.dumps(
        {**json.loads(DUEL), "rules": [{"name": f"r{n}", "type": "latency"} for n in range(10_000)]}
    ),
    "NaN": distance("avg(teams[red].players.attributes[skill])").replace("5", "NaN"),
    "infinity": distance("avg(teams[red].players.attributes[skill])").replace("5", "1e999"),
    "expression of the wrong type": distance("teams[red].players[playerId]"),
    "unknown attribute": distance("avg(teams[red].players.attributes[skil])"),
    "unknown team": distance("avg(teams[green].players.attributes[skill])"),
    "no JSON": "{",
    "no teams": '{"ruleLanguageVersion": "1.0"}',
}
ONE = {"PlayerId": "p"}
CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "eleven players": (
        "start_matchmaking",
        {"ConfigurationName": "game", "Players": [{"PlayerId": f"p{n}"} for n in range(11)]},
        "InvalidRequestException",
    ),
    "ticket id with blanks": (
        "start_matchmaking",
        {"TicketId": "a b", "ConfigurationName": "game", "Players": [ONE]},
        "InvalidRequestException",
    ),
    "ticket id of before": (
        "start_matchmaking",
        {"TicketId": "there", "ConfigurationName": "game", "Players": [ONE]},
        "InvalidRequestException",
    ),
    "attribute of another type": (
        "start_matchmaking",
        {
            "ConfigurationName": "game",
            "Players": [{**ONE, "PlayerAttributes": {"skill": {"S": "high"}}}],
        },
        "InvalidRequestException",
    ),
    "attribute that is not declared": (
        "start_matchmaking",
        {
            "ConfigurationName": "game",
            "Players": [{**ONE, "PlayerAttributes": {"charm": {"N": 1}}}],
        },
        "InvalidRequestException",
    ),
    "acceptance of strangers": (
        "accept_match",
        {"TicketId": "there", "PlayerIds": ["x"], "AcceptanceType": "ACCEPT"},
        "InvalidRequestException",
    ),
    "acceptance of nobody's ticket": (
        "accept_match",
        {"TicketId": "none", "PlayerIds": ["x"], "AcceptanceType": "ACCEPT"},
        "NotFoundException",
    ),
    "rule set in use": (
        "delete_matchmaking_rule_set",
        {"Name": "game-rules"},
        "InvalidRequestException",
    ),
    "configuration in use": (
        "delete_matchmaking_configuration",
        {"Name": "game"},
        "InvalidRequestException",
    ),
    "backfill of 200": (
        "start_match_backfill",
        {"ConfigurationName": "game", "Players": [on("red", f"p{n}") for n in range(200)]},
        "InvalidRequestException",
    ),
    "backfill without teams": (
        "start_match_backfill",
        {"ConfigurationName": "game", "Players": [ONE]},
        "InvalidRequestException",
    ),
    "backfill of an unknown team": (
        "start_match_backfill",
        {"ConfigurationName": "game", "Players": [on("green", "p")]},
        "InvalidRequestException",
    ),
    "backfill of a full match": (
        "start_match_backfill",
        {"ConfigurationName": "game", "Players": [on("red", "p"), on("blue", "q")]},
        "InvalidRequestException",
    ),
    "backfill of a team that is too large": (
        "start_match_backfill",
        {"ConfigurationName": "game", "Players": [on("red", "p"), on("red", "q")]},
        "InvalidRequestException",
    ),
    "backfill of a player twice": (
        "start_match_backfill",
        {"ConfigurationName": "game", "Players": [on("red", "p"), on("blue", "p")]},
        "InvalidRequestException",
    ),
    "backfill with the id of a ticket": (
        "start_match_backfill",
        {"TicketId": "there", "ConfigurationName": "game", "Players": [on("red", "p")]},
        "InvalidRequestException",
    ),
    "backfill of no configuration": (
        "start_match_backfill",
        {"ConfigurationName": "none", "Players": [on("red", "p")]},
        "NotFoundException",
    ),
}


def test_bad_input_has_a_clear_error_with_the_code_of_aws(server: Server) -> None:
    client = boto3.client(
        "gamelift", endpoint_url=server.url, region_name="eu-west-1", aws_access_key_id="any",
        aws_secret_access_key="any",
        config=boto3.session.Config(parameter_validation=False, **SETTINGS),
    )  # fmt: skip
    prepare(client, DUEL)
    start(client, "there", "somebody")
    for what, body in BODIES.items():
        for call in ("create_matchmaking_rule_set", "validate_matchmaking_rule_set"):
            given = {"Name": "new"} if call.startswith("create") else {}
            with pytest.raises(ClientError) as caught:
                getattr(client, call)(RuleSetBody=body, **given)
            told = caught.value.response["Error"]
            assert told["Code"] == "InvalidRequestException", (what, told)
            assert "RuleSetBody" in told["Message"], (what, told)
    for what, (call, given, code) in CALLS.items():
        with pytest.raises(ClientError) as caught:
            getattr(client, call)(**given)
        told = caught.value.response["Error"]
        assert told["Code"] == code, (what, told)
        assert len(told["Message"]) > 20, (what, told)
    assert states(client, "there") == ["SEARCHING"]
    assert len(client.describe_matchmaking_rule_sets()["RuleSets"]) == 1
    assert "Traceback" not in server.log.read_text()


def test_random_bodies_of_cbor_never_make_the_server_fail(server: Server) -> None:
    client = client_of(server)
    prepare(client, DUEL)
    chance = random.Random(11)
    operations = ["StartMatchmaking", "DescribeMatchmaking", "StartMatchBackfill", "AcceptMatch"]
    seen: set[int] = set()
    connection = HTTPConnection("127.0.0.1", server.port, timeout=GIVE_UP)
    for _ in range(extent(600, 20_000)):
        operation = chance.choice(operations)
        shape = client.meta.service_model.operation_model(operation).input_shape
        try:
            body = bytearray(cbor.encode(fitting(shape, chance)))
        except TypeError:
            continue  # A number of more than 64 bits.
        for _ in range(chance.choice((0, 0, 1, 3))):
            body[chance.randrange(len(body))] = chance.randrange(256)
        path = f"/service/GameLift/operation/{operation}"
        connection.request("POST", path, bytes(body), {"smithy-protocol": "rpc-v2-cbor"})
        answer = connection.getresponse()
        told = cbor.decode(answer.read())
        assert answer.status in (200, 400), (operation, body.hex())
        assert answer.status == 200 or told["__type"].endswith("Exception")
        seen.add(answer.status)
    connection.close()
    assert seen == {200, 400}
    assert "Traceback" not in server.log.read_text()
