"""Clients that cost little CPU: HTTP over kept connections, and the WebSocket of tickets."""

from __future__ import annotations

import asyncio
import struct
from collections import Counter, deque
from collections.abc import Callable, Sequence
from itertools import cycle
from time import perf_counter

HOST = "127.0.0.1"
HEAD_END = b"\r\n\r\n"
SAMPLES_MOST = 200_000
HANDSHAKE = b"dGhlIHNhbXBsZSBub25jZQ=="
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10

Then = Callable[[int, bytes], None]


def request(method: str, path: str, key: str, body: bytes = b"", **headers: str) -> bytes:
    """Return a request; a keyword `content_type` is the header `content-type`."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    authorization = f"authorization: Bearer {key}\r\n" if key else ""
    return (
        f"{method} {path} HTTP/1.1\r\nhost: {HOST}\r\n{authorization}{more}"
        f"content-length: {len(body)}\r\n\r\n"
    ).encode() + body


class _Connection(asyncio.Protocol):
    def __init__(self, pool: Pool) -> None:
        self.transport: asyncio.Transport
        self.route, self.then, self.asked_at = "", _nothing, 0.0
        self._pool = pool
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data if self._buffer else data
        head = buffer.find(HEAD_END)
        if head >= 0:
            at = buffer.find(b"content-length: ", 0, head)
            length = int(buffer[at + 16 : buffer.find(b"\r", at)]) if at >= 0 else 0
            if len(buffer) >= head + 4 + length:
                self._buffer = b""
                self._pool.answered(self, int(buffer[9:12]), buffer[head + 4 : head + 4 + length])
                return
        self._buffer = buffer

    def connection_lost(self, error: Exception | None) -> None:
        self._buffer = b""
        self._pool.lost(self)


class Pool:
    """Kept connections; what finds none free waits for one.

    Args:
        ports: Where the nodes listen; connections go to them in turn.
        most: Connections.
    """

    def __init__(self, ports: Sequence[int], most: int) -> None:
        self.ports = tuple(ports)
        self._turns = cycle(self.ports)
        self.socket_port = self.ports[0]
        """Where WebSockets are opened: a node that hands on takes none."""
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.seconds: dict[str, list[float]] = {}
        self.refused: dict[tuple[str, int], bytes] = {}
        self.waiting: deque[tuple[str, bytes, Then, float]] = deque()
        self._most = most
        # The one that was free for longest is next: a server closes those that stay idle.
        self._free: deque[_Connection] = deque()
        self._busy: set[_Connection] = set()

    @property
    def port(self) -> int:
        """Return the port of the node whose turn it is."""
        return next(self._turns)

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(self._most):
            _, made = await loop.create_connection(lambda: _Connection(self), HOST, self.port)
            self._free.append(made)

    def close(self) -> None:
        for each in (*self._free, *self._busy):
            each.transport.close()
        self._free.clear()

    def ask(self, route: str, data: bytes, then: Then | None = None) -> None:
        """Send a request; `then` hears the status and the body, status 0 if there is no answer."""
        self.waiting.append((route, data, then or _nothing, perf_counter()))
        self._send()

    def _send(self) -> None:
        while self.waiting and self._free:
            connection = self._free.popleft()
            if connection.transport.is_closing():
                continue
            route, data, then, asked_at = self.waiting.popleft()
            connection.route, connection.then, connection.asked_at = route, then, asked_at
            self._busy.add(connection)
            connection.transport.write(data)

    def answered(self, connection: _Connection, status: int, body: bytes) -> None:
        self._note(connection, status, body)
        self._busy.discard(connection)
        self._free.append(connection)
        connection.then(status, body)
        self._send()

    def _note(self, connection: _Connection, status: int, body: bytes) -> None:
        route = connection.route
        self.statuses[route, status] += 1
        if status >= 400 or status == 0:
            self.refused.setdefault((route, status), body[:300])
        samples = self.seconds.setdefault(route, [])
        if len(samples) < SAMPLES_MOST:
            samples.append(perf_counter() - connection.asked_at)

    def lost(self, connection: _Connection) -> None:
        """Go on with a new connection; what was under way has no answer."""
        if connection in self._busy:
            self._busy.discard(connection)
            self._note(connection, 0, b"the connection was lost")
            connection.then(0, b"")
        elif connection in self._free:
            self._free.remove(connection)
        else:
            return
        loop = asyncio.get_running_loop()
        loop.create_task(self._replace())  # noqa: RUF006

    async def _replace(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, made = await loop.create_connection(lambda: _Connection(self), HOST, self.port)
        except OSError:
            return
        self._free.append(made)
        self._send()


class Socket(asyncio.Protocol):
    """A WebSocket of `/v1/stream`.

    Args:
        heard: Called with each message.
        lost: Called when the server closes.
    """

    def __init__(self, heard: Callable[[bytes], None], lost: Callable[[], None]) -> None:
        self.transport: asyncio.Transport
        self._heard = heard
        self._lost = lost
        self._buffer = bytearray()
        self._is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def connection_lost(self, error: Exception | None) -> None:
        self._lost()

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        if not self._is_open:
            head = buffer.find(HEAD_END)
            if head < 0:
                return
            assert b" 101 " in buffer[:16], bytes(buffer[:300])
            self._is_open = True
            del buffer[: head + 4]
        at = 0
        while (frame := _frame(buffer, at)) is not None:
            kind, start, at = frame
            if kind == TEXT:
                self._heard(bytes(buffer[start:at]))
            elif kind == PING:
                self._send(PONG, bytes(buffer[start:at]))
        del buffer[:at]

    def send(self, text: bytes) -> None:
        """Send a message."""
        self._send(TEXT, text)

    def _send(self, kind: int, data: bytes) -> None:
        # A mask of zeros changes nothing, and is as good as another one here.
        size = len(data)
        length = bytes([0x80 | size]) if size < 126 else bytes([0xFE]) + struct.pack(">H", size)
        self.transport.write(bytes([0x80 | kind]) + length + bytes(4) + data)


def upgrade(key: str) -> bytes:
    """Return the request that opens a `Socket`; a server without keys takes an empty one."""
    authorization = f"authorization: Bearer {key}\r\n" if key else ""
    return (
        f"GET /v1/stream HTTP/1.1\r\nhost: {HOST}\r\n{authorization}"
        f"upgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\n"
        f"sec-websocket-key: {HANDSHAKE.decode()}\r\n\r\n"
    ).encode()


def _frame(buffer: bytearray, at: int) -> tuple[int, int, int] | None:
    """Return a whole frame's kind, where its data begins and where it ends."""
    if len(buffer) < at + 2:
        return None
    kind, size, start = buffer[at] & 15, buffer[at + 1] & 127, at + 2
    if size == 126:
        if len(buffer) < at + 4:
            return None
        size, start = struct.unpack_from(">H", buffer, at + 2)[0], at + 4
    elif size == 127:
        if len(buffer) < at + 10:
            return None
        size, start = struct.unpack_from(">Q", buffer, at + 2)[0], at + 10
    return (kind, start, start + size) if len(buffer) >= start + size else None


def _nothing(status: int, body: bytes) -> None:
    """Take no note."""
