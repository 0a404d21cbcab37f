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
from evenmatch.server.runtime.read_ahead import LastRecord
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
        # No lease ends here by itself: the test decides who is killed.
        games = self.assembled(Clocks(self.clock, self.wall, self.clock, lambda: 0.0))
        await games.start()
        return games

    def clock(self) -> float:
        return self.seconds

    def standby(self, *, ahead: float) -> Games:
        """Return a node that has not started yet; its wall clock is ahead by so many seconds."""
        clocks = Clocks(self.clock, lambda: self.wall() + ahead, self.clock, self.clock)
        return self.assembled(clocks)

    def assembled(self, clocks: Clocks) -> Games:
        self.started += 1
        plan = ShardPlan(
            (QUEUE,), journal="shared:", owner=f"node-{self.started}", lease_seconds=LEASE
        )
        return Games(
            [Game(plan, Accounts(plan.settings))],
            snapshot_every=1_000,
            clocks=clocks,
            open_with=lambda plan, name: self.journal,
        )

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


@pytest.mark.parametrize("ahead", [40.0, -40.0, 0.0])
def test_nobody_ages_by_what_the_clocks_of_two_nodes_differ(ahead: float) -> None:
    async def scene(world: World) -> None:
        games = world.standby(ahead=0.0)
        await games.start()
        await enter(games)
        for number in range(1, 5):
            # Each is the other node, which looks into the journal while this one answers.
            following = world.standby(ahead=ahead * (number % 2))
            for _ in range(3):
                await following.follow()
                world.seconds += 1.0
            before = waited(games)
            await games.stop(with_snapshot=False)
            world.seconds += 0.5
            await following.start()
            games = following
            late = waited(games) - before
            assert 0.0 <= late <= 1.5
            assert ahead or late == pytest.approx(0.5, abs=0.01)
        await games.stop()

    play(scene)


@pytest.mark.parametrize("ahead", [40.0, -40.0, 0.0])
def test_wait_is_right_to_the_time_between_two_looks_after_a_kill(ahead: float) -> None:
    seconds = 100.0
    last = LastRecord(lambda: seconds)
    for sequence in (7, 7, 8, 8):
        last.seen(sequence, began=seconds)
        seconds += 2.0

    age = last.age(8, guess=5.0 + ahead)

    assert abs(age - 5.0) <= 1.0
    assert ahead or age == 5.0


def test_only_wall_clocks_tell_how_old_a_record_is_that_nobody_looked_for() -> None:
    last = LastRecord(lambda: 100.0)
    assert last.age(8, guess=45.0) == 45.0
    last = LastRecord(lambda: 100.0)
    last.seen(8, began=90.0)
    # A copy was restored.
    assert last.age(5, guess=3_600.0) == 3_600.0


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
