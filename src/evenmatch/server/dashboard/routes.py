"""The dashboard over HTTP: the page and its files, its stream, how a match came about."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.server.auth.principal import principal_of
from evenmatch.server.http.pages import PAGE, answer_with
from evenmatch.server.http.responses import Receive, Scope, Send, json
from evenmatch.server.http.sse import stream
from evenmatch.server.http.ticket_routes import check_parameters
from evenmatch.server.runtime.services import Services

PACKAGE = "evenmatch.server.dashboard"
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing from elsewhere, and nothing written into the page itself."""


async def get_page(request: Request) -> Response:
    """Return the page; it loads nothing from elsewhere."""
    return answer_with(request, PACKAGE, PAGE, CONTENT_POLICY)


async def get_file(request: Request) -> Response:
    """Return a file of the page."""
    return answer_with(request, PACKAGE, request.path_params["file"], CONTENT_POLICY)


class DashboardEvents:
    """`GET /v1/dashboard/events?queue=`: the hour that was, then a snapshot a second."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one page until it leaves."""
        request = Request(scope, receive)
        check_parameters(request, ("queue",))
        live, followers = self._services.live, self._services.followers
        # A key for some queues is shown these alone.
        view = live.view_of(request.query_params.get("queue"), principal_of(scope).queues)
        follower = followers.admit()
        try:
            live.join(view, follower)
            await stream(scope, receive, send, follower, live.first(view), lambda: False)
        finally:
            live.part(view, follower)
            followers.dismiss(follower)


class DashboardMatch:
    """`GET /v1/dashboard/matches/{match}`: who waited how long, and what each criterion cost."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        request = Request(scope, receive)
        shown = self._services.live.match(request.path_params["match"])
        await json(shown)(scope, receive, send)
