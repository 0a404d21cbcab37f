"""The port through which a shard's records become durable.

An adapter keeps, for each shard, an append-only sequence of records without gaps, the newest
snapshot, and the present owner with its epoch. Safety rests on one check at every append:
owner, epoch and first sequence must be the expected ones. Leases only decide who tries.

`evenmatch.testing.check_journal` proves that an adapter keeps these promises.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from evenmatch.engine.records import FORMAT, Record
from evenmatch.errors import JournalUnavailable

FIRST_FORMAT = 3
"""The format in which the first journals on servers were written; what names none has this one."""
NO_JOURNAL_THERE = "check the address; if several games share it, name one behind it: ADDRESS#GAME"
"""What to do where a journal on a server is to be read that is not there."""


class AnswerLost(JournalUnavailable):
    """Something was sent to the journal's server, and whether it took effect is unknown."""


class Segment(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which version of the program wrote a stretch of the journal, for people and for `replay`.

    Args:
        first_seq: Sequence of its first record.
        format: Record format number.
        package: Version of evenmatch.
        policies: SPEC by queue name.
        wall: Unix seconds of its start.
        keyed: Whether callers needed keys or tokens.
        raised: Whether the same process goes on, in a newer format from here.
    """

    first_seq: int
    format: int
    package: str
    policies: dict[str, str]
    wall: float
    keyed: bool = False
    raised: bool = False


def format_of(segments: Sequence[Segment]) -> int:
    """Return the format in which a journal with these segments is written; it never falls."""
    return max((each.format for each in segments), default=FORMAT)


def in_place_of(before: Segment | None, segment: Segment) -> Segment:
    """Return the segment to keep where another began at the same record: no format falls.

    A paused owner that comes too late with its own must not make readers expect older records.

    >>> old, new = (Segment(1, number, "0.1", {}, 0.0) for number in (3, 4))
    >>> in_place_of(new, old).format, in_place_of(old, new).format, in_place_of(None, old).format
    (4, 4, 3)
    """
    if before is None:
        return segment
    number, raised = max(before.format, segment.format), before.raised and segment.raised
    return msgspec.structs.replace(segment, format=number, raised=raised)


class StoredSnapshot(msgspec.Struct, frozen=True):
    """A snapshot of the tables after record `sequence`, opaque to the journal."""

    sequence: int
    wall: float
    state: bytes


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A record read back, with the wall time (Unix seconds) of its batch."""

    record: Record
    wall: float


class Journal(Protocol):
    """Durable, ordered, fenced storage of records."""

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        """Become the owner and return the new epoch, or renew and return the present one.

        A lease held by another owner is refused with `StaleOwner` until its `ttl` seconds are
        over; after that the newcomer gets the next epoch and every append with an older epoch
        is refused. Where several machines share a journal, no two of them need the same time:
        a lease is over when the newcomer, who asks again and again, has seen it unrenewed for
        `ttl` seconds of its own monotonic clock.
        """
        ...

    async def begin(self, shard: str, segment: Segment) -> None:
        """Note the writer from `segment.first_seq` on: format, package and policies.

        It takes the place of one that begins at the same record, but never lowers its format.
        """
        ...

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        """Store the records atomically; they are durable when this returns the last sequence.

        Raises:
            StaleOwner: `owner` and `epoch` are not those of the present lease.
            SequenceGap: `first_seq` is not the last stored sequence + 1, or the records are
                not numbered consecutively from it.
            JournalUnavailable: Nothing was stored (locked, full or broken storage); or, where the
                journal is a server that does not answer any more, nobody can say: ask for `last`.
        """
        ...

    def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        """Yield the records from `from_seq` on, in order.

        Raises:
            JournalCorrupt: A checksum fails, a record is missing, or the tail is cut off.
        """
        ...

    async def snapshot(self, shard: str, seq: int, state: bytes) -> None:
        """Store the state after record `seq`; the newest one that is intact counts."""
        ...

    async def latest_snapshot(self, shard: str) -> StoredSnapshot | None:
        """Return the newest snapshot whose checksum holds, or None."""
        ...

    async def forget(self, shard: str, before: float) -> int:
        """Delete some records that were written before, Unix seconds, and that two snapshots cover.

        Returns:
            How many were deleted; call it again until that is 0. One call deletes a limited
            number; the first after a snapshot may have to read two snapshots whole.
        """
        ...

    async def segments(self, shard: str) -> list[Segment]:
        """Return the segments of a shard in order."""
        ...

    async def last(self, shard: str) -> tuple[int, float]:
        """Return the last stored sequence (0 if none) and its wall time."""
        ...

    async def shards(self) -> list[str]:
        """Return the names of all shards; of some there may be no record yet."""
        ...

    async def close(self) -> None:
        """Release files and threads."""
        ...
