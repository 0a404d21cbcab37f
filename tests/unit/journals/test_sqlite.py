"""What only the SQLite adapter promises; `check_journal` covers what all adapters do."""

import asyncio
import os
import random
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from evenmatch.engine.records import FORMAT, Record
from evenmatch.errors import ConfigError, JournalCorrupt, JournalUnavailable, StaleOwner
from evenmatch.journals import sqlite as adapter
from evenmatch.journals.base import Segment
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.inputs import Cancel
from evenmatch.testing.journals import flip_bit, sample_records

T = TypeVar("T")


def on(
    directory: Path,
    work: Callable[[SqliteJournal], Awaitable[T]],
    *,
    bytes_max: int | None = None,
) -> T:
    """Open the journal, do the work, close it, and return what the work returned."""

    async def main() -> T:
        journal = SqliteJournal.open(
            directory, wall=lambda: 1000.0, busy_timeout=0.01, bytes_max=bytes_max
        )
        try:
            return await work(journal)
        finally:
            await journal.close()

    return asyncio.run(main())


def fill(directory: Path, count: int = 20) -> None:
    async def work(journal: SqliteJournal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, count))

    on(directory, work)


async def read_all(journal: SqliteJournal) -> list[Record]:
    return [entry.record async for entry in journal.read("main", 1)]


