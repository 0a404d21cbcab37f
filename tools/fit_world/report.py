"""One page about a fit of the world."""

from __future__ import annotations

from pathlib import Path

from evenmatch.lab.report import check_installed, page
from evenmatch.sim.world_model import WorldModel
from tools.fit_world.fit import Measured
from tools.fit_world.words import lines

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
    """Return the page as HTML that loads nothing from anywhere.

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
