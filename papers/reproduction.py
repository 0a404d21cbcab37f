"""The papers by name: run their parts, and collect the rows."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import msgspec

from evenmatch.errors import ConfigError
from evenmatch.lab.report.plots import Plot
from evenmatch.lab.study.study import map_all
from papers.shared.findings import Effort, Findings, Part, Row, Table
from papers.shared.words import HEADS
from papers.statements.judging import statements_of
from papers.statements.saying import Statement
from papers.statements.source import Source

SOURCES = ("schlup", "gamedev", "galactron", "wu", "xu")
"""Packages beside this module, each with its `Source` in a module `source`."""

LENGTHS = ("count", "duration")
"""Fields of tasks, or of their worlds, that hold the length of a run."""
IDS_MAX = 3

Map = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Calls a function with each of the items and returns the results in their order."""


class Failure(msgspec.Struct, frozen=True):
    """A part that failed.

    Args:
        ids: The rows that are missing because of it.
        error: The error, in a line.
        trace: Its traceback, as Python prints it.
    """

    ids: tuple[str, ...]
    error: str
    trace: str


class Reproduction(msgspec.Struct, frozen=True):
    """The reproduction of a paper.

    Args:
        paper: Its short name.
        effort: How much work was spent.
        findings: The results of all parts; every row has its command.
        left_out: What `--quick` leaves out, a line for each part.
        failures: Parts without results.
    """

    paper: str
    effort: Effort
    findings: Findings
    left_out: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def statements(self) -> list[Statement]:
        """Return the paper's statements with the verdicts that the figures give."""
        return statements_of(source_of(self.paper).sayings, self.findings.rows)

    @property
    def plots(self) -> list[Plot]:
        """Return all figures: those of the parts, and those that need several of them."""
        by_id: dict[str, list[Row]] = {}
        for row in self.findings.rows:
            by_id.setdefault(row.id, []).append(row)
        drawn = [draw(by_id) for draw in source_of(self.paper).pictures]
        return [*self.findings.plots, *(plot for plot in drawn if plot is not None)]

    def as_json(self) -> dict[str, Any]:
        """Return the output of `--json`; `failures` only if there are some."""
        found: dict[str, Any] = {
            "paper": self.paper,
            "seed": self.effort.seed,
            "quick": self.effort.quick,
            "rows": [each.as_json() for each in self.statements],
        }
        if self.failures:
            found["failures"] = [
                {"ids": list(each.ids), "error": each.error} for each in self.failures
            ]
        return found


def source_of(paper: str) -> Source:
    """Return the statements of a paper and the parts that check them.

    The module is imported here, by its name, so that a paper's requirements, such as scipy, are not
    needed for the others.

    Args:
        paper: One of `SOURCES`.

    Raises:
        ConfigError: There is no such paper.
    """
    if paper not in SOURCES:
        raise ConfigError(f"paper must be one of {', '.join(SOURCES)}, got {paper[:64]}")
    found: Source = import_module(f"papers.{paper}.source").SOURCE
    return found


def parts_of(paper: str, effort: Effort, only: Sequence[str] = ()) -> list[Part]:
    """Return the parts of a paper.

    Args:
        paper: One of `SOURCES`.
        effort: How much work to spend.
        only: Ids of rows; parts without them are left out. Empty means all.

    Raises:
        ConfigError: There is no such paper, or it has no such row.
    """
    parts = source_of(paper).parts(msgspec.structs.replace(effort, only=tuple(only)))
    known = [each for part in parts for each in part.ids]
    for wanted in only:
        if wanted not in known:
            raise ConfigError(f"--only must be one of {', '.join(known)}, got {wanted[:64]}")
    return [part for part in parts if not only or set(only) & set(part.ids)]


def task_count(parts: Sequence[Part]) -> int:
    """Return the total number of tasks."""
    return sum(len(part.tasks) for part in parts)


def reproduce(
    paper: str,
    effort: Effort,
    only: Sequence[str] = (),
    map_: Map = map_all,
) -> Reproduction:
    """Reproduce a paper. A part that fails is reported, and the others are kept.

    Args:
        paper: One of `SOURCES`.
        effort: How much work to spend.
        only: Ids of the requested rows; empty means all.
        map_: How the tasks are run; by default in a process for each processor.

    Raises:
        MatchmakingError: See `parts_of`.
    """
    parts = parts_of(paper, effort, only)
    work = [(part.work, task) for part in parts for task in part.tasks]
    results = map_(_do, work)
    found: list[Findings] = []
    failures: list[Failure] = []
    start = 0
    for part in parts:
        done = _finish(part, results[start : start + len(part.tasks)])
        if isinstance(done, Failure):
            failures.append(done)
        else:
            found.append(done)
        start += len(part.tasks)
    less: list[str] = []
    if effort.quick:
        less = left_out(parts, parts_of(paper, msgspec.structs.replace(effort, quick=False), only))
    rows = _together(found, paper, effort, only)
    return Reproduction(paper, effort, rows, tuple(less), tuple(failures))


