"""The report on a fit: its errors, in lines, and a page with plots."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from evenmatch.lab.report.report import check_installed, page
from evenmatch.simulation.world.model import Floats, WorldModel
from tools.fit_world.fit import Measured, pairs_of, share_errors

BANDS = (0.0, 200.0, 500.0, 1000.0, 2000.0, 4000.0, 8000.0, 12_000.0, 20_100.0)
"""Kilometres."""
HEAD = f"{'region':15} {'matches':>8} {'share':>7} {'harmonics':>9} {'mean error':>10} {'most':>6}"
QUANTILES = (0.05, 0.25, 0.50, 0.75, 0.95)


def lines(model: WorldModel, measured: Measured) -> Iterator[str]:
    """Yield the lines of the report."""
    errors, hours = share_errors(model, measured), measured.hours
    yield HEAD
    for at, region in enumerate(model.regions):
        count = hours[:, at].sum()
        off = 100.0 * np.abs(errors[:, at])
        turns = len(region.day) // 2
        yield (
            f"{region.name:15} {count:8,.0f} {100.0 * count / hours.sum():5.2f} % {turns:9d} "
            f"{off.mean():8.2f} % {off.max():4.1f} %"
        )
    off = 100.0 * np.abs(errors)
    yield (
        "errors are of the share of an hour's matches, in points of 100; all: "
        f"mean {off.mean():.2f}, root of mean square {100 * np.sqrt((errors**2).mean()):.2f}"
    )
    delay = model.delay
    yield ""
    if measured.left_out:
        told = ", ".join(measured.left_out)
        yield f"left out, because their pings are faster than light from where they stand: {told}"
    yield (
        f"straightest path = {delay.base:g} ms + {delay.per_km:g} ms/km; on top an exponential "
        f"detour with a mean of {delay.scatter:g} of it, or of {delay.far:g} ms if that is less"
    )
    yield f"{'distance, km':>14} {'pairs':>6}   measured ms at 5/25/50/75/95 %   fitted"
    for low, high, count, known, fitted in bands(model, measured):
        one, other = (" ".join(f"{each:5.0f}" for each in row) for row in (known, fitted))
        yield f"{low:6.0f}-{high:7.0f} {count:6d}   {one}   {other}"
    yield f"mean relative error of these quantiles: {quantile_error(model, measured):.3f}"
    km, rtt = pairs_of(measured)
    floor = delay.floor(km)
    middle = floor + delay.detour(floor) * np.log(2.0)
    yield (
        f"a pair's median against its own round trip: half are within "
        f"{np.median(np.abs(rtt - middle)):.1f} ms, mean error {np.abs(rtt - middle).mean():.1f} ms"
    )


def bands(
    model: WorldModel, measured: Measured
) -> Iterator[tuple[float, float, int, Floats, Floats]]:
    """Yield ends, pairs, measured and fitted quantiles of each band of distances."""
    km, rtt = pairs_of(measured)
    chance = -np.log1p(-(np.arange(999) + 0.5) / 999.0)
    for low, high in pairwise(BANDS):
        inside = (km >= low) & (km < high)
        if inside.any():
            floor = model.delay.floor(km[inside])
            drawn = floor[:, None] + model.delay.detour(floor)[:, None] * chance
            known = np.quantile(rtt[inside], QUANTILES)
            yield low, high, int(inside.sum()), known, np.quantile(drawn, QUANTILES)


def quantile_error(model: WorldModel, measured: Measured) -> float:
    """Return the mean relative error of the quantiles over all bands of distances."""
    off = [np.abs(fitted / known - 1.0) for *_, known, fitted in bands(model, measured)]
    return float(np.mean(off))


TEMPLATE = Path(__file__).with_name("world.html.j2")
TITLE = "A fitted world"
TEXT = (
    "Where players of a game come from by the hour of the day, and how long packets take between "
    "them: parameters that stand for measured files."
)
SHARES = "Areas are fitted, lines are the borders between the measured shares."
VOLUME = "All regions together, as a multiple of their mean over the day."
DELAY = "Round trips between cities, without the last mile."
MATRIX = "Half of a region's players have less, in milliseconds, last mile included."
HOMES = "To the servers of one's own region; dotted, to those of the next one in the list."


def render(model: WorldModel, measured: Measured) -> str:
    """Return the page as HTML that loads nothing from the network.

    Raises:
        NotSupported: jinja2 or matplotlib is not installed.
    """
    check_installed()
    from tools.fit_world import plots as fit_plots

    plots = (
        ("Regions by hour", SHARES, fit_plots.plot_shares(model, measured)),
        ("Players by hour", VOLUME, fit_plots.plot_volume(model, measured)),
        ("Delay by distance", DELAY, fit_plots.plot_delay(model, measured)),
        ("Pings between regions", MATRIX, fit_plots.plot_matrix(model)),
        ("Pings at home", HOMES, fit_plots.plot_homes(model)),
    )
    return page(
        TEMPLATE,
        title=TITLE,
        text=TEXT,
        plots=[{"title": title, "text": text, "svg": svg} for title, text, svg in plots],
        lines="\n".join(lines(model, measured)),
    )
