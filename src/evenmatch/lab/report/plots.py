"""Plots of runs as SVG text that can be embedded in a page. The only module that draws."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.simulation.history import CANCELLED, EXPIRED, MATCHED, WAITING, History
from evenmatch.simulation.metrics import counted_matches, waits_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b4b8a", "#444444")
"""Okabe and Ito's palette, distinguishable with any kind of colour vision."""
SOFT = "#5c6675"
BINS = 48
POOL_POINTS = 600
MARKS_MAX = 150
STYLE: Any = {
    "svg.fonttype": "path",
    "svg.hashsalt": "evenmatch",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a94a3",
    "axes.labelcolor": "#3a4350",
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titlecolor": "#3a4350",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e7eaef",
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}
UNENDED = (
    (WAITING, "|", "unfinished when the run ended"),
    (EXPIRED, "x", "expired"),
    (CANCELLED, ".", "cancelled"),
)


class PlotLine(msgspec.Struct, frozen=True):
    """One line of a plot.

    Args:
        name: Name in the legend.
        xs: Ascending.
        ys: One for each x.
        widths: Half-widths of the confidence intervals; empty if unknown.
        is_theory: Whether it comes from a formula; it is then drawn without marks.
    """

    name: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    widths: tuple[float, ...] = ()
    is_theory: bool = False


class Plot(msgspec.Struct, frozen=True):
    """A figure: its lines and what the axes mean.

    Args:
        name: File name without extension.
        title: A few words.
        text: What the plot shows, in sentences.
        x: Label of the horizontal axis.
        y: Label of the vertical axis.
        lines: The lines.
        is_log: Whether the horizontal axis shows powers of ten.
        from_zero: Whether the vertical axis begins at 0.
    """

    name: str
    title: str
    text: str
    x: str
    y: str
    lines: tuple[PlotLine, ...]
    is_log: bool = False
    from_zero: bool = True


class Series:
    """One run's counted tickets and matches as columns, and its pool with those of the warm-up.

    Args:
        name: Name in the legend.
        color: Its colour in every plot.
        history: The run.
    """

    def __init__(self, name: str, color: str, history: History) -> None:
        first = history.first_counted
        self.name = name
        self.color = color
        self.sizes = np.asarray(history.sizes[first:], dtype=np.int64)
        self.enqueued_at = np.asarray(history.enqueued_at[first:], dtype=np.float64)
        all_waits = waits_of(history)
        self.waits = all_waits[first:]
        came = np.asarray(history.enqueued_at, dtype=np.float64)
        self.pool_at, self.pool = pool_over_time(came, came + all_waits)
        self.states = np.frombuffer(bytes(history.states), dtype=np.uint8)[first:]
        self.end = history.end
        counted = (history.matches[number] for number in counted_matches(history))
        matches = [match for match in counted if match.quality is not None]
        self.match_at = np.asarray([match.at for match in matches], dtype=np.float64)
        self.quality = np.asarray([match.quality for match in matches], dtype=np.float64)


