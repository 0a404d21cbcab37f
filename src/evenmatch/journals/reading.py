"""Reads a journal file without being its server: writes nothing, and holds nobody up."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from evenmatch.errors import ConfigError, JournalError, JournalUnavailable
from evenmatch.journals.base import Entry, Segment
from evenmatch.journals.head import EntryReader, is_intact, missing_record_error, sealer
from evenmatch.journals.sqlite import FILE_NAME
from evenmatch.journals.sqlite_file import examine, forgive_text, state_of, translate_errors


def journal_of(data: Path) -> Path:
    """Return the journal of a data directory, or the one named, after a look that changes nothing.

    Raises:
        ConfigError: There is none.
        JournalCorrupt: It is damaged.
    """
    path = data if data.is_file() else data / FILE_NAME
    if not path.is_file():
        raise ConfigError(f"there is no journal at {path}: check the path")
    examine(path)
    return path


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that cannot write; errors of SQLite become ours.

    SQLite makes files beside a journal even to read it. Where this user may not, a journal whose
    server has stopped is read as a file that nobody changes.

    Raises:
        JournalUnavailable: Somebody has changed it nevertheless.
    """
    before = state_of(path)
    is_still = not before[1] and not os.access(path.resolve().parent, os.W_OK)
    uri = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if is_still else ''}"
    try:
        with (
            translate_errors(path),
            closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection,
        ):
            forgive_text(connection)
            yield connection
    finally:
        # Whatever was read, or seemed to be damaged, was then a mixture of old and new.
        if is_still and state_of(path) != before:
            raise JournalUnavailable(
                f"a server began to write to {path} while it was read: run the command again"
            )


def shards_of(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the last record by shard."""
    return dict(connection.execute("SELECT shard, last_seq FROM heads").fetchall())


def shards_at(path: Path) -> list[str]:
    """Return the names of all shards of the journal of a data directory, or of the one named.

    Raises:
        ConfigError: There is no journal.
        JournalError: It cannot be read, or is damaged.
    """
    with read_only(journal_of(path)) as connection:
        return sorted(shards_of(connection))


def first_of(connection: sqlite3.Connection, shard: str) -> int | None:
    """Return the first record that is still kept; None if there is none."""
    statement = "SELECT min(seq) FROM records WHERE shard = ?"
    found: int | None = connection.execute(statement, (shard,)).fetchone()[0]
    return found


def kept_entries(connection: sqlite3.Connection, shard: str, last: int) -> Iterator[Entry]:
    """Yield the records that are still kept, in order, with their wall times.

    Raises:
        JournalCorrupt: A checksum fails, or a record in between is missing.
    """
    first = first_of(connection, shard)
    if first is None:
        return
    opener = EntryReader(shard, first, last)
    rows = connection.execute(
        "SELECT seq, wall, crc, body FROM records WHERE shard = ? AND seq <= ? ORDER BY seq",
        (shard, last),
    )
    for seq, wall, crc, body in rows:
        yield opener.open(seq, wall, crc, body)


SLICE = 2_000
"""Records read at a time: a long transaction would keep the server's log from being emptied."""
SLICE_BYTES = 8 * 2**20
"""Bytes from which no more records are read at a time: those with arrays of creates are large."""


def entries(connection: sqlite3.Connection, shard: str, first: int, last: int) -> Iterator[Entry]:
    """Yield records with their wall times, a slice at a time, outside of any transaction.

    Raises:
        JournalCorrupt: A checksum fails, or a record is missing.
        JournalUnavailable: The server has deleted old records meanwhile, these among them.
    """
    opener = EntryReader(shard, first, last)
    while first <= last:
        rows = _slice(connection, shard, first, last)
        if not rows or rows[0][0] != first:
            raise _gone(connection, shard, first, last)
        for seq, wall, crc, body in rows:
            yield opener.open(seq, wall, crc, body)
        first += len(rows)


def _slice(
    connection: sqlite3.Connection, shard: str, first: int, last: int
) -> list[tuple[int, float, int, bytes]]:
    """Return the next rows, as many as may be in memory at once and at least one."""
    rows, size = [], 0
    cursor = connection.execute(
        "SELECT seq, wall, crc, body, length(body) FROM records"
        " WHERE shard = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?",
        (shard, first, last, SLICE),
    )
    with closing(cursor):  # ends the transaction
        for *row, length in cursor:
            rows.append(tuple(row))
            size += length or 0  # damage may have taken the body
            if size >= SLICE_BYTES:
                break
    return rows


def _gone(connection: sqlite3.Connection, shard: str, first: int, last: int) -> JournalError:
    """Return the error for a record that is not there: all before it may be gone as well."""
    kept = first_of(connection, shard)
    if kept is not None and kept <= first:
        return missing_record_error(shard, first, last)
    return JournalUnavailable(
        f"the server deleted the oldest records of shard {shard!r} while they were read "
        "(keep_days): run the command again"
    )


def segments(connection: sqlite3.Connection, shard: str) -> list[Segment]:
    """Return the writers of all stretches in order; damaged rows are left out."""
    bodies = _intact(connection, shard, "segments").values()
    return [msgspec.json.decode(body, type=Segment) for body in bodies]


def snapshots(connection: sqlite3.Connection, shard: str) -> dict[int, bytes]:
    """Return the intact snapshots by the record after which they were taken, in order."""
    return _intact(connection, shard, "snapshots")


def _intact(connection: sqlite3.Connection, shard: str, table: str) -> dict[int, bytes]:
    seal = sealer(shard)
    rows = connection.execute(
        f"SELECT seq, wall, crc, body FROM {table} WHERE shard = ? ORDER BY seq", (shard,)
    )
    return {
        seq: body for seq, wall, crc, body in rows if is_intact(seal, seq, wall, crc=crc, body=body)
    }


def newest_snapshot(connection: sqlite3.Connection, shard: str) -> bytes | None:
    """Return the newest snapshot that is intact."""
    return next(reversed(snapshots(connection, shard).values()), None)
