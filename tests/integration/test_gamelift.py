"""A running server as AWS's own client sees it: boto3, unchanged but for the address."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.integration.gamelift_clients import (
    COWBOYS,
    DUEL,
    FOREIGN,
    SETTINGS,
    client_of,
    following,
    listening,
    on,
    player,
    prepare,
    refused,
    states,
)
from tests.integration.serving import CONFIG, Server, running
from tests.waiting import GIVE_UP, wait_until

BODIES = int(os.environ.get("EVENMATCH_BODIES", "120"))
"""Random bodies for each operation."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(tmp_path) as found:
        yield found


def test_example_1_plays_over_boto3_and_survives_a_kill(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        client = client_of(server)
        assert client.validate_matchmaking_rule_set(RuleSetBody=COWBOYS)["Valid"] is True
        prepare(client, COWBOYS)
        for at in range(7):
            answer = client.start_matchmaking(
                TicketId=f"t{at}", ConfigurationName="game", Players=[player(f"p{at}", skill=at)]
            )
            assert answer["MatchmakingTicket"]["Status"] == "QUEUED"
        assert set(states(client, *[f"t{at}" for at in range(7)])) == {"SEARCHING"}
        server.kill()
    with running(tmp_path) as server:
        client = client_of(server)
        assert set(states(client, *[f"t{at}" for at in range(7)])) == {"SEARCHING"}
        (kept,) = client.describe_matchmaking_rule_sets()["RuleSets"]
        assert kept["RuleSetBody"] == COWBOYS
        client.start_matchmaking(
            TicketId="t7", ConfigurationName="game", Players=[player("p7", skill=7)]
        )
        tickets = [f"t{at}" for at in range(8)]
        wait_until(lambda: set(states(client, *tickets)) == {"COMPLETED"})
        found = client.describe_matchmaking(TicketIds=tickets)["TicketList"]
        arns = {each["GameSessionConnectionInfo"]["GameSessionArn"] for each in found}
        assert len(arns) == 1
        match = server.call("GET", "/v1/matches/" + arns.pop().rpartition("/")[2]).body
        teams = [each["Players"][0]["Team"] for each in found]
        assert sorted(teams) == ["aliens"] * 4 + ["cowboys"] * 4
        assert {each for team in match["players"] for each in team} == {f"p{n}" for n in range(8)}


def test_rejecter_ends_and_the_others_search_on_until_all_accept(server: Server) -> None:
    client = client_of(server)
    prepare(client, COWBOYS, AcceptanceRequired=True, AcceptanceTimeoutSeconds=60)
    parties = {"a": ["p0", "p1"], "b": ["p2", "p3"], "c": ["p4"], "d": ["p5"], "e": ["p6", "p7"]}
    for ticket, names in parties.items():
        client.start_matchmaking(
            TicketId=ticket, ConfigurationName="game", Players=[player(each) for each in names]
        )
    wait_until(lambda: set(states(client, *parties)) == {"REQUIRES_ACCEPTANCE"})
    client.accept_match(TicketId="a", PlayerIds=["p0", "p1"], AcceptanceType="ACCEPT")
    with refused("InvalidRequestException", "p1"):
        client.accept_match(TicketId="b", PlayerIds=["p1"], AcceptanceType="ACCEPT")
    client.accept_match(TicketId="b", PlayerIds=["p2"], AcceptanceType="ACCEPT")
    client.accept_match(TicketId="b", PlayerIds=["p3"], AcceptanceType="REJECT")
    assert states(client, "b") == ["CANCELLED"]
    left = [each for each in parties if each != "b"]
    assert set(states(client, *left)) == {"SEARCHING"}
    (told,) = client.describe_matchmaking(TicketIds=["a"])["TicketList"]
    assert (told["StatusReason"], "StatusMessage" in told) == ("AcceptanceFailed", True)
    # Nobody has to wait for having turned a match down.
    client.start_matchmaking(
        TicketId="f", ConfigurationName="game", Players=[player("p2"), player("p3")]
    )
    there = [*left, "f"]
    wait_until(lambda: set(states(client, *there)) == {"REQUIRES_ACCEPTANCE"})
    for ticket in there:
        names = parties.get(ticket, ["p2", "p3"])
        client.accept_match(TicketId=ticket, PlayerIds=names, AcceptanceType="ACCEPT")
    client.accept_match(TicketId="a", PlayerIds=["p0"], AcceptanceType="ACCEPT")
    assert set(states(client, *there)) == {"COMPLETED"}
    with refused("InvalidRequestException", "COMPLETED"):
        client.accept_match(TicketId="a", PlayerIds=["p0"], AcceptanceType="REJECT")
    with refused("NotFoundException"):
        client.accept_match(TicketId="zz", PlayerIds=["p0"], AcceptanceType="ACCEPT")


def test_silent_ticket_ends_cancelled_and_others_search_on(server: Server) -> None:
    client = client_of(server)
    prepare(client, DUEL, AcceptanceRequired=True, AcceptanceTimeoutSeconds=1)
    for ticket in ("a", "b"):
        client.start_matchmaking(
            TicketId=ticket, ConfigurationName="game", Players=[player(ticket)]
        )
    client.accept_match(TicketId="a", PlayerIds=["a"], AcceptanceType="ACCEPT")
    wait_until(lambda: states(client, "a", "b") == ["SEARCHING", "CANCELLED"])
    (told,) = client.describe_matchmaking(TicketIds=["b"])["TicketList"]
    assert told["StatusReason"] == "AcceptanceTimedOut"


def test_new_ticket_of_a_player_cancels_the_older_one(server: Server) -> None:
    client = client_of(server)
    prepare(client, COWBOYS)
    start = client.start_matchmaking
    start(TicketId="a", ConfigurationName="game", Players=[player("p"), player("q")])
    start(TicketId="b", ConfigurationName="game", Players=[player("p")])
    assert states(client, "a", "b") == ["CANCELLED", "SEARCHING"]
    start(TicketId="c", ConfigurationName="game", Players=[player("p")])
    assert states(client, "b", "c") == ["CANCELLED", "SEARCHING"]
    with refused("InvalidRequestException", "TicketId: 'c' was used before; give another"):
        start(TicketId="c", ConfigurationName="game", Players=[player("r")])
    # Whoever asks for what cannot be keeps what they have.
    with refused("InvalidRequestException", "skil"):
        start(TicketId="d", ConfigurationName="game", Players=[player("p", skil=1)])
    assert states(client, "c") == ["SEARCHING"]
    made = start(ConfigurationName="game", Players=[player("x")])["MatchmakingTicket"]["TicketId"]
    client.stop_matchmaking(TicketId=made)
    client.stop_matchmaking(TicketId=made)
    assert states(client, made) == ["CANCELLED"]
    with refused("NotFoundException"):
        client.stop_matchmaking(TicketId="unknown")
    assert client.describe_matchmaking(TicketIds=["unknown"])["TicketList"] == []


def test_ticket_times_out_and_shows_what_it_came_with(server: Server) -> None:
    client = client_of(server)
    body = json.loads(DUEL)
    kinds = ("string", "string_list", "string_number_map")
    body["playerAttributes"] += [{"name": kind, "type": kind} for kind in kinds]
    prepare(client, json.dumps(body), RequestTimeoutSeconds=1)
    told = {
        "skill": {"N": 3.5},
        "string": {"S": "word"},
        "string_list": {"SL": ["a", "b"]},
        "string_number_map": {"SDM": {"x": 1.0}},
    }
    given = {"PlayerId": "p", "PlayerAttributes": told, "LatencyInMs": {"eu-west-1": 20}}
    client.start_matchmaking(TicketId="a", ConfigurationName="game", Players=[given])
    with refused("InvalidRequestException", "no default"):
        client.start_matchmaking(ConfigurationName="game", Players=[player("q", skill=1)])
    wait_until(lambda: states(client, "a") == ["TIMED_OUT"])
    (found,) = client.describe_matchmaking(TicketIds=["a"])["TicketList"]
    assert found["Players"] == [given]
    assert found["EndTime"] >= found["StartTime"]
    assert 0.9 < (found["EndTime"] - found["StartTime"]).total_seconds() < 5.0
    with refused("InvalidRequestException", "TIMED_OUT"):
        client.stop_matchmaking(TicketId="a")


def test_resources_are_paged_tagged_changed_and_deleted(server: Server) -> None:
    client = client_of(server)
    for at in range(12):
        client.create_matchmaking_rule_set(
            Name=f"r{at:02}", RuleSetBody=DUEL, Tags=[{"Key": "n", "Value": str(at)}]
        )
    pages = list(client.get_paginator("describe_matchmaking_rule_sets").paginate())
    assert [len(page["RuleSets"]) for page in pages] == [10, 2]
    first = client.describe_matchmaking_rule_sets(Limit=5)
    rest = client.describe_matchmaking_rule_sets(NextToken=first["NextToken"], Limit=10)
    names = [each["RuleSetName"] for each in first["RuleSets"] + rest["RuleSets"]]
    assert names == [f"r{at:02}" for at in range(12)]
    arn = first["RuleSets"][3]["RuleSetArn"]
    client.tag_resource(ResourceARN=arn, Tags=[{"Key": "m", "Value": ""}])
    client.untag_resource(ResourceARN=arn, TagKeys=["n", "absent"])
    tags = client.list_tags_for_resource(ResourceARN=arn)["Tags"]
    assert tags == [{"Key": "m", "Value": ""}]
    for at in range(3):
        client.create_matchmaking_configuration(
            Name=f"c{at}", RuleSetName=arn if at else "r00", RequestTimeoutSeconds=60,
            AcceptanceRequired=False, FlexMatchMode="STANDALONE",
        )  # fmt: skip
    page = client.describe_matchmaking_configurations(Limit=2)
    assert [each["Name"] for each in page["Configurations"]] == ["c0", "c1"]
    rest = client.describe_matchmaking_configurations(Limit=2, NextToken=page["NextToken"])
    assert [each["Name"] for each in rest["Configurations"]] == ["c2"]
    assert "NextToken" not in rest
    ruled = client.describe_matchmaking_configurations(RuleSetName="r03")["Configurations"]
    assert [each["Name"] for each in ruled] == ["c1", "c2"]
    with refused("InvalidRequestException", "is used by"):
        client.delete_matchmaking_rule_set(Name="r03")
    changed = client.update_matchmaking_configuration(
        Name="c1", RequestTimeoutSeconds=9, Description="quick", GameProperties=[
            {"Key": "map", "Value": "dust"}
        ]
    )["Configuration"]  # fmt: skip
    assert (changed["RequestTimeoutSeconds"], changed["Description"]) == (9, "quick")
    assert changed["RuleSetName"] == "r03"
    queues = {each["name"]: each for each in server.call("GET", "/v1/queues").body}
    assert queues["c1"]["wait_max"] == 9.0
    client.start_matchmaking(TicketId="t", ConfigurationName="c1", Players=[player("p")])
    with refused("InvalidRequestException", "players wait"):
        client.delete_matchmaking_configuration(Name="c1")
    client.stop_matchmaking(TicketId="t")
    for name in ("c1", "c2"):
        client.delete_matchmaking_configuration(Name=name)
    client.delete_matchmaking_rule_set(Name=arn)
    left = client.describe_matchmaking_configurations()["Configurations"]
    assert [each["Name"] for each in left] == ["c0"]
    with refused("NotFoundException"):
        client.delete_matchmaking_rule_set(Name="r03")
    with refused("NotFoundException"):
        client.describe_matchmaking_rule_sets(Names=["r00", "r03"])
    assert client.model_check.answers > 30


def test_configuration_file_brought_in_again_keeps_what_came_over_gamelift(
    tmp_path: Path,
) -> None:
    def shown(server: Server) -> list[tuple[str, str]]:
        return [(each["name"], each["policy"]) for each in server.call("GET", "/v1/queues").body]

    config, wide = tmp_path / "config.toml", ("duel", "window:limit=300")
    with running(tmp_path) as server:
        prepare(client_of(server), DUEL)
        text = config.read_text().replace("limit=100", "limit=300")
        assert server.call("PUT", "/v1/config", raw=text.encode()).status == 200
        assert [name for name, _ in shown(server)] == ["duel", "squad", "game"]
        assert wide in shown(server)
        config.write_text(text.replace("limit=300", "limit=200"))
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: wide not in shown(server))
        assert [name for name, _ in shown(server)] == ["duel", "squad", "game"]
        text = config.read_text()
        server.stop()
    with running(tmp_path, text) as server:
        assert [name for name, _ in shown(server)] == ["duel", "squad", "game"]
        client = client_of(server)
        (kept,) = client.describe_matchmaking_rule_sets()["RuleSets"]
        assert kept["RuleSetBody"] == DUEL
        client.delete_matchmaking_configuration(Name="game")
        assert [name for name, _ in shown(server)] == ["duel", "squad"]
    with running(tmp_path, text) as server:
        assert [name for name, _ in shown(server)] == ["duel", "squad"]


