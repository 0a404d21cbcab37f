"""The page at `/`: how the queues do, live, for people."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
)


async def status_page(request: Request) -> Response:
    """Return the page; it loads nothing from elsewhere."""
    del request
    return Response(_page(), media_type="text/html", headers={"content-security-policy": POLICY})


@lru_cache(maxsize=1)
def _page() -> bytes:
    return files("evenmatch.server").joinpath("status.html").read_bytes()
