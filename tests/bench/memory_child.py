"""One figure of the bench `memory` in a process of its own: MODE WAITING CHANGES [JOURNAL]."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import time
import tracemalloc
from typing import Any

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.snapshot import encode_snapshot, take
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.policies.registry import parse_policy
from evenmatch.server.runtime.recovery import ShardPlan, recover
from evenmatch.wire.tickets import CreateTicket, decode_create, new_ticket
from tests.bench.processes import resident_bytes
from tests.bench.workload import body, duel, player_id, rating

PLAN = ShardPlan((duel(limit=0.0, rate=1e-9, wait_max=7200.0),))
"""Nobody is matched for hours, but everybody has a timer and a deadline."""
STEP = 2.0**-10
"""Seconds between two arrivals, on the grid of instants."""
BATCH = 1_000


class Crowd:
    """An engine, and tickets that enter it as they come over HTTP: decoded from JSON."""

    def __init__(self, queue: Queue) -> None:
        self.engine = Engine(lambda queue: parse_policy(queue.policy))
        self._rng = random.Random(3)
        self._now = 0.0
        self.configured = self.engine.step(Configure(0.0, (queue,)))

    def enter(self) -> Record:
        self._now += STEP
        created = decode_create(body(player_id(self._rng), rating(self._rng)))
        assert isinstance(created, CreateTicket)
        return self.engine.step(Enqueue(self._now, (new_ticket(created),)))

    def leave(self, ticket_id: str) -> None:
        self._now += STEP
        self.engine.step(Cancel(self._now, ticket_id))


class Pauses:
    """The longest stop of the collector, and how often it looked at everything."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.full = 0
        self._began = 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.perf_counter()
            return
        self.longest = max(self.longest, time.perf_counter() - self._began)
        self.full += info["generation"] == 2


def rss(waiting: int, changes: int) -> dict[str, float]:
    """Measure resident memory and pauses, with the collector as Python starts it."""
    crowd = Crowd(PLAN.queues[0])
    for _ in range(100):  # what is loaded and cached once does not count
        crowd.enter()
    gc.collect()
    before, pauses = resident_bytes(), Pauses()
    gc.callbacks.append(pauses)
    for _ in range(waiting):
        crowd.enter()
    entering, pauses.longest = pauses.longest, 0.0
    # The crowd is weighed before it changes: what the collector would free is not freed.
    size = (resident_bytes() - before) / waiting
    tickets = list(crowd.engine.tables.waiting)
    for change in range(changes):
        crowd.enter()
        if change % 2:
            crowd.leave(tickets[change])
    changing, pauses.longest = pauses.longest, 0.0
    full = pauses.full
    gc.collect()
    gc.callbacks.remove(pauses)
    assert len(crowd.engine.tables.waiting) == 100 + waiting + changes - changes // 2
    return {
        "bytes": size,
        "pause_enter": entering * 1e3,
        "pause_change": changing * 1e3,
        "pause_full": pauses.longest * 1e3,
        "full": full,
    }


def traced(waiting: int) -> dict[str, float]:
    """Measure what Python has allocated, to the byte."""
    crowd = Crowd(PLAN.queues[0])
    for _ in range(100):
        crowd.enter()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(waiting):
        crowd.enter()
    gc.collect()
    return {"bytes": (tracemalloc.get_traced_memory()[0] - before) / waiting}


async def store(waiting: int, directory: str) -> dict[str, float]:
    """Write a journal: a snapshot in the middle of the tickets, the others after it."""
    crowd, journal = Crowd(PLAN.queues[0]), SqliteJournal.open(directory)
    epoch = await journal.lease(PLAN.shard, PLAN.owner, 3600.0)
    gathered = [crowd.configured]

    async def commit() -> None:
        first = gathered[0].sequence
        await journal.append(PLAN.shard, PLAN.owner, epoch, first, gathered)
        gathered.clear()

    for number in range(1, waiting + 1):
        gathered.append(crowd.enter())
        if len(gathered) >= BATCH or number == waiting // 2:
            await commit()
        if number == waiting // 2:
            snapshot = take(crowd.engine)
            state = encode_snapshot(snapshot)
            await journal.snapshot(PLAN.shard, snapshot.tables.sequence, state)
    if gathered:
        await commit()
    await journal.close()
    return {"tail": waiting - waiting // 2}


async def recovered(waiting: int, directory: str) -> dict[str, float]:
    """Measure from the closed journal to an engine that has decided for the first time."""
    began, cpu = time.perf_counter(), time.process_time()
    journal = SqliteJournal.open(directory)
    engine = (await recover(journal, PLAN)).engine
    engine.step(Advance(engine.next_wakeup))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    assert len(engine.tables.waiting) == waiting, "the recovered engine lacks tickets"
    await journal.close()
    return {"seconds": seconds, "cpu": cpu}


def main(mode: str, waiting: int, changes: int, directory: str) -> dict[str, Any]:
    if mode == "rss":
        return rss(waiting, changes)
    if mode == "tracemalloc":
        return traced(waiting)
    work = store if mode == "store" else recovered
    return asyncio.run(work(waiting, directory))


if __name__ == "__main__":
    found = main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    sys.stdout.buffer.write(msgspec.json.encode(found))
