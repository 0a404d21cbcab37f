"""A journal in PostgreSQL: for several machines, on a database that operators already run.

How the promises of the port are kept:

- A batch of records is one row, and its append is one statement: it moves the shard's row in
  `heads` only where owner, epoch and last sequence are the expected ones, and inserts the batch
  only if it did. PostgreSQL answers when the commit is on the disk, and on the synchronous
  standbys if it has some.
- Each row has a checksum that covers shard, sequence, wall time and body; `heads` says where the
  journal ends. So changed, swapped and missing rows are found when they are read.
- Where the answer of an append is lost, the batch is looked up and never sent again. A statement
  may be at work in the server after its connection is gone. So whoever looks up first raises the
  head's `turn`, on which every append insists: the statement is then either done or without
  effect for good. That write waits for the standbys as well, so what it finds is on them.
- The same turn keeps out an older process of the same owner: the newest one that asked for the
  lease, or wrote, is the one that may go on.
- A lease is over when the newcomer has watched it unrenewed for its whole length; see `leases.py`.

Every error of the driver is a `JournalUnavailable`, and the next call opens a new connection.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from zlib import crc32

import msgspec

from evenmatch.engine.records import Record
from evenmatch.errors import JournalCorrupt, JournalUnavailable, SequenceGap
from evenmatch.journals.base import AnswerLost, Entry, Segment, StoredSnapshot, in_place_of
from evenmatch.journals.batches import BatchReader, StoredBatch, make_batch
from evenmatch.journals.head import (
    check_append,
    check_numbers,
    check_snapshot,
    check_ttl,
    first_to_read,
    is_intact,
    newer_process,
    sealer,
)
from evenmatch.journals.leases import LeaseWatch
from evenmatch.journals.postgres_link import Connection, PostgresLink

SLICE_ROWS = 1_000
SLICE_BYTES = 8 * 2**20
"""Batches read at a time: as many as fit, and at least one."""
SNAPSHOTS_KEPT = 2
PRUNED_ROWS = 200
"""Batches deleted at a time."""
PATIENCE = 12.0
"""How much longer than an append what is large may take."""
ATTEMPTS = 5
"""Tries to change a lease that somebody else changes meanwhile."""
LOOK_AGAIN = 0.1
"""Pause until a server that does not answer is asked once more after a lost answer, seconds."""

_T = TypeVar("_T")


class PostgresHead(msgspec.Struct, frozen=True, gc=False):
    """Where the journal of a shard ends, and who may write on.

    Args:
        owner: The present owner.
        epoch: Counts owners, from 1.
        ttl: Length of the lease, seconds.
        renewals: How often the lease was taken or renewed.
        lease_crc: Checksum of the four.
        turn: Counts the processes of an owner, and their lost answers.
        last_seq: Sequence of the last record, 0 if there is none.
        last_wall: Wall time of the last batch, Unix seconds.
        end_crc: Checksum of the two.
    """

    owner: str
    epoch: int
    ttl: float
    renewals: int
    lease_crc: int
    turn: int
    last_seq: int
    last_wall: float
    end_crc: int


class PostgresJournal:
    """Stores the records of any number of shards in one schema of a PostgreSQL database.

    Nothing is opened before the first call. If the task that awaits an `append` is cancelled, the
    batch may still be stored, unacknowledged.

    Args:
        url: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`; several hosts are separated by commas,
            and the one that takes writes is used.
        schema: Where the tables are; they are made if they are missing.
        wall: The wall clock, Unix seconds.
        clock: The monotonic clock for leases, seconds.
        timeout: Longest wait for an answer, seconds; snapshots and reads get 12 times as long.
        is_read_only: Only read; the journal must be there.

    Raises:
        NotSupported: The package asyncpg is missing.
        ConfigError: The schema has no usable name.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "evenmatch",
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        timeout: float = 5.0,
        is_read_only: bool = False,
    ) -> None:
        self.url = url
        self.schema = schema
        self.wall = wall
        self._timeout = timeout
        # Appends and leases on one connection, all that is large or may wait on the other.
        self._writer = PostgresLink(url, schema, timeout, is_read_only=is_read_only)
        self._reader = PostgresLink(url, schema, timeout, is_read_only=is_read_only)
        self._sql = Statements(schema)
        self._watch = LeaseWatch(clock)
        # The newest turn of this journal by shard; without one it must ask for a turn first.
        self._turns: dict[str, int] = {}
        self._order = asyncio.Lock()
        self._intact: dict[str, frozenset[tuple[int, int]]] = {}

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        """Become or stay the owner of a shard and return the epoch."""
        check_ttl(ttl)
        async with self._order:
            for _ in range(ATTEMPTS):
                head = await self._head(shard, self._writer)
                new = self._granted(head, shard, owner, float(ttl))
                turn = await self._change_lease(shard, head, new)
                if turn is not None:
                    self._turns[shard] = turn
                    # From when the answer is here: whoever takes over from us counts no less.
                    self._watch.remaining(shard, (owner, new.epoch, new.renewals), ttl)
                    return new.epoch
        raise JournalUnavailable(
            f"the lease of shard {shard!r} was changed by others {ATTEMPTS} times while {owner!r} "
            "asked for it: ask again"
        )

    def _granted(
        self, head: PostgresHead | None, shard: str, owner: str, ttl: float
    ) -> PostgresHead:
        """Return the head with `owner` as the owner; refuse who has not watched long enough."""
        if head is None:
            end = seal_of(shard, 0, 0.0)
            lease = seal_of(shard, owner, 1, ttl, 1)
            return PostgresHead(owner, 1, ttl, 1, lease, 1, 0, 0.0, end)
        epoch, turn = head.epoch, head.turn
        if head.owner != owner:
            self._watch.check_over(shard, (head.owner, head.epoch, head.renewals), head.ttl, owner)
            epoch, turn = epoch + 1, turn + 1
        elif self._turns.get(shard) != turn:
            # Another process of this owner may be left over: it is kept out from here on.
            turn += 1
        return msgspec.structs.replace(
            head,
            owner=owner,
            epoch=epoch,
            ttl=ttl,
            renewals=head.renewals + 1,
            lease_crc=seal_of(shard, owner, epoch, ttl, head.renewals + 1),
            turn=turn,
        )

    async def _change_lease(
        self, shard: str, old: PostgresHead | None, new: PostgresHead
    ) -> int | None:
        """Store a lease where the old one still stands; return the turn, None if it does not."""
        lease = (new.owner, new.epoch, new.ttl, new.renewals, new.lease_crc)
        if old is None:
            return await self._ask(self._sql.first_lease, shard, *lease, new.end_crc)
        before = (old.owner, old.epoch, old.renewals, old.turn)
        return await self._ask(self._sql.next_lease, shard, *lease, new.turn, *before)

    async def begin(self, shard: str, segment: Segment) -> None:
        """Note who writes from `segment.first_seq` on."""
        first_seq, wall = segment.first_seq, float(segment.wall)

        async def work(connection: Connection) -> None:
            async with connection.transaction():
                # From here on it may hold what an older version could not read. One after the
                # other does this, so nobody changes the segment meanwhile.
                await connection.execute(self._sql.raise_format, segment.format)
                rows = await connection.fetch(self._sql.segments, shard)
                known = {row["seq"]: row["body"] for row in rows}.get(first_seq)
                before = None if known is None else msgspec.json.decode(known, type=Segment)
                kept = msgspec.json.encode(in_place_of(before, segment))
                row = _row(shard, first_seq, wall, kept)
                await connection.execute(self._sql.put_segment, *row)

        await self._large(work)

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        """Store the records, all or none, and return the last sequence when it is committed.

        Raises:
            StaleOwner: Another owner, or a newer process of the same one, has taken over.
        """
        check_numbers(shard, first_seq, records)
        holder = (owner, epoch)
        async with self._order:
            if not records:
                head = await self._head(shard, self._writer)
                return check_append(
                    head, shard, holder=holder, first_seq=first_seq, records=records
                ).last_seq
            batch = make_batch(shard, float(self.wall()), records)
            if (turn := self._turns.get(shard)) is None:
                turn, _ = await self._take_turn(shard, holder, batch)
            try:
                is_stored = await self._insert(shard, holder, turn, batch)
            except AnswerLost as error:
                is_stored = await self._look_up(shard, holder, batch, error)
            if not is_stored:
                await self._refuse(shard, holder, batch)
            return batch.last_seq

    async def _insert(
        self, shard: str, holder: tuple[str, int], turn: int, batch: StoredBatch
    ) -> bool:
        """Append in one statement; return whether head, owner, epoch and turn were as expected."""
        end = seal_of(shard, batch.last_seq, batch.wall)
        values = (batch.first_seq, batch.last_seq, batch.wall, batch.crc, batch.body)
        try:
            status: str = await self._writer.run(
                lambda connection: connection.execute(
                    self._sql.append, shard, *holder, turn, *values, end
                )
            )
        except BaseException:
            # Whatever happened, the next append must make sure that this one is over.
            self._turns.pop(shard, None)
            raise
        return status == "INSERT 0 1"

    async def _look_up(
        self, shard: str, holder: tuple[str, int], batch: StoredBatch, lost: AnswerLost
    ) -> bool:
        """Return whether a batch was stored whose answer was lost; never send it again.

        Raises:
            JournalUnavailable: It was not, and never will be; or the server does not answer.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + self._timeout
        while True:
            try:
                _, last_seq = await self._take_turn(shard, holder, batch)
                crc = await self._ask(self._sql.crc_of, shard, batch.first_seq, batch.last_seq)
            except JournalUnavailable as error:
                self._turns.pop(shard, None)
                if loop.time() >= until:
                    raise JournalUnavailable(
                        f"{lost}; whether records {batch.first_seq} to {batch.last_seq} of shard "
                        f"{shard!r} were stored cannot be said, because the server does not "
                        f"answer: {error}"
                    ) from lost
                await asyncio.sleep(LOOK_AGAIN)
                continue
            if last_seq == batch.last_seq and crc == batch.crc:
                return True
            if last_seq == batch.first_seq - 1:
                raise JournalUnavailable(f"{lost}; nothing of the batch was stored") from lost
            return False

    async def _take_turn(
        self, shard: str, holder: tuple[str, int], batch: StoredBatch
    ) -> tuple[int, int]:
        """Make sure that no earlier statement has an effect from here on.

        Returns:
            The new turn, and the sequence with which the journal ends.

        Raises:
            StaleOwner: The holder is not the present one.
        """
        row = await self._writer.run(
            lambda connection: connection.fetchrow(self._sql.take_turn, shard, *holder)
        )
        if row is None:
            await self._refuse(shard, holder, batch)
        turn, last_seq = row
        self._turns[shard] = turn
        return turn, last_seq

    async def _refuse(self, shard: str, holder: tuple[str, int], batch: StoredBatch) -> None:
        """Say why an append changed nothing.

        Raises:
            StaleOwner: The holder is not the present one, or not its newest process.
            SequenceGap: The batch does not continue the journal.
        """
        turn = self._turns.pop(shard, None)
        head = await self._head(shard, self._writer)
        # Where a newer process has written, the records do not continue the journal either; but
        # who is only told so reads it anew, and takes the shard back.
        if head is None or (head.owner, head.epoch) != holder or head.turn == turn:
            check_append(head, shard, holder=holder, first_seq=batch.first_seq, records=())
        raise newer_process(shard, holder[0])

    async def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        """Yield the records from `from_seq` on that were stored when reading began."""
        last_seq, _ = await self.last(shard)
        reader = BatchReader(shard, first_to_read(last_seq, shard, from_seq), last_seq)
        while reader.expected <= last_seq:
            rows = await self._slice(shard, reader.expected, last_seq)
            if not rows:
                reader.end()
            for row in rows:
                for entry in reader.open(StoredBatch(*row)):
                    yield entry

    async def _slice(self, shard: str, first: int, last_seq: int) -> list[tuple[Any, ...]]:
        limits = (shard, first, last_seq, SLICE_ROWS, SLICE_BYTES)
        return await self._large(lambda connection: connection.fetch(self._sql.read, *limits))

    async def snapshot(self, shard: str, seq: int, state: bytes) -> None:
        """Store the state after record `seq`; the last two are kept."""
        row = _row(shard, seq, float(self.wall()), bytes(state))
        status = await self._large(
            lambda connection: connection.execute(self._sql.put_snapshot, *row)
        )
        if status != "INSERT 0 1":
            check_snapshot(await self._head(shard, self._reader), shard, seq)
            raise SequenceGap(
                f"the journal of shard {shard!r} did not reach record {seq} when its snapshot "
                "came: append the records first"
            )
        await self._large(
            lambda connection: connection.execute(self._sql.trim_snapshots, shard, SNAPSHOTS_KEPT)
        )

    async def latest_snapshot(self, shard: str) -> StoredSnapshot | None:
        """Return the newest snapshot whose checksum holds, or None."""
        seal = sealer(shard)
        for seq, _ in await self._snapshot_keys(shard):
            row = await self._snapshot(shard, seq)
            if row is not None and is_intact(seal, seq, row[0], crc=row[1], body=row[2]):
                return StoredSnapshot(seq, row[0], row[2])
        return None

    async def forget(self, shard: str, before: float) -> int:
        """Delete some batches that are older, and that two intact snapshots cover."""
        covered = await self._covered(shard)
        rows = await self._large(
            lambda connection: connection.fetch(self._sql.oldest, shard, covered, PRUNED_ROWS)
        )
        count, last = 0, 0
        for first_seq, last_seq, wall in rows:
            if wall >= before:
                break
            count, last = count + last_seq - first_seq + 1, last_seq
        if count:
            await self._large(lambda connection: connection.execute(self._sql.forget, shard, last))
            # A segment without any record left says nothing about those that follow.
            await self._large(
                lambda connection: connection.execute(self._sql.forget_segments, shard, last + 1)
            )
        return count

    async def segments(self, shard: str) -> list[Segment]:
        """Return the segments of a shard in order."""
        seal = sealer(shard)
        rows = await self._large(lambda connection: connection.fetch(self._sql.segments, shard))
        for seq, wall, crc, body in rows:
            if not is_intact(seal, seq, wall, crc=crc, body=body):
                raise JournalCorrupt(
                    f"the segment of shard {shard!r} that starts at record {seq} fails its "
                    "checksum: keep the database for inspection and restore a copy"
                )
        return [msgspec.json.decode(body, type=Segment) for *_, body in rows]

    async def last(self, shard: str) -> tuple[int, float]:
        """Return the last stored sequence (0 if none) and its wall time."""
        head = await self._head(shard, self._reader)
        return (head.last_seq, head.last_wall) if head else (0, 0.0)

    async def shards(self) -> list[str]:
        """Return the names of all shards."""
        rows = await self._large(lambda connection: connection.fetch(self._sql.shards))
        return [name for (name,) in rows]

    async def first(self, shard: str) -> int:
        """Return the first record that is kept, 0 if none is."""
        rows = await self._large(
            lambda connection: connection.fetch(self._sql.oldest, shard, 2**62, 1)
        )
        return rows[0][0] if rows else 0

    async def snapshots(self, shard: str) -> list[StoredSnapshot]:
        """Return the intact snapshots, the oldest first."""
        seal, found = sealer(shard), []
        for seq, _ in reversed(await self._snapshot_keys(shard)):
            row = await self._snapshot(shard, seq)
            if row is not None and is_intact(seal, seq, row[0], crc=row[1], body=row[2]):
                found.append(StoredSnapshot(seq, row[0], row[2]))
        return found

    async def close(self) -> None:
        """Close the connections, after the work that is on its way."""
        await self._reader.close()
        await self._writer.close()

    async def _head(self, shard: str, link: PostgresLink) -> PostgresHead | None:
        """Return the head of a shard, None if it never had an owner.

        Raises:
            JournalCorrupt: It is damaged, or the last batch contradicts it.
        """
        row = await link.run(lambda connection: connection.fetchrow(self._sql.head, shard))
        last_row, values = row[0], tuple(row)[1:]
        if values[0] is None:
            if last_row == 0:
                return None
        else:
            head = PostgresHead(*values)
            lease = (head.owner, head.epoch, head.ttl, head.renewals)
            end = (head.last_seq, head.last_wall)
            if (seal_of(shard, *lease), seal_of(shard, *end)) == (head.lease_crc, head.end_crc):
                if last_row == head.last_seq:
                    return head
                raise JournalCorrupt(
                    f"the journal of shard {shard!r} should end at record {head.last_seq} and "
                    f"ends at {last_row}: keep the database for inspection and restore a copy"
                )
        raise JournalCorrupt(
            f"the head of shard {shard!r} is lost or damaged: keep the database for inspection "
            "and restore a copy"
        )

    async def _covered(self, shard: str) -> int:
        """Return the last record that recovery would not read, whichever snapshot it began with."""
        keys = (await self._snapshot_keys(shard))[:SNAPSHOTS_KEPT]
        if len(keys) < SNAPSHOTS_KEPT:
            return 0
        # A slice after the other is deleted: each snapshot is looked at once.
        known, seal = self._intact.get(shard, frozenset()), sealer(shard)
        for seq, crc in keys:
            if (seq, crc) not in known:
                row = await self._snapshot(shard, seq)
                if row is None or not is_intact(seal, seq, row[0], crc=crc, body=row[2]):
                    return 0
        self._intact[shard] = frozenset(keys)
        return keys[-1][0]

    async def _snapshot_keys(self, shard: str) -> list[tuple[int, int]]:
        rows = await self._large(
            lambda connection: connection.fetch(self._sql.snapshot_keys, shard)
        )
        return [(seq, crc) for seq, crc in rows]

    async def _snapshot(self, shard: str, seq: int) -> tuple[float, int, bytes] | None:
        row = await self._large(
            lambda connection: connection.fetchrow(self._sql.snapshot, shard, seq)
        )
        return None if row is None else (row[0], row[1], row[2])

    async def _ask(self, statement: str, *values: object) -> int | None:
        found: int | None = await self._writer.run(partial(_one_value, statement, values))
        return found

    async def _large(self, work: Callable[[Connection], Awaitable[_T]]) -> _T:
        return await self._reader.run(work, PATIENCE * self._timeout)


async def _one_value(statement: str, values: tuple[object, ...], connection: Connection) -> Any:
    return await connection.fetchval(statement, *values)


def _row(shard: str, seq: int, wall: float, body: bytes) -> tuple[str, int, float, int, bytes]:
    return shard, seq, wall, sealer(shard)(seq, wall, body), body


def seal_of(shard: str, *values: object) -> int:
    """Return the checksum of the parts of a head."""
    return crc32(msgspec.json.encode((shard, values)))


class Statements:
    """All SQL statements of the journal.

    Args:
        schema: Where the tables are.
    """

    def __init__(self, schema: str) -> None:
        s = schema
        self.head = (
            "SELECT b.last_row, h.owner, h.epoch, h.ttl, h.renewals, h.lease_crc, h.turn,"
            " h.last_seq, h.last_wall, h.end_crc"
            f" FROM (SELECT coalesce(max(last_seq), 0) AS last_row FROM {s}.batches"
            f" WHERE shard = $1) b LEFT JOIN {s}.heads h ON h.shard = $1"
        )
        self.first_lease = (
            f"INSERT INTO {s}.heads VALUES ($1, $2, $3, $4, $5, $6, 1, 0, 0.0, $7)"
            " ON CONFLICT DO NOTHING RETURNING turn"
        )
        self.next_lease = (
            f"UPDATE {s}.heads SET owner = $2, epoch = $3, ttl = $4, renewals = $5,"
            " lease_crc = $6, turn = $7"
            " WHERE shard = $1 AND owner = $8 AND epoch = $9 AND renewals = $10 AND turn = $11"
            " RETURNING turn"
        )
        self.take_turn = (
            f"UPDATE {s}.heads SET turn = turn + 1 WHERE shard = $1 AND owner = $2 AND epoch = $3"
            " RETURNING turn, last_seq"
        )
        self.append = (
            f"WITH moved AS (UPDATE {s}.heads SET last_seq = $6, last_wall = $7, end_crc = $10"
            " WHERE shard = $1 AND owner = $2 AND epoch = $3 AND turn = $4 AND last_seq = $5 - 1"
            " RETURNING shard)"
            f" INSERT INTO {s}.batches (shard, first_seq, last_seq, wall, crc, body)"
            " SELECT shard, $5, $6, $7, $8, $9 FROM moved"
        )
        self.crc_of = (
            f"SELECT crc FROM {s}.batches WHERE shard = $1 AND first_seq = $2 AND last_seq = $3"
        )
        self.read = (
            "SELECT first_seq, last_seq, wall, crc, body FROM ("
            " SELECT first_seq, last_seq, wall, crc, body,"
            " sum(octet_length(body)) OVER (ORDER BY last_seq) - octet_length(body) AS size"
            f" FROM (SELECT * FROM {s}.batches WHERE shard = $1 AND last_seq BETWEEN $2 AND $3"
            " ORDER BY last_seq LIMIT $4) AS nearest) AS sized WHERE size < $5 ORDER BY last_seq"
        )
        self.shards = _shards_in(s)
        self.oldest = (
            f"SELECT first_seq, last_seq, wall FROM {s}.batches WHERE shard = $1"
            " AND last_seq <= $2 ORDER BY last_seq LIMIT $3"
        )
        self.forget = f"DELETE FROM {s}.batches WHERE shard = $1 AND last_seq <= $2"
        self.forget_segments = (
            f"DELETE FROM {s}.segments WHERE shard = $1 AND seq < (SELECT max(seq) FROM"
            f" {s}.segments WHERE shard = $1 AND seq <= $2)"
        )
        self.raise_format = f"UPDATE {s}.about SET format = greatest(format, $1)"
        self.put_segment = (
            f"INSERT INTO {s}.segments VALUES ($1, $2, $3, $4, $5) ON CONFLICT (shard, seq)"
            " DO UPDATE SET wall = $3, crc = $4, body = $5"
        )
        self.segments = (
            f"SELECT seq, wall, crc, body FROM {s}.segments WHERE shard = $1 ORDER BY seq"
        )
        self.put_snapshot = (
            f"INSERT INTO {s}.snapshots SELECT $1, $2, $3, $4, $5 FROM {s}.heads"
            " WHERE shard = $1 AND last_seq >= $2 AND $2 >= 0 ON CONFLICT (shard, seq)"
            " DO UPDATE SET wall = $3, crc = $4, body = $5"
        )
        self.trim_snapshots = (
            f"DELETE FROM {s}.snapshots WHERE shard = $1 AND seq NOT IN (SELECT seq FROM"
            f" {s}.snapshots WHERE shard = $1 ORDER BY seq DESC LIMIT $2)"
        )
        self.snapshot_keys = (
            f"SELECT seq, crc FROM {s}.snapshots WHERE shard = $1 ORDER BY seq DESC"
        )
        self.snapshot = f"SELECT wall, crc, body FROM {s}.snapshots WHERE shard = $1 AND seq = $2"


def _shards_in(schema: str) -> str:
    """Return the query for the names of all shards: from name to name, not over all batches."""
    return (
        f"WITH RECURSIVE named AS ((SELECT shard FROM {schema}.batches ORDER BY shard LIMIT 1) "
        f"UNION ALL SELECT (SELECT b.shard FROM {schema}.batches b WHERE b.shard > named.shard "
        f"ORDER BY b.shard LIMIT 1) FROM named WHERE named.shard IS NOT NULL) "
        f"SELECT shard FROM {schema}.heads UNION "
        f"SELECT shard FROM named WHERE shard IS NOT NULL ORDER BY 1"
    )
