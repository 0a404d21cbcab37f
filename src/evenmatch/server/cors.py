"""Web pages that may call the server (CORS), and how a browser's question is refused."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from evenmatch.server.responses import Asgi, json
from evenmatch.wire import Problem

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
HEADERS = ("authorization", "content-type", "idempotency-key", "last-event-id")


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
        if not self.is_allowed_origin(origin=request_headers["origin"]):
            sentence = "this web page may not call the server; see [server] origins"
        else:
            sentence = (
                f"a web page may send {', '.join(METHODS)} with the headers {', '.join(HEADERS)}"
            )
        refusal = json(Problem("origin_not_allowed", sentence), response.status_code)
        kept = {
            name: value
            for name, value in response.headers.items()
            if name == "vary" or name.startswith("access-control-")
        }
        refusal.headers.update(kept)
        return refusal
