"""What a paper says, in a sentence, and what is known of it beside the figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from papers.shared.findings import Row, Verdict


class Judgement(NamedTuple):
    """A verdict and the words that explain it.

    Args:
        verdict: None where the paper says nothing, or nothing here can be held against it.
        why: A sentence or some; may be empty.
        telling: The figure to show; None leaves the choice to others.
    """

    verdict: Verdict | None
    why: str
    telling: Row | None = None


Judge = Callable[[Sequence[Row], Mapping[str, Sequence[Row]]], Judgement]
"""Judges a statement by its own figures and by those of all others, by id."""


class PaperStatement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a paper. Figures that are computed and simulated for it decide on it.

    Args:
        id: Of its rows, with the paper.
        says: The statement, a sentence.
        what: How the words of its figures begin, where an id has several statements; the one
            without such words takes what the others leave.
        key: The parameter whose words these are.
        condition: When it holds; for statements that hold in some settings alone.
        reason: Why figures differ, as far as we see.
        mended: The right formula and why, where the print is wrong.
        reading: How what the source leaves undefined is read here.
        note: What else there is to know.
        unit: Half a unit of the last digit of a figure printed in the source; 0 where what is
            printed is a formula.
        slack: Relative error of a formula that the source calls an approximation.
        is_ours: Whether the source doesn't have it.
        judge: Decides where figures by themselves can't.
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
    """A statement and its verdict. Figures are those of the setting that says most.

    Args:
        id: Paper and place, such as `schlup.3` or `gamedev.a`.
        statement: What the paper says, a sentence.
        params: The setting of the figures that follow.
        printed: What the paper says.
        corrected: What it should say, where its formula is wrong.
        exact: What is true, where it can be computed without chance.
        simulated: What was measured.
        half_width: Of the 95 % confidence interval of `simulated`; 0 where there is no chance.
        verdict: None where the paper says nothing of it, or where it cannot be judged here.
        why: The condition, the difference and its reason, the right formula, the number of runs
            that would decide, or the reading taken.
        scenario: Name of the scenario that `evenmatch simulate` runs; None without a simulation.
        command: The one that repeats the row.
        figures: All settings, this one too.
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
        """Return what `--json` prints of it."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        plain["figures"] = [_plain(each) for each in self.figures]
        return plain


FIGURE_KEYS = (
    "params", "printed", "corrected", "exact", "simulated", "half_width", "runs", "scenario",
)  # fmt: skip


def _plain(figure: Row) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(figure)
    return {key: plain[key] for key in FIGURE_KEYS}
