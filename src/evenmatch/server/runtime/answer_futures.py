"""Turn the callbacks of the shard into answers that coroutines can await."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from evenmatch.engine.engine import Engine
from evenmatch.engine.shard import Answer, Shard
from evenmatch.errors import KeyReused
from evenmatch.model.inputs import Enqueue, Input

AnswerTo = Callable[[Answer], None]
Query = Callable[[Engine], Any]
AnswerOrError = tuple[Any, Exception | None]
"""The value of an answer, and its error.

An answer itself names the callback that leads to the future, so a future that held it would hold
itself, and only the collector could free it.
"""


def resolve(future: asyncio.Future[AnswerOrError], answer: Answer) -> None:
    """Give a future its answer unless its caller has left."""
    if not future.done():
        future.set_result((answer.value, answer.error))


def value_of(answer: AnswerOrError) -> Any:
    """Return an answer's value, or raise its error."""
    value, error = answer
    if error is not None:
        raise error
    return value


def ignore(answer: Answer) -> None:
    """Take an answer that nobody waits for."""


def is_repeat(shard: Shard, enqueue: Enqueue) -> bool:
    """Return whether a request has been answered before, so that it makes no ticket now."""
    try:
        return shard.answered_before(enqueue) is not None
    except KeyReused:
        return True


class CallbackPort:
    """Hands in inputs and questions by callback, for callers who would rather await."""

    def handle(self, input_: Input, to: AnswerTo, *, look: Query | None = None) -> None:
        """Hand an input in; `to` is called with the answer when it is durable.

        With `look`, the answer's value is what that finds in the engine right after the input.
        """
        raise NotImplementedError

    def read(self, query: Query, to: AnswerTo) -> None:
        """Ask the engine; `to` is called with the answer when what it rests on is durable."""
        raise NotImplementedError

    async def ask(self, input_: Input, *, look: Query | None = None) -> Any:
        """Hand an input in and return the value of its answer, or raise its error."""
        future: asyncio.Future[AnswerOrError] = asyncio.get_running_loop().create_future()
        self.handle(input_, partial(resolve, future), look=look)
        return value_of(await future)

    async def look(self, query: Query, then: Callable[[Any], None] | None = None) -> Any:
        """Ask the engine and return the answer, or raise its error.

        `then` is called with the answer before any later record is heard of.
        """
        future: asyncio.Future[AnswerOrError] = asyncio.get_running_loop().create_future()

        def to(answer: Answer) -> None:
            try:
                if then is not None and answer.error is None and not future.done():
                    then(answer.value)
            except Exception as error:  # noqa: BLE001
                future.set_exception(error)
            resolve(future, answer)

        self.read(query, to)
        return value_of(await future)
