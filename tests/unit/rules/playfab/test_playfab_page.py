"""The reference page on PlayFab says all that there is, and names tests that there are."""

import re

import pytest

from evenmatch.rules.playfab.rule_reader import READERS
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "reference" / "playfab.md").read_text(encoding="utf-8")
SOURCES = ROOT / "src" / "evenmatch" / "rules" / "playfab"
BESIDE = {"User", "Value", "Overrides", "Custom", "Linear"}
"""Words of the reader that are values, or parts of keys."""
NAMED = sorted(set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)))


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_type_of_rule_has_a_row() -> None:
    assert re.findall(r"^\| `(\w+)` \|", section("Types of rules"), re.M) == list(READERS)


def test_every_key_that_is_read_is_named() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCES.glob("*_reader.py"))
    text += (SOURCES / "reader.py").read_text(encoding="utf-8")
    keys = set(re.findall(r'"((?:[A-Z][a-z]+){1,6})"', text)) - BESIDE
    assert len(keys) > 30
    readable = {key for key in keys if not key.endswith(("Rules", "Queues"))}
    assert [key for key in sorted(readable) if not re.search(rf"\b{key}\b", PAGE)] == []


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_named_test_exists(file: str, name: str) -> None:
    (path,) = [
        each for each in (ROOT / "tests" / "unit").rglob(file) if "flexmatch" not in each.parts
    ]
    assert f"def {name}(" in path.read_text(encoding="utf-8")


def test_every_row_of_a_table_has_a_test() -> None:
    assert len(NAMED) > 25
    for title in ("Types of rules", "Fields", "Expansions"):
        rows = [line for line in section(title).splitlines() if line.startswith("| ")][1:]
        assert all("::test_" in row for row in rows)
