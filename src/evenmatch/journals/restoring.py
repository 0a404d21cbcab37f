"""Copies a journal from a file to a server: into PostgreSQL or NATS, where there is none yet.

PostgreSQL takes all of it in one transaction. In NATS the shards are held by an owner of its own
until the last message is there, so that no server begins with half of it. Everything is read again
and compared before it counts; what fails on the way is taken back.
"""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec

from evenmatch.engine.records import Record, encode
from evenmatch.errors import ConfigError, JournalCorrupt, JournalError
from evenmatch.journals.base import AnswerLost, Entry, Segment, StoredSnapshot, format_of
from evenmatch.journals.batches import BatchReader, StoredBatch, make_batch
from evenmatch.journals.copying import OWNER, Say
from evenmatch.journals.head import TTL_MAX, sealer
from evenmatch.journals.nats import NatsHead, NatsJournal, decode_head, encode_head
from evenmatch.journals.nats_link import NatsLink, parse_address
from evenmatch.journals.nats_snapshots import StoredDocument
from evenmatch.journals.nats_state import Documents
from evenmatch.journals.opening import open_on_server, open_store, without_password
from evenmatch.journals.postgres import (
    SLICE_BYTES,
    SLICE_ROWS,
    PostgresJournal,
    Statements,
    seal_of,
)
from evenmatch.journals.postgres_link import LOCK, Connection, PostgresLink
from evenmatch.journals.reading import (
    entries,
    first_of,
    read_only,
    segments,
    shards_of,
    snapshots,
)
from evenmatch.journals.store import Store

Told: TypeAlias = Callable[[str, int, int], None]
"""Told what goes on, how much of it is done, and how much there is."""
BATCH_RECORDS = 500
BATCH_BYTES = 200_000
"""Records of one instant that are stored together, and the bytes from which no more are added."""
COPIED_AT_ONCE = 100
"""Batches on their way to PostgreSQL at a time."""
TIMEOUT = 5.0
WHOLE = 3_600.0
"""Longest time that a copy into PostgreSQL may take, with its reading again, seconds."""
UNFINISHED = "unfinished copy"
FREE = 1e-3
"""Length of the lease of a shard that nobody holds, seconds."""


class FileShard:
    """A shard of a journal in a file.

    Args:
        connection: Reads only.
        shard: Its name.
        last_seq: Where it ends.
    """

    def __init__(self, connection: sqlite3.Connection, shard: str, last_seq: int) -> None:
        self._connection = connection
        self.shard = shard
        self.first_seq = first_of(connection, shard) or last_seq + 1
        self.last_seq = last_seq
        self.segments: list[Segment] = segments(connection, shard)
        walls = connection.execute("SELECT seq, wall FROM snapshots WHERE shard = ?", (shard,))
        at = dict(walls.fetchall())
        self.snapshots = [
            StoredSnapshot(seq, at[seq], state)
            for seq, state in snapshots(connection, shard).items()
        ]
        found = connection.execute("SELECT last_wall FROM heads WHERE shard = ?", (shard,))
        self.last_wall: float = found.fetchone()[0]

    def entries(self) -> Iterator[Entry]:
        """Yield the records that are kept."""
        return entries(self._connection, self.shard, self.first_seq, self.last_seq)

    def batches(self, say: Say) -> Iterator[StoredBatch]:
        """Yield the records in batches, those of one instant together."""
        held, wall, size = list[Record](), 0.0, 0
        for entry in self.entries():
            is_full = len(held) >= BATCH_RECORDS or size >= BATCH_BYTES
            if held and (is_full or entry.wall != wall):
                yield make_batch(self.shard, wall, held)
                held, size = [], 0
                done = entry.record.sequence - self.first_seq
                say(done, self.last_seq - self.first_seq + 1)
            held.append(entry.record)
            wall, size = entry.wall, size + len(encode(entry.record))
        if held:
            yield make_batch(self.shard, wall, held)


