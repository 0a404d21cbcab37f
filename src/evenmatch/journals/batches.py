"""How a batch of records is stored in one piece, with one checksum, and read back.

The body is one line of JSON for each record. The checksum covers the shard, the first sequence,
the wall time and the body, so a batch that is changed, cut short or in another's place is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from evenmatch.engine.records import Record, decode, encode
from evenmatch.errors import JournalCorrupt
from evenmatch.journals.base import Entry
from evenmatch.journals.head import is_intact, missing_record_error, sealer


class StoredBatch(msgspec.Struct, frozen=True, gc=False):
    """Records that were appended together, as they are stored.

    Args:
        first_seq: Sequence of the first one.
        last_seq: Sequence of the last one.
        wall: When, Unix seconds.
        crc: Checksum of all but `last_seq`, which the body tells.
        body: One line for each record.
    """

    first_seq: int
    last_seq: int
    wall: float
    crc: int
    body: bytes


def make_batch(shard: str, wall: float, records: Sequence[Record]) -> StoredBatch:
    """Return some records, at least one, in their stored form.

    Raises:
        TypeError: A record holds what cannot be encoded.
    """
    first, last = records[0].sequence, records[-1].sequence
    body = b"\n".join([encode(record) for record in records])
    return StoredBatch(first, last, wall, sealer(shard)(first, wall, body), body)


class BatchReader:
    """Turns the stored batches of a shard back into entries, or reports what is wrong with them.

    Args:
        shard: Whose.
        expected: The sequence to begin with; the first batch may begin before it.
        last_seq: Where the journal ends.
    """

    def __init__(self, shard: str, expected: int, last_seq: int) -> None:
        self._shard = shard
        self._last_seq = last_seq
        self._seal = sealer(shard)
        self.expected = expected
        self._inside = False

    def open(self, batch: StoredBatch) -> Iterator[Entry]:
        """Yield the entries of the next batch, from the expected one on.

        Raises:
            JournalCorrupt: The batch is not the next one, or is not what was written.
        """
        begins_here = batch.first_seq == self.expected
        if not begins_here and (self._inside or not self._holds_expected(batch)):
            raise missing_record_error(self._shard, self.expected, self._last_seq)
        self._inside = True
        if not is_intact(self._seal, batch.first_seq, batch.wall, crc=batch.crc, body=batch.body):
            raise self._changed(batch, "fails its checksum")
        lines = batch.body.split(b"\n")
        if batch.last_seq != batch.first_seq + len(lines) - 1:
            raise self._changed(batch, f"holds {len(lines)} records")
        for number, line in enumerate(lines, batch.first_seq):
            if number < self.expected:
                continue
            record = decode(line)
            if record.sequence != number:
                raise self._changed(batch, f"calls its record {number} {record.sequence}")
            self.expected = number + 1
            yield Entry(record, batch.wall)

    def end(self) -> None:
        """Refuse an end before the last record.

        Raises:
            JournalCorrupt: There were fewer.
        """
        if self.expected <= self._last_seq:
            raise missing_record_error(self._shard, self.expected, self._last_seq)

    def _holds_expected(self, batch: StoredBatch) -> bool:
        return batch.first_seq < self.expected <= batch.last_seq

    def _changed(self, batch: StoredBatch, what: str) -> JournalCorrupt:
        return JournalCorrupt(
            f"the batch of records {batch.first_seq} to {batch.last_seq} of shard "
            f"{self._shard!r} {what}: keep the damaged journal and restore a copy"
        )
