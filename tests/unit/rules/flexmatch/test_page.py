"""The reference page on FlexMatch says all that there is, and names tests that there are."""

import re
from pathlib import Path
from typing import get_args

import pytest

from evenmatch.rules.flexmatch.checker import judgement
from evenmatch.rules.flexmatch.checker.match import Readings
from evenmatch.rules.flexmatch.expansion_reader import ALGORITHM_FIELDS, RULE_FIELDS, TEAM_FIELDS
from evenmatch.rules.flexmatch.expressions import FUNCTIONS
from evenmatch.rules.flexmatch.rule_reader import READERS
from evenmatch.rules.flexmatch.rule_set import CollectionOperation
from evenmatch.rules.flexmatch.statements import OPERATORS
from tests.shared import ROOT

RULE_KEYS = sorted({key for fields in RULE_FIELDS.values() for key in fields})
PAGE = (ROOT / "docs" / "reference" / "flexmatch.md").read_text(encoding="utf-8")
HERE = Path(__file__).parent
NAMED = sorted(set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)))


def rows(title: str) -> str:
    """Return the first column of the table of a section."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return "\n".join(line.split(" | ")[0] for line in section.splitlines() if line[:2] == "| ")


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Types of rules", [*READERS, *get_args(CollectionOperation)]),
        ("Expressions", [*FUNCTIONS, "teams", "players", "playerId", "attributes"]),
        ("Expansions", [*TEAM_FIELDS, *ALGORITHM_FIELDS, *RULE_KEYS]),
    ],
)  # fmt: skip
def test_table_names_all_there_is(title: str, words: list[str]) -> None:
    assert len(words) > 5
    missing = [word for word in words if not re.search(rf"\b{word}\b", rows(title))]
    assert missing == []


def test_operators_are_named() -> None:
    section = PAGE.partition("\n## Types of rules\n")[2].partition("\n## ")[0]
    assert all(f"`{each}`" in section for each in OPERATORS)


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_named_test_exists(file: str, name: str) -> None:
    paths = [*HERE.rglob(file), *HERE.parent.glob(file)] or (ROOT / "tests").rglob(file)
    assert any(f"def {name}(" in path.read_text(encoding="utf-8") for path in paths)


def test_every_row_of_the_language_has_a_test() -> None:
    assert len(NAMED) > 30
    for title in ("Types of rules", "Expressions", "Expansions"):
        section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        lines = [line for line in section.splitlines() if line.startswith("| `")]
        assert all("::test_" in line for line in lines)


def test_readings_are_those_of_the_checker() -> None:
    section = PAGE.partition("\n## How unclear parts are read\n")[2]
    chosen = section[section.index("- ") :]
    own = (judgement.__doc__ or "").partition("- ")[2]
    assert own
    assert " ".join(f"- {own}".split()) == " ".join(chosen.split())


def test_every_switch_is_named_by_its_reading() -> None:
    assert all(f"`Readings.{name}`" in PAGE for name in Readings.__struct_fields__)
