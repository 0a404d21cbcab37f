"""Waiting for a lease, keeping it, and losing it."""

import asyncio
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
import structlog

from evenmatch.errors import ConfigError, JournalError, JournalUnavailable, StaleOwner
from evenmatch.journals.base import StoredSnapshot
from evenmatch.journals.leases import LeaseWatch
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Cancel, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.runtime import lease_keeping
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.lease_keeping import (
    LEASE_OVER,
    LEASE_SECONDS,
    LEASE_SPARE,
    RELEASED,
    WAS_AWAY,
    Claim,
    LeaseKeeper,
    owner_of,
    wait_for_lease,
)
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from tests.waiting import GIVE_UP


class Wall:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.001)


def test_owner_of_a_directory_stays_the_same_and_differs_between_directories(
    tmp_path: Path,
) -> None:
    one = owner_of(tmp_path / "one")
    assert owner_of(tmp_path / "one") == one
    assert owner_of(tmp_path / "two") != one
    assert owner_of(None) != owner_of(None)


def test_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file"):
        owner_of(tmp_path / "file")


def test_newcomer_waits_until_the_lease_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeping, "ASK_EVERY", 0.001)

    async def main() -> None:
        wall = Wall()
        journal = MemoryJournal(wall=wall)
        await journal.lease("s0", "one", 30.0)
        waiting = asyncio.create_task(wait_for_lease(journal, Claim("s0", "two"), forever=False))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        wall.now += 30.0
        await waiting

    asyncio.run(main())


def test_newcomer_takes_what_was_given_back_at_once_and_tells_of_no_other_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = io.StringIO()
    monkeypatch.setattr(lease_keeping.log, "_logger", structlog.PrintLogger(told))
    monkeypatch.setattr(lease_keeping, "ASK_EVERY", 3600.0)
    watch, now = LeaseWatch(lambda: now[0]), [0.0]

    class Shared(MemoryJournal):
        async def lease(self, shard: str, owner: str, ttl: float) -> int:
            try:
                watch.check_over(shard, ("one", 1, 7), RELEASED, owner)
            finally:
                now[0] += 1.0
            return await super().lease(shard, owner, ttl)

    async def main() -> None:
        async with asyncio.timeout(GIVE_UP):
            await wait_for_lease(Shared(wall=Wall()), Claim("s0", "two"), forever=False)

    asyncio.run(main())
    assert told.getvalue() == ""


def test_newcomer_gives_up_where_the_owner_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeping, "ASK_EVERY", 0.001)
    monkeypatch.setattr(lease_keeping, "WATCHED", 0.01)

    async def main() -> None:
        journal = MemoryJournal(wall=Wall())
        await journal.lease("s0", "one", 30.0)
        with pytest.raises(StaleOwner):
            await wait_for_lease(journal, Claim("s0", "two", 0.01), forever=False)
        patient = asyncio.create_task(wait_for_lease(journal, Claim("s0", "two"), forever=True))
        await asyncio.sleep(0.05)
        assert not patient.done()
        await journal.lease("s0", "one", 1e-9)
        await patient

    asyncio.run(main())


def test_lease_is_renewed_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeping, "RENEWALS", 30_000)

    async def main() -> None:
        wall, lost = Wall(), list[JournalError]()
        journal = MemoryJournal(wall=wall)
        epoch = await journal.lease("s0", "one", 30.0)
        keeper = LeaseKeeper(journal, Claim("s0", "one"), lost.append)
        keeper.keep(epoch)
        wall.now += 29.0
        await asyncio.sleep(0.02)
        wall.now += 29.0
        with pytest.raises(StaleOwner):
            await journal.lease("s0", "two", 30.0)
        keeper.stop()
        await keeper.release()
        wall.now += 0.01
        assert await journal.lease("s0", "two", 30.0) == epoch + 1
        assert lost == []

    asyncio.run(main())


def test_lost_lease_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeping, "RENEWALS", 30_000)

    async def main() -> None:
        wall, lost = Wall(), list[JournalError]()
        journal = MemoryJournal(wall=wall)
        epoch = await journal.lease("s0", "one", 30.0)
        wall.now += 30.0
        await journal.lease("s0", "two", 30.0)
        keeper = LeaseKeeper(journal, Claim("s0", "one"), lost.append)
        keeper.keep(epoch)
        await until(lambda: bool(lost))
        await keeper.release()
        await asyncio.sleep(0.01)
        assert [type(each) for each in lost] == [StaleOwner]
        # Somebody had it, and it is ours again: what they wrote has to be read first.
        wall.now += 30.0
        keeper.keep(epoch)
        await until(lambda: len(lost) == 2)
        assert type(lost[1]) is JournalUnavailable

    asyncio.run(main())


