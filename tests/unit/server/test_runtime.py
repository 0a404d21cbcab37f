"""The runtime on a journal in memory: the gate, failure, rebuilding, snapshots."""

import asyncio
import io
import math
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from evenmatch.config.server import ServerSettings
from evenmatch.engine.records import Record
from evenmatch.engine.shard import Answer
from evenmatch.engine.state.snapshot import Snapshot, encode_snapshot, state_hash
from evenmatch.errors import ConfigError, JournalUnavailable, StaleOwner, UnknownTicket
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Cancel, Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.base import Decision, Grouping
from evenmatch.server.operations.versions import Versions
from evenmatch.server.runtime import logs as faults_module
from evenmatch.server.runtime import recovery as recovery_module
from evenmatch.server.runtime import runtime as runtime_module
from evenmatch.server.runtime import serve as server_process
from evenmatch.server.runtime import snapshots as snapshots_module
from evenmatch.server.runtime.clock import Clock, Clocks
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.runtime.snapshots import EVENTS_EACH
from tests.waiting import turns, until

DUEL = Queue(name="duel", policy="greedy")
PLAN = ShardPlan((DUEL,), settings=ServerSettings())


class FailingJournal(MemoryJournal):
    """Raises `error` at each append while it is set."""

    error: Exception | None = None

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        if self.error is not None:
            raise self.error
        return await super().append(shard, owner, epoch, first_seq, records)


def new(*players: str) -> tuple[NewTicket, ...]:
    return tuple(NewTicket((Player(player),)) for player in players)


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            await scene()

    asyncio.run(bounded())


async def enqueue(runtime: Runtime, *players: str) -> list[str]:
    results = await runtime.ask(Enqueue(runtime.now(), new(*players)))
    return [result.id for result in results]


def test_first_record_is_the_configuration_and_a_restart_adds_none() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await enqueue(runtime, "ada")
        state = state_hash(runtime.engine)
        await runtime.stop()
        journal = journal.reopen()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        assert state_hash(runtime.engine) == state
        records = [entry.record async for entry in journal.read("s0", 1)]
        assert [type(record.input) for record in records] == [Configure, Enqueue]
        await runtime.stop()

    play(scene)


@pytest.mark.parametrize(("name", "is_refused"), [("s0.other", True), ("mine", False)])
def test_single_server_is_refused_where_nodes_have_written_and_nowhere_else(
    name: str, is_refused: bool
) -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        other = assemble(ShardPlan((Queue(name="duel"),), shard=name), journal).runtime
        await other.start()
        await enqueue(other, "a")
        await other.stop()
        own = assemble(PLAN, journal.reopen()).runtime
        if is_refused:
            with pytest.raises(ConfigError, match=r"in other shards \(s0\.other\)"):
                await own.start()
        else:
            await own.start()
        await own.stop()

    play(scene)


def test_changed_configuration_is_one_record() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await runtime.stop()
        journal = journal.reopen()
        runtime = Runtime(ShardPlan((DUEL, Queue(name="other"))), journal)
        await runtime.start()
        assert list(runtime.engine.tables.queues) == ["duel", "other"]
        assert (runtime.engine.tables.sequence, runtime.engine.tables.version) == (2, 2)
        await runtime.stop()

    play(scene)


class Busy(Versions):
    """Lets something happen to a shard while a version is set aside, as on a slow store."""

    meanwhile: Callable[[], Awaitable[object]]

    async def set_aside(self, version: int) -> None:
        await self.meanwhile()
        await super().set_aside(version)


def test_shard_that_moves_on_while_a_version_is_set_aside_is_configured() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await runtime.stop()
        versions = Busy(None)
        changed = ShardPlan((DUEL, Queue(name="other")))
        runtime = Runtime(changed, journal.reopen(), versions=versions)

        async def two_come() -> None:
            # The first is handed in at the instant of a wake-up that is due.
            await enqueue(runtime, "ada")
            await enqueue(runtime, "bob")

        versions.meanwhile = two_come
        await runtime.start()
        assert list(runtime.engine.tables.queues) == ["duel", "other"]
        assert runtime.engine.tables.counters.accepted == 2
        await runtime.stop()

    play(scene)


