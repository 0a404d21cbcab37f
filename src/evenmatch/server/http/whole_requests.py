"""Requests that are answered past ASGI: what such a request is, and what a route needs for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from evenmatch.errors import MatchmakingError
from evenmatch.server.auth.principal import principal_of
from evenmatch.server.http.responses import Headers, Scope

Reply = Callable[[int, bytes, Headers | None], None]
"""Takes status, body, and the headers where they are not the usual ones."""
EncodedAnswer = tuple[int, bytes, Headers | None]


class WholeRequest:
    """A request, whole.

    Args:
        scope: Of the request; its caller is named in it.
        body: Of the request.
        reply: Called once.
        is_gone: Says whether the client has left.
        began: When it was whole, by the stopwatch of its route.
    """

    __slots__ = ("began", "body", "is_gone", "principal", "reply", "scope")

    def __init__(
        self, scope: Scope, body: bytes, reply: Reply, is_gone: Callable[[], bool], began: float
    ) -> None:
        self.began = began
        self.scope = scope
        self.principal = principal_of(scope)
        self.body = body
        self.reply = reply
        self.is_gone = is_gone


class DirectRoute(Protocol):
    """What answers a request past ASGI: no task, no future, one call of its `reply`."""

    @property
    def body_bytes_max(self) -> int:
        """Bytes that a body may have."""
        ...

    @property
    def advice(self) -> str:
        """What to do about a body that is too large."""
        ...

    @property
    def stopwatch(self) -> Callable[[], float]:
        """Seconds; only differences count."""
        ...

    def check(self, scope: Scope) -> None:
        """Refuse a request before its body is here.

        Raises:
            MatchmakingError: Its caller may not do that, or its body is too large.
        """
        ...

    def take(self, request: WholeRequest) -> None:
        """Take a request that was checked; its answer may come later."""
        ...

    def refuse(self, request: WholeRequest, error: MatchmakingError) -> None:
        """Answer a request with what is wrong with it."""
        ...

    def fail(self, request: WholeRequest, error: Exception) -> None:
        """Answer a request that met an unexpected error."""
        ...
