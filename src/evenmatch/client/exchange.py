"""Sends requests over kept connections, and repeats those that may be repeated.

A request is repeated where that can do no harm: it changes nothing, it has an idempotency key, or
doing it twice is doing it once. It is repeated after a lost connection and after answers that pass,
a proxy's that finds no server among them, with pauses that double and are drawn by chance, so that
a thousand clients of a server that comes back do not all come at once. A queue that an operator
paused is no overload: it may stay so for long, and the caller is told at once; so they are where
the server asks for more than a minute.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from evenmatch.errors import ConfigError, MatchmakingError, Paused
from evenmatch.wire.http1 import Connection, Headers, HttpResponse, authority_of
from evenmatch.wire.tickets import Problem

RESUME_SECONDS = 1.0
"""How long a client waits before it tries again, unless the server says."""
ASKED_MOST = 60.0
"""The longest time for which a client waits because a server asks for it."""
DOUBLED_MOST = 20
"""How often a pause may double; beyond, it is at its limit."""


def retry_after(headers: Headers) -> float:
    """Return after how many seconds a server wants the next try."""
    with suppress(ValueError):
        seconds = float(headers.get(b"retry-after", b""))
        if 0.0 <= seconds < math.inf:
            return seconds
    return RESUME_SECONDS


PASSING = (408, 429, 502, 503, 504)
"""Statuses of answers that may be other ones later; 502 and 504 are those of proxies."""
HTTPS_PORT = 443

ShapeT = TypeVar("ShapeT")
Chance = Callable[[], float]
"""Draws a number in [0, 1)."""


class ServerRefused(MatchmakingError):
    """The server answered with an error.

    `status` is the HTTP status and `code` the word from the [list of errors](errors.md) by which
    programs tell errors apart. `message` is a sentence for people, and `where` is the part of the
    request that is wrong. `ticket`, `match`, `next` and `seconds` are there if the error has them.

    Args:
        status: The HTTP status.
        problem: The server's answer; each of its fields is an attribute, and `error` is `code`.
        retry_after: Seconds after which to try again, if that can help.

    Example:
        >>> from evenmatch.wire.tickets import Problem
        >>> try:
        ...     raise ServerRefused(409, Problem("already_waiting", "ann is already waiting"))
        ... except ServerRefused as error:
        ...     print(error.status, error.code, error.message)
        409 already_waiting ann is already waiting
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
        self.seconds = problem.seconds
        self.retry_after = retry_after

    @property
    def is_passing(self) -> bool:
        """Return whether the same request may succeed later."""
        return self.status in PASSING


class ServerUnreachable(MatchmakingError, ConnectionError):
    """The server did not answer: it is down, unreachable or too slow."""


class Retry(msgspec.Struct, frozen=True):
    """How often a request is tried, and how long the pauses between tries are.

    Args:
        tries: How often to try in all; 1 repeats nothing.
        first: The longest first pause in seconds; each further pause may be twice as long as the
            last.
        most: The longest pause in seconds, unless the server asks for more.
    """

    tries: int = 5
    first: float = 0.25
    most: float = 10.0

    def pause(self, tried: int, asked: float, chance: Chance) -> float:
        """Return the seconds before the next try; at least what the server asked for."""
        return asked + chance() * min(self.most, self.first * doubled(tried))


def doubled(tried: int) -> float:
    """Return how many times as long as the first pause the pause after so many tries is."""
    return 2.0 ** min(tried - 1, DOUBLED_MOST)


class Request(msgspec.Struct, frozen=True):
    """One request.

    Args:
        method: Of HTTP.
        path: With its query.
        body: As it goes out.
        key: The idempotency key.
        wait: Seconds for which the server may hold the answer back.
        may_repeat: Whether doing it twice is doing it once.
    """

    method: str
    path: str
    body: bytes = b""
    key: str | None = None
    wait: float = 0.0
    may_repeat: bool = True