ONE = [player("p")]
MANY = [player(f"p{at}") for at in range(11)]
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("StartMatchmaking", {"ConfigurationName": "none", "Players": ONE}, "NotFound"),
    ("StartMatchmaking", {"ConfigurationName": "game", "Players": MANY}, "InvalidRequest"),
    ("StartMatchmaking", {"ConfigurationName": "game", "Players": []}, "InvalidRequest"),
    ("StartMatchmaking", {"ConfigurationName": "game", "Players": [{}]}, "InvalidRequest"),
    ("StartMatchmaking", {"ConfigurationName": "game", "Players": ONE * 2}, "InvalidRequest"),
    (
        "StartMatchmaking",
        {"TicketId": "a b", "ConfigurationName": "game", "Players": ONE},
        "InvalidRequest",
    ),
    ("StartMatchmaking", {"ConfigurationName": "ga me", "Players": ONE}, "InvalidRequest"),
    (
        "StartMatchmaking",
        {
            "ConfigurationName": "game",
            "Players": [{"PlayerId": "p", "PlayerAttributes": {"skill": {"S": "ten"}}}],
        },
        "InvalidRequest",
    ),
    (
        "StartMatchmaking",
        {
            "ConfigurationName": "game",
            "Players": [{"PlayerId": "p", "PlayerAttributes": {"skill": {"N": 1, "S": "x"}}}],
        },
        "InvalidRequest",
    ),
    (
        "StartMatchmaking",
        {"ConfigurationName": "game", "Players": [{"PlayerId": "p", "LatencyInMs": {"eu": 0}}]},
        "InvalidRequest",
    ),
    ("DescribeMatchmaking", {"TicketIds": [f"t{at}" for at in range(11)]}, "InvalidRequest"),
    ("CreateMatchmakingRuleSet", {"Name": "x", "RuleSetBody": "{}"}, "InvalidRequest"),
    ("CreateMatchmakingRuleSet", {"Name": "", "RuleSetBody": DUEL}, "InvalidRequest"),
    ("CreateMatchmakingRuleSet", {"Name": "game-rules", "RuleSetBody": DUEL}, "InvalidRequest"),
    ("CreateMatchmakingRuleSet", {"Name": "x", "RuleSetBody": " " * 65_536}, "InvalidRequest"),
    ("ValidateMatchmakingRuleSet", {"RuleSetBody": '{"teams": []}'}, "InvalidRequest"),
    ("TagResource", {"ResourceARN": "arn:aws:s3:::x", "Tags": []}, "InvalidRequest"),
    (
        "ListTagsForResource",
        {"ResourceARN": "arn:aws:gamelift:us-east-1::matchmakingruleset/none"},
        "NotFound",
    ),
    ("DescribeMatchmakingRuleSets", {"NextToken": "?"}, "InvalidRequest"),
    ("DescribeMatchmakingRuleSets", {"Limit": 11}, "InvalidRequest"),
    (
        "TagResource",
        {
            "ResourceARN": "arn:aws:gamelift:us-east-1::matchmakingruleset/game-rules",
            "Tags": [{"Key": str(at), "Value": ""} for at in range(51)],
        },
        "TaggingFailed",
    ),
    ("UpdateMatchmakingConfiguration", {"Name": "none"}, "NotFound"),
    (
        "UpdateMatchmakingConfiguration",
        {"Name": "game", "RequestTimeoutSeconds": 43_201},
        "InvalidRequest",
    ),
    ("UpdateMatchmakingConfiguration", {"Name": "game", "AcceptanceRequired": True}, "Invalid"),
    ("UpdateMatchmakingConfiguration", {"Name": "game", "RuleSetName": "none"}, "NotFound"),
    (
        "UpdateMatchmakingConfiguration",
        {"Name": "game", "FlexMatchMode": "WITH_QUEUE"},
        "InvalidRequest",
    ),
    (
        "UpdateMatchmakingConfiguration",
        {
            "Name": "game",
            "FlexMatchMode": "WITH_QUEUE",
            "GameSessionQueueArns": ["arn:aws:gamelift:us-east-1::gamesessionqueue/absent"],
        },
        "InvalidRequest",
    ),
]


def snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name).lstrip("_")


def test_one_variable_redirects_boto3(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "AWS_ENDPOINT_URL_GAMELIFT": server.url,
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
    }
    for key, value in given.items():
        monkeypatch.setenv(key, value)
    client = boto3.session.Session().client("gamelift")
    prepare(client, DUEL)
    queues = server.call("GET", "/v1/queues").body
    assert [each["name"] for each in queues] == ["duel", "squad", "game"]


def test_every_wrong_request_has_aws_name_for_what_is_wrong(server: Server) -> None:
    client = boto3.client(
        "gamelift", endpoint_url=server.url, region_name="eu-west-1", aws_access_key_id="any",
        aws_secret_access_key="any",
        config=boto3.session.Config(parameter_validation=False, **SETTINGS),
    )  # fmt: skip
    prepare(client, DUEL)
    before = client.describe_matchmaking_configurations()["Configurations"]
    for operation, given, name in WRONG:
        with pytest.raises(ClientError) as caught:
            getattr(client, snake(operation))(**given)
        told = caught.value.response["Error"]
        assert told["Code"].startswith(name), (operation, told)
        assert len(told["Message"]) > 20
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert client.describe_matchmaking_configurations()["Configurations"] == before


def test_operations_that_there_are_not_are_refused_by_name(server: Server) -> None:
    client = client_of(server)
    with refused("UnknownOperationException", "ListFleets"):
        client.list_fleets()
    for headers in ({}, {"x-amz-target": "DynamoDB_20120810.ListTables"}):
        answer = server.call("POST", "/", {}, headers=headers)
        assert answer.status == 400
        assert "x-amzn-requestid" in answer.headers


