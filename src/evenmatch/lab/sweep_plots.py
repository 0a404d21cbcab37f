"""The curves of a sweep: mean wait against quality, and against each gap in its own unit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evenmatch.cost.gaps import gap_of_name
from evenmatch.lab.figures import GAPS, figure
from evenmatch.lab.plots import COLORS, SOFT, draw_svg
from evenmatch.lab.sweep import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 2
ROW = 3.0
"""Inches of a row of curves."""


def curves_of(points: Sequence[Point]) -> Iterator[tuple[str, str, float]]:
    """Yield key, words and factor of what is drawn: what any of the points knows."""
    if any(figure(point.summary, "quality.mean") is not None for point in points):
        yield "quality.mean", "mean quality", 1.0
    for name in dict.fromkeys(name for point in points for name in point.summary.get(GAPS, {})):
        unit = gap_of_name(name).unit
        words = f"{name}, {unit}" if unit else name
        yield f"{GAPS}.{name}.mean", words, 100.0 if unit == "%" else 1.0


def plot_sweep(key: str, points: Sequence[Point]) -> str:
    """Draw a curve for each policy; a mark is a value of the key.

    Args:
        key: What is swept.
        points: By policy, each with ascending values.
    """
    curves = list(curves_of(points))
    rows = math.ceil(len(curves) / COLUMNS)

    def draw(figure_: Figure) -> None:
        axes = figure_.subplots(rows, COLUMNS, squeeze=False).flatten().tolist()
        for place, (which, words, factor) in zip(axes, curves, strict=False):
            for number, policy in enumerate(dict.fromkeys(point.policy for point in points)):
                own = [point for point in points if point.policy == policy]
                _draw(place, own, (which, factor), COLORS[number % len(COLORS)])
            place.set(title=words, xlabel="mean wait, seconds")
            place.margins(x=0.12, y=0.15)
        for place in axes[len(curves) :]:
            place.set_axis_off()
        if len({point.policy for point in points}) > 1:
            figure_.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
        figure_.supxlabel(f"the numbers at the marks: {key}", fontsize=9, color=SOFT)

    return draw_svg("sweep", draw, height=ROW * rows + 0.4)


def _draw(axes: Axes, points: Sequence[Point], curve: tuple[str, float], color: str) -> None:
    key, factor = curve
    known = [
        (wait, factor * height, point.value)
        for point in points
        if (wait := figure(point.summary, "wait.mean")) is not None
        and (height := figure(point.summary, key)) is not None
    ]
    waits, heights = [each[0] for each in known], [each[1] for each in known]
    axes.plot(waits, heights, "o-", ms=4, color=color, label=points[0].policy)
    for wait, height, value in known:
        axes.annotate(f"{value:g}", (wait, height), (0, 5), textcoords="offset points",
                      ha="center", fontsize=7.5, color=SOFT)  # fmt: skip
