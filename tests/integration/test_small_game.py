"""A small game without a backend: the steps of examples/godot/matchmaking.gd, on its server.

No Godot runs here. The routes come out of the script, so that it cannot drift from what is tested,
and `tests.integration.godot` runs the script itself where requests are lost.
"""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.godot import SCRIPT, Connection, script_on
from tests.integration.serving import Reply, Server, running
from tests.waiting import GIVE_UP

GODOT = Path(__file__).parents[2] / "examples" / "godot"
ROUTES = {
    name: (method, path)
    for name, method, path in re.findall(
        r'"(\w+)": \[HTTPClient\.METHOD_(\w+), "([^"]+)"\]', SCRIPT
    )
}
PAGE = {"origin": "https://my-game.example"}
"""A game that runs in a browser says where its page comes from."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    config = (GODOT / "server.toml").read_text(encoding="utf-8")
    with running(tmp_path_factory.mktemp("small"), config) as started:
        yield started


class Device:
    """What the script does, step by step."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._token = ""
        guest = self.ask("guest")
        assert guest.status == 201
        self.player, self._token = guest.body["player"], guest.body["token"]

    def ask(self, route: str, *names: str, body: Any = None) -> Reply:
        method, path = ROUTES[route]
        own = {"authorization": f"Bearer {self._token}"} if self._token else {}
        return self._server.call(method, path % names, body, headers={**PAGE, **own})

    def find(self, code: str = "", connect: str = "open") -> Reply:
        body = {
            "queues": ["friends" if code else "anyone"],
            "players": [{"id": self.player}],
            "attributes": {"connect": connect, "code": code},
        }
        return self.ask("create", body=body)

    def poll(self, ticket: str, known: str, match: str = "") -> dict[str, Any]:
        reply = self.ask("poll", ticket, known, match)
        assert reply.status == 200, reply.body
        found: dict[str, Any] = reply.body
        return found


def test_script_is_short_and_uses_every_route_that_it_names() -> None:
    assert SCRIPT.count("\n") <= 160
    assert set(ROUTES) == set(re.findall(r'_ask\("(\w+)"', SCRIPT))
    assert set(ROUTES) == {
        "guest", "create", "poll", "cancel", "accept", "decline", "match", "assign",
    }  # fmt: skip


def test_two_friends_with_one_code_meet_and_the_first_host_says_where(server: Server) -> None:
    ada, bob = Device(server), Device(server)
    first, other = ada.find("FROG").body["id"], Device(server).find("TOAD").body["id"]
    heard: list[dict[str, Any]] = []
    waiting = threading.Thread(target=lambda: heard.append(ada.poll(first, "waiting")))
    waiting.start()
    second = bob.find("FROG").body["id"]
    waiting.join(20.0)
    proposal = heard[0]
    assert (proposal["state"], proposal["answer_within"] > 10.0) == ("proposed", True)
    match = proposal["match"]
    assert ada.ask("accept", match, body={"ticket": first}).status == 200
    assert bob.ask("accept", match, body={"ticket": second}).body["state"] == "matched"
    hosts = ada.ask("match", match).body["hosts"]
    assert sorted(hosts) == sorted([ada.player, bob.player])
    host, guest, ticket = (ada, bob, second) if hosts[0] == ada.player else (bob, ada, first)
    place = {"connection": "203.0.113.5:7777"}
    assert guest.ask("assign", match, body=place).status == 403
    assert host.ask("assign", match, body=place).status == 200
    assigned = guest.poll(ticket, "matched", match)
    assert (assigned["state"], assigned["assignment"]) == ("assigned", place)
    assert server.call("GET", "/v1/tickets/" + other).status == 401


def test_strangers_meet_without_a_code_and_one_may_decline(server: Server) -> None:
    ada, bob = Device(server), Device(server)
    first, second = ada.find().body["id"], bob.find().body["id"]
    match = bob.poll(second, "waiting")["match"]
    assert bob.ask("decline", match, body={"ticket": second}).status == 200
    ended = bob.poll(second, "proposed", match)
    assert (ended["state"], ended["reason"]) == ("cancelled", "declined")
    assert ada.poll(first, "cancelled")["state"] in ("waiting", "proposed")
    assert ada.ask("cancel", first).body == {"state": "cancelled"}
    assert ada.poll(first, "waiting")["reason"] == "player"


