"""The page that shows the HTTP interface: `GET /docs`.

Swagger UI renders this server's own OpenAPI document. It comes with us, so that a browser asks
nobody else for anything; its code is kept compressed, as browsers take it.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenmatch.server.dashboard.routes import KINDS, File
from evenmatch.server.openapi_parts import Json, body, in_path, operation

PAGE = "index.html"
COMPRESSED = ".gz"
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Nothing from elsewhere; Swagger UI sets styles of its own and has its icons inline."""


@lru_cache(maxsize=1)
def page_files() -> dict[str, File]:
    """Return the page's files by the name that they are asked by; no other is ever served."""
    found = {}
    for each in files("evenmatch.server.api_page").joinpath("static").iterdir():
        name = each.name.removesuffix(COMPRESSED)
        content = each.read_bytes()
        found[name] = File(
            content,
            KINDS["." + name.rpartition(".")[2]],
            f'"{sha256(content).hexdigest()[:16]}"',
            is_compressed=name != each.name,
        )
    return found


def api_page_routes() -> list[BaseRoute]:
    """Return the routes of the page."""
    return [
        Route("/docs", get_page, methods=["GET"]),
        Route("/docs/{file}", get_file, methods=["GET"]),
    ]


async def get_page(request: Request) -> Response:
    """Return the page."""
    return _answer(request, page_files()[PAGE])


async def get_file(request: Request) -> Response:
    """Return a file of the page."""
    file = page_files().get(request.path_params["file"])
    if file is None:
        raise HTTPException(404)
    return _answer(request, file)


def _answer(request: Request, file: File) -> Response:
    headers = {
        "content-security-policy": CONTENT_POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
        "etag": file.tag,
    }
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    content = file.body
    if file.is_compressed:
        headers["vary"] = "accept-encoding"
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
        else:
            content = gzip.decompress(content)
    return Response(content, media_type=file.kind, headers=headers)


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
