"""Where a replay begins when the first records are gone: at a snapshot, with no job on its way.

A snapshot does not hold the jobs that ran when it was taken. So records after it are folded, not
decided, until every job asked for before has come back. Restored matchers ask for those jobs anew,
and are given the plans that came back, so that they know what has been done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

import msgspec

from evenmatch.engine.admission import UNLIMITED
from evenmatch.engine.records import Record
from evenmatch.engine.replay import as_judged
from evenmatch.engine.snapshot import Snapshot
from evenmatch.engine.tables import Tables
from evenmatch.errors import MatchmakingError
from evenmatch.lab.replay.deciding import new_engine
from evenmatch.model.events import JobAsked, JobSettled
from evenmatch.model.inputs import Advance, Settle
from evenmatch.policies.base import Memory

JOB_MOST = 120.0
"""Seconds after which no job is expected back."""


class Beginning(msgspec.Struct, frozen=True):
    """The state in which a replay begins, and what matchers knew then."""

    tables: Tables
    memories: Mapping[str, Memory]


def beginning(snapshot: Snapshot, after: Iterable[Record]) -> Beginning:
    """Return where a replay can begin that has this snapshot.

    Args:
        snapshot: Its tables are not changed.
        after: The records after it that the same process wrote.
    """
    tables = snapshot.tables.shallow_copy()
    until = tables.now + JOB_MOST
    read: list[Record] = []
    for record in after:
        if record.input.now > until:
            break
        read.append(record)
    last = _quiet(read, tables.sequence, tables.counters.jobs)
    folded = read[: last - tables.sequence]
    memories = _memories_after(snapshot, folded) if folded else snapshot.memories
    for record in folded:
        tables.apply(record)
    return Beginning(tables, memories)


def _memories_after(snapshot: Snapshot, records: Iterable[Record]) -> Mapping[str, Memory]:
    """Return what matchers know after records; what they decide meanwhile does not matter."""
    engine = new_engine(snapshot.shard)
    engine.limits = UNLIMITED
    engine.tables = snapshot.tables.shallow_copy()
    engine.resume(snapshot.tables.now, snapshot.memories)
    for record in records:
        given = as_judged(record)
        while (at := engine.next_wakeup) < given.now:
            engine.step(Advance(at))
        if isinstance(given, Settle):
            pool = engine.pools.get(given.queue)
            if pool is not None and pool.slot.running is not None:
                given = msgspec.structs.replace(given, number=pool.slot.running.number)
        with suppress(MatchmakingError):
            engine.step(given)
    engine.take_jobs()
    return engine.memories()


def _quiet(read: list[Record], sequence: int, jobs: int) -> int:
    """Return the first record from `sequence` on after which no job that came back was running."""
    asked, settled = _jobs(read)
    running = [at for number, at in settled.items() if number <= jobs]
    last = sequence
    while running:
        last = max(running)
        running = [
            settled[number] for number, at in asked.items() if at <= last < settled.get(number, 0)
        ]
    return last


def _jobs(read: list[Record]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the records in which jobs were asked for and came back, by number."""
    asked: dict[int, int] = {}
    settled: dict[int, int] = {}
    for record in read:
        for event in record.events:
            if isinstance(event, JobAsked):
                asked[event.number] = record.sequence
            elif isinstance(event, JobSettled):
                settled[event.number] = record.sequence
    return asked, settled