def raw(server: Server, operation: str, body: bytes) -> tuple[int, Any]:
    headers = {"x-amz-target": f"GameLift.{operation}"}
    answer = server.call("POST", "/", raw=body, headers=headers)
    told = answer.body if isinstance(answer.body, dict) else json.loads(answer.body)
    return answer.status, told


def test_bodies_that_are_none_are_refused(server: Server) -> None:
    deep = b'{"Names": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    bodies = (b"[]", b"{", b"\xff", b'"x"', b"null", b"1e999", deep, b'{"Names": NaN}')
    for body in bodies:
        status, told = raw(server, "DescribeMatchmakingRuleSets", body)
        assert (status, told["__type"]) in (
            (400, "SerializationException"),
            (400, "InvalidRequestException"),
        ), (body[:20], told)
    # The answer comes before the body, which nobody reads.
    connection = HTTPConnection("127.0.0.1", server.port, timeout=GIVE_UP)
    connection.putrequest("POST", "/")
    connection.putheader("x-amz-target", "GameLift.DescribeMatchmakingRuleSets")
    connection.putheader("content-length", "1000001")
    connection.endheaders(b"{")
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    assert (answer.status, told["__type"]) == (413, "RequestEntityTooLargeException")


WORDS: tuple[Callable[[random.Random], Any], ...] = (
    lambda chance: None,
    lambda chance: chance.choice([True, False]),
    lambda chance: chance.choice([0, 1, -1, 2**63, 10**30, 1.5, 1e308]),
    lambda chance: chance.choice(["", "game", "game-rules", "a b", "\0", "é" * 200, "x" * 2_000]),
    lambda chance: "arn:aws:gamelift:us-east-1::matchmakingconfiguration/game",
    lambda chance: [drawn(chance, 3) for _ in range(chance.randrange(4))],
    lambda chance: {"Key": "a", "Value": "b"},
    lambda chance: {"PlayerId": "p", "PlayerAttributes": {"skill": drawn(chance, 3)}},
    lambda chance: {drawn_key(chance): drawn(chance, 3) for _ in range(chance.randrange(3))},
)
KEYS = ("Name", "Players", "PlayerId", "PlayerAttributes", "S", "N", "SL", "SDM", "Key", "", "\0")


