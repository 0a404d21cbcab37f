"""A client for measuring: HTTP/1.1 over raw sockets, as little Python as there can be.

It understands what uvicorn answers to a create (a status, a content length, a body) and a chunked
event stream, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

HEAD_END = b"\r\n\r\n"


class Connection(asyncio.Protocol):
    """A keep-alive connection with one request under way at a time.

    Args:
        answered: Called with this connection, the status and the body.
    """

    def __init__(self, answered: Callable[[Connection, int, bytes], None]) -> None:
        self.transport: asyncio.Transport
        self.sent_at = 0.0
        self.is_free = True
        self.lost: Exception | None = None
        self._answered = answered
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def send(self, request: bytes, now: float) -> None:
        self.sent_at, self.is_free = now, False
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data if self._buffer else data
        head = buffer.find(HEAD_END)
        if head >= 0:
            at = buffer.find(b"content-length: ", 0, head) + 16
            end = head + 4 + int(buffer[at : buffer.find(b"\r", at)])
            if len(buffer) >= end:
                self._buffer, self.is_free = b"", True
                self._answered(self, int(buffer[9:12]), buffer[head + 4 : end])
                return
        self._buffer = buffer

    def connection_lost(self, error: Exception | None) -> None:
        if not self.is_free:
            self.lost = error or ConnectionError("the server closed a connection")
            self._answered(self, 0, b"")


class EventStream(asyncio.Protocol):
    """A server-sent event stream.

    Args:
        heard: Called with the `data` of each event.
    """

    def __init__(self, heard: Callable[[bytes], None]) -> None:
        self._heard = heard
        self._raw = b""
        self._text = b""
        self._is_open = False

    def data_received(self, data: bytes) -> None:
        self._raw += data
        if not self._is_open:
            head, end, rest = self._raw.partition(HEAD_END)
            if not end:
                return
            assert b" 200 " in head[:16], head
            self._is_open, self._raw = True, rest
        self._unchunk()
        *events, self._text = self._text.split(b"\n\n")
        for event in events:
            for line in event.split(b"\n"):
                if line.startswith(b"data:"):
                    self._heard(line[5:])

    def _unchunk(self) -> None:
        raw, at = self._raw, 0
        while (line := raw.find(b"\r\n", at)) >= 0:
            start = line + 2
            end = start + int(raw[at:line], 16)
            if len(raw) < end + 2:
                break
            self._text += raw[start:end]
            at = end + 2
        self._raw = raw[at:]


def post(body: bytes, port: int, path: str = "/v1/tickets") -> bytes:
    """Return a POST request."""
    return (
        b"POST %b HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\n\r\n%b" % (path.encode(), port, len(body), body)
    )


def get(path: str, port: int, accept: str = "application/json") -> bytes:
    """Return a GET request."""
    return b"GET %b HTTP/1.1\r\nhost: 127.0.0.1:%d\r\naccept: %b\r\n\r\n" % (
        path.encode(),
        port,
        accept.encode(),
    )