def bring_to_server(
    path: Path, address: str, documents: Mapping[str, bytes], say: Told
) -> dict[str, int]:
    """Copy a journal, and what lies beside it, to a server that has none.

    Args:
        path: The file, which is whole.
        address: `postgresql://...` or `nats://...`.
        documents: What is kept beside the journal, by name.
        say: Told what goes on, how much of it is done, and how much there is.

    Returns:
        The last record by shard.

    Raises:
        ConfigError: There is a journal already.
        JournalUnavailable: The server does not take it; nothing of it is left there.
    """

    async def bring(shards: Sequence[FileShard]) -> None:
        journal, store = open_on_server(address), open_store(address)
        added: list[str] = []
        try:
            if present := await journal.shards():
                if isinstance(journal, NatsJournal):
                    await _check_unfinished(journal, address, present)
                raise target_in_use_error(address, present)
            # First, so that no server finds the journal without them.
            await _put_documents(store, documents, added)
            if isinstance(journal, PostgresJournal):
                await _fill_postgres(journal, shards, say)
            else:
                await _fill_nats(journal, shards, say)
        except BaseException:
            with suppress(JournalError):
                for name in added:
                    await store.delete(name)
            raise
        finally:
            await journal.close()
            await store.close()

    with read_only(path) as connection:
        shards = [FileShard(connection, *each) for each in shards_of(connection).items()]
        asyncio.run(bring(shards))
        return {each.shard: each.last_seq for each in shards}


async def _put_documents(store: Store, documents: Mapping[str, bytes], added: list[str]) -> None:
    """Put what lies beside the journal; `added` gets the names of what was not there."""
    for name, body in documents.items():
        if await store.get(name) is None:
            added.append(name)
        await store.put(name, body)


async def _compare(found: AsyncIterator[Entry], shard: FileShard, say: Told) -> None:
    """Compare what is read again with what was to be written.

    Raises:
        JournalCorrupt: It is something else.
    """
    written, count = shard.entries(), 0
    total = shard.last_seq - shard.first_seq + 1
    if total:
        async for entry in found:
            if entry != next(written, None):
                break
            count += 1
            say("comparing", count, total)
    if count != total:
        raise JournalCorrupt(
            f"record {shard.first_seq + count} of shard {shard.shard!r} is not what was written: "
            "copy it again"
        )


def target_in_use_error(place: str, shards: Sequence[str]) -> ConfigError:
    """Return the error for a target that is in use."""
    return ConfigError(
        f"there is a journal at {without_password(place)} already (shard {', '.join(shards)}): "
        "name another database, or another game with #GAME behind the address"
    )


async def _fill_postgres(journal: PostgresJournal, shards: Sequence[FileShard], say: Told) -> None:
    link = PostgresLink(journal.url, journal.schema, TIMEOUT)

    async def work(connection: Connection) -> None:
        async with connection.transaction():
            await connection.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
            # No server may begin meanwhile.
            await connection.execute(f"LOCK TABLE {journal.schema}.heads IN EXCLUSIVE MODE")
            if present := await journal.shards():
                raise target_in_use_error(journal.url, present)
            for shard in shards:
                await _fill_postgres_shard(
                    connection, journal.schema, shard, partial(say, "writing")
                )
            for shard in shards:
                await _compare(_read_postgres(connection, journal.schema, shard), shard, say)

    try:
        await link.run(work, WHOLE)
    finally:
        await link.close()


async def _fill_postgres_shard(
    connection: Connection, schema: str, shard: FileShard, say: Say
) -> None:
    name, seal = shard.shard, sealer(shard.shard)

    async def copy(table: str, rows: Sequence[tuple[object, ...]]) -> None:
        await connection.copy_records_to_table(table, records=rows, schema_name=schema)

    lease, end = (OWNER, 1, FREE, 1), (shard.last_seq, shard.last_wall)
    head = (name, *lease, seal_of(name, *lease), 1, *end, seal_of(name, *end))
    await copy("heads", [head])
    held: list[tuple[object, ...]] = []
    for batch in shard.batches(say):
        held.append((name, batch.first_seq, batch.last_seq, batch.wall, batch.crc, batch.body))
        if len(held) == COPIED_AT_ONCE:
            await copy("batches", held)
            held.clear()
    await copy("batches", held)
    bodies = [(each.first_seq, each.wall, msgspec.json.encode(each)) for each in shard.segments]
    await copy("segments", [(name, *each[:2], seal(*each), each[2]) for each in bodies])
    number = format_of(shard.segments)
    await connection.execute(f"UPDATE {schema}.about SET format = greatest(format, $1)", number)
    states = [(each.sequence, each.wall, each.state) for each in shard.snapshots]
    await copy("snapshots", [(name, *each[:2], seal(*each), each[2]) for each in states])


