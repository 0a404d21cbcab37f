"""Continuous skill: how wide a window should be, and who waits long for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.theory.recommend_window import recommend_window
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part, Row, Verdict
from papers.shared.words import table_of_rows
from papers.wu.worlds import PeriodFigures, World, by_world, mean, play, runs_of

ALPHAS, MORE_ALPHAS = (64.0,), (16.0, 256.0)
"""The second set is used only without `--quick`."""
WIDTHS = (0.4, 0.6, 0.8, 1.0, 1.3)
"""Deltas times sqrt(alpha); .8 is the one that is recommended."""
BEST = 0.8
UNIFORM = 'distribution = "uniform"\nmin = 0.0\nmax = 1.0\n'
NORMAL = 'distribution = "normal"\nmean = 0.0\ndeviation = 1.0\n'
NORMAL_ALPHA = 4.0


def windows(effort: Effort) -> Part:
    """Return the part of continuous skill."""
    tasks = runs_of(worlds(effort), effort)
    return Part(
        ("wu.window", "wu.ends"), play, tasks, lambda found: _finish(by_world(tasks, found), effort)
    )


def worlds(effort: Effort) -> list[World]:
    """Return what is simulated."""
    alphas = ALPHAS if effort.quick else (*ALPHAS, *MORE_ALPHAS)
    return [*(_world(alpha, width) for alpha in alphas for width in WIDTHS), _ends()]


def _world(alpha: float, width: float) -> World:
    delta = round(width / math.sqrt(alpha), 6)
    return World(
        name=f"wu-window-a{alpha:g}-w{width:g}",
        n=1,
        alpha=alpha,
        policy=f"imbalance_threshold:delta={delta:g}",
        skill=UNIFORM,
    )


def _ends() -> World:
    """Return duels of a normal skill with rare extremes: one window for all."""
    density = 1.0 / math.sqrt(4.0 * math.pi)  # The mean density at a player's own skill.
    delta = recommend_window(alpha=NORMAL_ALPHA, rate=1.0, density=density).delta
    return World(
        name="wu-ends",
        n=1,
        alpha=NORMAL_ALPHA,
        policy=f"imbalance_threshold:delta={delta:.3f}",
        skill=NORMAL,
        has_tenths=True,
    )


def _finish(found: Mapping[str, Sequence[PeriodFigures]], effort: Effort) -> Findings:
    rows = [*_windows(found, effort), *_tenths(found)]
    text = (
        "Duels with the nearest who waits, if he is within delta; one player each second. Skill "
        "is uniform on [0, 1], or normal where tenths of it are told. All widths meet the same "
        "players."
    )
    return Findings(
        tuple(rows),
        (table_of_rows("Continuous skill", text, rows),),
        (_plot(found, effort),),
        {world.file: world.toml(effort.seed) for world in worlds(effort)},
    )


def _told(
    name: str, world: World, what: str, found: Estimate, verdict: Verdict | None = None
) -> Row:
    return Row(
        id=f"wu.{name}",
        params={"alpha": world.alpha, "policy": world.policy, "what": what},
        simulated=found.value,
        half_width=found.half_width,
        verdict=verdict,
        scenario=world.file,
    )


def _windows(found: Mapping[str, Sequence[PeriodFigures]], effort: Effort) -> Iterator[Row]:
    for world in worlds(effort)[:-1]:
        root = math.sqrt(world.alpha)
        runs = found[world.name]
        yield _told("window", world, "cost over sqrt(alpha)", mean([r.cost / root for r in runs]))
    for alpha in dict.fromkeys(world.alpha for world in worlds(effort)[:-1]):
        best = found[_world(alpha, BEST).name]
        for width in WIDTHS:
            if width != BEST:
                pairs = zip(found[_world(alpha, width).name], best, strict=True)
                more = mean([100.0 * (one.cost / other.cost - 1.0) for one, other in pairs])
                what = "percent above the cost of the recommended window"
                yield _told("window", _world(alpha, width), what, more)


def _tenths(found: Mapping[str, Sequence[PeriodFigures]]) -> Iterator[Row]:
    """Yield how much longer the extremes wait than the middle, in every run."""
    world = _ends()
    runs = found[world.name]
    for place, name in ((0, "lowest"), (9, "highest")):
        times = mean([run.waits[place] / (run.waits[4] + run.waits[5]) * 2.0 for run in runs])
        verdict: Verdict = "holds" if times.value - times.half_width > 1.0 else "differs"
        what = f"wait of the {name} tenth, times that of the middle two"
        yield _told("ends", world, what, times, verdict)


def _plot(found: Mapping[str, Sequence[PeriodFigures]], effort: Effort) -> Plot:
    lines = []
    for alpha in dict.fromkeys(world.alpha for world in worlds(effort)[:-1]):
        costs = [
            mean([run.cost / math.sqrt(alpha) for run in found[_world(alpha, width).name]])
            for width in WIDTHS
        ]
        values = tuple(cost.value for cost in costs)
        widths = tuple(cost.half_width for cost in costs)
        lines.append(PlotLine(f"alpha = {alpha:g}", WIDTHS, values, widths))
    return Plot(
        "cost_by_window",
        "The width of a window, whatever alpha is",
        "Both axes are scaled by the square root of alpha, which brings the lines of every alpha "
        "almost together: the best width is about .8 over that root.",
        "delta * sqrt(alpha)",
        "cost per period / sqrt(alpha)",
        tuple(lines),
        from_zero=False,
    )
