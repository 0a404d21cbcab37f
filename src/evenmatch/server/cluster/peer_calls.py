"""What nodes ask each other, over a connection of its own each time: once a second, and rarely."""

from __future__ import annotations

import asyncio

from evenmatch.server.cluster.forwarding import FORWARDED
from evenmatch.wire.http1 import Connection

SECONDS = 1.0
BYTES_MAX = 1_000_000


async def ask_node(
    place: tuple[str, int], method: str, path: str, signed: bytes, seconds: float = SECONDS
) -> bytes | None:
    """Return what a node answers, None if it does not answer well in time.

    Args:
        place: Its host and port.
        method: Of HTTP.
        path: What is asked.
        signed: Who asks, see `NodeIdentity.sign`.
        seconds: How long it may take.
    """
    headers = {
        "host": f"{place[0]}:{place[1]}",
        "content-length": "0",
        FORWARDED.decode(): signed.decode("latin-1"),
    }
    try:
        async with asyncio.timeout(seconds):
            connection = await Connection.open(*place, None)
            try:
                connection.send(method, path, headers)
                answer = await connection.response(BYTES_MAX)
            finally:
                connection.close()
    except (OSError, ValueError, TimeoutError):
        return None
    return answer.body if answer.status == 200 else None
