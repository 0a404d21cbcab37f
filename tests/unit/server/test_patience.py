"""What a client that does not read is owed, without a socket."""

import asyncio
from typing import Any

from uvicorn import Config
from uvicorn.server import ServerState
from websockets.protocol import State
from websockets.server import ServerProtocol

from evenmatch.server.patience import websocket_protocol


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
