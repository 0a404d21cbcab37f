"""Long polls and streams: clients that stay."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import TicketView
from evenmatch.server.http.responses import Receive, Scope, Send, encode, header, send_body
from evenmatch.server.http.routes import join_ticket, record_of, seconds_of
from evenmatch.server.http.sse import cut_when_left, stream
from evenmatch.server.runtime.services import Parts
from evenmatch.server.views.feed import events_of
from evenmatch.server.views.followers import FINAL, Event, Follower, event_of
from evenmatch.wire.matches import FeedPage

NO_CONTENT = 204
"""Tells an EventSource not to come back."""


class TicketEvents:
    """`GET /v1/tickets/{id}/events`: the present state, then each change."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client until its ticket ends or it leaves."""
        parts, ticket_id = self._parts, scope["path_params"]["ticket"]
        seen = _last_event(scope)
        follower = parts.followers.admit()
        try:
            view = await join_ticket(parts, ticket_id, follower)
            if view.changed <= seen and view.state in FINAL:
                await send_body(send, NO_CONTENT, b"", [])
                return
            first = self._first(view, seen)
            await stream(send, receive, follower, first, lambda: self._is_forgotten(view))
        finally:
            parts.tickets.part(ticket_id, follower)
            parts.followers.dismiss(follower)

    async def _first(self, view: TicketView, seen: int) -> AsyncIterator[Event]:
        """Yield the present state unless the client has seen it."""
        if view.changed > seen:
            runtime = self._parts.runtime
            now = runtime.now()
            yield event_of(view, now, self._parts.waits.estimate(runtime.engine, view.id, now))

    def _is_forgotten(self, view: TicketView) -> bool:
        tables = self._parts.runtime.engine.tables
        return view.id not in tables.waiting and view.id not in tables.ended


class QueueMatches:
    """`GET /v1/queues/{queue}/matches`: the feed, as JSON pages or as a stream."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client."""
        request = Request(scope, receive)
        queue = request.path_params["queue"]
        text = request.query_params.get("after")
        after = None if text is None else record_of(text)
        if "text/event-stream" in request.headers.get("accept", ""):
            if last := _last_event(scope):
                after = max(after or 0, last)
            await self._stream(queue, after, receive, send)
        else:
            wait = seconds_of(request, "wait")
            page = await self._page(queue, after, wait, receive)
            await Response(encode(page), media_type="application/json")(scope, receive, send)

    async def _page(self, queue: str, after: int | None, wait: float, receive: Receive) -> FeedPage:
        """Return a page; an empty one only after `wait` seconds."""
        parts = self._parts
        if wait == 0.0:
            return await self._look(queue, after)
        follower = parts.followers.admit()
        try:
            page = await self._look(queue, after, follower)
            if page.matches:
                return page
            async with cut_when_left(receive, follower):
                if await follower.next(wait) is None:
                    return page
        finally:
            parts.matches.part(queue, follower)
            parts.followers.dismiss(follower)
        return await self._look(queue, after)

    async def _stream(self, queue: str, after: int | None, receive: Receive, send: Send) -> None:
        """Send what came after a record, then each match as it is made."""
        parts = self._parts
        follower = parts.followers.admit()
        try:
            page = await self._look(queue, after, follower)
            first = self._catch_up(queue, page, follower)
            await stream(send, receive, follower, first, lambda: False)
        finally:
            parts.matches.part(queue, follower)
            parts.followers.dismiss(follower)

    async def _catch_up(
        self, queue: str, page: FeedPage, follower: Follower
    ) -> AsyncIterator[Event]:
        """Yield all matches from a page on; then the follower hears of those that come."""
        while True:
            for event in events_of(page):
                yield event
            if self._parts.matches.follows(queue, follower):
                return
            page = await self._look(queue, page.next, follower)

    async def _look(
        self, queue: str, after: int | None, follower: Follower | None = None
    ) -> FeedPage:
        """Return a page; a follower hears of all that comes after it, if it is the last one."""
        matches = self._parts.matches

        def query(engine: Engine) -> FeedPage:
            page = matches.page(engine, queue, after)
            # Joined now, not when the answer is free: the page holds what is durable now.
            if follower is not None and page.next == matches.durable:
                matches.join(queue, follower)
            return page

        page: FeedPage = await self._parts.runtime.look(query)
        return page


def _last_event(scope: Scope) -> int:
    raw = header(scope, b"last-event-id")
    return record_of(raw.decode("latin-1"), "Last-Event-ID") if raw else 0
