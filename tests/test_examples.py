"""Every example runs from top to bottom and prints what stands in its `.out` file."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import evenmatch
from tests.extent import kept

EXAMPLES = Path(__file__).parent.parent / "examples"
NUMBERED = sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))


def test_there_are_examples() -> None:
    assert len(NUMBERED) >= 3


DEAR = ("01_simulate", "07_price_of_fair_play")
"""They take seconds each; `make test` looks whether all that they import is there."""


@pytest.mark.parametrize("example", NUMBERED, ids=lambda path: path.stem)
def test_example_imports_what_there_is(example: Path) -> None:
    for node in ast.walk(ast.parse(example.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evenmatch"):
            module = importlib.import_module(node.module or "")
            assert [each.name for each in node.names if not hasattr(module, each.name)] == []
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "evenmatch":
            assert hasattr(evenmatch, node.attr), node.attr


@pytest.mark.parametrize(
    "example", kept(NUMBERED, lambda at: NUMBERED[at].stem not in DEAR), ids=lambda path: path.stem
)
def test_example_prints_what_its_out_file_says(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(example)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "error", "COLUMNS": "80"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == example.with_suffix(".out").read_text(encoding="utf-8")


def test_how_to_quotes_what_its_example_prints() -> None:
    page = EXAMPLES.parent / "docs" / "howto" / "stop-sniping-and-boosting.md"
    printed = (EXAMPLES / "07_price_of_fair_play.out").read_text(encoding="utf-8")

    assert f"```\n{printed}```" in page.read_text(encoding="utf-8")


def test_every_out_file_belongs_to_an_example() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.out")} == {path.stem for path in NUMBERED}
