"""Between the callbacks of the shard and the coroutines of the server."""

from __future__ import annotations

import asyncio
from typing import Any

from evenmatch.engine.shard import Answer
from evenmatch.errors import MatchmakingError

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
