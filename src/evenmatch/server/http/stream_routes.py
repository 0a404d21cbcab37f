"""Handlers of long polls and streams, whose clients stay connected."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import TicketView
from evenmatch.model.inputs import Update
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.creation_rights import remember, renewable
from evenmatch.server.auth.principal import principal_of
from evenmatch.server.http.responses import (
    Receive,
    Scope,
    Send,
    encode,
    header,
    json,
    read_body,
    send_body,
)
from evenmatch.server.http.sse import cut_when_left, stream
from evenmatch.server.http.ticket_routes import (
    check_parameters,
    join_ticket,
    record_of,
    seconds_of,
    ticket_query,
)
from evenmatch.server.runtime.services import Services
from evenmatch.server.views.feed import events_of
from evenmatch.server.views.followers import FINAL, Event, Follower, event_of
from evenmatch.wire.live import UpdateTicket, update_of
from evenmatch.wire.matches import FeedPage
from evenmatch.wire.tickets import Problem, decode

NO_CONTENT = 204
"""Tells an EventSource not to come back."""
FEED_PARAMETERS = ("after", "wait")


class TicketEvents:
    """`GET /v1/tickets/{id}/events`: the present state, then each change."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client until its ticket ends or it leaves."""
        services, ticket_id = self._services, scope["path_params"]["ticket"]
        seen = _last_event(scope)
        follower = services.followers.admit()
        try:
            view = await join_ticket(services, ticket_id, follower)
            seen = services.matches.seen(seen)
            if view.changed <= seen and view.state in FINAL:
                await send_body(send, NO_CONTENT, b"", [])
                return
            first = self._first(view, seen)
            await stream(scope, receive, send, follower, first, lambda: self._is_forgotten(view))
        finally:
            services.tickets.part(ticket_id, follower)
            services.followers.dismiss(follower)

    async def _first(self, view: TicketView, seen: int) -> AsyncIterator[Event]:
        """Yield the present state unless the client has seen it."""
        if view.changed > seen:
            runtime = self._services.runtime
            now = runtime.now()
            yield event_of(view, now, self._services.waits.estimate(runtime.engine, view.id, now))

    def _is_forgotten(self, view: TicketView) -> bool:
        tables = self._services.runtime.engine.tables
        return view.id not in tables.waiting and view.id not in tables.ended


class QueueMatches:
    """`GET /v1/queues/{queue}/matches`: the feed, as JSON pages or as a stream."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client."""
        request = Request(scope, receive)
        check_parameters(request, FEED_PARAMETERS)
        queue = request.path_params["queue"]
        text = request.query_params.get("after")
        after = None if text is None else record_of(text)
        if "text/event-stream" in request.headers.get("accept", ""):
            if last := _last_event(scope):
                after = max(after or 0, last)
            await self._stream(queue, after, scope, receive, send)
        else:
            wait = seconds_of(request, "wait")
            page = await self._page(queue, after, wait, receive)
            await Response(encode(page), media_type="application/json")(scope, receive, send)

    async def _page(self, queue: str, after: int | None, wait: float, receive: Receive) -> FeedPage:
        """Return a page; an empty one only after `wait` seconds."""
        services = self._services
        if wait == 0.0:
            page = await self._look(queue, after)
        else:
            follower = services.followers.admit()
            try:
                page = await self._look(queue, after, follower)
                if not page.matches:
                    async with cut_when_left(receive, follower):
                        await follower.next(wait)
            finally:
                services.matches.part(queue, follower)
                services.followers.dismiss(follower)
        # The first look may itself have waited for the record that made a match.
        if page.matches or services.matches.last(queue) <= page.next:
            return page
        return await self._look(queue, after)

    async def _stream(
        self, queue: str, after: int | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Send what came after a record, then each match as it is made."""
        services = self._services
        follower = services.followers.admit()
        try:
            page = await self._look(queue, after, follower)
            first = self._catch_up(queue, page, follower)
            await stream(scope, receive, send, follower, first, lambda: False)
        finally:
            services.matches.part(queue, follower)
            services.followers.dismiss(follower)

    async def _catch_up(
        self, queue: str, page: FeedPage, follower: Follower
    ) -> AsyncIterator[Event]:
        """Yield all matches from a page on; then the follower hears of those that come."""
        while True:
            for event in events_of(page):
                yield event
            if self._services.matches.follows(queue, follower):
                return
            page = await self._look(queue, page.next, follower)

    async def _look(
        self, queue: str, after: int | None, follower: Follower | None = None
    ) -> FeedPage:
        """Return a page; a follower hears of all that comes after it, if it is the last one."""
        matches = self._services.matches

        def query(engine: Engine) -> FeedPage:
            page = matches.page(engine, queue, after)
            # Joined now, not when the answer is free: the page holds what is durable now.
            if follower is not None and page.next == matches.durable:
                matches.join(queue, follower)
            return page

        page: FeedPage = await self._services.runtime.look(query)
        return page


def _last_event(scope: Scope) -> int:
    raw = header(scope, b"last-event-id")
    return record_of(raw.decode("latin-1"), "Last-Event-ID") if raw else 0


# Routes of a client that stays: signs of life, and new facts of its ticket.

UPDATE = 'an object such as {"attributes": {}, "players": [{"id": "p1", "rating": {"mean": 1500}}]}'


class LiveRoutes:
    """Handlers that answer with the ticket as it is now."""

    def __init__(self, services: Services, accounts: Accounts) -> None:
        self._services = services
        self._runtime = services.runtime
        self._accounts = accounts

    async def heartbeat(self, request: Request) -> Response:
        """Note that a ticket's client is still there."""
        ticket_id = request.path_params["ticket"]
        self._services.presence.seen(ticket_id)
        return json(await self._runtime.look(ticket_query(self._services, ticket_id)))

    async def update(self, request: Request) -> Response:
        """Let a waiting ticket have new facts, without losing its place."""
        limit = self._runtime.plan.settings.limits.body_bytes_max
        body = await read_body(request.scope, request.receive, limit)
        given, ticket_id = decode(body, UpdateTicket, UPDATE), request.path_params["ticket"]
        row = self._runtime.engine.tables.waiting.get(ticket_id)
        ticket = None if row is None else row.ticket
        principal = principal_of(request.scope)
        new = update_of(renewable(principal, given, self._accounts))
        now = self._runtime.now()
        input_ = Update(now, ticket_id, new.attributes, new.players, strict=True)
        state = await self._runtime.ask(input_, look=ticket_query(self._services, ticket_id))
        remember(principal, given, ticket, self._accounts)
        return json(state)

    async def stream_by_http(self, request: Request) -> Response:
        """Say that the stream is a WebSocket."""
        del request
        problem = Problem("upgrade_required", "the stream is a WebSocket: connect with ws://")
        response = json(problem, 426)
        response.headers["upgrade"] = "websocket"
        return response
