"""Routes requests past ASGI at a node of a cluster, in the place of the gate of a server alone.

A create goes to its shard here, or in a frame to its owner; an input about a ticket or match goes
this way where its shard is here. The `DirectRouter` judges no caller: the gate of the shard does,
on whichever node that is. What cannot go this way takes the longer one over ASGI.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from evenmatch.errors import JournalUnavailable, MatchmakingError
from evenmatch.server.auth.authenticate import Authenticator
from evenmatch.server.auth.principal import NOBODY
from evenmatch.server.cluster.ask_shards import whole_answer
from evenmatch.server.cluster.forwarding import OWNER, UNKNOWN
from evenmatch.server.cluster.frames import (
    FRAME_BYTES_MAX,
    AnswerFrame,
    CreateFrame,
    FrameLink,
    FrameServer,
)
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.http.app import CREATE_PATH, App
from evenmatch.server.http.create_tickets import ADVICE
from evenmatch.server.http.responses import (
    Asgi,
    Headers,
    Receive,
    Scope,
    Send,
    answer_of,
    check_length,
    too_large,
)
from evenmatch.server.http.whole_requests import Reply, WholeRequest
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.logs import log

FRAMED_BYTES_MAX = FRAME_BYTES_MAX // 2
"""Bytes of a body that goes in a frame, with its headers; larger ones go the longer way."""


class RequestRoutes(Protocol):
    """Where a node can send a request."""

    def seat_of(self, scope: Scope, body: bytes) -> Seat | None:
        """Return the shard of a create, None if it is unknown or there are several."""
        ...

    def games_of(self, scope: Scope) -> Games | None:
        """Return what answers a request that names a ticket or match; None if that is elsewhere."""
        ...

    def link_to(self, seat: Seat) -> FrameLink | None:
        """Return a connection to the owner, None if there is none now."""
        ...

    async def route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request the longer way."""
        ...

    def answered(self, scope: Scope, status: int, began: float) -> None:
        """Count an answer that comes from no shard."""
        ...


class DirectRouter:
    """Sends each request to the shard that it is about.

    Args:
        routes: Those of the node.
        body_bytes_max: Most bytes of a body that any game takes; each gate checks its own limit.
    """

    advice = ADVICE
    stopwatch = staticmethod(Clocks().stopwatch)

    def __init__(self, routes: RequestRoutes, body_bytes_max: int) -> None:
        self._routes = routes
        self.body_bytes_max = body_bytes_max
        self._tasks: set[asyncio.Task[None]] = set()

    def way_of(self, scope: Scope) -> DirectRouter | Authenticator | None:
        """Return who lets a request in past ASGI; None if it has to go by it.

        Of an input about a ticket or match, that is the gate of its shard, if the shard is here.
        """
        if scope["path"] == CREATE_PATH:
            return self if scope["method"] == "POST" else None
        games = self._routes.games_of(scope)
        return None if games is None else games.gate.way_of(scope)

    def let_in(self, scope: Scope) -> DirectRouter:
        """Let everybody come this far."""
        scope["principal"] = NOBODY
        return self

    def direct(self, scope: Scope) -> DirectRouter:
        """Return what takes creates."""
        del scope
        return self

    def check(self, scope: Scope) -> None:
        """Refuse a request whose header announces too large a body.

        Raises:
            BodyTooLarge: It is.
        """
        check_length(scope, self.body_bytes_max, ADVICE)

    def refuse(self, request: WholeRequest, error: MatchmakingError) -> None:
        """Answer a request with what is wrong with it."""
        status, body, headers = answer_of(error)
        self._routes.answered(request.scope, status, request.began)
        request.reply(status, body, headers)

    def fail(self, request: WholeRequest, error: Exception) -> None:
        """Answer a request that met an unexpected error."""
        log.error("create_failed", error=repr(error), exc_info=error)
        self.refuse(request, JournalUnavailable(UNKNOWN))

    def take(self, request: WholeRequest) -> None:
        """Take a request whose body is complete."""
        try:
            self._take(request)
        except MatchmakingError as error:
            self.refuse(request, error)

    def _take(self, request: WholeRequest) -> None:
        scope, body = request.scope, request.body
        seat = self._routes.seat_of(scope, body)
        games = None if seat is None else seat.present
        link = None if seat is None or games is not None else self._routes.link_to(seat)
        if games is not None:
            submit_create(
                games, scope, _CreateBody(body, request.reply, request.is_gone, request.began)
            )
        elif link is None or seat is None or not link.is_free or len(body) > FRAMED_BYTES_MAX:
            self._route_elsewhere(request)
        else:

            def done(answer: AnswerFrame | None) -> None:
                self._done(request, answer)

            client = (scope.get("client") or ("", 0))[0]
            link.send_create(seat.about, client, scope["headers"], body, done)

    def _done(self, request: WholeRequest, answer: AnswerFrame | None) -> None:
        if answer is None:
            self.refuse(request, JournalUnavailable(UNKNOWN))
        elif answer.headers is not None and any(name == OWNER for name, _ in answer.headers):
            # It was not taken there; the longer way finds the owner.
            self._route_elsewhere(request)
        else:
            request.reply(answer.status, answer.body, answer.headers)

    def _route_elsewhere(self, request: WholeRequest) -> None:
        start_task(
            self._tasks,
            answer_by_asgi(self._routes.route, request.scope, request.body, request.reply),
        )