def test_server_whose_lease_was_taken_answers_nothing_more_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lease_keeping, "RENEWALS", 3_000)

    async def main() -> None:
        wall = Wall()
        journal = MemoryJournal(wall=wall)
        queue = Queue("duel", policy="greedy")
        plan = ShardPlan((queue,), journal="memory", owner="one")
        runtime = Runtime(plan, journal, clocks=Clocks(wall=wall))
        await runtime.start()
        assert runtime.unready is None
        wall.now += 30.0
        # Taken before the next renewal: the two do not get in each other's way on one loop.
        await journal.lease("s0", "two", 30.0)
        await runtime.given_up.wait()
        assert "'two'" in str(runtime.unready)
        await runtime.stop()

    asyncio.run(main())


def test_server_gives_no_lease_back_that_a_newer_process_of_its_owner_has() -> None:
    class Taken(MemoryJournal):
        asked: ClassVar[list[float]] = []

        async def lease(self, shard: str, owner: str, ttl: float) -> int:
            self.asked.append(ttl)
            return await super().lease(shard, owner, ttl)

        async def append(self, *given: Any) -> int:
            if (await self.last("s0"))[0]:
                raise StaleOwner("a newer process of 'one' writes to shard 's0'")
            return await super().append(*given)

    async def main() -> None:
        runtime = Runtime(plan_of("one", "duel"), Taken())
        await runtime.start()
        before = list(Taken.asked)
        with pytest.raises(JournalError):
            await runtime.ask(Enqueue(runtime.now(), (NewTicket((Player("ada"),)),)))
        await runtime.given_up.wait()
        assert runtime._lease._task is None, "it renews nothing"
        await runtime.stop()
        assert Taken.asked == before

    asyncio.run(main())


class Ticking:
    """A monotonic clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Silent(MemoryJournal):
    """A journal that stores all it is given, and renews no lease while it is told not to."""

    is_silent = False

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        if self.is_silent:
            raise JournalUnavailable("nobody answers")
        return await super().lease(shard, owner, ttl)


def test_server_whose_lease_is_over_answers_nothing_from_memory_until_it_is_renewed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lease_keeping, "RENEWALS", 30_000)
    monkeypatch.setattr(lease_keeping, "ASK_EVERY", 0.001)

    async def main() -> None:
        clock, journal = Ticking(), Silent(wall=Wall())
        plan = ShardPlan((Queue("duel", policy="greedy"),), journal="memory", owner="one")
        runtime = Runtime(plan, journal, clocks=Clocks(lease=clock))
        await runtime.start()
        journal.is_silent = True
        clock.now += LEASE_SECONDS * (1.0 - LEASE_SPARE) - 0.5
        assert await runtime.look(lambda engine: engine.tables.version) == 1
        clock.now += 0.5
        with pytest.raises(JournalUnavailable, match="lease is over"):
            await runtime.look(lambda engine: engine.tables.version)
        with pytest.raises(JournalUnavailable, match="lease is over"):
            await runtime.ask(Cancel(runtime.now(), "s0-1"))
        await until(lambda: runtime.unready == LEASE_OVER)
        # Timers go on: what they decide, the journal takes or refuses.
        runtime._fire()
        journal.is_silent = False
        await until(lambda: runtime.unready is None)
        assert await runtime.look(lambda engine: engine.tables.version) == 1
        await runtime.stop()

    asyncio.run(main())


def test_lease_counts_from_before_it_was_asked_for() -> None:
    async def main() -> None:
        clock, lost = Ticking(), list[JournalError]()
        keeper = LeaseKeeper(MemoryJournal(), Claim("s0", "one"), lost.append, clock=clock)
        assert not keeper.is_over
        keeper.keep(1, clock.now - 28.0)
        assert not keeper.is_over
        clock.now += 1.0
        assert keeper.is_over
        keeper.stop()

    asyncio.run(main())


class Slow(MemoryJournal):
    """A journal from which answers take four seconds."""

    def __init__(self, clock: Ticking) -> None:
        super().__init__()
        self.asked: list[float] = []
        self._clock = clock

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        epoch = await super().lease(shard, owner, ttl)
        self.asked.append(self._clock.now)
        self._clock.now += 4.0
        return epoch


def test_renewed_lease_counts_from_before_its_renewal_was_asked_for() -> None:
    async def main() -> None:
        clock = Ticking()
        journal = Slow(clock)
        claim = Claim("s0", "one", 30.0)
        epoch = await journal.lease(*claim)
        keeper = LeaseKeeper(journal, claim, lambda error: None, clock=clock)
        # It is time for the next renewal at once.
        keeper.keep(epoch, clock.now - 20.0)
        await until(lambda: len(journal.asked) == 2)
        await asyncio.sleep(0)
        clock.now = journal.asked[1] + claim.counted - 0.5
        assert not keeper.is_over
        clock.now += 0.5
        assert keeper.is_over
        keeper.stop()

    asyncio.run(main())


class Hanging(MemoryJournal):
    """A journal that answers only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        self.is_asked.set()
        await self.may_answer.wait()
        return await super().lease(shard, owner, ttl)