def drawn_key(chance: random.Random) -> str:
    return chance.choice(KEYS)


def drawn(chance: random.Random, depth: int = 0) -> Any:
    words = WORDS if depth < 3 or chance.random() < 0.3 else WORDS[:5]
    return chance.choice(words)(chance)


RIGHT = {
    "RuleSetBody": [DUEL],
    "ResourceARN": ["arn:aws:gamelift:us-east-1::matchmakingruleset/game-rules"],
    "ConfigurationName": ["game", "c1"],
    "RuleSetName": ["game-rules", "r1"],
    "Name": ["game-rules", "c1", "c2", "r1", "r2"],
    "Names": [["game"], ["game-rules"]],
    "TicketId": ["t1", "t2", "t3", "t4"],
    "Team": ["red", "blue"],
    "GameSessionArn": ["arn:aws:gamelift:eu::gamesession/fleet/1"],
}
"""Values with which calls may work."""


def fitting(shape: Any, chance: random.Random, name: str = "") -> Any:
    """Return a value that a shape has, more often than not."""
    if name in RIGHT and chance.random() < 0.8:
        return chance.choice(RIGHT[name])
    if chance.random() < 0.04:
        return drawn(chance, 2)
    kind = shape.type_name
    if kind == "structure":
        needed = shape.required_members
        return {
            key: fitting(each, chance, key)
            for key, each in shape.members.items()
            if (key in needed and chance.random() < 0.95) or chance.random() < 0.4
        }
    if kind == "list":
        return [fitting(shape.member, chance) for _ in range(chance.randrange(3))]
    if kind == "map":
        return {"skill": fitting(shape.value, chance)}
    if kind == "string":
        if shape.enum:
            return chance.choice(shape.enum)
        return chance.choice(["game", "game-rules", "t1", "p1", DUEL, "arn:aws:gamelift:x"])
    return chance.choice([True, 1, 5, 60])


def test_random_bodies_never_make_the_server_fail(server: Server) -> None:
    client = client_of(server)
    near = {"type": "distance", "measurements": ["teams[*].players.attributes[skill]"]}
    near |= {"name": "near", "referenceValue": 10, "maxDistance": 50}
    prepare(client, json.dumps({**json.loads(DUEL), "rules": [near]}))
    with following(server) as heard:
        send_random_bodies(server, client)
        wait_until(lambda: bool(heard))
    assert "Traceback" not in server.log.read_text()


