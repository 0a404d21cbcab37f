"""Between the callbacks of the shard and the coroutines of the server."""

from __future__ import annotations

import asyncio
from typing import Any

from evenmatch.engine.shard import Answer, Shard
from evenmatch.errors import KeyReused, MatchmakingError
from evenmatch.model.inputs import Enqueue

Told = tuple[Any, MatchmakingError | None]
"""The value of an answer, and its error.

An answer itself names the callback that leads to the future, so a future that held it would hold
itself, and only the collector could free it.
"""


def resolve(future: asyncio.Future[Told], answer: Answer) -> None:
    """Give a future its answer unless its caller has left."""
    if not future.done():
        future.set_result((answer.value, answer.error))


def value_of(told: Told) -> Any:
    """Return an answer's value, or raise its error."""
    value, error = told
    if error is not None:
        raise error
    return value


def ignore(answer: Answer) -> None:
    """Take an answer that nobody waits for."""


def is_repeat(shard: Shard, given: Enqueue) -> bool:
    """Return whether a request has been answered before, so that it makes no ticket now."""
    try:
        return shard.answered_before(given) is not None
    except KeyReused:
        return True
