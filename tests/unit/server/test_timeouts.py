"""How long clients have, and what one that does not read is owed."""

import asyncio
import socket
import time
from typing import Any

import uvloop
from uvicorn import Config
from uvicorn.server import ServerState
from websockets.protocol import State
from websockets.server import ServerProtocol

from evenmatch.server.http.timeouts import http_protocol, websocket_protocol
from tests.waiting import GIVE_UP


class Written:
    """A transport that remembers what was written."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if data:
            self.parts.append(data)


def ping(data: bytes) -> bytes:
    return bytes((0x89, 0x80 + len(data))) + bytes(4) + data


def pong(data: bytes) -> bytes:
    return bytes((0x8A, len(data))) + data


def test_newest_ping_is_answered_when_the_client_reads_again() -> None:
    async def scene() -> None:
        made: Any = websocket_protocol()
        protocol = made(Config(lambda *_: None), ServerState(), {})
        protocol.conn = ServerProtocol(state=State.OPEN)
        protocol.transport = transport = Written()
        protocol.data_received(ping(b"one"))
        protocol.pause_writing()
        protocol.data_received(ping(b"two"))
        protocol.data_received(ping(b"three") + ping(b"four"))
        assert transport.parts == [pong(b"one")]

        protocol.resume_writing()
        protocol.resume_writing()
        assert transport.parts == [pong(b"one"), pong(b"four")]

    asyncio.run(scene())


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]}
    )
    await send({"type": "http.response.body"})


def test_request_that_came_while_the_loop_was_away_is_read_before_its_connection_is_closed() -> (
    None
):
    request = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n"

    async def scene() -> None:
        config = Config(answer, timeout_keep_alive=1, lifespan="off", log_config=None)
        config.load()
        made: Any = http_protocol()
        loop, state = asyncio.get_running_loop(), ServerState()
        server = await loop.create_server(lambda: made(config, state, {}), "127.0.0.1", 0)
        with socket.create_connection(server.sockets[0].getsockname()) as client:
            client.setblocking(False)
            await loop.sock_sendall(client, request)
            assert (await loop.sock_recv(client, 1_000)).startswith(b"HTTP/1.1 200")
            # The connection is kept for a second. Nobody else runs until both are due: its end,
            # and the request that came before it.
            client.send(request)
            time.sleep(1.2)
            assert (await loop.sock_recv(client, 1_000)).startswith(b"HTTP/1.1 200")
            # Where nothing comes, it is closed all the same.
            async with asyncio.timeout(GIVE_UP):
                assert await loop.sock_recv(client, 1_000) == b""
        server.close()

    # The loop that serves reads its sockets before it calls timers; who closes relies on that.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scene())
