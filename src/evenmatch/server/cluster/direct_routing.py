"""Routes requests past ASGI at a node of a cluster, in the place of the gate of a server alone.

A create, and what is to be done with a ticket or match, goes to its shard here, or in a frame to
its owner. The `DirectRouter` judges no caller: the gate of the shard does, on whichever node that
is. What cannot go this way takes the longer one over ASGI.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from evenmatch.errors import JournalUnavailable, MatchmakingError
from evenmatch.server.auth.principal import NOBODY
from evenmatch.server.cluster.ask_shards import whole_answer
from evenmatch.server.cluster.forwarding import OWNER, UNKNOWN
from evenmatch.server.cluster.frames import (
    FRAME_BYTES_MAX,
    AnswerFrame,
    FrameLink,
    FrameServer,
    RequestFrame,
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
    internal_problem,
    too_large,
)
from evenmatch.server.http.whole_requests import DirectRoute, Reply, WholeRequest
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.logs import log

FRAMED_BYTES_MAX = FRAME_BYTES_MAX // 2
"""Bytes of a body that goes in a frame, with its headers; larger ones go the longer way."""
FRAMED_METHODS = frozenset({"POST", "PUT"})
"""Those of which all answers are short, and come whole."""


class RequestRoutes(Protocol):
    """Where a node can send a request."""

    def seat_of_create(self, scope: Scope, body: bytes) -> Seat | None:
        """Return the shard of a create, None if it is unknown or there are several."""
        ...

    def seat_of_id(self, scope: Scope) -> Seat | None:
        """Return the shard of a request that names a ticket or match; None if it names none."""
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
        advice: What to do about a body that is too large, where it is no create.
    """

    stopwatch = staticmethod(Clocks().stopwatch)

    def __init__(self, routes: RequestRoutes, body_bytes_max: int, advice: str = "") -> None:
        self._routes = routes
        self.body_bytes_max = body_bytes_max
        self.advice = advice
        self._creates = self if advice else DirectRouter(routes, body_bytes_max, ADVICE)
        self._tasks: set[asyncio.Task[None]] = set()

    def way_of(self, scope: Scope) -> DirectRouter | LocalRoute | None:
        """Return who lets a request in past ASGI; None if it has to go by it.

        Of a request about a ticket or match, that is the gate of its shard, if the shard is here.
        """
        if scope["path"] == CREATE_PATH:
            return self if scope["method"] == "POST" else None
        seat = self._routes.seat_of_id(scope)
        if seat is None:
            return None
        if (games := seat.present) is not None:
            return LocalRoute(self, seat, games).way_of(scope)
        is_framed = scope["method"] in FRAMED_METHODS and self._free_link(seat) is not None
        return self if is_framed else None

    def _free_link(self, seat: Seat) -> FrameLink | None:
        link = self._routes.link_to(seat)
        return link if link is not None and link.is_free else None

    def let_in(self, scope: Scope) -> DirectRouter:
        """Let everybody come this far."""
        scope["principal"] = NOBODY
        return self

    def direct(self, scope: Scope) -> DirectRouter:
        """Return what takes a request."""
        return self._creates if scope["path"] == CREATE_PATH else self

    def check(self, scope: Scope) -> None:
        """Refuse a request whose header announces too large a body.

        Raises:
            BodyTooLarge: It is.
        """
        check_length(scope, self.body_bytes_max, self.advice)

    def refuse(self, request: WholeRequest, error: MatchmakingError) -> None:
        """Answer a request with what is wrong with it."""
        status, body, headers = answer_of(error)
        self._routes.answered(request.scope, status, request.began)
        request.reply(status, body, headers)

    def fail(self, request: WholeRequest, error: Exception) -> None:
        """Answer a request that met an unexpected error."""
        log.error("forwarding_failed", error=repr(error), exc_info=error)
        self.refuse(request, JournalUnavailable(UNKNOWN))

    def take(self, request: WholeRequest) -> None:
        """Take a request whose body is complete."""
        try:
            self._take(request)
        except MatchmakingError as error:
            self.refuse(request, error)

    def _take(self, request: WholeRequest) -> None:
        scope, body, routes = request.scope, request.body, self._routes
        is_create = scope["path"] == CREATE_PATH
        seat = routes.seat_of_create(scope, body) if is_create else routes.seat_of_id(scope)
        games = None if seat is None else seat.present
        link = None if seat is None or games is not None else self._free_link(seat)
        if games is not None:
            whole = _Whole(body, request.reply, request.is_gone, request.began)
            if not hand_in(games, scope, whole):
                self._route_elsewhere(request)
        elif link is None or seat is None or len(body) > FRAMED_BYTES_MAX:
            self._route_elsewhere(request)
        else:

            def done(answer: AnswerFrame | None) -> None:
                self._done(request, answer)

            link.send_request(seat.about, scope, body, done)

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


