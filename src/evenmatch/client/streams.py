"""Streams that survive: one ticket by server-sent events, many tickets over one WebSocket."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from evenmatch.client.exchange import (
    ASKED_MOST,
    PASSING,
    RESUME_SECONDS,
    Exchange,
    Request,
    ServerRefused,
    ServerUnreachable,
    doubled,
    error_of,
)
from evenmatch.errors import ConfigError
from evenmatch.wire.http1 import Connection, HttpResponse
from evenmatch.wire.live import StreamEvent, StreamProblem

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

OVER = frozenset({"cancelled", "expired"})
"""States that a ticket never leaves."""
RESUME_MOST = 3.0
"""Longest pause between two tries to come back, seconds, unless the server asks for more.

A ready-check lasts ten seconds in many games: a client that comes back later than that is silent.
"""
SILENT_MOST = 45.0
"""Seconds without a byte after which a stream counts as lost; servers send one every 15."""
MESSAGE_BYTES_MAX = 1_000_000
IDS_AT_ONCE = 500
"""Tickets of one message to the server."""


async def events(exchange: Exchange, path: str) -> AsyncGenerator[bytes, None]:
    """Yield the data of server-sent events until the end, and reconnect after interruptions."""
    last, tried = "", 0
    while True:
        asked = 0.0
        try:
            connection = await exchange.connect()
            try:
                async with aclosing(_stream(exchange, connection, path, last)) as following:
                    async for seen, data in following:
                        last, tried = seen, 0
                        yield data
            finally:
                connection.close()
        except _StreamEnded:
            return
        except ServerRefused as refusal:
            if not refusal.is_passing:
                raise
            asked = refusal.retry_after
        except ssl.SSLCertVerificationError as error:
            raise _distrusted(exchange, error) from None
        except (OSError, ValueError):
            pass
        tried += 1
        await asyncio.sleep(_pause(exchange, tried, asked))


class TicketStream:
    """Follows many tickets over one connection while you iterate, and reconnects by itself.

    It yields each ticket's present state first, then each change; nothing is missed or repeated,
    whatever happens to the connection. Errors come as a `StreamProblem`.

    Args:
        exchange: To the server.
        tickets: The tickets to follow from the beginning.
    """

    def __init__(self, exchange: Exchange, tickets: Iterable[str] = ()) -> None:
        self._exchange = exchange
        self._followed: dict[str, None] = dict.fromkeys(tickets)
        self._seen: dict[str, int] = {}
        self._socket: ClientConnection | None = None

    async def follow(self, *tickets: str) -> None:
        """Follow these tickets too."""
        new = [each for each in tickets if each not in self._followed]
        self._followed.update(dict.fromkeys(new))
        await self._say("follow", new, 0)

    async def unfollow(self, *tickets: str) -> None:
        """Stop following these tickets."""
        for ticket in tickets:
            self._followed.pop(ticket, None)
            self._seen.pop(ticket, None)
        await self._say("unfollow", list(tickets), 0)

    async def __aiter__(self) -> AsyncIterator[StreamEvent | StreamProblem]:
        """Yield what happens to the tickets, for ever."""
        connect, lost = _websockets()
        tried = 0
        while True:
            asked = 0.0
            try:
                async with connect(
                    f"ws{self._exchange.url.removeprefix('http')}/v1/stream",
                    additional_headers=self._exchange.credential,
                    ssl=self._exchange.tls,
                    compression=None,
                    proxy=None,
                    max_size=MESSAGE_BYTES_MAX,
                ) as socket:
                    self._socket = socket
                    await self._resume()
                    async for text in socket:
                        tried = 0
                        if (event := self._heard(text)) is not None:
                            yield event
            except lost as error:
                asked = _asked(error)
            except ssl.SSLCertVerificationError as error:
                raise _distrusted(self._exchange, error) from None
            except (OSError, TimeoutError):
                pass
            finally:
                self._socket = None
            tried += 1
            await asyncio.sleep(_pause(self._exchange, tried, asked))

    def _heard(self, text: str | bytes) -> StreamEvent | StreamProblem | None:
        """Return what a message says, None if it was said before."""
        if msgspec.json.decode(text, type=_SocketMessage).event == "problem":
            problem = msgspec.json.decode(text, type=StreamProblem)
            if problem.ticket is not None:
                self._followed.pop(problem.ticket, None)
                self._seen.pop(problem.ticket, None)
            return problem
        event = msgspec.json.decode(text, type=StreamEvent)
        ticket = event.ticket.id
        # A lower number was not said before: the server was set back to a copy of its journal.
        if ticket not in self._followed or event.sequence == self._seen.get(ticket):
            return None
        if event.event in OVER:
            del self._followed[ticket]
            self._seen.pop(ticket, None)
        else:
            self._seen[ticket] = event.sequence
        return event

    async def _resume(self) -> None:
        """Follow everything again; of what was seen, only what is newer.

        One record may have changed several tickets, of which the connection's end cut some off:
        so the last sequence is asked for once more, and what comes twice is dropped.
        """
        known = [ticket for ticket in self._followed if ticket in self._seen]
        new = [ticket for ticket in self._followed if ticket not in self._seen]
        after = max(self._seen.values(), default=1) - 1
        await self._say("follow", known, after)
        await self._say("follow", new, 0)

    async def _say(self, word: str, tickets: list[str], after: int) -> None:
        """Send a message; without a connection, it is said when there is one."""
        _, lost = _websockets()
        for start in range(0, len(tickets), IDS_AT_ONCE):
            if self._socket is None:
                return
            some = {word: tickets[start : start + IDS_AT_ONCE], "after": after}
            try:
                await self._socket.send(msgspec.json.encode(some).decode())
            except lost:
                return


class _StreamEnded(Exception):
    """The server will send nothing more on a stream."""


class _SocketMessage(msgspec.Struct, frozen=True, gc=False):
    event: str


async def _stream(
    exchange: Exchange, connection: Connection, path: str, last: str
) -> AsyncGenerator[tuple[str, bytes], None]:
    more = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
    target = exchange.target(path)
    connection.send("GET", target, exchange.headers(Request("GET", path), more))
    async with asyncio.timeout(exchange.timeout):
        status, headers = await connection.head()
    if status >= 300:
        raise error_of(HttpResponse(status, headers, await connection.body()))
    if status == 204:
        raise _StreamEnded
    text = b""
    async for chunk in _heard_in_time(connection.chunks()):
        *frames, text = (text + chunk).split(b"\n\n")
        for frame in frames:
            fields = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
            if b"data" in fields:
                yield fields[b"id"].decode(), fields[b"data"]


async def _heard_in_time(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield them as they come; who went away without a word is lost after a while."""
    while True:
        try:
            async with asyncio.timeout(SILENT_MOST):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        yield chunk


