"""Jobs in the server: solved in threads, settled by the loop, forgotten with their shard."""

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from evenmatch.engine.matching.jobs import RunningJob
from evenmatch.engine.state.snapshot import state_hash
from evenmatch.errors import JournalUnavailable
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Cancel, Enqueue, Settle
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.runtime import runtime as runtime_module
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.services import assemble
from evenmatch.server.runtime.workers import Workers, cores
from tests.shuffles import Pairing
from tests.unit.server.test_runtime import FailingJournal, enqueue, play, until

SHUFFLES = Queue(name="duel", policy="tests.shuffles.Shuffles:every=0.05,parts=4")
PLAN = ShardPlan((SHUFFLES,))


class Gate:
    """Holds every part of every job until it is opened; `entered` counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = threading.Event()
        self.entered: list[tuple[int, str]] = []
        solve = Pairing.solve

        def held(job: Pairing, part: int) -> list[tuple[int, int]]:
            self.entered.append((part, threading.current_thread().name))
            assert self.opened.wait(20.0)
            return solve(job, part)

        monkeypatch.setattr(Pairing, "solve", held)


def counters(runtime: Runtime) -> Any:
    return runtime.engine.tables.counters


def test_plan_of_a_job_is_played_and_journalled() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await enqueue(runtime, "ada", "bob", "cy")
        await until(lambda: counters(runtime).matches == 1)
        await runtime.stop()
        kinds = [type(entry.record.input) async for entry in journal.reopen().read("s0", 1)]
        assert Settle in kinds

    play(scene)


def test_loop_serves_while_a_job_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)

    async def scene() -> None:
        runtime = Runtime(PLAN, MemoryJournal())
        await runtime.start()
        await enqueue(runtime, "ada", "bob")
        await until(lambda: len(gate.entered) == min(cores(), 4))
        # Every thread is taken now; the loop goes on with requests and timers.
        for player in ("cy", "dan", "eve"):
            await enqueue(runtime, player)
        assert await runtime.look(lambda engine: len(engine.tables.waiting)) == 5
        gate.opened.set()
        await until(lambda: counters(runtime).matches >= 1)
        await runtime.stop()
        assert all(name.startswith("job") for _, name in gate.entered)
        assert sorted(part for part, _ in gate.entered[:4]) == [0, 1, 2, 3]

    play(scene)


def test_rounds_are_skipped_while_a_job_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)

    async def scene() -> None:
        runtime = Runtime(PLAN, MemoryJournal())
        await runtime.start()
        await enqueue(runtime, "ada", "bob")
        await until(lambda: bool(gate.entered))
        began = runtime.now()
        await until(lambda: runtime.now() > began + 0.2)
        assert counters(runtime).jobs == 1
        gate.opened.set()
        await until(lambda: counters(runtime).matches == 1)
        assert not runtime.engine.faults
        await runtime.stop()

    play(scene)


@pytest.mark.parametrize("error", [ValueError("odd"), StopIteration("end"), SystemExit(3)])
def test_job_that_raises_is_a_fault_of_its_policy(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def broken(job: Pairing, part: int) -> object:
        if part == 2:
            raise error
        return []

    monkeypatch.setattr(Pairing, "solve", broken)

    async def scene() -> None:
        runtime = Runtime(PLAN, MemoryJournal())
        await runtime.start()
        await enqueue(runtime, "ada", "bob")
        await until(lambda: runtime.unready is not None)
        assert runtime.unready.startswith(  # type: ignore[union-attr]
            f"policy {SHUFFLES.policy} of queue duel failed in its job: "
            f"{type(error).__name__}: {error} (test_jobs.py"
        )
        await enqueue(runtime, "cy")
        assert counters(runtime).matches == 0
        await runtime.stop()

    play(scene)


def test_plan_that_is_none_is_a_fault_of_its_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pairing, "combine", lambda *_: None)

    async def scene() -> None:
        runtime = Runtime(PLAN, MemoryJournal())
        await runtime.start()
        await enqueue(runtime, "ada", "bob")
        await until(lambda: runtime.unready is not None)
        assert "combine must return the JobResult of job 1" in str(runtime.unready)
        await runtime.stop()

    play(scene)


def test_stop_does_not_wait_for_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)

    async def scene() -> None:
        journal = MemoryJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await enqueue(runtime, "ada", "bob")
        await until(lambda: bool(gate.entered))
        await runtime.stop()
        state = state_hash(runtime.engine)

        runtime = Runtime(PLAN, journal.reopen())
        gate.opened.set()
        await runtime.start()
        assert state_hash(runtime.engine) == state
        # The new matcher knows of no job and asks again.
        await until(lambda: counters(runtime).matches == 1)
        assert counters(runtime).jobs == 2
        await runtime.stop()

    try:
        play(scene)
    finally:
        gate.opened.set()


def test_rebuilt_shard_hears_nothing_of_the_jobs_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_module, "REBUILD_PAUSES", (0.01,))
    gate = Gate(monkeypatch)

    async def scene() -> None:
        journal = FailingJournal()
        runtime = Runtime(PLAN, journal)
        await runtime.start()
        await enqueue(runtime, "ada", "bob")
        await until(lambda: bool(gate.entered))
        first = runtime.shard
        journal.error = JournalUnavailable("the disk is full")
        with pytest.raises(JournalUnavailable):
            await enqueue(runtime, "cy")
        journal.error = None
        await until(lambda: runtime.unready is None)
        gate.opened.set()
        await until(lambda: counters(runtime).matches == 1)
        assert runtime.shard is not first
        assert first.engine.tables.counters.matches == 0
        await runtime.stop()

    play(scene)


def test_metrics_count_jobs_their_time_and_what_came_too_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = Gate(monkeypatch)

    async def scene() -> None:
        parts = assemble(PLAN, MemoryJournal())
        runtime = parts.runtime
        await runtime.start()
        await enqueue(runtime, "ada", "bob")
        await until(lambda: bool(gate.entered))
        await runtime.ask(Cancel(runtime.now(), "s0-1"))
        gate.opened.set()
        await until(lambda: counters(runtime).dropped == 1)
        await enqueue(runtime, "cy")
        text = parts.metrics.text().decode()
        assert "evenmatch_jobs_total 1.0" in text
        assert "evenmatch_job_seconds_count 1.0" in text
        assert "evenmatch_job_matches_dropped_total 1.0" in text
        await runtime.stop()

    play(scene)


class TestWorkers:
    def test_there_is_a_thread_at_least(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("os.sched_getaffinity", lambda _: set(), raising=False)
        assert cores() == 1
        monkeypatch.delattr("os.sched_getaffinity")
        monkeypatch.setattr("os.cpu_count", lambda: None)
        assert cores() == 1

    def test_forgotten_job_hands_in_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gate = Gate(monkeypatch)
        heard: list[object] = []

        async def scene() -> None:
            workers = Workers(lambda *plan: heard.append(plan), lambda *error: heard.append(error))
            workers.start(RunningJob(1, "main", _pairing(2)))
            await until(lambda: bool(gate.entered))
            workers.forget()
            gate.opened.set()
            workers.start(RunningJob(2, "main", _pairing(2)))
            await until(lambda: bool(heard))
            await workers.stop()

        play(scene)
        assert [running.number for running, _ in heard] == [2]  # type: ignore[attr-defined]

    def test_threads_end_after_stop(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gate = Gate(monkeypatch)
        gate.opened.set()

        async def scene() -> None:
            workers = Workers(lambda *_: None, lambda *_: None)
            workers.start(RunningJob(1, "main", _pairing(8)))
            await asyncio.sleep(0.05)
            await workers.stop()

        play(scene)
        for thread in threading.enumerate():
            if thread.name.startswith("job"):
                thread.join(5.0)
                assert not thread.is_alive()


def _pairing(parts: int) -> Pairing:
    return Pairing(1, parts, (1,), ("a", "b"), np.zeros(2), np.ones((2, 2), dtype=np.bool_))


def test_job_that_falls_due_as_a_server_comes_back_is_solved() -> None:
    """What gives time back to those asked for acceptance fires the timers that were due."""
    asked = Queue(name="asked", policy="greedy", accept=ReadyCheck(seconds=60.0))
    rounds = Queue(name="rounds", policy="tests.shuffles.Shuffles:every=30,parts=1")
    plan = ShardPlan((asked, rounds))

    def stopped(wall: float) -> Clocks:
        return Clocks(monotonic=lambda: 0.0, wall=lambda: wall)

    async def scene() -> None:
        journal = MemoryJournal(wall=lambda: 1000.0)
        runtime = Runtime(plan, journal, clocks=stopped(1000.0))
        await runtime.start()
        await enqueue(runtime, "ada", "bob")
        two = tuple(NewTicket((Player(name),), ("rounds",)) for name in ("cy", "dan"))
        await runtime.ask(Enqueue(runtime.now(), two))
        await runtime.stop()
        runtime = Runtime(plan, journal.reopen(), clocks=stopped(1030.05))
        await runtime.start()
        assert runtime.engine.tables.proposals
        await until(lambda: counters(runtime).matches == 1)
        await runtime.stop()

    play(scene)