class _CreateBody(NamedTuple):
    """A request without its scope."""

    body: bytes
    reply: Reply
    is_gone: Callable[[], bool]
    began: float


def submit_create(games: Games, scope: Scope, create: _CreateBody) -> None:
    """Hand a create to the gate of its game; the answer comes with a commit.

    Raises:
        MatchmakingError: The gate refuses it.
    """
    app = games.gate.let_in(scope)
    assert isinstance(app, App)
    creates = app.direct(scope)
    creates.check(scope)
    if len(create.body) > creates.body_bytes_max:
        raise too_large(creates.body_bytes_max, ADVICE)
    creates.take(WholeRequest(scope, *create))


class FrameResponder:
    """Answers the frames of other nodes.

    Args:
        seat_of: Returns a shard by its name.
        longer: Answers a request for a shard that is not here now.
    """

    def __init__(
        self,
        seat_of: Callable[[str], Seat | None],
        longer: Callable[[Scope, Receive, Send, str], Awaitable[None]],
    ) -> None:
        self._seat_of = seat_of
        self._longer = longer
        self._tasks: set[asyncio.Task[None]] = set()

    def answer(self, frame: CreateFrame, server: FrameServer) -> None:
        """Take one request."""

        def reply(status: int, body: bytes, headers: Headers | None) -> None:
            server.reply(AnswerFrame(frame.number, status, body, headers))

        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": CREATE_PATH,
            "raw_path": CREATE_PATH.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": frame.headers,
            "client": (frame.client, 0),
        }
        seat = self._seat_of(frame.about)
        games = None if seat is None else seat.present
        if games is None:

            async def longer(scope: Scope, receive: Receive, send: Send) -> None:
                await self._longer(scope, receive, send, frame.about)

            start_task(self._tasks, answer_by_asgi(longer, scope, frame.body, reply))
            return
        try:
            create = _CreateBody(
                frame.body, reply, lambda: server.is_lost, DirectRouter.stopwatch()
            )
            submit_create(games, scope, create)
        except MatchmakingError as error:
            reply(*answer_of(error))


def start_task(tasks: set[asyncio.Task[None]], work: Awaitable[None]) -> None:
    """Start a task, and hold it in a set until it is done."""
    task = asyncio.ensure_future(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def answer_by_asgi(app: Asgi, scope: Scope, body: bytes, reply: Reply) -> None:
    """Answer over ASGI a request whose body has already arrived, whatever happens on the way.

    Nobody waits for this task: an error that left it would leave the client without an answer.
    """
    try:
        status, headers, answer = await whole_answer(app, scope, body)
    except MatchmakingError as error:
        reply(*answer_of(error))
    except Exception as error:  # noqa: BLE001
        log.error("create_failed", error=repr(error), exc_info=error)
        reply(*answer_of(JournalUnavailable(UNKNOWN)))
    else:
        reply(status, answer, list(headers))
