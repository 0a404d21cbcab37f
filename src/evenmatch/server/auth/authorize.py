"""Authorization: check rights and ownership before a route, and write the audit log.

The right that a route needs stands in its row of `server.http.table`; `ownership` says which
tickets and matches belong to whom.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from functools import partial
from urllib.parse import urlencode

from evenmatch.errors import JournalUnavailable, MatchmakingError
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.address import caller_address
from evenmatch.server.auth.creation_rights import lacks
from evenmatch.server.auth.ownership import check_match, check_queue, check_ticket
from evenmatch.server.auth.principal import (
    Forbidden,
    Principal,
    TooManyRequests,
    no_credential,
    principal_of,
    unknown_credential,
)
from evenmatch.server.http.input_routes import InputRoute, refuse
from evenmatch.server.http.operation import WEBSOCKET, Operation, Server
from evenmatch.server.http.responses import (
    LATE,
    Asgi,
    Disconnected,
    Message,
    Receive,
    Scope,
    Send,
    problem_of,
    query_of,
)
from evenmatch.server.http.routing import GuardedRoute, asgi_of
from evenmatch.server.http.sockets import NOT_VALID
from evenmatch.server.http.whole_requests import WholeRequest
from evenmatch.server.runtime.runtime import Runtime

STAYING = frozenset({"GET", "HEAD", WEBSOCKET})
"""Methods of routes that a client may stay at; they change nothing, so they can end at any time."""
HELD = ("/events", "/stream")
"""Ends of patterns of streams: only these and long polls take one of a player's places."""
ANSWERS = ("/accept", "/decline")
"""Ends of patterns of answers to ready-checks; their handler sees by the ticket whose it was."""
OWNED = frozenset({"ticket", "match"})
"""Parameters of patterns that name what belongs to somebody."""
TARGET_MAX = 256
"""Characters of a path, with its query, in the audit log."""
ENDS: dict[str, Message] = {
    "http": {"type": "http.response.body", "body": b""},
    "websocket": {"type": "websocket.close", "code": NOT_VALID},
}


