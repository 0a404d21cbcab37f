"""A journal in NATS JetStream: for several machines, replicated by its own consensus.

How the promises of the port are kept:

- All that is written to a shard is a message on one subject: batches of records, leases, and
  turns. Each is published with the sequence of the last message that its writer knows, and is
  stored only if that is still the last one. So a takeover, which is a message too, refuses every
  later message of the old owner; and of two that write at once, one gets through.
- Each message says where the journal ends after it and who owns it, under a checksum; each batch
  has one of its own. So changed, swapped and missing messages are found when they are read. A
  witness beside the log, published now and then, tells of a tail that was cut off.
- Where the answer of an append is lost, the batch is looked up and never sent again: a turn is
  published, an empty message that expects the same last message as the batch did. Only one of the
  two can be stored. If it is the turn, the batch is without effect for good.
- What is too large for a message goes to parts first, and the message names them. Parts that no
  message names, because a process died or an answer was lost, go with the next snapshot or with
  the batches in whose place they would have been.
- A lease is over when the newcomer has watched it unrenewed for its whole length; see `leases.py`.

An acknowledged message is on most of the replicas, in their memory: it is on their disks only if
the servers run with `sync_interval: always`. Every error of the driver is a `JournalUnavailable`,
and the next call opens a new connection.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Literal
from zlib import crc32

import msgspec

from evenmatch.engine.records import FORMAT, Record
from evenmatch.errors import JournalCorrupt, JournalError, JournalUnavailable
from evenmatch.journals.base import (
    FIRST_FORMAT,
    AnswerLost,
    Entry,
    Segment,
    StoredSnapshot,
    in_place_of,
)
from evenmatch.journals.batches import BatchReader, StoredBatch, make_batch
from evenmatch.journals.head import (
    check_append,
    check_numbers,
    check_snapshot,
    check_ttl,
    first_to_read,
    newer_process,
)
from evenmatch.journals.leases import LeaseWatch
from evenmatch.journals.nats_link import NatsLink, NatsMessage, parse_address
from evenmatch.journals.nats_snapshots import SNAPSHOTS_KEPT, NatsSnapshots
from evenmatch.journals.nats_state import ATTEMPTS, Documents, ShardWitness, cut_off

BATCH = "batch"
"""Begins the use of a batch's parts; its first record follows."""
PRUNED_MESSAGES = 200
"""Messages deleted at a time."""
LOOK_AGAIN = 0.1
"""Pause until a server that does not answer is asked once more after a lost answer, seconds."""


