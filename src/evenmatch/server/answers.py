"""Between the callbacks of the shard and the coroutines of the server."""

from __future__ import annotations

import asyncio
from typing import Any

from evenmatch.engine.shard import Answer


def resolve(future: asyncio.Future[Answer], answer: Answer) -> None:
    """Give a future its answer unless its caller has left."""
    if not future.done():
        future.set_result(answer)


def value_of(answer: Answer) -> Any:
    """Return an answer's value, or raise its error."""
    if answer.error is not None:
        raise answer.error
    return answer.value
