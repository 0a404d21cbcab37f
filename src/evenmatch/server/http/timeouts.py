"""Limits on how long a request may take to arrive and how large it may be; uvicorn has none.

Without one, a few clients that send a byte now and then hold all connections of a process
(slowloris), and one that never ends its headers takes all of its memory. So does one that pings a
WebSocket and reads none of the answers.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import Any

from evenmatch.errors import ConfigError
from evenmatch.server.http.responses import late_problem

REQUEST_SECONDS = 30
"""A request must be here, body and all, this long after it began; so must a first one."""
REQUEST_SECONDS_NAME = "EVENMATCH_REQUEST_SECONDS"
HEAD_BYTES_MAX = 65_536
"""Bytes of a request's line, its headers, and the headers that may follow its body."""


UPGRADING = frozenset({b"upgrade", b"http2-settings"})
"""Headers, and words of the header `connection`, that wish for another protocol."""

TOO_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n%b"
)

FrameTaker = Callable[[bytes], asyncio.Protocol | None]
"""Returns what takes the frames of another node, by how it begins; None of a stranger."""
DirectGate = Callable[[], Any]
"""Returns who lets requests in past ASGI, None while nobody does."""


def http_protocol(
    gate: DirectGate | None = None, frames: FrameTaker | None = None
) -> type[asyncio.Protocol] | str:
    """Return the protocol that serves HTTP; without httptools uvicorn's own.

    Args:
        gate: Says who lets requests in past ASGI; None: there is no short way.
        frames: Takes the frames of other nodes; None: there are none.
    """
    if not find_spec("httptools"):
        return "h11"
    patient = _patient(request_seconds(os.environ))
    if gate is None:
        return patient
    from evenmatch.server.http.direct_requests import direct_protocol

    return direct_protocol(patient, gate, frames)


def websocket_protocol() -> type[asyncio.Protocol]:
    """Return the protocol that serves WebSockets."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    class Unechoing(WebSocketsSansIOProtocol):
        """WebSockets that answer no pings while the client reads nothing, then the newest."""

        _owed = b""

        def handle_ping(self) -> None:
            if self.writable.is_set():
                super().handle_ping()
            elif pongs := self.conn.data_to_send():
                self._owed = pongs[-1]

        def resume_writing(self) -> None:
            super().resume_writing()
            owed, self._owed = self._owed, b""
            if owed and not self.close_sent:
                self.transport.write(owed)

    return Unechoing


def request_seconds(environment: Mapping[str, str]) -> int:
    """Return how long a request may take to arrive; tests are less patient.

    Raises:
        ConfigError: It is not a whole number >= 1.
    """
    text = environment.get(REQUEST_SECONDS_NAME, str(REQUEST_SECONDS))
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise ConfigError(f"{REQUEST_SECONDS_NAME} must be a whole number >= 1, got {text[:64]!r}")
    return int(text)


def without_upgrade(line: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the head of a request without its wish for another protocol."""
    lines = [line]
    for name, value in headers:
        given = value
        if name == b"connection":
            tokens = (token.strip() for token in value.split(b","))
            given = b", ".join(token for token in tokens if token.lower() not in UPGRADING)
        if name not in UPGRADING and (given or not value):
            lines.append(b"%b: %b" % (name, given))
    return b"\r\n".join([*lines, b"", b""])


def _patient(seconds: int) -> type[asyncio.Protocol]:
    from httptools import HttpRequestParser
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class TimeoutProtocol(HttpToolsProtocol):
        """HTTP with an end to patience. A request that comes whole costs two assignments."""

        _is_within = False
        _has_body = False
        _head_bytes = 0
        _end: asyncio.TimerHandle | None = None
        # The request that is answered now; those that came behind it on the connection wait.
        _answered: Any = None
        _data = b""
        # The head of a request that wishes for another protocol, without that wish.
        _plain_head: bytes | None = None

        def _start_asgi_task(self, cycle: Any, app: Any) -> None:
            self._answered = cycle
            super()._start_asgi_task(cycle, app)

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._end = self.loop.call_later(seconds, self._lose_patience)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_clock()
            super().connection_lost(exc)
            # uvicorn tells the last request only that its client is gone.
            if self._answered is not None and not self._answered.response_complete:
                self._answered.disconnected = True
                self._answered.message_event.set()

        def data_received(self, data: bytes) -> None:
            self._has_body, self._data = False, data
            super().data_received(data)
            self._data = b""
            if not self._is_within:
                return
            if self._end is None:
                self._end = self.loop.call_later(seconds, self._lose_patience)
            # What brings nothing of a body is kept by the parser as headers, or for headers.
            if not self._has_body:
                self._head_bytes += len(data)
                if self._head_bytes > HEAD_BYTES_MAX:
                    self.transport.close()

        def on_message_begin(self) -> None:
            self._is_within, self._head_bytes = True, 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            method = self.parser.get_method()
            is_wished = self.parser.should_upgrade() and method != b"CONNECT"
            if is_wished and not (method == b"GET" and self._should_upgrade()):
                version = self.parser.get_http_version().encode()
                line = b"%b %b HTTP/%b" % (method, self.url, version)
                self._plain_head = without_upgrade(line, self.headers)
            else:
                super().on_headers_complete()

        def _unsupported_upgrade_warning(self) -> None:
            if not self._is_taken_plainly():
                super()._unsupported_upgrade_warning()

        def _is_taken_plainly(self) -> bool:
            """Take a request as if it had not wished for another protocol, such as HTTP/2.

            HTTP lets a server do that. The parser has stopped behind the head, since what follows
            would be the other protocol's; it says where.
            """
            head, self._plain_head = self._plain_head, None
            stopped = sys.exception()
            if head is None or stopped is None:
                return False
            # The same one would wait for the end of a connection that is to be closed.
            self.parser = HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            self.data_received(head + self._data[stopped.args[0] :])
            return True

        def on_body(self, body: bytes) -> None:
            self._has_body = True
            super().on_body(body)

        def on_message_complete(self) -> None:
            if self._plain_head is not None:
                return
            self._is_within = False
            if self._end is not None:
                self._stop_clock()
            super().on_message_complete()

        def handle_websocket_upgrade(self) -> None:
            if self._is_taken_plainly():
                return
            self._stop_clock()
            super().handle_websocket_upgrade()

        def _lose_patience(self) -> None:
            self._end = None
            last = self._answered
            is_free = last is None or last.response_complete
            # Half a request is told so, unless an answer is under way.
            if self._is_within and (
                is_free or (last is self.cycle and not getattr(last, "response_started", False))
            ):
                body = late_problem()
                self.transport.write(TOO_LATE % (len(body), body))
            self.transport.close()

        def _stop_clock(self) -> None:
            if self._end is not None:
                self._end.cancel()
                self._end = None

    return TimeoutProtocol
