"""The journal kit on every adapter of the package."""

import asyncio
import itertools
import sqlite3
from pathlib import Path

from evenmatch.journals.base import Journal
from evenmatch.journals.memory import MemoryJournal
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.testing.journals import Damage, check_journal, damage_memory, flip_bit


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now

    async def wait(self, seconds: float) -> None:
        self.now += seconds


def damage_sqlite(journal: Journal, shard: str, how: Damage, seq: int) -> None:
    assert isinstance(journal, SqliteJournal)
    connection = sqlite3.connect(journal.path)
    with connection:
        if how in ("cut", "drop"):
            last = seq if how == "drop" else 2**62
            connection.execute(
                "DELETE FROM records WHERE shard = ? AND seq BETWEEN ? AND ?", (shard, seq, last)
            )
        elif how == "swap":
            # By way of -1, because a key may not be there twice.
            for old, new in ((seq, -1), (seq + 1, seq), (-1, seq + 1)):
                connection.execute(
                    "UPDATE records SET seq = ? WHERE shard = ? AND seq = ?", (new, shard, old)
                )
        else:
            table = "snapshots" if how == "snapshot" else "records"
            where = f"FROM {table} WHERE shard = ? AND seq = ?"
            body = connection.execute(f"SELECT body {where}", (shard, seq)).fetchone()[0]
            harmed = body[: len(body) // 2] if how == "tear" else flip_bit(body, 4 * len(body))
            connection.execute(
                f"UPDATE {table} SET body = ? WHERE shard = ? AND seq = ?", (harmed, shard, seq)
            )
    connection.close()


def test_memory_journal_keeps_every_promise() -> None:
    clock = Clock()

    async def reopen(journal: Journal) -> Journal:
        assert isinstance(journal, MemoryJournal)
        await journal.close()
        return journal.reopen()

    asyncio.run(
        check_journal(
            lambda: MemoryJournal(wall=clock),
            reopen=reopen,
            damage=damage_memory,
            wait=clock.wait,
        )
    )


def test_sqlite_journal_keeps_every_promise(tmp_path: Path) -> None:
    clock, count = Clock(), itertools.count()

    async def reopen(journal: Journal) -> Journal:
        assert isinstance(journal, SqliteJournal)
        await journal.close()
        return SqliteJournal(journal.path, wall=clock, create=False)

    asyncio.run(
        check_journal(
            lambda: SqliteJournal.open(tmp_path / str(next(count)), wall=clock),
            reopen=reopen,
            damage=damage_sqlite,
            wait=clock.wait,
        )
    )


def test_kit_needs_no_more_than_a_way_to_make_journals() -> None:
    clock = Clock()
    asyncio.run(check_journal(lambda: MemoryJournal(wall=clock), wait=clock.wait))