@pytest.mark.parametrize("by", ["", "ops"], ids=["pause", "change"])
def test_what_an_operator_sets_while_a_version_is_set_aside_stays(by: str) -> None:
    async def scene() -> None:
        versions = Busy(None)
        runtime = Runtime(PLAN, MemoryJournal(), versions=versions)
        versions.meanwhile = turns
        await runtime.start()
        other = replace(DUEL, wait_max=77.0)
        runtime.plan = replace(PLAN, queues=(other,))
        version = runtime.engine.tables.version + bool(by)
        theirs = Configure(runtime.now(), (DUEL,), version=version, pause=("duel",), by=by)
        versions.meanwhile = lambda: runtime.ask(replace(theirs, now=runtime.now()))
        runtime._deferred_at = runtime.engine.tables.version
        await runtime.raise_format()
        tables = runtime.engine.tables
        assert tables.paused == ("duel",)
        assert tables.queues == {"duel": DUEL if by else other}
        await runtime.stop()

    play(scene)


def test_commits_grow_and_do_not_come_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenmatch.server.runtime.commit_pace.COMMIT_EVERY", 0.2)

    class Counting(MemoryJournal):
        sizes: ClassVar[list[int]] = []

        async def append(self, *given: Any) -> int:
            self.sizes.append(len(given[-1]))
            return await super().append(*given)

    async def scene() -> None:
        runtime = Runtime(PLAN, Counting())
        await runtime.start()
        for name in "abcde":
            asking = asyncio.create_task(enqueue(runtime, name))
            await turns()
        await asking
        await runtime.stop()

    play(scene)
    # The configuration at once, and all that came after it together.
    assert Counting.sizes == [1, 5]


def test_failed_append_answers_503_and_the_shard_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime_module, "REBUILD_PAUSES", (0.01,))

    async def scene() -> None:
        journal = FailingJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await enqueue(runtime, "ada")
        assert not runtime.is_cut_off
        journal.error = JournalUnavailable("the disk is full")
        with pytest.raises(JournalUnavailable):
            await enqueue(runtime, "bob")
        assert runtime.unready
        assert runtime.is_cut_off
        with pytest.raises(JournalUnavailable, match="not ready"):
            await enqueue(runtime, "cy")
        journal.error = None
        await until(lambda: runtime.unready is None)
        assert not runtime.is_cut_off
        assert list(runtime.engine.tables.waiting) == ["s0-1"]
        assert await enqueue(runtime, "dan") == ["s0-2"]
        await runtime.stop()

    play(scene)


def test_log_tells_of_an_outage_whenever_its_reason_is_another(
    monkeypatch: pytest.MonkeyPatch, told: io.StringIO
) -> None:
    monkeypatch.setattr(runtime_module, "REBUILD_PAUSES", (0.01,))
    tries: list[str] = []

    async def rebuild(_: Runtime) -> None:
        tries.append("it does not answer" if len(tries) < 3 else "its disk is full")
        raise JournalUnavailable(tries[-1])

    async def scene() -> None:
        journal = FailingJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        monkeypatch.setattr(Runtime, "_rebuild", rebuild)
        journal.error = JournalUnavailable("it does not answer")
        with pytest.raises(JournalUnavailable):
            await enqueue(runtime, "ada")
        await until(lambda: len(tries) > 5)
        assert runtime.unready == "its disk is full"
        await runtime.stop()

    play(scene)
    lines = [line for line in told.getvalue().splitlines() if "shard_failed" in line]
    assert ["disk is full" in line for line in lines] == [False, True]


def test_error_that_nobody_foresaw_rebuilds_the_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "REBUILD_PAUSES", (0.01,))

    def broken(given: object) -> Record:
        raise ZeroDivisionError

    async def scene() -> None:
        runtime = Runtime(PLAN, MemoryJournal())
        await runtime.start()
        await enqueue(runtime, "ada")
        state = state_hash(runtime.engine)
        monkeypatch.setattr(runtime.engine, "step", broken)
        with pytest.raises(JournalUnavailable, match="is rebuilding"):
            await enqueue(runtime, "bob")
        await until(lambda: runtime.unready is None)
        assert state_hash(runtime.engine) == state
        assert await enqueue(runtime, "bob") == ["s0-2"]
        await runtime.stop()

    play(scene)


