"""The runtime on a journal in memory: the gate, failure, rebuilding, snapshots."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from evenmatch.engine.records import Record
from evenmatch.engine.snapshot import state_hash
from evenmatch.errors import JournalUnavailable, StaleOwner, UnknownTicket
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Cancel, Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import ServerSettings
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.base import Decision, Grouping
from evenmatch.server import runtime as runtime_module
from evenmatch.server.parts import Parts, assemble
from evenmatch.server.recovery import Plan
from evenmatch.server.runtime import Runtime

DUEL = Queue(name="duel", policy="greedy")
PLAN = Plan((DUEL,), settings=ServerSettings())


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


def test_changed_configuration_is_one_record() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await runtime.stop()
        journal = journal.reopen()
        runtime = Runtime(Plan((DUEL, Queue(name="other"))), journal)
        await runtime.start()
        assert list(runtime.engine.tables.queues) == ["duel", "other"]
        assert (runtime.engine.tables.sequence, runtime.engine.tables.version) == (2, 2)
        await runtime.stop()

    play(scene)


def test_failed_append_answers_503_and_the_shard_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime_module, "REBUILD_PAUSES", (0.01,))

    async def scene() -> None:
        journal = FailingJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await enqueue(runtime, "ada")
        journal.error = JournalUnavailable("the disk is full")
        with pytest.raises(JournalUnavailable):
            await enqueue(runtime, "bob")
        assert not runtime.is_ready
        with pytest.raises(JournalUnavailable, match="not ready"):
            await enqueue(runtime, "cy")
        journal.error = None
        while not runtime.is_ready:
            await asyncio.sleep(0.01)
        assert list(runtime.engine.tables.waiting) == ["s0-1"]
        assert await enqueue(runtime, "dan") == ["s0-2"]
        await runtime.stop()

    play(scene)


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
        with pytest.raises(JournalUnavailable, match="rebuilds"):
            await enqueue(runtime, "bob")
        while not runtime.is_ready:
            await asyncio.sleep(0.01)
        assert state_hash(runtime.engine) == state
        assert await enqueue(runtime, "bob") == ["s0-2"]
        await runtime.stop()

    play(scene)


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
        assert not runtime.is_ready
        await runtime.stop()

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
        assert not runtime.is_ready
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
        runtime = Runtime(Plan((Queue(name="duel", wait_max=0.1),)), MemoryJournal())
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
        parts: Parts = assemble(PLAN, MemoryJournal())
        await parts.runtime.start()
        with pytest.raises(UnknownTicket):
            await parts.runtime.look(lambda engine: engine.view("nobody"))
        await parts.runtime.stop()

    play(scene)
