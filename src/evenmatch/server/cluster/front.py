"""Creates at a node of which shards are elsewhere: past ASGI, here or by frames to the owner.

It stands where the gate of a game stands on a node alone, and judges nobody: the gate of the shard
does, wherever that is. What cannot go this way goes the longer one, as all other requests do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from evenmatch.errors import JournalUnavailable, MatchmakingError
from evenmatch.server.auth.principal import NOBODY
from evenmatch.server.cluster.ask_shards import whole_answer
from evenmatch.server.cluster.forwarding import OWNER, UNKNOWN
from evenmatch.server.cluster.frames import FRAME_BYTES_MAX, Ask, FrameLink, FrameServer, Told
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.http.app import CREATE_PATH, App
from evenmatch.server.http.create_tickets import ADVICE, CreateRequest
from evenmatch.server.http.responses import (
    Asgi,
    Headers,
    Receive,
    Scope,
    Send,
    check_length,
    encode,
    headers_of,
    problem_of,
    too_large,
)
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.logs import log

FRAMED_BYTES_MAX = FRAME_BYTES_MAX // 2
"""Bytes of a body that goes in a frame, with its headers; larger ones go the longer way."""
LATER: Headers = [(b"content-type", b"application/json"), (b"retry-after", b"1")]


class Ways(Protocol):
    """What a node knows of the ways of a request."""

    def seat_of(self, scope: Scope, body: bytes) -> Seat | None:
        """Return the shard of a create, None if it belongs to several or to nobody knows which."""
        ...

    def link_to(self, seat: Seat) -> FrameLink | None:
        """Return a connection to the owner, None if there is none now."""
        ...

    async def route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request the longer way."""
        ...


class Front:
    """The place of a gate, for creates.

    Args:
        ways: Those of the node.
        body_bytes_max: Bytes of a body, the most that any game takes; its gate checks its own.
    """

    stopwatch = staticmethod(Clocks().stopwatch)

    def __init__(self, ways: Ways, body_bytes_max: int) -> None:
        self._ways = ways
        self.body_bytes_max = body_bytes_max
        self._tasks: set[asyncio.Task[None]] = set()

    def let_in(self, scope: Scope) -> Front:
        """Let everybody come this far."""
        scope["principal"] = NOBODY
        return self

    def creates(self, scope: Scope) -> Front:
        """Return what takes creates."""
        del scope
        return self

    def check(self, scope: Scope) -> None:
        """Refuse a body that says itself that it is too large.

        Raises:
            BodyTooLarge: It is.
        """
        check_length(scope, self.body_bytes_max, ADVICE)

    def refuse(self, request: CreateRequest, error: MatchmakingError) -> None:
        """Answer a request with what is wrong."""
        status, problem = problem_of(error)
        request.reply(status, encode(problem), headers_of(error))

    def take(self, request: CreateRequest) -> None:
        """Take a whole request."""
        try:
            self._take(request)
        except MatchmakingError as error:
            self.refuse(request, error)

    def _take(self, request: CreateRequest) -> None:
        scope, body = request.scope, request.body
        seat = self._ways.seat_of(scope, body)
        games = None if seat is None else seat.present
        link = None if seat is None or games is not None else self._ways.link_to(seat)
        if games is not None:
            take_here(
                games, scope, _CreateBody(body, request.reply, request.is_gone, request.began)
            )
        elif link is None or seat is None or not link.is_free or len(body) > FRAMED_BYTES_MAX:
            self._begin(request)
        else:

            def done(told: Told | None) -> None:
                self._done(request, told)

            client = (scope.get("client") or ("", 0))[0]
            link.ask(seat.about, client, scope["headers"], body, done)

    def _done(self, request: CreateRequest, told: Told | None) -> None:
        if told is None:
            _, problem = problem_of(JournalUnavailable(UNKNOWN))
            request.reply(503, encode(problem), LATER)
        elif told.headers is not None and any(name == OWNER for name, _ in told.headers):
            # It was not taken there; the longer way finds the owner.
            self._begin(request)
        else:
            request.reply(told.status, told.body, told.headers)

    def _begin(self, request: CreateRequest) -> None:
        begin(self._tasks, collected(self._ways.route, request.scope, request.body, request.reply))


class _CreateBody(NamedTuple):
    """What a request is, but for its caller."""

    body: bytes
    reply: Callable[[int, bytes, Headers | None], None]
    is_gone: Callable[[], bool]
    began: float


def take_here(games: Games, scope: Scope, asked: _CreateBody) -> None:
    """Let the gate of a game judge a create, and hand it in; its answer comes with a commit.

    Raises:
        MatchmakingError: It may not be created.
    """
    app = games.gate.let_in(scope)
    assert isinstance(app, App)
    creates = app.creates(scope)
    creates.check(scope)
    if len(asked.body) > creates.body_bytes_max:
        raise too_large(creates.body_bytes_max, ADVICE)
    creates.take(CreateRequest(scope, *asked))


class FrameOwner:
    """Answers the frames of other nodes.

    Args:
        seat_of: Returns a shard by its name.
        longer: Answers a request for one that is not here now.
    """

    def __init__(
        self,
        seat_of: Callable[[str], Seat | None],
        longer: Callable[[Scope, Receive, Send, str], Awaitable[None]],
    ) -> None:
        self._seat_of = seat_of
        self._longer = longer
        self._tasks: set[asyncio.Task[None]] = set()

    def answer(self, ask: Ask, server: FrameServer) -> None:
        """Take one request."""

        def reply(status: int, body: bytes, headers: Headers | None) -> None:
            server.tell(Told(ask.number, status, body, headers))

        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": CREATE_PATH,
            "raw_path": CREATE_PATH.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": ask.headers,
            "client": (ask.client, 0),
        }
        seat = self._seat_of(ask.about)
        games = None if seat is None else seat.present
        if games is None:

            async def longer(scope: Scope, receive: Receive, send: Send) -> None:
                await self._longer(scope, receive, send, ask.about)

            begin(self._tasks, collected(longer, scope, ask.body, reply))
            return
        try:
            asked = _CreateBody(ask.body, reply, lambda: server.is_lost, Front.stopwatch())
            take_here(games, scope, asked)
        except MatchmakingError as error:
            status, problem = problem_of(error)
            reply(status, encode(problem), headers_of(error))


def begin(tasks: set[asyncio.Task[None]], work: Awaitable[None]) -> None:
    """Begin something beside all else."""
    task = asyncio.ensure_future(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def collected(
    app: Asgi, scope: Scope, body: bytes, reply: Callable[[int, bytes, Headers | None], None]
) -> None:
    """Answer a request by ASGI whose body is here already, whatever happens on the way.

    Nobody waits for this task: an error that it let through would leave its client without any
    answer.
    """
    try:
        status, headers, told = await whole_answer(app, scope, body)
    except MatchmakingError as error:
        status, problem = problem_of(error)
        reply(status, encode(problem), headers_of(error))
    except Exception as error:  # noqa: BLE001
        log.error("create_failed", error=repr(error), exc_info=error)
        _, problem = problem_of(JournalUnavailable(UNKNOWN))
        reply(503, encode(problem), LATER)
    else:
        reply(status, told, list(headers))
