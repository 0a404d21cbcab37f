"""The journal kit on the PostgreSQL journal, on a real server."""

import asyncio
import itertools

import asyncpg
import pytest

from evenmatch.journals.base import Journal
from evenmatch.journals.postgres import PostgresJournal
from evenmatch.testing.journals import Damage, check_journal, flip_bit
from tests.journal_servers import PostgresServer

pytestmark = pytest.mark.xdist_group("postgres")


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    async def wait(self, seconds: float) -> None:
        self.now += seconds


async def damage_postgres(journal: Journal, shard: str, how: Damage, seq: int) -> None:
    """Harm the batch that holds the record; a batch is lost or moved as a whole."""
    assert isinstance(journal, PostgresJournal)
    connection = await asyncpg.connect(journal.url)
    try:
        await connection.execute(f"SET search_path = {journal.schema}")
        if how == "snapshot":
            body = await connection.fetchval(
                "SELECT body FROM snapshots WHERE shard = $1 AND seq = $2", shard, seq
            )
            await connection.execute(
                "UPDATE snapshots SET body = $3 WHERE shard = $1 AND seq = $2",
                shard,
                seq,
                flip_bit(body, 4 * len(body)),
            )
            return
        first, last, body = await connection.fetchrow(
            "SELECT first_seq, last_seq, body FROM batches"
            " WHERE shard = $1 AND $2 BETWEEN first_seq AND last_seq",
            shard,
            seq,
        )
        if how in ("cut", "drop"):
            until = last if how == "drop" else 2**62
            await connection.execute(
                "DELETE FROM batches WHERE shard = $1 AND last_seq BETWEEN $2 AND $3",
                shard,
                last,
                until,
            )
        elif how == "swap":
            # By way of 0, because a key may not be there twice.
            width = last - first + 1
            for old, new in ((last, 0), (last + width, last), (0, last + width)):
                await connection.execute(
                    "UPDATE batches SET last_seq = $3::bigint, first_seq = $3::bigint - $4::bigint"
                    " WHERE shard = $1 AND last_seq = $2",
                    shard,
                    old,
                    new,
                    width - 1,
                )
        else:
            harmed = body[: len(body) // 2] if how == "tear" else flip_bit(body, 4 * len(body))
            await connection.execute(
                "UPDATE batches SET body = $3 WHERE shard = $1 AND last_seq = $2",
                shard,
                last,
                harmed,
            )
    finally:
        await connection.close()


def test_postgres_journal_keeps_every_promise(postgres_server: PostgresServer) -> None:
    clock, count = Clock(), itertools.count()

    def open_in(schema: str) -> PostgresJournal:
        return PostgresJournal(postgres_server.url, schema=schema, wall=clock, clock=clock)

    async def reopen(journal: Journal) -> Journal:
        assert isinstance(journal, PostgresJournal)
        await journal.close()
        return open_in(journal.schema)

    asyncio.run(
        check_journal(
            lambda: open_in(f"kit_{next(count)}"),
            reopen=reopen,
            damage=damage_postgres,
            wait=clock.wait,
        )
    )