def plot_waits(series: Sequence[Series]) -> str:
    """Draw the share of all players matched within a wait; other players are marked apart."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        top = max(axis_end(each) for each in series)
        for each in series:
            _draw_share(axes, each, top, alone=len(series) == 1)
        axes.set(xlim=(-0.01 * top, 1.01 * top), ylim=(0.0, 1.02), ylabel="players matched by then")
        axes.set_xlabel("wait, seconds")
        axes.yaxis.set_major_formatter(_percent)
        axes.legend(loc="lower right")

    return draw_svg("waits", draw)


def axis_end(series: Series) -> float:
    """Return the wait at which the axis ends: only few matched players wait longer."""
    if not len(series.waits):
        return 1.0
    unmatched = series.waits[series.states != MATCHED]
    longest = float(unmatched.max()) if len(unmatched) else 0.0
    return max(float(np.quantile(series.waits, 0.995)) * 1.05, longest, 1e-3)


def matched_curve(series: Series, top: float) -> tuple[Floats, Floats]:
    """Return waits in ascending order, and the share of all players matched by then.

    Args:
        series: The run.
        top: Where the axis ends; the curve goes at least as far.
    """
    order = np.argsort(series.waits, kind="stable")
    waits, sizes = series.waits[order], series.sizes[order]
    share = np.cumsum(sizes * (series.states[order] == MATCHED)) / max(1, int(sizes.sum()))
    end = max([top, *waits[-1:]])
    return np.array([0.0, *waits, end]), np.array([0.0, *share, share[-1:].sum()])


def _draw_share(axes: Axes, series: Series, top: float, *, alone: bool) -> None:
    waits, share = matched_curve(series, top)
    axes.step(
        waits, share, where="post", color=series.color, label="matched" if alone else series.name
    )
    order = np.argsort(series.waits, kind="stable")
    states, sizes = series.states[order], series.sizes[order]
    for state, marker, words in UNENDED:
        places = np.flatnonzero(states == state)
        if not len(places):
            continue
        shown = 1 + places[:: max(1, len(places) // MARKS_MAX)]
        count = int(sizes[places].sum())
        axes.plot(
            waits[shown],
            share[shown],
            marker,
            markersize=7,
            color="#9a3412" if alone else series.color,
            clip_on=False,
            zorder=3,
            label=f"{words} ({count:,})" if alone else None,
        )


def plot_times(series: Sequence[Series]) -> str:
    """Draw waits, qualities and the pool along the time of the run."""
    has_quality = any(len(each.quality) for each in series)
    span = max((each.end for each in series), default=1.0) or 1.0
    unit, factor = time_unit(span)

    def draw(figure: Figure) -> None:
        rows = figure.subplots(3 if has_quality else 2, 1, sharex=True)
        for each in series:
            _draw_binned_waits(rows[0], each, span, factor, alone=len(series) == 1)
            _draw_pool(rows[1], each, factor)
            if has_quality:
                _draw_binned_quality(rows[2], each, span, factor)
        rows[0].set_title("wait of the players who came then, seconds")
        rows[1].set_title("tickets waiting (the most in each moment)")
        if has_quality:
            rows[2].set_title("mean quality of the matches made then")
        for axes in rows[:2]:
            axes.set_ylim(bottom=0.0)
        figure.legend(
            *rows[0].get_legend_handles_labels(), loc="outside upper right", ncols=3, fontsize=9
        )
        rows[-1].set_xlabel(f"time from the start, {unit}")
        rows[-1].set_xlim(0.0, span / factor)

    return draw_svg("times", draw, height=6.4 if has_quality else 4.6)


def time_unit(span: float) -> tuple[str, float]:
    """Return the time unit suited to a span, and its seconds.

    >>> time_unit(7200.0)
    ('minutes', 60.0)
    """
    for name, seconds in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if span > 3.0 * seconds:
            return name, seconds
    return "seconds", 1.0


def _binned(
    at: Floats, values: Floats, span: float, reduce: Callable[[Floats], float]
) -> tuple[Floats, Floats]:
    """Return the midpoints of equal intervals of time, and a figure of the values in each."""
    count = max(1, min(BINS, len(values) // 20))
    edges = np.linspace(0.0, span, count + 1)
    bins = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, count - 1)
    figures = [reduce(values[bins == each]) if (bins == each).any() else np.nan
               for each in range(count)]  # fmt: skip
    return (edges[1:] + edges[:-1]) / 2.0, np.asarray(figures, dtype=np.float64)


def _draw_binned_waits(
    axes: Axes, series: Series, span: float, factor: float, *, alone: bool
) -> None:
    matched = series.states == MATCHED
    at = np.repeat(series.enqueued_at[matched], series.sizes[matched])
    waits = np.repeat(series.waits[matched], series.sizes[matched])
    middles, mean = _binned(at, waits, span, lambda found: float(found.mean()))
    label = "mean" if alone else series.name
    axes.plot(middles / factor, mean, color=series.color, label=label)
    if alone:
        _, p90 = _binned(at, waits, span, lambda found: float(np.quantile(found, 0.9)))
        _, p50 = _binned(at, waits, span, lambda found: float(np.quantile(found, 0.5)))
        axes.plot(middles / factor, p90, color="#d55e00", lw=1.2, label="90 % below")
        axes.plot(middles / factor, p50, color="#009e73", lw=1.2, label="half below")


def _draw_binned_quality(axes: Axes, series: Series, span: float, factor: float) -> None:
    if len(series.quality):
        middles, mean = _binned(
            series.match_at, series.quality, span, lambda found: float(found.mean())
        )
        axes.plot(middles / factor, mean, color=series.color)


def _draw_pool(axes: Axes, series: Series, factor: float) -> None:
    at, pool = series.pool_at, series.pool
    if len(at) > POOL_POINTS:
        starts = np.unique(np.searchsorted(at, np.linspace(at[0], at[-1], POOL_POINTS)))
        at, pool = at[starts], np.maximum.reduceat(pool, starts)
    axes.step(at / factor, pool, where="post", color=series.color, lw=1.2, alpha=0.85)


def pool_over_time(enqueued_at: Floats, ended_at: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the instants at which the number of waiting tickets changes, and that number.

    Tickets that arrive and leave at one instant never count as waiting.
    """
    instants = np.concatenate([enqueued_at, ended_at])
    at, place = np.unique(instants, return_inverse=True)
    change = np.zeros(len(at), dtype=np.int64)
    np.add.at(change, place[: len(enqueued_at)], 1)
    np.add.at(change, place[len(enqueued_at) :], -1)
    return at, np.cumsum(change)


