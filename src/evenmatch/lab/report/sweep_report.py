"""The page of a sweep: its curves, and all figures of every value."""

from __future__ import annotations

from collections.abc import Sequence

from evenmatch.lab.report.figures import figures_of, with_width
from evenmatch.lab.report.report import TEMPLATE, page
from evenmatch.lab.study.sweep import ParameterSweep, Point

TEXT = (
    "Each mark is a value: the further to the right, the longer players wait, and the height is "
    "what that buys. All values met the same arrivals."
)


def render_sweep(title: str, sweep: ParameterSweep, points: Sequence[Point]) -> str:
    """Return the page as HTML that loads nothing from anywhere.

    Raises:
        NotSupported: jinja2 or matplotlib is not installed.
    """
    from evenmatch.lab.report.sweep_plots import plot_sweep

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
