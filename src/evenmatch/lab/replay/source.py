"""A shard's journal as a replay reads it: its records, who wrote them, and where it can start.

The server may run at the same time: nothing is written, and no transaction is held while records
are decided again. Records appended after the start are left for the next replay.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice
from pathlib import Path

import msgspec

from evenmatch.engine.admission.shard_limits import UNLIMITED
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import FORMAT, Record
from evenmatch.engine.replay import as_judged
from evenmatch.engine.state.reducers import apply
from evenmatch.engine.state.snapshot import Snapshot, decode_snapshot
from evenmatch.engine.state.state import Tables
from evenmatch.errors import ConfigError, JournalCorrupt, MatchmakingError
from evenmatch.journals.base import Entry, Segment
from evenmatch.journals.reading import (
    entries,
    first_of,
    journal_of,
    read_only,
    segments,
    shards_of,
    snapshots,
)
from evenmatch.journals.sqlite_file import transaction
from evenmatch.model.events import JobAsked, JobSettled
from evenmatch.model.inputs import Advance, Settle
from evenmatch.model.queue import Queue
from evenmatch.policies.base import Memory, Policy
from evenmatch.policies.registry import parse_policy
from evenmatch.ratings.periods import rate_period

Say = Callable[[int, int], None]
"""Called with the number of records done, and of all."""
SAY_EVERY = 100


class Source:
    """The journal of one shard.

    Args:
        connection: Reads only.
        shard: Its name.
        last: The last record to read.
    """

    def __init__(self, connection: sqlite3.Connection, shard: str, last: int) -> None:
        self.shard = shard
        self.last = last
        self._connection = connection
        found = first_of(connection, shard)
        self.first = last + 1 if found is None else found
        self.segments: list[Segment] = segments(connection, shard)
        self._snapshots = snapshots(connection, shard)

    def entries(self, first: int, last: int | None = None) -> Iterator[Entry]:
        """Yield records with their wall times."""
        return entries(self._connection, self.shard, first, self.last if last is None else last)

    @cached_property
    def start(self) -> StartPoint | None:
        """Return the snapshot with which a replay begins; None if all records are there.

        Raises:
            JournalCorrupt: Records are gone, and no snapshot covers them.
        """
        if self.first == 1:
            return None
        for sequence, state in self._snapshots.items():
            if self.first - 1 <= sequence <= self.last:
                starts = [each.first_seq for each in self.segments if each.first_seq > sequence]
                end = min([self.last, *(at - 1 for at in starts)])
                after = (entry.record for entry in self.entries(sequence + 1, end))
                return start_point(decode_snapshot(state), after)
        raise JournalCorrupt(
            f"records 1 to {self.first - 1} of shard {self.shard!r} are gone, and no snapshot "
            "holds what came of them: restore a copy of the journal"
        )

    def beginning_within(self, sequence: int, end: int) -> StartPoint | None:
        """Return the first snapshot from a record on, before another one; None if none is kept."""
        for at, state in self._snapshots.items():
            if sequence <= at < end:
                after = (entry.record for entry in self.entries(at + 1, end))
                start = start_point(decode_snapshot(state), after)
                return start if start.tables.sequence < end else None
        return None

    @property
    def tables(self) -> Tables:
        """Return the state in which a replay begins, as a copy."""
        return Tables() if self.start is None else self.start.tables.shallow_copy()

    @property
    def begin(self) -> int:
        """Return the first record that can be decided again."""
        return 1 if self.start is None else self.start.tables.sequence + 1

    def memories_before(self, sequence: int) -> tuple[int, Mapping[str, Memory]] | None:
        """Return the last snapshot before a record, and the matchers' memory in it, if any."""
        found = [at for at in self._snapshots if at < sequence]
        if not found:
            return None
        return found[-1], decode_snapshot(self._snapshots[found[-1]]).memories

    def package_of(self, sequence: int) -> str | None:
        """Return the version of evenmatch that wrote a record."""
        found = [each.package for each in self.segments if each.first_seq <= sequence]
        return found[-1] if found else None

    def format_of(self, sequence: int) -> int:
        """Return the format in which a record was written."""
        found = [each.format for each in self.segments if each.first_seq <= sequence]
        return found[-1] if found else FORMAT


