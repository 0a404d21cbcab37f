"""Every example runs from top to bottom and prints what stands in its `.out` file."""

import ast
import importlib
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenmatch
from evenmatch.wire.tickets import CreateTicket, Problem, TicketCreated, TicketState
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


class BotClient:
    """A server that answers a bot as a test says."""

    def __init__(self, *given: object, **options: object) -> None:
        del given, options

    def __enter__(self) -> "BotClient":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def create(self, ticket: CreateTicket) -> TicketCreated:
        return TicketCreated("s0-1", "waiting", ("duel",), 0.0)

    def events(self, ticket: str) -> Iterator[TicketState]:
        yield TicketState(ticket, "proposed", 1.0, None, "s0-m1", None)
        yield TicketState(ticket, "waiting", 1.0, None, None, None)
        yield TicketState(ticket, "expired", 9.0, "deadline", None, None)

    def accept(self, match: str, ticket: str) -> None:
        raise evenmatch.ServerRefused(410, Problem("proposal_over", f"{match} has failed"))


def test_bot_goes_on_when_a_proposal_is_over_before_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evenmatch, "Client", BotClient)
    play = runpy.run_path(str(EXAMPLES / "bot.py"))["play"]
    assert list(play("http://here", "ada")) == ["ada waits as s0-1", "ada goes home: deadline"]


def test_how_to_quotes_what_its_example_prints() -> None:
    page = EXAMPLES.parent / "docs" / "howto" / "stop-sniping-and-boosting.md"
    printed = (EXAMPLES / "07_price_of_fair_play.out").read_text(encoding="utf-8")

    assert f"```\n{printed}```" in page.read_text(encoding="utf-8")


def test_every_out_file_belongs_to_an_example() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.out")} == {path.stem for path in NUMBERED}