class Exchange:
    """Requests to one server, over connections that are kept.

    Args:
        url: `http://host:port` or `https://host:port`; a path stands before that of each request.
        token: A service key or a player's token, sent with each request.
        connections_max: Requests under way at the same time; as many long polls come on top, and
            streams too.
        timeout: Seconds until an answer must be there, a long poll's as many more as the server may
            hold it; and, but for long polls, until there is a place among those under way.
        retry: How often is tried.
        tls: For https; None means the system's certificates.
        chance: Draws the pauses.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        connections_max: int = 64,
        timeout: float = 30.0,
        retry: Retry | None = None,
        tls: ssl.SSLContext | None = None,
        chance: Chance | None = None,
    ) -> None:
        self._host, port, self._prefix, is_tls = _address_of(url)
        if token is not None and not _is_token(token):
            raise ConfigError(
                "a token is printable ASCII text without blanks around it; give it as it was made, "
                "or None"
            )
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.retry = retry or Retry()
        self.chance = chance or random.SystemRandom().random
        self.token = token
        self.tls = (tls or ssl.create_default_context()) if is_tls else None
        # As in a URL: a host header that has an IPv6 address without brackets means another host.
        self._port = port or (HTTPS_PORT if is_tls else 80)
        self._authority = authority_of(self._host, self._port)
        self._connections_max = connections_max
        self._homes: dict[tuple[int, asyncio.AbstractEventLoop], _Home] = {}

    def _home(self) -> _Home:
        """Return what belongs to this process and this loop; others' answers would be mixed up."""
        here = (os.getpid(), asyncio.get_running_loop())
        home = self._homes.get(here)
        if home is None:
            for process, loop in [*self._homes]:
                # Dropped, another process's would be closed in its loop, which goes on there.
                if process == here[0] and loop.is_closed():
                    self._homes.pop((process, loop), None)
            home = self._homes[here] = _Home(self._connections_max)
        return home

    async def close(self) -> None:
        """Close all connections of this loop."""
        idle = self._home().idle
        while idle:
            await idle.pop().closed()

    async def ask(self, request: Request, shape: type[ShapeT]) -> ShapeT:
        """Send a request, and return its answer as this type.

        Raises:
            ServerRefused: It is an error.
            ServerUnreachable: There is none, or it is none of this server's.
        """
        answer = await self.answer(request)
        if answer.status >= 300:
            raise error_of(answer)
        try:
            return msgspec.json.decode(answer.body, type=shape)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ServerUnreachable(
                f"the server at {self.url} is not an evenmatch server, or has another version: "
                f"{error}"
            ) from None

    async def answer(self, request: Request) -> HttpResponse:
        """Send a request, as often as it may be tried, and return the answer."""
        tries, tried = self.retry.tries, 0
        while True:
            tried += 1
            asked = 0.0
            try:
                answer = await self.once(request)
            except ServerUnreachable:
                if tried >= tries or not request.may_repeat:
                    raise
            else:
                if tried >= tries or not _is_repeated(request, answer):
                    return answer
                asked = retry_after(answer.headers)
            await asyncio.sleep(self.retry.pause(tried, asked, self.chance))

    async def once(self, request: Request) -> HttpResponse:
        """Send a request once, and return the answer."""
        headers = self.headers(request)
        home = self._home()
        is_poll, limit = request.wait > 0.0, self.timeout + request.wait
        places = home.poll_places if is_poll else home.places
        late = f"connections_max is {self._connections_max}, and all are taken by other requests"
        try:
            # A long poll waits anyway: there, no place for it yet is no trouble.
            async with asyncio.timeout(None if is_poll else limit) as clock, places:
                late = "it took too long"
                clock.reschedule(asyncio.get_running_loop().time() + limit)
                return await self._send(request, headers)
        except (OSError, TimeoutError, ValueError) as error:
            reason = late if isinstance(error, TimeoutError) else str(error)
            raise ServerUnreachable(f"no answer from {self.url}: {reason}") from None

    def headers(self, request: Request, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the headers of a request.

        Raises:
            ConfigError: A header could not go out as it is, or would begin another one.
        """
        headers = {"Host": self._authority}
        if request.body:
            headers["Content-Type"] = "application/json"
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            headers["Content-Length"] = str(len(request.body))
        if request.key is not None:
            headers["Idempotency-Key"] = request.key
        headers |= {**self.credential, **(more or {})}
        for line in (request.path, *headers.values()):
            if not (line.isascii() and line.isprintable() and line == line.strip()):
                raise ConfigError(
                    f"a header is one line of printable text in ASCII, without blanks around it, "
                    f"got {line[:80]!r}"
                )
        return headers

    @property
    def credential(self) -> dict[str, str]:
        """Return the header with the caller's credential."""
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    async def connect(self) -> Connection:
        """Return a new connection.

        Raises:
            OSError: Nobody answers there, or not in time.
        """
        async with asyncio.timeout(self.timeout):
            return await Connection.open(self._host, self._port, self.tls)

    def target(self, path: str) -> str:
        """Return the target of a request: its path, after the path of the server's address."""
        return self._prefix + path

    async def _send(self, request: Request, headers: Mapping[str, str]) -> HttpResponse:
        connection = await self._connection()
        was_used = connection.is_used
        try:
            return await self._answer(connection, request, headers)
        except OSError:
            # A kept connection that was closed meanwhile says nothing about the server.
            if not (was_used and request.may_repeat):
                raise
        return await self._answer(await self.connect(), request, headers)

    async def _answer(
        self, connection: Connection, request: Request, headers: Mapping[str, str]
    ) -> HttpResponse:
        try:
            connection.send(request.method, self.target(request.path), headers, request.body)
            answer = await connection.response()
        except BaseException:
            connection.close()
            raise
        if connection.is_free:
            self._home().idle.append(connection)
        else:
            connection.close()
        return answer

    async def _connection(self) -> Connection:
        idle = self._home().idle
        while idle:
            connection = idle.pop()
            if connection.is_free:
                return connection
            connection.close()
        return await self.connect()


class _Home:
    """The connections of one loop, and the places of requests there."""

    def __init__(self, connections_max: int) -> None:
        self.idle: list[Connection] = []
        # Long polls have places of their own: they would keep an answer to a ready-check waiting.
        self.places = asyncio.Semaphore(connections_max)
        self.poll_places = asyncio.Semaphore(connections_max)


def _is_token(text: str) -> bool:
    """Return whether a header can say this token as it is."""
    return text.isascii() and text.isprintable() and text == text.strip() != ""


def _is_repeated(request: Request, answer: HttpResponse) -> bool:
    """Return whether a request may be tried again right after this answer."""
    # A server that has too much to do has done nothing.
    may_repeat = request.may_repeat or answer.status == 429
    if answer.status not in PASSING or not may_repeat or retry_after(answer.headers) > ASKED_MOST:
        return False
    return error_of(answer).code != Paused.code


def _address_of(url: str) -> tuple[str, int | None, str, bool]:
    """Return host, port, the path before all others, and whether it is https.

    Raises:
        ConfigError: It is none, or says more than an address.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    else:
        if parts.scheme not in ("http", "https") or parts.query or parts.fragment or "@" in url:
            host = None
    if not host or not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigError(f"the server's address must look like http://host:port, got {url!r}")
    return host, port, parts.path.rstrip("/"), parts.scheme == "https"


def error_of(answer: HttpResponse) -> ServerRefused:
    """Return the error that an answer describes."""
    try:
        problem = msgspec.json.decode(answer.body, type=Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        text = (
            answer.body[:200].decode(errors="replace") or f"the answer has status {answer.status}"
        )
        problem = Problem("http_error", text)
    return ServerRefused(answer.status, problem, retry_after=retry_after(answer.headers))
