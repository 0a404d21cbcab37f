"""What decisions take of the loop, on a clock that a test sets."""

import asyncio
import contextlib
from typing import Any

import msgspec

from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Accept, Advance, Assign, Cancel, Enqueue, Settle
from evenmatch.model.queue import Queue
from evenmatch.model.queue import ReadyCheck as Check
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.base import Decision, JobResult
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.views.timings import AGAIN_AND_AGAIN, RECENT_SECONDS, Timings, queue_of
from tests.unit.server.promql import scrape
from tests.unit.server.test_app import call

DUEL = Queue("duel", policy="greedy")


class Stopwatch:
    """A clock that only a matcher moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """A matcher that takes as long as it is told to."""

    promise = "its own"

    def __init__(self, clock: Stopwatch) -> None:
        self._clock = clock
        self.takes = 0.0

    def enter(self, entry: Any, now: float) -> None:
        self._clock.now += self.takes

    def leave(self, entry_id: str, now: float) -> None:
        self._clock.now += self.takes

    def decide(self, now: float, fired: bool = False) -> Decision:
        self._clock.now += self.takes
        return Decision()

    def settle(self, result: JobResult, now: float) -> Decision:
        raise KeyError("broken")

    def memory(self) -> dict[str, Any]:
        return {"a": 1}


def test_decision_takes_what_letting_in_and_out_took_too() -> None:
    clock, told = Stopwatch(), []
    timings = Timings(decided=lambda seconds, queue: told.append((queue, seconds)), clock=clock)
    slow = Slow(clock)
    timed: Any = timings.watch(DUEL, slow)
    slow.takes = 2.0
    timed.enter(object(), 0.0)
    timed.leave("t", 0.0)
    timed.decide(0.0)
    timed.decide(0.0)
    with contextlib.suppress(KeyError):
        timed.settle(JobResult(1, ()), 0.0)
    assert told == [("duel", 6.0), ("duel", 2.0), ("duel", 0.0)]
    assert (timed.promise, timed.memory()) == ("its own", {"a": 1})


def serve(scene: Any, *queues: Queue) -> None:
    async def main() -> None:
        parts = assemble(ShardPlan(queues or (DUEL,)), MemoryJournal())
        await parts.runtime.start()
        await scene(parts)
        await parts.runtime.stop()

    asyncio.run(main())


def test_slow_policy_is_named_where_operators_look_and_the_server_is_ready() -> None:
    async def scene(parts: Services) -> None:
        timings = parts.runtime.timings = Timings()
        for _ in range(AGAIN_AND_AGAIN - 1):
            timings.decision(DUEL, 0.212)
        assert await call(parts, "GET", "/readyz") == (200, {"status": "ready"})
        timings.decision(DUEL, 0.03)
        for _ in range(1_000):
            timings.decision(DUEL, 0.025)
        status, body = await call(parts, "GET", "/readyz")
        assert (status, body["status"]) == (200, "ready")
        assert body["detail"] == [
            (
                "policy greedy of queue duel is slow: 10 of its 1,010 decisions of the last "
                "5 minutes took longer than 25 ms, the longest 212 ms"
            )
        ]
        shown = parts.live._loop("duel")
        assert (shown.over, shown.decisions, shown.longest_decision) == (10, 1_010, 0.212)
        assert shown.is_slow

    serve(scene)


def test_policy_that_took_the_place_of_a_slow_one_is_not_slow() -> None:
    async def scene(parts: Services) -> None:
        for _ in range(AGAIN_AND_AGAIN):
            parts.runtime.timings.decision(DUEL, 1.0)
        assert len(parts.runtime.timings.slow(parts.runtime.engine)) == 1
        body = msgspec.json.encode({"policy": "window:limit=100"})
        assert (await call(parts, "PUT", "/v1/queues/duel/policy", body))[0] == 200
        assert parts.runtime.timings.slow(parts.runtime.engine) == []

    serve(scene)


def test_slow_decisions_are_forgotten() -> None:
    async def scene(parts: Services) -> None:
        clock = Stopwatch()
        timings = Timings(clock=clock)
        for _ in range(AGAIN_AND_AGAIN):
            timings.decision(DUEL, 1.0)
        assert len(timings.slow(parts.runtime.engine)) == 1
        clock.now += 2 * RECENT_SECONDS
        timings.decision(DUEL, 0.001)
        assert timings.slow(parts.runtime.engine) == []

    serve(scene)


def test_inputs_and_decisions_are_measured_by_kind_and_queue() -> None:
    async def scene(parts: Services) -> None:
        runtime = parts.runtime
        for name in ("a", "b"):
            await runtime.ask(Enqueue(runtime.now(), (NewTicket((Player(name),), ("team",)),)))
        await runtime.ask(Accept(runtime.now(), "s0-m1", "s0-1"))
        found = scrape(parts.metrics.text())
        inputs = found["evenmatch_input_seconds_count"]
        assert inputs[frozenset({("input", "enqueue"), ("queue", "team")})] == 2
        assert inputs[frozenset({("input", "accept"), ("queue", "team")})] == 1
        assert found["evenmatch_decision_seconds_count"][frozenset({("queue", "team")})] >= 2

    serve(scene, DUEL, Queue("team", policy="greedy", accept=Check(seconds=60.0)))


def test_queue_of_an_input_is_one_that_there_is() -> None:
    async def scene(parts: Services) -> None:
        tables = parts.runtime.engine.tables
        ask = parts.runtime.ask
        await ask(Enqueue(parts.runtime.now(), (NewTicket((Player("a"),)),)))
        new = NewTicket((Player("b"),))
        made_up = NewTicket((Player("b"),), ("made up",))
        assert queue_of(Enqueue(0.0, (new,)), tables) == "duel"
        assert queue_of(Enqueue(0.0, (made_up,)), tables) == ""
        assert queue_of(Enqueue(0.0, ()), tables) == ""
        assert queue_of(Cancel(0.0, "s0-1"), tables) == "duel"
        assert queue_of(Cancel(0.0, "s0-9"), tables) == ""
        await ask(Enqueue(parts.runtime.now(), (new,)))
        assert queue_of(Assign(0.0, "s0-m1", {}), tables) == "duel"
        assert queue_of(Settle(0.0, "duel", 1, ()), tables) == "duel"
        assert queue_of(Advance(0.0), tables) == ""

    serve(scene)
