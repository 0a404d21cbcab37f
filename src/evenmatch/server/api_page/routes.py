"""The page that shows the HTTP interface: `GET /docs`.

Swagger UI renders this server's own OpenAPI document. It comes with us, so that a browser asks
nobody else for anything; its code is kept compressed, as browsers take it.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.server.http.pages import PAGE, answer_with

PACKAGE = "evenmatch.server.api_page"
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Nothing from elsewhere; Swagger UI sets styles of its own and has its icons inline."""


async def get_page(request: Request) -> Response:
    """Return the page."""
    return answer_with(request, PACKAGE, PAGE, CONTENT_POLICY)


async def get_file(request: Request) -> Response:
    """Return a file of the page."""
    return answer_with(request, PACKAGE, request.path_params["file"], CONTENT_POLICY)
