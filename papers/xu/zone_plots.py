"""Figures 12 and 13: what it is worth to be choice-free, and what it does to all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenmatch.lab.plots import Line, Plot
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.zones import zones
from papers.shared.measure import Estimate
from papers.shared.row import Findings, Row
from papers.shared.words import table_of_rows
from papers.xu.printed import zones_factor
from papers.xu.tell import fractions, tell
from papers.xu.zone_words import factor

FREE = (0.0, 0.1, 0.3, 0.5)
"""Shares of the choice-free, a line each in figure 12."""
JUNIORS = (0.1, 0.3, 0.5, 0.6)
"""Shares of juniors, a line each in figure 13."""
GRID = (0.1, 0.3, 0.5)
EDGES = (("junior", "junior"), ("expert", "expert"), ("flexible", "flexible"),
         ("junior", "flexible"), ("expert", "flexible"))  # fmt: skip
STEPS = 50

Measured = tuple[float, float, Estimate]
"""Juniors and experts per second, and the mean wait, at one player per second in all."""


def zone_plots(measured: Sequence[Measured]) -> Findings:
    """Return figures 12 and 13 with points of both.

    Args:
        measured: What was simulated.
    """
    rows = _grid()
    text = "(23) and the mean wait, beside the compatibility graph; one player per second."
    table = table_of_rows("Figures 12 and 13", text, rows)
    return Findings(tuple(rows), (table,), (_figure12(), _figure13(measured)))


def _grid() -> list[Row]:
    rows = []
    for junior in GRID:
        for flexible in GRID:
            a, c = fractions(junior, flexible)
            rates: dict[str, Any] = {
                "junior": junior,
                "expert": float(1 - a - c),
                "flexible": flexible,
            }
            if a + c >= 1:
                continue
            exact = compatibility_graph(rates=rates, edges=EDGES)
            assert exact.means is not None
            free, experts = exact.means["flexible"], exact.means["expert"]
            assert free is not None
            assert experts is not None
            rows += [
                tell("figure12", "improvement factor", **rates,
                     printed=zones_factor(a, 1 - a - c, c), exact=free / experts),
                tell("figure13", "mean wait", **rates, printed=zones(**rates).mean,
                     exact=exact.mean),
            ]  # fmt: skip
    return rows


def _figure12() -> Plot:
    lines = []
    for free in FREE:
        xs = tuple(number / STEPS for number in range(1, STEPS) if number / STEPS + free < 1.0)
        ys = tuple(factor(x, free) for x in xs)
        lines.append(Line(f"choice-free = {free:g}", xs, ys, is_theory=True))
    text = (
        "Wait of choice-free experts over that of experts who stay, by the share of juniors. The "
        "more juniors, the more there is to save: the text that calls a crowded junior zone no "
        "incentive contradicts its own figure."
    )
    return Plot("figure12", "Figure 12: improvement factor", text, "share of juniors",
                "improvement factor", tuple(lines))  # fmt: skip


def _figure13(measured: Sequence[Measured]) -> Plot:
    lines = []
    for junior in JUNIORS:
        own = sorted((b, found) for a, b, found in measured if a == junior)
        if own:
            xs = tuple(b for b, _ in own)
            ys = tuple(found.value for _, found in own)
            lines.append(Line(f"juniors = {junior:g}", xs, ys,
                              tuple(found.half_width for _, found in own)))  # fmt: skip
        experts = [number / STEPS for number in range(1, STEPS + 1)]
        shown = [b for b in experts if junior + b <= 1.0]
        waits = [
            zones(junior=junior, expert=b, flexible=round(1.0 - junior - b, 12)).mean for b in shown
        ]
        lines.append(
            Line(f"juniors = {junior:g}, formula", tuple(shown), tuple(waits), is_theory=True)
        )
    text = (
        "Mean wait of all, by the share of experts who stay; the rest of the players is "
        "choice-free. It falls with each expert who becomes choice-free, to the left; not less "
        "with each further one, as the text has it, but more."
    )
    return Plot("figure13", "Figure 13: mean wait with zones", text, "share of experts who stay",
                "mean wait, s", tuple(lines))  # fmt: skip
