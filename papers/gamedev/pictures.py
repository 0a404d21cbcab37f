"""Plots that need the figures of several parts, for the first page of the report."""

from __future__ import annotations

from collections.abc import Sequence

from evenmatch.lab.report.plots import Plot, PlotLine
from papers.shared.findings import Row, RowsByID

SHOWN = {
    "anybody, the longest waiting first": "anybody",
    "window:limit=150": "within 150 points",
    "window:limit=500": "within 500 points",
    "window:limit=150,rate=2,limit_max=500": "150, 2 more a second",
    "closest_random": "rounds of two minutes",
    "weighted": "weights",
    "price": "price",
    "the optimum in hindsight": "the optimum in hindsight",
}
"""Suggestions of the thread that are drawn, and their names in the legend."""


FIXED = ("window:limit=150", "window:limit=500", "window:limit=150,rate=2,limit_max=500")


PLACES = {"bottom tenth": 5.0, "all": 50.0, "top tenth": 95.0}


POINTS = tuple(float(gap) for gap in range(0, 801, 20))


def _lonely(by_id: RowsByID) -> Plot | None:
    """Return how long the top and the bottom tenth wait, compared with all players."""
    lines = []
    for policy in FIXED:
        found = _of_policy(by_id, policy, "wait")
        if found:
            rows = [found[group] for group in PLACES]
            lines.append(_line(SHOWN[policy], tuple(PLACES.values()), rows))
    if not lines:
        return None
    return Plot(
        "lonely", "It is lonely at the top",
        "Mean wait of those who were matched: the bottom tenth, all, and the top tenth of the "
        "ratings; 60 players, one ticket in 50 s.", "percentile of the rating", "mean wait, s",
        tuple(lines),
    )  # fmt: skip


def _of_policy(by_id: RowsByID, policy: str, key: str) -> dict[str, Row]:
    """Return a figure of the small population, by group."""
    return {
        row.params["group"]: row
        for rows in by_id.values()
        for row in rows
        if row.params.get("policy") == policy
        and row.params.get("population") == "low"
        and row.params.get("figure") == key
    }


def _line(name: str, xs: tuple[float, ...], rows: Sequence[Row]) -> PlotLine:
    ys = tuple(row.simulated or 0.0 for row in rows)
    return PlotLine(name, xs, ys, tuple(row.half_width or 0.0 for row in rows))


def _chance(by_id: RowsByID) -> Plot | None:
    """Return the chance of the lower-rated player, and where the thread puts 3 %."""
    if "gamedev.chance" not in by_id:
        return None
    curve = tuple(100.0 / (1.0 + 10.0 ** (gap / 400.0)) for gap in POINTS)
    lines = (
        PlotLine("Glicko and Elo, formula", POINTS, curve, is_theory=True),
        PlotLine("the thread", (500.0,), (3.0,)),
        PlotLine("3 % is here", (603.86,), (3.0,)),
    )
    return Plot(
        "chance", "What 500 points mean",
        "The chance of the lower player by the difference of the ratings, if both are certain.",
        "points", "chance, percent", lines,
    )  # fmt: skip


def _trade(by_id: RowsByID) -> Plot | None:
    """Return every suggestion by its wait and its rating difference."""
    lines = []
    for policy, name in SHOWN.items():
        wait, gap = (_of_policy(by_id, policy, key) for key in ("wait", "rating difference"))
        if wait and gap:
            lines.append(_line(name, (wait["all"].simulated or 0.0,), [gap["all"]]))
    if not lines:
        return None
    return Plot(
        "trade", "Short waits against even matches",
        "The thread's suggestions on the same 60 players, one ticket in 50 s: the lower left is "
        "the better. The optimum knows who comes.", "mean wait, s", "mean rating difference",
        tuple(lines),
    )  # fmt: skip


PICTURES = (_lonely, _chance, _trade)
