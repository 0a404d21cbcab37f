"""Pictures that are drawn from the figures of several parts, for the first page of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenmatch.lab.plots import Line, Plot
from evenmatch.lab.search import parse_objective
from evenmatch.theory import schlup
from papers.shared.row import Row

By = Mapping[str, Sequence[Row]]
"""Figures by id."""
WAIT_MAX = 5.0
BEST = ("A_G", "A_PM", "A_MQ", "A_DW, waits from the arrival", "price", "gap_value")
"""Lines of Table 3 that are drawn: the paper's, and two of ours."""
SETTINGS = {"c1": 1.0, "c3": 3.0, "c10": 10.0}
"""Settings of a constant rate, and the rate."""
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


def pictures(paper: str, by_id: By) -> list[Plot]:
    """Return the pictures of a paper that its figures allow."""
    return [plot for maker in MAKERS.get(paper, ()) if (plot := maker(by_id)) is not None]


def _bots(by_id: By) -> Plot | None:
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
        lines.append(Line(f"k = {k}", xs, ys, widths))
        for word, is_printed in (("formula", False), ("printed", True)):
            curve = tuple(
                schlup.bot_probability(k=k, rate=rate, wait_max=WAIT_MAX, printed=is_printed)
                for rate in rates
            )
            lines.append(Line(f"k = {k}, {word}", rates, curve, is_theory=True))
    return Plot(
        "bots", "How many matches have computer players",
        "Marks are simulated. The printed sum (3), dashed, starts and ends one too late; the "
        "mended one is dotted.", "arrival rate", "share of matches", tuple(lines),
    )  # fmt: skip


def _policies(by_id: By) -> Plot | None:
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
            lines.append(Line(name.partition(",")[0], tuple(SETTINGS.values()), ys, widths))
    if not lines:
        return None
    return Plot(
        "policies", "What policies cost, times the optimum",
        "Constant rates, the best parameter of each. price and gap_value are ours: they weigh "
        "the match at hand against what waiting for a better one is worth, and have no "
        "parameter to choose.", "arrival rate", "cost / OPT", tuple(lines), is_log=True,
    )  # fmt: skip


def _lonely(by_id: By) -> Plot | None:
    """Return how long the top and the bottom tenth wait beside all."""
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


def _of_policy(by_id: By, policy: str, key: str) -> dict[str, Row]:
    """Return a figure of the small population, by group."""
    return {
        row.params["group"]: row
        for rows in by_id.values()
        for row in rows
        if row.params.get("policy") == policy
        and row.params.get("population") == "low"
        and row.params.get("figure") == key
    }


def _line(name: str, xs: tuple[float, ...], rows: Sequence[Row]) -> Line:
    ys = tuple(row.simulated or 0.0 for row in rows)
    return Line(name, xs, ys, tuple(row.half_width or 0.0 for row in rows))


def _chance(by_id: By) -> Plot | None:
    """Return the chance of the lower player, and where the thread puts 3 %."""
    if "gamedev.chance" not in by_id:
        return None
    curve = tuple(100.0 / (1.0 + 10.0 ** (gap / 400.0)) for gap in POINTS)
    lines = (
        Line("Glicko and Elo, formula", POINTS, curve, is_theory=True),
        Line("the thread", (500.0,), (3.0,)),
        Line("3 % is here", (603.86,), (3.0,)),
    )
    return Plot(
        "chance", "What 500 points mean",
        "The chance of the lower player by the difference of the ratings, if both are certain.",
        "points", "chance, percent", lines,
    )  # fmt: skip


def _trade(by_id: By) -> Plot | None:
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


def _roots(by_id: By) -> Plot | None:
    """Return what means of powers think of the blog's example."""
    if "galactron.root" not in by_id:
        return None
    powers = tuple(-2.0 + 0.05 * step for step in range(61) if abs(-2.0 + 0.05 * step) > 1e-6)
    gains = tuple(100.0 * (_mean(0.55, 0.8, p) - _mean(0.5, 0.9, p)) for p in powers)
    gain = 100.0 * (_root(0.55, 0.8) - _root(0.5, 0.9))
    lines = (
        Line("mean of powers, formula", powers, gains, is_theory=True),
        Line("square root", (0.5,), (gain,)),
        Line("no gain, formula", (powers[0], powers[-1]), (0.0, 0.0), is_theory=True),
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


MAKERS = {
    "schlup": (_bots, _policies),
    "gamedev": (_lonely, _chance, _trade),
    "galactron": (_roots,),
}