def _distrusted(exchange: Exchange, error: ssl.SSLCertVerificationError) -> ServerUnreachable:
    """Return the error of a certificate that will not be another one by itself."""
    return ServerUnreachable(f"no answer from {exchange.url}: {error}")


def _pause(exchange: Exchange, tried: int, asked: float) -> float:
    """Return the seconds before the next try to come back; not all clients come at once."""
    most = min(RESUME_MOST, RESUME_SECONDS * doubled(tried))
    return min(asked, ASKED_MOST) + most * (0.5 + exchange.chance()) / 1.5


def _websockets() -> tuple[Any, Any]:
    """Return what opens a WebSocket, and the errors of one that is lost."""
    try:
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException
    except ImportError:
        raise ConfigError(
            "following many tickets needs the package websockets: pip install evenmatch[server]"
        ) from None
    return connect, WebSocketException


def _asked(error: Exception) -> float:
    """Return how long the server wants to be left alone; raise what will not pass."""
    response = getattr(error, "response", None)
    if response is None:
        return 0.0
    headers = {key.lower().encode(): value.encode() for key, value in response.headers.raw_items()}
    refusal = error_of(HttpResponse(response.status_code, headers, bytes(response.body or b"")))
    if response.status_code not in PASSING and response.status_code < 500:
        raise refusal from None
    return refusal.retry_after
