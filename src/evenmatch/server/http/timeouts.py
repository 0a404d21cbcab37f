"""Limits on how long a request may take to arrive and how large it may be; uvicorn has none.

Without one, a few clients that send a byte now and then hold all connections of a process
(slowloris), and one that never ends its headers takes all of its memory. So does one that pings a
WebSocket and reads none of the answers.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from evenmatch.errors import ConfigError
from evenmatch.server.http.plain_http import plain_protocol
from evenmatch.server.http.responses import late_problem, unreadable_problem

REQUEST_SECONDS = 30
"""A request must be here, body and all, this long after it began; so must a first one."""
REQUEST_SECONDS_NAME = "EVENMATCH_REQUEST_SECONDS"
HEAD_BYTES_MAX = 65_536
"""Bytes of a request's line, its headers, and the headers that may follow its body."""


LAST_ANSWER = (
    b"HTTP/1.1 %b\r\nconnection: close\r\ncontent-type: application/json\r\n"
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
    patient = _patient(plain_protocol(), request_seconds(os.environ))
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

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            # uvicorn forgets to say why it begins no WebSocket.
            if self.conn.handshake_exc is not None and not self.transport.is_closing():
                body = unreadable_problem("it does not begin a WebSocket as RFC 6455 says")
                refusal = b"".join(self.conn.data_to_send())
                answer = LAST_ANSWER % (b"400 Bad Request", len(body), body)
                self.transport.write(refusal or answer)
                self.transport.close()

        async def send(self, message: Any) -> None:
            await super().send(message)
            # A refusal is an answer too: uvicorn would log an error of the application.
            if self.close_sent and self.initial_response is not None:
                self.handshake_complete = True

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


_Below: Any = object
"""Stands for the protocol below; `_patient` says which one it is."""


class _TimeoutProtocol(_Below):  # type: ignore[misc]
    """HTTP with an end to patience, above a protocol that has none.

    A request that comes whole costs two assignments.
    """

    seconds = REQUEST_SECONDS
    _is_within = _has_body = False
    _head_bytes = 0
    _end: asyncio.TimerHandle | None = None
    # The request that is answered now; those that came behind it on the connection wait.
    _answered: Any = None

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._end = self.loop.call_later(self.seconds, self._lose_patience)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)
        # uvicorn tells the last request only that its client is gone.
        if self._answered is not None and not self._answered.response_complete:
            self._answered.disconnected = True
            self._answered.message_event.set()

    def data_received(self, data: bytes) -> None:
        self._has_body = False
        super().data_received(data)
        if not self._is_within:
            return
        if self._end is None:
            self._end = self.loop.call_later(self.seconds, self._lose_patience)
        # What brings nothing of a body is kept by the parser as headers, or for headers.
        self._head_bytes += 0 if self._has_body else len(data)
        if self._head_bytes > HEAD_BYTES_MAX:
            self._refuse(f"its headers may have {HEAD_BYTES_MAX:,} bytes")

    def on_message_begin(self) -> None:
        self._is_within, self._head_bytes = True, 0
        # An answer that came before the end of its request has set it again.
        self._unset_keepalive_if_required()
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        self._has_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_within = False
        if self._end is not None:
            self._stop_clock()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self._stop_clock()
        super().handle_websocket_upgrade()

    def _lose_patience(self) -> None:
        self._end = None
        if self.flow.read_paused:
            # Whoever is not read may well be in time.
            self._end = self.loop.call_later(self.seconds, self._lose_patience)
        elif self._is_within:
            self._close_with(b"408 Request Timeout", late_problem())
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self._refuse("it does not follow HTTP/1.1")

    def _refuse(self, reason: str) -> None:
        self._close_with(b"400 Bad Request", unreadable_problem(reason))

    def _close_with(self, status: bytes, body: bytes) -> None:
        """Say why the latest request is not read on, and close, once all before it are answered."""
        transport, answered = self.transport, self._answered
        if transport.is_closing():
            return
        is_over = answered is None or answered.response_complete
        is_amid_body = self._is_within and self.is_head_over
        if not is_over and not (is_amid_body and answered is self.cycle):
            # Its client would take this for the answer that it waits for.
            answered.keep_alive = False
            self.flow.pause_reading()
            return
        # Whoever has an answer already, before the end of their body, gets no second one.
        has_one = is_amid_body and (is_over or getattr(answered, "response_started", False))
        if not has_one:
            transport.write(LAST_ANSWER % (status, len(body), body))
        transport.close()

    def _stop_clock(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None


def _patient(plain: type[Any], seconds: int) -> type[asyncio.Protocol]:
    return type("TimeoutProtocol", (_TimeoutProtocol, plain), {"seconds": seconds})
