"""One HTTP request to somebody whom we need not trust: bounded in time and in bytes.

Redirects are not followed, connections are not kept, and whatever comes back that is not HTTP, or
too much of it, is an error like a server that is down.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

import msgspec

ANSWER_BYTES_MAX = 65_536
HEAD_BYTES_MAX = 32_768
PORTS = {"http": 80, "https": 443}


class Unreachable(Exception):
    """No usable answer came: the sentence says why, and names no secret."""


class Reply(msgspec.Struct, frozen=True):
    """An answer."""

    status: int
    body: bytes


async def post(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Reply:
    """Send a body and return the answer.

    Args:
        url: http or https.
        body: JSON.
        headers: Beside those that every request has.
        seconds: For all of it.

    Raises:
        Unreachable: Nothing came in time, or nothing that can be used.
    """
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(seconds):
            return await _exchange(parts.scheme, parts.netloc, _request(url, body, headers))
    except TimeoutError:
        raise Unreachable(f"no answer within {seconds:g} s") from None
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        # What is raised here may quote what the other side sent; its kind says enough.
        raise Unreachable(f"no usable answer ({type(error).__name__})") from None


async def _exchange(scheme: str, netloc: str, request: bytes) -> Reply:
    where = urlsplit(f"//{netloc}")
    context = ssl.create_default_context() if scheme == "https" else None
    reader, writer = await asyncio.open_connection(
        where.hostname, where.port or PORTS[scheme], ssl=context, limit=HEAD_BYTES_MAX
    )
    try:
        writer.write(request)
        await writer.drain()
        return await _reply(reader)
    finally:
        writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await writer.wait_closed()


def _request(url: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.netloc.rpartition("@")[2]
    given = {
        "host": host,
        "content-type": "application/json",
        "content-length": str(len(body)),
        "accept": "application/json",
        "connection": "close",
        **headers,
    }
    lines = [f"POST {path} HTTP/1.1", *(f"{key}: {value}" for key, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


async def _reply(reader: asyncio.StreamReader) -> Reply:
    raw = await reader.readuntil(b"\r\n\r\n")
    first, *lines = raw[:-4].split(b"\r\n")
    words = first.split(b" ", 2)
    if not words[0].startswith(b"HTTP/1.") or len(words) < 2:
        raise ValueError("the answer is not HTTP")
    pairs = (line.partition(b":") for line in lines)
    headers = {key.strip().lower(): value.strip() for key, _, value in pairs}
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        return Reply(int(words[1]), await _chunked(reader))
    length = headers.get(b"content-length")
    if length is None:
        body = await reader.read(ANSWER_BYTES_MAX + 1)
        while (more := await reader.read(ANSWER_BYTES_MAX)) and len(body) <= ANSWER_BYTES_MAX:
            body += more
        return Reply(int(words[1]), _bounded(body))
    _check_size(int(length))
    return Reply(int(words[1]), await reader.readexactly(int(length)))


async def _chunked(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        size = int((await reader.readline()).split(b";")[0], 16)
        _check_size(len(body) + size)
        chunk = await reader.readexactly(size + 2)
        if size == 0:
            return body
        body += chunk[:-2]


def _check_size(size: int) -> None:
    if not 0 <= size <= ANSWER_BYTES_MAX:
        raise ValueError("the answer is too large")


def _bounded(body: bytes) -> bytes:
    _check_size(len(body))
    return body
