"""The ASGI application: which handler answers which request, and what becomes of errors.

Creating tickets has a way of its own; everything else is a route of the table. Creates, and the
inputs of `input_routes`, also come past ASGI (`direct_requests`). Whatever goes wrong, a client
gets a status, a code and a sentence, never a traceback.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from evenmatch.errors import MatchmakingError, Refusal
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.authorize import guarded
from evenmatch.server.auth.principal import LOCAL, TooManyRequests, principal_of
from evenmatch.server.http.create_tickets import CreateTickets
from evenmatch.server.http.operation import WEBSOCKET, Server
from evenmatch.server.http.responses import (
    Disconnected,
    Message,
    Receive,
    Scope,
    Send,
    encode,
    give_up_on,
    header,
    headers_for,
    headers_of,
    internal_problem,
    problem_of,
    query_of,
    send_body,
)
from evenmatch.server.http.routing import NothingHere, RouteTable, route_name
from evenmatch.server.http.sockets import denying
from evenmatch.server.http.table import OPERATIONS
from evenmatch.server.http.whole_requests import DirectRoute
from evenmatch.server.runtime.services import Services
from evenmatch.wire.tickets import Problem

CREATE_PATH = "/v1/tickets"
STREAM_PATH = "/v1/stream"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
HOSTS_MAX = 64
"""Host headers that are remembered as welcome."""
TURNED_AWAY = "turned_away"
"""The key of a request's scope that says that its caller asked for too much."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class OriginNotAllowed(Refusal):
    """A web page, or whoever calls by another name, may not do that on a server without keys."""

    code = "origin_not_allowed"


