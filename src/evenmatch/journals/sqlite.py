"""A journal in one SQLite file: durable on a single machine, with nothing to install.

How the promises of the port are kept:

- The file is in WAL mode with synchronous=FULL: a commit has reached the disk when it returns.
- Everything is written by one thread, and read by another with its own connection, so the event
  loop waits for neither, and a reader never holds up a writer.
- Each batch and the shard's row in `heads` change in one transaction, inside which owner, epoch
  and sequence are checked. So nothing is half stored, and two processes on one file can't both
  write to a shard.
- Each row has a checksum that covers shard, sequence, wall time and body; `heads` says where the
  journal ends. So changed, swapped and missing rows are found when they are read.
- After each commit the names of the files still stand for the files that were written; see
  `sqlite_file.FileIdentity`.
- `journal.db-ends` is a witness against the loss of `journal.db-wal`; see `sqlite_file.ShardEnds`.
  A journal that it accuses is refused before any file changes; see `sqlite_file.examine`.

`journal.db-wal` is a part of the journal: move or copy `journal.db` only while it is closed.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from zlib import crc32

import msgspec

from evenmatch.engine.records import Record, encode
from evenmatch.errors import JournalCorrupt, JournalError, JournalUnavailable
from evenmatch.journals.base import Entry, Segment, StoredSnapshot, in_place_of
from evenmatch.journals.head import (
    EntryReader,
    JournalHead,
    check_append,
    check_snapshot,
    first_to_read,
    grant_lease,
    is_intact,
    missing_record_error,
    sealer,
)
from evenmatch.journals.sqlite_file import (
    ConnectionThread,
    FileIdentity,
    ShardEnds,
    connect,
    ends_path,
    examine,
    load_ends,
    make_directory,
    raise_format,
    transaction,
)

FILE_NAME = "journal.db"
SLICE_ROWS = 5_000
SLICE_BYTES = 16 * 2**20
SNAPSHOTS_KEPT = 2


class SqliteJournal:
    """Stores the records of any number of shards in one file.

    Opening reads and writes the disk; do it before the event loop has work. If the task that
    awaits an `append` is cancelled, the batch may still be stored, unacknowledged.

    Args:
        path: The file; it is made, with its directory, if it is missing.
        wall: The wall clock, Unix seconds.
        busy_timeout: How long to wait for another process's transaction, seconds.
        bytes_max: Largest size of the file; None is limited by the disk alone.
        create: False refuses to make a new journal.

    Raises:
        JournalUnavailable: The file is missing, locked, or may not be written.
        JournalCorrupt: The file is no journal, is damaged, or is of a newer format.

    Example:
        >>> import asyncio, tempfile
        >>> from evenmatch.model.inputs import Advance
        >>> async def main(directory: str) -> int:
        ...     journal = SqliteJournal.open(directory)
        ...     epoch = await journal.lease("main", "me", ttl=10.0)
        ...     last = await journal.append("main", "me", epoch, 1, [Record(1, Advance(0.5), ())])
        ...     await journal.close()
        ...     return last
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     asyncio.run(main(directory))
        1
    """

    def __init__(
        self,
        path: Path | str,
        *,
        wall: Callable[[], float] = time.time,
        busy_timeout: float = 5.0,
        bytes_max: int | None = None,
        create: bool = True,
    ) -> None:
        self.path = Path(path)
        self.wall = wall
        if create:
            make_directory(self.path.parent)
        elif not self.path.is_file():
            raise JournalUnavailable(f"there is no journal at {self.path}: check the path")
        examine(self.path)
        connection = partial(connect, self.path, busy_timeout=busy_timeout, bytes_max=bytes_max)
        # Sequence and checksum of the snapshots that were found to be intact, by shard.
        self._intact: dict[str, frozenset[tuple[int, int]]] = {}
        self._writer = ConnectionThread("journal-writer", self.path, connection)
        try:
            self._reader = ConnectionThread("journal-reader", self.path, connection)
        except JournalError:
            self._writer.close()
            raise
        witness = ends_path(self.path)
        self._ends = ShardEnds(witness, load_ends(witness))
        self._in_place = FileIdentity(self.path)
        self._in_place.check()

    @classmethod
    def open(
        cls,
        directory: Path | str,
        *,
        wall: Callable[[], float] = time.time,
        busy_timeout: float = 5.0,
        bytes_max: int | None = None,
        create: bool = True,
    ) -> SqliteJournal:
        """Return the journal of a data directory, `DIR/journal.db`."""
        path = Path(directory) / FILE_NAME
        return cls(path, wall=wall, busy_timeout=busy_timeout, bytes_max=bytes_max, create=create)

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        """Become or stay the owner of a shard and return the epoch."""

        def work(connection: sqlite3.Connection) -> int:
            self._in_place.check()
            with transaction(connection):
                present = head_of(connection, shard)
                head = grant_lease(present, shard, owner=owner, ttl=ttl, now=float(self.wall()))
                put_head(connection, shard, head)
            return head.epoch

        return await self._writer.run(work)

    async def begin(self, shard: str, segment: Segment) -> None:
        """Note who writes from `segment.first_seq` on."""

        def work(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                raise_format(connection, segment.format)
                known = (each for each in _segments(connection, shard))
                before = next((each for each in known if each.first_seq == segment.first_seq), None)
                body = msgspec.json.encode(in_place_of(before, segment))
                row = (shard, segment.first_seq, float(segment.wall), body)
                put_row(connection, table="segments", row=row)

        await self._writer.run(work)

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        """Store the records, all or none, and return the last sequence when it is on the disk."""
        batch, holder = tuple(records), (owner, epoch)

        def work(connection: sqlite3.Connection) -> int:
            wall = float(self.wall())
            rows = record_rows(shard, wall, batch)
            with transaction(connection):
                present = head_of(connection, shard)
                head = check_append(
                    present, shard, holder=holder, first_seq=first_seq, records=batch
                )
                if not rows:
                    return head.last_seq
                connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)
                last_seq = batch[-1].sequence
                head = msgspec.structs.replace(head, last_seq=last_seq, last_wall=wall)
                put_head(connection, shard, head)
            self._in_place.check()
            self._ends.note(shard, last_seq)
            return last_seq

        return await self._writer.run(work)

    async def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        """Yield the records from `from_seq` on that were stored when reading began."""
        last_seq, _ = await self.last(shard)
        first = first_to_read(last_seq, shard, from_seq)
        while first <= last_seq:
            slice_of = partial(_slice, shard=shard, first=first, last_seq=last_seq)
            entries = await self._reader.run(slice_of)
            first += len(entries)
            for entry in entries:
                yield entry

    async def snapshot(self, shard: str, seq: int, state: bytes) -> None:
        """Store the state after record `seq`; the last two are kept."""
        row = (shard, seq, float(self.wall()), bytes(state))

        def work(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                check_snapshot(head_of(connection, shard), shard, seq)
                put_row(connection, table="snapshots", row=row)
                connection.execute(
                    "DELETE FROM snapshots WHERE shard = ?1 AND seq NOT IN"
                    " (SELECT seq FROM snapshots WHERE shard = ?1 ORDER BY seq DESC LIMIT ?2)",
                    (shard, SNAPSHOTS_KEPT),
                )

        await self._writer.run(work)

    async def latest_snapshot(self, shard: str) -> StoredSnapshot | None:
        """Return the newest snapshot whose checksum holds, or None."""
        return await self._reader.run(partial(_latest_snapshot, shard=shard))

    async def forget(self, shard: str, before: float) -> int:
        """Delete a slice of what is older and no longer needed; see `forget_slice`."""
        known = self._intact.get(shard, frozenset())

        def look(connection: sqlite3.Connection) -> frozenset[tuple[int, int]]:
            # Snapshots may be large. Mostly nothing is old enough, and they need no reading.
            if not _begins_before(connection, shard, before):
                return frozenset()
            return _intact_snapshots(connection, shard, known)

        # Beside the writer, on which commits wait.
        intact = await self._reader.run(look)
        if not intact:
            return 0
        # A slice after the other is deleted: each snapshot is looked at once.
        self._intact[shard] = intact
        covered, _ = min(intact)

        def work(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                return forget_slice(connection, shard, before, covered)

        return await self._writer.run(work)

    async def shards(self) -> list[str]:
        """Return the names of all shards."""
        return await self._reader.run(_shards)

    async def segments(self, shard: str) -> list[Segment]:
        """Return the segments of a shard in order."""
        return await self._reader.run(partial(_segments, shard=shard))

    async def last(self, shard: str) -> tuple[int, float]:
        """Return the last stored sequence (0 if none) and its wall time."""
        return await self._reader.run(partial(_end, shard=shard))

    async def close(self) -> None:
        """Finish the work handed in so far, then close the file and end the threads."""
        loop = asyncio.get_running_loop()
        # The reader first: the last connection to close empties the WAL into the file.
        await loop.run_in_executor(None, self._reader.close)
        await loop.run_in_executor(None, self._writer.close)
        self._ends.close()


def record_rows(
    shard: str, wall: float, records: Sequence[Record]
) -> list[tuple[str, int, float, int, bytes]]:
    """Return the rows of records that were written together."""
    seal, rows = sealer(shard), []
    for record in records:
        seq, body = record.sequence, encode(record)
        rows.append((shard, seq, wall, seal(seq, wall, body), body))
    return rows


def put_row(
    connection: sqlite3.Connection, *, table: str, row: tuple[str, int, float, bytes]
) -> None:
    """Write a snapshot or a segment: shard, sequence, wall time and body."""
    shard, seq, wall, body = row
    connection.execute(
        f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?)",
        (shard, seq, wall, sealer(shard)(seq, wall, body), body),
    )


def head_of(connection: sqlite3.Connection, shard: str) -> JournalHead | None:
    """Return the head of a shard, None if it never had an owner.

    Raises:
        JournalCorrupt: It is damaged, or missing before records.
    """
    row = connection.execute(
        "SELECT owner, epoch, expires, last_seq, last_wall, crc FROM heads WHERE shard = ?",
        (shard,),
    ).fetchone()
    if row is None:
        if _last_row(connection, shard) == 0:
            return None
    elif _seal_head(shard, row[:5]) == row[5]:
        return JournalHead(*row[:5])
    raise lost_head_error(shard)


def lost_head_error(shard: str) -> JournalCorrupt:
    """Return the error for a head that is damaged or missing."""
    return JournalCorrupt(
        f"the head of shard {shard!r} is lost or damaged: keep the file for inspection and "
        "restore a copy"
    )


def put_head(connection: sqlite3.Connection, shard: str, head: JournalHead) -> None:
    """Write the head of a shard."""
    values = msgspec.structs.astuple(head)
    connection.execute(
        "INSERT OR REPLACE INTO heads VALUES (?, ?, ?, ?, ?, ?, ?)",
        (shard, *values, _seal_head(shard, values)),
    )


def _seal_head(shard: str, values: tuple[object, ...]) -> int:
    return crc32(msgspec.json.encode((shard, values)))


def _last_row(connection: sqlite3.Connection, shard: str) -> int:
    found = connection.execute("SELECT max(seq) FROM records WHERE shard = ?", (shard,)).fetchone()
    return found[0] or 0


def _shards(connection: sqlite3.Connection) -> list[str]:
    """Return the names of all shards."""
    return [name for (name,) in connection.execute("SELECT shard FROM heads ORDER BY shard")]


def _end(connection: sqlite3.Connection, shard: str) -> tuple[int, float]:
    """Return the last sequence and its wall time; the head and the last row must agree on it."""
    # Without one snapshot for both, a batch committed in between would look like damage.
    with transaction(connection, "DEFERRED"):
        head, last_row = head_of(connection, shard), _last_row(connection, shard)
    last_seq, last_wall = (head.last_seq, head.last_wall) if head else (0, 0.0)
    if last_row != last_seq:
        raise JournalCorrupt(
            f"the journal of shard {shard!r} should end at record {last_seq} and ends at "
            f"{last_row}: keep the file for inspection and restore a copy"
        )
    return last_seq, last_wall


def _slice(connection: sqlite3.Connection, shard: str, first: int, last_seq: int) -> list[Entry]:
    """Return the entries from `first` on, as many as one slice may hold and at least one."""
    cursor = connection.execute(
        "SELECT seq, wall, crc, body FROM records WHERE shard = ? AND seq BETWEEN ? AND ?"
        " ORDER BY seq LIMIT ?",
        (shard, first, last_seq, SLICE_ROWS),
    )
    entries: list[Entry] = []
    opener, size = EntryReader(shard, first, last_seq), 0
    try:
        for sequence, wall, crc, body in cursor:
            entries.append(opener.open(sequence, wall, crc, body))
            size += len(body)
            if size >= SLICE_BYTES:
                break
    finally:
        cursor.close()  # ends the read transaction, so that checkpoints can go on
    if not entries:
        raise missing_record_error(shard, first, last_seq)
    return entries


def _latest_snapshot(connection: sqlite3.Connection, shard: str) -> StoredSnapshot | None:
    seal = sealer(shard)
    cursor = connection.execute(
        "SELECT seq, wall, crc, body FROM snapshots WHERE shard = ? ORDER BY seq DESC", (shard,)
    )
    try:
        for sequence, wall, crc, body in cursor:
            if is_intact(seal, sequence, wall, crc=crc, body=body):
                return StoredSnapshot(sequence, wall, body)
    finally:
        cursor.close()
    return None


def _segments(connection: sqlite3.Connection, shard: str) -> list[Segment]:
    seal = sealer(shard)
    rows = connection.execute(
        "SELECT seq, wall, crc, body FROM segments WHERE shard = ? ORDER BY seq", (shard,)
    ).fetchall()
    for sequence, wall, crc, body in rows:
        if not is_intact(seal, sequence, wall, crc=crc, body=body):
            raise JournalCorrupt(
                f"the segment of shard {shard!r} that starts at record {sequence} fails its "
                "checksum: keep the file for inspection and restore a copy"
            )
    return [msgspec.json.decode(body, type=Segment) for *_, body in rows]


# Old records leave the SQLite journal: those that nobody needs any more to recover.
#
# A record may go when it is older than the operator keeps, and when the older one of the two kept
# snapshots covers it and is intact: whichever of the two is damaged later, recovery still finds
# all that it has to read. Records go from the front, without gaps, a slice at a time, so that
# appends get in between.

PRUNED_ROWS = 2_000
"""Records deleted in one transaction: a few milliseconds."""
SNAPSHOTS_NEEDED = 2


def forget_slice(connection: sqlite3.Connection, shard: str, before: float, covered: int) -> int:
    """Delete the oldest records that may go, at most a slice; return how many.

    Args:
        connection: In a transaction.
        shard: Whose.
        before: Records written from this wall time on stay, Unix seconds.
        covered: The last record that recovery would not read, whichever snapshot it began with.
    """
    rows = connection.execute(
        "SELECT seq, wall FROM records WHERE shard = ? AND seq <= ? ORDER BY seq LIMIT ?",
        (shard, covered, PRUNED_ROWS),
    ).fetchall()
    old = 0
    for _, wall in rows:
        # Damage may have changed the type; such a row stays, to be found out when it is read.
        if not isinstance(wall, float) or wall >= before:
            break
        old += 1
    if old:
        last = rows[old - 1][0]
        connection.execute("DELETE FROM records WHERE shard = ? AND seq <= ?", (shard, last))
        # A segment without any record left says nothing about those that follow.
        connection.execute(
            "DELETE FROM segments WHERE shard = ?1 AND seq < (SELECT max(seq) FROM segments"
            " WHERE shard = ?1 AND seq <= ?2)",
            (shard, last + 1),
        )
    return old


def _begins_before(connection: sqlite3.Connection, shard: str, before: float) -> bool:
    """Return whether the oldest record of a shard was written before a wall time."""
    row = connection.execute(
        "SELECT wall FROM records WHERE shard = ? ORDER BY seq LIMIT 1", (shard,)
    ).fetchone()
    return row is not None and isinstance(row[0], float) and row[0] < before


def _intact_snapshots(
    connection: sqlite3.Connection, shard: str, known: frozenset[tuple[int, int]]
) -> frozenset[tuple[int, int]]:
    """Return sequence and checksum of the kept snapshots; nothing unless all are intact.

    Args:
        connection: For reading.
        shard: Whose.
        known: Those that need not be looked at again.
    """
    keys = connection.execute(
        "SELECT seq, crc FROM snapshots WHERE shard = ? ORDER BY seq DESC LIMIT ?",
        (shard, SNAPSHOTS_NEEDED),
    ).fetchall()
    if len(keys) < SNAPSHOTS_NEEDED:
        return frozenset()
    seal = sealer(shard)
    for seq, crc in keys:
        if (seq, crc) in known:
            continue
        row = connection.execute(
            "SELECT wall, body FROM snapshots WHERE shard = ? AND seq = ?", (shard, seq)
        ).fetchone()
        # None where a newer one has just taken its place.
        if row is None or not is_intact(seal, seq, row[0], crc=crc, body=row[1]):
            return frozenset()
    return frozenset(keys)
