"""Nodes ask each other for their status over connections that they keep."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from evenmatch.server.cluster import peer_calls
from evenmatch.server.cluster.peer_calls import KeptConnections, PeerAnswer, Place

HOST = "127.0.0.1"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
GOOD = PeerAnswer(200, b"{}")


class Other:
    """A node that answers so many times over each connection, and then closes it."""

    def __init__(self, times: int, answer: bytes = ANSWER) -> None:
        self.times = times
        self.answer = answer
        self.connections = self.asked = self.ended = 0

    async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        try:
            for _ in range(self.times):
                await reader.readuntil(b"\r\n\r\n")
                self.asked += 1
                writer.write(self.answer)
            await reader.read(1)
        except asyncio.IncompleteReadError:
            pass
        finally:
            self.ended += 1
            writer.close()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Place]:
        """Give the place at which it answers."""
        server = await asyncio.start_server(self.hear, HOST, 0)
        async with server:
            yield HOST, server.sockets[0].getsockname()[1]


def played(other: Other, scene: Callable[[KeptConnections, Place], Awaitable[None]]) -> None:
    """Let a scene ask another node."""

    async def all_of_it() -> None:
        kept = KeptConnections()
        async with other.listening() as place:
            await scene(kept, place)
            kept.close()
            await until(lambda: other.ended == other.connections)

    asyncio.run(all_of_it())


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(5.0):
        while not is_so():
            await asyncio.sleep(0.001)


def test_a_connection_is_kept_from_one_call_to_the_next() -> None:
    other = Other(times=100)

    async def scene(kept: KeptConnections, place: Place) -> None:
        for _ in range(3):
            assert await kept.status_of(place, b"signed") == GOOD

    played(other, scene)
    assert (other.connections, other.asked) == (1, 3)


def test_a_new_connection_is_tried_again_and_again() -> None:
    other = Other(times=100)

    async def scene(kept: KeptConnections, place: Place) -> None:
        for _ in range(2 * peer_calls.CALLS_MOST):
            assert await kept.status_of(place, b"signed") == GOOD

    played(other, scene)
    assert other.connections == 2


def test_calls_at_once_have_a_connection_each_and_one_is_kept() -> None:
    other = Other(times=100)

    async def scene(kept: KeptConnections, place: Place) -> None:
        calls = [kept.status_of(place, b"signed") for _ in range(2)]
        assert await asyncio.gather(*calls) == [GOOD, GOOD]
        await until(lambda: other.ended == 1)

    played(other, scene)
    assert other.connections == 2


def test_a_node_that_closed_the_connection_is_asked_over_a_new_one() -> None:
    class Closing(Other):
        """Answers once, and hangs up when it is asked again."""

        async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ANSWER)
            await reader.read(1)
            self.ended += 1
            writer.close()

    other = Closing(times=1)

    async def scene(kept: KeptConnections, place: Place) -> None:
        assert await kept.status_of(place, b"signed") == GOOD
        assert await kept.status_of(place, b"signed") == GOOD

    played(other, scene)
    assert other.connections == 2


def test_a_node_that_hangs_up_on_a_new_connection_is_asked_no_more() -> None:
    other = Other(times=0)

    async def scene(kept: KeptConnections, place: Place) -> None:
        assert await kept.status_of(place, b"signed") is None

    played(other, scene)
    assert other.connections == 1


def test_a_node_that_is_silent_is_given_up_with_its_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peer_calls, "SECONDS", 0.05)
    other = Other(times=100, answer=b"")

    async def scene(kept: KeptConnections, place: Place) -> None:
        assert await kept.status_of(place, b"signed") is None
        await until(lambda: other.ended == 1)
        other.answer = ANSWER
        assert await kept.status_of(place, b"signed") == GOOD

    played(other, scene)
    assert other.connections == 2


def test_connections_to_other_places_are_closed() -> None:
    other = Other(times=100)

    async def scene(kept: KeptConnections, place: Place) -> None:
        await kept.status_of(place, b"signed")
        kept.tidy([place, None])
        await kept.status_of(place, b"signed")
        assert other.connections == 1
        kept.tidy([])
        await until(lambda: other.ended == 1)

    played(other, scene)


def test_nothing_is_kept_once_it_is_closed() -> None:
    other = Other(times=100)

    async def scene(kept: KeptConnections, place: Place) -> None:
        kept.close()
        assert await kept.status_of(place, b"signed") == GOOD
        await until(lambda: other.ended == 1)

    played(other, scene)