def change(directory: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(directory / "journal.db")
    with connection:
        connection.execute(statement, values)
    connection.close()


def test_every_changed_bit_of_a_body_is_found(tmp_path: Path) -> None:
    fill(tmp_path)
    rng = random.Random(20)

    async def work(journal: SqliteJournal) -> None:
        side = sqlite3.connect(journal.path, isolation_level=None)
        bodies = dict(side.execute("SELECT seq, body FROM records"))
        side.execute("PRAGMA synchronous = OFF")
        for _ in range(300):
            seq = rng.randint(1, 20)
            harmed = flip_bit(bodies[seq], rng.randrange(8 * len(bodies[seq])))
            side.execute("UPDATE records SET body = ? WHERE seq = ?", (harmed, seq))
            with pytest.raises(JournalCorrupt, match=f"record {seq} of shard 'main' fails"):
                await read_all(journal)
            side.execute("UPDATE records SET body = ? WHERE seq = ?", (bodies[seq], seq))
        side.close()
        assert await read_all(journal) == sample_records(1, 20)

    on(tmp_path, work)


def test_changed_bytes_of_the_file_never_change_a_record(tmp_path: Path) -> None:
    fill(tmp_path)
    path, rng = tmp_path / "journal.db", random.Random(21)
    intact, found = path.read_bytes(), 0
    for _ in range(150):
        path.write_bytes(flip_bit(intact, rng.randrange(8 * len(intact))))
        try:
            assert on(tmp_path, read_all) == sample_records(1, 20)
        except (JournalCorrupt, JournalUnavailable):
            found += 1
        for rest in tmp_path.glob("journal.db-*"):
            rest.unlink()
    assert found > 20


@pytest.mark.parametrize(
    "column",
    ["wall = wall + 1", "crc = crc + 1", "body = 'text'", "body = x''", "seq = 99", "shard = 'x'"],
)
def test_changed_column_of_a_record_is_found(tmp_path: Path, column: str) -> None:
    fill(tmp_path)
    change(tmp_path, f"UPDATE records SET {column} WHERE seq = 7")
    with pytest.raises(JournalCorrupt):
        on(tmp_path, read_all)


@pytest.mark.parametrize(
    "column",
    [
        "owner = 'two'",
        "epoch = 9",
        "expires = 0",
        "last_seq = 19",
        "last_wall = 0",
        "owner = x'ff'",
    ],
)
def test_changed_head_is_found_by_readers_and_writers(tmp_path: Path, column: str) -> None:
    fill(tmp_path)
    (tmp_path / "journal.db-ends").unlink()
    change(tmp_path, f"UPDATE heads SET {column}")

    async def append(journal: SqliteJournal) -> int:
        return await journal.append("main", "one", 1, 21, sample_records(21, 1))

    for work in (read_all, append, lambda journal: journal.lease("main", "two", 1.0)):
        with pytest.raises(JournalCorrupt, match="head of shard 'main' is lost or damaged"):
            on(tmp_path, work)


def test_lost_head_is_found(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "journal.db-ends").unlink()
    change(tmp_path, "DELETE FROM heads")
    for work in (read_all, lambda journal: journal.lease("main", "two", 1.0)):
        with pytest.raises(JournalCorrupt, match="lost or damaged"):
            on(tmp_path, work)


def test_cut_off_tail_is_found(tmp_path: Path) -> None:
    fill(tmp_path)
    change(tmp_path, "DELETE FROM records WHERE seq > 17")
    with pytest.raises(JournalCorrupt, match="should end at record 20 and ends at 17"):
        on(tmp_path, read_all)


def test_truncated_file_is_found(tmp_path: Path) -> None:
    fill(tmp_path, 200)
    path = tmp_path / "journal.db"
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(JournalCorrupt):
        on(tmp_path, read_all)


def test_damaged_snapshot_falls_back_to_the_one_before(tmp_path: Path) -> None:
    fill(tmp_path)

    async def work(journal: SqliteJournal) -> None:
        for seq in (5, 10, 15):
            await journal.snapshot("main", seq, b"state %d" % seq)

    on(tmp_path, work)
    sequences = []
    for _ in range(3):
        found = on(tmp_path, lambda journal: journal.latest_snapshot("main"))
        sequences.append(found.sequence if found else None)
        change(tmp_path, "UPDATE snapshots SET body = x'00' WHERE seq = ?", sequences[-1])
    assert sequences == [15, 10, None]


def test_damaged_segment_is_found(tmp_path: Path) -> None:
    on(tmp_path, lambda journal: journal.begin("main", Segment(1, FORMAT, "0.1", {}, 2.0)))
    change(tmp_path, "UPDATE segments SET body = x'7b7d'")
    with pytest.raises(JournalCorrupt, match="segment of shard 'main' that starts at record 1"):
        on(tmp_path, lambda journal: journal.segments("main"))


def test_locked_journal_refuses_and_stores_nothing(tmp_path: Path) -> None:
    fill(tmp_path)

    async def work(journal: SqliteJournal) -> None:
        blocker = sqlite3.connect(journal.path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalUnavailable, match="is locked by another process: stop"):
            await journal.append("main", "one", 1, 21, sample_records(21, 1))
        assert len(await read_all(journal)) == 20
        blocker.execute("ROLLBACK")
        blocker.close()
        assert await journal.append("main", "one", 1, 21, sample_records(21, 1)) == 21

    on(tmp_path, work)


def test_full_disk_refuses_the_whole_batch(tmp_path: Path) -> None:
    fill(tmp_path)
    batch = sample_records(21, 2_000)

    async def work(journal: SqliteJournal) -> None:
        with pytest.raises(JournalUnavailable, match="the disk is full or bytes_max is reached"):
            await journal.append("main", "one", 1, 21, batch)
        assert await journal.last("main") == (20, 1000.0)
        assert await journal.append("main", "one", 1, 21, batch[:1]) == 21

    on(tmp_path, work, bytes_max=100_000)
    assert on(tmp_path, read_all) == sample_records(1, 21)
    on(tmp_path, lambda journal: journal.append("main", "one", 1, 22, batch[1:]))
    assert on(tmp_path, read_all) == sample_records(1, 2_020)


def test_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"shopping list: milk, bread\n" * 100)
    with pytest.raises(JournalCorrupt, match=r"journal\.db is not a journal: move the file away"):
        SqliteJournal.open(tmp_path)
    assert path.read_bytes() == b"shopping list: milk, bread\n" * 100


