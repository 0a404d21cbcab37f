"""A thin client: `AsyncClient` on asyncio's own streams, and `Client` for programs without a loop.

Connections are kept alive and reused. A request is repeated by itself only where that is safe:
where a kept connection turned out to be closed, and the request changes nothing or carries a key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from evenmatch.connection import RESUME_SECONDS, Answer, Connection, retry_after
from evenmatch.errors import ConfigError, MatchmakingError
from evenmatch.wire import (
    CreateTicket,
    ItemCreated,
    ItemProblem,
    Problem,
    TicketCancelled,
    TicketCreated,
    TicketState,
)
from evenmatch.wire_matches import FeedMatch, FeedPage

POLL_SECONDS = 25.0
HEAD_MAX = 65_536

ShapeT = TypeVar("ShapeT")
ItemT = TypeVar("ItemT")


class ServerRefused(MatchmakingError):
    """The server answered with an error.

    Args:
        status: The HTTP status.
        problem: What the server said.
        retry_after: After how many seconds the same may be tried again, where that helps.
    """

    def __init__(
        self, status: int, problem: Problem, *, retry_after: float = RESUME_SECONDS
    ) -> None:
        super().__init__(f"{problem.message} ({problem.error})")
        self.status = status
        self.code = problem.error
        self.message = problem.message
        self.where = problem.where
        self.ticket = problem.ticket
        self.match = problem.match
        self.next = problem.next
        self.retry_after = retry_after

    @property
    def is_passing(self) -> bool:
        """Return whether the same request may succeed later."""
        return self.status in (429, 503)


class ServerUnreachable(MatchmakingError, ConnectionError):
    """No answer came: the server is away, or too slow."""


class AsyncClient:
    """Talks to one server: `async with AsyncClient("http://127.0.0.1:8080") as client`.

    Args:
        url: The server's address.
        connections_max: Requests under way at the same time; streams come on top.
        timeout: Seconds until an answer must be there, long polls left out.
    """

    def __init__(self, url: str, *, connections_max: int = 64, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ConfigError(f"the server's address must look like http://host:port, got {url!r}")
        self.url = url.rstrip("/")
        self.timeout = timeout
        self._host = parts.hostname
        self._port = parts.port or 80
        self._idle: list[Connection] = []
        self._turn = asyncio.Semaphore(connections_max)

    async def __aenter__(self) -> AsyncClient:
        """Return the client."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close all connections."""
        while self._idle:
            connection = self._idle.pop()
            connection.writer.close()
            with suppress(OSError):
                await connection.writer.wait_closed()

    # Tickets

    async def create(self, ticket: CreateTicket, *, key: str | None = None) -> TicketCreated:
        """Create a ticket; with a `key`, however often it is called, only once.

        Raises:
            ServerRefused: `already_waiting`, `invalid_ticket`, `overloaded`...
        """
        body = msgspec.json.encode(ticket)
        return await self._ask("POST", "/v1/tickets", TicketCreated, body=body, key=key)

    async def create_many(
        self, tickets: Sequence[CreateTicket], *, key: str | None = None
    ) -> list[ItemCreated | ItemProblem]:
        """Create up to 1,000 tickets; the answers are in the order of the tickets."""
        body = msgspec.json.encode(tickets)
        raw = await self._ask("POST", "/v1/tickets", list[msgspec.Raw], body=body, key=key)
        return [_item(each) for each in raw]

    async def get(self, ticket: str, *, wait: float = 0.0, state: str | None = None) -> TicketState:
        """Return a ticket; with `wait`, at its next change of state, or after so many seconds.

        With `state`, at once if the ticket is not in that state any more.
        """
        query = f"?wait={wait:g}" if wait else ""
        if wait and state is not None:
            query += f"&state={quote(state)}"
        return await self._ask("GET", f"/v1/tickets/{_id(ticket)}{query}", TicketState, wait=wait)

    async def cancel(self, ticket: str) -> str:
        """Take a waiting ticket back, and return its state.

        Raises:
            ServerRefused: `too_late`: it was matched before, and `match` says where.
        """
        path = f"/v1/tickets/{_id(ticket)}"
        return (await self._ask("DELETE", path, TicketCancelled)).state

    async def events(self, ticket: str) -> AsyncIterator[TicketState]:
        """Yield a ticket's present state, then each new one, until it ends; survive restarts."""
        path = f"/v1/tickets/{_id(ticket)}/events"
        async for data in self._follow(path):
            yield msgspec.json.decode(data, type=TicketState)

    # Matches and queues

    async def page(self, queue: str, after: int | None = None, *, wait: float = 0.0) -> FeedPage:
        """Return the matches after a record; without one, from the oldest that is kept.

        Raises:
            ServerRefused: `forgotten`: matches after it are gone, and `next` says where to go on.
        """
        known = "" if after is None else f"&after={after}"
        path = f"/v1/queues/{_id(queue)}/matches?wait={wait:g}{known}"
        return await self._ask("GET", path, FeedPage, wait=wait)

    async def matches(self, queue: str, after: int | None = None) -> AsyncIterator[FeedMatch]:
        """Yield every match of a queue, for ever; go on after the last `seq` that was handled.

        It survives restarts and a server that is overloaded or cannot write for a while.
        """
        while True:
            try:
                page = await self.page(queue, after, wait=POLL_SECONDS)
            except ServerUnreachable:
                await asyncio.sleep(RESUME_SECONDS)
                continue
            except ServerRefused as refusal:
                if not refusal.is_passing:
                    raise
                await asyncio.sleep(refusal.retry_after)
                continue
            for match in page.matches:
                yield match
            after = page.next

    async def healthz(self) -> bool:
        """Return whether the server lives."""
        try:
            return (await self._exchange("GET", "/healthz")).status == 200
        except ServerUnreachable:
            return False

    # HTTP

    async def _ask(
        self,
        method: str,
        path: str,
        shape: type[ShapeT],
        *,
        body: bytes = b"",
        key: str | None = None,
        wait: float = 0.0,
    ) -> ShapeT:
        answer = await self._exchange(method, path, body=body, key=key, wait=wait)
        if answer.status >= 400:
            raise _refused(answer)
        return msgspec.json.decode(answer.body, type=shape)

    async def _exchange(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        key: str | None = None,
        wait: float = 0.0,
    ) -> Answer:
        """Return one answer."""
        more = {} if key is None else {"Idempotency-Key": key}
        request = self._request(method, path, body, more)
        may_repeat = method in ("GET", "DELETE") or key is not None
        async with self._turn:
            try:
                async with asyncio.timeout(self.timeout + wait):
                    return await self._send(request, may_repeat)
            except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError) as error:
                reason = "it took too long" if isinstance(error, TimeoutError) else str(error)
                raise ServerUnreachable(f"no answer from {self.url}: {reason}") from None

    async def _send(self, request: bytes, may_repeat: bool) -> Answer:
        connection = await self._connection()
        was_used = connection.is_used
        try:
            return await self._answer(connection, request)
        except (OSError, asyncio.IncompleteReadError):
            if not (was_used and may_repeat):
                raise
        return await self._answer(await self._connect(), request)

    async def _answer(self, connection: Connection, request: bytes) -> Answer:
        try:
            connection.writer.write(request)
            status, headers = await connection.head()
            body = await connection.body(headers)
        except BaseException:
            connection.writer.close()
            raise
        if headers.get(b"connection", b"").lower() == b"close":
            connection.writer.close()
        else:
            connection.is_used = True
            self._idle.append(connection)
        return Answer(status, headers, body)

    async def _connection(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not (connection.writer.is_closing() or connection.reader.at_eof()):
                return connection
            connection.writer.close()
        return await self._connect()

    async def _connect(self) -> Connection:
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=HEAD_MAX)
        return Connection(reader, writer)

    def _request(self, method: str, path: str, body: bytes, more: dict[str, str]) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._host}:{self._port}"]
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        elif method in ("POST", "PUT"):
            lines.append("Content-Length: 0")
        lines += [f"{name}: {value}" for name, value in more.items()]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    async def _follow(self, path: str) -> AsyncIterator[bytes]:
        """Yield the data of server-sent events, and resume after interruptions."""
        last = ""
        while True:
            pause = RESUME_SECONDS
            try:
                connection = await self._connect()
                try:
                    async for seen, data in self._stream(connection, path, last):
                        last = seen
                        yield data
                finally:
                    connection.writer.close()
            except _Ended:
                return
            except ServerRefused as refusal:
                if not refusal.is_passing:
                    raise
                pause = refusal.retry_after
            except (OSError, asyncio.IncompleteReadError, ValueError):
                pass
            await asyncio.sleep(pause)

    async def _stream(
        self, connection: Connection, path: str, last: str
    ) -> AsyncIterator[tuple[str, bytes]]:
        more = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        connection.writer.write(self._request("GET", path, b"", more))
        status, headers = await connection.head()
        if status >= 400:
            raise _refused(Answer(status, headers, await connection.body(headers)))
        if status == 204:
            raise _Ended
        text = b""
        async for chunk in connection.chunks():
            *frames, text = (text + chunk).split(b"\n\n")
            for frame in frames:
                fields = dict(line.split(b": ", 1) for line in frame.split(b"\n") if b": " in line)
                if b"data" in fields:
                    yield fields[b"id"].decode(), fields[b"data"]