@pytest.mark.parametrize(("asked_in_time", "reason"), [(True, LEASE_OVER), (False, WAS_AWAY)])
def test_journal_is_blamed_only_if_it_was_asked_before_the_lease_was_over(
    asked_in_time: bool, reason: str
) -> None:
    async def main() -> None:
        clock, journal = Ticking(), Hanging()
        claim = Claim("s0", "one", 30.0)
        keeper = LeaseKeeper(journal, claim, lambda error: None, clock=clock)
        keeper.keep(1, clock.now - 20.0)
        assert keeper.refusal is None
        if not asked_in_time:
            # The process is stopped before it asks, and goes on when the lease is over.
            clock.now += 60.0
        await journal.is_asked.wait()
        clock.now += 60.0
        assert keeper.refusal == reason
        journal.may_answer.set()
        await until(lambda: keeper.refusal is None or keeper._asked_at is None)
        keeper.stop()

    asyncio.run(main())


class LongJournal(MemoryJournal):
    """A journal that takes long to read, until it has been asked for the lease three times."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        self.asked += 1
        return await super().lease(shard, owner, ttl)

    async def latest_snapshot(self, shard: str) -> StoredSnapshot | None:
        await until(lambda: self.asked >= 4)
        return await super().latest_snapshot(shard)


def test_lease_is_renewed_while_a_long_journal_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeping, "RENEWALS", 30_000)

    async def main() -> None:
        journal = LongJournal()
        plan = ShardPlan((Queue("duel", policy="greedy"),), journal="memory", owner="one")
        runtime = Runtime(plan, journal)
        await runtime.start()
        assert runtime.refusal is None
        await runtime.stop()

    asyncio.run(main())


def test_owner_that_was_passed_over_is_told_so_before_it_writes_beside_the_journal() -> None:
    async def main() -> None:
        wall = Wall()
        journal = MemoryJournal(wall=wall)
        keeper = LeaseKeeper(journal, Claim("s0", "one", 10.0), lambda _: None)
        await keeper.confirm()  # nothing is kept yet, so a lock keeps others out
        keeper.keep(await journal.lease("s0", "one", 10.0))
        await keeper.confirm()
        wall.now += 11.0
        await journal.lease("s0", "two", 10.0)
        with pytest.raises(StaleOwner):
            await keeper.confirm()
        wall.now += 11.0
        # It gets the shard again, but another one had it meanwhile.
        with pytest.raises(StaleOwner, match="epoch 3"):
            await keeper.confirm()
        keeper.stop()

    asyncio.run(main())


def test_server_that_could_not_start_gives_its_lease_back() -> None:
    async def main() -> None:
        journal = KeptOpen()
        first = Runtime(plan_of("a", "duel", "arena"), journal)
        await first.start()
        ticket = (NewTicket((Player("ada"),), queues=("arena",)),)
        await first.ask(Enqueue(first.now(), ticket))
        await first.stop()
        # The moment for which a lease is given back.
        await asyncio.sleep(0.01)
        second = Runtime(plan_of("b", "duel"), journal)
        with pytest.raises(ConfigError, match="arena"):
            await second.start()
        await asyncio.sleep(0.01)
        await journal.lease("s0", "c", 30.0)

    asyncio.run(main())


def test_server_that_is_stopped_while_it_recovers_gives_its_lease_back() -> None:
    async def main() -> None:
        journal = KeptOpen()
        runtime = Runtime(plan_of("a", "duel"), journal)
        journal.may_read.clear()
        starting = asyncio.create_task(runtime.start())
        await until(lambda: journal.is_asked)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await runtime.stop()
        await asyncio.sleep(0.01)
        await journal.lease("s0", "c", 30.0)

    asyncio.run(main())


def test_journal_that_is_away_holds_up_no_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeping, "RELEASE_SECONDS", 0.01)

    async def main() -> None:
        journal = KeptOpen()
        runtime = Runtime(plan_of("a", "duel"), journal)
        await runtime.start()
        journal.is_away = True
        await runtime.stop()

    asyncio.run(main())


class KeptOpen(MemoryJournal):
    """A journal that stays open, shows nothing until it may, and can be away."""

    is_away = is_asked = False

    def __init__(self) -> None:
        super().__init__()
        self.may_read = asyncio.Event()
        self.may_read.set()

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        if self.is_away:
            await asyncio.Event().wait()
        return await super().lease(shard, owner, ttl)

    async def latest_snapshot(self, shard: str) -> StoredSnapshot | None:
        self.is_asked = True
        await self.may_read.wait()
        return await super().latest_snapshot(shard)

    async def close(self) -> None:
        pass


def plan_of(owner: str, *queues: str) -> ShardPlan:
    """Return what a server with a lease of half a minute runs."""
    made = tuple(Queue(name, policy="greedy") for name in queues)
    return ShardPlan(made, owner=owner, journal="nats://elsewhere", lease_seconds=30.0)
