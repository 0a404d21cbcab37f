"""Pictures that are drawn from the figures of several parts, for the first page of the report."""

from __future__ import annotations

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.theory import schlup
from papers.shared.findings import RowsByID

WAIT_MAX = 5.0


BEST = ("A_G", "A_PM", "A_MQ", "A_DW, waits from the arrival", "price", "gap_value")
"""Lines of Table 3 that are drawn: the paper's, and two of ours."""


SETTINGS = {"c1": 1.0, "c3": 3.0, "c10": 10.0}
"""Settings of a constant rate, and the rate."""


def _bots(by_id: RowsByID) -> Plot | None:
    """Return (3) as printed and as it should be, with what was simulated."""
    rows = [row for row in by_id.get("schlup.3", ()) if row.params["rate"] in (1.0, 3.0)]
    if not rows:
        return None
    rates = tuple(0.2 + 0.1 * step for step in range(30))
    lines = []
    for k in (2, 4):
        own = sorted(
            (row.params["rate"], row.simulated or 0.0, row.half_width or 0.0)
            for row in rows
            if row.params["k"] == k
        )
        xs, ys, widths = zip(*own, strict=True)
        lines.append(PlotLine(f"k = {k}", xs, ys, widths))
        for word, is_printed in (("formula", False), ("printed", True)):
            curve = tuple(
                schlup.bot_probability(k=k, rate=rate, wait_max=WAIT_MAX, printed=is_printed)
                for rate in rates
            )
            lines.append(PlotLine(f"k = {k}, {word}", rates, curve, is_theory=True))
    return Plot(
        "bots", "How many matches have computer players",
        "Marks are simulated. The printed sum (3), dashed, starts and ends one too late; the "
        "mended one is dotted.", "arrival rate", "share of matches", tuple(lines),
    )  # fmt: skip


def _policies(by_id: RowsByID) -> Plot | None:
    """Return what the paper's algorithms and ours cost, over the rate."""
    lines = []
    for name in BEST:
        found = {
            str(row.params.get("setting")): row
            for row in by_id.get("schlup.table3", ())
            if row.params.get("algorithm") == name
            and row.params.get("setting") in SETTINGS
            and "figure" not in row.params
        }
        if len(found) == len(SETTINGS):
            rows = [found[setting] for setting in SETTINGS]
            ys = tuple(row.simulated or 0.0 for row in rows)
            widths = tuple(row.half_width or 0.0 for row in rows)
            lines.append(PlotLine(name.partition(",")[0], tuple(SETTINGS.values()), ys, widths))
    if not lines:
        return None
    return Plot(
        "policies", "What policies cost, times the optimum",
        "Constant rates, the best parameter of each. price and gap_value are ours: they weigh "
        "the match at hand against what waiting for a better one is worth, and have no "
        "parameter to choose.", "arrival rate", "cost / OPT", tuple(lines), is_log=True,
    )  # fmt: skip


PICTURES = (_bots, _policies)