def test_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    change(tmp_path, "CREATE TABLE birds (name TEXT)")
    before = (tmp_path / "journal.db").read_bytes()
    with pytest.raises(JournalCorrupt, match="is a database of another program"):
        SqliteJournal.open(tmp_path)
    assert (tmp_path / "journal.db").read_bytes() == before


def test_newer_format_is_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    change(tmp_path, f"PRAGMA user_version = {FORMAT + 1}")
    known = f"has format {FORMAT + 1}, and this evenmatch knows formats up to {FORMAT}"
    with pytest.raises(JournalCorrupt, match=known):
        SqliteJournal.open(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_read_only_directory_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(JournalUnavailable, match="cannot be opened: check that its directory"):
            SqliteJournal.open(tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalUnavailable, match=r"cannot be created: .*; name another one"):
        SqliteJournal.open(tmp_path / "file" / "data")


def test_missing_journal_is_not_made_for_a_reader(tmp_path: Path) -> None:
    with pytest.raises(JournalUnavailable, match=r"there is no journal at .*: check the path"):
        SqliteJournal.open(tmp_path / "typo", create=False)
    assert not (tmp_path / "typo").exists()


def test_two_journals_on_one_file_are_fenced(tmp_path: Path) -> None:
    async def work(journal: SqliteJournal) -> None:
        now = [1000.0]
        other = SqliteJournal.open(tmp_path, wall=lambda: now[0])
        assert await journal.lease("main", "one", 60.0) == 1
        held = r"held by 'one' until 1970-01-01T00:17:40\.000\+00:00, 60\.000 s from now"
        with pytest.raises(StaleOwner, match=held):
            await other.lease("main", "two", 60.0)
        now[0] = 1060.0
        assert await other.lease("main", "two", 60.0) == 2
        await other.append("main", "two", 2, 1, sample_records(1, 1))
        with pytest.raises(StaleOwner, match="held by 'two' in epoch 2"):
            await journal.append("main", "one", 1, 1, sample_records(1, 1))
        assert await read_all(journal) == sample_records(1, 1)
        await other.close()

    on(tmp_path, work)


def test_appends_handed_in_without_waiting_are_stored_in_that_order(tmp_path: Path) -> None:
    async def work(journal: SqliteJournal) -> list[int]:
        await journal.lease("main", "one", 60.0)
        appends = [
            journal.append("main", "one", 1, seq, sample_records(seq, 1)) for seq in range(1, 9)
        ]
        return list(await asyncio.gather(*appends))

    assert on(tmp_path, work) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_reading_goes_on_across_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, 50)
    monkeypatch.setattr(adapter, "SLICE_ROWS", 7)
    assert on(tmp_path, read_all) == sample_records(1, 50)
    monkeypatch.setattr(adapter, "SLICE_BYTES", 1)
    assert on(tmp_path, read_all) == sample_records(1, 50)


def test_record_lost_between_two_slices_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    monkeypatch.setattr(adapter, "SLICE_ROWS", 5)

    async def work(journal: SqliteJournal) -> None:
        entries = journal.read("main", 1)
        assert (await anext(entries)).record.sequence == 1
        change(tmp_path, "DELETE FROM records WHERE seq > 5")
        with pytest.raises(JournalCorrupt, match="record 6 of shard 'main' is missing"):
            async for _ in entries:
                pass

    on(tmp_path, work)


def test_empty_batch_stores_nothing_and_is_fenced_too(tmp_path: Path) -> None:
    fill(tmp_path)
    assert on(tmp_path, lambda journal: journal.append("main", "one", 1, 21, [])) == 20
    with pytest.raises(StaleOwner):
        on(tmp_path, lambda journal: journal.append("main", "two", 1, 21, []))


def test_large_record_is_stored_whole(tmp_path: Path) -> None:
    record = Record(1, Cancel(0.0, "t" * 3_000_000), ())

    async def work(journal: SqliteJournal) -> list[Record]:
        await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", 1, 1, [record])
        return await read_all(journal)

    assert on(tmp_path, work) == [record]