def _do(work: tuple[Callable[[Any], Any], Any]) -> Any:
    """Return the result of a task; a `Failure` if it raised, so that other parts go on."""
    function, task = work
    try:
        return function(task)
    except Exception as error:  # noqa: BLE001 - the outermost loop of the work: it is reported, not hidden.
        return _failure(error)


def _finish(part: Part, results: Sequence[Any]) -> Findings | Failure:
    """Return the findings of a part, or the failure of one of its tasks."""
    for each in results:
        if isinstance(each, Failure):
            return msgspec.structs.replace(each, ids=part.ids)
    try:
        return part.finish(results)
    except Exception as error:  # noqa: BLE001 - as in `_do`.
        return msgspec.structs.replace(_failure(error), ids=part.ids)


def _failure(error: Exception) -> Failure:
    return Failure(
        (), f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error))
    )


def _together(
    found: Sequence[Findings], paper: str, effort: Effort, only: Sequence[str]
) -> Findings:
    """Return all findings as one, with the command of each row."""
    options = " --quick" * effort.quick + f" --seed {effort.seed}"
    rows = [
        msgspec.structs.replace(
            row, command=f"evenmatch reproduce {paper} --only {row.id}{options}"
        )
        for each in found
        for row in each.rows
        if not only or row.id in only
    ]
    return Findings(
        tuple(sorted(rows, key=lambda row: order(row.id))),
        _joined([kept for each in found for table in each.tables for kept in _kept(table, only)]),
        tuple(plot for each in found for plot in each.plots),
        _scenarios(found, rows),
    )


def _kept(table: Table, only: Sequence[str]) -> Iterator[Table]:
    """Yield a table of rows without those that were not requested, if any are left.

    Other tables stay whole.
    """
    if not only or table.heads != HEADS:
        yield table
        return
    lines = tuple(line for line in table.lines if line[0] in only)
    if lines:
        yield msgspec.structs.replace(table, lines=lines)


def _joined(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables, with those of the same title joined."""
    lines: dict[str, tuple[tuple[str, ...], ...]] = {}
    for each in tables:
        lines[each.title] = lines.get(each.title, ()) + each.lines
    first = {each.title: each for each in reversed(tables)}
    return tuple(
        msgspec.structs.replace(first[title], lines=those) for title, those in lines.items()
    )


def _scenarios(found: Sequence[Findings], rows: Sequence[Row]) -> dict[str, str]:
    """Return the scenarios that rows name, and the files of arrivals that these read."""
    known = {name: text for each in found for name, text in each.scenarios.items()}
    named = {row.scenario: known[row.scenario] for row in rows if row.scenario is not None}
    read = {
        name: text
        for name, text in known.items()
        if any(f'file = "{name}"' in scenario for scenario in named.values())
    }
    return named | read


def order(row_id: str) -> tuple[int, str]:
    """Return the key that puts numbered formulas first, in their order.

    >>> sorted(["schlup.table3", "schlup.9", "schlup.10"], key=order)
    ['schlup.9', 'schlup.10', 'schlup.table3']
    """
    place = row_id.partition(".")[2]
    return (int(place), "") if place.isdigit() else (1000, place)


def left_out(quick: Sequence[Part], full: Sequence[Part]) -> list[str]:
    """Return what the parts omit with `--quick`, a line for each part that omits something.

    Args:
        quick: The parts as they are run.
        full: The same parts without `--quick`.
    """
    return [
        f"{_ids(few)}: {words}"
        for few, many in zip(quick, full, strict=True)
        if (words := _less(few.tasks, many.tasks))
    ]


def _ids(part: Part) -> str:
    shown = ", ".join(part.ids[:IDS_MAX])
    return f"{shown} and {len(part.ids) - IDS_MAX} more" if len(part.ids) > IDS_MAX else shown


def _less(quick: Sequence[Any], full: Sequence[Any]) -> str:
    parts = []
    if len(quick) < len(full):
        parts.append(f"{len(quick):,} of {len(full):,} runs")
    few, many = _length(quick), _length(full)
    if few and many and few < 0.99 * many:
        parts.append(f"each {100.0 * few / many:.2g} % as long")
    if not parts and list(quick) != list(full):
        parts.append("a part of each run")
    return ", ".join(parts)


def _length(tasks: Sequence[Any]) -> float | None:
    """Return the mean length of the tasks, if tasks have a length."""
    lengths = [_of(task) for task in tasks]
    known = [each for each in lengths if each is not None]
    return sum(known) / len(known) if known else None


def _of(task: Any) -> float | None:
    for owner in (task, getattr(task, "world", None)):
        for name in LENGTHS:
            value = getattr(owner, name, None)
            if isinstance(value, int | float):
                return float(value)
    return None
