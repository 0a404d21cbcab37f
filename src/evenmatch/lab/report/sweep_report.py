"""The page of a sweep: its curves, and all figures of every value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evenmatch.criteria.gaps import gap_of_name
from evenmatch.lab.report.figures import GAPS, figure, figures_of, with_width
from evenmatch.lab.report.plots import COLORS, SOFT, draw_svg, plain_text
from evenmatch.lab.report.report import TEMPLATE, page
from evenmatch.lab.study.sweep import ParameterSweep, SweepPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


TEXT = (
    "Each mark is a value: the further to the right, the longer players wait, and the height is "
    "what that buys. All values met the same arrivals."
)


def render_sweep(title: str, sweep: ParameterSweep, points: Sequence[SweepPoint]) -> str:
    """Return the page as HTML that loads nothing from the network.

    Raises:
        NotSupported: jinja2 or matplotlib is not installed.
    """
    from evenmatch.lab.report.sweep_report import plot_sweep

    summaries = [point.summary for point in points]
    is_alone = len({point.policy for point in points}) == 1
    names = [
        f"{sweep.key} = {point.value:g}" + ("" if is_alone else f", {point.policy}")
        for point in points
    ]
    rows = [
        {
            "words": words,
            "cells": [{"text": with_width(each, key, unit), "best": False} for each in summaries],
        }
        for key, words, unit, _ in figures_of(summaries)
    ]
    plot = {
        "title": f"What waiting buys: {sweep.key} from {sweep.values[0]:g} to {sweep.values[-1]:g}",
        "text": TEXT,
        "svg": plot_sweep(sweep.key, points),
    }
    return page(
        TEMPLATE,
        title=title,
        names=names,
        rows=rows,
        cards=[],
        groups=[],
        has_runs="ci95" in summaries[0],
        plots=[plot],
    )


# The curves of a sweep: mean wait against quality, and against each gap in its own unit.

COLUMNS = 2
ROW = 3.0
"""Height of a row of curves, in inches."""


LABELS = 0.09
"""Share of the axis that the number at a mark needs: marks closer than this have no number."""


def curves_of(points: Sequence[SweepPoint]) -> Iterator[tuple[str, str, float]]:
    """Yield key, label and factor of the figures to draw: those that differ between points."""
    if _differs(points, "quality.mean"):
        yield "quality.mean", "quality (more is better)", 1.0
    for name in dict.fromkeys(name for point in points for name in point.summary.get(GAPS, {})):
        gap, key = gap_of_name(name), f"{GAPS}.{name}.mean"
        if _differs(points, key):
            words = f"{name}, {gap.unit}" if gap.unit else name
            better = "more" if gap.better > 0 else "less"
            yield key, f"{words} ({better} is better)", 100.0 if gap.unit == "%" else 1.0


def _differs(points: Sequence[SweepPoint], key: str) -> bool:
    known = {value for point in points if (value := figure(point.summary, key)) is not None}
    return len(known) > 1


def plot_sweep(key: str, points: Sequence[SweepPoint]) -> str:
    """Draw a curve for each policy; a mark is a value of the key.

    Args:
        key: The swept key.
        points: By policy, each with ascending values.
    """
    curves = list(curves_of(points))
    rows = max(1, math.ceil(len(curves) / COLUMNS))

    def draw(figure_: Figure) -> None:
        axes = figure_.subplots(rows, COLUMNS, squeeze=False).flatten().tolist()
        for place, (which, words, factor) in zip(axes, curves, strict=False):
            for number, policy in enumerate(dict.fromkeys(point.policy for point in points)):
                own = [point for point in points if point.policy == policy]
                _draw(place, own, (which, factor), COLORS[number % len(COLORS)])
            place.set(title=plain_text(words), xlabel="mean wait, seconds")
            place.margins(x=0.12, y=0.15)
        for place in axes[len(curves) :]:
            place.set_axis_off()
        if len({point.policy for point in points}) > 1:
            figure_.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        figure_.supxlabel(f"the numbers at the marks: {key}", fontsize=9, color=SOFT)

    return draw_svg("sweep", draw, height=ROW * rows + 0.4)


def _draw(axes: Axes, points: Sequence[SweepPoint], curve: tuple[str, float], color: str) -> None:
    key, factor = curve
    known = [
        (wait, factor * height, point.value)
        for point in points
        if (wait := figure(point.summary, "wait.mean")) is not None
        and (height := figure(point.summary, key)) is not None
    ]
    waits, heights = [each[0] for each in known], [each[1] for each in known]
    axes.plot(waits, heights, "o-", ms=4, color=color, label=points[0].policy)
    span = max(waits, default=0.0) - min(waits, default=0.0)
    written = math.inf
    # From the longest wait down, since marks are most crowded near the shortest.
    for wait, height, value in sorted(known, reverse=True):
        if written - wait < LABELS * span:
            continue
        written = wait
        axes.annotate(f"{value:g}", (wait, height), (0, 5), textcoords="offset points",
                      ha="center", fontsize=7.5, color=SOFT)  # fmt: skip
