"""Plots that need the figures of several parts, for the first page of the report."""

from __future__ import annotations

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.lab.solve.search import parse_objective
from papers.shared.findings import RowsByID


def _roots(by_id: RowsByID) -> Plot | None:
    """Return the values of means of powers in the blog's example."""
    if "galactron.root" not in by_id:
        return None
    powers = tuple(-2.0 + 0.05 * step for step in range(61) if abs(-2.0 + 0.05 * step) > 1e-6)
    gains = tuple(100.0 * (_mean(0.55, 0.8, p) - _mean(0.5, 0.9, p)) for p in powers)
    gain = 100.0 * (_root(0.55, 0.8) - _root(0.5, 0.9))
    lines = (
        PlotLine("mean of powers, formula", powers, gains, is_theory=True),
        PlotLine("square root", (0.5,), (gain,)),
        PlotLine("no gain, formula", (powers[0], powers[-1]), (0.0, 0.0), is_theory=True),
    )
    return Plot(
        "roots", "Who prefers 55 and 80 % to 50 and 90 %",
        "The gain by that change, as a mean of powers sees it: only powers below -.44 prefer it.",
        "power", "gain, points", lines, from_zero=False,
    )  # fmt: skip


def _mean(one: float, other: float, power: float) -> float:
    return float(((one**power + other**power) / 2.0) ** (1.0 / power))


def _root(one: float, other: float) -> float:
    import numpy as np

    return float(parse_objective("sqrt").value(np.array([one, other])))


PICTURES = (_roots,)
