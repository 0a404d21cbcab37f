"""Web pages that may call the server (CORS), and how a browser's question is refused."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from evenmatch.server.http.responses import Asgi, json
from evenmatch.wire.tickets import Problem

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
HEADERS = ("authorization", "content-type", "idempotency-key", "last-event-id")
TOLD = 128
"""Characters of what a browser asked that are told back."""


def with_cors(app: Asgi, origins: tuple[str, ...]) -> Asgi:
    """Let web pages of these origins call the server; without any, nothing is added."""
    if not origins:
        return app
    return _Cors(
        app,
        allow_origins=origins,
        allow_methods=METHODS,
        allow_headers=HEADERS,
        expose_headers=["retry-after"],
    )


class _Cors(CORSMiddleware):
    """Refuses a browser's question as every other request is refused."""

    def preflight_response(self, request_headers: Headers) -> Response:
        """Answer what a browser asks before a page's request."""
        response = super().preflight_response(request_headers)
        if response.status_code < 400:
            return response
        refusal = json(Problem("origin_not_allowed", self._refused(request_headers)), 403)
        kept = {
            name: value
            for name, value in response.headers.items()
            if name == "vary" or name.startswith("access-control-")
        }
        refusal.headers.update(kept)
        return refusal

    def _refused(self, headers: Headers) -> str:
        """Return which of the page, its method and its headers is refused, and what is allowed."""
        origin, method = headers["origin"], headers["access-control-request-method"]
        if not self.is_allowed_origin(origin=origin):
            return f"the web page {origin[:TOLD]!r} may not call the server; see [server] origins"
        if method not in METHODS:
            return f"a web page may not send {method[:TOLD]!r}, only {', '.join(METHODS)}"
        given = headers.get("access-control-request-headers")
        names = [] if given is None else [each.strip() for each in given.split(",")]
        foreign = [name for name in names if name.lower() not in self.allow_headers]
        if foreign:
            return (
                f"a web page may not send the header {foreign[0][:TOLD]!r}, of those that need "
                f"leave only {', '.join(HEADERS)}"
            )
        return "a web page from elsewhere may not call a server of a private network"
