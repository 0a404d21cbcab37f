"""One kept-alive HTTP/1.1 connection, and what its answers say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec

Headers = dict[bytes, bytes]

RESUME_SECONDS = 1.0
"""How long a client waits before it tries again, unless the server says."""
RESUME_MOST = 60.0


class HttpResponse(msgspec.Struct, frozen=True):
    """A whole response."""

    status: int
    headers: Headers
    body: bytes


class Connection:
    """One kept-alive connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.is_used = False

    async def head(self) -> tuple[int, Headers]:
        """Return the status and the headers of the next response."""
        raw = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = raw[:-4].split(b"\r\n")
        pairs = (line.partition(b":") for line in lines)
        return int(first.split(b" ", 2)[1]), {k.strip().lower(): v.strip() for k, _, v in pairs}

    async def body(self, headers: Headers) -> bytes:
        """Return the body of a response."""
        if headers.get(b"transfer-encoding", b"").lower() != b"chunked":
            return await self.reader.readexactly(int(headers.get(b"content-length", b"0")))
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the parts of a chunked body."""
        while True:
            size = int((await self.reader.readline()).split(b";")[0] or b"0", 16)
            chunk = await self.reader.readexactly(size + 2)
            if size == 0:
                return
            yield chunk[:-2]


def retry_after(headers: Headers) -> float:
    """Return how long a server wants to be left alone, seconds."""
    with suppress(ValueError):
        seconds = float(headers.get(b"retry-after", b""))
        if seconds >= 0.0:
            return min(seconds, RESUME_MOST)
    return RESUME_SECONDS
