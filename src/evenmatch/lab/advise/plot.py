"""Plots of an advice: waits against players online, and the players that each split adds."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.lab.advise.answer import Advice
from evenmatch.lab.advise.market import Market
from evenmatch.lab.report.plots import COLORS, SOFT, as_file, draw_png, draw_svg, plain_text
from evenmatch.lab.report.report import check_installed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 60
REACH = 8.0
"""Range of the curves, as a factor below and above the answer."""
SHARES = {0.5: "half below", 0.9: "90 % below", 0.95: "95 % below"}
SECOND, MINUTE, HOUR, DAY = 1.0, 60.0, 3_600.0, 86_400.0
Spans = tuple[tuple[float, float, float], ...]
SPANS: Spans = (
    (SECOND, 1e-3, 30.0),
    (MINUTE, 1.0, 30.0),
    (HOUR, 1.0, 12.0),
    (DAY, 1.0, 1e5),
)
"""Units for waits on an axis, each with its range."""
LADDERS = ((1, 2, 3, 5), (1, 3), (1,))
"""Marks of an axis in each power of ten of a unit, from many to few."""
TICKS_MAX = 9
FORMATS = (".svg", ".png")


def check_plot(path: Path) -> None:
    """Refuse a plot that cannot be drawn, before the work instead of after it.

    Raises:
        ConfigError: The file's name ends neither in .svg nor in .png.
        NotSupported: Drawing needs packages that are not installed.
    """
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"--plot: {path} must end in .svg or .png")
    check_installed("--plot")


def write_plot(advice: Advice, path: Path) -> bool:
    """Draw an advice into a file.

    Args:
        advice: The advice.
        path: Ends in .svg or .png.

    Returns:
        Whether there was anything to draw: not if waits grow for ever, or too few are online.

    Raises:
        ConfigError: The file cannot be written.
    """
    if advice.known.pool is None or advice.rate is None or advice.players_online is None:
        return False
    market = Market(advice.base, advice.known.pool)
    rungs = _rungs(market, advice)
    height = 3.4 + (0.9 + 0.38 * len(rungs) if len(rungs) > 1 else 0.0)
    paint = _painter(market, advice, rungs)
    try:
        if path.suffix.lower() == ".png":
            path.write_bytes(draw_png(paint, height))
        else:
            path.write_text(as_file(draw_svg("advice", paint, height)), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None
    return True


def _painter(
    market: Market, advice: Advice, rungs: list[tuple[str, float]]
) -> Callable[[Figure], None]:
    def paint(figure: Figure) -> None:
        if len(rungs) < 2:
            _paint_waits(figure.subplots(), market, advice)
            return
        above, below = figure.subplots(2, 1, height_ratios=[3.4, 0.9 + 0.38 * len(rungs)])
        _paint_waits(above, market, advice)
        _paint_rungs(below, rungs, advice)

    return paint


def _paint_waits(axes: Axes, market: Market, advice: Advice) -> None:
    answer = advice.players_online
    assert answer is not None, "there is something to draw"
    pooled = advice.pooled_players or answer
    low, high = min(answer, pooled) / REACH, max(answer, pooled) * REACH
    online = np.geomspace(low, high, POINTS)
    rates = [market.rate_of(float(players)) for players in online]
    shares = dict(SHARES)
    shares.setdefault(advice.percentile, f"{100.0 * advice.percentile:g} % below")
    for color, share in zip(COLORS, sorted(shares), strict=False):
        waits = [
            None if rate is None else market.pool.waits(market.smallest * rate).quantile(share)
            for rate in rates
        ]
        _line(axes, online, waits, color=color, label=f"{shares[share]}, worst pool")
    if len(market.sizes) > 1:
        waits = [None if rate is None else market.quantile(rate, advice.percentile)
                 for rate in rates]  # fmt: skip
        label = f"{shares[advice.percentile]}, all pools together"
        _line(axes, online, waits, color=COLORS[4], label=label, dashed=True)
    if advice.target_wait is not None:
        axes.axhline(advice.target_wait, color=SOFT, lw=1.0, ls=":")
        axes.annotate("target", (high, advice.target_wait), (0, 3), color=SOFT, ha="right",
                      textcoords="offset points")  # fmt: skip
    axes.axvline(answer, color=SOFT, lw=1.0, ls=":")
    axes.annotate(f"{_count(answer)} online", (answer, 0.97), (4, 0), color=SOFT, va="top",
                  xycoords=("data", "axes fraction"), textcoords="offset points")  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="players online", ylabel="wait")
    counts = round_counts(*axes.get_xlim())
    axes.set_xticks(counts, [_count(each) for each in counts])
    axes.set_xticks([], minor=True)
    ticks = round_waits(*axes.get_ylim())
    axes.set_yticks(ticks, [time_text(tick) for tick in ticks])
    axes.set_yticks([], minor=True)
    axes.legend(loc="lower left", fontsize=9)


def _line(
    axes: Axes,
    online: np.ndarray[tuple[int], np.dtype[np.float64]],
    waits: list[float | None],
    *,
    color: str,
    label: str,
    dashed: bool = False,
) -> None:
    """Draw a curve over the waits above 0, which a logarithmic axis can show."""
    known = [value if value else math.nan for value in waits]
    if not all(math.isnan(value) for value in known):
        axes.plot(online, known, color=color, label=label, ls="--" if dashed else "-")


def round_waits(low: float, high: float) -> list[float]:
    """Return round waits in a range, in seconds, for the marks of an axis.

    >>> [time_text(each) for each in round_waits(0.7, 5_000.0)]
    ['1 s', '3 s', '10 s', '30 s', '1 min', '3 min', '10 min', '30 min', '1 h']
    """
    return _marks(SPANS, low, high)


def round_counts(low: float, high: float) -> list[float]:
    """Return round numbers of players in a range, for the marks of an axis.

    >>> round_counts(17.0, 240.0)
    [20.0, 30.0, 50.0, 100.0, 200.0]
    """
    return _marks(((1.0, 1e-9, 1e12),), low, high)


def _marks(spans: Spans, low: float, high: float) -> list[float]:
    found: list[float] = []
    for ladder in LADDERS:
        marks = [
            unit * float(f"{step}e{power}")
            for unit, least, most in spans
            for power in range(-9, 13)
            for step in ladder
            if least <= float(f"{step}e{power}") <= most
        ]
        found = [mark for mark in marks if low <= mark <= high]
        if len(found) <= TICKS_MAX:
            break
    return found


def time_text(wait: float) -> str:
    """Return a wait in its unit.

    >>> time_text(0.01), time_text(83.2), time_text(86_400.0)
    ('0.01 s', '1.39 min', '1 d')
    """
    unit, name = next(
        (each for each in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")) if wait >= each[0]),
        (SECOND, "s"),
    )
    count = wait / unit
    return f"{count:,.0f} {name}" if count >= 100.0 else f"{count:.3g} {name}"


def _count(players: float, _: object = None) -> str:
    return f"{players:,.0f}" if players >= 1.0 else f"{players:g}"


def _rungs(market: Market, advice: Advice) -> list[tuple[str, float]]:
    """Return the players needed with no split, the first, the first two, and so on."""
    worst = advice.worst
    wait = advice.target_wait or (worst.figures.wait if worst else None)
    if not wait or not market.base.splits:
        return []
    rungs = []
    for count in range(len(market.base.splits) + 1):
        some = market.with_splits(market.base.splits[:count])
        name = _rung(count, market)
        rungs.append((name, some.players_at(some.rate_for_all(wait, advice.percentile))))
    return rungs


def _rung(count: int, market: Market) -> str:
    if not count:
        return "all together"
    name = plain_text(market.base.splits[count - 1].name)
    return f"split by {name}" if count == 1 else f"and by {name}"


def _paint_rungs(axes: Axes, rungs: list[tuple[str, float]], advice: Advice) -> None:
    names = [name for name, _ in rungs]
    values = [value for _, value in rungs]
    axes.barh(names, values, color=COLORS[0], height=0.6)
    for place, value in enumerate(values):
        axes.annotate(f"{value:,.0f}", (value, place), (4, 0), va="center", color=SOFT,
                      textcoords="offset points")  # fmt: skip
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.grid(visible=False, axis="y")
    limit = advice.target_wait or (advice.worst.figures.wait if advice.worst else None) or 0.0
    axes.set_title(
        f"players online that every pool needs for {time_text(limit)} "
        f"({100.0 * advice.percentile:g} % below)"
    )
    axes.locator_params(axis="x", integer=True)
    axes.xaxis.set_major_formatter(_count)
