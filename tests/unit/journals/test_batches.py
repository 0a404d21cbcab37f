"""Batches in one piece: what is read back, and what is found out."""

import msgspec
import pytest

from evenmatch.errors import JournalCorrupt
from evenmatch.journals.batches import BatchReader, StoredBatch, make_batch
from evenmatch.testing.journals import flip_bit, sample_records


def batches() -> list[StoredBatch]:
    return [
        make_batch("s0", 5.0, sample_records(1, 3)),
        make_batch("s0", 6.0, sample_records(4, 1)),
        make_batch("s0", 7.0, sample_records(5, 2)),
    ]


def read(stored: list[StoredBatch], first: int = 1, last: int = 6) -> list[tuple[int, float]]:
    reader = BatchReader("s0", first, last)
    entries = [entry for batch in stored for entry in reader.open(batch)]
    reader.end()
    return [(entry.record.sequence, entry.wall) for entry in entries]


def test_records_come_back_with_the_time_of_their_batch() -> None:
    reader = BatchReader("s0", 1, 6)
    entries = [entry for batch in batches() for entry in reader.open(batch)]
    assert [entry.record for entry in entries] == sample_records(1, 6)
    assert [entry.wall for entry in entries] == [5.0, 5.0, 5.0, 6.0, 7.0, 7.0]


@pytest.mark.parametrize("first", [1, 2, 3])
def test_reading_may_begin_within_a_batch(first: int) -> None:
    assert [seq for seq, _ in read(batches(), first)] == list(range(first, 7))


def test_only_the_first_batch_may_begin_before() -> None:
    one, two, three = batches()
    with pytest.raises(JournalCorrupt, match=r"record 4 .* is missing"):
        read([one, one, two, three])


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_lost_batch_is_found(lost: int) -> None:
    stored = batches()
    del stored[lost]
    with pytest.raises(JournalCorrupt, match="is missing"):
        read(stored)


@pytest.mark.parametrize(
    "change",
    [
        {"wall": 5.5},
        {"crc": 1},
        {"body": flip_bit(batches()[0].body, 77)},
        {"body": batches()[0].body[:-1]},
        {"last_seq": 2},
        {"last_seq": 4},
    ],
)
def test_changed_batch_is_found(change: dict[str, object]) -> None:
    one, two, three = batches()
    with pytest.raises(JournalCorrupt, match="batch of records 1 to"):
        read([msgspec.structs.replace(one, **change), two, three])


def test_batch_of_another_shard_is_found() -> None:
    with pytest.raises(JournalCorrupt, match="fails its checksum"):
        read([make_batch("s1", 5.0, sample_records(1, 6))])


def test_batch_in_the_place_of_another_is_found() -> None:
    one, two, three = batches()
    moved = msgspec.structs.replace(three, first_seq=4, last_seq=5)
    with pytest.raises(JournalCorrupt, match="fails its checksum"):
        read([one, moved, two])