def send_random_bodies(server: Server, client: Any) -> None:
    chance = random.Random(5)
    operations = [
        each
        for each in client.meta.service_model.operation_names
        if "atchmak" in each or each in ("AcceptMatch", "StartMatchBackfill", "TagResource",
                                         "UntagResource", "ListTagsForResource")
    ]  # fmt: skip
    assert len(operations) == 16
    seen: dict[str, set[int]] = {each: set() for each in operations}
    for _ in range(BODIES * len(operations)):
        operation = chance.choice(operations)
        shape = client.meta.service_model.operation_model(operation).input_shape
        status, told = raw(server, operation, json.dumps(fitting(shape, chance)).encode())
        assert status in (200, 400), (operation, told)
        assert status == 200 or told["__type"].endswith("Exception")
        seen[operation].add(status)
    worked = {operation for operation, statuses in seen.items() if 200 in statuses}
    assert len(worked) >= 12, set(operations) - worked


def test_signature_is_verified_where_there_are_keys(tmp_path: Path) -> None:
    def add(name: str, *more: str) -> dict[str, str]:
        command = [sys.executable, "-m", "evenmatch.cli.main", "keys", "add", name]
        command += ["--data", str(tmp_path / "data"), "--json", *more]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        found: dict[str, str] = json.loads(done.stdout)
        return found

    (tmp_path / "data").mkdir()
    boss = add("boss", "--rights", "operate,tickets", "--signing")
    game = add("game", "--rights", "tickets", "--signing")
    plain = add("plain", "--rights", "tickets")
    with running(tmp_path) as server:
        prepare(client_of(server, boss["id"], boss["key"]), DUEL)
        client = client_of(server, "game", game["key"])
        client.start_matchmaking(TicketId="t", ConfigurationName="game", Players=ONE)
        with refused("UnauthorizedException", "operate"):
            client.delete_matchmaking_configuration(Name="game")
        for key, secret in (
            (game["id"], "wrong"),
            (boss["id"], game["key"]),
            (plain["id"], plain["key"]),
            ("nobody", game["key"]),
        ):
            with refused("UnrecognizedClientException"):
                client_of(server, key, secret).describe_matchmaking(TicketIds=["t"])
        answer = server.call(
            "POST", "/", {"TicketIds": ["t"]},
            headers={
                "x-amz-target": "GameLift.DescribeMatchmaking",
                "authorization": f"Bearer {plain['key']}",
            },
        )  # fmt: skip
        assert answer.status == 200


def test_matches_with_a_queue_are_placed_before_they_are_complete(tmp_path: Path) -> None:
    hook = '\n[server.allocation.fleet]\nkind = "webhook"\nurl = "http://127.0.0.1:9/"\n'
    with running(tmp_path, CONFIG + hook) as server:
        client = client_of(server)
        arn = "arn:aws:gamelift:eu-west-1:1234:gamesessionqueue/fleet"
        prepare(client, DUEL, FlexMatchMode="WITH_QUEUE", GameSessionQueueArns=[arn])
        for ticket in ("a", "b"):
            client.start_matchmaking(
                TicketId=ticket, ConfigurationName="game", Players=[player(ticket)]
            )
        assert states(client, "a", "b") == ["PLACING", "PLACING"]
        match = server.call("GET", "/v1/tickets/aws:a").body["match"]
        server.call("PUT", f"/v1/matches/{match}/assignment", {"connection": "10.0.0.7:7777"})
        assert states(client, "a", "b") == ["COMPLETED", "COMPLETED"]
        (told,) = client.describe_matchmaking(TicketIds=["a"])["TicketList"]
        info = told["GameSessionConnectionInfo"]
        assert (info["IpAddress"], info["Port"]) == ("10.0.0.7", 7777)
        assert [each["PlayerId"] for each in info["MatchedPlayerSessions"]] == ["a"]
        assert told["EndTime"] >= told["StartTime"]


