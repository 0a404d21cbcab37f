"""How long the event loop waits while jobs run, and for the plans that they hand in."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import uvloop
from numba import njit

from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.jobs import RunningJob
from evenmatch.model.events import Matched
from evenmatch.model.inputs import Advance, Configure, Enqueue
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Criterion, Queue, Scale
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, JobResult, Matcher, Memory
from evenmatch.server.runtime.process_setup import share_interpreter
from evenmatch.server.runtime.workers import Workers
from evenmatch.testing import new_ticket, queue
from tests.bench.report import Row, Setting, percentile

PARTS = 4
PAUSE = 0.001
"""Seconds between two turns of the loop that is watched."""
SPIN = 100_000_000
"""Turns of the kernel in one part, a fraction of a second."""
PLANS = {(1, 1): 500, (3, 3): 100, (5, 5): 100}
"""Matches of a plan by format."""


@njit("f8(i8)", nogil=True)
def _spin(turns: int) -> float:
    total = 0.0
    for turn in range(turns):
        total += turn % 7 * 1e-9
    return total


class Busy:
    """A job whose parts only take time."""

    number = 1

    def __init__(self, part: Callable[[], object], parts: int = PARTS) -> None:
        self.part, self.parts = part, parts

    def solve(self, part: int) -> object:
        return self.part()

    def combine(self, results: Sequence[object]) -> JobResult:
        return JobResult(1, ())


def kernel() -> object:
    return _spin(SPIN)


def python() -> object:
    ends = time.thread_time() + 0.2
    turns = 0
    while time.thread_time() < ends:
        turns += 1
    return turns


def both() -> object:
    return [(_spin(SPIN // 10), sum(number * number for number in range(50_000))) for _ in range(5)]


def run(setting: Setting) -> Iterator[Row]:
    rounds = 1 if setting.quick else 5
    before = sys.getswitchinterval()
    share_interpreter()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            for kind in (kernel, python, both):
                gaps = [runner.run(_gaps(Busy(kind))) for _ in range(rounds)]
                name = f"turn of the loop beside {PARTS} parts, {kind.__name__}"
                yield Row(f"{name}, p99", tuple(percentile(each, 0.99) for each in gaps), "ms")
                yield Row(f"{name}, longest", tuple(max(each) for each in gaps), "ms", "<= 20")
            yield Row(
                "two parts of a kernel, one after the other against on threads",
                tuple(runner.run(_speedup()) for _ in range(rounds)),
                "x",
            )
    finally:
        sys.setswitchinterval(before)
    for shape, count in PLANS.items():
        times = tuple(_settling(shape, count) for _ in range(rounds))
        teams = "v".join(map(str, shape))
        yield Row(f"settling a plan of {count} matches, {teams}", times, "ms", "<= 20", "CPU time")


async def _gaps(job: Busy) -> list[float]:
    """Return the milliseconds that turns of a loop took beside a job, their pause left out."""
    done = asyncio.Event()
    workers = Workers(lambda *_: done.set(), lambda *_: done.set())
    workers.start(RunningJob(1, "main", job))
    gaps, last = [], time.perf_counter()
    while not done.is_set():
        await asyncio.sleep(PAUSE)
        now = time.perf_counter()
        gaps.append(1e3 * (now - last - PAUSE))
        last = now
    await workers.stop()
    return gaps


async def _speedup() -> float:
    took: list[float] = []
    for parts, times in ((1, 2), (2, 1)):
        began = time.perf_counter()
        for _ in range(times):
            await _gaps(Busy(kernel, parts))
        took.append(time.perf_counter() - began)
    return took[0] / took[1]


class InOrder:
    """A policy that plans whoever comes next; it is its own matcher and job."""

    jobs = True
    number = parts = 1

    def __init__(self, k: int) -> None:
        self.k = k
        self.pool: dict[str, None] = {}
        self.is_asked = False

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        return self

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        self.pool[entry.id] = None

    def leave(self, entry_id: str, now: float) -> None:
        del self.pool[entry_id]

    def decide(self, now: float, fired: bool = False) -> Decision:
        if self.is_asked or not self.pool:
            return Decision()
        self.is_asked = fired
        return Decision(wake_at=now + fired, job=self if fired else None)

    def settle(self, result: JobResult, now: float) -> Decision:
        for ids in result.matches:
            for ticket_id in ids:
                del self.pool[ticket_id]
        return Decision(tuple(Grouping(ids) for ids in result.matches))

    def memory(self) -> Memory:
        return {}

    def solve(self, part: int) -> object:
        return list(self.pool)

    def combine(self, results: Sequence[object]) -> JobResult:
        ids = list(self.pool)
        groups = [tuple(ids[at : at + self.k]) for at in range(0, len(ids), self.k)]
        return JobResult(1, tuple(groups))


def _settling(shape: tuple[int, ...], count: int) -> float:
    """Return the milliseconds in which the engine plays a plan."""
    rng = np.random.default_rng(5)
    scale = Scale("linear", 0.0, 1000.0)
    criteria = tuple(Criterion(kind, "rating", scale=scale) for kind in ("imbalance", "spread"))
    chosen = InOrder(sum(shape))
    engine = Engine(lambda _: chosen)
    engine.step(Configure(0.0, (queue("main", *shape, criteria=criteria),)))
    tickets = [new_ticket(f"t{n}", float(rng.normal(1500, 300))) for n in range(count * chosen.k)]
    engine.step(Enqueue(1.0, tuple(tickets)))
    engine.step(Advance(1.0))
    (running,) = engine.take_jobs()
    plan = running.solve()
    gc.collect()
    began = time.thread_time()
    made, longest = 0, 0.0
    record = engine.step(running.settle(plan, 2.0))
    while True:
        longest = max(longest, time.thread_time() - began)
        made += sum(isinstance(event, Matched) for event in record.events)
        if engine.next_wakeup > 2.5:
            break
        began = time.thread_time()
        record = engine.step(Advance(engine.next_wakeup))
    assert made == count
    return longest * 1e3