def test_shard_that_fails_again_and_again_is_rebuilt_with_growing_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paused: list[float] = []

    class Noted(tuple[float, ...]):
        """Pauses that are noted, and over at once."""

        def __getitem__(self, at: Any) -> Any:
            paused.append(super().__getitem__(at))
            return 0.0

    monkeypatch.setattr(runtime_module, "REBUILD_PAUSES", Noted(runtime_module.REBUILD_PAUSES))
    ahead = 0.0

    async def scene() -> None:
        nonlocal ahead
        clocks = Clocks(monotonic=lambda: time.monotonic() + ahead)
        runtime = Runtime(PLAN, MemoryJournal(), clocks=clocks)
        await runtime.start()
        for number in range(8):
            ahead += number == 7 and 10.0
            runtime.give_up_shard(ZeroDivisionError())
            await until(lambda: runtime.unready is None)
        await runtime.stop()

    play(scene)
    assert paused == [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 5.0, 0.1]


def test_policy_that_breaks_its_contract_makes_the_server_not_ready() -> None:
    class Wrong:
        def enter(self, entry: object, now: float) -> None: ...

        def leave(self, entry_id: str, now: float) -> None: ...

        def decide(self, now: float, fired: bool = False) -> Decision:
            return Decision((Grouping(("s0-1", "nobody")),))

        def memory(self) -> dict[str, float]:
            return {}

    async def scene() -> None:
        runtime = Runtime(PLAN, MemoryJournal())
        await runtime.start()
        runtime.engine.pools["duel"].matcher = Wrong()  # type: ignore[assignment]
        await enqueue(runtime, "ada")
        assert len(runtime.engine.faults) == 1
        assert runtime.unready
        await runtime.stop()

    play(scene)


def test_policy_that_fails_by_its_own_timer_is_logged_at_once_and_with_its_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logged: list[tuple[str, BaseException | None]] = []

    class Log:
        def error(
            self,
            event: str,
            shard: str,
            fault: str,
            consequence: str,
            exc_info: BaseException | None = None,
        ) -> None:
            assert shard == "s0"
            logged.append((fault.split()[4], exc_info))

    class Failing:
        """Decides nothing for 50 ms, and then fails."""

        def enter(self, entry: object, now: float) -> None: ...

        def leave(self, entry_id: str, now: float) -> None: ...

        def decide(self, now: float, fired: bool = False) -> Decision:
            if fired:
                raise KeyError("no such key")
            return Decision(wake_at=now + 0.05)

        def memory(self) -> dict[str, float]:
            return {}

    async def scene() -> None:
        queues = (Queue(name="first", policy="greedy"), Queue(name="second", policy="greedy"))
        runtime = Runtime(ShardPlan(queues), MemoryJournal())
        await runtime.start()
        # The later queue first: what was logged already must not stand for what is new.
        for name in ("second", "first"):
            runtime.engine.pools[name].matcher = Failing()  # type: ignore[assignment]
            await runtime.ask(Enqueue(runtime.now(), (NewTicket((Player(name),), (name,)),)))
            await until(lambda name=name: runtime.engine.pools[name].fault is not None)
            await asyncio.sleep(0)
        assert [name for name, _ in logged] == ["second", "first"]
        assert all(isinstance(error, KeyError) for _, error in logged)
        await runtime.stop()

    monkeypatch.setattr(faults_module, "log", Log())
    play(scene)


def test_shard_that_another_owner_took_is_given_up() -> None:
    async def scene() -> None:
        journal = FailingJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        journal.error = StaleOwner("another owner has it")
        with pytest.raises(JournalUnavailable):
            await enqueue(runtime, "ada")
        await runtime.given_up.wait()
        assert runtime.unready
        await runtime.stop()

    play(scene)


def test_nobody_hears_of_what_is_not_durable() -> None:
    class Heard:
        def __init__(self) -> None:
            self.sequences: list[int] = []

        def reset(self, engine: object) -> None:
            del engine

        def hear(self, record: Record) -> None:
            self.sequences.append(record.sequence)

    async def scene() -> None:
        journal, heard = FailingJournal(), Heard()
        runtime = Runtime(PLAN, journal, listeners=[heard])
        await runtime.start()
        await enqueue(runtime, "ada")
        assert heard.sequences == [1, 2]
        journal.error = StaleOwner("gone")
        with pytest.raises(JournalUnavailable):
            await enqueue(runtime, "bob")
        assert heard.sequences == [1, 2]
        await runtime.stop()

    play(scene)


