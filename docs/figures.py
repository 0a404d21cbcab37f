"""Draw the plots of the how-to pages, from the files that the pages themselves show.

`make docs` draws those that are missing, and all of them when a generated page was out of date.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from results import FILE

from evenmatch.config.files import parse_scenario
from evenmatch.lab.report.plots import Plot, PlotLine, as_file, plot_lines
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import student_t
from evenmatch.theory.sides import sides

HOWTO = Path(__file__).parent / "howto"
CLASSES = {"attack": "mean_a", "defend": "mean_b", "flexible": "mean_flexible"}
DEFEND = 0.30
RUNS = 5
MINUTES = 10
"""Width of the intervals over which waits are averaged."""


def shown(page: str, name: str) -> str:
    """Return a file as a page shows it."""
    text = (HOWTO / page).read_text(encoding="utf-8")
    return next(found[2] for found in FILE.finditer(text) if found[1] == name)


def waits_by_share() -> Plot:
    """Return the waits of each class over the share of one side, by theory and simulated."""
    given = shown("choose-sides.md", "sides.toml")
    shares = [round(0.02 * i, 2) for i in range(1, 24)]
    simulated = [0.10, 0.20, 0.30, 0.40, 0.45]
    found = {share: _simulated(given, share) for share in simulated}
    lines = []
    for name, figure in CLASSES.items():
        exact = [getattr(sides(a=a, b=DEFEND, flexible=1 - a - DEFEND), figure) for a in shares]
        lines.append(PlotLine(f"{name}, formula", tuple(shares), tuple(exact), is_theory=True))
        means, widths = zip(*(found[share][name] for share in simulated), strict=True)
        lines.append(PlotLine(name, tuple(simulated), means, widths))
    return Plot(
        name="choose-sides-shares",
        title="",
        text="",
        x="share of players who insist on attack; 0.30 insist on defend",
        y="mean wait, s",
        lines=tuple(lines),
    )


def _simulated(given: str, share: float) -> dict[str, tuple[float, float]]:
    """Return mean wait and half-width of each class, with another share of attackers."""
    flexible = round(1 - share - DEFEND, 2)
    text = given.replace("rate = 0.45", f"rate = {share}").replace(
        "rate = 0.25", f"rate = {flexible}"
    )
    scenario = parse_scenario(text)
    rows = [
        simulate(scenario, seed=np.random.SeedSequence([run]), by=("side",)).summary["by"]["side"]
        for run in range(RUNS)
    ]
    found = {}
    for name in CLASSES:
        means = [row[name]["wait"]["mean"] for row in rows]
        width = student_t(RUNS - 1) * float(np.std(means, ddof=1)) / math.sqrt(RUNS)
        found[name] = (float(np.mean(means)), width)
    return found


def waits_over_drift() -> Plot:
    """Return the waits by the time of arrival, with and without closing a crowded side."""
    scenario = parse_scenario(shown("choose-sides.md", "drift.toml"))
    policies = {
        "every wish kept": "adaptive_sides:reserve=-1",
        "adaptive_sides": "adaptive_sides",
    }
    lines = []
    for name, policy in policies.items():
        history = simulate(scenario, policy=policy).history
        begun = np.asarray(history.enqueued_at) / 60.0
        # Who still waits at the end has waited that long at least.
        ended = np.asarray(history.ended_at)
        waits = np.where(np.isnan(ended), history.end, ended) - 60.0 * begun
        part = (begun // MINUTES).astype(int)
        middle = (np.arange(part.max() + 1) + 0.5) * MINUTES
        means = np.bincount(part, waits) / np.bincount(part)
        lines.append(PlotLine(name, tuple(middle.tolist()), tuple(means.tolist())))
    return Plot(
        name="choose-sides-drift",
        title="",
        text="",
        x="minute of arrival",
        y=f"mean wait of {MINUTES} minutes' players, s",
        lines=tuple(lines),
    )


PLOTS: dict[str, Callable[[], Plot]] = {
    "choose-sides-shares.svg": waits_by_share,
    "choose-sides-drift.svg": waits_over_drift,
}


def missing() -> list[str]:
    """Return the names of plots that are not there."""
    return [name for name in PLOTS if not (HOWTO / name).exists()]


def draw() -> None:
    """Write all plots."""
    for name, plot in PLOTS.items():
        (HOWTO / name).write_text(as_file(plot_lines(plot())), encoding="utf-8")
