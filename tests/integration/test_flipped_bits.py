"""Bits that change on the servers of journals: what is read is what was written, or is refused."""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import nats
import pytest

from evenmatch.errors import JournalCorrupt
from evenmatch.journals.base import Journal, Segment
from evenmatch.journals.nats import NatsJournal
from evenmatch.journals.postgres import PostgresJournal
from evenmatch.testing.journals import flip_bit, sample_records
from tests.extent import extent
from tests.journal_servers import NatsServer, PostgresServer

pytestmark = pytest.mark.xdist_group("postgres")

FLIPS = extent(40, 1_000)
OLDER = (6, b"state 6" * 20)
"""The snapshot before the newest one."""


async def fill(journal: Journal) -> None:
    epoch = await journal.lease("main", "one", 60.0)
    await journal.begin("main", Segment(1, 1, "1.0", {"duel": "greedy"}, 5.0))
    for first in (1, 6, 11):
        await journal.append("main", "one", epoch, first, sample_records(first, 5))
    for seq in (6, 12):
        await journal.snapshot("main", seq, b"state %d" % seq * 20)


async def outcome(work: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await work()
    except JournalCorrupt:
        return JournalCorrupt


async def everything(journal: Journal) -> dict[str, Any]:
    """Return all that the journal tells, or that it refuses to tell it."""

    async def records() -> list[Any]:
        return [entry async for entry in journal.read("main", 1)]

    try:
        return {
            "records": await outcome(records),
            "last": await outcome(lambda: journal.last("main")),
            "segments": await outcome(lambda: journal.segments("main")),
            "snapshot": await outcome(lambda: journal.latest_snapshot("main")),
        }
    finally:
        await journal.close()


def check(found: dict[str, Any], before: dict[str, Any], what: str) -> bool:
    """Return whether the damage was seen; whatever was told is what was written."""
    for name, told in found.items():
        if name == "snapshot" and told is not None:
            # Where the newest one is damaged, the one before counts.
            assert told == before[name] or (told.sequence, told.state) == OLDER, what
        elif name != "snapshot":
            assert told in (before[name], JournalCorrupt), f"{what}: {name} is {told}"
    return found != before


HARMS = {
    "text": "{0} = {0} || 'x'",
    "bigint": "{0} = {0} # 1",
    "double precision": "{0} = {0} + 1",
    "bytea": "{0} = set_bit({0}, {1}, 1 - get_bit({0}, {1}))",
}


def test_every_column_of_a_postgres_journal_is_watched(postgres_server: PostgresServer) -> None:
    rng, schema = random.Random(3), f"flipped_{os.urandom(8).hex()}"
    # Nothing that a reader is told rests on the count of processes; a wrong one refuses a writer.
    unwatched = {("heads", "turn")}
    # A segment of another shard is lost to this one, and nothing counts segments.
    lost = {("segments", "shard")}

    async def main() -> None:
        await fill(journal := PostgresJournal(postgres_server.url, schema=schema))
        before = await everything(journal)
        connection = await asyncpg.connect(postgres_server.url)
        await connection.execute(f"SET search_path = {schema}")
        columns = await connection.fetch(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = $1 AND table_name <> 'about'",
            schema,
        )
        assert len(columns) >= 26
        seen = set()
        for table, column, kind in columns:
            if (table, column) in lost:
                continue
            for _ in range(4 if kind == "bytea" else 1):
                harm = HARMS[kind].format(column, rng.randrange(8 * 40))
                newest = " AND seq = 12" if table == "snapshots" else ""
                await connection.execute(f"CREATE TABLE kept AS TABLE {table}")
                await connection.execute(f"UPDATE {table} SET {harm} WHERE true{newest}")
                found = await everything(PostgresJournal(postgres_server.url, schema=schema))
                if check(found, before, f"{table}.{column}"):
                    seen.add((table, column))
                await connection.execute(f"TRUNCATE {table}")
                await connection.execute(f"INSERT INTO {table} TABLE kept")
                await connection.execute("DROP TABLE kept")
        assert {(table, column) for table, column, _ in columns} - seen == unwatched | lost
        await connection.close()
        assert await everything(PostgresJournal(postgres_server.url, schema=schema)) == before

    asyncio.run(main())


async def raw_log(server: NatsServer, name: str) -> list[bytes]:
    client = await nats.connect(server.url)
    context, found = client.jetstream(), []
    info = await context.stream_info(f"{name}-log")
    for seq in range(info.state.first_seq, info.state.last_seq + 1):
        message = await context.get_msg(f"{name}-log", seq)
        found.append(message.data or b"")
    await client.close()
    return found


async def write_log(server: NatsServer, name: str, log: list[bytes]) -> None:
    client = await nats.connect(server.url)
    for data in log:
        await client.jetstream().publish(f"{name}-log.main", data)
    await client.close()


def test_every_bit_of_a_nats_log_is_watched(nats_server: NatsServer) -> None:
    rng, name = random.Random(4), f"flipped_{os.urandom(8).hex()}"

    async def main() -> None:
        await fill(journal := NatsJournal(nats_server.url, name=name))
        before = await everything(journal)
        log = await raw_log(nats_server, name)
        assert len(log) >= 4
        for number in range(FLIPS):
            at = number % len(log)
            bit = rng.randrange(8 * len(log[at]))
            other = f"{name}_{number}"
            empty = NatsJournal(nats_server.url, name=other)
            await empty.last("main")
            await empty.close()
            changed = [*log[:at], flip_bit(log[at], bit), *log[at + 1 :]]
            await write_log(nats_server, other, changed)
            found = await everything(NatsJournal(nats_server.url, name=other))
            assert found["records"] is JournalCorrupt, f"bit {bit} of message {at}"
            assert found["last"] in (before["last"], JournalCorrupt)
            client = await nats.connect(nats_server.url)
            for stream in ("log", "state"):
                await client.jetstream().delete_stream(f"{other}-{stream}")
            await client.close()

    asyncio.run(main())