@pytest.mark.parametrize("code", ["FROG", ""])
def test_two_of_whom_neither_can_host_are_not_brought_together(server: Server, code: str) -> None:
    ada, bob = Device(server), Device(server)
    first = ada.find(code, "strict").body["id"]
    second = bob.find(code, "strict").body["id"]
    assert bob.poll(second, "cancelled")["state"] == "waiting"
    eve = Device(server)
    third = eve.find(code, "open").body["id"]
    assert eve.poll(third, "waiting")["state"] == "proposed"
    for device, ticket in ((eve, third), (ada, first), (bob, second)):
        assert device.ask("cancel", ticket).status == 200


def test_ticket_and_code_of_others_are_none_of_a_players_business(server: Server) -> None:
    ada, eve = Device(server), Device(server)
    ticket = ada.find("SECRET").body["id"]
    assert eve.ask("cancel", ticket).status == 404
    assert eve.ask("poll", ticket, "waiting", "").status == 404
    claimed = {"queues": ["anyone"], "players": [{"id": ada.player}]}
    assert eve.ask("create", body=claimed).status == 403
    assert ada.ask("cancel", ticket).status == 200


def test_same_device_is_the_same_player_again_and_a_bad_token_is_refused(server: Server) -> None:
    ada = Device(server)
    assert ada.ask("guest").body["player"] == ada.player
    ada._token = "x" + ada._token
    refusal = ada.ask("guest")
    assert (refusal.status, refusal.body["error"]) == (401, "unauthenticated")
    assert '== "unauthenticated"' in SCRIPT


def test_a_game_in_a_browser_may_call(server: Server) -> None:
    asks = {
        **PAGE,
        "access-control-request-method": "PUT",
        "access-control-request-headers": "authorization,content-type,idempotency-key",
    }
    reply = server.call("OPTIONS", "/v1/matches/x/assignment", headers=asks)
    assert reply.status == 200
    assert reply.headers["access-control-allow-origin"] == "*"
    assert json.dumps(server.call("GET", "/healthz", headers=PAGE).body) == '{"status": "ok"}'


# The script itself, where a request is lost.


@pytest.mark.parametrize("arrives", [False, True])
def test_lost_request_costs_no_player_their_identity(server: Server, arrives: bool) -> None:
    files: dict[str, str] = {}
    first = script_on(server, files, Connection(server))
    asyncio.run(first._sign_in())
    again = script_on(server, files, Connection(server, ("POST", "/v1/guests", arrives)))
    asyncio.run(again._sign_in())
    assert first.player
    assert again.player == first.player


def test_server_that_is_away_costs_no_player_their_identity(server: Server) -> None:
    files: dict[str, str] = {}
    asyncio.run(script_on(server, files, Connection(server))._sign_in())
    kept = dict(files)

    class Away(Connection):
        def ask(self, url: str, headers: list[str], method: str, body: str) -> list[Any]:
            self.lose = (method, "/", False)
            return super().ask(url, headers, method, body)

    node = script_on(server, files, Away(server))
    asyncio.run(node.find())
    assert node.ended.emitted == [("unreachable",)]
    assert files == kept


def test_token_that_the_server_refuses_is_replaced(server: Server) -> None:
    files = {"user://evenmatch.token": "old"}
    node = script_on(server, files, Connection(server))
    asyncio.run(node._sign_in())
    assert node.player
    assert files["user://evenmatch.token"] == node._token != "old"


async def played(server: Server, *lost: tuple[str, str, bool] | None) -> list[Any]:
    """Let two play with each other, and return their nodes."""
    nodes = [script_on(server, {}, Connection(server, each)) for each in lost]
    for node in nodes:
        node.proposed.connected = lambda match, _, node=node: node.accept(match)
        node.host_wanted.connected = lambda match, node=node: node.host_at(match, "10.0.0.1:7777")
    code = f"GAME{len(lost)}"
    async with asyncio.timeout(GIVE_UP):
        await asyncio.gather(*(node.find(code) for node in nodes))
    return nodes


