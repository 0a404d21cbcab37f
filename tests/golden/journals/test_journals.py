"""Journals of older versions are recovered, exported and told of as on their own day."""

from pathlib import Path

import pytest

from evenmatch.cli.main import main
from tests.golden.journals.stored import NAMES, expected, forget_snapshots, read, unpack


def test_every_format_that_was_shipped_is_kept() -> None:
    assert {"duels_and_squads-format3", "heroes-format3"} <= set(NAMES)


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