def plot_quality(series: Sequence[Series]) -> str | None:
    """Draw a histogram of qualities without the worst few; None if no match has a quality."""
    known = [each for each in series if len(each.quality)]
    if not known:
        return None
    low = min(float(np.quantile(each.quality, 0.005)) for each in known)
    edges = np.linspace(min(max(low, 0.0), 0.98), 1.0, 41)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for each in known:
            shares = np.histogram(each.quality, edges)[0] / len(each.quality)
            axes.stairs(shares, edges, color=each.color, label=each.name, lw=1.8)
            if len(known) == 1:
                axes.stairs(shares, edges, color=each.color, fill=True, alpha=0.25)
            axes.axvline(float(each.quality.mean()), color=each.color, lw=1.0, ls=":")
        axes.set(xlabel="quality (dotted: the mean)", ylabel="matches")
        axes.yaxis.set_major_formatter(_percent)
        axes.set_xlim(float(edges[0]), 1.0)
        if len(known) > 1:
            axes.legend(loc="upper left")

    return draw_svg("quality", draw)


def plot_trade(points: Sequence[tuple[str, str, float, float]], *, quality: bool) -> str:
    """Draw policies by mean wait and quality (or cost) of their matches.

    Args:
        points: Name, colour, mean wait, and mean quality or cost per match of each.
        quality: Whether the last number is a quality, so that more is better.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for name, color, wait, height in points:
            axes.plot([wait], [height], "o", color=color, markersize=9, label=name)
        axes.margins(0.18)
        axes.set_xlabel("mean wait, seconds")
        axes.set_ylabel("mean quality" if quality else "cost per match")
        axes.annotate(
            "better",
            (0.015, 0.97 if quality else 0.03),
            (0.09, 0.85 if quality else 0.15),
            xycoords="axes fraction",
            color=SOFT,
            arrowprops={"arrowstyle": "->", "color": SOFT},
        )
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    return draw_svg("trade", draw)


def plot_lines(plot: Plot) -> str:
    """Draw figures against a parameter: marks with half-widths for simulated ones.

    Args:
        plot: The plot; its name starts the ids inside the SVG. A formula, including a printed one,
            has the colour of the figure that it predicts.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        colors: dict[str, str] = {}
        for line in plot.lines:
            about = line.name.removesuffix(", formula").removesuffix(", printed")
            color = colors.setdefault(about, COLORS[len(colors) % len(COLORS)])
            if line.is_theory:
                dashes = "--" if line.name.endswith(", printed") else ":"
                axes.plot(line.xs, line.ys, dashes, color=color, label=line.name, lw=1.6)
            else:
                widths = line.widths or None
                axes.errorbar(line.xs, line.ys, widths, fmt="o-", ms=4, color=color,
                              label=line.name, capsize=2)  # fmt: skip
        if plot.is_log:
            axes.set_xscale("log")
        if plot.from_zero:
            axes.set_ylim(bottom=0.0)
        axes.set(xlabel=plot.x, ylabel=plot.y)
        if len(plot.lines) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    return draw_svg(plot.name, draw)


def as_file(svg: str) -> str:
    """Return an embedded figure as a file of its own."""
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return svg.replace("<svg", f"<svg {names}", 1) + "\n"


def plain_text(text: str) -> str:
    """Return a text of users for matplotlib, which takes what is between two `$` for a formula."""
    return text.replace("$", r"\$")


def _percent(value: float, _: object = None) -> str:
    return f"{100.0 * value:g} %"


def draw_svg(name: str, draw: Callable[[Figure], None], height: float = 3.4) -> str:
    """Return a figure as an SVG element whose ids start with `name`, so that a page holds many."""
    out = io.StringIO()
    _save(out, draw, height, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'\s(xmlns(:\w+)?|width|height)="[^"]*"', "", text, count=4)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    return re.sub(r'(url\(#|href="#)', rf"\1{name}-", text)


def draw_png(draw: Callable[[Figure], None], height: float = 3.4) -> bytes:
    """Return a figure as a PNG file."""
    out = io.BytesIO()
    _save(out, draw, height, format="png", dpi=144)
    return out.getvalue()


def _save(
    out: io.StringIO | io.BytesIO, draw: Callable[[Figure], None], height: float, **options: Any
) -> None:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.0, height), layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        figure.savefig(out, **options)