class NatsHead(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The facts in the head of a message of a shard's log.

    Args:
        kind: What it is for.
        writer: Which process wrote it.
        owner: The present owner.
        epoch: Counts owners, from 1.
        ttl: Length of the lease, seconds.
        renewals: How often the lease was taken or renewed.
        last_seq: Sequence of the last record, 0 if there is none.
        last_wall: Wall time of the last batch, Unix seconds.
        first_seq: Of a batch: sequence of its first record.
        crc: Of a batch: its checksum.
        parts: Of a batch that is too large for a message: name of its parts.
        format: The newest that any record up to here has.
    """

    kind: Literal["lease", "turn", "batch"]
    writer: str
    owner: str
    epoch: int
    ttl: float
    renewals: int
    last_seq: int = 0
    last_wall: float = 0.0
    first_seq: int = 0
    crc: int = 0
    parts: str = ""
    format: int = FIRST_FORMAT


class Tip(msgspec.Struct, frozen=True, gc=False):
    """The last message of a shard's log, and its sequence in the stream, 0 if there is none."""

    at: int
    head: NatsHead | None


class NatsJournal:
    """Stores the records of any number of shards in two streams.

    Nothing is opened before the first call. If the task that awaits an `append` is cancelled, the
    batch may still be stored, unacknowledged.

    Args:
        address: `nats://HOST:PORT[,HOST:PORT...][?replicas=3]`.
        name: Begins the names of the streams; they are made if they are missing.
        wall: The wall clock, Unix seconds.
        clock: The monotonic clock for leases, seconds.
        timeout: Longest wait for an answer, seconds.
        is_read_only: Only read; the journal must be there.

    Raises:
        NotSupported: The package nats-py is missing.
        ConfigError: The address or the name cannot be used.
    """

    def __init__(
        self,
        address: str,
        *,
        name: str = "evenmatch",
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        timeout: float = 5.0,
        is_read_only: bool = False,
    ) -> None:
        self.address = address
        self.name = name
        self.wall = wall
        self._timeout = timeout
        self._link = NatsLink(parse_address(address), name, timeout, is_read_only=is_read_only)
        self._watch = LeaseWatch(clock)
        self._clock = clock
        self._writer = secrets.token_hex(8)
        self._order = asyncio.Lock()
        # The message after which this journal may write, by shard; and the newest one ever seen.
        self._tips: dict[str, Tip] = {}
        self._newest: dict[str, int] = {}
        # The last batch that was read, by shard: who reads on looks for the next one from there.
        self._places: dict[str, tuple[int, NatsHead]] = {}
        # In which format the next batch is, by shard; it never falls.
        self._formats: dict[str, int] = {}
        self._ends = ShardWitness(self._link, clock)
        self._documents = Documents(self._link)
        self._snapshots = NatsSnapshots(self._documents)

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        """Become or stay the owner of a shard and return the epoch."""
        check_ttl(ttl)
        async with self._order:
            for _ in range(ATTEMPTS):
                tip = await self._tip(shard)
                new = self._granted(tip.head, shard, owner, float(ttl))
                self._tips.pop(shard, None)
                if not await self._put(shard, tip, new):
                    await asyncio.sleep(LOOK_AGAIN)
                else:
                    # From when the answer is here: whoever takes over from us counts no less.
                    self._watch.remaining(shard, (owner, new.epoch, new.renewals), ttl)
                    return new.epoch
        raise JournalUnavailable(
            f"the log of shard {shard!r} was changed by others {ATTEMPTS} times while {owner!r} "
            "asked for its lease: ask again"
        )

    def _granted(self, head: NatsHead | None, shard: str, owner: str, ttl: float) -> NatsHead:
        """Return a lease for `owner`; refuse who has not watched long enough."""
        if head is None:
            return NatsHead("lease", self._writer, owner, 1, ttl, 1)
        epoch = head.epoch
        if head.owner != owner:
            renewal = (head.owner, head.epoch, head.renewals)
            self._watch.check_over(shard, renewal, head.ttl, owner)
            epoch += 1
        return NatsHead(
            "lease",
            self._writer,
            owner,
            epoch,
            ttl,
            head.renewals + 1,
            head.last_seq,
            head.last_wall,
            format=max(head.format, self._formats.get(shard, 0)),
        )

    async def begin(self, shard: str, segment: Segment) -> None:
        """Note who writes from `segment.first_seq` on."""

        def add(segments: list[Segment]) -> list[Segment]:
            known = {each.first_seq: each for each in segments}
            known[segment.first_seq] = in_place_of(known.get(segment.first_seq), segment)
            return sorted(known.values(), key=lambda each: each.first_seq)

        await self._documents.change(shard, "segments", list[Segment], add)
        self._formats[shard] = max(self._formats.get(shard, 0), segment.format)

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        """Store the records, all or none, and return the last sequence when it is replicated.

        Raises:
            StaleOwner: Another owner, or a newer process of the same one, has taken over.
        """
        check_numbers(shard, first_seq, records)
        holder = (owner, epoch)
        async with self._order:
            tip = self._tips.get(shard)
            if tip is None or not _continues(tip.head, holder, first_seq) or not records:
                tip = await self._turn(shard, holder, first_seq)
            if not records:
                return first_seq - 1
            batch = make_batch(shard, float(self.wall()), records)
            assert tip.head is not None
            new = await self._batch_head(shard, tip.head, batch)
            self._tips.pop(shard, None)
            try:
                is_stored = await self._insist(shard, tip, new, b"" if new.parts else batch.body)
            except AnswerLost as error:
                is_stored = await self._look_up(shard, tip, new, error)
            except JournalError:
                await self._documents.discard_parts(shard, new.parts)
                raise
            if not is_stored:
                await self._refuse(shard, holder, first_seq)
            self._ends.note(shard, batch.last_seq)
            return batch.last_seq

    async def _batch_head(self, shard: str, head: NatsHead, batch: StoredBatch) -> NatsHead:
        parts = ""
        if len(batch.body) > await self._link.largest():
            use = f"{BATCH}{batch.first_seq}"
            parts = await self._documents.put_parts(shard, batch.body, use)
        return msgspec.structs.replace(
            head,
            kind="batch",
            writer=self._writer,
            last_seq=batch.last_seq,
            last_wall=batch.wall,
            first_seq=batch.first_seq,
            crc=batch.crc,
            parts=parts,
            format=max(head.format, self._formats.get(shard, FORMAT)),
        )

    async def _turn(self, shard: str, holder: tuple[str, int], first_seq: int) -> Tip:
        """Make sure that no earlier message of an owner arrives from here on.

        Raises:
            StaleOwner: The holder is not the present one.
            SequenceGap: The journal ends elsewhere.
        """
        for _ in range(ATTEMPTS):
            tip = await self._tip(shard)
            head = check_append(tip.head, shard, holder=holder, first_seq=first_seq, records=())
            if await self._put(shard, tip, _as_turn(head, self._writer)):
                return self._tips[shard]
            await asyncio.sleep(LOOK_AGAIN)
        raise JournalUnavailable(
            f"the log of shard {shard!r} was changed by others {ATTEMPTS} times while {holder[0]!r}"
            " asked to write: ask again"
        )

    async def _insist(self, shard: str, tip: Tip, new: NatsHead, body: bytes) -> bool:
        """Publish a batch behind the last message; return whether that was still the last one.

        A leader that was just elected, and does not know the last message yet, refuses as well.
        What was refused is not stored later, so it may be sent again.

        Raises:
            JournalUnavailable: The leader goes on to refuse, although nothing else was stored.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + self._timeout
        while not await self._put(shard, tip, new, body):
            if (await self._tip(shard)).at != tip.at:
                await self._documents.discard_parts(shard, new.parts)
                return False
            if loop.time() >= until:
                raise JournalUnavailable(
                    f"the leader of shard {shard!r} refuses records {new.first_seq} to "
                    f"{new.last_seq}, although they continue the journal: try again"
                )
            await asyncio.sleep(LOOK_AGAIN)
        return True

    async def _look_up(self, shard: str, tip: Tip, new: NatsHead, lost: AnswerLost) -> bool:
        """Return whether a batch was stored whose answer was lost; never send it again.

        Raises:
            JournalUnavailable: It was not, and never will be; or the servers do not answer.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + self._timeout
        turn = _as_turn(tip.head, self._writer) if tip.head else None
        while True:
            try:
                if turn is not None and await self._put(shard, tip, turn):
                    raise await self._never_stored(shard, new, lost) from lost
                present = await self._tip(shard)
                # A message that is on its way to the replicas refuses others before it is read.
                if present.at > tip.at:
                    return await self._is_ours(shard, present, turn, new, lost)
                error: JournalError = lost
            except AnswerLost as again:
                error = again
            except JournalUnavailable as again:
                if again.__cause__ is lost:
                    raise
                error = again
            if loop.time() >= until:
                raise JournalUnavailable(
                    f"{lost}; whether records {new.first_seq} to {new.last_seq} of shard "
                    f"{shard!r} were stored cannot be said, because the servers do not answer: "
                    f"{error}"
                ) from lost
            await asyncio.sleep(LOOK_AGAIN)

    async def _is_ours(
        self, shard: str, present: Tip, turn: NatsHead | None, new: NatsHead, lost: AnswerLost
    ) -> bool:
        """Return whether the last message is our batch; raise if it is our turn."""
        if present.head == new:
            self._tips[shard] = present
            return True
        if present.head == turn:
            # Its own answer was lost as well.
            self._tips[shard] = present
            raise await self._never_stored(shard, new, lost) from lost
        # Behind another message it may be stored, and its parts in use.
        return False

    async def _never_stored(
        self, shard: str, new: NatsHead, lost: AnswerLost
    ) -> JournalUnavailable:
        await self._documents.discard_parts(shard, new.parts)
        return JournalUnavailable(f"{lost}; nothing of the batch was stored")

    async def _refuse(self, shard: str, holder: tuple[str, int], first_seq: int) -> None:
        """Say why an append changed nothing.

        Raises:
            StaleOwner: The holder is not the present one, or not its newest process.
            SequenceGap: The batch does not continue the journal.
        """
        head = (await self._tip(shard)).head
        # Where a newer process has written, the records do not continue the journal either; but
        # who is only told so reads it anew, and takes the shard back.
        if head is None or (head.owner, head.epoch) != holder or head.writer == self._writer:
            check_append(head, shard, holder=holder, first_seq=first_seq, records=())
        raise newer_process(shard, holder[0])

    async def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        """Yield the records from `from_seq` on that were stored when reading began."""
        tip = await self._tip(shard)
        last_seq = tip.head.last_seq if tip.head else 0
        reader = BatchReader(shard, first_to_read(last_seq, shard, from_seq), last_seq)
        if reader.expected > last_seq:
            return
        start = await self._find(shard, reader.expected, tip.at)
        async with aclosing(self._log(shard, start, tip.at)) as log:
            async for message, head in log:
                if head.kind == "batch" and head.last_seq >= reader.expected:
                    self._places[shard] = message.seq, head
                    for entry in reader.open(await self._batch(shard, message, head)):
                        yield entry
        reader.end()

    async def _log(
        self, shard: str, start: int, end: int
    ) -> AsyncGenerator[tuple[NatsMessage, NatsHead], None]:
        """Yield the messages of a shard's log, up to `end`.

        Raises:
            JournalUnavailable: The replica that is read lags behind, and goes on to.
        """
        loop = asyncio.get_running_loop()
        subject, until = self._link.log_subject(shard), loop.time() + self._timeout
        while start <= end:
            async with aclosing(self._link.messages(self._link.log, subject, start)) as messages:
                async for message in messages:
                    if message.seq > end:
                        return
                    start, until = message.seq + 1, loop.time() + self._timeout
                    yield message, decode_head(message, shard)
            if start > end:
                return
            following = await self._link.next_message(self._link.log, subject, start)
            if following is None or following.seq > end:
                return
            if loop.time() >= until:
                raise JournalUnavailable(
                    f"the replica of shard {shard!r} that was read does not come to message {end}, "
                    "which the others have: try again"
                )
            await asyncio.sleep(LOOK_AGAIN)

    async def _batch(self, shard: str, message: NatsMessage, head: NatsHead) -> StoredBatch:
        body = message.data.partition(b"\n")[2]
        if head.parts:
            body = await self._documents.get_parts(shard, head.parts) or b""
        return StoredBatch(head.first_seq, head.last_seq, head.last_wall, head.crc, body)

    async def _find(self, shard: str, seq: int, end: int) -> int:
        """Return from where to read the log for the batch that holds a record."""
        subject, low, high = self._link.log_subject(shard), 1, end if seq > 1 else 1
        at, place = self._places.get(shard, (0, None))
        if place is not None and place.first_seq <= seq:
            message = await self._link.next_message(self._link.log, subject, at)
            if message is None or message.seq != at or decode_head(message, shard) != place:
                # The log was pruned, damaged or restored: nothing that was seen of it counts.
                self._places.pop(shard, None)
            elif seq <= place.last_seq:
                return at
            else:
                low = at + 1
        while low < high:
            middle = (low + high) // 2
            message = await self._link.next_message(self._link.log, subject, middle)
            if message is None or message.seq > end:
                high = middle
            elif decode_head(message, shard).last_seq < seq:
                low = message.seq + 1
            else:
                high = middle
        return low

    async def snapshot(self, shard: str, seq: int, state: bytes) -> None:
        """Store the state after record `seq`; the last two are kept."""
        check_snapshot((await self._tip(shard)).head, shard, seq)
        await self._snapshots.put(shard, seq, float(self.wall()), bytes(state))

    async def latest_snapshot(self, shard: str) -> StoredSnapshot | None:
        """Return the newest snapshot whose checksum holds, or None."""
        for each in reversed(await self._snapshots.kept(shard)):
            if (found := await self._snapshots.open(shard, each)) is not None:
                return found
        return None

    async def forget(self, shard: str, before: float) -> int:
        """Delete some batches that are older, and that two intact snapshots cover."""
        kept = await self._snapshots.kept(shard)
        if len(kept) < SNAPSHOTS_KEPT:
            return 0
        tip = await self._tip(shard)
        covered, count, last, parts = kept[0].sequence, 0, 0, set[str]()
        until, seen, end, stays = 0, 0, 0, ""
        subject = self._link.log_subject(shard)
        async with aclosing(self._log(shard, 1, tip.at)) as log:
            async for message, head in log:
                if seen == PRUNED_MESSAGES and not count:
                    # Leases of a time without records; they would fill every slice.
                    await self._link.purge(self._link.log, subject, until + 1)
                    seen = 0
                end, stays = head.last_seq, head.parts
                if seen == PRUNED_MESSAGES or head.last_seq > covered or message.seq == tip.at:
                    break
                if head.kind == "batch":
                    if head.last_wall >= before:
                        break
                    count, last = count + head.last_seq - head.first_seq + 1, head.last_seq
                    parts |= {head.parts} - {""}
                seen, until = seen + 1, message.seq
        # The snapshots are large: they are looked at only where something is old enough.
        if not count or not await self._snapshots.are_intact(shard, kept):
            return 0
        await self._link.purge(self._link.log, subject, until + 1)
        # Batches up to `end` were seen; whichever was not stored in their place never will be.
        for name in parts | await self._documents.unused(shard, BATCH, end + 1, {stays}):
            await self._documents.delete_parts(shard, name)
        # A segment without any record left says nothing about those that follow.
        await self._documents.change(
            shard, "segments", list[Segment], lambda each: _needed(each, last + 1)
        )
        return count

    async def segments(self, shard: str) -> list[Segment]:
        """Return the segments of a shard in order."""
        return await self._documents.get(shard, "segments", list[Segment])

    async def last(self, shard: str) -> tuple[int, float]:
        """Return the last stored sequence (0 if none) and its wall time."""
        head = (await self._tip(shard)).head
        return (head.last_seq, head.last_wall) if head else (0, 0.0)

    async def shards(self) -> list[str]:
        """Return the names of all shards."""
        return await self._link.shards()

    async def first(self, shard: str) -> int:
        """Return the first record that is kept, 0 if none is."""
        tip = await self._tip(shard)
        async with aclosing(self._log(shard, 1, tip.at)) as log:
            async for _, head in log:
                if head.kind == "batch":
                    return head.first_seq
        return 0

    async def snapshots(self, shard: str) -> list[StoredSnapshot]:
        """Return the intact snapshots, the oldest first."""
        kept = await self._snapshots.kept(shard)
        found = [await self._snapshots.open(shard, each) for each in kept]
        return [each for each in found if each is not None]

    async def close(self) -> None:
        """Publish what the witness lacks, and close the connection."""
        await self._ends.flush()
        await self._link.close()

    async def _put(self, shard: str, tip: Tip, head: NatsHead, body: bytes = b"") -> bool:
        """Publish a message behind another one; return whether that was still the last one."""
        subject = self._link.log_subject(shard)
        at = await self._link.publish(subject, encode_head(head, shard, body), tip.at)
        if at is None:
            return False
        self._tips[shard] = Tip(at, head)
        self._saw(shard, at)
        return True

    async def _tip(self, shard: str) -> Tip:
        """Return the last message of a shard's log, as the leader of the stream knows it.

        Raises:
            JournalCorrupt: It is damaged, or messages are missing that were there.
            JournalUnavailable: The leader knows less than was seen before.
        """
        # Both from before the request: an append may be stored while the answer is on its way.
        stored, newest = await self._ends.known(shard), self._newest.get(shard, 0)
        message = await self._link.last_message(self._link.log, self._link.log_subject(shard))
        tip = Tip(message.seq, decode_head(message, shard)) if message else Tip(0, None)
        last_seq = tip.head.last_seq if tip.head else 0
        if tip.at < newest and await self._link.end_of(self._link.log) < newest:
            raise JournalUnavailable(
                f"the server that answers for shard {shard!r} knows less than was acknowledged: "
                "try again"
            )
        if tip.at < newest or last_seq < stored:
            raise cut_off(shard, last_seq)
        self._saw(shard, tip.at)
        return tip

    def _saw(self, shard: str, at: int) -> None:
        self._newest[shard] = max(at, self._newest.get(shard, 0))


def encode_head(head: NatsHead, shard: str, body: bytes) -> bytes:
    """Return a message of a shard's log: checksum and head in one line, then the records."""
    line = msgspec.json.encode(head)
    return b"%08x%b\n%b" % (crc32(line, crc32(shard.encode())), line, body)


def decode_head(message: NatsMessage, shard: str) -> NatsHead:
    """Return what a message of a shard's log says before the records.

    Raises:
        JournalCorrupt: It is not what was written, or of a newer format.
    """
    line = message.data.partition(b"\n")[0]
    if line[:8] != b"%08x" % crc32(line[8:], crc32(shard.encode())):
        raise JournalCorrupt(
            f"message {message.seq} in the log of shard {shard!r} fails its checksum: keep the "
            "streams for inspection and restore a copy"
        )
    head = msgspec.json.decode(line[8:], type=NatsHead)
    if head.format > FORMAT:
        raise JournalCorrupt(
            f"the log of shard {shard!r} has format {head.format}, and this evenmatch knows "
            f"formats up to {FORMAT}: use the version that wrote it, or a newer one"
        )
    return head


def _continues(head: NatsHead | None, holder: tuple[str, int], first_seq: int) -> bool:
    return (
        head is not None and (head.owner, head.epoch) == holder and head.last_seq + 1 == first_seq
    )


def _as_turn(head: NatsHead, writer: str) -> NatsHead:
    return msgspec.structs.replace(head, kind="turn", writer=writer, first_seq=0, crc=0, parts="")


def _needed(segments: list[Segment], first_seq: int) -> list[Segment]:
    """Return the segments that say something about records from `first_seq` on."""
    begun = [each.first_seq for each in segments if each.first_seq <= first_seq]
    return [each for each in segments if not begun or each.first_seq >= begun[-1]]
