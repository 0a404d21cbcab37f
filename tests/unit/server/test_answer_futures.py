"""What is left of a request when it has been answered: nothing."""

import asyncio
import gc
import weakref
from functools import partial

import pytest

from evenmatch.engine.shard import Answer
from evenmatch.errors import UnknownTicket
from evenmatch.server.runtime.answer_futures import AnswerOrError, resolve, value_of


def answered(error: UnknownTicket | None = None) -> "weakref.ref[asyncio.Future[AnswerOrError]]":
    """Answer a caller as the runtime does, and return a weak reference to what he waited for."""

    async def ask() -> "weakref.ref[asyncio.Future[AnswerOrError]]":
        future: asyncio.Future[AnswerOrError] = asyncio.get_running_loop().create_future()
        answer = Answer(partial(resolve, future), "value", error)
        answer.to(answer)
        if error is None:
            assert value_of(await future) == "value"
        else:
            with pytest.raises(UnknownTicket):
                value_of(await future)
        return weakref.ref(future)

    return asyncio.run(ask())


def test_answer_is_freed_without_the_collector() -> None:
    gc.disable()
    try:
        assert answered()() is None
    finally:
        gc.enable()


def test_error_is_freed_by_the_collector() -> None:
    left = answered(UnknownTicket("no ticket has the id x"))
    gc.collect()
    assert left() is None


def test_caller_who_left_is_not_told() -> None:
    async def leave() -> None:
        future: asyncio.Future[AnswerOrError] = asyncio.get_running_loop().create_future()
        future.cancel()
        resolve(future, Answer(None, "value"))
        assert future.cancelled()

    asyncio.run(leave())
