"""Snapshots, and the records that they make superfluous."""

import asyncio
import io
from typing import Any

import msgspec
import pytest
import structlog

from evenmatch.config.server import ServerSettings
from evenmatch.engine.matching.scheduler import Scheduler
from evenmatch.errors import JournalUnavailable, StaleOwner
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.runtime.lease_keeping import RELEASED
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.snapshots import EVENTS_EACH, OldRecords, Snapshots
from tests.waiting import turns, until

PLAN = ShardPlan((Queue("duel", policy="greedy"),), settings=ServerSettings())


def test_nothing_is_taken_of_a_shard_that_has_failed() -> None:
    async def main() -> None:
        journal = MemoryJournal()
        snapshots = Snapshots(journal, ShardPlan((Queue("duel"),)), 1)
        await snapshots.forget()
        snapshots.committed(5)
        await snapshots.finish(with_last=True)
        assert snapshots.behind == 5
        assert await journal.latest_snapshot("s0") is None

    asyncio.run(main())


def test_nothing_is_stored_of_an_engine_that_stopped_half_way_after_a_snapshot_fell_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evenmatch.server.runtime.runtime.REBUILD_PAUSES", (0.01,))

    def broken(*_: object) -> None:
        raise KeyError("the ticket is in the tables already")

    async def main() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal, snapshot_every=50)
        await runtime.start()
        # The writer sees to the failure when its next pause is over.
        await until(lambda: not runtime._work.is_set())
        paused = asyncio.Event()
        monkeypatch.setattr(runtime._pace, "gather", paused.wait)
        snapshots, before = runtime._snapshots, runtime.shard
        snapshots.committed(runtime.durable, 50 * EVENTS_EACH)
        with monkeypatch.context() as patched:
            patched.setattr(Scheduler, "enter", broken)
            with pytest.raises(JournalUnavailable):
                await runtime.ask(Enqueue(runtime.now(), (NewTicket((Player("ada"),)),)))
        await until(lambda: snapshots._task is None)
        paused.set()
        await until(lambda: runtime.unready is None and runtime.shard is not before)
        assert await journal.latest_snapshot("s0") is None
        await runtime.stop()

    asyncio.run(main())


def test_stop_waits_for_no_snapshot_of_records_that_will_not_be_committed() -> None:
    class Held(MemoryJournal):
        is_held = False

        async def append(self, *given: Any) -> int:
            if self.is_held:
                await asyncio.Event().wait()
            return await super().append(*given)

    async def main() -> None:
        journal = Held()
        runtime = Runtime(PLAN, journal, snapshot_every=50)
        await runtime.start()
        journal.is_held = True
        tickets = (NewTicket((Player("ada"),)),)
        asking = asyncio.create_task(runtime.ask(Enqueue(runtime.now(), tickets)))
        await until(lambda: runtime.commit_age() > 0.0)
        runtime._snapshots.committed(runtime.durable, 50 * EVENTS_EACH)
        await turns()
        runtime._lease_lost(StaleOwner("another owner has it"))
        async with asyncio.timeout(1.0):
            await runtime.stop()
        with pytest.raises(JournalUnavailable):
            await asking

    asyncio.run(main())


class LongPruning(MemoryJournal):
    """Has always more to delete, one slice at a time once it is let.

    Args:
        error: Raised instead.
    """

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.snapshots: list[int] = []
        self.slices = 0
        self.may_go_on = asyncio.Event()
        self._error = error

    async def forget(self, shard: str, before: float) -> int:
        del shard, before
        if self._error is not None:
            raise self._error
        self.slices += 1
        await self.may_go_on.wait()
        return 200

    async def snapshot(self, shard: str, seq: int, state: bytes) -> None:
        self.snapshots.append(seq)
        await super().snapshot(shard, seq, state)


def test_snapshots_and_the_stop_do_not_wait_for_records_that_are_deleted() -> None:
    async def main() -> None:
        journal = LongPruning()
        runtime = Runtime(PLAN, journal, snapshot_every=10)
        await runtime.start()
        for number in range(60):
            tickets = (NewTicket((Player(f"p{number}"),)),)
            await runtime.ask(Enqueue(runtime.now(), tickets))
            await until(lambda at=number: len(journal.snapshots) >= at // 12)  # type: ignore[misc]
        assert journal.slices == 1, "the first slice is still being deleted"
        assert len(journal.snapshots) >= 4
        journal.may_go_on.set()
        await until(lambda: journal.slices > 2, "the next slices")
        await runtime.stop(with_snapshot=False)
        at_the_end = journal.slices
        await turns()
        assert journal.slices == at_the_end

    asyncio.run(main())


def test_slice_that_hangs_holds_up_the_stop_for_a_moment_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evenmatch.server.runtime.snapshots.PRUNE_END_SECONDS", 0.01)

    async def main() -> None:
        journal = LongPruning()
        old = OldRecords(journal, "s0", 1.0, lambda: 1e9)
        old.begin()
        await until(lambda: journal.slices == 1)
        await old.stop(0.01)
        old.begin()
        await until(lambda: journal.slices == 2, "it goes on after the next snapshot")
        old.end()
        await old.stop(0.01)
        old.begin()
        await turns()
        assert journal.slices == 2

    asyncio.run(main())


def test_records_that_cannot_be_deleted_are_told_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))

    async def main() -> None:
        old = OldRecords(LongPruning(JournalUnavailable("gone")), "s0", 1.0, lambda: 1e9)
        for _ in range(2):
            old.begin()
            await until(lambda: old._task is None)

    asyncio.run(main())
    assert told.getvalue().count("records_not_deleted") == 2


def test_lease_is_given_back_before_the_last_slice_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evenmatch.server.runtime.snapshots.PRUNE_END_SECONDS", 60.0)

    class Released(LongPruning):
        async def lease(self, shard: str, owner: str, ttl: float) -> int:
            if ttl == RELEASED:
                self.may_go_on.set()
            return await super().lease(shard, owner, ttl)

    async def main() -> None:
        journal = Released()
        plan = msgspec.structs.replace(PLAN, journal="nats://elsewhere")
        runtime = Runtime(plan, journal, snapshot_every=1)
        await runtime.start()
        await until(lambda: journal.slices == 1, "a slice")
        await runtime.stop()
        assert journal.may_go_on.is_set()

    asyncio.run(main())
