"""One self-contained page about a run, or about several policies side by side."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenmatch.errors import NotSupported
from evenmatch.lab.report.figures import figure, figure_text, figures_of, group_tables, with_width
from evenmatch.lab.simulate import Run
from evenmatch.lab.study.study import RepeatedRuns, best_of, footnote
from evenmatch.simulation.metrics import Summary

TEMPLATE = "report.html.j2"
NEEDS = ("jinja2", "matplotlib")


def render(
    title: str,
    names: Sequence[str],
    results: Sequence[tuple[Summary, Run]],
    repeated: RepeatedRuns | None = None,
) -> str:
    """Return the page as HTML that loads nothing from the network.

    Args:
        title: The scenario's name.
        names: The policies' SPECs; "" for the scenario's own.
        results: The figures of each policy, and the run that is drawn.
        repeated: The same figures from several runs, to distinguish the best from chance; None
            marks nothing.

    Raises:
        NotSupported: jinja2 or matplotlib is not installed.
    """
    summaries = [summary for summary, _ in results]
    labels = [name or _own_policies(run) for name, (_, run) in zip(names, results, strict=True)]
    return page(
        TEMPLATE,
        title=title,
        names=labels,
        rows=_rows(summaries, repeated),
        footnote="" if repeated is None else footnote(repeated.runs),
        cards=_cards(summaries[0]) if len(results) == 1 else [],
        groups=group_tables(labels, summaries),
        has_runs="ci95" in summaries[0],
        plots=_plots(labels, summaries, [run for _, run in results]),
    )


def page(template: str | Path, **values: Any) -> str:
    """Return a page from one of our templates as HTML that loads nothing from the network.

    Args:
        template: One of the templates beside this module, or the path of another one; `page.css`
            beside this module is the style of all pages.
        values: Values for the template; text is escaped unless the template says otherwise.

    Raises:
        NotSupported: jinja2 or matplotlib is not installed.
    """
    check_installed()
    import jinja2

    here = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([(here / template).parent, here]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(Path(template).name).render(**values)


def check_installed(option: str = "--report") -> None:
    """Refuse a report that cannot be made, before the long work instead of after it.

    Args:
        option: The option that requires it.

    Raises:
        NotSupported: jinja2 or matplotlib is not installed.
    """
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise NotSupported(
            f"{option} needs {' and '.join(missing)}: pip install 'evenmatch[report]'"
        )


def _own_policies(run: Run) -> str:
    return ", ".join(dict.fromkeys(queue.policy for queue in run.queues))


def _plots(
    names: Sequence[str], summaries: Sequence[Summary], runs: Sequence[Run]
) -> list[dict[str, str]]:
    """Return title, explanation and SVG of each plot."""
    from evenmatch.lab.report.plots import (
        COLORS,
        Series,
        plot_quality,
        plot_times,
        plot_trade,
        plot_waits,
    )

    colors = [COLORS[at % len(COLORS)] for at in range(len(runs))]
    series = [
        Series(name, color, run.history)
        for name, color, run in zip(names, colors, runs, strict=True)
    ]
    found = []
    if len(runs) > 1:
        key = "quality.mean" if any(figure(s, "quality.mean") for s in summaries) else COST
        points = [
            (name, color, wait, height)
            for name, color, summary in zip(names, colors, summaries, strict=True)
            if (wait := figure(summary, "wait.mean")) is not None
            and (height := figure(summary, key)) is not None
        ]
        if points:
            svg = plot_trade(points, quality=key != COST)
            found.append(("The policies beside each other", TRADE, svg))
    if any(len(each.waits) for each in series):
        found.append(("How long players waited", WAITS, plot_waits(series)))
        found.append(("Along the run", TIMES, plot_times(series)))
    if (quality := plot_quality(series)) is not None:
        found.append(("How good the matches were", QUALITY, quality))
    return [{"title": title, "text": text, "svg": svg} for title, text, svg in found]


COST = "cost_per_match"
TRADE = "Each point is a policy that met the same arrivals."
WAITS = (
    "The curve says which share of all players had a match after that wait. Players without a "
    "match never enter it; marks stand where their waiting ended."
)
TIMES = "Figures of equal spans of the run, in the order of time."
QUALITY = "1 is the best match that the criteria know."


def _rows(summaries: Sequence[Summary], repeated: RepeatedRuns | None) -> list[dict[str, Any]]:
    rows = []
    for key, words, unit, direction in figures_of(summaries):
        best: set[int] = set()
        if repeated is not None:
            values = [figure(summary, key) for summary in summaries]
            best = best_of(values, repeated.samples_of(key), direction)
        cells = [
            {"text": with_width(summary, key, unit), "best": at in best}
            for at, summary in enumerate(summaries)
        ]
        rows.append({"words": words, "cells": cells})
    return rows


def _cards(summary: Summary) -> list[tuple[str, str]]:
    lost = sum(figure(summary, key) or 0.0 for key in ("expired", "cancelled", "unfinished"))
    return [
        ("matches", figure_text(figure(summary, "matches"))),
        ("mean wait", figure_text(figure(summary, "wait.mean"), "s")),
        ("90 % wait less than", figure_text(figure(summary, "wait.p90"), "s")),
        ("mean quality", figure_text(figure(summary, "quality.mean"))),
        ("tickets without a match", figure_text(lost)),
    ]
