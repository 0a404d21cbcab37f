"""Journals of older versions are recovered, exported and told of as on their own day."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from evenmatch.cli.main import main
from evenmatch.engine.records import FORMAT
from evenmatch.journals.base import Segment
from tests.golden.journals.stored import NAMES, expected, forget_snapshots, read, unpack


def test_every_format_that_was_shipped_is_kept() -> None:
    shipped = range(3, FORMAT + 1)
    kinds = ("duels_and_squads", "heroes")
    assert {f"{kind}-format{number}" for kind in kinds for number in shipped} == set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(f"-format{FORMAT}")])
def test_journal_of_this_version_says_so(name: str, tmp_path: Path) -> None:
    data = unpack(name, tmp_path)
    with closing(sqlite3.connect(data / "journal.db")) as journal:
        assert journal.execute("PRAGMA user_version").fetchone() == (FORMAT,)
        (body,) = journal.execute("SELECT body FROM segments ORDER BY seq DESC").fetchone()
    assert msgspec.json.decode(body, type=Segment).format == FORMAT


@pytest.mark.parametrize("name", NAMES)
def test_tickets_and_matches_are_those_of_the_day(name: str, tmp_path: Path) -> None:
    found, then = read(unpack(name, tmp_path)), expected(name)
    assert found.keys() == then.keys()
    for part in then:
        assert found[part] == then[part], part


@pytest.mark.parametrize("name", NAMES)
def test_records_alone_tell_the_same(name: str, tmp_path: Path) -> None:
    data = unpack(name, tmp_path)
    forget_snapshots(data)
    assert read(data) == expected(name)


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_exported(name: str, tmp_path: Path) -> None:
    data, out = unpack(name, tmp_path), tmp_path / "trace.csv"
    assert main(["export", str(data), "--out", str(out)]) == 0
    made = sum(isinstance(each, dict) for each in expected(name)["matches"].values())
    lines = (tmp_path / "trace.matches.jsonl").read_text().splitlines()
    assert len(lines) == made
