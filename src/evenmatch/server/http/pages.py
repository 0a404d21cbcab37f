"""Static pages of the package: their files, read once, and the answers that send them.

A page loads nothing from elsewhere. Large files may be kept compressed, as browsers take them.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from evenmatch.server.http.routing import NothingHere

KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
PAGE = "index.html"
COMPRESSED = ".gz"


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


@lru_cache(maxsize=8)
def files_of(package: str) -> dict[str, File]:
    """Return a page's files by the name that they are asked by; no other is ever served.

    Args:
        package: Holds them in its folder `static`; files of other kinds are left out.
    """
    found = {}
    for each in files(package).joinpath("static").iterdir():
        name = each.name.removesuffix(COMPRESSED)
        kind = KINDS.get("." + name.rpartition(".")[2])
        if kind is not None:
            body = each.read_bytes()
            tag = f'"{sha256(body).hexdigest()[:16]}"'
            found[name] = File(body, kind, tag, is_compressed=name != each.name)
    return found


def answer_with(request: Request, package: str, name: str, policy: str) -> Response:
    """Answer with a file of a page.

    Args:
        request: What was asked.
        package: The page's.
        name: The file's.
        policy: The content security policy.

    Raises:
        NothingHere: The page has no such file.
    """
    file = files_of(package).get(name)
    if file is None:
        raise NothingHere
    headers = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        # Asked for anew each time, so that a new version shows at once; unchanged it costs 0 bytes.
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
