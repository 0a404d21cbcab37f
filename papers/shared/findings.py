"""A row: one figure of a statement, beside what is computed and what is simulated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from evenmatch.lab.report.plots import Plot

Verdict = Literal[
    "holds", "holds if", "differs", "wrong in print", "unresolved", "undefined in the source"
]
"""Verdicts on a statement; all except the first are explained in words."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of a paper's statement, in one setting, beside our results.

    Args:
        id: Paper and place, such as `schlup.3` or `gamedev.a`.
        params: The setting of the figures.
        printed: The paper's figure.
        corrected: The right figure, if the paper's formula is wrong.
        exact: The true figure, if it can be computed without chance.
        simulated: The measured figure.
        half_width: Of the 95 % confidence interval of `simulated`; 0 if there is no chance.
        verdict: The verdict of this figure on its statement; None if nothing is printed, or if it
            cannot be judged here.
        runs: How many runs `half_width` comes from; 0 if they were not counted.
        aim: The value that `simulated` has to exceed, if the statement is that something is more.
        scenario: Name of the scenario that `evenmatch simulate` runs; None without a simulation.
        command: The command that repeats the row.
    """

    id: str
    params: dict[str, Any] = {}
    printed: float | None = None
    corrected: float | None = None
    exact: float | None = None
    simulated: float | None = None
    half_width: float | None = None
    verdict: Verdict | None = None
    scenario: str | None = None
    command: str = ""
    runs: int = 0
    aim: float | None = None


def judged(
    printed: float,
    *,
    truth: float,
    half_width: float = 0.0,
    corrected: float | None = None,
    slack: float = 0.0,
) -> Verdict:
    """Return the verdict on a printed figure.

    Args:
        printed: The paper's figure.
        truth: Exact or simulated.
        half_width: Possible error of the truth.
        corrected: The figure of the corrected formula, if the printed one is wrong.
        slack: Relative error that an approximation may have.

    >>> judged(0.0337, truth=0.0066, half_width=0.0002, corrected=0.0067)
    'wrong in print'
    """

    def agrees(figure: float) -> bool:
        # Half a unit of the last digit of a table does not count as a disagreement.
        return math.isclose(figure, truth, rel_tol=slack, abs_tol=half_width)

    if agrees(printed) and (corrected is None or math.isclose(printed, corrected)):
        return "holds"
    if corrected is not None and agrees(corrected):
        return "wrong in print"
    return "differs"


class Table(msgspec.Struct, frozen=True):
    """Rows side by side, for people to read.

    Args:
        title: A few words.
        text: What the table shows, in sentences.
        heads: Names of the columns.
        lines: The texts of each line, as many as heads.
    """

    title: str
    text: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


class Findings(msgspec.Struct, frozen=True):
    """The results of a part of a paper.

    Args:
        rows: Every figure.
        tables: The same for people to read.
        plots: The same as plots.
        scenarios: TOML texts by the names that rows give.
    """

    rows: tuple[Row, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    scenarios: dict[str, str] = {}


RowsByID = Mapping[str, Sequence[Row]]
"""All figures of a paper, by the ids of their statements."""


class Part(msgspec.Struct, frozen=True):
    """A part of a paper that can be repeated by itself.

    Args:
        ids: The ids of its rows.
        work: A module-level function that does one task; it may run in another process.
        tasks: Its arguments.
        finish: Makes the findings from the results, in the order of the tasks.
    """

    ids: tuple[str, ...]
    work: Callable[[Any], Any]
    tasks: Sequence[Any]
    finish: Callable[[Sequence[Any]], Findings]


class Effort(msgspec.Struct, frozen=True):
    """How much work to spend, and with which seed.

    Args:
        quick: Whether to run fewer sequences.
        seed: Sequence i is drawn from seed + i.
        only: Ids of the requested rows, which some sentences mention; empty means all.
    """

    quick: bool
    seed: int
    only: tuple[str, ...] = ()
