"""Between the callbacks of the shard and the coroutines of the server."""

from __future__ import annotations

import asyncio
from typing import Any

from evenmatch.engine.shard import Answer, Shard
from evenmatch.errors import KeyReused
from evenmatch.model.inputs import Enqueue


def resolve(future: asyncio.Future[Answer], answer: Answer) -> None:
    """Give a future its answer unless its caller has left."""
    if not future.done():
        future.set_result(answer)


def value_of(answer: Answer) -> Any:
    """Return an answer's value, or raise its error."""
    if answer.error is not None:
        raise answer.error
    return answer.value


def is_repeat(shard: Shard, given: Enqueue) -> bool:
    """Return whether a request has been answered before, so that it makes no ticket now."""
    try:
        return shard.answered_before(given) is not None
    except KeyReused:
        return True
