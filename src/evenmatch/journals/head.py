"""What all journal adapters decide alike: who may write, what fits, and what is intact.

Pure functions on values; an adapter brings only the storage. Keep the calls of `grant_lease` and
`check_append` in the same transaction as the write that they allow.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar
from zlib import crc32

import msgspec

from evenmatch.engine.records import Record, decode
from evenmatch.errors import ConfigError, JournalCorrupt, SequenceGap, StaleOwner
from evenmatch.journals.base import Entry

TTL_MAX = 1e9
"""Longest lease, seconds; beyond it, the end of a lease is no date that people can read."""

_position = struct.Struct("<qd")


class JournalHead(msgspec.Struct, frozen=True, gc=False):
    """Where the journal of a shard ends, and who may write on.

    Args:
        owner: The present owner.
        epoch: Counts owners, from 1.
        expires: When another owner may take over, Unix seconds.
        last_seq: Sequence of the last record, 0 if there is none.
        last_wall: Wall time of the last batch, Unix seconds.
    """

    owner: str
    epoch: int
    expires: float
    last_seq: int = 0
    last_wall: float = 0.0


class HasOwner(Protocol):
    """What every head contains, whatever else its adapter keeps in it."""

    @property
    def owner(self) -> str:
        """Return the present owner."""
        ...

    @property
    def epoch(self) -> int:
        """Return how many owners there were."""
        ...

    @property
    def last_seq(self) -> int:
        """Return the sequence of the last record."""
        ...


_Head = TypeVar("_Head", bound=HasOwner)


def check_ttl(ttl: float) -> None:
    """Refuse a lease whose length is not above 0, or reaches beyond every date.

    Raises:
        ConfigError: It is one of these.
    """
    if not 0 < ttl <= TTL_MAX:
        raise ConfigError(f"ttl must be > 0 s and at most {TTL_MAX:.0e} s, got {ttl}")


def grant_lease(
    head: JournalHead | None, shard: str, *, owner: str, ttl: float, now: float
) -> JournalHead:
    """Return the head with `owner` as the owner until `now + ttl`.

    Args:
        head: The present head, None if nobody ever owned the shard.
        shard: Name of the shard, for the message.
        owner: Who asks.
        ttl: Length of the lease, seconds, > 0.
        now: Unix seconds.

    Raises:
        StaleOwner: Another owner's lease is not over.
    """
    check_ttl(ttl)
    if head is None:
        return JournalHead(owner, 1, now + ttl)
    if head.owner == owner:
        return msgspec.structs.replace(head, expires=now + ttl)
    if now < head.expires:
        until = datetime.fromtimestamp(head.expires, UTC).isoformat(timespec="milliseconds")
        raise StaleOwner(
            f"shard {shard!r} is held by {head.owner!r} until {until}, {head.expires - now:.3f} s "
            f"from now: stop that owner, or let {owner!r} ask again then",
            head.owner,
        )
    return msgspec.structs.replace(head, owner=owner, epoch=head.epoch + 1, expires=now + ttl)


def check_append(
    head: _Head | None,
    shard: str,
    *,
    holder: tuple[str, int],
    first_seq: int,
    records: Sequence[Record],
) -> _Head:
    """Return the head if `holder`, an owner and its epoch, may append these records to it.

    Raises:
        StaleOwner: The owner or the epoch is not the present one.
        SequenceGap: The records do not continue the journal, or not consecutively.
    """
    owner, epoch = holder
    if head is None:
        raise StaleOwner(f"nobody holds shard {shard!r}: {owner!r} must take a lease first")
    if (head.owner, head.epoch) != holder:
        raise StaleOwner(
            f"shard {shard!r} is held by {head.owner!r} in epoch {head.epoch}, so an append of "
            f"{owner!r} in epoch {epoch} is refused: rebuild from the journal or give the shard up",
            head.owner,
        )
    if first_seq != head.last_seq + 1:
        raise SequenceGap(
            f"the journal of shard {shard!r} ends at record {head.last_seq}, so the next batch "
            f"must start at {head.last_seq + 1}, got {first_seq}: rebuild from the journal"
        )
    check_numbers(shard, first_seq, records)
    return head


def newer_process(shard: str, owner: str) -> StaleOwner:
    """Return the error for a process whose owner has a newer one, which has asked or written."""
    return StaleOwner(
        f"a newer process of {owner!r} writes to shard {shard!r}: stop one of the two, or give "
        "each an owner of its own"
    )


def check_numbers(shard: str, first_seq: int, records: Sequence[Record]) -> None:
    """Refuse a batch that is not numbered consecutively.

    Raises:
        SequenceGap: It is not.
    """
    for expected, record in enumerate(records, first_seq):
        if record.sequence != expected:
            raise SequenceGap(
                f"a batch for shard {shard!r} has record {record.sequence} where {expected} must "
                "be: number the records of a batch consecutively"
            )


def check_snapshot(head: HasOwner | None, shard: str, seq: int) -> None:
    """Refuse a snapshot of records that are not stored.

    Raises:
        SequenceGap: The journal ends before `seq`.
    """
    last = head.last_seq if head else 0
    if not 0 <= seq <= last:
        raise SequenceGap(
            f"the journal of shard {shard!r} ends at record {last}, so it takes snapshots after "
            f"records 0 to {last}, got {seq}: append the records first"
        )


def first_to_read(last_seq: int, shard: str, from_seq: int) -> int:
    """Return the first sequence to read when the journal ends at `last_seq`.

    Raises:
        JournalCorrupt: The caller knows of records that the journal does not have.
    """
    if from_seq > last_seq + 1:
        raise JournalCorrupt(
            f"the journal of shard {shard!r} ends at record {last_seq}, but records up to "
            f"{from_seq - 1} were acknowledged: its tail is lost, restore a newer copy"
        )
    return max(from_seq, 1)


def missing_record_error(shard: str, seq: int, last_seq: int) -> JournalCorrupt:
    """Return the error for a record that the head promises and the storage does not have."""
    return JournalCorrupt(
        f"record {seq} of shard {shard!r} is missing, although the journal goes on to "
        f"{last_seq}: keep the damaged journal and restore a copy"
    )


def sealer(shard: str) -> Callable[[int, float, bytes], int]:
    """Return the function that computes the checksum of (sequence, wall, body) in this shard.

    The sequence and the shard are part of the sum, so that an intact body in the place of
    another one is found out as well.

    >>> seal = sealer("main")
    >>> seal(1, 0.0, b"{}") == seal(2, 0.0, b"{}")
    False
    """
    start, pack = crc32(shard.encode()), _position.pack

    def seal(sequence: int, wall: float, body: bytes) -> int:
        return crc32(body, crc32(pack(sequence, wall), start))

    return seal


class EntryReader:
    """Turns stored rows of a shard back into entries, or reports what is wrong with them."""

    def __init__(self, shard: str, expected: int, last_seq: int) -> None:
        self._shard = shard
        self._expected = expected
        self._last_seq = last_seq
        self._seal = sealer(shard)

    def open(self, sequence: int, wall: float, crc: int, body: bytes) -> Entry:
        """Return the entry of the next row.

        Raises:
            JournalCorrupt: The row is not the next one, or is not what was written.
        """
        if sequence != self._expected:
            raise missing_record_error(self._shard, self._expected, self._last_seq)
        if not is_intact(self._seal, sequence, wall, crc=crc, body=body):
            raise JournalCorrupt(
                f"record {sequence} of shard {self._shard!r} fails its checksum: keep the damaged "
                "journal and restore a copy"
            )
        record = decode(body)
        if record.sequence != sequence:
            raise JournalCorrupt(
                f"record {sequence} of shard {self._shard!r} calls itself {record.sequence}: keep "
                "the damaged journal and restore a copy"
            )
        self._expected = sequence + 1
        return Entry(record, wall)


def is_intact(
    seal: Callable[[int, float, bytes], int], sequence: int, wall: float, *, crc: int, body: bytes
) -> bool:
    """Return whether a stored row is as it was written; damage may change even its types."""
    typed = type(wall) is float and type(body) is bytes
    return typed and seal(sequence, wall, body) == crc