def test_running_match_is_filled_by_a_backfill(server: Server) -> None:
    client = client_of(server)
    body = json.loads(DUEL)
    body["teams"] = [{"name": "squad", "minPlayers": 2, "maxPlayers": 2}]
    prepare(client, json.dumps(body))
    for ticket in ("a", "b"):
        client.start_matchmaking(
            TicketId=ticket, ConfigurationName="game", Players=[player(ticket)]
        )
    (told,) = client.describe_matchmaking(TicketIds=["a"])["TicketList"]
    session = told["GameSessionConnectionInfo"]["GameSessionArn"]
    given = {"ConfigurationName": "game", "GameSessionArn": session, "Players": [player("a")]}
    first = client.start_match_backfill(TicketId="f1", **given)["MatchmakingTicket"]
    assert first["Status"] == "QUEUED"
    client.start_match_backfill(TicketId="f2", **given)
    assert states(client, "f1", "f2") == ["CANCELLED", "SEARCHING"]
    client.start_matchmaking(TicketId="c", ConfigurationName="game", Players=[player("c")])
    assert states(client, "f2", "c") == ["COMPLETED", "COMPLETED"]
    done, came = client.describe_matchmaking(TicketIds=["f2", "c"])["TicketList"]
    assert {each["PlayerId"] for each in done["Players"]} == {"a", "c"}
    assert came["GameSessionConnectionInfo"]["GameSessionArn"] == session
    given["Players"] = [player("c")]
    client.start_match_backfill(TicketId="f3", **given)
    client.stop_matchmaking(TicketId="f3")
    assert states(client, "f3") == ["CANCELLED"]
    client.start_matchmaking(TicketId="d", ConfigurationName="game", Players=[player("d")])
    assert states(client, "d") == ["SEARCHING"]


def test_newcomers_of_a_backfill_are_asked_and_their_places_kept_over_a_kill(
    tmp_path: Path,
) -> None:
    given = {"ConfigurationName": "game", "GameSessionArn": FOREIGN}
    with running(tmp_path) as server:
        client = client_of(server)
        prepare(client, DUEL, AcceptanceRequired=True, AcceptanceTimeoutSeconds=600)
        client.start_match_backfill(TicketId="f1", Players=[on("red", "r")], **given)
        client.start_matchmaking(TicketId="a", ConfigurationName="game", Players=[player("a")])
        wait_until(lambda: states(client, "f1", "a") == ["REQUIRES_ACCEPTANCE"] * 2)
        client.start_match_backfill(TicketId="f2", Players=[on("red", "r")], **given)
        wait_until(lambda: states(client, "f2", "a") == ["REQUIRES_ACCEPTANCE"] * 2)
        assert states(client, "f1") == ["CANCELLED"]
        server.kill()
    with running(tmp_path) as server:
        client = client_of(server)
        client.start_matchmaking(TicketId="b", ConfigurationName="game", Players=[player("b")])
        assert states(client, "f2", "a", "b") == ["REQUIRES_ACCEPTANCE"] * 2 + ["SEARCHING"]
        client.accept_match(TicketId="a", PlayerIds=["a"], AcceptanceType="REJECT")
        wait_until(lambda: states(client, "f2", "b") == ["REQUIRES_ACCEPTANCE"] * 2)
        client.accept_match(TicketId="b", PlayerIds=["b"], AcceptanceType="ACCEPT")
        assert states(client, "f2", "a", "b") == ["COMPLETED", "CANCELLED", "COMPLETED"]
        (came,) = client.describe_matchmaking(TicketIds=["b"])["TicketList"]
        assert came["GameSessionConnectionInfo"]["GameSessionArn"] == FOREIGN


def test_match_that_another_server_made_is_filled_and_known_after_a_kill(tmp_path: Path) -> None:
    duo = json.loads(DUEL)
    for team in duo["teams"]:
        team["maxPlayers"] = 2
    near = {"type": "distance", "measurements": ["teams[*].players.attributes[skill]"]}
    near |= {"name": "near", "referenceValue": 10, "maxDistance": 5}
    duo["rules"] = [near]
    with running(tmp_path) as server:
        client = client_of(server)
        prepare(client, json.dumps(duo), "pairs")
        given = {"ConfigurationName": "pairs", "GameSessionArn": FOREIGN}
        first = [on("red", "a", skill=10), on("red", "b", skill=11), on("blue", "c", skill=9)]
        made = client.start_match_backfill(TicketId="f1", Players=first, **given)
        assert made["MatchmakingTicket"]["Status"] == "QUEUED"
        assert made["MatchmakingTicket"]["Players"] == first
        client.start_matchmaking(
            TicketId="far", ConfigurationName="pairs", Players=[player("far", skill=90)]
        )
        assert states(client, "f1", "far") == ["SEARCHING", "SEARCHING"]
        second = [first[0], first[2]]
        client.start_match_backfill(TicketId="f2", Players=second, **given)
        assert states(client, "f1", "f2") == ["CANCELLED", "SEARCHING"]
        elsewhere = {"ConfigurationName": "pairs", "Players": [on("blue", "z", skill=10)]}
        client.start_match_backfill(TicketId="f3", **elsewhere)
        assert states(client, "f2", "f3") == ["SEARCHING", "SEARCHING"], "two backfills joined"
        client.stop_matchmaking(TicketId="f3")
        server.kill()
    with running(tmp_path) as server:
        client = client_of(server)
        assert states(client, "f1", "f2", "f3") == ["CANCELLED", "SEARCHING", "CANCELLED"]
        (told,) = client.describe_matchmaking(TicketIds=["f2"])["TicketList"]
        assert told["Players"] == second
        client.start_matchmaking(
            TicketId="new", ConfigurationName="pairs", Players=[player("d", skill=12)]
        )
        done, came = client.describe_matchmaking(TicketIds=["f2", "new"])["TicketList"]
        assert [done["Status"], came["Status"]] == ["COMPLETED", "COMPLETED"]
        session = came["GameSessionConnectionInfo"]
        assert session["GameSessionArn"] == FOREIGN
        assert done["GameSessionConnectionInfo"]["GameSessionArn"] == FOREIGN
        assert {each["PlayerId"] for each in done["Players"]} == {"a", "c", "d"}
        assert came["Players"][0]["Team"] in ("red", "blue")
        for again in ("f2", "new"):
            with refused("InvalidRequestException", "was used before"):
                client.start_match_backfill(TicketId=again, Players=first, **given)
        with refused("InvalidRequestException", "COMPLETED"):
            client.stop_matchmaking(TicketId="f2")
        # With no ARN the match has one of this server, by which it can be asked for again.
        client.start_match_backfill(TicketId="f4", **elsewhere)
        (told,) = client.describe_matchmaking(TicketIds=["f4"])["TicketList"]
        own = told["GameSessionConnectionInfo"]["GameSessionArn"]
        client.start_match_backfill(TicketId="f5", GameSessionArn=own, **elsewhere)
        assert states(client, "f4", "f5") == ["CANCELLED", "SEARCHING"]


