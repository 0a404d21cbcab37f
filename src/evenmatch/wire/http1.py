"""One HTTP/1.1 connection to a server, for clients and webhooks alike; h11 knows the protocol.

What comes back may be anything: heads and bodies have a bound, and an answer that is not HTTP is a
`ValueError`, one that ends too soon a `ConnectionError`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

import h11
import msgspec

Headers = dict[bytes, bytes]
Request = h11.Request
"""A request before it is sent."""
HEAD_BYTES_MAX = 65_536
READ_BYTES = 65_536


class HttpResponse(msgspec.Struct, frozen=True):
    """A whole response."""

    status: int
    headers: Headers
    body: bytes


def authority_of(host: str, port: int) -> str:
    """Return a host and its port as in a URL, where an IPv6 address stands in brackets.

    >>> authority_of("127.0.0.1", 80), authority_of("::1", 80)
    ('127.0.0.1:80', '[::1]:80')
    """
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def request_of(method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Request:
    """Return a request whose bytes came from elsewhere, each header with a line of its own.

    Args:
        method: Of HTTP.
        target: The path with its query.
        headers: All of them, in their order.

    Raises:
        ValueError: It is not HTTP, as far as it goes on.
    """
    try:
        return Request(method=method, target=target, headers=[*headers])
    except h11.LocalProtocolError as error:
        raise ValueError(f"the request is not HTTP: {error}") from None


class Connection:
    """One connection, used for one request after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES_MAX)
        self.is_used = False
        """Whether an answer has come over it."""

    @classmethod
    async def open(cls, host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
        """Return a new connection.

        Args:
            host: A name or an address.
            port: Of TCP.
            tls: For https; None means http.

        Raises:
            OSError: Nobody answers there.
        """
        return cls(*await asyncio.open_connection(host, port, ssl=tls))

    @property
    def transport(self) -> asyncio.WriteTransport:
        """Return what its bytes go through."""
        return self._writer.transport

    @property
    def is_free(self) -> bool:
        """Whether another request may go over it."""
        is_lost = self._writer.is_closing() or self._reader.at_eof()
        return not is_lost and self._protocol.our_state is h11.IDLE

    def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        """Send a request.

        Args:
            method: Of HTTP.
            target: The path with its query.
            headers: All of them, `Host` and `Content-Length` too.
            body: As it goes out.
        """
        self.pass_on(Request(method=method, target=target, headers=[*headers.items()]), body)

    def pass_on(self, request: Request, body: bytes) -> None:
        """Send a request that was made before, see `request_of`."""
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        self._writer.write(b"".join(self._protocol.send(event) or b"" for event in events))

    async def head(self) -> tuple[int, Headers]:
        """Return the status and the headers of the response."""
        while not isinstance(event := await self._event(), h11.Response):
            pass
        return event.status_code, dict(event.headers)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body of the response, in parts as they come."""
        while isinstance(event := await self._event(), h11.Data):
            yield bytes(event.data)
        self.is_used = True
        if self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE:
            self._protocol.start_next_cycle()

    async def body(self, most: float = float("inf")) -> bytes:
        """Return the body of the response.

        Args:
            most: Its bytes.

        Raises:
            ValueError: It has more.
        """
        parts, size = [], 0
        async for part in self.chunks():
            size += len(part)
            if size > most:
                raise ValueError("the answer is too large")
            parts.append(part)
        return b"".join(parts)

    async def response(self, most: float = float("inf")) -> HttpResponse:
        """Return the whole response; its body has at most so many bytes."""
        status, headers = await self.head()
        return HttpResponse(status, headers, await self.body(most))

    def close(self) -> None:
        """Close the connection at once."""
        self._writer.close()

    async def closed(self, seconds: float = 1.0) -> None:
        """Close the connection, and wait this long for its end."""
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(seconds):
                await self._writer.wait_closed()

    async def _event(self) -> h11.Event:
        is_over = False
        while True:
            try:
                event = self._protocol.next_event()
            except h11.RemoteProtocolError as error:
                if is_over:
                    raise ConnectionError("the connection ended before the answer did") from None
                raise ValueError(f"the answer is not HTTP: {error}") from None
            if isinstance(event, h11.ConnectionClosed):
                raise ConnectionError("the connection ended before the answer did")
            if isinstance(event, h11.Event):
                return event
            data = await self._reader.read(READ_BYTES)
            is_over = not data
            self._protocol.receive_data(data)
