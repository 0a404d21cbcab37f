"""Plots of a fit of the world: shares by hour, delay by distance, pings between regions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenmatch.lab.report.plots import COLORS, draw_svg
from evenmatch.model.world import World
from evenmatch.simulation.world.model import HOURS, Floats, WorldModel
from evenmatch.simulation.world.parties import Geography, PartyColumns, WorldDraws
from tools.fit_world.fit import Measured, pairs_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MORE_COLORS = (*COLORS, "#b8860b", "#7fbf7b", "#af8dc3")
BINS = 40
LEVELS = ((0.05, ":", "5 and 95 %"), (0.25, "--", "25 and 75 %"), (0.5, "-", "half"))
CROWD = 40_000
KM_MAX = 18_000.0


def plot_shares(model: WorldModel, measured: Measured) -> str:
    """Draw each region's fitted share of the players by hour, with the measured shares as lines."""
    order = np.argsort(-measured.hours.sum(axis=0), kind="stable")
    fitted = _shares(model.players_by_hour())[:, order]
    known = np.cumsum(_shares(measured.hours)[:, order], axis=1)
    hours = np.arange(HOURS) + 0.5

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        names = [model.names[at] for at in order]
        axes.stackplot(hours, fitted.T, labels=names, colors=MORE_COLORS, alpha=0.75, lw=0.0)
        axes.plot(hours, known[:, :-1], ".-", color="#222222", lw=0.8, ms=3.0)
        axes.set(xlim=(hours[0], hours[-1]), ylim=(0.0, 1.0), xlabel="hour of the day, UTC")
        axes.set_xticks(range(3, HOURS, 3))
        axes.yaxis.set_major_formatter(lambda value, _: f"{100.0 * value:g} %")
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5))

    return draw_svg("shares", draw, height=4.4)


def plot_volume(model: WorldModel, measured: Measured) -> str:
    """Draw the matches of all regions by hour, fitted and measured."""
    fitted = model.players_by_hour().sum(axis=1)
    known = measured.hours.sum(axis=1)
    hours = np.arange(HOURS) + 0.5

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot(hours, fitted / fitted.mean(), color=COLORS[0], label="fitted")
        axes.plot(hours, known / known.mean(), "o", color=COLORS[1], ms=4.0, label="measured")
        axes.set(xlim=(0.0, HOURS), xlabel="hour of the day, UTC", ylabel="times the mean")
        axes.set_xticks(range(0, HOURS + 1, 3))
        axes.set_ylim(bottom=0.0)
        axes.legend(loc="lower right")

    return draw_svg("volume", draw, height=2.8)


def plot_delay(model: WorldModel, measured: Measured) -> str:
    """Draw quantiles of round trips against distance, fitted and measured."""
    km, rtt = pairs_of(measured)
    edges = np.linspace(0.0, KM_MAX, BINS + 1)
    places = np.digitize(km, edges) - 1
    inside = [rtt[places == at] for at in range(BINS)]
    middles = (edges[1:] + edges[:-1]) / 2.0
    floor = model.delay.floor(middles)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for level, style, words in LEVELS:
            for at in sorted({level, 1.0 - level}):
                fitted = floor - model.delay.detour(floor) * np.log1p(-at)
                known = [np.quantile(found, at) if len(found) else np.nan for found in inside]
                first = at == level
                axes.plot(middles, known, style, color=COLORS[1], lw=1.4,
                          label=f"measured, {words}" if first else None)  # fmt: skip
                axes.plot(middles, fitted, style, color=COLORS[0], lw=1.4,
                          label=f"fitted, {words}" if first else None)  # fmt: skip
        axes.set(xlim=(0.0, KM_MAX), xlabel="great circle, km", ylabel="round trip, ms")
        axes.set_ylim(0.0, 600.0)
        axes.legend(loc="upper left", ncols=3, fontsize=8.5)

    return draw_svg("delay", draw, height=4.0)


def plot_matrix(model: WorldModel) -> str:
    """Draw the median ping from players of each region to the servers of each region."""
    crowd = _crowd(model)
    count = len(model.names)
    medians = np.stack([np.median(crowd.latency[crowd.region == at], axis=0)
                        for at in range(count)])  # fmt: skip

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.imshow(np.log(medians), cmap="YlOrRd", aspect="auto", vmin=3.0, vmax=6.1)
        for row, column in np.ndindex(medians.shape):
            value = medians[row, column]
            axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=9.0,
                      color="white" if value > 220.0 else "#222222")  # fmt: skip
        axes.set_xticks(range(count), model.names, rotation=35.0, ha="right")
        axes.set_yticks(range(count), model.names)
        axes.set(xlabel="servers of", ylabel="players of")
        axes.grid(visible=False)

    return draw_svg("matrix", draw, height=4.6)


def plot_homes(model: WorldModel) -> str:
    """Draw the distribution of a region's pings to its servers, for players at home and others."""
    crowd = _crowd(model)
    home = crowd.latency[np.arange(len(crowd.region)), crowd.region]
    levels = np.linspace(0.0, 1.0, 201)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for at, name in enumerate(model.names):
            found = np.quantile(home[crowd.region == at], levels)
            axes.plot(found, levels, color=MORE_COLORS[at % len(MORE_COLORS)], lw=1.4, label=name)
        away = crowd.latency[np.arange(len(home)), (crowd.region + 1) % len(model.names)]
        axes.plot(np.quantile(away, levels), levels, ":", color="#222222", label="another region")
        axes.set(xlim=(0.0, 400.0), ylim=(0.0, 1.0), xlabel="ping with the last mile, ms")
        axes.set_ylabel("players with less")
        axes.yaxis.set_major_formatter(lambda value, _: f"{100.0 * value:g} %")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    return draw_svg("homes", draw, height=3.8)


def _crowd(model: WorldModel) -> PartyColumns:
    """Return equally many players of all regions, so that small ones are visible, too."""
    geography = Geography(World(1.0), model)
    geography.shares = np.full_like(geography.shares, 1.0 / len(model.names))
    return WorldDraws(World(1.0), geography, np.random.SeedSequence(0)).crowd(np.zeros(CROWD))


def _shares(players: Floats) -> Floats:
    return np.asarray(players / players.sum(axis=1, keepdims=True))
