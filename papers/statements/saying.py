"""A statement of a paper, in a sentence, and remarks on it beside the figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from papers.shared.findings import Row, Verdict


class Judgement(NamedTuple):
    """A verdict and the words that explain it.

    Args:
        verdict: None if the paper says nothing, or nothing here can be compared with it.
        why: One or several sentences; may be empty.
        telling: The figure to show; None leaves the choice to the caller.
    """

    verdict: Verdict | None
    why: str
    telling: Row | None = None


Judge = Callable[[Sequence[Row], Mapping[str, Sequence[Row]]], Judgement]
"""Judges a statement by its own figures and by those of all others, by id."""


class PaperStatement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a paper, decided by figures that are computed and simulated for it.

    Args:
        id: Of its rows, with the paper.
        says: The statement, a sentence.
        what: The beginning of the words of its figures, if an id has several statements; a
            statement without such words gets the remaining figures.
        key: The parameter that has these words.
        condition: When it holds, for statements that hold only in some settings.
        reason: Why figures differ, as far as we know.
        mended: The right formula and why, if the printed one is wrong.
        reading: How parts that the source leaves undefined are interpreted here.
        note: Any other remark.
        unit: Half a unit of the last digit of a figure printed in the source; 0 for a printed
            formula.
        slack: Relative error of a formula that the source calls an approximation.
        is_ours: Whether the statement is ours and not in the source.
        judge: Makes the verdict if figures alone cannot.
    """

    id: str
    says: str
    what: str = ""
    key: str = "what"
    condition: str = ""
    reason: str = ""
    mended: str = ""
    reading: str = ""
    note: str = ""
    unit: float = 0.0
    slack: float = 0.0
    is_ours: bool = False
    judge: Judge | None = None


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement and its verdict, with the figures of the most telling setting.

    Args:
        id: Paper and place, such as `schlup.3` or `gamedev.a`.
        statement: The statement, a sentence.
        params: The setting of the figures that follow.
        printed: The paper's figure.
        corrected: The right figure, if the paper's formula is wrong.
        exact: The true figure, if it can be computed without chance.
        simulated: The measured figure.
        half_width: Of the 95 % confidence interval of `simulated`; 0 if there is no chance.
        verdict: None if the paper says nothing about it, or if it cannot be judged here.
        why: The condition, the difference and its reason, the right formula, the number of runs
            needed, or the interpretation.
        scenario: Name of the scenario that `evenmatch simulate` runs; None without a simulation.
        command: The command that repeats the row.
        figures: All settings, including this one.
    """

    id: str
    statement: str
    params: dict[str, Any]
    printed: float | None
    corrected: float | None
    exact: float | None
    simulated: float | None
    half_width: float | None
    verdict: Verdict | None
    why: str
    scenario: str | None
    command: str
    figures: tuple[Row, ...]

    def as_json(self) -> dict[str, Any]:
        """Return its part of the output of `--json`."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        plain["figures"] = [_plain(each) for each in self.figures]
        return plain


FIGURE_KEYS = (
    "params", "printed", "corrected", "exact", "simulated", "half_width", "runs", "scenario",
)  # fmt: skip


def _plain(figure: Row) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(figure)
    return {key: plain[key] for key in FIGURE_KEYS}
