"""Turn the callbacks of the shard into answers that coroutines can await."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from evenmatch.engine.engine import Engine
from evenmatch.engine.shard import Answer, Shard
from evenmatch.errors import KeyReused, MatchmakingError
from evenmatch.model.inputs import Enqueue, Input

AnswerOrError = tuple[Any, MatchmakingError | None]
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

    def handle(self, input_: Input, to: Callable[[Answer], None]) -> None:
        """Hand an input in; `to` is called with the answer when it is durable."""
        raise NotImplementedError

    def read(self, query: Callable[[Engine], Any], to: Callable[[Answer], None]) -> None:
        """Ask the engine; `to` is called with the answer when what it rests on is durable."""
        raise NotImplementedError

    def hand_in(
        self, input_: Input, query: Callable[[Engine], Any], to: Callable[[Answer], None]
    ) -> None:
        """Hand an input in, and look at once at what it made: one commit makes both durable.

        Args:
            input_: The input.
            query: Asks the engine right after it.
            to: Called once, with what was found or with the error of the input.
        """
        is_refused = False

        def decided(answer: Answer) -> None:
            nonlocal is_refused
            if answer.error is not None:
                is_refused = True
                to(answer)

        def found(answer: Answer) -> None:
            if not is_refused:
                to(answer)

        self.handle(input_, decided)
        if not is_refused:
            self.read(query, found)

    async def change(self, input_: Input, query: Callable[[Engine], Any]) -> Any:
        """Hand an input in and return what a query finds right after it, or raise its error."""
        future: asyncio.Future[AnswerOrError] = asyncio.get_running_loop().create_future()
        self.hand_in(input_, query, partial(resolve, future))
        return value_of(await future)

    async def ask(self, input_: Input) -> Any:
        """Hand an input in and return the value of its answer, or raise its error."""
        future: asyncio.Future[AnswerOrError] = asyncio.get_running_loop().create_future()
        self.handle(input_, partial(resolve, future))
        return value_of(await future)

    async def look(
        self, query: Callable[[Engine], Any], then: Callable[[Any], None] | None = None
    ) -> Any:
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
