"""A small game without a backend: the steps of examples/godot/matchmaking.gd, on its server.

No Godot runs here. The routes come out of the script, so that it cannot drift from what is tested,
and `tests.integration.godot` runs the script itself where requests are lost.
"""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
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
    assert SCRIPT.count("\n") <= 180
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
        self.asked.append(" ".join([route, *names[:1]]))
        self.keys.append(key)
        await asyncio.sleep(0)
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


class Tickets:
    """Tickets of one player, on a server that tells of their ends when a test lets it."""

    def __init__(self, server: Server) -> None:
        self.states: dict[str, str] = {}
        self.may_create = asyncio.Event()
        self.may_poll = asyncio.Event()
        self.stub = Stub(
            server,
            {
                "create": self._create,
                "poll": self._poll,
                "cancel": self._cancel,
                "match": (200, {"players": [], "hosts": ["ada"]}),
            },
        )
        self.node = self.stub.node

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(GIVE_UP):
            while not is_so():
                await asyncio.sleep(0)

    async def waits(self, ticket: str) -> None:
        """Return when a ticket is there and the node has asked for it."""
        await self.until(lambda: f"poll {ticket}" in self.stub.asked)

    async def _create(self, _names: list[str], _body: Any) -> tuple[int, dict[str, Any]]:
        # As the server: one ticket that waits for a player, whatever the key.
        live = [each for each, state in self.states.items() if state == "waiting"]
        ticket = live[0] if live else f"s0-{len(self.states) + 1}"
        self.states[ticket] = "waiting"
        await self.may_create.wait()
        return 201, {"id": ticket}

    async def _cancel(self, names: list[str], _body: Any) -> tuple[int, dict[str, Any]]:
        if self.states[names[0]] == "matched":
            return 409, {"error": "too_late"}
        self.states[names[0]] = "cancelled"
        return 200, {"state": "cancelled"}

    async def _poll(self, names: list[str], _body: Any) -> tuple[int, dict[str, Any]]:
        await self.may_poll.wait()
        state = self.states[names[0]]
        match = "s0-m1" if state == "matched" else None
        return 200, {"state": state, "reason": "player", "match": match}


def test_old_search_that_hears_late_of_its_end_leaves_the_new_one_alone(server: Server) -> None:
    async def play() -> None:
        tickets = Tickets(server)
        tickets.may_create.set()
        node = tickets.node
        old = asyncio.create_task(node.find())
        await tickets.waits("s0-1")
        await node.cancel()
        new = asyncio.create_task(node.find())
        await tickets.waits("s0-2")
        tickets.may_poll.set()
        await old
        assert node.ended.emitted == []
        tickets.states["s0-2"] = "matched"
        await tickets.until(lambda: bool(node.host_wanted.emitted))
        assert not new.done()
        new.cancel()

    asyncio.run(play())


def test_cancel_while_a_ticket_is_on_its_way_takes_it_back(server: Server) -> None:
    async def play() -> None:
        tickets = Tickets(server)
        node = tickets.node
        search = asyncio.create_task(node.find())
        await tickets.until(lambda: "create" in tickets.stub.asked)
        await node.cancel()
        assert node.ended.emitted == [("player",)]
        tickets.may_create.set()
        await search
        assert tickets.states == {"s0-1": "cancelled"}
        assert node.ended.emitted == [("player",)]

    asyncio.run(play())


def test_cancel_while_the_player_signs_in_asks_for_no_ticket(server: Server) -> None:
    async def play() -> None:
        tickets = Tickets(server)
        search = asyncio.create_task(tickets.node.find())
        await tickets.until(lambda: "guest" in tickets.stub.asked)
        await tickets.node.cancel()
        await search
        assert tickets.stub.asked == ["guest"]
        assert tickets.node.ended.emitted == [("player",)]

    asyncio.run(play())


def test_new_search_waits_until_the_ticket_of_the_cancelled_one_is_taken_back(
    server: Server,
) -> None:
    async def play() -> None:
        tickets = Tickets(server)
        node = tickets.node
        old = asyncio.create_task(node.find())
        await tickets.until(lambda: "create" in tickets.stub.asked)
        await node.cancel()
        new = asyncio.create_task(node.find())
        await tickets.until(lambda: bool(tickets.stub.pauses))
        tickets.may_create.set()
        await old
        await tickets.waits("s0-2")
        assert tickets.states == {"s0-1": "cancelled", "s0-2": "waiting"}
        new.cancel()

    asyncio.run(play())


def test_second_search_takes_the_place_of_the_first(server: Server) -> None:
    async def play() -> None:
        tickets = Tickets(server)
        tickets.may_create.set()
        tickets.may_poll.set()
        node = tickets.node
        first = asyncio.create_task(node.find("FROG"))
        await tickets.waits("s0-1")
        second = asyncio.create_task(node.find("TOAD"))
        await tickets.waits("s0-2")
        await first
        assert tickets.states == {"s0-1": "cancelled", "s0-2": "waiting"}
        tickets.states["s0-2"] = "matched"
        asked = len(tickets.stub.asked)
        await tickets.until(lambda: len(tickets.stub.asked) > asked + 5)
        assert node.host_wanted.emitted == [("s0-m1",)]
        second.cancel()

    asyncio.run(play())


def test_player_who_searches_again_too_late_is_brought_to_the_match(server: Server) -> None:
    there = {"state": "assigned", "match": "s0-m1", "assignment": {"connection": "10.0.0.1"}}
    stub = Stub(
        server,
        {
            "cancel": (409, {"error": "too_late"}),
            "create": (409, {"error": "already_waiting", "ticket": "s0-1", "match": "s0-m1"}),
            "poll": (200, there),
        },
    )
    stub.node._ticket = "s0-1"
    asyncio.run(stub.node.find())
    assert stub.node.assigned.emitted == [("10.0.0.1",)]


def test_player_is_told_of_a_token_that_ends_while_a_ticket_waits(server: Server) -> None:
    refused = (401, {"error": "unauthenticated"})
    stub = Stub(server, {"create": (201, {"id": "s0-1"}), "poll": refused})

    async def play() -> None:
        async with asyncio.timeout(GIVE_UP):
            await stub.node.find()

    asyncio.run(play())
    assert stub.node.ended.emitted == [("unauthenticated",)]


def test_no_two_creates_have_one_key_though_a_game_seeds_its_chance(server: Server) -> None:
    # seed(42) in a game makes randi() the same in each session; a key must not be.
    assert "randi" not in SCRIPT
    stubs = [Stub(server, {"create": (503, {})}) for _ in range(2)]
    for stub in stubs:
        asyncio.run(stub.node.find())
    keys = [
        [key for key, asked in zip(stub.keys, stub.asked, strict=True) if asked == "create"]
        for stub in stubs
    ]
    assert [len(set(each)) for each in keys] == [1, 1]
    assert keys[0] != keys[1]
