"""A node of a cluster, in front of games that do what a test says."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
import structlog

from evenmatch.config.server import ServerLimits, ServerSettings
from evenmatch.errors import InvalidTicket, JournalUnavailable, MatchmakingError
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.queue import Queue
from evenmatch.model.shards import ShardPart, shards_of
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.principal import NOBODY
from evenmatch.server.cluster import direct_routing
from evenmatch.server.cluster.ask_shards import Serve, whole_answer
from evenmatch.server.cluster.direct_routing import (
    DirectRouter,
    FrameResponder,
    LocalRoute,
    _Whole,
    hand_in,
)
from evenmatch.server.cluster.forwarding import FORWARDED, Peer
from evenmatch.server.cluster.frames import AnswerFrame, RequestFrame
from evenmatch.server.cluster.greetings import digest_of
from evenmatch.server.cluster.handover import Handover
from evenmatch.server.cluster.identity import NodeIdentity
from evenmatch.server.cluster.node import Node
from evenmatch.server.cluster.node_metrics import NodeMetrics
from evenmatch.server.cluster.peer_calls import (
    FINISH_PATH,
    GREETED,
    NODE_PATHS,
    OTHER_CLUSTER,
    PREPARE_PATH,
    STATUS_PATH,
    KeptConnections,
    NodeStatus,
    PeerAnswer,
)
from evenmatch.server.cluster.plans import GamePlan
from evenmatch.server.cluster.router import GameRouter
from evenmatch.server.cluster.seat import Seat, SeatPlan, ShardDrain
from evenmatch.server.cluster.sharded_sockets import ManySockets
from evenmatch.server.cluster.socket_relay import relay
from evenmatch.server.cluster.tenants import Tenants
from evenmatch.server.gamelift.routes import CHANGE, CHANGES, GameLiftRoute
from evenmatch.server.http.app import App
from evenmatch.server.http.direct_requests import DirectRequest
from evenmatch.server.http.responses import (
    BodyTooLarge,
    InvalidRequest,
    answer_of,
    encode,
    read_body,
    send_body,
)
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.lease_keeping import LEASE_OVER, WAS_AWAY, Claim
from evenmatch.server.runtime.logs import log
from evenmatch.wire.tickets import Problem, decode_create
from tests.callers import Site, with_site
from tests.unit.server.test_cluster_seats import PlayedGame
from tests.waiting import turns, until

KEY = b"0123456789abcdef"
CBOR_MARK = ((b"smithy-protocol", b"rpc-v2-cbor"),)
IDENTITY = NodeIdentity("a", "127.0.0.1:1", KEY, "00")


def node(*settings: ServerSettings, journal: MemoryJournal | None = None) -> Node:
    """Return a node with a game of one shard for each of the settings."""
    games, accounts = [], {}
    journal = journal or MemoryJournal()
    for number, each in enumerate(settings or (ServerSettings(),)):
        name = f"game-{number}" if len(settings) > 1 else ""
        start = cast(Callable[[], Games], PlayedGame)
        seat = SeatPlan(name, Claim("s0", IDENTITY.owner, 30.0), journal, start)
        part = ShardPart("s0", ("default",), ("duel",))
        games.append(GamePlan(name, (seat,), (part,), each))
        accounts[name] = Accounts(each)
    return Node(IDENTITY, games, Tenants(accounts))


def with_node(
    scene: Callable[[Node], Awaitable[None]],
    *settings: ServerSettings,
    journal: MemoryJournal | None = None,
) -> None:
    """Let a node live, and play a scene beside it."""

    async def main() -> None:
        running = node(*settings, journal=journal)
        await running.start()
        try:
            await scene(running)
        finally:
            await running.stop()

    asyncio.run(main())


def test_node_that_can_greet_no_others_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_: Any) -> None:
        raise AssertionError("a fault of ours")

    monkeypatch.setattr(Handover, "level", failing)

    async def scene(running: Node) -> None:
        await running.over()
        with pytest.raises(AssertionError, match="a fault of ours"):
            running.check_given_up()

    with_node(scene)


async def asked(
    running: Any, path: str, *, signed: bytes | None = None, body: bytes = b"", **more: Any
) -> Any:
    """Ask a node, and return its whole answer."""
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [] if signed is None else [(FORWARDED, signed)],
        "client": ("10.9.8.7", 5),
        **more,
    }
    return await whole_answer(running, scope, body)


@pytest.mark.parametrize("path", sorted(NODE_PATHS))
def test_what_nodes_ask_each_other_is_not_there_for_clients(path: str) -> None:
    async def scene(running: Node) -> None:
        seat = next(iter(running._seats.values()))
        await until(lambda: seat.present is not None, "the lease")
        assert (await asked(running, path)).status == 404
        assert (await asked(running, path, signed=IDENTITY.sign("10.9.8.7", "/s0"))).status == 503
        note = IDENTITY.sign("1", "" if path == FINISH_PATH else "b/1@h:2", purpose="nodes")
        assert (await asked(running, path, signed=note, method="POST")).status == 200
        # Behind a proxy on the node's own machine every client comes from there.
        assert (await asked(running, path, client=("127.0.0.1", 5))).status == 404
        assert (await asked(running, path, client=None)).status == 404

    with_node(scene)


@pytest.mark.parametrize(
    ("holder", "status", "why"),
    [
        # The same node, before it was started anew: nobody answers at its address.
        ("a/99@127.0.0.1:1", 503, "no node answers now"),
        ("b/99@127.0.0.1:9", 200, "the node that answers cannot be reached"),
    ],
)
def test_node_started_anew_hands_nothing_on_to_its_own_address(
    holder: str, status: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.server.cluster.node.HOLD_SECONDS", 0.01)
    journal = MemoryJournal()
    asyncio.run(journal.lease("s0", holder, 60.0))

    async def scene(running: Node) -> None:
        seat = next(iter(running._seats.values()))
        await until(lambda: seat.holder == holder, "who has the lease")
        assert (running._unready is None) == (status == 200)
        answer = await asked(running, "/v1/tickets/x")
        assert (answer.status, why in answer.body.decode()) == (503, True), answer
        if status == 503:
            assert (await asked(running, "/readyz")).status == 503
            assert running.link_to(seat) is None
            assert not running._peers._peers

    with_node(scene, journal=journal)


def test_node_keeps_no_connections_to_one_that_owns_nothing_any_more() -> None:
    async def scene(running: Node) -> None:
        peer = running._peers.peer(("10.0.0.2", 1))
        await until(lambda: peer._is_closed, "its end")
        assert not running._peers._peers

    with_node(scene)


def test_note_of_a_request_opens_no_connection_for_frames() -> None:
    async def scene(running: Node) -> None:
        assert running.frames(IDENTITY.sign("a", "a")) is None
        assert running.frames(IDENTITY.sign("a", "a", purpose="nodes")) is None
        assert running.frames(IDENTITY.sign("a", "a", purpose="frames")) is not None

    with_node(scene)


def test_direct_creates_take_bodies_up_to_the_most_that_any_game_takes() -> None:
    small, large = (
        ServerSettings(limits=ServerLimits(body_bytes_max=most)) for most in (500, 3_000_000)
    )

    async def scene(running: Node) -> None:
        assert running._front.body_bytes_max == 3_000_000
        most = [each._body_bytes_max for each in running._routers.values()]
        assert most == [500, 3_000_000]
        # Outcomes may be larger than the tickets of a game; a configuration goes the longer way.
        assert list(running._most.values()) == [1_000_000, 3_000_000]

    with_node(scene, small, large)
    with_node(only_outcomes_are_larger, small)


async def only_outcomes_are_larger(running: Node) -> None:
    assert running._front.body_bytes_max == 262_144


@pytest.mark.parametrize(("method", "path"), [("PUT", "/v1/config"), ("POST", "/")])
def test_node_hands_on_what_a_route_takes_though_tickets_are_smaller(
    method: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_on: list[int] = []

    async def answer(self: Peer, scope: Any, receive: Any, send: Any, *more: Any) -> str:
        handed_on.append(len(more[0]))
        await send_body(send, 200, b"")
        return ""

    monkeypatch.setattr(Peer, "answer", answer)
    journal = MemoryJournal()
    asyncio.run(journal.lease("s0", "b/1@127.0.0.1:9", 60.0))

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: bool(seat.holder), "who has the lease")
        whole = await asked(running, path, method=method, body=b"x" * 1_000_000)
        assert (whole.status, handed_on) == (200, [1_000_000])
        assert (await asked(running, path, method=method, body=b"x" * 1_000_001)).status == 413

    with_node(scene, ServerSettings(limits=ServerLimits(body_bytes_max=500)), journal=journal)


def test_request_about_a_match_goes_past_asgi_here_and_in_a_frame_to_its_owner() -> None:
    gate: Any = SimpleNamespace(way_of=lambda scope: scope["path"].endswith("accept") or None)
    link: Any = SimpleNamespace(is_free=True)
    here = SimpleNamespace(present=SimpleNamespace(gate=gate))
    there, nowhere = SimpleNamespace(present=None), SimpleNamespace(present=None)
    seats = {"s0-m1": here, "s1-m1": there, "s2-m1": nowhere}
    routes: Any = SimpleNamespace(
        seat_of_id=lambda scope: seats.get(scope["path"].split("/")[3]),
        link_to=lambda seat: link if seat is there else None,
    )
    router = DirectRouter(routes, 1_000)

    def way(method: str, path: str) -> Any:
        return router.way_of({"type": "http", "method": method, "path": path, "headers": []})

    # Who asks, the gate of the shard says; a create has its shard looked up first.
    assert isinstance(way("POST", "/v1/matches/s0-m1/accept"), LocalRoute)
    assert way("POST", "/v1/matches/s0-m1/cancel") is None
    assert way("POST", "/v1/matches/s1-m1/accept") is router
    assert way("PUT", "/v1/matches/s1-m1/assignment") is router
    assert way("GET", "/v1/matches/s1-m1/explain") is None
    assert way("POST", "/v1/matches/s2-m1/accept") is None
    assert way("POST", "/v1/queues/duel/pause") is None
    assert way("PUT", "/v1/tickets/") is None
    link.is_free = False
    assert way("POST", "/v1/matches/s1-m1/accept") is None
    create = {"type": "http", "method": "POST", "path": "/v1/tickets", "headers": []}
    assert router.way_of(create) is router
    assert router.let_in(create) is router
    assert create["principal"] is NOBODY


def test_id_in_a_path_says_the_shard_of_a_request() -> None:
    router = game_of_two_shards(nobody_serves, Queue("a"), Queue("b", group="other"))
    seats = list(router._seats)
    first, second = (each.claim.shard for each in seats)
    for kind in ("matches", "tickets", "allocations"):
        assert router.seat_of_id(f"/v1/{kind}/{second}-7/accept") is seats[1]
        assert router.seat_of_id(f"/v1/{kind}/{first}-7/accept") is seats[0]
    assert router.seat_of_id("/v1/matches/chosen/accept") is seats[0]
    for path in ("/v1/queues/a/pause", "/v1/matches", "/", "/dashboard/matches/s0-m1"):
        assert router.seat_of_id(path) is None


async def nobody_serves(seat: Seat, scope: Any, receive: Any, send: Any) -> None:
    del seat, scope, receive, send


JSON_CALL = (b"x-amz-target", b"GameLift.StartMatchmaking")


def game_of_two_shards(
    serve: Serve, *queues: Queue, own: Callable[[Any], frozenset[str]] = lambda _: frozenset()
) -> GameRouter:
    parts = shards_of(queues)
    seats = [
        Seat(
            SeatPlan("", Claim(part.name, "a/1@h:1", 5.0), MemoryJournal(), no_game),
            lambda: 0.0,
            lambda: None,
        )
        for part in parts
    ]
    return GameRouter(seats, parts, serve, 200_000, NodeMetrics("a"), own)


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/", (JSON_CALL,)),
        ("POST", "/", ((b"x-amz-target", b"GameLift.Nothing"),)),
        ("POST", "/", ()),
        ("POST", "/service/GameLift/operation/AcceptMatch", CBOR_MARK),
        ("GET", "/v1/gamelift/events", ()),
        ("GET", "/v1/tickets/aws:t-1", ()),
        ("GET", "/v1/tickets/aws:s0.casual-1", ()),
    ],
)
def test_calls_of_gamelift_are_answered_by_the_shard_of_the_default_group(
    method: str, path: str, headers: tuple[tuple[bytes, bytes], ...]
) -> None:
    asked_for: list[str] = []

    async def serve(seat: Seat, scope: Any, receive: Any, send: Any) -> None:
        asked_for.append(seat.claim.shard)
        await send_body(send, 200, b"{}")

    async def main() -> None:
        # The default group is not that of the first queue.
        router = game_of_two_shards(serve, Queue("arena", group="casual"), Queue("duel"))
        assert (await asked(router, path, headers=list(headers), method=method)).status == 200

    asyncio.run(main())
    assert asked_for == ["s0"]


def test_sockets_follow_a_gamelift_ticket_in_the_shard_of_the_default_group() -> None:
    heard: list[str] = []
    ended = asyncio.Event()

    async def serve(seat: Seat, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        heard.append(f"{seat.claim.shard}: {(await receive())['text']}")
        ended.set()

    async def main() -> None:
        router = game_of_two_shards(serve, Queue("arena", group="casual"), Queue("duel"))
        said = iter(
            [
                {"type": "websocket.connect"},
                {"type": "websocket.receive", "text": '{"follow":["aws:t-1"]}'},
            ]
        )

        async def receive() -> Any:
            if (message := next(said, None)) is not None:
                return message
            await ended.wait()
            return {"type": "websocket.disconnect"}

        async def send(message: Any) -> None:
            del message

        scope = {"type": "websocket", "path": "/v1/stream", "headers": [], "query_string": b""}
        async with asyncio.timeout(20.0):
            await router(scope, receive, send)

    asyncio.run(main())
    assert len(heard) == 1
    assert heard[0].startswith("s0: ")
    assert "aws:t-1" in heard[0]


@pytest.mark.parametrize("name", sorted(CHANGES))
@pytest.mark.parametrize("media", ["application/x-amz-json-1.1", "application/cbor"])
def test_calls_that_change_configurations_are_refused_by_a_game_of_several_shards(
    name: str, media: str
) -> None:
    async def serve(*_: Any) -> None:
        raise AssertionError("one shard would have what the others lack")

    async def main() -> None:
        router = game_of_two_shards(serve, Queue("duel"), Queue("arena", group="casual"))
        path, mark = "/", (b"x-amz-target", f"GameLift.{name}".encode())
        if media == "application/cbor":
            path, (mark,) = f"/service/GameLift/operation/{name}", CBOR_MARK
        answer = await asked(router, path, headers=[mark], method="POST")
        assert answer.status == 400
        assert dict(answer.headers)[b"content-type"] == media.encode()
        assert b"InvalidRequestException" in answer.body
        assert b"change [gamelift] in CONFIG on all nodes" in answer.body

    asyncio.run(main())


def test_calls_that_are_refused_are_those_that_need_the_right_to_operate(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        calls = GameLiftRoute(site.parts, site.accounts).calls
        assert {name for name, call in calls.items() if call.rights == CHANGE} == CHANGES

    with_site(tmp_path, scene)


DEEP = b'{"queues":["duel"],"players":[{"id":"a"}],"attributes":{"x":%b%b}}' % (
    b"[" * 50_000,
    b"]" * 50_000,
)


async def decoding(seat: Seat, scope: Any, receive: Any, send: Any) -> None:
    """Read a body as the server of a shard does, which refuses it."""
    del seat, send
    decode_create(await read_body(scope, receive, 200_000))
    raise AssertionError


def test_tickets_nested_too_deeply_are_refused_as_by_a_server_alone() -> None:
    async def main() -> None:
        router = game_of_two_shards(decoding, Queue("duel"), Queue("arena", group="casual"))
        assert router.seat_of_create(DEEP) is router._first
        with pytest.raises((InvalidTicket, InvalidRequest)):
            await asked(router, "/v1/tickets", method="POST", body=DEEP)
        # An array can then not be taken apart.
        other = b'{"queues":["arena"],"players":[{"id":"b"}]}'
        for array in (b"[%b]" % DEEP, b"[%b,%b]" % (other, DEEP), b" " * 70 + b"\n[]"):
            assert router.seat_of_create(array) is None
            with pytest.raises((InvalidTicket, InvalidRequest)):
                await asked(router, "/v1/tickets", method="POST", body=array)

    asyncio.run(main())


def test_message_nested_too_deeply_goes_to_the_shard_that_judges_messages() -> None:
    seats = {"s0": cast(Seat, object()), "s0.casual": cast(Seat, object())}
    sockets = ManySockets(seats, decoding)
    text = '{"follow":' + "[" * 1_500 + "]" * 1_500 + "}"
    message = {"type": "websocket.receive", "text": text}
    assert sockets._parted(message) == {seats["s0"]: message}


@pytest.mark.parametrize("part", ["9" * 4_400, "2", "x", "-1", ""])
def test_part_that_a_queue_has_not_is_refused(part: str) -> None:
    async def main() -> None:
        router = game_of_two_shards(decoding, Queue("duel", split="hash:2"))
        with pytest.raises(InvalidRequest, match="part must be"):
            await asked(router, "/v1/queues/duel", query_string=b"part=" + part.encode())

    asyncio.run(main())


@pytest.mark.parametrize("host", [b"x:99999", b"[", b"a:b"])
def test_socket_whose_host_makes_no_address_is_refused(host: bytes) -> None:
    async def receive() -> Any:
        return {"type": "websocket.connect"}

    scope = {"type": "websocket", "raw_path": b"/v1/stream", "query_string": b""}
    with pytest.raises(InvalidRequest, match="Host"):
        asyncio.run(
            relay(
                {**scope, "headers": [(b"host", host)]},
                receive,
                cast(Any, None),
                ("127.0.0.1", 9),
                "",
            )
        )


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_node_that_fails_at_a_request_says_so_and_serves_on(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    log = SimpleNamespace(error=lambda event, **_: said.append(event))
    monkeypatch.setattr("evenmatch.server.cluster.node.log", log)

    async def failing(*_: Any) -> None:
        raise ZeroDivisionError

    async def main() -> None:
        running = node()
        monkeypatch.setattr(running, "route", failing)
        messages: list[Any] = []

        async def send(message: Any) -> None:
            messages.append(message)

        scope = {"type": kind, "path": "/v1/tickets", "headers": []}
        await running(scope, cast(Any, None), send)
        start, body = messages
        is_socket = kind == "websocket"
        assert start["type"].removeprefix("websocket.") == "http.response.start"
        assert start["type"].startswith("websocket.") == is_socket
        assert start["status"] == 500
        assert msgspec.json.decode(body["body"])["error"] == "internal"

    asyncio.run(main())
    assert said == ["unexpected_error"]


def test_node_that_fails_after_it_began_to_answer_begins_no_other_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise JournalUnavailable("cut off")

    async def main() -> None:
        running = node()
        monkeypatch.setattr(running, "route", failing)
        messages: list[Any] = []

        async def send(message: Any) -> None:
            messages.append(message)

        scope = {"type": "http", "path": "/v1/tickets", "headers": []}
        await running(scope, cast(Any, None), send)
        assert [each["status"] for each in messages] == [200]

    asyncio.run(main())


def no_game() -> Games:
    raise AssertionError


CONNECTION: Any = SimpleNamespace(
    transport=SimpleNamespace(is_closing=lambda: True), on_response_complete=lambda: None
)
"""A connection whose client has left."""


class Takes:
    """A route past ASGI that takes ten bytes and fails by more than five."""

    body_bytes_max = 10
    advice = ""
    stopwatch = staticmethod(lambda: 0.0)

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.refused: list[Exception] = []
        self.failed: list[Exception] = []

    def check(self, scope: Any) -> None:
        del scope

    def take(self, request: Any) -> None:
        if len(request.body) > 5:
            raise RuntimeError("unforeseen")
        self.taken.append(request.body)

    def refuse(self, request: Any, error: MatchmakingError) -> None:
        request.reply(*answer_of(error))
        self.refused.append(error)

    def fail(self, request: Any, error: Exception) -> None:
        request.reply(500, b"", None)
        self.failed.append(error)


def games_with(route: Any, *, is_direct: bool = True) -> Any:
    app = App.__new__(App)
    app.direct = lambda scope: route  # type: ignore[method-assign]
    gate = SimpleNamespace(
        let_in=lambda scope: app, way_of=lambda scope: gate if is_direct else None
    )
    return SimpleNamespace(gate=gate)


def test_route_refuses_and_counts_what_came_in_a_frame_as_what_came_by_http() -> None:
    route, told = Takes(), []
    scope = {"type": "http", "method": "POST", "path": "/v1/tickets", "headers": []}

    def came(size: int) -> _Whole:
        return _Whole(b"x" * size, lambda *answer: told.append(answer), lambda: False, 0.0)

    assert hand_in(games_with(route), scope, came(5))
    assert hand_in(games_with(route), scope, came(11))
    # What nobody foresaw is the answer to this request, and no other notices.
    assert hand_in(games_with(route), scope, came(6))
    assert ([each[0] for each in told], route.taken) == ([413, 500], [b"x" * 5])
    assert [type(each) for each in (*route.refused, *route.failed)] == [BodyTooLarge, RuntimeError]
    assert not hand_in(games_with(route, is_direct=False), scope, came(5))
    assert len(route.taken) == 1


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("where", ["stays", "is back", "is away"])
def test_request_goes_where_its_shard_is_when_its_body_is_whole(
    where: str, shards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere: list[bytes] = []

    async def longer(self: Node, scope: Any, receive: Any, send: Any) -> None:
        del self, scope
        elsewhere.append((await receive())["body"])
        await send_body(send, 200, b"")

    monkeypatch.setattr(Node, "route", longer)
    scope = {"type": "http", "method": "POST", "path": "/v1/matches/s0-m1/accept", "headers": []}

    async def scene(running: Node) -> None:
        seats: list[Any] = list(running._seats.values())
        await until(lambda: all(each.present for each in seats), "the leases")
        before, after = Takes(), Takes()
        seats[0]._games.gate = games_with(before).gate
        way = running.direct_gate.way_of(scope)
        request = DirectRequest(CONNECTION, scope, keep_alive=True)
        request.begin(way)
        request.add(b"{")
        if where != "stays":
            seats[0]._games = PlayedGame() if where == "is back" else None
        if where == "is back":
            seats[0]._games.gate = games_with(after).gate
        request.add(b"}")
        request.complete()
        await turns()
        taken = {"stays": before.taken, "is back": after.taken, "is away": elsewhere}
        assert taken.pop(where) == [b"{}"]
        assert list(taken.values()) == [[], []]

    with_node(scene, *(ServerSettings() for _ in range(shards)))


def test_error_of_the_gate_is_the_answer_to_one_frame_and_is_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Gate:
        def way_of(self, scope: Any) -> Any:
            return self

        def let_in(self, scope: Any) -> Any:
            raise OSError("the audit log cannot be read")

    told: list[AnswerFrame] = []
    seat: Any = SimpleNamespace(present=SimpleNamespace(gate=Gate()))
    server: Any = SimpleNamespace(reply=told.append, is_lost=False)
    frame = RequestFrame(3, "/s0", "", "POST", "/v1/matches/s0-m1/accept", [], b"")
    responder = FrameResponder({"/s0": seat}.get, nobody_serves)  # type: ignore[arg-type]
    logged: list[str] = []
    error = SimpleNamespace(error=lambda event, **about: logged.append(event))
    monkeypatch.setattr(direct_routing, "log", error)
    responder.answer(frame, server)
    assert [(each.number, each.status) for each in told] == [(3, 500)]
    assert logged == ["unexpected_error"]


def test_only_creates_are_told_to_send_fewer_tickets() -> None:
    router = DirectRouter(cast(Any, None), 10)
    for path, advice in (
        ("/v1/tickets", "; send fewer tickets at once"),
        ("/v1/matches/s0-m1/accept", ""),
    ):
        scope = {"type": "http", "path": path, "headers": [(b"content-length", b"11")]}
        with pytest.raises(BodyTooLarge, match=f"at most 10 bytes{advice}$"):
            router.direct(scope).check(scope)


@pytest.mark.parametrize("is_direct", [True, False])
def test_owner_answers_a_frame_by_its_method_and_path_in_one_way_or_the_other(
    is_direct: bool,
) -> None:
    told: list[AnswerFrame] = []
    seen: list[tuple[str, str, str]] = []

    class Answers(Takes):
        def take(self, request: Any) -> None:
            note(request.scope, "short")
            request.reply(200, b"done", None)

    def note(scope: Any, way: str) -> None:
        seen.append((way, scope["method"], scope["path"]))
        assert scope["client"] == ("10.0.0.1", 0)

    async def longer(scope: Any, receive: Any, send: Any, about: str) -> None:
        assert about == "/s0"
        note(scope, "long")
        assert (await receive())["body"] == b"{}"
        await send_body(send, 200, b"done")

    async def scene() -> None:
        seat: Any = SimpleNamespace(present=games_with(Answers(), is_direct=is_direct))
        server: Any = SimpleNamespace(reply=told.append, is_lost=False)
        path = "/v1/matches/s0-m1/assignment"
        frame = RequestFrame(3, "/s0", "10.0.0.1", "PUT", path, [(b"x", b"y")], b"{}")
        FrameResponder({"/s0": seat}.get, longer).answer(frame, server)
        await until(lambda: bool(told), "an answer")
        assert seen == [("short" if is_direct else "long", "PUT", path)]

    asyncio.run(scene())
    assert [(each.number, each.status, each.body) for each in told] == [(3, 200, b"done")]


def test_health_asks_a_shard_that_goes_just_then_once() -> None:
    class Going:
        """A seat that the loop gives up between two looks of another thread."""

        def __init__(self) -> None:
            self._looks = [SimpleNamespace(late=1.5)]

        @property
        def games(self) -> Any:
            return self._looks.pop() if self._looks else None

    async def main() -> None:
        running = node()
        running._seats = {"/s0": cast(Seat, Going())}
        assert running.late == 1.5
        assert running.late == 0.0

    asyncio.run(main())


def test_shard_that_another_node_does_not_take_is_not_offered_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offers: list[str] = []

    async def ask_node(place: Any, method: str, path: str, *_: Any) -> None:
        del place, method
        offers.append(path)

    monkeypatch.setattr("evenmatch.server.cluster.handover.ask_node", ask_node)
    monkeypatch.setattr("evenmatch.server.cluster.handover.CALM_SECONDS", 0.0)

    async def scene(running: Node) -> None:
        first, second = running._seats.values()
        await until(lambda: first.present is not None and second.present is not None, "leases")
        offers.clear()
        for _ in range(5):
            running._members.hear("b/1@127.0.0.1:2", 0)
            await running._handover.level(running._held)
        # Each shard once; the first refusal keeps nobody from offering the other one.
        assert offers == [PREPARE_PATH] * 2
        games = [cast(Any, seat.games) for seat in (first, second)]
        assert [game.saved for game in games] == [1, 1]
        # The same node, started anew.
        running._members.hear("b/2@127.0.0.1:2", 0)
        await running._handover.level(running._held)
        assert len(offers) == 3

    with_node(scene, ServerSettings(), ServerSettings())


def test_node_that_refuses_every_shard_keeps_no_other_from_getting_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_of: list[Any] = []

    async def ask_node(place: Any, *_: Any) -> None:
        asked_of.append(place)

    monkeypatch.setattr("evenmatch.server.cluster.handover.ask_node", ask_node)
    monkeypatch.setattr("evenmatch.server.cluster.handover.CALM_SECONDS", 0.0)

    async def scene(running: Node) -> None:
        seats = list(running._seats.values())
        await until(lambda: all(seat.present is not None for seat in seats), "leases")
        for _ in range(4):
            running._members.hear("b/1@127.0.0.1:2", 0)
            running._members.hear("c/1@127.0.0.1:3", 0)
            await running._handover.level(running._held)
        assert asked_of == [("127.0.0.1", port) for port in (2, 2, 3, 3)]

    with_node(scene, ServerSettings(), ServerSettings())


def test_queues_by_other_rules_are_another_config() -> None:
    def configured(queue: Queue) -> str:
        seat = SeatPlan("", Claim("s0", IDENTITY.owner, 30.0), MemoryJournal(), no_game)
        part = ShardPart("s0", ("default",), ("duel",))
        plan = GamePlan("", (seat,), (part,), ServerSettings(), (queue,))
        tenants = Tenants({"": Accounts(ServerSettings())})
        return Node(IDENTITY, [plan], tenants)._greetings.configured

    first = configured(Queue("duel", policy="greedy"))
    assert configured(Queue("duel", policy="greedy")) == first
    assert configured(Queue("duel", policy="window:limit=100")) != first


def test_node_that_reads_its_files_anew_says_what_they_say_now() -> None:
    async def scene(running: Node) -> None:
        before = running._greetings.configured
        (plan,) = running._games
        other = msgspec.structs.replace(plan, queues=(Queue("duel", policy="window:limit=9"),))
        running._games = [other]
        await running.reload()
        assert running.status.configured == digest_of([other]) != before

    with_node(scene)


def test_node_that_leaves_asks_for_no_shard_even_if_somebody_waits_for_it() -> None:
    asks: list[str] = []

    class Counted(MemoryJournal):
        async def lease(self, shard: str, owner: str, ttl: float) -> int:
            asks.append(owner)
            return await super().lease(shard, owner, ttl)

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.holder == "b/1@127.0.0.1:9", "who has the lease")
        await running.leave()
        asks.clear()
        clock = asyncio.get_running_loop().time
        assert not await seat.moved(seat.holder, clock() + 0.01)
        await turns()
        assert asks == []

    journal = Counted()
    asyncio.run(journal.lease("s0", "b/1@127.0.0.1:9", 60.0))
    with_node(scene, journal=journal)


def test_node_that_leaves_waits_for_a_hand_over_under_way() -> None:
    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.present is not None, "the lease")
        is_saved = asyncio.Event()

        async def stop(**_: Any) -> None:
            await is_saved.wait()

        cast(Any, seat.games).stop = stop
        handing = asyncio.create_task(seat.hand_over("b/1@127.0.0.1:2"))
        leaving = asyncio.create_task(running.leave())
        await turns()
        assert not leaving.done()
        is_saved.set()
        await leaving
        assert await handing

    with_node(scene)


def status_of(name: str, **more: Any) -> NodeStatus:
    """Return what another node says that holds no shard."""
    return NodeStatus(name, "standing_by", "", "", 30.0, owns_as=f"{name}/1@127.0.0.1:2", **more)


def greeted_by(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], PeerAnswer | None]) -> None:
    """Let every other node answer that way, each second a hundred times."""

    async def status_of(*_: Any) -> PeerAnswer | None:
        return answer()

    module = "evenmatch.server.cluster"
    monkeypatch.setattr(KeptConnections, "status_of", status_of)
    monkeypatch.setattr(f"{module}.node.HELLO_EVERY", 0.01)


def test_node_whose_key_differs_is_not_ready_and_asks_for_no_shard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal = MemoryJournal()
    asyncio.run(journal.lease("s0", "b/1@127.0.0.1:2", 60.0))
    refusal = PeerAnswer(503, encode(Problem(OTHER_CLUSTER, "another key")))
    answers = [refusal]
    greeted_by(monkeypatch, lambda: answers[-1])
    told = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: running._greetings.is_estranged, "the refusal")
        ready = await asked(running, "/readyz")
        assert ready.status == 503
        assert b"the same cluster key" in ready.body
        await journal.lease("s0", "b/1@127.0.0.1:2", 0.001)
        await asyncio.sleep(0.5)
        assert seat.present is None, "it took a shard that nobody could reach through it"
        answers.append(PeerAnswer(200, encode(status_of("b"))))
        await until(lambda: not running._greetings.is_estranged, "a greeting")
        await until(lambda: seat.present is not None, "the lease")
        assert running._unready is None

    with_node(scene, journal=journal)
    assert told.getvalue().count("node_refused") == 1
    assert told.getvalue().count("node_greeted") == 1


@pytest.mark.parametrize(("where", "keeps"), [("greeted", False), ("", True)])
def test_node_that_no_other_greets_gives_its_shards_up_to_those_that_greet_each_other(
    monkeypatch: pytest.MonkeyPatch, where: str, *, keeps: bool
) -> None:
    monkeypatch.setattr("evenmatch.server.cluster.greetings.ALIVE_SECONDS", 0.05)
    other, answers = "b/1@127.0.0.1:2", list[PeerAnswer | None]([None])
    greeted_by(monkeypatch, lambda: answers[-1])

    async def scene(running: Node) -> None:
        (seat,), greetings = running._seats.values(), running._greetings
        await until(lambda: seat.present is not None, "the lease")
        answers.append(PeerAnswer(503, encode(Problem(OTHER_CLUSTER, "another clock", where))))
        # It knows the other one as the owner of another shard.
        monkeypatch.setattr(greetings, "greet", lambda held: greetings.hello(other, held))
        await until(lambda: greetings.is_estranged, "the refusal")
        if keeps:
            await asyncio.sleep(0.2)
            assert seat.present is not None, "nobody can say which of two is right"
            assert running._unready is None
            return
        await until(lambda: seat.present is None, "the end of its shard")
        assert (await asked(running, "/readyz")).status == 503
        answers.append(PeerAnswer(200, encode(status_of("b"))))
        await until(lambda: seat.present is not None, "the lease, after a greeting")

    with_node(scene)


def test_owner_that_refuses_a_node_says_whether_others_greet_it() -> None:
    stranger = NodeIdentity("b", "127.0.0.1:2", b"another secret of a cluster", "00")

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.present is not None, "the lease")
        signed = stranger.sign("0", stranger.owner, purpose="nodes")
        assert (await asked(running, STATUS_PATH, signed=signed)).value()["where"] == ""
        running._members.hear("c/1@127.0.0.1:3", 0)
        assert (await asked(running, STATUS_PATH, signed=signed)).value()["where"] == GREETED

    with_node(scene)


def test_node_that_was_refused_takes_part_once_its_refuser_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evenmatch.server.cluster.greetings.ESTRANGED_LEASES", 0.02)
    journal = MemoryJournal()
    asyncio.run(journal.lease("s0", "b/1@127.0.0.1:2", 60.0))
    answers: list[PeerAnswer | None] = [PeerAnswer(503, encode(Problem(OTHER_CLUSTER, "")))]
    greeted_by(monkeypatch, lambda: answers[-1])

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: running._greetings.is_estranged, "the refusal")
        answers.append(None)
        await journal.lease("s0", "b/1@127.0.0.1:2", 0.001)
        await until(lambda: seat.present is not None, "the lease")
        # Files that are read anew may have mended it, too.
        answers.append(answers[0])
        running._greetings._be_refused("b/1@127.0.0.1:2", 0, is_odd=False)
        assert running._greetings.is_estranged
        running._greetings.forgive()
        assert not running._greetings.is_estranged

    with_node(scene, journal=journal)


def test_node_refuses_a_stranger_with_a_code_and_tells_of_it_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))
    stranger = NodeIdentity("b", "127.0.0.1:2", b"another secret of a cluster", "00")

    async def scene(running: Node) -> None:
        # Any client may send such a header.
        for nonsense in (b"x", b"", b"a b c 1 d", b"\xff" * 300):
            assert (await asked(running, "/v1/queues", signed=nonsense)).status == 503
        assert told.getvalue().count("other_node_refused") == 0
        signed = stranger.sign("0", stranger.owner, purpose="nodes")
        answer = await asked(running, STATUS_PATH, signed=signed)
        # Two that have nothing must not keep each other from taking part.
        assert (answer.status, answer.value()["error"]) == (503, "unavailable")
        assert told.getvalue().count("other_node_refused") == 1
        (seat,) = running._seats.values()
        await until(lambda: seat.present is not None, "the lease")
        for _ in range(3):
            answer = await asked(running, STATUS_PATH, signed=signed)
            assert (answer.status, answer.value()["error"]) == (503, OTHER_CLUSTER)
        answer = await asked(running, "/v1/queues", signed=stranger.sign("1.2.3.4", "/s0"))
        assert answer.status == 503
        assert "cluster key" in answer.value()["message"]

    with_node(scene)
    assert told.getvalue().count("other_node_refused") == 1


@pytest.mark.parametrize(
    ("configured", "count"),
    [(digest_of([]), 1), ("0.0.1:abc", 0), ("", 0), (None, 0)],
)
def test_node_of_another_config_is_named_once(
    configured: str | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))

    async def scene(running: Node) -> None:
        theirs = running._greetings.configured if configured is None else configured
        for _ in range(3):
            running._greetings._hear(status_of("b", configured=theirs), 0)

    with_node(scene)
    assert told.getvalue().count("node_has_another_config") == count


def test_node_ends_only_when_the_shards_of_all_nodes_have_drained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal = MemoryJournal()
    other = "b/1@127.0.0.1:2"
    asyncio.run(journal.lease("s1", other, 60.0))
    drains: list[ShardDrain] = []
    greeted_by(monkeypatch, lambda: PeerAnswer(200, encode(status_of("b", drains=tuple(drains)))))

    async def main() -> None:
        start = cast(Callable[[], Games], PlayedGame)
        seats = [SeatPlan("", Claim(name, IDENTITY.owner, 30.0), journal, start) for name in SHARDS]
        parts = [ShardPart(name, (name,), (name,)) for name in SHARDS]
        plan = GamePlan("", tuple(seats), tuple(parts), ServerSettings())
        running = Node(IDENTITY, [plan], Tenants({"": Accounts(ServerSettings())}))
        await running.start()
        first, second = running._seats.values()
        await until(lambda: first.present is not None and second.holder == other, "the leases")
        game = cast(Any, first.games)
        game.drain_left, game.is_drained = 0.0, True
        drains.append(ShardDrain("/s1", 60.0, False))
        await asyncio.sleep(0.2)
        assert not running._ended.is_set(), "somebody still waits at the other node"
        drains[:] = [ShardDrain("/s1", 30.0, True)]
        await running.over()
        # It gives nothing to a node that would take tickets for it again.
        await running.leave()
        assert first.present is not None
        await running.stop()

    asyncio.run(main())


SHARDS = ("s0", "s1")


def test_requests_say_that_the_journal_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenmatch.server.cluster.node.HOLD_SECONDS", 0.01)

    class Away(MemoryJournal):
        is_away = True

        async def lease(self, shard: str, owner: str, ttl: float) -> int:
            if self.is_away:
                raise JournalUnavailable("nobody answers at postgresql://secret.example")
            return await super().lease(shard, owner, ttl)

    journal = Away()

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.is_cut_off, "the outage")
        # Only those who have the cluster's key are told the cause.
        why = "nobody answers at postgresql://secret.example"
        assert running.status.problem == f"it cannot use the journal of s0: {why}"
        for path in ("/v1/tickets/s0-1", "/readyz"):
            answer = await asked(running, path)
            assert answer.status == 503
            assert b"the journal cannot be used" in answer.body
            assert b"secret.example" not in answer.body
        journal.is_away = False
        await until(lambda: seat.present is not None, "the lease")
        assert running.status.problem == ""

    with_node(scene, journal=journal)


@pytest.mark.parametrize(
    ("refusal", "words"),
    [(LEASE_OVER, b"the journal cannot be used"), (WAS_AWAY, b"this node was away")],
)
def test_node_whose_lease_is_over_says_why_and_no_more_than_it_knows(
    refusal: str, words: bytes
) -> None:
    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.present is not None, "the lease")
        game = cast(Any, seat.games)
        game.may_answer, game.services[0].runtime.refusal = False, refusal
        signed = IDENTITY.sign("10.9.8.7", "/s0")
        for path, note in (("/v1/tickets/s0-1", None), ("/v1/queues", signed), ("/readyz", None)):
            answer = await asked(running, path, signed=note)
            assert answer.status == 503
            assert words in answer.body

    with_node(scene)


def test_node_of_the_same_name_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))

    async def scene(running: Node) -> None:
        for _ in range(3):
            running._greetings._hear(status_of("a"), 0)
            running._greetings._hear(status_of("b"), 0)

    with_node(scene)
    assert told.getvalue().count("node_name_is_taken") == 1
    assert "127.0.0.1:2" in told.getvalue()