def test_snapshot_and_tail_rebuild_the_same_state() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal, snapshot_every=5)
        await runtime.start()
        for number in range(12):
            ids = await enqueue(runtime, f"p{number}")
            await runtime.ask(Cancel(runtime.now(), ids[0]))
        while (stored := await journal.latest_snapshot("s0")) is None:
            await asyncio.sleep(0.01)
        state = state_hash(runtime.engine)
        assert stored.sequence < runtime.engine.tables.sequence
        other = Runtime(PLAN, journal.reopen())
        await other.start()
        assert state_hash(other.engine) == state
        await other.stop()
        await runtime.stop()

    play(scene)


def test_deadline_is_met_without_any_request() -> None:
    async def scene() -> None:
        runtime = Runtime(ShardPlan((Queue(name="duel", wait_max=0.1),)), MemoryJournal())
        await runtime.start()
        ticket = (await enqueue(runtime, "ada"))[0]
        while (view := await runtime.look(lambda engine: engine.view(ticket))).state == "waiting":
            await asyncio.sleep(0.01)
        assert view.state == "expired"
        assert view.ended_at == view.enqueued_at + 0.1
        await runtime.stop()

    play(scene)


def test_error_of_a_query_reaches_its_caller() -> None:
    async def scene() -> None:
        parts: Services = assemble(PLAN, MemoryJournal())
        await parts.runtime.start()
        with pytest.raises(UnknownTicket):
            await parts.runtime.look(lambda engine: engine.view("nobody"))
        await parts.runtime.stop()

    play(scene)


def test_snapshot_of_a_shard_that_failed_is_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    begun = threading.Event()

    def held(snapshot: Snapshot) -> bytes:
        begun.set()
        gate.wait(10.0)
        return encode_snapshot(snapshot)

    class Locked(FailingJournal):
        """Fails only when the snapshot is being encoded."""

        async def append(
            self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
        ) -> int:
            if self.error is not None:
                await until(begun.is_set)
            return await super().append(shard, owner, epoch, first_seq, records)

    monkeypatch.setattr(runtime_module, "REBUILD_PAUSES", (0.01,))
    monkeypatch.setattr(snapshots_module, "encode_snapshot", held)

    async def scene() -> None:
        journal = Locked()
        runtime = Runtime(PLAN, journal, snapshot_every=3)
        await runtime.start()
        await enqueue(runtime, "ada")
        # The snapshot begins with the third record, and the ghost's is in it but not durable.
        ghost: list[Answer] = []

        def haunt(answer: Answer) -> None:
            journal.error = JournalUnavailable("locked")
            runtime.handle(Enqueue(runtime.now(), new("ghost")), ghost.append)

        runtime.handle(Enqueue(runtime.now(), new("bob")), haunt)
        await until(lambda: bool(ghost))
        journal.error = None
        await until(lambda: runtime.unready is None)
        monkeypatch.setattr(runtime._snapshots, "_every", 1_000)
        monkeypatch.setattr(runtime._snapshots, "_due", 1_000)
        assert ghost[0].error is not None
        ids = await enqueue(runtime, "real")
        gate.set()
        await asyncio.sleep(0.1)
        assert await journal.latest_snapshot("s0") is None
        other = Runtime(PLAN, journal.reopen())
        await other.start()
        assert other.engine.tables.waiting[ids[0]].ticket.players[0].id == "real"
        await other.stop()
        await runtime.stop()

    play(scene)


def test_stop_ends_although_the_last_commit_fails() -> None:
    class Slow(FailingJournal):
        closed = False

        async def append(
            self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
        ) -> int:
            await asyncio.sleep(0.02)
            return await super().append(shard, owner, epoch, first_seq, records)

        async def close(self) -> None:
            self.closed = True

    async def scene() -> None:
        journal = Slow()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        journal.error = JournalUnavailable("the disk is full")
        asked = asyncio.create_task(enqueue(runtime, "ada"))
        await turns()
        await runtime.stop()
        assert journal.closed
        with pytest.raises(JournalUnavailable):
            await asked

    play(scene)


def test_journal_is_closed_although_the_last_snapshot_fails() -> None:
    class Full(MemoryJournal):
        closed = False

        async def snapshot(self, shard: str, seq: int, state: bytes) -> None:
            raise JournalUnavailable("the disk is full")

        async def close(self) -> None:
            self.closed = True

    async def scene() -> None:
        journal = Full()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await runtime.stop()
        assert journal.closed

    play(scene)


