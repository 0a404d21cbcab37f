"""Draining: new tickets are refused, the others go on, and the server ends by itself."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from evenmatch.errors import Draining, KeyReused
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Cancel, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble


def play(scene: Callable[[Services], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            parts = assemble(ShardPlan((Queue(name="duel", policy="greedy"),)), MemoryJournal())
            await parts.runtime.start()
            await scene(parts)
            await parts.runtime.stop()

    asyncio.run(bounded())


async def enqueue(parts: Services, player: str) -> str:
    new = (NewTicket((Player(player),)),)
    (view,) = await parts.runtime.ask(Enqueue(parts.runtime.now(), new))
    found: str = view.id
    return found


def test_it_is_over_when_the_last_ticket_ends() -> None:
    async def scene(parts: Services) -> None:
        ticket = await enqueue(parts, "ada")
        parts.drain.begin(1_000.0)
        with pytest.raises(Draining):
            await enqueue(parts, "bob")
        assert parts.drain.waiting == 1
        assert not parts.drain.over.is_set()
        await parts.runtime.ask(Cancel(parts.runtime.now(), ticket))
        await parts.drain.over.wait()

    play(scene)


def test_repeated_request_is_answered_as_before() -> None:
    new = (NewTicket((Player("ada"),)),)

    async def scene(parts: Services) -> None:
        now = parts.runtime.now
        (made,) = await parts.runtime.ask(Enqueue(now(), new, "key", "digest"))
        parts.drain.begin(1_000.0)
        (again,) = await parts.runtime.ask(Enqueue(now(), new, "key", "digest"))
        assert again.id == made.id
        with pytest.raises(KeyReused):
            await parts.runtime.ask(Enqueue(now(), new, "key", "other"))
        with pytest.raises(Draining):
            await parts.runtime.ask(Enqueue(now(), new, "new key", "digest"))

    play(scene)


def test_it_is_over_at_its_limit_whoever_still_waits() -> None:
    async def scene(parts: Services) -> None:
        await enqueue(parts, "ada")
        parts.drain.begin(1_000.0)
        parts.drain.begin(0.05)
        await parts.drain.over.wait()
        assert parts.drain.waiting == 1

    play(scene)


def test_it_can_be_taken_back_until_it_is_over() -> None:
    async def scene(parts: Services) -> None:
        await enqueue(parts, "ada")
        parts.drain.begin(1_000.0)
        parts.drain.end()
        assert not parts.drain.is_on
        await enqueue(parts, "bob")
        assert parts.drain.waiting == 0
        parts.drain.begin(1_000.0)
        await parts.drain.over.wait()

    play(scene)


def test_it_can_be_taken_back_where_it_is_over_and_the_server_has_not_stopped() -> None:
    async def scene(parts: Services) -> None:
        await enqueue(parts, "ada")
        parts.drain.begin(0.01)
        await parts.drain.over.wait()
        parts.drain.end()
        assert not parts.drain.is_on
        assert not parts.drain.over.is_set()
        await enqueue(parts, "bob")
        parts.drain.begin(1_000.0)
        await parts.drain.over.wait()

    play(scene)


def test_nobody_watches_a_game_that_has_stopped() -> None:
    async def scene(parts: Services) -> None:
        await enqueue(parts, "ada")
        parts.drain.begin(1_000.0)
        parts.drain.close()
        await asyncio.gather(cast(Any, parts.drain._task), return_exceptions=True)
        assert not parts.drain.over.is_set()
        parts.drain.close()

    play(scene)
