"""HTTP/1.1 as it is written down, where uvicorn's protocol on httptools is not so strict.

Requests that wish to go on in another protocol, such as HTTP/2, are answered as if they did not,
which HTTP allows. The parser stops behind the head of such a request, since what follows would be
the other protocol's: its body would be lost, or taken for the next request. Trailers of a body are
no headers: of proxies, only those who write headers are trusted. White space around a value is no
part of it. Requests behind one that is not answered yet have a limit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

PIPELINED_MOST = 1_000
"""Requests of one connection that may wait behind the one that is answered."""
UPGRADING = frozenset({b"upgrade", b"http2-settings"})
"""Headers, and words of the header `connection`, that wish for another protocol."""


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


_Below: Any = object
"""Stands for uvicorn's protocol, which needs httptools."""


class _PlainProtocol(_Below):  # type: ignore[misc]
    """HTTP/1.1, whatever else a request wishes for or carries."""

    is_head_over = False
    """Whether the head of the latest request has been read."""

    _data: bytes | memoryview = b""
    # The head of a request without its wish, then with what stands behind it, to be read again.
    _plain_head: bytes | None = None
    _again: tuple[bytes, memoryview] | None = None

    def data_received(self, data: bytes) -> None:
        self._feed(data)
        while self._again is not None:
            (head, rest), self._again = self._again, None
            self._feed(head)
            if rest:
                self._feed(rest)
        self._data = b""

    def _feed(self, data: bytes | memoryview) -> None:
        self._data = data
        super().data_received(data)

    def on_message_begin(self) -> None:
        self.is_head_over = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_head_over:
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        self.is_head_over = True
        method = self.parser.get_method()
        is_wished = self.parser.should_upgrade() and method != b"CONNECT"
        if is_wished and not (method == b"GET" and self._should_upgrade()):
            version = self.parser.get_http_version().encode()
            line = b"%b %b HTTP/%b" % (method, self.url, version)
            self._plain_head = without_upgrade(line, self.headers)
        elif len(self.pipeline) < PIPELINED_MOST:
            super().on_headers_complete()
        else:
            raise ValueError("too many requests wait on this connection")

    def on_message_complete(self) -> None:
        if self._plain_head is None:
            super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        if not self._is_read_again():
            super().handle_websocket_upgrade()

    def _should_upgrade(self) -> bool:
        # An answer that is owed would go out amid the messages of the WebSocket.
        is_free = self.cycle is None or self.cycle.response_complete
        return is_free and bool(super()._should_upgrade())

    def _unsupported_upgrade_warning(self) -> None:
        if not self._is_read_again():
            super()._unsupported_upgrade_warning()

    def _is_read_again(self) -> bool:
        """Read a head again, without its wish, and what stands behind it, after this one."""
        head, self._plain_head = self._plain_head, None
        stopped = sys.exception()
        if head is None or stopped is None:
            return False
        from httptools import HttpRequestParser

        # The same one would wait for the end of a connection that is to be closed.
        self.parser = HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._again = head, memoryview(self._data)[stopped.args[0] :]
        return True


def plain_protocol() -> type[Any]:
    """Return uvicorn's protocol on httptools, which only goes on in WebSockets, from a GET."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    return type("PlainProtocol", (_PlainProtocol, HttpToolsProtocol), {})