@contextmanager
def open_source(path: Path, shard: str) -> Iterator[Source]:
    """Open the journal of a data directory, or the file itself.

    Raises:
        ConfigError: There is no such journal, or no such shard in it.
        JournalError: The journal cannot be read, or is damaged.
    """
    with read_only(journal_of(path)) as connection:
        # The server may delete old records and snapshots between two of these reads.
        with transaction(connection, "DEFERRED"):
            shards = shards_of(connection)
            if shard not in shards:
                has = f"it has {', '.join(shards)}" if shards else "it has none"
                raise ConfigError(f"the journal has no shard {shard}; {has}")
            source = Source(connection, shard, shards[shard])
        yield source


# An engine as the server builds it.


def new_engine(shard: str) -> Engine:
    """Return an engine made as the server makes it, without any state."""
    return Engine(resolve, shard=shard, rate=rate_period)


def resolve(queue: Queue) -> Policy:
    """Return a queue's policy."""
    return parse_policy(queue.policy)


# Where a replay starts if the first records are gone: at a snapshot, with nothing in progress.
#
# A snapshot has neither the jobs that ran when it was taken, nor the instants at which running
# matches and repairs with free seats search for players again. So the records after it are folded,
# not decided, until every earlier job has returned and no seat is searched for; if that takes too
# long, until the jobs have returned. Restored matchers request those jobs anew, and get the plans
# that came back, so that they know what has been done.

JOB_MOST = 120.0
"""Seconds after which no job is expected to return."""
QUIET_MOST = 600.0
"""Most seconds of records that are folded so that no match searches for players at the start."""
READ_MOST = 50_000
"""Most records in which a start is searched: they are in memory together."""


class StartPoint(msgspec.Struct, frozen=True):
    """The start of a replay.

    Args:
        tables: The state.
        memories: The matchers' memory.
        seeking: Matches with free seats; when they search for players again is unknown.
    """

    tables: Tables
    memories: Mapping[str, Memory]
    seeking: tuple[str, ...] = ()


def start_point(snapshot: Snapshot, after: Iterable[Record]) -> StartPoint:
    """Return where a replay can start from a snapshot.

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
    return StartPoint(tables, memories, _seeking(tables))


def _memories_after(snapshot: Snapshot, records: Iterable[Record]) -> Mapping[str, Memory]:
    """Return the matchers' memory after records; their decisions are discarded."""
    engine = new_engine(snapshot.shard)
    engine.limits = UNLIMITED
    engine.tables = snapshot.tables.shallow_copy()
    engine.resume(snapshot.tables.now, snapshot.memories)
    for record in records:
        input_ = as_judged(record)
        while (at := engine.next_wakeup) < input_.now:
            engine.step(Advance(at))
        if isinstance(input_, Settle):
            pool = engine.pools.get(input_.queue)
            if pool is not None and pool.slot.running is not None:
                input_ = msgspec.structs.replace(input_, number=pool.slot.running.number)
        with suppress(MatchmakingError):
            engine.step(input_)
    engine.take_jobs()
    return engine.memories()


def _quiet(read: list[Record], start: Tables) -> int:
    """Return the number of records after which no job runs and, if possible, no seat is sought."""
    tables, until = start.shallow_copy(), start.now + QUIET_MOST
    without_jobs: int | None = None
    events = [event for record in read for event in record.events]
    settled = {event.number for event in events if isinstance(event, JobSettled)}
    running = {number for number in settled if number <= start.counters.jobs}
    # A start after the last record would leave nothing to decide.
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
