"""Acknowledged records per second: shard, output gate, one writer task, journal."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import uvloop

from evenmatch.engine.records import Record
from evenmatch.journals.base import Journal
from evenmatch.journals.memory import MemoryJournal
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.inputs import Advance, Enqueue
from evenmatch.model.ticket import NewTicket
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from tests.bench.disk import sync_seconds
from tests.bench.drives import EngineDrive
from tests.bench.report import Row, Setting, percentile
from tests.bench.workload import duel, new_ticket

WRITERS = 256
SYNCS = 100
FULL, QUICK = (5, 100), (2, 20)
"""Rounds, and creates of each writer in a round."""


class Figures(msgspec.Struct):
    """What a journal did, a value for each round."""

    rates: list[float] = msgspec.field(default_factory=list)
    records: list[float] = msgspec.field(default_factory=list)
    commit_ms: list[float] = msgspec.field(default_factory=list)


class Commits:
    """Counts commits, as the server's metrics do."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.records = 0

    def committed(self, seconds: float, records: int) -> None:
        self.seconds.append(seconds)
        self.records += records

    def failed(self) -> None:
        raise AssertionError("the engine failed")


def run(setting: Setting) -> Iterator[Row]:
    rounds, each = QUICK if setting.quick else FULL
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sqlite, memory, alone, syncs = runner.run(_measure(setting.data, rounds, each))
    note = f"{WRITERS} writers, {WRITERS * each:,} creates a round, most of them matched"
    yield Row(
        "SqliteJournal, acknowledged records",
        tuple(sqlite.rates),
        "records/s",
        ">= 20,000",
        note,
    )
    yield Row("SqliteJournal, records of a commit", tuple(sqlite.records), "records")
    yield Row("SqliteJournal, median commit", tuple(sqlite.commit_ms), "ms")
    yield Row(
        "SqliteJournal alone, appended records",
        tuple(alone),
        "records/s",
        "",
        f"the same records without shard and engine, {WRITERS} a commit",
    )
    yield Row("MemoryJournal, acknowledged records", tuple(memory.rates), "records/s", "", note)
    ratios = tuple(one / other for one, other in zip(sqlite.rates, memory.rates, strict=True))
    yield Row("SqliteJournal against MemoryJournal", ratios, "x")
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        values = tuple(percentile(part, share) * 1e3 for part in syncs)
        yield Row(f"fdatasync of 4 KB, {name}", values, "ms", "", f"{SYNCS} before each round")


async def _measure(
    directory: Path, rounds: int, each: int
) -> tuple[Figures, Figures, list[float], list[list[float]]]:
    """Let the journals take turns."""
    rng = random.Random(5)
    sides = [
        (await start(SqliteJournal.open(directory)), Figures()),
        (await start(MemoryJournal()), Figures()),
    ]
    alone = SqliteJournal.open(directory / "alone")
    syncs, rates = [], []
    for number in range(rounds + 1):
        syncs.append(sync_seconds(directory, SYNCS))
        for (runtime, commits), figures in sides:
            tickets = [[new_ticket(rng) for _ in range(each)] for _ in range(WRITERS)]
            commits.seconds, commits.records = [], 0
            began = time.perf_counter()
            await asyncio.gather(*(write(runtime, part) for part in tickets))
            seconds = time.perf_counter() - began
            if number:  # the first round warms up
                figures.rates.append(commits.records / seconds)
                figures.records.append(commits.records / len(commits.seconds))
                figures.commit_ms.append(percentile(commits.seconds, 0.5) * 1e3)
        rates.append(await _append(alone, number, records_of(rng, WRITERS * each)))
    for (runtime, _), _ in sides:
        await runtime.stop()
    await alone.close()
    return sides[0][1], sides[1][1], rates[1:], syncs[1:]


async def start(journal: Journal) -> tuple[Runtime, Commits]:
    commits = Commits()
    runtime = Runtime(ShardPlan((duel(),)), journal, commits=commits)
    await runtime.start()
    return runtime, commits


async def write(runtime: Runtime, tickets: list[NewTicket]) -> None:
    """Create one ticket after the other, each when the one before is acknowledged."""
    for ticket in tickets:
        await runtime.ask(Enqueue(runtime.now(), (ticket,)))


def records_of(rng: random.Random, count: int) -> list[Record]:
    """Return as many records as creates make, from an engine of its own."""
    engine, now, records = EngineDrive(duel()).engine, 0.0, []
    while len(records) < count:
        now += 2.0**-10
        while (at := engine.next_wakeup) < now:
            records.append(engine.step(Advance(at)))
        records.append(engine.step(Enqueue(now, (new_ticket(rng),))))
    made = [record for record in records if record.sequence][:count]
    return [msgspec.structs.replace(each, sequence=at) for at, each in enumerate(made, 1)]


async def _append(journal: Journal, number: int, records: list[Record]) -> float:
    """Return how many records a second a journal takes when it has nothing to wait for."""
    shard = f"r{number}"
    epoch = await journal.lease(shard, "bench", 60.0)
    began = time.perf_counter()
    for start in range(0, len(records), WRITERS):
        batch = records[start : start + WRITERS]
        await journal.append(shard, "bench", epoch, batch[0].sequence, batch)
    return len(records) / (time.perf_counter() - began)