class Authorizer:
    """Guards one route.

    Args:
        operation: Which it is.
        inner: What answers those who may.
        runtime: Knows whose is what.
        accounts: Where it is written down.
    """

    def __init__(
        self, operation: Operation, inner: Asgi, runtime: Runtime, accounts: Accounts
    ) -> None:
        self._pattern = operation.path
        self._access = operation.access
        self._parameters = frozenset(
            each["name"] for each in operation.parameters if each["in"] == "query"
        )
        self._inner = inner
        self._runtime = runtime
        self._accounts = accounts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a caller through who may.

        Raises:
            Unauthenticated: They must show a key or a token first.
            Forbidden: They may not do this.
            UnknownTicket: It is not their ticket.
            UnknownMatch: It is not their match.
            JournalUnavailable: Nobody knows whose it is now.
            TooManyRequests: They have too many streams and long polls open.
        """
        method = WEBSOCKET if scope["type"] == "websocket" else scope["method"]
        access, principal = self._access, principal_of(scope)
        self.check_rights(scope)
        try:
            self.check_ownership(scope)
        except MatchmakingError as error:
            if OWNED & scope["path_params"].keys():
                await self._runtime.look(partial(refuse, error))
            raise
        if method in STAYING and principal.until < math.inf and not access.is_audited:
            await self._stay(principal, scope, receive, send)
            return
        if not access.is_audited or principal.is_player:
            await self._inner(scope, receive, send)
            return
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._inner(scope, receive, noted)
        except MatchmakingError as error:
            # Its answer is sent further out.
            status = status or problem_of(error)[0]
            raise
        except Disconnected:
            status = status or LATE
            raise
        finally:
            self._accounts.audit.note(
                principal,
                f"{method} {self._pattern}",
                target=self._target(scope)[:TARGET_MAX],
                status=status or 500,
                address=caller_address(scope, self._accounts.trusted),
            )

    def _target(self, scope: Scope) -> str:
        """Return what the audit log says that was asked for.

        Of the query, that is what the operation reads: anything else could be a secret.
        """
        query = query_of(scope)
        told = {name: each for name, each in query.items() if name in self._parameters}
        return f"{scope['path']}?{urlencode(told, doseq=True)}" if told else str(scope["path"])

    async def _stay(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a client that may stay, if it is not in too many places already."""
        is_held = self._pattern.endswith(HELD) or "wait" in query_of(scope)
        if not (principal.is_player and is_held):
            await self._until_expired(principal, scope, receive, send)
            return
        places = self._accounts.places
        if not places.enter(principal.name):
            raise TooManyRequests(
                f"you have {places.most} streams and long polls open; end one of them first", 1.0
            )
        try:
            await self._until_expired(principal, scope, receive, send)
        finally:
            places.leave(principal.name)

    async def _until_expired(
        self, principal: Principal, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a client that may stay, such as a stream, as long as its credential counts."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        left = max(0.0, principal.until - self._runtime.wall())
        try:
            async with asyncio.timeout(left) as limit:
                await self._inner(scope, receive, noted)
        except TimeoutError:
            if not limit.expired():
                raise
            if not begun:
                raise unknown_credential("expired") from None
            # It may have ended by itself just now.
            with suppress(OSError, RuntimeError):
                await send(ENDS[scope["type"]])

    def check_rights(self, scope: Scope) -> None:
        """Refuse a caller who may do this to nothing at all."""
        rights, principal = self._access.rights, principal_of(scope)
        if not principal.rights & rights:
            raise no_credential() if principal.kind == "nobody" else lacks(principal, rights)

    def check_ownership(self, scope: Scope) -> None:
        """Refuse a caller to whom it does not belong; that may rest on what is not durable yet."""
        access, principal = self._access, principal_of(scope)
        if not (principal.is_player or principal.queues):
            return
        parameters, engine = scope["path_params"], self._runtime.engine
        if OWNED & parameters.keys() and self._runtime.failure is not None:
            # Whose a ticket is will be known when the engine is back.
            raise JournalUnavailable(f"the server is not ready: {self._runtime.failure}")
        if "ticket" in parameters:
            check_ticket(principal, engine, parameters["ticket"])
        elif "match" in parameters and not self._pattern.endswith(ANSWERS):
            check_match(principal, engine, parameters["match"])
        elif "queue" in parameters:
            check_queue(principal, (parameters["queue"],))
        elif principal.queues and access.is_queried:
            check_queue(principal, _asked_for(scope))
        elif principal.queues and access.rights <= {"operate", "read"}:
            own = ", ".join(sorted(principal.queues))
            raise Forbidden(f"this concerns the whole server, but the key is for {own} only")


def _asked_for(scope: Scope) -> list[str]:
    """Return the queues that a request names as `?queue=`; without one, the caller's own."""
    return query_of(scope).get("queue", [])


class GuardedInputRoute:
    """A route of inputs behind its guard, for requests that come past ASGI.

    Args:
        guard: Lets in only whom the route's row allows.
        route: What it guards.
    """

    def __init__(self, guard: Authorizer, route: InputRoute) -> None:
        self._guard = guard
        self._route = route
        self.advice = route.advice
        self.body_bytes_max = route.body_bytes_max
        self.stopwatch = route.stopwatch

    def check(self, scope: Scope) -> None:
        """Refuse a request before its body is here.

        Raises:
            MatchmakingError: Its caller may do that to nothing, or its body is too large.
        """
        self._guard.check_rights(scope)
        self._route.check(scope)

    def take(self, request: WholeRequest) -> None:
        """Take a request that was checked, if what it names belongs to its caller."""
        try:
            self._guard.check_ownership(request.scope)
        except MatchmakingError as error:
            self._route.refuse_later(request, error)
        else:
            self._route.take(request)

    def refuse(self, request: WholeRequest, error: MatchmakingError) -> None:
        """Answer a request with what is wrong with it."""
        self._route.refuse(request, error)

    def fail(self, request: WholeRequest, error: Exception) -> None:
        """Answer a request that met an unexpected error."""
        self._route.fail(request, error)


def guarded(operation: Operation, server: Server) -> GuardedRoute:
    """Return the handler of an operation behind a guard that lets in only whom its row allows."""
    app = asgi_of(operation.endpoint(server))
    guard = Authorizer(operation, app, server.services.runtime, server.accounts)
    direct = None
    # What goes to the audit log goes the long way.
    if isinstance(app, InputRoute) and not operation.is_audited:
        direct = GuardedInputRoute(guard, app)
    return GuardedRoute(operation.method, operation.path, guard, direct)
