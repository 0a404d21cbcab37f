"""`GET /v1/gamelift/events`: the events of tickets and matches as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from starlette.requests import Request

from evenmatch.config.gamelift import queue_name_of
from evenmatch.server.auth.principal import principal_of
from evenmatch.server.gamelift.arns import name_in
from evenmatch.server.gamelift.event_log import Filter
from evenmatch.server.http.responses import InvalidRequest, Receive, Scope, Send, header
from evenmatch.server.http.sse import stream
from evenmatch.server.http.ticket_routes import check_parameters, record_of
from evenmatch.server.runtime.services import Services
from evenmatch.server.views.followers import Event

PARAMETERS = ("configuration",)


class GameLiftEventStream:
    """Each event from now on, or after the one that `Last-Event-ID` names."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client until it leaves, or reads so slowly that it is cut."""
        request = Request(scope, receive)
        check_parameters(request, PARAMETERS)
        name = request.query_params.get("configuration", "")
        wanted = Filter(principal_of(scope).queues, queue_name_of(name_in(name)) if name else "")
        if not wanted.takes(wanted.queue or next(iter(wanted.queues), "")):
            raise InvalidRequest("the key is for other configurations", where="/configuration")
        last = header(scope, b"last-event-id")
        after = record_of(last.decode("latin-1"), "Last-Event-ID") if last else None
        services = self._services
        log = services.gamelift_events.log
        follower = services.followers.admit()
        try:
            services.backlog.catch_up()
            first = _each(log.join(follower, wanted, after))
            await stream(scope, receive, send, follower, first, lambda: False)
        finally:
            log.part(follower)
            services.followers.dismiss(follower)


async def _each(events: Iterable[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event
