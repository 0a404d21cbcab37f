"""The papers by name: their parts, done together, and the rows that come of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from evenmatch.errors import ConfigError
from evenmatch.lab.plots import Plot
from evenmatch.lab.study import map_all
from papers.gamedev.examples import examples
from papers.gamedev.population import population
from papers.gamedev.recorded import recorded
from papers.quick import left_out
from papers.schlup.ahead import lookahead, ticks
from papers.schlup.curves import curves
from papers.schlup.formulas import formulas
from papers.schlup.groups import groups
from papers.schlup.table3 import table3
from papers.shared.row import Effort, Findings, Part, Row, Table
from papers.shared.words import HEADS
from papers.statements.all import SAYINGS
from papers.statements.judging import statements_of
from papers.statements.pictures import pictures
from papers.statements.saying import Statement

# The longest first, so that no processor is left with one at the end.
PAPERS: dict[str, Callable[[Effort], list[Part]]] = {
    "schlup": lambda effort: [
        table3(effort),
        lookahead(effort),
        *formulas(effort),
        curves(effort),
        ticks(effort),
        groups(effort),
    ],
    "gamedev": lambda effort: [*population(effort), *examples(effort), recorded(effort)],
    "galactron": lambda effort: _galactron(effort),
    "wu": lambda effort: _wu(effort),
    "xu": lambda effort: _xu(effort),
}

Map = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Calls a function with each of the items and returns the results in their order."""


class Failure(msgspec.Struct, frozen=True):
    """A part that came to nothing.

    Args:
        ids: The rows that are missing for it.
        error: What went wrong, in a line.
        trace: Where, as Python prints it.
    """

    ids: tuple[str, ...]
    error: str
    trace: str


class Reproduction(msgspec.Struct, frozen=True):
    """A paper done again.

    Args:
        paper: Its short name.
        effort: How much work was spent.
        findings: All parts together; every row has its command.
        left_out: What `--quick` leaves out, a line for each part.
        failures: Parts without findings.
    """

    paper: str
    effort: Effort
    findings: Findings
    left_out: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def statements(self) -> list[Statement]:
        """Return what the figures say of each statement."""
        return statements_of(SAYINGS[self.paper], self.findings.rows)

    @property
    def plots(self) -> list[Plot]:
        """Return all figures: those of the parts, and those that need several of them."""
        by_id: dict[str, list[Row]] = {}
        for row in self.findings.rows:
            by_id.setdefault(row.id, []).append(row)
        return [*self.findings.plots, *pictures(self.paper, by_id)]

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints; `failures` only if there are some."""
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


def _galactron(effort: Effort) -> list[Part]:
    # Loaded here: it brings the kernels of batches, which the other papers do without.
    from papers.galactron.parts import galactron

    return galactron(effort)


def _wu(effort: Effort) -> list[Part]:
    # Loaded here: it brings scipy, which the other papers do without.
    from papers.wu.parts import wu

    return wu(effort)


def _xu(effort: Effort) -> list[Part]:
    # Loaded here: it brings scipy, which most papers do without.
    from papers.xu.parts import xu

    return xu(effort)


def parts_of(paper: str, effort: Effort, only: Sequence[str] = ()) -> list[Part]:
    """Return the parts of a paper.

    Args:
        paper: One of `PAPERS`.
        effort: How much work to spend.
        only: Ids of rows; parts without them are left out. Empty means all.

    Raises:
        ConfigError: There is no such paper, or it has no such row.
    """
    if paper not in PAPERS:
        raise ConfigError(f"paper must be one of {', '.join(PAPERS)}, got {paper[:64]}")
    parts = PAPERS[paper](msgspec.structs.replace(effort, only=tuple(only)))
    known = [each for part in parts for each in part.ids]
    for wanted in only:
        if wanted not in known:
            raise ConfigError(f"--only must be one of {', '.join(known)}, got {wanted[:64]}")
    return [part for part in parts if not only or set(only) & set(part.ids)]


def task_count(parts: Sequence[Part]) -> int:
    """Return how many tasks there are to do."""
    return sum(len(part.tasks) for part in parts)


def reproduce(
    paper: str,
    effort: Effort,
    only: Sequence[str] = (),
    map_: Map = map_all,
) -> Reproduction:
    """Do a paper again. A part that fails is named, and does not lose the others.

    Args:
        paper: One of `PAPERS`.
        effort: How much work to spend.
        only: Ids of the rows wanted; empty means all.
        map_: Where the work is done; by default a process for each processor.

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
    """Return what a task came to; a `Failure` if it raised, so that other parts go on."""
    function, task = work
    try:
        return function(task)
    except Exception as error:  # noqa: BLE001 - the outermost loop of the work: it is reported, not hidden.
        return _failure(error)


def _finish(part: Part, results: Sequence[Any]) -> Findings | Failure:
    """Return the findings of a part, or what kept it from having any."""
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
    """Yield a table of rows without those that are not wanted, if any is left.

    Other tables stay whole.
    """
    if not only or table.heads != HEADS:
        yield table
        return
    lines = tuple(line for line in table.lines if line[0] in only)
    if lines:
        yield msgspec.structs.replace(table, lines=lines)


def _joined(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return the tables; those of one title become one."""
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