async def _read_postgres(
    connection: Connection, schema: str, shard: FileShard
) -> AsyncIterator[Entry]:
    """Yield the records of a shard within the transaction that has written them."""
    reader = BatchReader(shard.shard, shard.first_seq, shard.last_seq)
    asked = Statements(schema).read
    while reader.expected <= shard.last_seq:
        limits = (shard.shard, reader.expected, shard.last_seq, SLICE_ROWS, SLICE_BYTES)
        rows = await connection.fetch(asked, *limits)
        if not rows:
            reader.end()
        for row in rows:
            for entry in reader.open(StoredBatch(*row)):
                yield entry


async def _fill_nats(journal: NatsJournal, shards: Sequence[FileShard], say: Told) -> None:
    link = NatsLink(parse_address(journal.address), journal.name, TIMEOUT)
    begun: list[str] = []
    try:
        if present := await journal.shards():
            raise target_in_use_error(journal.address, present)
        free = [
            await _fill_nats_shard(link, journal.address, shard, begun, partial(say, "writing"))
            for shard in shards
        ]
        for shard in shards:
            await _compare(journal.read(shard.shard, shard.first_seq), shard, say)
        for shard, (at, head) in zip(shards, free, strict=True):
            subject, message = link.log_subject(shard.shard), encode_head(head, shard.shard, b"")
            if await link.publish(subject, message, at) is None:
                raise target_in_use_error(journal.address, [shard.shard])
    except BaseException:
        with suppress(JournalError):
            for name in begun:
                await link.purge(link.log, link.log_subject(name))
                await link.purge(link.state, link.state_subject(name, ">"))
        raise
    finally:
        await link.close()


async def _fill_nats_shard(
    link: NatsLink, address: str, shard: FileShard, begun: list[str], say: Say
) -> tuple[int, NatsHead]:
    """Write a shard, which stays held; return its last message's sequence, and what frees it."""
    name, seal, documents = shard.shard, sealer(shard.shard), Documents(link)
    writer, subject = secrets.token_hex(8), link.log_subject(shard.shard)
    number = format_of(shard.segments)
    held = NatsHead("lease", writer, UNFINISHED, 1, TTL_MAX, 1, shard.first_seq - 1)
    try:
        at = await link.publish(subject, encode_head(held, name, b""), 0)
    except (AnswerLost, asyncio.CancelledError):
        # What is stored holds the shard for good, if nobody takes it back.
        if await _is_begun_by(link, name, writer):
            begun.append(name)
        raise
    if at is None:
        raise target_in_use_error(address, [name])
    begun.append(name)
    for batch in shard.batches(say):
        parts, body = "", batch.body
        if len(body) > await link.largest():
            parts, body = await documents.put_parts(name, body), b""
        head = NatsHead(
            "batch",
            writer,
            UNFINISHED,
            1,
            TTL_MAX,
            1,
            batch.last_seq,
            batch.wall,
            batch.first_seq,
            batch.crc,
            parts,
            number,
        )
        at = await link.publish(subject, encode_head(head, name, body), at)
        if at is None:
            raise target_in_use_error(address, [name])
    stored = [
        StoredDocument(
            each.sequence,
            each.wall,
            seal(each.sequence, each.wall, each.state),
            await documents.put_parts(name, each.state),
        )
        for each in shard.snapshots
    ]
    await documents.change(name, "snapshots", list[StoredDocument], lambda _: stored)
    await documents.change(name, "segments", list[Segment], lambda _: shard.segments)
    await link.publish(link.state_subject(name, "end"), b"%d" % shard.last_seq)
    end = (shard.last_seq, shard.last_wall)
    return at, NatsHead("lease", writer, OWNER, 2, FREE, 2, *end, format=number)


async def _check_unfinished(journal: NatsJournal, address: str, shards: Sequence[str]) -> None:
    """Refuse what a copy has left that was killed: it is no journal of a server.

    Raises:
        ConfigError: There is such a shard.
    """
    link = NatsLink(parse_address(journal.address), journal.name, TIMEOUT, is_read_only=True)
    try:
        for shard in shards:
            message = await link.last_message(link.log, link.log_subject(shard))
            if message is not None and decode_head(message, shard).owner == UNFINISHED:
                raise ConfigError(
                    f"another copy to {without_password(address)} is under way, or was killed: if "
                    f"none is, delete the streams {link.log} and {link.state}, which nobody else "
                    "uses, and copy again"
                )
    finally:
        await link.close()


async def _is_begun_by(link: NatsLink, shard: str, writer: str) -> bool:
    """Return whether a shard's log ends with a message of a writer, as far as can be told."""
    with suppress(JournalError):
        message = await link.last_message(link.log, link.log_subject(shard))
        return message is not None and decode_head(message, shard).writer == writer
    return False
