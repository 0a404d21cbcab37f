"""Engine time of a shard whose journal goes from one server to another while nothing happens."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record, needs
from evenmatch.engine.replay import Replay
from evenmatch.journals.base import FIRST_FORMAT
from evenmatch.journals.memory import MemoryJournal
from evenmatch.lab.replay.timeline import Cast, event_sentences
from evenmatch.model.inputs import Cancel, Enqueue, Skip
from evenmatch.model.queue import Queue
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.games import Game, Games
from evenmatch.server.runtime.recovery import ShardPlan, resolve
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.time_records import TimeRecords
from evenmatch.testing import new_ticket
from tests.waiting import until

QUEUE = Queue("duel", policy="greedy", wait_max=10_000.0)
LEASE = 5.0


class Shared(MemoryJournal):
    """A journal on another machine: what one server closes is open for the next."""

    async def close(self) -> None:
        pass


class World:
    """Nodes one after the other on one journal, on clocks that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.wall = lambda: 1_700_000_000.0 + self.seconds
        self.journal = Shared(wall=self.wall)
        self.started = 0

    async def start(self) -> Games:
        self.started += 1
        plan = ShardPlan(
            (QUEUE,), journal="shared:", owner=f"node-{self.started}", lease_seconds=LEASE
        )
        # No lease ends here by itself: the test decides who is killed.
        clocks = Clocks(lambda: self.seconds, self.wall, lambda: self.seconds, lambda: 0.0)
        games = Games(
            [Game(plan, Accounts(plan.settings))],
            snapshot_every=1_000,
            clocks=clocks,
            open_with=lambda plan, name: self.journal,
        )
        await games.start()
        return games

    async def records(self) -> list[Record]:
        return [entry.record async for entry in self.journal.read("s0", 1)]


def play(scene: Callable[[World], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60.0):
            await scene(World())

    asyncio.run(bounded())


def runtime_of(games: Games) -> Runtime:
    return games.services[0].runtime


async def enter(games: Games, player: str = "ada") -> None:
    runtime = runtime_of(games)
    await runtime.ask(Enqueue(runtime.now(), (new_ticket(player),)))


def waited(games: Games) -> float:
    runtime = runtime_of(games)
    return runtime.now() - runtime.engine.tables.waiting["s0-1"].ticket.enqueued_at


@pytest.mark.parametrize("with_snapshot", [False, True])
def test_nobody_gets_younger_by_orderly_hand_overs_after_quiet_minutes(with_snapshot: bool) -> None:
    async def scene(world: World) -> None:
        games = await world.start()
        await enter(games)
        for away in (176.0, 30.0):
            world.seconds += away
            before = waited(games)
            await games.stop(with_snapshot=with_snapshot)
            world.seconds += 0.5
            games = await world.start()
            assert waited(games) == pytest.approx(before + 0.5, abs=0.01)
        await games.stop()

    play(scene)


def test_takeover_after_a_kill_loses_nothing_however_long_nothing_was_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evenmatch.server.runtime.games.TimeRecords", partial(TimeRecords, every=0))

    async def scene(world: World) -> None:
        killed = await world.start()
        await enter(killed)
        runtime = runtime_of(killed)

        def is_noted() -> bool:
            tables = runtime.engine.tables
            return world.seconds - tables.now < 27.0 and runtime.durable == tables.sequence

        for _ in range(60):
            world.seconds += 2.0
            await until(is_noted)
        before = waited(killed)
        for task in killed._turns:
            task.cancel()
        # The next node takes over half a minute later, and the killed one has written nothing more.
        world.seconds += 30.0
        games = await world.start()
        assert waited(games) == pytest.approx(before + 30.0, abs=0.01)
        await games.stop()
        await killed.stop()

    play(scene)


def test_records_of_the_time_come_every_half_a_minute_and_only_while_anybody_waits() -> None:
    async def scene(world: World) -> None:
        games = await world.start()
        runtime = runtime_of(games)
        looks: list[int] = []
        notes = TimeRecords(runtime, every=0.001)
        record = notes._record

        def counted(quiet: float) -> None:
            looks.append(1)
            record(quiet)

        notes._record = counted  # type: ignore[method-assign]
        watching = asyncio.create_task(notes.watch())

        async def pass_by(seconds: float) -> int:
            """Return how many records come within so many seconds, a look each five."""
            before = runtime.engine.tables.sequence
            for _ in range(int(seconds / 5.0)):
                world.seconds += 5.0
                count = len(looks)
                await until(lambda count=count: len(looks) > count)
            return runtime.engine.tables.sequence - before

        assert await pass_by(600.0) == 0
        await enter(games)
        assert 19 <= await pass_by(600.0) <= 20
        await runtime.ask(Cancel(runtime.now(), "s0-1"))
        assert await pass_by(600.0) == 0
        watching.cancel()
        await games.stop()
        times = [each for each in await world.records() if isinstance(each.input, Skip)]
        assert {needs(each.input) for each in times} == {FIRST_FORMAT}

    play(scene)


def test_nobody_waits_at_the_end_and_no_record_is_made() -> None:
    async def scene(world: World) -> None:
        games = await world.start()
        before = len(await world.records())
        world.seconds += 600.0
        await games.stop()
        assert len(await world.records()) == before

    play(scene)


def test_record_of_the_time_changes_nothing_else_and_replays() -> None:
    async def scene(world: World) -> None:
        games = await world.start()
        await enter(games)
        runtime = runtime_of(games)
        due, notes = runtime.engine.next_wakeup, TimeRecords(runtime)
        for _ in range(3):
            world.seconds += 100.0
            notes.end()
            assert runtime.engine.next_wakeup == due
        world.seconds += 1.0
        await enter(games, "bob")
        await games.stop()
        records = await world.records()
        times = [each for each in records if isinstance(each.input, Skip)]
        assert len(times) == 3
        told = [[*event_sentences(*each.events, each.input, Cast())] for each in times]
        assert told == [["the server noted the time: nothing else was recorded for a while"]] * 3
        again = Replay(Engine(resolve))
        assert [again.hear(each) for each in records] == [None] * len(records)

    play(scene)
