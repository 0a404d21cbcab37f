"""Old records leave the journal; whichever snapshot recovery begins with, nothing is missing."""

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from evenmatch.errors import JournalCorrupt
from evenmatch.journals import sqlite
from evenmatch.journals.base import Segment
from evenmatch.journals.head import is_intact
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.testing.journals import sample_records

DAY = 86_400.0


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def filled(path: Path, clock: Clock) -> SqliteJournal:
    """Return a journal with ten records a day for ten days, and snapshots after 40 and 80."""
    journal = SqliteJournal.open(path, wall=clock)
    epoch = await journal.lease("s0", "me", 1e8)
    for day in range(10):
        clock.now = day * DAY
        await journal.begin("s0", Segment(10 * day + 1, 1, "x", {}, clock.now))
        await journal.append("s0", "me", epoch, 10 * day + 1, sample_records(10 * day + 1, 10))
        if day in (3, 7):
            await journal.snapshot("s0", 10 * day + 10, b"state")
    return journal


def run(work: Callable[[SqliteJournal, Clock], Awaitable[None]], path: Path) -> None:
    async def main() -> None:
        clock = Clock()
        journal = await filled(path, clock)
        try:
            await work(journal, clock)
        finally:
            await journal.close()

    asyncio.run(main())


async def numbers(journal: SqliteJournal, first: int) -> list[int]:
    return [entry.record.sequence async for entry in journal.read("s0", first)]


def kept(path: Path) -> list[int]:
    connection = sqlite3.connect(path)
    found = [row[0] for row in connection.execute("SELECT seq FROM records ORDER BY seq")]
    connection.close()
    return found


def test_only_what_is_old_goes(tmp_path: Path) -> None:
    async def work(journal: SqliteJournal, clock: Clock) -> None:
        assert await journal.forget("s0", 2 * DAY) == 20
        assert await journal.forget("s0", 2 * DAY) == 0
        assert kept(journal.path) == list(range(21, 101))
        assert await numbers(journal, 41) == list(range(41, 101))
        assert [each.first_seq for each in await journal.segments("s0")] == list(range(21, 101, 10))

    run(work, tmp_path)


def test_what_the_older_snapshot_does_not_cover_stays_however_old(tmp_path: Path) -> None:
    async def work(journal: SqliteJournal, clock: Clock) -> None:
        assert await journal.forget("s0", 1e9) == 40
        assert await journal.forget("s0", 1e9) == 0
        assert kept(journal.path) == list(range(41, 101))
        # The newer snapshot may be lost: the older one and the records after it are enough.
        assert await numbers(journal, 41) == list(range(41, 101))
        with pytest.raises(JournalCorrupt, match="record 1 of shard 's0' is missing"):
            await numbers(journal, 1)

    run(work, tmp_path)


@pytest.mark.parametrize("seq", [40, 80])
def test_nothing_goes_while_a_snapshot_is_damaged(tmp_path: Path, seq: int) -> None:
    async def work(journal: SqliteJournal, clock: Clock) -> None:
        connection = sqlite3.connect(journal.path)
        with connection:
            connection.execute("UPDATE snapshots SET body = 'statf' WHERE seq = ?", (seq,))
        connection.close()

        assert await journal.forget("s0", 1e9) == 0

    run(work, tmp_path)


def test_records_go_in_slices_and_others_write_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PRUNED_ROWS", 15)

    async def work(journal: SqliteJournal, clock: Clock) -> None:
        assert await journal.forget("s0", 1e9) == 15
        epoch = await journal.lease("s0", "me", 1e8)
        await journal.append("s0", "me", epoch, 101, sample_records(101, 5))
        assert [await journal.forget("s0", 1e9) for _ in range(3)] == [15, 10, 0]
        assert kept(journal.path) == list(range(41, 106))

    run(work, tmp_path)


def test_snapshots_are_read_once_beside_the_writer_and_only_if_something_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PRUNED_ROWS", 15)
    read: list[tuple[int, int]] = []

    def noted(seal: Any, sequence: int, *given: Any, **named: Any) -> bool:
        read.append((sequence, threading.get_ident()))
        return is_intact(seal, sequence, *given, **named)

    monkeypatch.setattr(sqlite, "is_intact", noted)

    async def work(journal: SqliteJournal, clock: Clock) -> None:
        read.clear()
        assert await journal.forget("s0", 0.0) == 0
        assert read == []
        assert [await journal.forget("s0", 1e9) for _ in range(4)] == [15, 15, 10, 0]
        writer = await journal._writer.run(lambda _: threading.get_ident())
        assert writer not in {thread for _, thread in read}
        assert [seq for seq, _ in read] == [80, 40]
        # One that takes the place of another is another.
        await journal.snapshot("s0", 80, b"other")
        assert await journal.forget("s0", 1e9) == 0
        assert [seq for seq, _ in read] == [80, 40, 80]

    run(work, tmp_path)


def test_another_shard_keeps_its_records(tmp_path: Path) -> None:
    async def work(journal: SqliteJournal, clock: Clock) -> None:
        assert await journal.forget("s1", 1e9) == 0
        assert len(kept(journal.path)) == 100

    run(work, tmp_path)
