"""Requests past ASGI: from the parser to the engine, and from the commit to the socket.

No task, no future, no messages: a request that hands in an input is decided upon as soon as its
last byte is here, and its answer is one write when its record is durable. Who calls is asked at the
same gate as for every other request. What is out of the ordinary goes the long way: requests of web
pages, those that another node hands on, those that are signed, those behind another request or
unread answers on their connection, and those that ask first whether to send their body.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Protocol

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from evenmatch.errors import MatchmakingError
from evenmatch.server.auth.signatures import is_signed
from evenmatch.server.cluster.frames import MAGIC, WELCOME
from evenmatch.server.http.responses import (
    Headers,
    Scope,
    answer_of,
    headers_for,
    internal_problem,
    too_large,
)
from evenmatch.server.http.whole_requests import DirectRoute, WholeRequest
from evenmatch.server.runtime.logs import log

METHODS = frozenset({b"POST", b"PUT"})
PLAIN_PATH = re.compile(rb"/v1/[A-Za-z0-9._~:/-]+").fullmatch
"""A path that reads as it stands, without a query."""
UNUSUAL = frozenset({b"origin", b"evenmatch-forwarded"})
"""Headers of web pages, and of other nodes that hand a request on."""


def _is_unusual(header: tuple[bytes, bytes]) -> bool:
    name, value = header
    return name in UNUSUAL or (name == b"authorization" and is_signed(value))


class ParserConnection(Protocol):
    """What a direct request needs of the protocol that it came by."""

    transport: Any
    server_state: Any

    def on_response_complete(self) -> None:
        """Go on with what comes next on the connection."""
        ...


class _NobodyWaits:
    """Stands in for the event that wakes the task of a request: there is none."""

    def set(self) -> None:
        """Wake nobody."""


NOBODY_WAITS = _NobodyWaits()


class DirectRequest:
    """One request past ASGI, in the place of uvicorn's cycle of request and response.

    Args:
        connection: It came by.
        scope: Of the request.
        keep_alive: Whether the connection stays open.
    """

    message_event = NOBODY_WAITS
    more_body = True

    def __init__(self, connection: ParserConnection, scope: Scope, *, keep_alive: bool) -> None:
        self._connection = connection
        self._scope = scope
        self.keep_alive = keep_alive
        self._parts: list[bytes] = []
        self._size = 0
        self.disconnected = False
        self.response_complete = False
        self._route: DirectRoute | None = None

    def begin(self, gate: Any) -> None:
        """Ask who calls, and whether they may do that, before their body is here."""
        scope = self._scope
        try:
            route: DirectRoute = gate.let_in(scope).direct(scope)
            self._route = route
        except MatchmakingError as error:
            self.reply(*answer_of(error))
            return
        except Exception as error:  # noqa: BLE001
            # It must not reach the parser, which would take it for a malformed request.
            log.error("unexpected_error", route="gate", error=repr(error), exc_info=error)
            self.reply(500, internal_problem(), None)
            return
        try:
            route.check(scope)
        except MatchmakingError as error:
            route.refuse(self._request(route), error)
        except Exception as error:  # noqa: BLE001
            route.fail(self._request(route), error)

    def add(self, data: bytes) -> None:
        """Take a part of the body."""
        route = self._route
        assert route is not None
        self._parts.append(data)
        self._size += len(data)
        if self._size > route.body_bytes_max:
            self._parts.clear()
            route.refuse(self._request(route), too_large(route.body_bytes_max, route.advice))

    def complete(self) -> None:
        """Hand the request in: its body is here."""
        route = self._route
        assert route is not None
        request = self._request(route)
        try:
            route.take(request)
        except Exception as error:  # noqa: BLE001
            route.fail(request, error)

    def _request(self, route: DirectRoute) -> WholeRequest:
        body = b"".join(self._parts)
        return WholeRequest(self._scope, body, self.reply, self.is_gone, route.stopwatch())

    def is_gone(self) -> bool:
        """Return whether the client has left."""
        return self.disconnected

    def reply(self, status: int, body: bytes, headers: Headers | None) -> None:
        """Send the answer, in one write."""
        if self.response_complete:
            return
        self.response_complete = True
        connection = self._connection
        transport = connection.transport
        if self.disconnected or transport.is_closing():
            return
        parts = [STATUS_LINE[status]]
        for name, value in connection.server_state.default_headers:
            parts += (name, b": ", value, b"\r\n")
        for name, value in headers_for(status) if headers is None else headers:
            parts += (name, b": ", value, b"\r\n")
        if not self.keep_alive:
            parts.append(b"connection: close\r\n")
        parts += (b"content-length: ", str(len(body)).encode(), b"\r\n\r\n", body)
        transport.write(b"".join(parts))
        if not self.keep_alive:
            transport.close()
        connection.on_response_complete()


_Below: Any = object
"""Stands for the protocol that all other requests take; see `direct_protocol`."""


class _DirectProtocol(_Below):  # type: ignore[misc]
    """Takes what goes past ASGI from the parser; everything else as before."""

    gate: Callable[[], Any]
    """Returns who knows who calls, and what goes past ASGI; None while nobody does."""

    # The request that is being read, where it goes past ASGI.
    _direct: DirectRequest | None = None

    def on_headers_complete(self) -> None:
        present = self.gate() if self._is_usual() else None
        way = None if present is None else present.way_of(self.scope)
        if way is None:
            super().on_headers_complete()
            return
        self.is_head_over = True
        direct = DirectRequest(self, self.scope, keep_alive=self.parser.should_keep_alive())
        self.cycle = self._answered = self._direct = direct
        direct.begin(way)

    def _is_usual(self) -> bool:
        """Return whether a request may come this way; then its scope says what it is."""
        method, url = self.parser.get_method(), self.url
        before: Any = self.cycle
        if method not in METHODS or PLAIN_PATH(url) is None:
            return False
        scope = self.scope
        scope["method"], scope["path"] = method.decode(), url.decode()
        scope["raw_path"], scope["query_string"] = url, b""
        return (
            (before is None or before.response_complete)
            and not self.expect_100_continue
            and self.parser.get_http_version() == "1.1"
            and not self.parser.should_upgrade()
            # Whoever reads no answers waits: ASGI sends the next one when there is room.
            and not self.flow.write_paused
            and not any(map(_is_unusual, self.headers))
        )

    def on_body(self, body: bytes) -> None:
        direct = self._direct
        if direct is None:
            super().on_body(body)
            return
        self._has_body = True
        if not direct.response_complete:
            direct.add(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        direct, self._direct = self._direct, None
        if direct is not None and not direct.response_complete:
            direct.complete()

    def eof_received(self) -> bool:
        """Keep the connection of a client that has said all, and waits for its answer."""
        cycle = self.cycle
        is_owed = type(cycle) is DirectRequest and not cycle.response_complete
        # TLS knows no half of a connection.
        if is_owed and not cycle.more_body and self.scheme == "http":
            cycle.keep_alive = False
            return True
        return False


def direct_protocol(
    patient: type[Any],
    gate: Callable[[], Any],
    frames: Callable[[bytes], asyncio.Protocol | None] | None = None,
) -> type[Any]:
    """Return a protocol that takes requests past ASGI where somebody has a way for them.

    Args:
        patient: The protocol that all other requests take, on httptools.
        gate: Returns who knows who calls, and what goes this way; None while nobody does.
        frames: Returns what takes the frames of another node, by how it begins; None: there are no
            other nodes.
    """
    made = type("DirectProtocol", (_DirectProtocol, patient), {"gate": staticmethod(gate)})
    return made if frames is None else _welcoming(made, frames)


def _welcoming(direct: type[Any], frames: Callable[[bytes], asyncio.Protocol | None]) -> type[Any]:
    """Return a protocol that lets other nodes in at the beginning of a connection."""

    class NodeProtocol(direct):  # type: ignore[misc]
        """Takes requests from the parser, or hands the connection to what takes frames."""

        _is_begun = False

        def data_received(self, data: bytes) -> None:
            if self._is_begun or not data.startswith(MAGIC):
                self._is_begun = True
                super().data_received(data)
                return
            taker = frames(data[len(MAGIC) :])
            self._stop_clock()
            if taker is None:
                self.transport.close()
                return
            # From here on it is no connection of HTTP, and nobody waits for its end.
            self.connections.discard(self)
            transport = self.transport
            transport.set_protocol(taker)
            taker.connection_made(transport)
            transport.write(WELCOME)

    return NodeProtocol