@pytest.mark.parametrize(
    "lost",
    [
        None,
        ("POST", "/v1/tickets", False),
        ("POST", "/v1/tickets", True),
        ("GET", "/v1/tickets/", True),
        ("GET", "/v1/matches/", False),
        ("POST", "/v1/matches/", True),
        ("PUT", "/v1/matches/", True),
    ],
)
def test_two_play_although_a_request_of_both_is_lost(
    server: Server, lost: tuple[str, str, bool] | None
) -> None:
    nodes = asyncio.run(played(server, lost, lost))
    assert [node.assigned.emitted for node in nodes] == [[("10.0.0.1:7777",)]] * 2
    assert sum(len(node.host_wanted.emitted) for node in nodes) == 1
    assert [node.ended.emitted for node in nodes] == [[], []]
    for node in nodes:
        found = server.call(
            "GET", "/v1/tickets", headers={"authorization": f"Bearer {node._token}"}
        )
        assert [each["state"] for each in found.body] == ["assigned"]


# The script itself, and what it does with answers that few servers give.


class Stub:
    """A node of the script whose requests a test answers.

    Args:
        server: Gives the node its address; it is not asked.
        answers: An answer by the name of its route: a status, and what it says; or a coroutine
            that returns them, given the names in the path and the body.
        retry_after: What each answer says of when to ask again.
    """

    def __init__(self, server: Server, answers: dict[str, Any], retry_after: float = 0.0) -> None:
        self.node = script_on(server, {}, Connection(server))
        self.node._send = self._send
        self.node._pause = self._pause
        self.asked: list[str] = []
        self.keys: list[str] = []
        self.pauses: list[float] = []
        self._answers = {"guest": (201, {"player": "ada", "token": "t"}), **answers}
        self._retry_after = retry_after

    async def _send(self, route: str, names: list[str], body: Any, key: str) -> dict[str, Any]:
        await asyncio.sleep(0)
        self.asked.append(" ".join([route, *names[:1]]))
        self.keys.append(key)
        answer = self._answers[route]
        status, says = answer if isinstance(answer, tuple) else await answer(names, body)
        asks = self._retry_after if status >= 400 else 0.0
        return {"status": status, "retry_after": asks, "says": says}

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("status", "says", "reason"),
    [
        (503, {}, "unreachable"),
        (429, {"error": "too_many_requests"}, "too_many_requests"),
    ],
)
def test_player_is_told_of_a_server_that_is_away_for_long(
    server: Server, status: int, says: dict[str, Any], reason: str
) -> None:
    stub = Stub(server, {"create": (status, says)}, retry_after=3600.0)
    asyncio.run(stub.node.find())
    assert stub.node.ended.emitted == [(reason,)]
    assert (stub.asked, stub.pauses) == (["guest", "create"], [])


def test_short_pause_that_a_server_asks_for_is_kept(server: Server) -> None:
    stub = Stub(server, {"create": (503, {"error": "unavailable"})}, retry_after=60.0)
    asyncio.run(stub.node.find())
    assert stub.asked.count("create") == 5
    assert all(60.0 <= each <= 63.0 for each in stub.pauses)
    assert stub.node.ended.emitted == [("unavailable",)]


def test_ticket_that_waits_is_asked_after_each_minute_however_long_a_server_is_away(
    server: Server,
) -> None:
    polls = [(503, {})] * 7 + [(200, {"state": "cancelled", "reason": "deadline", "match": None})]

    async def poll(_names: list[str], _body: Any) -> tuple[int, dict[str, Any]]:
        return polls.pop(0)

    stub = Stub(server, {"create": (201, {"id": "s0-1"}), "poll": poll}, retry_after=3600.0)
    asyncio.run(stub.node.find())
    assert max(stub.pauses) <= 63.0
    assert stub.node.ended.emitted == [("deadline",)]


@pytest.mark.parametrize(
    ("status", "error"), [(503, "paused"), (501, "not_supported"), (500, "internal")]
)
def test_what_will_not_pass_is_asked_once_and_told(server: Server, status: int, error: str) -> None:
    stub = Stub(server, {"create": (status, {"error": error})}, retry_after=1.0)
    asyncio.run(stub.node.find())
    assert stub.node.ended.emitted == [(error,)]
    assert stub.asked == ["guest", "create"]