class LocalRoute:
    """What takes one request for a shard that is here when its head comes.

    Its gate says at once who may send a body. The shard may have gone to another node by the time
    at which that is whole: then the router takes the request as one that has just come.

    Args:
        router: Takes it then.
        seat: Of the shard.
        games: The game that is in the seat now.
    """

    __slots__ = ("_app", "_games", "_route", "_router", "_seat")
    _app: App
    _route: DirectRoute

    def __init__(self, router: DirectRouter, seat: Seat, games: Games) -> None:
        self._router = router
        self._seat = seat
        self._games = games

    def way_of(self, scope: Scope) -> LocalRoute | None:
        """Return this, or None if the request has to go by ASGI."""
        return None if self._games.gate.way_of(scope) is None else self

    def let_in(self, scope: Scope) -> LocalRoute:
        """Name the caller of the request.

        Raises:
            MatchmakingError: They are turned away.
        """
        app = self._games.gate.let_in(scope)
        assert isinstance(app, App)
        self._app = app
        return self

    def direct(self, scope: Scope) -> LocalRoute:
        """Find the route of the game.

        Raises:
            MatchmakingError: The request comes by a name that is not allowed.
        """
        self._route = self._app.direct(scope)
        return self

    @property
    def body_bytes_max(self) -> int:
        """Return how many bytes a body may have."""
        return self._route.body_bytes_max

    @property
    def advice(self) -> str:
        """Return what to do about a body that is too large."""
        return self._route.advice

    @property
    def stopwatch(self) -> Callable[[], float]:
        """Return the clock of the route."""
        return self._route.stopwatch

    def check(self, scope: Scope) -> None:
        """Refuse the request before its body is here.

        Raises:
            MatchmakingError: Its caller may not do that, or its body is too large.
        """
        self._route.check(scope)

    def refuse(self, request: WholeRequest, error: MatchmakingError) -> None:
        """Answer the request with what is wrong with it."""
        self._route.refuse(request, error)

    def fail(self, request: WholeRequest, error: Exception) -> None:
        """Answer the request, which met an unexpected error."""
        self._route.fail(request, error)

    def take(self, request: WholeRequest) -> None:
        """Take the request, which is whole now."""
        if self._seat.present is self._games:
            self._route.take(request)
        else:
            request.began = self._router.stopwatch()
            self._router.take(request)


class _Whole(NamedTuple):
    """A request without its scope."""

    body: bytes
    reply: Reply
    is_gone: Callable[[], bool]
    began: float


def hand_in(games: Games, scope: Scope, whole: _Whole) -> bool:
    """Hand a request to the gate of its game; the answer comes with a commit.

    Returns:
        Whether the game takes it past ASGI.

    Raises:
        MatchmakingError: The gate refuses it; a route answers itself, and counts what it refuses.
    """
    gate = games.gate
    if gate.way_of(scope) is None:
        return False
    app = gate.let_in(scope)
    assert isinstance(app, App)
    route = app.direct(scope)
    request = WholeRequest(scope, *whole)
    try:
        route.check(scope)
        if len(whole.body) > route.body_bytes_max:
            raise too_large(route.body_bytes_max, route.advice)
        route.take(request)
    except MatchmakingError as error:
        route.refuse(request, error)
    except Exception as error:  # noqa: BLE001
        route.fail(request, error)
    return True


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

    def answer(self, frame: RequestFrame, server: FrameServer) -> None:
        """Take one request."""

        def reply(status: int, body: bytes, headers: Headers | None) -> None:
            server.reply(AnswerFrame(frame.number, status, body, headers))

        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": frame.method,
            "scheme": "http",
            "path": frame.path,
            "raw_path": frame.path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": frame.headers,
            "client": (frame.client, 0),
        }
        seat = self._seat_of(frame.about)
        games = None if seat is None else seat.present
        whole = _Whole(frame.body, reply, lambda: server.is_lost, DirectRouter.stopwatch())
        try:
            if games is not None and hand_in(games, scope, whole):
                return
        except MatchmakingError as error:
            reply(*answer_of(error))
            return
        except Exception as error:  # noqa: BLE001
            # It must not end the connection, which has the requests of others.
            log.error("unexpected_error", route="gate", error=repr(error), exc_info=error)
            reply(500, internal_problem(), None)
            return

        async def longer(scope: Scope, receive: Receive, send: Send) -> None:
            await self._longer(scope, receive, send, frame.about)

        start_task(self._tasks, answer_by_asgi(longer, scope, frame.body, reply))


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
        log.error("forwarding_failed", error=repr(error), exc_info=error)
        reply(*answer_of(JournalUnavailable(UNKNOWN)))
    else:
        reply(status, answer, list(headers))
