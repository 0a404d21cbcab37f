"""What each journal takes: SQLite, PostgreSQL and NATS side by side, each on one node.

All three force what they acknowledge to the disk (see `tests/journal_servers.py`), and run on this
machine beside the bench: nothing crosses a network, and nothing is replicated.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import uvloop

from evenmatch.journals.base import Journal
from evenmatch.journals.nats import NatsJournal
from evenmatch.journals.postgres import PostgresJournal
from evenmatch.journals.sqlite import SqliteJournal
from tests.bench.disk import sync_seconds
from tests.bench.journal import WRITERS, records_of, start, write
from tests.bench.report import Row, Setting, percentile
from tests.bench.workload import new_ticket
from tests.journal_servers import NatsServer, PostgresServer, nats_program, postgres_folder

SYNCS = 100
BATCHES = (1, 64)
"""Records of an append."""
FULL, QUICK = (5, 100, 400), (2, 20, 100)
"""Rounds; creates of each writer in a round; appends of each size in a round."""


class Figures(msgspec.Struct):
    """What a journal did, a value for each round."""

    creates: list[float] = msgspec.field(default_factory=list)
    commit_p99: list[float] = msgspec.field(default_factory=list)
    records: dict[int, list[float]] = msgspec.field(default_factory=dict)
    p50: dict[int, list[float]] = msgspec.field(default_factory=dict)
    p99: dict[int, list[float]] = msgspec.field(default_factory=dict)


def run(setting: Setting) -> Iterator[Row]:
    rounds, each, appends = QUICK if setting.quick else FULL
    with ExitStack() as servers:
        journals = _journals(setting.data, servers)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            figures, syncs = runner.run(_measure(journals, setting.data, rounds, each, appends))
    note = f"one node; {WRITERS} writers, {WRITERS * each:,} creates a round, with the engine"
    for name, found in figures.items():
        yield Row(f"{name}, acknowledged creates", tuple(found.creates), "tickets/s", "", note)
        yield Row(f"{name}, commit p99 under them", tuple(found.commit_p99), "ms")
        for size in BATCHES:
            of = f"append of {size} record{'s'[: size - 1]}"
            one = f"one node; {appends} appends a round, one after the other"
            yield Row(f"{name}, {of}", tuple(found.records[size]), "records/s", "", one)
            yield Row(f"{name}, {of}, p50", tuple(found.p50[size]), "ms")
            yield Row(f"{name}, {of}, p99", tuple(found.p99[size]), "ms")
    for name, found in list(figures.items())[1:]:
        ratios = zip(found.creates, figures["SQLite"].creates, strict=True)
        yield Row(f"{name} against SQLite, creates", tuple(a / b for a, b in ratios), "x")
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        values = tuple(percentile(part, share) * 1e3 for part in syncs)
        yield Row(f"fdatasync of 4 KB, {name}", values, "ms", "", f"{SYNCS} before each round")


def _journals(data: Path, servers: ExitStack) -> dict[str, Callable[[str], Journal]]:
    """Return what opens each journal that this machine has a server for, under a name."""
    found: dict[str, Callable[[str], Journal]] = {
        "SQLite": lambda name: SqliteJournal.open(data / name)
    }
    if postgres_folder() is not None:
        postgres = PostgresServer(data)
        servers.callback(postgres.close)
        postgres.start()
        found["PostgreSQL"] = lambda name: PostgresJournal(postgres.url, schema=name)
    if nats_program() is not None:
        nats = NatsServer(data=data)
        servers.callback(nats.close)
        nats.start()
        found["NATS"] = lambda name: NatsJournal(nats.url, name=name)
    return found


async def _measure(
    journals: dict[str, Callable[[str], Journal]], data: Path, rounds: int, each: int, appends: int
) -> tuple[dict[str, Figures], list[list[float]]]:
    """Let the journals take turns."""
    rng = random.Random(5)
    figures = {name: Figures() for name in journals}
    runtimes = {name: await start(make("served")) for name, make in journals.items()}
    alone = {name: make("alone") for name, make in journals.items()}
    syncs = []
    for number in range(rounds + 1):
        syncs.append(sync_seconds(data, SYNCS))
        for name, found in figures.items():
            runtime, commits = runtimes[name]
            tickets = [[new_ticket(rng) for _ in range(each)] for _ in range(WRITERS)]
            commits.seconds, commits.records = [], 0
            began = time.perf_counter()
            await asyncio.gather(*(write(runtime, part) for part in tickets))
            rate = WRITERS * each / (time.perf_counter() - began)
            if number:  # the first round warms up
                found.creates.append(rate)
                found.commit_p99.append(percentile(commits.seconds, 0.99) * 1e3)
            for size in BATCHES:
                taken = await _append(alone[name], f"r{number}-{size}", rng, size, appends)
                if number:
                    found.records.setdefault(size, []).append(size * appends / sum(taken))
                    found.p50.setdefault(size, []).append(percentile(taken, 0.5) * 1e3)
                    found.p99.setdefault(size, []).append(percentile(taken, 0.99) * 1e3)
    for runtime, _ in runtimes.values():
        await runtime.stop()
    for journal in alone.values():
        await journal.close()
    return figures, syncs[1:]


async def _append(
    journal: Journal, shard: str, rng: random.Random, size: int, appends: int
) -> list[float]:
    """Return the seconds of each of some appends, one after the other."""
    records = records_of(rng, size * appends)
    epoch = await journal.lease(shard, "bench", 600.0)
    taken = []
    for first in range(0, len(records), size):
        batch = records[first : first + size]
        began = time.perf_counter()
        await journal.append(shard, "bench", epoch, batch[0].sequence, batch)
        taken.append(time.perf_counter() - began)
    return taken
