"""Sends one request to several shards, wherever they are, and returns their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from evenmatch.errors import JournalUnavailable, MatchmakingError
from evenmatch.server.cluster.forwarding import UNKNOWN
from evenmatch.server.cluster.joined_answers import WholeAnswer
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.http.responses import (
    Asgi,
    Message,
    Receive,
    Scope,
    Send,
    encode,
    headers_of,
    problem_of,
    replay_body,
)

Serve = Callable[[Seat, Scope, Receive, Send], Awaitable[None]]
"""Answers a request for a shard, wherever that is."""


async def ask_each_shard(
    serve: Serve,
    seats: Sequence[Seat],
    scope: Scope,
    body: bytes | Mapping[Seat, bytes],
    queries: Mapping[Seat, bytes] | None = None,
) -> list[tuple[Seat, WholeAnswer]]:
    """Ask each shard, all at once, and return what they answer.

    Args:
        serve: Answers a request for one.
        seats: Of the shards.
        scope: Of the request.
        body: Of the request; one for all, or one for each.
        queries: One for each, where it is not that of the request.
    """

    async def ask(seat: Seat) -> tuple[Seat, WholeAnswer]:
        own = body if isinstance(body, bytes) else body[seat]
        query = scope["query_string"] if queries is None else queries[seat]
        one = {**scope, "headers": list(scope["headers"]), "query_string": query}
        return seat, await _answer(serve, seat, one, own)

    return list(await asyncio.gather(*(ask(seat) for seat in seats)))


async def _answer(serve: Serve, seat: Seat, scope: Scope, body: bytes) -> WholeAnswer:
    try:
        return await whole_answer(partial(serve, seat), scope, body)
    except MatchmakingError as error:
        status, problem = problem_of(error)
        return WholeAnswer(status, tuple(headers_of(error)), encode(problem))


async def whole_answer(app: Asgi, scope: Scope, body: bytes) -> WholeAnswer:
    """Return what an app answers, as a whole.

    Args:
        app: Is asked.
        scope: Of the request.
        body: Of the request, all of it.

    Raises:
        MatchmakingError: The app refuses it.
        JournalUnavailable: The answer was cut off: its owner died while it came.
    """
    head: Message = {"status": 503, "headers": []}
    parts: list[bytes] = []
    is_whole = False

    async def send(message: Message) -> None:
        nonlocal head, is_whole
        if message["type"] == "http.response.start":
            head = message
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))
            is_whole = not message.get("more_body", False)

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    await app(scope, replay_body(body, never), send)
    if not is_whole:
        # With a length of its own, half an answer would look like all of it.
        raise JournalUnavailable(UNKNOWN)
    kept = tuple(each for each in head["headers"] if each[0] != b"content-length")
    return WholeAnswer(head["status"], kept, b"".join(parts))
