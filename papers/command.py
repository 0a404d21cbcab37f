"""The command `evenmatch reproduce`: the work with its progress, the tables, the folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evenmatch.cli.output import console, print_json
from evenmatch.cli.progress import progress
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.lab.report.report import check_installed
from evenmatch.lab.study.study import map_all
from papers.reproduction import Failure, Reproduction, parts_of, reproduce, task_count
from papers.shared.findings import Effort, Table
from papers.shared.words import HEADS, is_text, told_of
from papers.statements.judging import lines_of, verdict_of

SEED_MAX = 2**62


def run(
    paper: str, *, quick: bool, seed: int, only: Sequence[str], out: Path | None, json: bool
) -> int:
    """Check a paper, print the results, and return the exit code.

    Args:
        paper: Its short name.
        quick: Whether to use fewer and shorter sequences.
        seed: Sequence i is drawn from seed + i.
        only: Ids of the requested rows; empty means all.
        out: The folder of the report; None writes none.
        json: Whether to print one JSON object and nothing else.

    Raises:
        ConfigError: An argument cannot be used.
        NotSupported: A package is not installed.
    """
    if find_spec("numba") is None:
        raise NotSupported("reproduce needs more packages: pip install 'evenmatch[solve]'")
    if not 0 <= seed <= SEED_MAX:
        raise ConfigError(f"--seed must be from 0 to {SEED_MAX}, got {seed}")
    if out is not None:
        _check_folder(out)
    done = _work(paper, Effort(quick, seed), only)
    if out is not None:
        from papers.report.folder import write_folder

        write_folder(out, done, _command(paper, done.effort, only))
    if json:
        print_json(done.as_json())
    else:
        _print(done, only, out)
    return _tell_failures(done.failures)


def _tell_failures(failures: Sequence[Failure]) -> int:
    """Report which rows are missing and why; return the exit code."""
    for each in failures:
        print(each.trace, end="", file=sys.stderr)
        print(f"evenmatch: {', '.join(each.ids)} failed: {each.error}", file=sys.stderr)
    return 1 if failures else 0


def _check_folder(out: Path) -> None:
    """Refuse a folder that cannot be written, before the long work instead of after it."""
    check_installed("--out")
    if out.exists() and not out.is_dir():
        raise ConfigError(f"--out: {out} is a file; name a folder")
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"--out: {out} cannot be made: the folder above it does not exist")


def _work(paper: str, effort: Effort, only: Sequence[str]) -> Reproduction:
    total = task_count(parts_of(paper, effort, only))
    with progress(f"reproducing {paper}", total) as on_done:

        def map_(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
            return map_all(function, items, on_done)

        return reproduce(paper, effort, only, map_)


def _command(paper: str, effort: Effort, only: Sequence[str]) -> str:
    words = ["evenmatch reproduce", paper, *(f"--only {each}" for each in only)]
    return " ".join([*words, *(["--quick"] if effort.quick else []), f"--seed {effort.seed}"])


def _print(done: Reproduction, only: Sequence[str], out: Path | None) -> None:
    screen = console()
    for place, each in enumerate(done.statements):
        if place:
            screen.print()
        screen.print(f"{each.id}  {verdict_of(each)}", style="bold", soft_wrap=True)
        for line in lines_of(each):
            screen.print(f"  {line}", soft_wrap=True)
    for each_table in done.findings.tables:
        # There are many rows of figures; the folder has them all.
        if only or each_table.heads != HEADS:
            _print_table(each_table)
    screen.print(f"\n{told_of(each.verdict for each in done.statements)}", soft_wrap=True)
    for line in done.left_out:
        screen.print(f"--quick: {line}", style="dim", soft_wrap=True)
    if out is not None:
        screen.print(f"\n{_written(done, out)}", soft_wrap=True)


def _print_table(found: Table) -> None:
    from rich.table import Table as Shown

    screen = console()
    screen.print(f"\n{found.title}", style="bold", soft_wrap=True)
    screen.print(found.text, style="dim", soft_wrap=True)
    table = Shown(box=None, pad_edge=False)
    for place, head in enumerate(found.heads):
        # The last column is right-aligned whatever it holds, so that no line ends in spaces.
        is_left = head != found.heads[-1] and is_text(place, found.heads)
        table.add_column(head, justify="left" if is_left else "right", overflow="fold")
    for line in found.lines:
        table.add_row(*line)
    screen.print(table)


def _written(done: Reproduction, out: Path) -> str:
    """Return what the folder contains; not every part of a paper has figures or scenarios."""
    found = done.findings
    folders = (("figures", done.plots), ("scenarios", found.scenarios))
    beside = " and ".join(f"{name}/" for name, files in folders if files)
    told = f"all rows: {out / 'report.html'}, with rows.csv, rows.json and figures.csv beside it"
    return f"{told}, and {beside}" if beside else told