class App:
    """The application of one game.

    Args:
        services: What it works with.
        accounts: Who may come in; left out, nobody needs a key, as on a server of one machine.
    """

    def __init__(self, services: Services, accounts: Accounts | None = None) -> None:
        self._services = services
        settings = services.runtime.plan.settings
        accounts = Accounts(settings) if accounts is None else accounts
        self._create = CreateTickets(services.runtime, services.metrics, accounts, services.keys)
        self._origins = settings.origins
        routes = [guarded(operation, Server(services, accounts)) for operation in OPERATIONS]
        services.metrics.expect_errors(f"{route.method} {route.path}" for route in routes)
        self._sockets = {route.path: route for route in routes if route.method == WEBSOCKET}
        self._routes = RouteTable(route for route in routes if route.method != WEBSOCKET)
        self._hosts = AllowedHosts(self._origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        is_socket = scope["type"] == "websocket"
        if scope["type"] != "http" and not is_socket:
            return
        try:
            self._check_origin(scope, is_safe=not is_socket and scope["method"] in SAFE_METHODS)
        except OriginNotAllowed as refusal:
            status, problem = problem_of(refusal)
            await send_body(denying(send) if is_socket else send, status, encode(problem))
            return
        if is_socket:
            await self._socket(scope, receive, send)
        elif scope["path"] == CREATE_PATH and scope["method"] == "POST":
            await self._create(scope, receive, send)
        else:
            await self._quiet(scope, receive, send)

    def takes(self, scope: Scope) -> bool:
        """Return whether it can answer a request past ASGI."""
        if scope["path"] == CREATE_PATH:
            return bool(scope["method"] == "POST")
        found = self._routes.find(scope["method"], scope["path"])
        return found is not None and found[0].direct is not None

    def direct(self, scope: Scope) -> DirectRoute:
        """Return what answers a request that comes past ASGI; `takes` has said that it can.

        Raises:
            OriginNotAllowed: It comes by a name, or from a web page, that is not allowed.
        """
        self._check_origin(scope, is_safe=False)
        if scope["path"] == CREATE_PATH:
            return self._create
        found = self._routes.find(scope["method"], scope["path"])
        assert found is not None
        scope["route"], scope["path_params"] = found
        assert found[0].direct is not None
        return found[0].direct

    def _check_origin(self, scope: Scope, *, is_safe: bool) -> None:
        """Protect the machine of a server without keys from the web pages that its owner looks at.

        Keys and tokens are not sent by a browser unasked.

        Raises:
            OriginNotAllowed: By which name or from which web page a request comes.
        """
        if principal_of(scope) is not LOCAL:
            return
        if not self._hosts.admit(header(scope, b"host")):
            raise OriginNotAllowed(
                "this server answers to addresses of its own machine only; to be called by "
                "another name, list it in [server] origins"
            )
        if not is_safe and not self._is_welcome(scope):
            raise OriginNotAllowed(
                "this web page may not change anything here; see [server] origins"
            )

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one WebSocket: of thousands, each layer would keep a frame."""
        route = self._sockets.get(scope["path"])
        if route is None:
            problem = Problem(
                "not_found", f"there is no WebSocket at this path, only {STREAM_PATH}"
            )
            await send_body(denying(send), 404, encode(problem))
            return
        scope["path_params"] = {}
        self._services.backlog.catch_up()
        try:
            await route.app(scope, receive, send)
        except MatchmakingError as error:
            if isinstance(error, TooManyRequests):
                self._services.metrics.turned_away(error.code)
            status, problem = problem_of(error)
            await send_body(denying(send), status, encode(problem), headers_of(error))
        except OSError:
            # The client has left before it was taken in; uvicorn knows what that is.
            raise
        except Exception as error:  # noqa: BLE001
            self._services.metrics.unexpected(error, f"WS {route.path}")

    async def _quiet(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that is not hot, and count it."""
        stopwatch, metrics = self._services.runtime.clocks.stopwatch, self._services.metrics
        began, status, waits = stopwatch(), 0, False
        self._services.backlog.catch_up()

        async def counted(message: Message) -> None:
            nonlocal status, waits
            if message["type"] == "http.response.start":
                status = message["status"]
            waits = waits or bool(message.get("more_body"))
            await send(message)

        try:
            try:
                await self._route(scope, receive, counted)
            except (MatchmakingError, NothingHere) as error:
                if status:
                    raise
                await self._tell(error, scope, counted)
                # Some are raised again for others; the frames that they passed hold requests.
                error.__traceback__ = None
        except Disconnected:
            if not status:
                await give_up_on(send)
            return
        except Exception as error:  # noqa: BLE001
            metrics.unexpected(error, route_name(scope))
            # Else the client has its answer already, or will see a cut stream.
            if not status:
                await send_body(counted, 500, internal_problem())
        is_left_out = waits or scope.get(TURNED_AWAY, False)
        if not is_left_out and "wait" not in query_of(scope):
            metrics.requested(route_name(scope), status or 500, stopwatch() - began)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the route of a request answer it.

        Raises:
            NothingHere: There is none.
        """
        path, raw = scope["path"], scope.get("raw_path") or b""
        found = self._routes.find(scope["method"], path, raw)
        if found is None:
            raise NothingHere(self._routes.methods(path, raw))
        scope["route"], scope["path_params"] = found
        await found[0].app(scope, receive, send)

    async def _tell(self, error: MatchmakingError | NothingHere, scope: Scope, send: Send) -> None:
        """Answer a request with what is wrong with it."""
        if isinstance(error, NothingHere):
            await _tell_nothing_here(scope, send, error)
            return
        if isinstance(error, TooManyRequests):
            # It says nothing of how busy the server is, so it is counted apart.
            scope[TURNED_AWAY] = True
            self._services.metrics.turned_away(error.code)
        status, problem = problem_of(error)
        await send_body(send, status, encode(problem), headers_of(error))

    def _is_welcome(self, scope: Scope) -> bool:
        """Return whether a request may come from the web page that sends it, if one does."""
        origin = header(scope, b"origin")
        if origin is None or "*" in self._origins:
            return True
        text = origin.decode("latin-1")
        return text in self._origins or _host_of(text) in LOOPBACK_NAMES


class AllowedHosts:
    """The names that a server without keys answers to.

    A web page can make a browser call this machine under the page's own name (DNS rebinding);
    the Host header gives that away.
    """

    def __init__(self, origins: tuple[str, ...]) -> None:
        self._allows_all = "*" in origins
        self._names = LOOPBACK_NAMES | {_host_of(origin) for origin in origins}
        self._known: set[bytes] = set()

    def admit(self, host: bytes | None) -> bool:
        """Return whether the server answers to this Host header; browsers always send one."""
        if host is None or host in self._known or self._allows_all:
            return True
        name = _host_of("//" + host.decode("latin-1"))
        if name not in self._names and not _is_loopback(name):
            return False
        if len(self._known) < HOSTS_MAX:
            self._known.add(host)
        return True


async def _tell_nothing_here(scope: Scope, send: Send, error: NothingHere) -> None:
    if not error.allowed:
        problem = Problem("not_found", "there is nothing at this path; /docs shows what there is")
        await send_body(send, 404, encode(problem))
        return
    allowed = ", ".join(error.allowed)
    sentence = f"this path does not take {scope['method']}; allowed: {allowed}"
    headers = [*headers_for(405), (b"allow", allowed.encode())]
    await send_body(send, 405, encode(Problem("method_not_allowed", sentence)), headers)


def _is_loopback(name: str | None) -> bool:
    try:
        return name is not None and ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None