def test_rebuild_does_not_turn_time_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "REBUILD_PAUSES", (0.01,))

    async def scene() -> None:
        journal = FailingJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await enqueue(runtime, "ada")
        # Ten quiet minutes.
        runtime.clock = Clock(runtime.now() + 600.0)
        before = runtime.now()
        journal.error = JournalUnavailable("locked")
        with pytest.raises(JournalUnavailable):
            await enqueue(runtime, "bob")
        journal.error = None
        await until(lambda: runtime.unready is None)
        assert runtime.now() >= before
        await runtime.stop()

    play(scene)


def test_long_tail_gets_a_snapshot_soon_after_the_start() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        for number in range(8):
            await enqueue(runtime, f"p{number}")
        # As after a kill: without `stop`, so without a last snapshot.
        other = Runtime(PLAN, journal.reopen(), snapshot_every=5)
        await other.start()
        while (stored := await journal.latest_snapshot("s0")) is None:
            await asyncio.sleep(0.005)
        assert stored.sequence == 9
        await other.stop()
        await runtime.stop()

    play(scene)


def test_few_large_records_get_a_snapshot_too() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal, snapshot_every=5)
        await runtime.start()
        for number in range(2):
            assert await journal.latest_snapshot("s0") is None
            await enqueue(runtime, *(f"p{number}-{at}" for at in range(3 * EVENTS_EACH)))
        while (stored := await journal.latest_snapshot("s0")) is None:
            await asyncio.sleep(0.005)
        assert stored.sequence == 3
        await runtime.stop()

    play(scene)


def test_large_records_after_the_snapshot_count_towards_the_next() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await enqueue(runtime, *(f"p{at}" for at in range(5 * EVENTS_EACH)))
        # As after a kill: without `stop`, so without a last snapshot.
        other = Runtime(PLAN, journal.reopen(), snapshot_every=5)
        await other.start()
        while (stored := await journal.latest_snapshot("s0")) is None:
            await asyncio.sleep(0.005)
        assert stored.sequence == 2
        await other.stop()
        await runtime.stop()

    play(scene)


def test_tail_after_the_snapshot_counts_towards_the_next() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        for life in range(3):
            runtime = Runtime(PLAN, journal, snapshot_every=5)
            await runtime.start()
            for number in range(3):
                await enqueue(runtime, f"p{life}-{number}")
            await asyncio.sleep(0.05)
            journal = journal.reopen()
        stored = await journal.latest_snapshot("s0")
        assert stored is not None
        assert stored.sequence >= 5

    play(scene)


def test_listener_that_fails_leaves_nobody_hanging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "REBUILD_PAUSES", (0.01,))

    class Bad:
        resets = 0

        def reset(self, engine: object) -> None:
            del engine
            self.resets += 1

        def hear(self, record: Record) -> None:
            if record.sequence == 2:
                raise RuntimeError("boom")

    async def scene() -> None:
        bad = Bad()
        runtime = Runtime(PLAN, MemoryJournal(), listeners=[bad])
        await runtime.start()
        ids = await asyncio.gather(*(enqueue(runtime, player) for player in ("a", "b", "c")))
        assert ids == [["s0-1"], ["s0-2"], ["s0-3"]]
        await until(lambda: bad.resets == 2)
        await until(lambda: runtime.unready is None)
        await runtime.stop()

    play(scene)


def test_metrics_show_only_what_is_durable() -> None:
    class Stuck(MemoryJournal):
        gate: asyncio.Event | None = None

        async def append(
            self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
        ) -> int:
            if self.gate is not None:
                await self.gate.wait()
            return await super().append(shard, owner, epoch, first_seq, records)

    async def scene() -> None:
        journal = Stuck()
        parts = assemble(PLAN, journal)
        await parts.runtime.start()
        journal.gate = asyncio.Event()
        asked = asyncio.create_task(enqueue(parts.runtime, "ada", "bob", "cleo"))
        await turns()
        text = parts.metrics.text().decode()
        assert 'evenmatch_tickets_total{state="accepted"} 0.0' in text
        assert "evenmatch_matches_total 0.0" in text
        assert "evenmatch_journal_sequence 1.0" in text
        journal.gate.set()
        await asked
        text = parts.metrics.text().decode()
        assert 'evenmatch_tickets_total{state="accepted"} 3.0' in text
        assert "evenmatch_matches_total 1.0" in text
        assert 'evenmatch_waiting{queue="duel"} 1.0' in text
        broken = [line for line in text.splitlines() if "invariant_violations{" in line]
        assert len(broken) == 3
        assert all(line.endswith(" 0.0") for line in broken)
        await parts.runtime.stop()

    play(scene)


