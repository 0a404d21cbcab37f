"""A server that reads along while another one writes, and then takes over."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import pytest

from evenmatch.config.server import ServerSettings
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.snapshot import state_hash
from evenmatch.errors import ConfigError, JournalCorrupt, JournalUnavailable, StaleOwner
from evenmatch.journals.base import Entry
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.shards import shards_of
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.runtime import recovery
from evenmatch.server.runtime.recovery import APPLIED_AT_ONCE, Rebuilt, ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from tests.waiting import until

PLAN = ShardPlan((Queue("duel", policy="greedy"),), settings=ServerSettings())


class WatchedJournal(MemoryJournal):
    """Remembers from where it was read; without any records that were lost, and can be away."""

    is_away = False

    def __init__(self, other: MemoryJournal) -> None:
        super().__init__()
        self.shelves = other.shelves
        self.begun: list[int] = []

    async def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        self.begun.append(from_seq)
        if self.is_away:
            raise JournalUnavailable("away")
        async for entry in super().read(shard, from_seq):
            yield entry


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            await scene()

    asyncio.run(bounded())


async def enqueue(runtime: Runtime, *players: str) -> None:
    tickets = tuple(NewTicket((Player(player),)) for player in players)
    await runtime.ask(Enqueue(runtime.now(), tickets))


def test_taking_over_reads_only_what_was_not_read_before() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        first = Runtime(PLAN, journal)
        await first.start()
        await enqueue(first, "ada", "bob", "eve")
        watched = WatchedJournal(journal)
        second = Runtime(PLAN, watched)
        await second.follow()
        await enqueue(first, "dan")
        await second.follow()
        seen = first.durable
        await enqueue(first, "fay")
        state, last = state_hash(first.engine), first.durable
        await first.stop(with_snapshot=False)
        await second.start()
        assert state_hash(second.engine) == state
        assert second.durable == last
        assert watched.begun[0] == 1
        assert watched.begun[-1] == seen, "the last record is looked at again, and then those after"
        await enqueue(second, "gus")
        await second.stop()

    play(scene)


def test_what_was_read_and_is_not_in_the_journal_any_more_is_forgotten() -> None:
    async def scene() -> None:
        journal, other = MemoryJournal(), MemoryJournal()
        for each, players in ((journal, ("ada", "bob", "eve")), (other, ("zoe",))):
            runtime = Runtime(PLAN, each)
            await runtime.start()
            for player in players:
                await enqueue(runtime, player)
            await runtime.stop(with_snapshot=False)
        watched = WatchedJournal(journal)
        second = Runtime(PLAN, watched)
        await second.follow()
        # A promotion that lost the tail: the journal is shorter than what was read of it.
        watched.shelves = other.shelves
        await second.start()
        assert [row.ticket.players[0].id for row in second.engine.tables.waiting.values()] == [
            "zoe"
        ]
        assert watched.begun[0] == 1 < watched.begun[1]
        assert watched.begun[2:] == [1]
        await second.stop()

    play(scene)


async def written(*players: str) -> MemoryJournal:
    """Return a journal in which these came, one after the other."""
    journal = MemoryJournal()
    runtime = Runtime(PLAN, journal)
    await runtime.start()
    for player in players:
        await enqueue(runtime, player)
    await runtime.stop(with_snapshot=False)
    return journal


@pytest.mark.parametrize("when", ["before it looks again", "at the takeover"])
def test_tail_that_was_replaced_under_the_same_numbers_is_read_anew(when: str) -> None:
    async def scene() -> None:
        journal = await written("ada", "bob", "eve")
        # A copy from before the last two was restored, and another server went on with it: at
        # first with as many records, and then with more.
        other = await written("ada", "zoe", "yan", "xia")
        watched = WatchedJournal(journal)
        second = Runtime(PLAN, watched)
        await second.follow()
        watched.shelves = other.shelves
        if when == "before it looks again":
            await second.follow()
        await second.start()
        fresh = Runtime(PLAN, WatchedJournal(other))
        state = state_hash(second.engine)
        await second.stop(with_snapshot=False)
        await fresh.start()
        assert state_hash(fresh.engine) == state
        await fresh.stop()

    play(scene)


def test_reading_on_goes_on_where_it_was_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "APPLIED_AT_ONCE", 1)

    async def scene() -> None:
        journal = MemoryJournal()
        first = Runtime(PLAN, journal)
        await first.start()
        watched = WatchedJournal(journal)
        second = Runtime(PLAN, watched)
        await second.follow()
        for player in ("ada", "bob", "eve"):
            await enqueue(first, player)
        reading = asyncio.create_task(second.follow())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert reading.cancelled()
        await second.follow()
        assert 1 < watched.begun[-1] < first.durable
        state = state_hash(first.engine)
        await first.stop(with_snapshot=False)
        await second.start()
        assert state_hash(second.engine) == state
        await second.stop()

    play(scene)


def test_lease_that_is_lost_while_the_shard_is_rebuilt_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene() -> None:
        plan = msgspec.structs.replace(PLAN, journal="sqlite:elsewhere", lease_seconds=0.3)
        now = 0.0
        journal = MemoryJournal(wall=lambda: now)
        runtime, rebuild_shard = Runtime(plan, journal), recovery.rebuild

        async def rebuild(*given: object) -> Rebuilt:
            nonlocal now
            found = await rebuild_shard(*given)
            now = 2 * plan.lease_seconds
            await journal.lease(plan.shard, "another", 60.0)
            # This server asks for its lease once more, and hears of it.
            await until(lambda: runtime.failure != "starting")
            return found

        monkeypatch.setattr(recovery, "rebuild", rebuild)
        with pytest.raises(StaleOwner, match="another"):
            await runtime.start()
        assert runtime.refusal is not None

    play(scene)


def test_others_may_run_between_the_tickets_of_large_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns, applied = 0, list[int]()
    apply = Engine.apply

    def noted(engine: Engine, record: Record) -> None:
        applied.append(turns)
        apply(engine, record)

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def scene() -> None:
        journal = MemoryJournal()
        first, second = Runtime(PLAN, journal), Runtime(PLAN, journal.reopen())
        await first.start()
        for number in range(4):
            await enqueue(first, *(f"p{number}-{at}" for at in range(APPLIED_AT_ONCE)))
        monkeypatch.setattr(Engine, "apply", noted)
        running = asyncio.create_task(others())
        await second.follow()
        running.cancel()
        # The configuration is small, and the first array comes with it.
        assert len(applied) == 5
        assert len(set(applied[1:])) == 4
        await first.stop()
        await second.stop()

    play(scene)


def test_reading_that_failed_begins_anew() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        first = Runtime(PLAN, journal)
        await first.start()
        await enqueue(first, "ada")
        watched = WatchedJournal(journal)
        second = Runtime(PLAN, watched)
        await second.follow()
        watched.is_away = True
        with pytest.raises(JournalUnavailable):
            await second.follow()
        watched.is_away = False
        await second.follow()
        assert watched.begun == [1, first.durable, 1]
        await first.stop()
        await second.stop()

    play(scene)


def test_who_reads_too_slowly_begins_with_the_newest_snapshot() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        first = Runtime(PLAN, journal, snapshot_every=2)
        await first.start()
        slow = [Runtime(PLAN, WatchedJournal(journal), snapshot_every=2) for _ in range(2)]
        for each in slow:
            await each.follow()
        for number in range(8):
            await enqueue(first, f"p{number}")
            await first.save()
        # The records in between are gone, since two snapshots cover them.
        with pytest.raises(JournalCorrupt):
            await slow[0].follow()
        await slow[0].follow()
        assert journal_of(slow[0]).begun[-1] > 2
        state = state_hash(first.engine)
        await first.stop()
        # Taking over does not even fail once.
        await slow[1].start()
        assert state_hash(slow[1].engine) == state
        for each in slow:
            await each.stop()

    play(scene)


def test_newest_snapshot_is_read_for_what_matchers_remember_when_that_is_asked_for() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        first = Runtime(PLAN, journal)
        await first.start()
        second = Runtime(PLAN, WatchedJournal(journal))
        await second.follow()
        await enqueue(first, "ada")
        await first.save()
        await second.follow(anew=True)
        assert journal_of(second).begun == [1, first.durable, first.durable]
        await first.stop()
        await second.stop()

    play(scene)


def journal_of(runtime: Runtime) -> WatchedJournal:
    assert isinstance(runtime.journal, WatchedJournal)
    return runtime.journal


def test_configuration_with_other_shards_is_refused_and_own_queues_are_taken_out() -> None:
    queues = Queue("a"), Queue("b", group="x")
    plan = msgspec.structs.replace(PLAN, layout=shards_of(queues), shard="s0.x")
    assert [each.name for each in plan.own_queues(queues)] == ["b"]
    assert PLAN.own_queues(queues) == queues
    for other in ((Queue("a"),), (*queues, Queue("c", group="y")), (Queue("a"), Queue("b"))):
        with pytest.raises(ConfigError, match="change CONFIG on all nodes"):
            plan.own_queues(other)


def test_journal_without_a_newer_snapshot_is_not_read_anew_at_each_look() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        first = Runtime(PLAN, journal, snapshot_every=10**9)
        await first.start()
        for number in range(60):
            await enqueue(first, f"p{number}")
        watched = WatchedJournal(journal)
        second = Runtime(PLAN, watched, snapshot_every=10)
        for _ in range(4):
            await second.follow()
        # The last record is looked at again.
        assert watched.begun == [1, *[first.durable] * 3]
        await first.stop()

    play(scene)


def test_what_an_unexpected_error_left_half_read_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        first = Runtime(PLAN, journal)
        await first.start()
        await enqueue(first, "ada")
        second = Runtime(PLAN, WatchedJournal(journal))
        await second.follow()
        await enqueue(first, "bob")

        def failing(*_: object) -> None:
            raise AssertionError("a fault of ours")

        with monkeypatch.context() as patched:
            patched.setattr(Engine, "apply", failing)
            with pytest.raises(AssertionError):
                await second.follow()
        assert second._ahead.take() is None
        await first.stop()

    play(scene)
