"""Figures 9 and 10: the mean wait over the shares of the sides."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from evenmatch.lab.plots import Line, Plot
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.sides import mean_by_formula
from papers.shared.measure import Estimate
from papers.shared.row import Findings, Row
from papers.shared.words import table_of_rows
from papers.xu.side_proofs import EDGES
from papers.xu.side_words import B, mean_at
from papers.xu.tell import fractions, tell

OTHERS = (0.1, 0.2, 0.3, 0.4, 0.45)
"""Shares of side B, a line each."""
GRID = (0.1, 0.2, 0.3, 0.4)
HIGHEST = 8.0
"""Seconds at which lines are cut; they have no end where a nears 1/2."""
STEPS = 98

Measured = tuple[float, float, Estimate]
"""Players per second for A and for B, and the mean wait, at one player per second in all."""


def side_plots(measured: Sequence[Measured]) -> Findings:
    """Return figures 9 and 10 with points of both.

    Args:
        measured: What was simulated.
    """
    rows = [*_grid(GRID, GRID, "figure9"), *_grid((0.01, 0.15, 0.3, 0.4, 0.49), (B,), "figure10")]
    text = "The mean wait by (16), and by the compatibility graph; one player per second."
    table = table_of_rows("Figures 9 and 10", text, rows)
    return Findings(tuple(rows), (table,), (_figure9(measured), _figure10(measured)))


def _grid(firsts: Sequence[float], seconds: Sequence[float], name: str) -> list[Row]:
    rows = []
    for one in firsts:
        for other in seconds:
            a, b = fractions(one, other)
            exact = compatibility_graph(
                rates={"a": one, "b": other, "flexible": float(1 - a - b)}, edges=EDGES
            )
            rows.append(
                tell(name, "mean wait", a=one, b=other, printed=mean_by_formula(a, b, 1 - a - b),
                     exact=exact.mean)
            )  # fmt: skip
    return rows


def _line(b: float, highest: float) -> Line:
    shares = [float(Fraction(number, 2 * STEPS)) for number in range(1, STEPS)]
    points = [(a, mean_at(a, b)) for a in shares if a + b < 1.0]
    known = [(a, wait) for a, wait in points if wait is not None and wait <= highest]
    xs, ys = zip(*known, strict=True)
    return Line(f"b = {b:g}, formula", xs, ys, is_theory=True)


def _marks(measured: Sequence[Measured], b: float) -> Line | None:
    own = sorted((a, found) for a, other, found in measured if other == b)
    if not own:
        return None
    values = tuple((found.value, found.half_width) for _, found in own)
    ys, widths = zip(*values, strict=True)
    return Line(f"b = {b:g}", tuple(a for a, _ in own), ys, widths)


def _figure9(measured: Sequence[Measured]) -> Plot:
    lines = []
    for b in OTHERS:
        marks = _marks(measured, b)
        lines += [*([marks] if marks else []), _line(b, HIGHEST)]
    text = (
        "A line for each share of side B. The mean wait hardly changes while side A is the "
        f"smaller one, and has no end where A nears 1/2; lines are cut at {HIGHEST:g} seconds."
    )
    return Plot("figure9", "Figure 9: mean wait with sides", text, "share of side A",
                "mean wait, s", tuple(lines))  # fmt: skip


def _figure10(measured: Sequence[Measured]) -> Plot:
    marks = _marks(measured, B)
    line = _line(B, 2.0)
    text = (
        "Figure 9 where side B has .4 of the players, looked at closely: the wait falls by a "
        "thousandth until side A has .147, then rises."
    )
    near = [marks] if marks else []
    return Plot("figure10", "Figure 10: the same, closely", text, "share of side A",
                "mean wait, s", (*near, line), from_zero=False)  # fmt: skip
