"""The witness finds what SQLite itself takes for the regular end of its log."""

import os
import shutil
from pathlib import Path

import pytest

from evenmatch.errors import JournalCorrupt, JournalUnavailable
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.testing.journals import flip_bit, sample_records
from tests.unit.journals.test_sqlite import fill, on, read_all


def crash_copy(source: Path, target: Path) -> None:
    """Fill a journal and copy its files while it is open, as a killed process leaves them."""

    async def work(journal: SqliteJournal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        for seq in range(1, 101):
            await journal.append("main", "one", epoch, seq, sample_records(seq, 1))
        target.mkdir()
        for name in ("journal.db", "journal.db-wal", "journal.db-ends"):
            shutil.copy(source / name, target / name)

    on(source, work)


def files(directory: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in directory.iterdir()}


def test_killed_process_leaves_all_that_was_acknowledged(tmp_path: Path) -> None:
    crash_copy(tmp_path / "a", tmp_path / "b")
    assert on(tmp_path / "b", read_all) == sample_records(1, 100)


@pytest.mark.parametrize("harm", ["flip", "truncate", "delete"])
def test_damaged_log_is_found(tmp_path: Path, harm: str) -> None:
    crash_copy(tmp_path / "a", tmp_path / "b")
    log = tmp_path / "b" / "journal.db-wal"
    size = log.stat().st_size
    if harm == "flip":
        log.write_bytes(flip_bit(log.read_bytes(), 4 * size))
    elif harm == "truncate":
        os.truncate(log, size // 2)
    else:
        log.unlink()
    before = files(tmp_path / "b")
    for _ in range(2):
        with pytest.raises(JournalCorrupt, match=r"but records up to 100 were .* copy the whole"):
            SqliteJournal.open(tmp_path / "b")
        assert files(tmp_path / "b") == before


def test_refused_start_leaves_what_could_be_saved(tmp_path: Path) -> None:
    """The flipped bit is flipped back, and everything is there again."""
    crash_copy(tmp_path / "a", tmp_path / "b")
    log = tmp_path / "b" / "journal.db-wal"
    intact = log.read_bytes()
    for place in range(50_000, 8 * len(intact), 8 * len(intact) // 20):
        log.write_bytes(flip_bit(intact, place))
        before = files(tmp_path / "b")
        with pytest.raises(JournalCorrupt):
            SqliteJournal.open(tmp_path / "b")
        assert files(tmp_path / "b") == before
    log.write_bytes(intact)
    assert on(tmp_path / "b", read_all) == sample_records(1, 100)


@pytest.mark.parametrize("harm", ["header", "page"])
def test_log_damaged_from_its_start_is_refused_unchanged(tmp_path: Path, harm: str) -> None:
    crash_copy(tmp_path / "a", tmp_path / "b")
    log = tmp_path / "b" / "journal.db-wal"
    log.write_bytes(flip_bit(log.read_bytes(), 70 if harm == "header" else 8 * 5000))
    before = files(tmp_path / "b")
    with pytest.raises(JournalCorrupt):
        SqliteJournal.open(tmp_path / "b")
    assert files(tmp_path / "b") == before


def test_journal_in_use_by_another_is_not_accused(tmp_path: Path) -> None:
    async def work(journal: SqliteJournal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        for seq in range(1, 30):
            await journal.append("main", "one", epoch, seq, sample_records(seq, 1))
            other = SqliteJournal.open(tmp_path, create=False)
            assert len(await read_all(other)) == seq
            await other.close()

    on(tmp_path, work)


@pytest.mark.parametrize("harm", [b"", b"00000000 {}", b"\xff" * 40])
def test_damaged_witness_accuses_nobody(tmp_path: Path, harm: bytes) -> None:
    fill(tmp_path)
    (tmp_path / "journal.db-ends").write_bytes(harm)
    assert on(tmp_path, read_all) == sample_records(1, 20)


def test_witness_that_cannot_be_written_refuses_no_batch(tmp_path: Path) -> None:
    async def work(journal: SqliteJournal) -> int:
        (tmp_path / "journal.db-ends").mkdir()
        epoch = await journal.lease("main", "one", 60.0)
        return await journal.append("main", "one", epoch, 1, sample_records(1, 1))

    assert on(tmp_path, work) == 1
    with pytest.raises(JournalUnavailable, match=r"journal\.db-ends cannot be read"):
        on(tmp_path, read_all)


def test_older_copy_in_the_same_place_is_found(tmp_path: Path) -> None:
    fill(tmp_path)
    older = (tmp_path / "journal.db").read_bytes()
    on(tmp_path, lambda journal: journal.append("main", "one", 1, 21, sample_records(21, 1)))
    (tmp_path / "journal.db").write_bytes(older)
    with pytest.raises(JournalCorrupt, match=r"delete journal\.db-ends to go on without"):
        SqliteJournal.open(tmp_path)
    (tmp_path / "journal.db-ends").unlink()
    assert on(tmp_path, read_all) == sample_records(1, 20)


def test_witness_without_a_journal_refuses_to_begin_anew(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "journal.db").unlink()
    before = files(tmp_path)
    with pytest.raises(JournalCorrupt, match="ends shard 'main' at record 0"):
        SqliteJournal.open(tmp_path)
    assert files(tmp_path) == before
