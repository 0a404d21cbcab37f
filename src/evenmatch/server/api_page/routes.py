"""The page that shows the HTTP interface: `GET /docs`.

Swagger UI renders this server's own OpenAPI document. It comes with us, so that a browser asks
nobody else for anything; its code is kept compressed, as browsers take it.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenmatch.server.http.openapi.parts import Json, body, in_path, operation
from evenmatch.server.http.pages import PAGE, answer_with

PACKAGE = "evenmatch.server.api_page"
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Nothing from elsewhere; Swagger UI sets styles of its own and has its icons inline."""


def api_page_routes() -> list[BaseRoute]:
    """Return the routes of the page."""
    return [
        Route("/docs", get_page, methods=["GET"]),
        Route("/docs/{file}", get_file, methods=["GET"]),
    ]


async def get_page(request: Request) -> Response:
    """Return the page."""
    return answer_with(request, PACKAGE, PAGE, CONTENT_POLICY)


async def get_file(request: Request) -> Response:
    """Return a file of the page."""
    return answer_with(request, PACKAGE, request.path_params["file"], CONTENT_POLICY)


def api_page_paths() -> Json:
    """Return what the OpenAPI document says of these routes."""
    page = body({"type": "string"}, "text/html")
    anything: Json = {"content": {"*/*": {"schema": {}}}}
    return {
        "/docs": {
            "get": operation(
                "getApiPage", "This document as a page to browse", {"200": page, "304": {}}
            )
        },
        "/docs/{file}": {
            "parameters": [in_path("file")],
            "get": operation("getApiPageFile", "A file of that page", {"200": anything, "304": {}}),
        },
    }
