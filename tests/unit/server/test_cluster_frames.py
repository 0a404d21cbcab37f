"""Frames between nodes: many requests over one connection, in any order of answers."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, cast

import pytest

from evenmatch.server.cluster import frames, peers
from evenmatch.server.cluster.frames import (
    MAGIC,
    UNHEARD_SECONDS,
    WELCOME,
    AnswerFrame,
    FrameLink,
    FrameServer,
    RequestFrame,
)
from evenmatch.server.cluster.identity import NodeIdentity
from evenmatch.server.cluster.peers import Peers
from tests.waiting import turns, until

HEADERS = [(b"idempotency-key", b"k1"), (b"x", b"\xff")]
SCOPE: dict[str, Any] = {
    "method": "PUT",
    "path": "/v1/matches/s0-m1/assignment",
    "headers": HEADERS,
    "client": ("10.0.0.1", 7),
}


class Door(asyncio.Protocol):
    """Lets another node in, as the server's protocol of HTTP does."""

    def __init__(self, server: FrameServer, welcome: bytes = WELCOME) -> None:
        self._server = server
        self._welcome = welcome

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        assert data.startswith(MAGIC)
        self._transport.set_protocol(self._server)
        self._server.connection_made(self._transport)
        # In two parts, as a network may bring it.
        self._transport.write(self._welcome[:2])
        self._transport.write(self._welcome[2:])


def play(
    answer: Callable[[RequestFrame, FrameServer], None],
    scene: Callable[[FrameLink, FrameServer], Awaitable[None]],
    welcome: bytes = WELCOME,
) -> bool:
    """Run a scene between two ends; return whether the link was opened."""

    async def main() -> bool:
        async with asyncio.timeout(20.0):
            server = FrameServer(answer)
            loop = asyncio.get_running_loop()
            listening = await loop.create_server(lambda: Door(server, welcome), "127.0.0.1", 0)
            place = listening.sockets[0].getsockname()
            link = await FrameLink.open(place[:2], b"signed")
            if link is not None:
                await scene(link, server)
                link.close()
            listening.close()
            return link is not None

    return asyncio.run(main())


def test_answers_find_their_requests_in_whatever_order_they_come() -> None:
    asked: list[RequestFrame] = []
    told: dict[int, AnswerFrame | None] = {}

    def answer(ask: RequestFrame, server: FrameServer) -> None:
        asked.append(ask)
        if len(asked) == 100:
            for each in reversed(asked):
                headers = None if each.number % 2 else [(b"a", b"b")]
                server.reply(AnswerFrame(each.number, 201, each.body * 2, headers))

    async def scene(link: FrameLink, server: FrameServer) -> None:
        del server
        for number in range(1, 101):
            link.send_request(
                "/s0", SCOPE, b"%d" % number, lambda told_, n=number: told.update({n: told_})
            )
        await until(lambda: len(told) == 100)

    assert play(answer, scene)
    assert [(each.about, each.client, each.method, each.path, each.headers) for each in asked] == [
        ("/s0", "10.0.0.1", "PUT", SCOPE["path"], HEADERS)
    ] * 100
    for number, each in told.items():
        assert each is not None
        assert (each.status, each.body) == (201, b"%d" % number * 2)
        assert each.headers == (None if each.number % 2 else [(b"a", b"b")])


def test_either_end_notices_that_the_other_machine_is_gone() -> None:
    async def scene(link: FrameLink, server: FrameServer) -> None:
        for end in (link, server):
            own = end._transport.get_extra_info("socket")
            assert own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            unheard = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            assert unheard == UNHEARD_SECONDS * 1_000

    assert play(lambda ask, server: None, scene)


def test_frame_larger_than_a_read_of_the_socket_comes_whole() -> None:
    told: list[AnswerFrame | None] = []
    body = bytes(range(256)) * 8_000

    async def scene(link: FrameLink, server: FrameServer) -> None:
        del server
        link.send_request("", SCOPE, body, told.append)
        await until(lambda: bool(told))

    assert play(lambda ask, server: server.reply(AnswerFrame(ask.number, 200, ask.body)), scene)
    assert told[0] is not None
    assert told[0].body == body