class _Ended(Exception):
    """The server has nothing more to say on a stream, now or later."""


class Client:
    """The same, for programs without an event loop: `with Client(url) as client`; one thread."""

    def __init__(self, url: str, *, timeout: float = 30.0) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncClient(url, timeout=timeout)

    def __enter__(self) -> Client:
        """Return the client."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close all connections."""
        self._run(self._client.__aexit__())
        self._runner.close()

    def create(self, ticket: CreateTicket, *, key: str | None = None) -> TicketCreated:
        """Create a ticket."""
        return self._run(self._client.create(ticket, key=key))

    def create_many(
        self, tickets: Sequence[CreateTicket], *, key: str | None = None
    ) -> list[ItemCreated | ItemProblem]:
        """Create up to 1,000 tickets."""
        return self._run(self._client.create_many(tickets, key=key))

    def get(self, ticket: str, *, wait: float = 0.0, state: str | None = None) -> TicketState:
        """Return a ticket; with `wait`, at its next change of state."""
        return self._run(self._client.get(ticket, wait=wait, state=state))

    def cancel(self, ticket: str) -> str:
        """Take a waiting ticket back, and return its state."""
        return self._run(self._client.cancel(ticket))

    def events(self, ticket: str) -> Iterator[TicketState]:
        """Yield a ticket's present state, then each new one, until it ends."""
        return self._iterate(self._client.events(ticket))

    def page(self, queue: str, after: int | None = None, *, wait: float = 0.0) -> FeedPage:
        """Return the matches that came after a record."""
        return self._run(self._client.page(queue, after, wait=wait))

    def matches(self, queue: str, after: int | None = None) -> Iterator[FeedMatch]:
        """Yield every match of a queue, for ever."""
        return self._iterate(self._client.matches(queue, after))

    def healthz(self) -> bool:
        """Return whether the server lives."""
        return self._run(self._client.healthz())

    def _run(self, work: Coroutine[Any, Any, ItemT]) -> ItemT:
        return self._runner.run(work)

    def _iterate(self, items: AsyncIterator[ItemT]) -> Iterator[ItemT]:
        async def following() -> ItemT:
            return await anext(items)

        while True:
            try:
                yield self._run(following())
            except StopAsyncIteration:
                return


def _item(raw: msgspec.Raw) -> ItemCreated | ItemProblem:
    if msgspec.json.decode(raw, type=_Status).status < 400:
        return msgspec.json.decode(raw, type=ItemCreated)
    return msgspec.json.decode(raw, type=ItemProblem)


class _Status(msgspec.Struct, frozen=True, gc=False):
    status: int


def _refused(answer: Answer) -> ServerRefused:
    try:
        problem = msgspec.json.decode(answer.body, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        problem = Problem("http_error", answer.body[:200].decode(errors="replace"))
    return ServerRefused(answer.status, problem, retry_after=retry_after(answer.headers))


def _id(name: str) -> str:
    return quote(name, safe="")
