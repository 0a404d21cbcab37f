"""A journal in the memory of one process: for servers without a data directory, and for tests."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from evenmatch.engine.records import Record, encode
from evenmatch.errors import JournalCorrupt, JournalUnavailable
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


class StoredRow(msgspec.Struct, frozen=True, gc=False):
    """A stored record or snapshot, as bytes with their checksum."""

    sequence: int
    wall: float
    crc: int
    body: bytes


class StoredShard(msgspec.Struct):
    """All that is stored of one shard; `dropped` is the last sequence that no longer is."""

    head: JournalHead | None = None
    dropped: int = 0
    rows: list[StoredRow] = msgspec.field(default_factory=list)
    snapshots: list[StoredRow] = msgspec.field(default_factory=list)
    segments: dict[int, bytes] = msgspec.field(default_factory=dict)


class MemoryJournal:
    """A journal that lasts as long as its process.

    Only encoded bytes are stored, so a record that cannot be encoded is refused here too, and
    changing an object after it was appended does not change the journal.

    Memory has an end: records that both kept snapshots cover are dropped.

    Args:
        wall: The wall clock, Unix seconds.

    Example:
        >>> import asyncio
        >>> from evenmatch.model.inputs import Advance
        >>> async def main() -> int:
        ...     journal = MemoryJournal()
        ...     epoch = await journal.lease("main", "me", ttl=10.0)
        ...     return await journal.append("main", "me", epoch, 1, [Record(1, Advance(0.5), ())])
        >>> asyncio.run(main())
        1
    """

    def __init__(self, *, wall: Callable[[], float] = time.time) -> None:
        self.wall = wall
        self.shelves: dict[str, StoredShard] = {}
        self._closed = False

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        """Become or stay the owner of a shard and return the epoch."""
        shelf = self._shelf(shard)
        shelf.head = grant_lease(shelf.head, shard, owner=owner, ttl=ttl, now=float(self.wall()))
        return shelf.head.epoch

    async def begin(self, shard: str, segment: Segment) -> None:
        """Note who writes from `segment.first_seq` on."""
        segments = self._shelf(shard).segments
        before = segments.get(segment.first_seq)
        known = None if before is None else msgspec.json.decode(before, type=Segment)
        segments[segment.first_seq] = msgspec.json.encode(in_place_of(known, segment))

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        """Store the records, all or none, and return the last sequence."""
        shelf, holder = self._shelf(shard), (owner, epoch)
        head = check_append(shelf.head, shard, holder=holder, first_seq=first_seq, records=records)
        if not records:
            return head.last_seq
        wall, seal = float(self.wall()), sealer(shard)
        bodies = [(record.sequence, encode(record)) for record in records]
        shelf.rows.extend(StoredRow(seq, wall, seal(seq, wall, body), body) for seq, body in bodies)
        last_seq = records[-1].sequence
        shelf.head = msgspec.structs.replace(head, last_seq=last_seq, last_wall=wall)
        return last_seq

    async def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        """Yield the records from `from_seq` on that were stored when reading began."""
        shelf = self._shelf(shard)
        last_seq = shelf.head.last_seq if shelf.head else 0
        first = first_to_read(last_seq, shard, from_seq)
        if first <= min(shelf.dropped, last_seq):
            raise JournalCorrupt(
                f"the records of shard {shard!r} up to {shelf.dropped} are no longer in memory, "
                f"because two snapshots cover them: read from {shelf.dropped + 1} on, got {first}"
            )
        opener = EntryReader(shard, first, last_seq)
        found = first - 1
        for row in list(shelf.rows):
            if first <= row.sequence <= last_seq:
                yield opener.open(row.sequence, row.wall, row.crc, row.body)
                found = row.sequence
        if found < last_seq:
            raise missing_record_error(shard, found + 1, last_seq)

    async def snapshot(self, shard: str, seq: int, state: bytes) -> None:
        """Store the state after record `seq`; the last two are kept, and what they do not cover."""
        shelf = self._shelf(shard)
        check_snapshot(shelf.head, shard, seq)
        wall = float(self.wall())
        row = StoredRow(seq, wall, sealer(shard)(seq, wall, bytes(state)), bytes(state))
        others = [old for old in shelf.snapshots if old.sequence != seq]
        shelf.snapshots = sorted([*others, row], key=lambda each: each.sequence)[-2:]
        if len(shelf.snapshots) == 2:
            self._drop(shelf, shelf.snapshots[0].sequence)

    def _drop(self, shelf: StoredShard, until: int) -> None:
        """Forget the records up to `until`; nobody who starts at a snapshot reads them again."""
        if until > shelf.dropped:
            # A new list: whoever reads goes on with the old one.
            shelf.rows = shelf.rows[until - shelf.dropped :]
            shelf.dropped = until

    async def latest_snapshot(self, shard: str) -> StoredSnapshot | None:
        """Return the newest snapshot whose checksum holds, or None."""
        seal = sealer(shard)
        for row in reversed(self._shelf(shard).snapshots):
            if is_intact(seal, row.sequence, row.wall, crc=row.crc, body=row.body):
                return StoredSnapshot(row.sequence, row.wall, row.body)
        return None

    async def forget(self, shard: str, before: float) -> int:
        """Return 0: two snapshots have dropped what they cover already."""
        del before
        self._shelf(shard)
        return 0

    async def segments(self, shard: str) -> list[Segment]:
        """Return the segments of a shard in order."""
        stored = sorted(self._shelf(shard).segments.items())
        return [msgspec.json.decode(body, type=Segment) for _, body in stored]

    async def last(self, shard: str) -> tuple[int, float]:
        """Return the last stored sequence (0 if none) and its wall time."""
        head = self._shelf(shard).head
        return (head.last_seq, head.last_wall) if head else (0, 0.0)

    async def shards(self) -> list[str]:
        """Return the names of all shards."""
        self._check_open()
        return sorted(self.shelves)

    async def close(self) -> None:
        """Refuse all further calls."""
        self._closed = True

    def reopen(self) -> MemoryJournal:
        """Return a new journal on what this one stored, as after a restart."""
        other = MemoryJournal(wall=self.wall)
        other.shelves = self.shelves
        return other

    def _check_open(self) -> None:
        if self._closed:
            raise JournalUnavailable("the journal was closed: open it again")

    def _shelf(self, shard: str) -> StoredShard:
        self._check_open()
        return self.shelves.setdefault(shard, StoredShard())