def test_requests_of_a_connection_that_ends_are_not_known_to_be_done() -> None:
    told: list[AnswerFrame | None] = []

    async def scene(link: FrameLink, server: FrameServer) -> None:
        for _ in range(3):
            link.send_request("", SCOPE, b"", told.append)
        server.close()
        await until(lambda: len(told) == 3)
        assert link.is_lost
        assert not link.is_free

    assert play(lambda ask, server: None, scene)
    assert told == [None] * 3


def test_caller_that_fails_leaves_no_other_without_an_answer() -> None:
    told: list[AnswerFrame | None] = []

    def fails(answer: AnswerFrame | None) -> None:
        raise RuntimeError("unforeseen")

    async def scene(link: FrameLink, server: FrameServer) -> None:
        for done in (fails, told.append):
            link.send_request("", SCOPE, b"1", done)
        await until(lambda: len(told) == 1)
        for done in (fails, told.append):
            link.send_request("", SCOPE, b"2", done)
        server.close()
        await until(lambda: len(told) == 2)

    def answer(ask: RequestFrame, server: FrameServer) -> None:
        if ask.body == b"1":
            server.reply(AnswerFrame(ask.number, 200, b""))

    assert play(answer, scene)
    assert [each is not None for each in told] == [True, False]


def test_request_that_nobody_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "SWEEP_EVERY", 0.01)
    monkeypatch.setattr(frames, "ANSWER_SECONDS", 0.05)
    told: list[AnswerFrame | None] = []

    async def scene(link: FrameLink, server: FrameServer) -> None:
        del server
        link.send_request("", SCOPE, b"", told.append)
        await until(lambda: bool(told))
        assert link.is_free

    assert play(lambda ask, server: None, scene)
    assert told == [None]


def test_link_takes_so_many_requests_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "PENDING_MAX", 2)

    async def scene(link: FrameLink, server: FrameServer) -> None:
        del server
        link.send_request("", SCOPE, b"", lambda told: None)
        assert link.is_free
        link.send_request("", SCOPE, b"", lambda told: None)
        assert not link.is_free

    assert play(lambda ask, server: None, scene)


def test_server_that_knows_no_frames_gets_none() -> None:
    async def scene(link: FrameLink, server: FrameServer) -> None:
        raise AssertionError

    assert not play(lambda ask, server: None, scene, b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_frames_that_make_no_sense_end_the_connection() -> None:
    async def scene(link: FrameLink, server: FrameServer) -> None:
        link._transport.write((3).to_bytes(4, "big") + b"abc")
        await until(lambda: server.is_lost)

    assert play(lambda ask, server: None, scene)

    async def huge(link: FrameLink, server: FrameServer) -> None:
        link._transport.write((2**31).to_bytes(4, "big"))
        await until(lambda: server.is_lost)

    assert play(lambda ask, server: None, huge)


def test_connection_is_not_opened_twice_though_the_owner_is_slow_to_welcome_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peers, "LINK_AGAIN", 0.0)

    async def main() -> None:
        let_in = asyncio.Event()
        came: list[asyncio.Task[Any]] = []

        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            came.append(cast(Any, asyncio.current_task()))
            await reader.readuntil(b"\r\n\r\n")
            await let_in.wait()
            writer.write(WELCOME)
            await reader.read()
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(slow, "127.0.0.1", 0)
        place = server.sockets[0].getsockname()[:2]
        others = Peers(NodeIdentity("a", "127.0.0.1:1", b"0123456789abcdef", "00"), dict)
        async with asyncio.timeout(20.0):
            assert others.link(place) is None
            await until(lambda: came, "the connection")
            for _ in range(5):
                assert others.link(place) is None
                await turns()
            let_in.set()
            await until(lambda: others.link(place) is not None, "the welcome")
            assert len(came) == 1
            await others.stop()
            server.close()
            await asyncio.gather(*came)

    asyncio.run(main())


def test_connection_that_is_given_up_before_its_welcome_is_closed() -> None:
    async def main() -> None:
        came: list[asyncio.Task[Any]] = []

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            came.append(cast(Any, asyncio.current_task()))
            with suppress(ConnectionError):
                await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        place = server.sockets[0].getsockname()[:2]
        others = Peers(NodeIdentity("a", "127.0.0.1:1", b"0123456789abcdef", "00"), dict)
        async with asyncio.timeout(20.0):
            assert others.link(place) is None
            await until(lambda: came, "the connection")
            await others.stop()
            await asyncio.gather(*came)
        server.close()

    asyncio.run(main())
