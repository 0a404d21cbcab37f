"""From formulas, exact figures and estimates to rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Row, Verdict, judged
from papers.xu.trial import THREE_ERRORS

Figure = Fraction | float
DIGITS = 1e-10
"""Relative error that a formula may have compared with an exact chain."""
FAR = 2.25
"""Distance in 95 % half-widths, about 4.5 standard errors, that chance never puts between a figure
and its estimate; one of many may well be three errors away."""
CHANCE = {"drawn": "by the seed"}
"""How rows mark the settings that the seed chooses."""


def tell(
    row_id: str,
    what: str,
    *,
    printed: Figure | None = None,
    corrected: Figure | None = None,
    exact: Figure | None = None,
    found: Estimate | None = None,
    verdict: Verdict | None = None,
    scenario: str | None = None,
    **params: Any,
) -> Row:
    """Return a row.

    Args:
        row_id: Its id without the paper.
        what: What the figure is, in words.
        printed: The paper's figure.
        corrected: The figure of the corrected formula; None if the printed one is right.
        exact: The true figure, known without randomness.
        found: The simulated figure.
        verdict: The verdict on the paper's words, if figures alone do not give it.
        scenario: The file that was simulated.
        params: The setting.
    """
    if verdict is None and printed is not None:
        verdict = _verdict(float(printed), _float(corrected), _float(exact), found)
    return Row(
        id=f"xu.{row_id}",
        params={**params, "what": what},
        printed=_float(printed),
        corrected=_float(corrected),
        exact=_float(exact),
        simulated=None if found is None else found.value,
        half_width=None if found is None else found.half_width,
        verdict=verdict,
        scenario=scenario,
    )


def _verdict(
    printed: float, corrected: float | None, exact: float | None, found: Estimate | None
) -> Verdict:
    if exact is not None:
        slack = dict.fromkeys(("slack", "half_width"), DIGITS)
        return judged(printed, truth=exact, corrected=corrected, **slack)
    assert found is not None, "a printed figure is compared with something"
    width = THREE_ERRORS * found.half_width
    return judged(printed, truth=found.value, half_width=width, corrected=corrected)


def _float(value: Figure | None) -> float | None:
    return None if value is None else float(value)


def said(is_so: bool) -> Verdict:
    """Return the verdict on words that figures confirm, or do not."""
    return "holds" if is_so else "differs"


def is_near(found: Estimate, exact: Figure | None) -> bool:
    """Return whether a simulated figure may be an estimate of an exact one."""
    return exact is not None and abs(found.value - float(exact)) <= FAR * found.half_width


def agreement(rows: Iterable[Row], effort: Effort) -> str:
    """Return how many simulated figures are near the exact ones, as a sentence."""
    pairs = [
        (row.exact, row.simulated, row.half_width)
        for row in rows
        if row.exact is not None and row.simulated is not None and row.half_width
        if not effort.only or row.id in effort.only
    ]
    near = sum(abs(exact - found) <= THREE_ERRORS * width for exact, found, width in pairs)
    told = (
        f"Of {len(pairs)} simulated figures, {near} are within three standard errors of the exact "
        "ones. "
    )
    drawn = f"Points are drawn, and worlds simulated, from seed {effort.seed}."
    return told + drawn if pairs else drawn


def rounded(values: Sequence[float], digits: int = 3) -> tuple[float, ...]:
    """Return values rounded so that scenario and fraction are exactly equal."""
    return tuple(round(float(value), digits) for value in values)


def fractions(*values: float) -> tuple[Fraction, ...]:
    """Return decimals as exact fractions, .1 as 1/10."""
    return tuple(Fraction(str(value)) for value in values)
