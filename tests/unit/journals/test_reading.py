"""A journal that somebody else reads: damage is told from what the server deleted meanwhile."""

import os
import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from evenmatch.engine.records import Record
from evenmatch.errors import JournalCorrupt, JournalUnavailable
from evenmatch.journals import reading
from evenmatch.journals.reading import entries, read_only
from evenmatch.journals.sqlite import FILE_NAME
from evenmatch.model.inputs import Enqueue
from evenmatch.testing.journals import sample_records
from tests.unit.lab.journals import Played


def ten_records(folder: Path) -> Path:
    world = Played()
    world.records += sample_records(1, 10)
    return world.write(folder) / FILE_NAME


def delete(path: Path, condition: str) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(f"DELETE FROM records WHERE {condition}")


def read(path: Path, meanwhile: Callable[[], None]) -> list[int]:
    """Return the records that are read, three at a time; something happens after the fourth."""
    found = []
    with read_only(path) as connection:
        for entry in entries(connection, "s0", 1, 10):
            found.append(entry.record.sequence)
            if len(found) == 4:
                meanwhile()
    return found


@pytest.fixture(autouse=True)
def three_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SLICE", 3)


@pytest.mark.parametrize("last", [8, 10])
def test_records_deleted_while_they_are_read_are_no_damage(last: int, tmp_path: Path) -> None:
    path = ten_records(tmp_path)
    with pytest.raises(JournalUnavailable, match=r"oldest records of shard 's0' while .* again"):
        read(path, lambda: delete(path, f"seq <= {last}"))


def test_records_deleted_behind_a_reader_are_not_missed(tmp_path: Path) -> None:
    path = ten_records(tmp_path)
    assert read(path, lambda: delete(path, "seq <= 6")) == [*range(1, 11)]


@pytest.mark.parametrize("condition", ["seq = 7", "seq = 8", "seq >= 7"])
def test_a_record_that_is_missing_behind_others_is_damage(condition: str, tmp_path: Path) -> None:
    path = ten_records(tmp_path)
    with pytest.raises(JournalCorrupt, match=r"record \d of shard 's0' is missing"):
        read(path, lambda: delete(path, condition))


def test_few_large_records_are_in_memory_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SLICE", 2_000)
    world = Played()
    world.records += [Record(n, Enqueue(0.0, (), key="k" * 2**20), ()) for n in range(1, 61)]
    path = world.write(tmp_path) / FILE_NAME
    world.records.clear()
    with read_only(path) as connection:
        tracemalloc.start()
        try:
            assert sum(1 for _ in entries(connection, "s0", 1, 60)) == 60
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert most < 30 * 2**20


def test_journal_in_a_closed_directory_is_read_without_files_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ten_records(tmp_path)
    before = sorted(each.name for each in tmp_path.iterdir())
    seen = []
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    found = read(path, lambda: seen.extend(sorted(each.name for each in tmp_path.iterdir())))
    assert found == [*range(1, 11)]
    assert seen == before


def test_server_that_starts_while_a_closed_directory_is_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ten_records(tmp_path)
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(JournalUnavailable, match=r"began to write .* run the command again"):
        read(path, lambda: path.with_name(f"{FILE_NAME}-wal").write_bytes(b"log"))
