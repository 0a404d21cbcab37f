"""Copies a journal from a server into a SQLite file, which all commands that read files take.

A replay reads records several times over, and the server of the journal deletes old ones meanwhile;
so what it holds is fetched once, up to an end that is the same for all. Nothing is written there:
no lease is taken, and no transaction is held while slices are fetched.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import msgspec

from evenmatch.engine.records import Record
from evenmatch.errors import ConfigError, JournalCorrupt, JournalUnavailable
from evenmatch.journals.base import NO_JOURNAL_THERE, Journal, StoredSnapshot
from evenmatch.journals.head import JournalHead
from evenmatch.journals.opening import (
    check_address,
    is_shared,
    open_on_server,
    saying_what_to_check,
    without_password,
)
from evenmatch.journals.sqlite import FILE_NAME, put_head, put_row, record_rows
from evenmatch.journals.sqlite_file import connect, transaction, translate_errors

Say = Callable[[int, int], None]
"""Told how many records are copied, of how many."""
SAY_EVERY = 1_000
GATHERED = 2_000
"""Records written together, at most."""
ATTEMPTS = 3
"""Tries to read records that the server deletes meanwhile."""
OWNER = "copy"
"""Whose the shards of a copy are, until a server takes them: its lease is over."""


class ReadableJournal(Journal, Protocol):
    """What copying needs of a journal, beyond what a server needs."""

    async def first(self, shard: str) -> int:
        """Return the first record that is kept, 0 if none is."""
        ...

    async def snapshots(self, shard: str) -> list[StoredSnapshot]:
        """Return the intact snapshots, the oldest first."""
        ...


def is_address(place: str) -> bool:
    """Return whether a place is the address of a journal, and no path of a file.

    >>> is_address("nats://db:4222"), is_address("sqlite:a.db"), is_address("data")
    (True, True, False)
    """
    return place.startswith(("sqlite:", "postgresql:", "postgres:", "nats:"))


@contextmanager
def as_path(place: str, told: Callable[[], AbstractContextManager[Say]]) -> Iterator[Path]:
    """Yield the data directory or file that a place names; for a journal on a server, a copy.

    Args:
        place: A data directory, the journal in it, or the address of a journal.
        told: Shows the progress of a copy while it is made.

    Raises:
        ConfigError: The address names no journal.
        JournalError: The journal cannot be read, or is damaged.
    """
    if not is_address(place):
        yield Path(place)
    elif not is_shared(place):
        check_address(place)
        yield Path(place.partition(":")[2])
    else:
        with TemporaryDirectory(prefix="evenmatch-") as folder:
            path = Path(folder) / FILE_NAME
            with told() as say:
                copy_to_file(place, path, say)
            yield path


def copy_to_file(address: str, path: Path, say: Say) -> None:
    """Write what a journal on a server holds into a new file.

    Raises:
        ConfigError: There is no journal at the address.
        JournalUnavailable: The server does not answer, or deletes records faster than they come.
        JournalCorrupt: The journal is damaged.
    """

    async def copy() -> None:
        journal = open_on_server(address, is_read_only=True)
        try:
            with saying_what_to_check(address):
                shards = await journal.shards()
            if not shards:
                raise ConfigError(
                    f"there is no journal at {without_password(address)}: {NO_JOURNAL_THERE}"
                )
            with (
                translate_errors(path),
                closing(connect(path, busy_timeout=5.0, bytes_max=None)) as target,
            ):
                # What is lost with the machine is copied again.
                target.execute("PRAGMA synchronous = OFF")
                # A copy needs no log of its own: it is one file, and nobody reads it meanwhile. A
                # log would hold all of a shard a second time.
                target.execute("PRAGMA journal_mode = DELETE")
                for shard in shards:
                    await _copy_shard(journal, shard, target, say)
        finally:
            await journal.close()

    try:
        asyncio.run(copy())
    except JournalCorrupt as error:
        raise JournalCorrupt(f"{without_password(address)}: {error}") from error
    with path.open("rb") as file:
        os.fsync(file.fileno())


async def _copy_shard(
    journal: ReadableJournal, shard: str, target: sqlite3.Connection, say: Say
) -> None:
    for _ in range(ATTEMPTS):
        first = await journal.first(shard)
        try:
            with transaction(target):
                await _copy_once(journal, shard, first, target, say)
        except JournalCorrupt:
            # The server may have deleted the oldest while they were on their way.
            if await journal.first(shard) == first:
                raise
        else:
            return
    raise JournalUnavailable(
        f"the server deleted the oldest records of shard {shard!r} while they were read "
        "(keep_days): run the command again"
    )


async def _copy_once(
    journal: ReadableJournal, shard: str, first: int, target: sqlite3.Connection, say: Say
) -> None:
    """Copy a shard: first what covers records, then the records, then who wrote them."""
    for each in await journal.snapshots(shard):
        row = (shard, each.sequence, each.wall, each.state)
        put_row(target, table="snapshots", row=row)
    end, _ = await journal.last(shard)
    writing = RecordWriter(target, shard)
    if end:
        async for entry in journal.read(shard, max(1, first)):
            writing.add(entry.record, entry.wall)
            if entry.record.sequence % SAY_EVERY == 0:
                say(entry.record.sequence - first, max(end, entry.record.sequence) - first + 1)
    last_seq, last_wall = writing.end()
    for segment in await journal.segments(shard):
        # Of a start since then, nothing is copied.
        if segment.first_seq <= last_seq + 1:
            body = msgspec.json.encode(segment)
            put_row(target, table="segments", row=(shard, segment.first_seq, segment.wall, body))
    put_head(target, shard, JournalHead(OWNER, 1, 0.0, last_seq, last_wall))


class RecordWriter:
    """Writes records into a file, all records of one instant together.

    Args:
        target: In a transaction.
        shard: Whose.
    """

    def __init__(self, target: sqlite3.Connection, shard: str) -> None:
        self._target = target
        self._shard = shard
        self._wall = 0.0
        self._last_seq = 0
        self._records: list[Record] = []

    def add(self, record: Record, wall: float) -> None:
        """Add the next record."""
        if self._records and (wall != self._wall or len(self._records) >= GATHERED):
            self._write()
        self._records.append(record)
        self._wall, self._last_seq = wall, record.sequence

    def end(self) -> tuple[int, float]:
        """Write what is left; return the last sequence and its wall time."""
        self._write()
        return self._last_seq, self._wall

    def _write(self) -> None:
        rows = record_rows(self._shard, self._wall, self._records)
        self._target.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)
        self._records.clear()


def check_path(place: str) -> None:
    """Refuse a place that neither exists nor is the address of a journal.

    Raises:
        ConfigError: It is neither.
    """
    if is_address(place):
        check_address(place)
    elif not Path(place).exists():
        raise ConfigError(
            f"there is nothing at {without_password(place)}: name the data directory of a server"
        )
