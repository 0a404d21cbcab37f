"""Server-sent events: send a follower's events, and notice when the client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from evenmatch.server.http.responses import Receive, Scope, Send
from evenmatch.server.views.followers import SEND_SECONDS, Event, Follower

KEEPALIVE_SECONDS = 15.0
"""A comment goes out after this much silence, so that proxies keep the connection."""

EVENT_STREAM = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]


@asynccontextmanager
async def cut_when_left(receive: Receive, follower: Follower) -> AsyncIterator[None]:
    """Cut a follower as soon as its client is gone: who has left follows nothing any more."""
    leaving = asyncio.create_task(_until_left(receive, follower))
    try:
        yield
    finally:
        leaving.cancel()


async def stream(
    scope: Scope,
    receive: Receive,
    send: Send,
    follower: Follower,
    first: AsyncIterator[Event],
    is_over: Callable[[], bool],
) -> None:
    """Send the first events, then a follower's, until it leaves, is cut, or its subject is over."""
    await send({"type": "http.response.start", "status": 200, "headers": EVENT_STREAM})
    if scope["method"] == "HEAD":
        await send({"type": "http.response.body", "body": b""})
        return
    async with cut_when_left(receive, follower):
        try:
            async for part in _parts(follower, first, is_over):
                async with asyncio.timeout(SEND_SECONDS):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except TimeoutError:
            follower.cut()


async def _parts(
    follower: Follower, first: AsyncIterator[Event], is_over: Callable[[], bool]
) -> AsyncIterator[bytes]:
    yield b"retry: 1000\n\n"
    async for event in first:
        yield event.frame()
        if event.is_final:
            return
    while not follower.is_cut:
        following = await follower.next(KEEPALIVE_SECONDS)
        if following is not None:
            yield following.frame()
            if following.is_final:
                return
        elif is_over():
            return
        elif not follower.is_cut:
            yield b": still here\n\n"


async def _until_left(receive: Receive, follower: Follower) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    follower.cut()
