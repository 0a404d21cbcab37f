"""The journal kit finds faults: each journal here breaks one promise, and the kit names it."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec
import pytest

from evenmatch.engine.records import Record, decode
from evenmatch.errors import JournalCorrupt
from evenmatch.journals.base import Entry, Segment, StoredSnapshot
from evenmatch.journals.head import EntryReader
from evenmatch.journals.memory import MemoryJournal
from evenmatch.testing.journals import check_journal, damage_memory


class LosesWrites(MemoryJournal):
    """Acknowledges a batch and forgets its last record."""

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        kept = records if len(records) == 1 else records[:-1]
        await super().append(shard, owner, epoch, first_seq, kept)
        return records[-1].sequence


class ForgetsOnReopen(MemoryJournal):
    """Keeps its records in a buffer that no restart survives."""

    def reopen(self) -> MemoryJournal:
        return type(self)(wall=self.wall)


class AcceptsStaleOwners(MemoryJournal):
    """Checks the epoch and not the owner."""

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        head = self.shelves[shard].head if shard in self.shelves else None
        present = head.owner if head else owner
        return await super().append(shard, present, epoch, first_seq, records)


class AcceptsStaleEpochs(MemoryJournal):
    """Checks the owner and not the epoch."""

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        head = self.shelves[shard].head if shard in self.shelves else None
        present = head.epoch if head else epoch
        return await super().append(shard, owner, present, first_seq, records)


class AcceptsGaps(MemoryJournal):
    """Believes that a batch begins where the journal ends."""

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        last, _ = await self.last(shard)
        moved = [
            Record(last + 1 + record.sequence - first_seq, record.input, record.events)
            for record in records
        ]
        return await super().append(shard, owner, epoch, last + 1, moved)


class AcceptsReorderedBatches(MemoryJournal):
    """Sorts a batch instead of refusing it."""

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        ordered = sorted(records, key=lambda record: record.sequence)
        return await super().append(shard, owner, epoch, first_seq, ordered)


class AcceptsTornRecords(MemoryJournal):
    """Takes a record that cannot be decoded for the end of the journal."""

    async def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        rows = self._shelf(shard).rows
        for row in rows[max(from_seq, 1) - 1 :]:
            try:
                yield Entry(decode(row.body), row.wall)
            except JournalCorrupt:
                return


class ReturnsDamagedRecords(MemoryJournal):
    """Returns whatever can be decoded, without a look at the checksum."""

    async def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        for row in self._shelf(shard).rows[max(from_seq, 1) - 1 :]:
            yield Entry(decode(row.body), row.wall)


class ForgetsTails(MemoryJournal):
    """Ends where its rows end, whatever was acknowledged."""

    async def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        rows = [row for row in self._shelf(shard).rows if row.sequence >= from_seq]
        opener = EntryReader(shard, max(from_seq, 1), rows[-1].sequence if rows else 0)
        for row in rows:
            yield opener.open(row.sequence, row.wall, row.crc, row.body)


class StoresHalfBatches(MemoryJournal):
    """Stores record by record."""

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        last = first_seq - 1
        for record in records:
            last = await super().append(shard, owner, epoch, last + 1, [record])
        return last


class ReturnsDamagedSnapshots(MemoryJournal):
    """Does not check what it stored."""

    async def latest_snapshot(self, shard: str) -> StoredSnapshot | None:
        snapshots = self._shelf(shard).snapshots
        if not snapshots:
            return None
        return StoredSnapshot(snapshots[-1].sequence, snapshots[-1].wall, snapshots[-1].body)


class GivesLeasesToAnyone(MemoryJournal):
    """Ends the present lease when another owner asks."""

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        shelf = self._shelf(shard)
        if shelf.head is not None:
            shelf.head = msgspec.structs.replace(shelf.head, expires=0.0)
        return await super().lease(shard, owner, ttl)


class ForgetsSegments(MemoryJournal):
    """Keeps the newest segment alone."""

    async def segments(self, shard: str) -> list[Segment]:
        return (await super().segments(shard))[-1:]


class LowersFormats(MemoryJournal):
    """Lets a segment take the place of another as it comes, with an older format too."""

    async def begin(self, shard: str, segment: Segment) -> None:
        self._shelf(shard).segments[segment.first_seq] = msgspec.json.encode(segment)


READ_BACK = "appended records are read back equal and in order, also after reopening: "
STALE_OWNER = "an append by anyone but the present owner is refused with StaleOwner: "
STALE_EPOCH = "an append in an epoch that is over, or not yet begun, is refused with StaleOwner: "
GAP = "a batch that leaves a gap or overlaps is refused with SequenceGap: "
DISORDER = "a batch that is not numbered consecutively is refused with SequenceGap: "
DAMAGE = "a damaged, torn, lost or misplaced record is detected, never returned: "
ATOMIC = "an append is atomic: "
SNAPSHOT = "the newest intact snapshot is returned: "
SEGMENTS = "segments are kept in order: "
FORMATS = "a segment takes the place of one that begins at the same record, and lowers no format: "
LEASE = "a lease is renewed by its owner and refused to others until its time is over: "

FAULTS: list[tuple[type[MemoryJournal], str]] = [
    (LosesWrites, READ_BACK + "expected records [1, 2, 3, 4, 5, 6], read [1, 2, 3, 4, 5]"),
    (ForgetsOnReopen, READ_BACK + "expected records [1, 2, 3, 4, 5, 6, 7], read []"),
    (AcceptsStaleOwners, STALE_OWNER + "expected StaleOwner, and it was accepted"),
    (AcceptsStaleEpochs, STALE_EPOCH + "expected StaleOwner, and it was accepted"),
    (AcceptsGaps, GAP + "expected SequenceGap, and it was accepted"),
    (AcceptsReorderedBatches, DISORDER + "expected SequenceGap, and it was accepted"),
    (AcceptsTornRecords, DAMAGE + "record 3 was torn, and records [1, 2] were read"),
    (ReturnsDamagedRecords, DAMAGE + "record 3 was lost, and records [1, 2, 4,"),
    (ForgetsTails, DAMAGE + "the tail from record 3 on was cut off, and records [1, 2] were read"),
    (StoresHalfBatches, ATOMIC + "expected records [], read [1, 2, 3"),
    (ReturnsDamagedSnapshots, SNAPSHOT + "expected the snapshot after record 4, got 6"),
    (ForgetsSegments, SEGMENTS + "expected [Segment(first_seq=1,"),
    (LowersFormats, FORMATS + "expected [Segment(first_seq=4, format=2"),
    (GivesLeasesToAnyone, LEASE + "expected StaleOwner, and it was accepted"),
]


@pytest.mark.parametrize(("journal", "sentence"), FAULTS, ids=[kind.__name__ for kind, _ in FAULTS])
def test_planted_fault_is_found(journal: type[MemoryJournal], sentence: str) -> None:
    now = [0.0]

    async def wait(seconds: float) -> None:
        now[0] += seconds

    def reopen(old: object) -> MemoryJournal:
        assert isinstance(old, MemoryJournal)
        other = old.reopen()
        other.__class__ = type(old)
        return other

    with pytest.raises(AssertionError) as caught:
        asyncio.run(
            check_journal(
                lambda: journal(wall=lambda: now[0]),
                reopen=reopen,
                damage=damage_memory,
                wait=wait,
            )
        )
    assert str(caught.value).startswith(sentence)
