"""What tests of GameLift's protocol share: clients, rule sets, a webhook, a stream of events."""

import hmac
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.integration.serving import Server
from tests.waiting import GIVE_UP

DATA = Path(__file__).parents[1] / "data" / "flexmatch"
COWBOYS = (DATA / "01_aliens_vs_cowboys.json").read_text()
DUEL = json.dumps(
    {
        "name": "duel",
        "ruleLanguageVersion": "1.0",
        "playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
        "teams": [
            {"name": "red", "minPlayers": 1, "maxPlayers": 1},
            {"name": "blue", "minPlayers": 1, "maxPlayers": 1},
        ],
    }
)
SETTINGS = {"retries": {"total_max_attempts": 1}}


class Model:
    """Says whether answers are as botocore's own model of GameLift has them."""

    def __init__(self, client: Any) -> None:
        self._model = client.meta.service_model
        self.answers = 0

    def check(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        if model.output_shape is not None:
            told = {key: value for key, value in parsed.items() if key != "ResponseMetadata"}
            self._check(told, model.output_shape, model.name)
        self.answers += 1

    def _check(self, value: Any, shape: Any, at: str) -> None:
        limits, kind = shape.metadata, shape.type_name
        if kind == "structure":
            assert set(value) <= set(shape.members), at
            assert set(shape.required_members) <= set(value), at
            for key, each in value.items():
                self._check(each, shape.members[key], f"{at}.{key}")
        elif kind == "list":
            for each in value:
                self._check(each, shape.member, at)
        elif kind == "map":
            for key, each in value.items():
                self._check(key, shape.key, at)
                self._check(each, shape.value, at)
        elif kind == "string":
            assert isinstance(value, str), at
            assert limits.get("min", 0) <= len(value) <= limits.get("max", 10**9), at
            assert not shape.enum or value in shape.enum, at
        elif kind in ("integer", "double"):
            assert limits.get("min", value) <= value <= limits.get("max", value), at
        elif kind == "boolean":
            assert isinstance(value, bool), at


def client_of(server: Server, key: str = "any", secret: str = "any") -> Any:
    client = boto3.client(
        "gamelift",
        endpoint_url=server.url,
        region_name="eu-west-1",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=boto3.session.Config(**SETTINGS),
    )
    client.model_check = Model(client)

    def checked(parsed: dict[str, Any], model: Any, http_response: Any, **_: Any) -> None:
        if http_response.status_code == 200:
            client.model_check.check(parsed, model)

    client.meta.events.register("after-call.gamelift", checked)
    return client


def player(name: str, **attributes: float) -> dict[str, Any]:
    told: dict[str, Any] = {"PlayerId": name}
    if attributes:
        told["PlayerAttributes"] = {key: {"N": value} for key, value in attributes.items()}
    return told


def states(client: Any, *tickets: str) -> list[str]:
    found = client.describe_matchmaking(TicketIds=list(tickets))["TicketList"]
    assert [each["TicketId"] for each in found] == list(tickets)
    return [each["Status"] for each in found]


def prepare(client: Any, body: str, name: str = "game", **more: Any) -> None:
    client.create_matchmaking_rule_set(Name=f"{name}-rules", RuleSetBody=body)
    given = {
        "RequestTimeoutSeconds": 60,
        "AcceptanceRequired": False,
        "FlexMatchMode": "STANDALONE",
        **more,
    }
    client.create_matchmaking_configuration(Name=name, RuleSetName=f"{name}-rules", **given)


@contextmanager
def refused(name: str, text: str = "") -> Iterator[None]:
    with pytest.raises(ClientError) as caught:
        yield
    told = caught.value.response["Error"]
    assert told["Code"] == name, told
    assert text in told["Message"]


FOREIGN = "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/mine"


def on(team: str, name: str, **attributes: float) -> dict[str, Any]:
    """Return a player of a match that is to be filled."""
    return {**player(name, **attributes), "Team": team}


class Listening(BaseHTTPRequestHandler):
    """A webhook that turns every event down once, or every few, and then takes it."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        heard: dict[str, tuple[dict[str, Any], str]] = self.server.heard  # type: ignore[attr-defined]
        tried: set[str] = self.server.tried  # type: ignore[attr-defined]
        key = self.headers["idempotency-key"]
        takes = key in tried or len(tried) % self.server.every > 0  # type: ignore[attr-defined]
        tried.add(key)
        if takes:
            heard[key] = (json.loads(body), self.headers["evenmatch-signature"])
            at, _, mark = self.headers["evenmatch-signature"].partition(",v1=")
            signed = at.removeprefix("t=").encode() + b"." + body
            assert hmac.new(b"secret", signed, "sha256").hexdigest() == mark
        self.send_response(204 if takes else 503)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def listening(every: int = 1) -> Iterator[tuple[str, dict[str, tuple[dict[str, Any], str]]]]:
    """Run the webhook, which turns each `every`-th event down; yield its URL, and what it took."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Listening) as hook:
        hook.heard, hook.tried, hook.every = {}, set(), every  # type: ignore[attr-defined]
        thread = Thread(target=hook.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{hook.server_port}/", hook.heard  # type: ignore[attr-defined]
        finally:
            hook.shutdown()
            thread.join()


@contextmanager
def following(
    server: Server, query: str = "", last: str = "", key: str = ""
) -> Iterator[list[dict[str, Any]]]:
    """Follow the events of a server; each line has its id, its type and its envelope."""
    headers = {"Last-Event-ID": last} if last else {}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(f"{server.url}/v1/gamelift/events{query}", headers=headers)
    answer = urllib.request.urlopen(request, timeout=GIVE_UP)
    assert answer.headers["content-type"] == "text/event-stream"
    heard: list[dict[str, Any]] = []

    def read() -> None:
        told: dict[str, Any] = {}
        try:
            for line in answer:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name in ("id", "event"):
                    told[name] = value
                elif name == "data":
                    heard.append({**told, "data": json.loads(value)})
                    told = {}
        except (OSError, ValueError, AttributeError):
            return  # The connection was closed.

    reader = Thread(target=read, daemon=True)
    reader.start()
    try:
        yield heard
    finally:
        answer.fp.raw._sock.shutdown(2)
        reader.join(GIVE_UP)
        answer.close()