def test_commit_that_takes_too_long_makes_the_server_not_ready() -> None:
    async def scene() -> None:
        runtime = Runtime(PLAN, MemoryJournal())
        await runtime.start()
        reasons = []
        for age in (0.0, 4.0, 6.0):
            runtime._pace._began = time.perf_counter() - age
            reasons.append(runtime.unready or "")
        assert reasons[:2] == ["", ""]
        assert "5 s" in reasons[2]
        runtime._pace._began = None
        await runtime.stop()

    play(scene)


def test_queue_in_which_tickets_wait_is_dropped_only_on_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logged: list[tuple[str, dict[str, object]]] = []

    class Log:
        def warning(self, event: str, **values: object) -> None:
            logged.append((event, values))

    monkeypatch.setattr(runtime_module, "log", Log())

    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await enqueue(runtime, "ada")
        await runtime.stop()
        journal = journal.reopen()
        other = (Queue(name="other"),)
        with pytest.raises(ConfigError, match=r"duel \(1 waiting\).*--drop-queues"):
            await Runtime(ShardPlan(other), journal).start()
        journal = journal.reopen()
        assert (await journal.last("s0"))[0] == 2
        runtime = Runtime(ShardPlan(other, drop_queues=True), journal)
        await runtime.start()
        view = await runtime.look(lambda engine: engine.view("s0-1"))
        assert (view.state, view.reason) == ("expired", "queue_changed")
        await runtime.stop()

    play(scene)
    assert logged == [("tickets_expired", {"count": 1, "reason": "queue_changed"})]


def test_snapshot_every_comes_from_the_environment_in_tests() -> None:
    assert server_process.snapshot_every({}) == snapshots_module.SNAPSHOT_EVERY
    assert server_process.snapshot_every({"EVENMATCH_SNAPSHOT_EVERY": "7"}) == 7
    with pytest.raises(ConfigError, match="whole number"):
        server_process.snapshot_every({"EVENMATCH_SNAPSHOT_EVERY": "0"})


class GoesOn:
    """A matcher that asks to go on at once, again and again, while anybody waits.

    A step takes 4 ms of `time`.
    """

    def __init__(self, log: list[str], steps: int) -> None:
        self.log, self.left, self.waiting = log, steps, 0
        self.time = 0.0

    def monotonic(self) -> float:
        self.time += 1e-5
        return self.time

    def enter(self, entry: object, now: float) -> None:
        del entry, now
        self.waiting += 1

    def leave(self, entry_id: str, now: float) -> None:
        del entry_id, now

    def decide(self, now: float, fired: bool = False) -> Decision:
        if fired and self.waiting and self.left:
            self.left -= 1
            self.time += 0.004
            self.log.append("step")
        return Decision(wake_at=now + 2.0**-20 if self.waiting and self.left else math.inf)

    def memory(self) -> dict[str, object]:
        return {}


@pytest.mark.parametrize("speed", [1.0, 60.0])
def test_loop_turns_between_the_steps_of_a_policy_that_goes_on(
    monkeypatch: pytest.MonkeyPatch, speed: float
) -> None:
    log: list[str] = []
    matcher = GoesOn(log, 20)

    class Goes:
        fills, evaluations_max = False, None

        def matcher(self, queue: Queue, *, seed: int, memory: object = None) -> GoesOn:
            del queue, seed, memory
            return matcher

        def rules(self, queue: Queue) -> tuple[object, ...]:
            del queue
            return ()

    monkeypatch.setattr(recovery_module, "resolve", lambda queue: Goes())

    async def scene() -> None:
        plan = replace(PLAN, settings=ServerSettings(clock_speed=speed))
        runtime = Runtime(plan, MemoryJournal(), clocks=Clocks(monotonic=matcher.monotonic))
        await runtime.start()
        runtime.handle(Enqueue(runtime.now(), new("ada")), lambda answer: None)
        while log.count("step") < 20:
            log.append("turn")
            # Somebody else's input comes in between, and waits for no more than one step.
            runtime.handle(Cancel(runtime.now(), "s0-7"), lambda answer: None)
            await asyncio.sleep(0)
        await runtime.stop()

    play(scene)
    longest = max(map(len, " ".join(log).replace(" ", "").split("turn")))
    assert longest <= len("step")