def test_webhook_hears_of_all_that_becomes_of_tickets(tmp_path: Path) -> None:
    with listening() as (url, heard):
        (tmp_path / "secret").write_text("secret")
        hook = f'\n[server.notifications.events]\nurl = "{url}"\nsecret_file = "secret"\n'
        with running(tmp_path, CONFIG + hook) as server:
            client = client_of(server)
            target = "arn:aws:sns:eu-west-1:1234:events"
            more = {"NotificationTarget": target, "CustomEventData": "mine"}
            accept = {"AcceptanceRequired": True, "AcceptanceTimeoutSeconds": 60}
            prepare(client, DUEL, "asked", **more, **accept)
            prepare(client, DUEL, "quick", RequestTimeoutSeconds=1, **more)
            with refused("InvalidRequestException", "server.notifications.none"):
                client.update_matchmaking_configuration(
                    Name="quick", NotificationTarget="arn:aws:sns:eu-west-1:1234:none"
                )

            def start(ticket: str, configuration: str) -> None:
                client.start_matchmaking(
                    TicketId=ticket, ConfigurationName=configuration, Players=[player(ticket)]
                )

            for ticket in ("a", "b"):
                start(ticket, "asked")
            client.accept_match(TicketId="a", PlayerIds=["a"], AcceptanceType="ACCEPT")
            client.accept_match(TicketId="b", PlayerIds=["b"], AcceptanceType="REJECT")
            start("c", "asked")
            wait_until(lambda: states(client, "c") == ["REQUIRES_ACCEPTANCE"])
            for ticket in ("a", "c"):
                client.accept_match(TicketId=ticket, PlayerIds=[ticket], AcceptanceType="ACCEPT")
            assert states(client, "a", "c") == ["COMPLETED", "COMPLETED"]
            start("d", "quick")
            wait_until(lambda: states(client, "d") == ["TIMED_OUT"])
            ends = ("MatchmakingTimedOut",)
            wait_until(lambda: ends[0] in [told["detail"]["type"] for told, _ in heard.values()])
        told = [each for each, _ in heard.values()]
        kinds = [each["detail"]["type"] for each in told]
        assert kinds == [
            "MatchmakingSearching", "MatchmakingSearching", "PotentialMatchCreated", "AcceptMatch",
            "AcceptMatch", "MatchmakingCancelled", "AcceptMatchCompleted", "MatchmakingSearching",
            "MatchmakingSearching", "PotentialMatchCreated", "AcceptMatch",
            "AcceptMatchCompleted", "MatchmakingSucceeded", "MatchmakingSearching",
            "MatchmakingTimedOut",
        ]  # fmt: skip
        by = [(each["acceptance"]) for each in (t["detail"] for t in told) if "acceptance" in each]
        assert by == ["Rejected", "Accepted"]
        assert {each["detail"]["customEventData"] for each in told} == {"mine"}
        done = told[kinds.index("MatchmakingSucceeded")]
        names = {
            each["playerId"]: each["team"] for each in done["detail"]["gameSessionInfo"]["players"]
        }
        assert set(names) == {"a", "c"}
        assert set(names.values()) == {"red", "blue"}
        assert done["resources"][0].endswith("matchmakingconfiguration/asked")
        assert done["source"] == "aws.gamelift"
