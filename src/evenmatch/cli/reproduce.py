"""`evenmatch reproduce`: do a paper again, statement by statement."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from evenmatch.cli.options import Whole
from evenmatch.cli.output import console, print_json
from evenmatch.cli.progress import progress
from evenmatch.errors import ConfigError, NotSupported
from papers.reproduction import Failure, Reproduction
from papers.shared.row import Effort, Table
from papers.statements.judging import lines_of, verdict_of

SEED_MAX = 2**62


def reproduce(
    paper: str,
    /,
    *,
    quick: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    out: Path | None = None,
    seed: Whole = 0,
    only: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
) -> int:
    """Check a paper: compare each of its statements with what is computed and simulated.

    Parts that fail are named on standard error; the others are printed, and the exit code is 1.

    For example:

        evenmatch reproduce schlup --quick --out schlup

    Args:
        paper: `schlup` (Automatic Game Matching), `gamedev` (the thread "Matching players in an
            online 1vs1 game"), `galactron` (the blog on the matchmaking of Awesomenauts), `wu`
            (Dynamic Matching With Teams) or `xu` (Rule Designs for Optimal Online Game
            Matchmaking).
        quick: Take fewer and shorter sequences: a minute on one core rather than many. What is
            left out is printed.
        json: Print one JSON object and nothing else.
        out: Write report.html, rows.csv and rows.json into this folder, and figures and scenarios
            of the rows that have some.
        seed: Sequence i is drawn from seed + i.
        only: Id of rows, such as schlup.table3; the others are left out. May be repeated.
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
    """Say which rows are missing and why; return the exit code."""
    for each in failures:
        print(each.trace, end="", file=sys.stderr)
        print(f"evenmatch: {', '.join(each.ids)} failed: {each.error}", file=sys.stderr)
    return 1 if failures else 0


def _check_folder(out: Path) -> None:
    """Refuse what cannot be written, before the long work rather than after it."""
    from evenmatch.lab.report import check_installed

    check_installed("--out")
    if out.exists() and not out.is_dir():
        raise ConfigError(f"--out: {out} is a file; name a folder")
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"--out: {out} cannot be made: the folder above it does not exist")


def _work(paper: str, effort: Effort, only: Sequence[str]) -> Reproduction:
    from evenmatch.lab.study import map_all
    from papers.reproduction import parts_of, reproduce, task_count

    total = task_count(parts_of(paper, effort, only))
    with progress(f"reproducing {paper}", total) as on_done:

        def map_(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
            return map_all(function, items, on_done)

        return reproduce(paper, effort, only, map_)


def _command(paper: str, effort: Effort, only: Sequence[str]) -> str:
    words = ["evenmatch reproduce", paper, *(f"--only {each}" for each in only)]
    return " ".join([*words, *(["--quick"] if effort.quick else []), f"--seed {effort.seed}"])


def _print(done: Reproduction, only: Sequence[str], out: Path | None) -> None:
    from papers.shared.words import HEADS, told_of

    screen = console()
    for place, each in enumerate(done.statements):
        if place:
            screen.print()
        screen.print(f"{each.id}  {verdict_of(each)}", style="bold", soft_wrap=True)
        for line in lines_of(each):
            screen.print(f"  {line}", soft_wrap=True)
    for each_table in done.findings.tables:
        # Rows of figures are many; a folder has them all.
        if only or each_table.heads != HEADS:
            _print_table(each_table)
    screen.print(f"\n{told_of(each.verdict for each in done.statements)}", soft_wrap=True)
    for line in done.left_out:
        screen.print(f"--quick: {line}", style="dim", soft_wrap=True)
    if out is not None:
        screen.print(f"\n{_written(done, out)}", soft_wrap=True)


def _print_table(found: Table) -> None:
    from rich.table import Table as Shown

    from papers.shared.words import is_text

    screen = console()
    screen.print(f"\n{found.title}", style="bold", soft_wrap=True)
    screen.print(found.text, style="dim", soft_wrap=True)
    table = Shown(box=None, pad_edge=False)
    for place, head in enumerate(found.heads):
        # The last is at the right whatever it holds, so that no line ends in spaces.
        is_left = head != found.heads[-1] and is_text(place, found.heads)
        table.add_column(head, justify="left" if is_left else "right", overflow="fold")
    for line in found.lines:
        table.add_row(*line)
    screen.print(table)


def _written(done: Reproduction, out: Path) -> str:
    """Return what the folder holds; not every part of a paper has figures or scenarios."""
    found = done.findings
    folders = (("figures", done.plots), ("scenarios", found.scenarios))
    beside = " and ".join(f"{name}/" for name, files in folders if files)
    told = f"all rows: {out / 'report.html'}, with rows.csv, rows.json and figures.csv beside it"
    return f"{told}, and {beside}" if beside else told
