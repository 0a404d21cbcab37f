"""A shard's journal as a replay reads it: its records, who wrote them, and where it can begin.

The server may run meanwhile: nothing is written, and no transaction is held while records are
decided again. What is appended after the start is left for the next time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from evenmatch.engine.state.snapshot import decode_snapshot
from evenmatch.engine.state.state import Tables
from evenmatch.errors import ConfigError, JournalCorrupt
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
from evenmatch.lab.replay.start_point import Beginning, beginning
from evenmatch.policies.base import Memory

Say = Callable[[int, int], None]
"""Told how many records are done, of how many."""
SAY_EVERY = 100


class Source:
    """The journal of one shard.

    Args:
        connection: Reads only.
        shard: Its name.
        last: The last record that is looked at.
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
    def start(self) -> Beginning | None:
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
                return beginning(decode_snapshot(state), after)
        raise JournalCorrupt(
            f"records 1 to {self.first - 1} of shard {self.shard!r} are gone, and no snapshot "
            "holds what came of them: restore a copy of the journal"
        )

    def beginning_within(self, sequence: int, end: int) -> Beginning | None:
        """Return the first snapshot from a record on, before another one; None if none is kept."""
        for at, state in self._snapshots.items():
            if sequence <= at < end:
                after = (entry.record for entry in self.entries(at + 1, end))
                found = beginning(decode_snapshot(state), after)
                return found if found.tables.sequence < end else None
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
        """Return the last snapshot before a record, and what matchers knew then, if it is kept."""
        found = [at for at in self._snapshots if at < sequence]
        if not found:
            return None
        return found[-1], decode_snapshot(self._snapshots[found[-1]]).memories

    def package_of(self, sequence: int) -> str | None:
        """Return the version of evenmatch that wrote a record."""
        found = [each.package for each in self.segments if each.first_seq <= sequence]
        return found[-1] if found else None


@contextmanager
def opened(path: Path, shard: str) -> Iterator[Source]:
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
