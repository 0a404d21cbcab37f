"""Figure 6: the times between packages of two players, compared with a Poisson process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.config.files import parse_scenario
from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import student_t
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.xu.packed_arrivals import PackedArrivals
from papers.xu.points import FIXED, Point
from papers.xu.rows import agreement, tell

Floats = NDArray[np.float64]

SHARES = (0.2, 0.5, 0.8)
"""Individual players per second, at one player per second; the paper's panels a, b and c."""
WIDTH = 0.25
BINS = 32
PARTS = 20
"""Parts of a run, whose scatter gives the intervals."""


class Gaps(msgspec.Struct, frozen=True):
    """The results of a run: the shares of gaps by bin, and their mean and variance.

    Args:
        shares: Part by part, each (BINS,).
        means: Part by part.
        variances: Part by part.
    """

    shares: list[list[float]]
    means: list[float]
    variances: list[float]


class Task(msgspec.Struct, frozen=True):
    """A scenario of packing, and how many of its tickets to take."""

    text: str
    count: int


def packing(effort: Effort) -> Part:
    """Return the part on figure 6."""
    own = _points()
    count = 60_000 if effort.quick else 1_000_000
    tasks = [Task(each.text(effort.seed), count) for each in own]
    return Part(("xu.figure6",), measure_gaps, tasks, partial(_finish, effort, own))


def _points() -> list[Point]:
    numbers = [next(at for at, (solo, _) in enumerate(FIXED) if solo == x) for x in SHARES]
    return [
        Point(name=f"{at + 1}", solo=FIXED[at][0], party=FIXED[at][1], order="packing", number=at)
        for at in numbers
    ]


def texts(seed: int) -> dict[str, str]:
    """Return the scenarios by their names."""
    return {each.scenario: each.text(seed) for each in _points()}


def packages(times: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Return when packages are complete: a pair at once, two solos when the second arrives.

    Args:
        times: Of the arrivals, seconds, ascending.
        sizes: Players of each.
    """
    solos = np.flatnonzero(sizes == 1)
    return np.sort(np.concatenate([times[sizes == 2], times[solos[1::2]]]))


def measure_gaps(task: Task) -> Gaps:
    """Simulate packing, and cut the gaps between packages into bins."""
    scenario = parse_scenario(task.text)
    assert scenario.arrivals is not None
    arrivals = msgspec.structs.replace(scenario.arrivals, count=task.count)
    history = simulate(msgspec.structs.replace(scenario, arrivals=arrivals)).history
    done = packages(np.asarray(history.enqueued_at), np.asarray(history.sizes))
    parts = np.array_split(np.diff(done), PARTS)
    edges = WIDTH * np.arange(BINS + 1)
    return Gaps(
        [(np.histogram(part, edges)[0] / len(part)).tolist() for part in parts],
        [float(part.mean()) for part in parts],
        [float(part.var()) for part in parts],
    )


def _mean(values: Sequence[float]) -> Estimate:
    width = student_t(len(values) - 1) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Estimate(float(np.mean(values)), width)


def distance(law: PackedArrivals) -> float:
    """Return the distance of gaps from a Poisson process: the largest difference of a probability.

    It is half the integral between the densities: the total variation distance.
    """
    step = 0.001 / law.rate
    middles = step * (np.arange(40_000) + 0.5)
    apart = np.abs(law.density(middles) - law.poisson_density(middles))
    return float(0.5 * step * apart.sum())


def _finish(effort: Effort, own: Sequence[Point], results: Sequence[Gaps]) -> Findings:
    rows: list[Row] = []
    plots = []
    for letter, point, found in zip("abc", own, results, strict=True):
        law = PackedArrivals(solo_rate=point.solo, party_rate=point.party)
        shares = np.asarray(found.shares)
        setting: dict[str, Any] = {
            "solo_rate": point.solo,
            "party_rate": point.party,
            "scenario": point.scenario,
        }
        first = float(law.cdf(WIDTH))
        rows += [
            tell("figure6", "mean time between packages", **setting, exact=law.mean,
                 found=_mean(found.means)),
            tell("figure6", "variance of that time; 4 if it were Poisson", **setting,
                 exact=law.var, found=_mean(found.variances)),
            tell("figure6", f"share of times below {WIDTH:g}; {1 - math.exp(-WIDTH / 2):.4f} if "
                 "Poisson", **setting, exact=first, found=_mean(shares[:, 0].tolist())),
        ]  # fmt: skip
        plots.append(_panel(letter, point, law, shares))
    rows += _said()
    text = (
        "One player per second; a package is a pair, or two individual players as soon as the "
        f"second comes. Seconds. {agreement(rows, effort)}"
    )
    table = table_of_rows("Figure 6: packages are not quite Poisson", text, rows)
    return Findings(tuple(rows), (table,), tuple(plots), texts(effort.seed))


def _said() -> list[Row]:
    """Return the distance from a Poisson process, which should grow with individual players."""
    shares = (*SHARES, 1.0)
    apart = [distance(PackedArrivals(solo_rate=x, party_rate=(1.0 - x) / 2.0)) for x in shares]
    return [
        tell("figure6", "'more inaccurate with more solos': largest error of a probability",
             solo_rate=share, exact=each,
             verdict="holds" if each == max(apart[: at + 1]) else "differs")
        for at, (share, each) in enumerate(zip(shares, apart, strict=True))
    ]  # fmt: skip


def _panel(letter: str, point: Point, law: PackedArrivals, shares: Floats) -> Plot:
    middles = WIDTH * (np.arange(BINS) + 0.5)
    xs = tuple(middles.tolist())
    heights = [_mean((column / WIDTH).tolist()) for column in shares.T]
    lines = (
        PlotLine("packages", xs, tuple(each.value for each in heights),
             tuple(each.half_width for each in heights)),
        PlotLine("packages, formula", xs, tuple(law.density(middles).tolist()), is_theory=True),
        PlotLine("Poisson, formula", xs, tuple(law.poisson_density(middles).tolist()),
             is_theory=True),
    )  # fmt: skip
    text = (
        f"{point.solo:g} individual players and {point.party:g} pairs per second. Marks are "
        f"simulated, in bins of {WIDTH:g} s; a solo who waits for another keeps packages apart."
    )
    title = f"Figure 6 ({letter}): times between packages, {point.solo:g} come alone"
    return Plot(f"figure6-{letter}", title, text, "time between packages, s", "density, 1/s", lines)
