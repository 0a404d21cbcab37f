"""The dashboard over HTTP: the page and its files, its stream, how a match came about."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from importlib.resources import files

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenmatch.server.auth.own import principal_of
from evenmatch.server.lasting import stream
from evenmatch.server.parts import Parts
from evenmatch.server.responses import Receive, Scope, Send, json
from evenmatch.server.routes import check_parameters

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing from elsewhere, and nothing written into the page itself."""
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
PAGE = "index.html"


class File(msgspec.Struct, frozen=True):
    """A file of a page.

    Args:
        body: Its bytes.
        kind: Its content type.
        tag: Its ETag.
        is_compressed: Whether the bytes are gzip's.
    """

    body: bytes
    kind: str
    tag: str
    is_compressed: bool = False


@lru_cache(maxsize=1)
def page_files() -> dict[str, File]:
    """Return the page's files by name; no other is ever served."""
    folder = files("evenmatch.server.dashboard").joinpath("static")
    found = {}
    for each in folder.iterdir():
        kind = KINDS.get("." + each.name.rpartition(".")[2])
        if kind is not None:
            body = each.read_bytes()
            found[each.name] = File(body, kind, f'"{sha256(body).hexdigest()[:16]}"')
    return found


def dashboard_routes(parts: Parts) -> list[BaseRoute]:
    """Return the routes of the dashboard."""
    return [
        Route("/v1/dashboard/events", DashboardEvents(parts), methods=["GET"]),
        Route("/v1/dashboard/matches/{match}", DashboardMatch(parts), methods=["GET"]),
        Route("/dashboard/{file}", get_file, methods=["GET"]),
        Route("/", get_page, methods=["GET"]),
    ]


async def get_page(request: Request) -> Response:
    """Return the page; it loads nothing from elsewhere."""
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
        # Asked for anew each time, so that a new version shows at once; unchanged it costs 0 bytes.
        "cache-control": "no-cache",
        "etag": file.tag,
    }
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.body, media_type=file.kind, headers=headers)


class DashboardEvents:
    """`GET /v1/dashboard/events?queue=`: the hour that was, then a snapshot a second."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one page until it leaves."""
        request = Request(scope, receive)
        check_parameters(request, ("queue",))
        live, followers = self._parts.live, self._parts.followers
        # A key for some queues is shown these alone.
        view = live.chosen(request.query_params.get("queue"), principal_of(scope).queues)
        follower = followers.admit()
        try:
            live.join(view, follower)
            await stream(send, receive, follower, live.first(view), lambda: False)
        finally:
            live.part(view, follower)
            followers.dismiss(follower)


class DashboardMatch:
    """`GET /v1/dashboard/matches/{match}`: who waited how long, and what each criterion cost."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        request = Request(scope, receive)
        shown = self._parts.live.match(request.path_params["match"])
        await json(shown)(scope, receive, send)
