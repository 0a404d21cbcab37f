"""Finds what answers a request by its method and path, without trying one pattern after another.

Starlette's router tries all patterns in turn and wraps each answer in five layers; what a server
does for each ready-check should cost less than that. Its requests and responses are used as they
are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from inspect import iscoroutinefunction, isroutine
from typing import NamedTuple
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.server.http.responses import Asgi, Receive, Scope, Send
from evenmatch.server.http.whole_requests import DirectRoute
from evenmatch.server.views.metrics import UNKNOWN

NOTHING_HERE = "there is nothing at this path; /docs shows what there is"


class NothingHere(Exception):
    """Nothing answers at a path, or nothing to this method; only the application hears of it.

    Args:
        allowed: The methods to which something answers there.
    """

    def __init__(self, allowed: list[str] | None = None) -> None:
        super().__init__(NOTHING_HERE)
        self.allowed = allowed or []


class GuardedRoute(NamedTuple):
    """What answers an operation.

    Args:
        method: Of HTTP, or `WEBSOCKET`.
        path: Its pattern, with parameters in braces that each stand for a whole segment.
        app: The guard, with what it guards.
        direct: The same for requests that come past ASGI; None: there is no such way.
    """

    method: str
    path: str
    app: Asgi
    direct: DirectRoute | None = None


class RouteTable:
    """Routes by method and path; of two with the same literals and parameters, the first counts.

    Args:
        routes: In the order of the table.

    Example:
        >>> async def app(scope, receive, send): ...
        >>> table = RouteTable([GuardedRoute("GET", "/v1/tickets/{ticket}", app)])
        >>> table.find("GET", "/v1/tickets/s0-7")[1]
        {'ticket': 's0-7'}
        >>> table.methods("/v1/tickets/s0-7"), table.methods("/v1/tickets/")
        (['GET', 'HEAD'], [])
        >>> table.find("GET", "/v1/tickets/a/b", b"/v1/tickets/a%2Fb")[1]
        {'ticket': 'a/b'}
    """

    def __init__(self, routes: Iterable[GuardedRoute]) -> None:
        # By method and segments, where "{}" stands for a parameter; a segment of a request that
        # reads so is no literal of any pattern.
        self._routes: dict[tuple[str, ...], tuple[GuardedRoute, dict[str, int]]] = {}
        # By number of segments: which of them are parameters, of each pattern that has so many.
        self._shapes: dict[int, dict[tuple[int, ...], None]] = {}
        self._methods: dict[str, None] = {}
        for route in routes:
            parts, names = _pattern(route.path)
            self._shapes.setdefault(len(parts), {})[tuple(names.values())] = None
            self._routes.setdefault((route.method, *parts), (route, names))
            self._methods[route.method] = None
        if "GET" in self._methods:
            self._methods["HEAD"] = None
        self._most = max(self._shapes, default=0)

    def find(
        self, method: str, path: str, raw: bytes = b""
    ) -> tuple[GuardedRoute, dict[str, str]] | None:
        """Return what answers a request, and the parameters of its path; None if nothing does.

        Args:
            method: Of HTTP.
            path: With its escapes resolved.
            raw: As it came, which tells the slashes of an id from those between segments.

        Complexity:
            O(shapes of patterns with so many segments), which are two at the most.
        """
        # A path with more segments than any pattern is cut no further.
        parts = path.split("/", self._most)
        if b"%2f" in raw.lower():
            parts = [unquote(part) for part in raw.decode("latin-1").split("/", self._most)]
        for places in self._shapes.get(len(parts), ()):
            key = ["GET" if method == "HEAD" else method, *parts]
            for at in places:
                key[at + 1] = "{}"
            found = self._routes.get(tuple(key))
            if found is not None and all(parts[at] for at in places):
                route, names = found
                return route, {name: parts[at] for name, at in names.items()}
        return None

    def methods(self, path: str, raw: bytes = b"") -> list[str]:
        """Return the methods to which something answers at a path, sorted."""
        return sorted(each for each in self._methods if self.find(each, path, raw) is not None)


@cache
def _pattern(path: str) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the segments of an operation's path, "{}" for a parameter, and where each one is."""
    parts = path.split("/")
    names = {part[1:-1]: at for at, part in enumerate(parts) if part.startswith("{")}
    return tuple(["{}" if part.startswith("{") else part for part in parts]), names


def route_name(scope: Scope) -> str:
    """Return the pattern of the route that answers a request, so that metrics stay few."""
    route: GuardedRoute | None = scope.get("route")
    return UNKNOWN if route is None else f"{scope['method']} {route.path}"


def asgi_of(endpoint: object) -> Asgi:
    """Return what answers an operation as an ASGI application.

    Args:
        endpoint: A coroutine function of a request that returns a response, or an application.

    Raises:
        TypeError: It is a function that would hold up the loop.
    """
    if not iscoroutinefunction(endpoint):
        if isroutine(endpoint):
            raise TypeError(f"{endpoint} must be a coroutine function, or an ASGI application")
        return endpoint  # type: ignore[return-value]
    answer: Callable[[Request], Awaitable[Response]] = endpoint

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await answer(Request(scope, receive, send))
        await response(scope, receive, send)

    return app
