"""One HTTP/1.1 connection: whatever comes back is an answer, or an error that says what it was."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from evenmatch.wire.http1 import HEAD_BYTES_MAX, Connection, HttpResponse

CHUNKED = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
)
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def told(answers: list[bytes], scene: Callable[[Connection], Awaitable[object]]) -> int:
    """Play a scene with a server that says these, one a request; return how many it was asked."""
    asked = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            asked += 1
            writer.write(answer)
        writer.close()

    async def play() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            connection = await Connection.open(*server.sockets[0].getsockname()[:2], None)
            try:
                await scene(connection)
            finally:
                await connection.closed()

    asyncio.run(play())
    return asked


async def ask(connection: Connection, most: float = float("inf")) -> HttpResponse:
    connection.send("GET", "/", {"Host": "here"})
    return await connection.response(most)


def test_requests_go_over_one_connection_one_after_the_other() -> None:
    async def scene(connection: Connection) -> None:
        assert not connection.is_used
        assert (await ask(connection)).body == b"ok"
        assert connection.is_used
        assert connection.is_free
        assert (await ask(connection)).body == b"abcde"

    assert told([WHOLE, CHUNKED], scene) == 2


def test_connection_that_the_server_closes_takes_no_other_request() -> None:
    async def scene(connection: Connection) -> None:
        assert (await ask(connection)).status == 204
        assert not connection.is_free

    assert told([b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"], scene) == 1


@pytest.mark.parametrize("answer", [b"", WHOLE[:9], WHOLE[:-1], CHUNKED[:-9]])
def test_answer_that_ends_too_soon_is_a_lost_connection(answer: bytes) -> None:
    async def scene(connection: Connection) -> None:
        with pytest.raises(ConnectionError):
            await ask(connection)

    told([answer], scene)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 two\r\n\r\n",
        WHOLE.replace(b"2", b"-2"),
        CHUNKED.replace(b"3", b"zz"),
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * HEAD_BYTES_MAX * 2,
    ],
)
def test_answer_that_is_not_http_is_told_from_a_lost_connection(answer: bytes) -> None:
    async def scene(connection: Connection) -> None:
        with pytest.raises(ValueError, match="not HTTP"):
            await ask(connection)

    told([answer], scene)


@pytest.mark.parametrize("answer", [WHOLE, CHUNKED])
def test_answer_that_is_too_large_is_not_taken(answer: bytes) -> None:
    async def scene(connection: Connection) -> None:
        with pytest.raises(ValueError, match="too large"):
            await ask(connection, most=1)

    told([answer], scene)
