"""Requests that wish to go on in another protocol, such as HTTP/2: answered as if they did not.

HTTP lets a server do that. The parser stops behind the head of such a request, since what follows
would be the other protocol's: its body would be lost, or taken for the next request.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

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


def without_wishes() -> type[Any]:
    """Return uvicorn's protocol on httptools, which only goes on in WebSockets, from a GET."""
    from httptools import HttpRequestParser
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class PlainProtocol(HttpToolsProtocol):
        """HTTP/1.1, whatever else a request wishes for."""

        _data = b""
        # The head of a request without its wish, until it is read again.
        _plain_head: bytes | None = None

        @property
        def is_cut(self) -> bool:
            """Return whether the parser has stopped behind a head that is to be read again."""
            return self._plain_head is not None

        def data_received(self, data: bytes) -> None:
            self._data = data
            super().data_received(data)
            self._data = b""

        def on_headers_complete(self) -> None:
            method = self.parser.get_method()
            is_wished = self.parser.should_upgrade() and method != b"CONNECT"
            if is_wished and not (method == b"GET" and self._should_upgrade()):
                version = self.parser.get_http_version().encode()
                line = b"%b %b HTTP/%b" % (method, self.url, version)
                self._plain_head = without_upgrade(line, self.headers)
            else:
                super().on_headers_complete()

        def on_message_complete(self) -> None:
            if not self.is_cut:
                super().on_message_complete()

        def handle_websocket_upgrade(self) -> None:
            if not self._is_read_again():
                super().handle_websocket_upgrade()

        def _unsupported_upgrade_warning(self) -> None:
            if not self._is_read_again():
                super()._unsupported_upgrade_warning()

        def _is_read_again(self) -> bool:
            """Read a head again, without its wish, and what stands behind it."""
            head, self._plain_head = self._plain_head, None
            stopped = sys.exception()
            if head is None or stopped is None:
                return False
            # The same one would wait for the end of a connection that is to be closed.
            self.parser = HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            self.data_received(head + self._data[stopped.args[0] :])
            return True

    return PlainProtocol
