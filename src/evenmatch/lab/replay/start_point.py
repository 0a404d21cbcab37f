"""Where a replay begins when the first records are gone: at a snapshot, with nothing under way.

A snapshot does not hold the jobs that ran when it was taken, nor when running matches and repairs
with free seats look for players again. So records after it are folded, not decided, until every job
asked for before has come back and no seat is sought for; where that takes too long, until the jobs
are back. Restored matchers ask for those jobs anew, and are given the plans that came back, so that
they know what has been done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice

import msgspec

from evenmatch.engine.admission.limits import UNLIMITED
from evenmatch.engine.records import Record
from evenmatch.engine.replay import as_judged
from evenmatch.engine.state.reducers import apply
from evenmatch.engine.state.snapshot import Snapshot
from evenmatch.engine.state.state import Tables
from evenmatch.errors import MatchmakingError
from evenmatch.lab.replay.deciding import new_engine
from evenmatch.model.events import JobAsked, JobSettled
from evenmatch.model.inputs import Advance, Settle
from evenmatch.policies.base import Memory

JOB_MOST = 120.0
"""Seconds after which no job is expected back."""
QUIET_MOST = 600.0
"""Seconds of records that are folded at most so that no match seeks players at the beginning."""
READ_MOST = 50_000
"""Records that are looked at for a beginning: they are in memory together."""


class Beginning(msgspec.Struct, frozen=True):
    """Where a replay begins.

    Args:
        tables: The state.
        memories: What matchers knew then.
        seeking: Matches with free seats; when they look for players again is not known.
    """

    tables: Tables
    memories: Mapping[str, Memory]
    seeking: tuple[str, ...] = ()


def beginning(snapshot: Snapshot, after: Iterable[Record]) -> Beginning:
    """Return where a replay can begin that has this snapshot.

    Args:
        snapshot: Its tables are not changed.
        after: The records after it that the same process wrote.
    """
    tables = snapshot.tables.shallow_copy()
    until = tables.now + QUIET_MOST + JOB_MOST
    read: list[Record] = []
    for record in islice(after, READ_MOST):
        if record.input.now > until:
            break
        read.append(record)
    folded = read[: _quiet(read, snapshot.tables)]
    memories = _memories_after(snapshot, folded) if folded else snapshot.memories
    for record in folded:
        apply(tables, record)
    return Beginning(tables, memories, _seeking(tables))


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


def _quiet(read: list[Record], start: Tables) -> int:
    """Return after how many records no job is running, and no match seeks players if possible."""
    tables, until = start.shallow_copy(), start.now + QUIET_MOST
    without_jobs: int | None = None
    events = [event for record in read for event in record.events]
    settled = {event.number for event in events if isinstance(event, JobSettled)}
    running = {number for number in settled if number <= start.counters.jobs}
    # A beginning after the last record would leave nothing to decide.
    for count, record in enumerate(read):
        if not running:
            if without_jobs is None:
                without_jobs = count
            if not _seeking(tables):
                return count
        if without_jobs is not None and record.input.now > until:
            break
        apply(tables, record)
        for event in record.events:
            if isinstance(event, JobAsked):
                running |= settled & {event.number}
            elif isinstance(event, JobSettled):
                running.discard(event.number)
    return len(read) if without_jobs is None else without_jobs


def _seeking(tables: Tables) -> tuple[str, ...]:
    """Return the running matches and the proposals that have seats to fill."""
    running = [match_id for match_id, each in tables.rosters.items() if each.open is not None]
    asked = [match_id for match_id, each in tables.proposals.items() if each.open is not None]
    return (*running, *asked)