@pytest.mark.parametrize("ttl", [0.0, -1.0, float("inf"), float("nan")])
def test_lease_without_a_length_is_refused(tmp_path: Path, ttl: float) -> None:
    with pytest.raises(ConfigError, match="ttl must be > 0 s"):
        on(tmp_path, lambda journal: journal.lease("main", "one", ttl))


def test_closed_journal_says_so_and_closes_twice(tmp_path: Path) -> None:
    async def work(journal: SqliteJournal) -> None:
        await journal.close()
        with pytest.raises(JournalUnavailable, match="was closed: open it again"):
            await journal.last("main")

    on(tmp_path, work)


def test_closing_empties_the_log_into_the_file(tmp_path: Path) -> None:
    fill(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["journal.db", "journal.db-ends"]


def test_commits_wait_for_the_disk(tmp_path: Path) -> None:
    async def work(journal: SqliteJournal) -> tuple[str, int]:
        def modes(connection: sqlite3.Connection) -> tuple[str, int]:
            pragmas = ("PRAGMA journal_mode", "PRAGMA synchronous")
            mode, synchronous = (connection.execute(each).fetchone()[0] for each in pragmas)
            return mode, synchronous

        return await journal._writer.run(modes)

    assert on(tmp_path, work) == ("wal", 2)


def _remove(directory: Path) -> None:
    for path in directory.glob("journal.db*"):
        path.unlink()


def _rename(directory: Path) -> None:
    directory.rename(directory.with_name("elsewhere"))


def _replace(directory: Path) -> None:
    path = directory / "journal.db"
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def _remove_log(directory: Path) -> None:
    (directory / "journal.db-wal").unlink()


@pytest.mark.skipif(os.name == "nt", reason="Windows lets nobody remove an open file")
@pytest.mark.parametrize("harm", [_remove, _rename, _replace, _remove_log])
def test_files_that_are_no_longer_in_place_take_nothing(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    directory = tmp_path / "data"

    async def work(journal: SqliteJournal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, 5))
        harm(directory)
        with pytest.raises(JournalUnavailable, match="nothing more is acknowledged"):
            await journal.append("main", "one", epoch, 6, sample_records(6, 5))
        # A shard that is rebuilt from what is still open must not go on with it.
        with pytest.raises(JournalUnavailable, match="put the file back"):
            await journal.lease("main", "one", 60.0)

    on(directory, work)


@pytest.mark.skipif(os.name == "nt", reason="Windows lets nobody rename a folder in use")
def test_files_that_are_put_back_are_taken_up_again(tmp_path: Path) -> None:
    directory = tmp_path / "data"

    async def work(journal: SqliteJournal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, 5))
        directory.rename(tmp_path / "elsewhere")
        with pytest.raises(JournalUnavailable):
            await journal.append("main", "one", epoch, 6, sample_records(6, 5))
        (tmp_path / "elsewhere").rename(directory)
        epoch = await journal.lease("main", "one", 60.0)
        last, _ = await journal.last("main")
        await journal.append("main", "one", epoch, last + 1, sample_records(last + 1, 5))

    on(directory, work)


def test_damaged_names_in_the_schema_are_damage_and_no_traceback(tmp_path: Path) -> None:
    fill(tmp_path / "whole")
    body = (tmp_path / "whole" / "journal.db").read_bytes()
    # The text of the schema stands at the end of the first page.
    places = [body.index(word) + 1 for word in (b"last_seq", b"CREATE TABLE heads", b"records")]
    (tmp_path / "hurt").mkdir()
    for place in places:
        for bit in (6, 7):
            flipped = bytearray(body)
            flipped[place] ^= 1 << bit
            (tmp_path / "hurt" / "journal.db").write_bytes(flipped)
            with pytest.raises((JournalCorrupt, JournalUnavailable)):
                fill(tmp_path / "hurt")
