"""What it would be worth to know arrivals ahead, and what it costs to decide on a clock."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from evenmatch.lab.reproduce.measure import Measured, Task, mean_of_ratios, measure
from evenmatch.lab.reproduce.row import Effort, Findings, Line, Part, Plot, Row, Table
from evenmatch.lab.reproduce.sums import optima, seeds
from evenmatch.lab.reproduce.words import of_row
from evenmatch.lab.reproduce.worlds import WAIT_MAX, Rates, World, file_name

HORIZONS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Of wait_max."""
TICKS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Of wait_max."""
ON_CLOCK = "price"
SIX: tuple[Rates, ...] = ("constant", "time")
WORLDS = tuple(World(rate=rate, rates=rates) for rates in SIX for rate in (1.0, 3.0, 10.0))


def lookahead(effort: Effort) -> Part:
    """Return the part of arrivals that are known ahead."""
    policies = tuple(_announced(share) for share in HORIZONS)
    tasks = [
        Task(world=world, seed=seed, policies=policies, wants_optimum=True)
        for seed in seeds(effort, quick=2, full=20)
        for world in WORLDS
    ]
    return Part(("schlup.lookahead",), measure, tasks, partial(_of_lookahead, effort.seed))


def _announced(share: float) -> str:
    return f"lookahead:horizon={share * WAIT_MAX:g}"


def ticks(effort: Effort) -> Part:
    """Return the part of decisions on a clock."""
    tasks = [
        Task(
            world=world,
            seed=seed,
            policies=(ON_CLOCK,),
            wants_optimum=share == 0.0,
            tick=share * WAIT_MAX,
        )
        for seed in seeds(effort, quick=6, full=200)
        for world in WORLDS
        for share in TICKS
    ]
    return Part(("schlup.ticks",), measure, tasks, _of_ticks)


def _of_lookahead(seed: int, results: Sequence[Measured]) -> Findings:
    groups = [results[at :: len(WORLDS)] for at in range(len(WORLDS))]
    rows, scenarios = [], {}
    for share in HORIZONS:
        policy = _announced(share)
        found = mean_of_ratios(
            [([each.costs[policy] for each in runs], optima(runs)) for runs in groups]
        )
        name = file_name(WORLDS[-1].name, policy)
        scenarios[name] = WORLDS[-1].toml(policy, seed)
        rows.append(
            Row(
                id="schlup.lookahead",
                params={"horizon": share, "policy": policy, "average": "MoR"},
                simulated=found.value,
                half_width=found.half_width,
                scenario=name,
            )
        )
    return Findings(tuple(rows), (AHEAD.table(rows),), (AHEAD.plot(rows),), scenarios)


def _of_ticks(results: Sequence[Measured]) -> Findings:
    count = len(TICKS)
    rows = []
    for at, share in enumerate(TICKS):
        pairs = []
        for world in range(len(WORLDS)):
            start = world * count
            runs = results[start + at :: count * len(WORLDS)]
            best = optima(results[start :: count * len(WORLDS)])
            pairs.append(([each.costs[ON_CLOCK] for each in runs], best))
        found = mean_of_ratios(pairs)
        rows.append(
            Row(
                id="schlup.ticks",
                params={"tick": share, "policy": ON_CLOCK, "average": "MoR"},
                simulated=found.value,
                half_width=found.half_width,
            )
        )
    return Findings(tuple(rows), (ON_TICKS.table(rows),), (ON_TICKS.plot(rows),))


class Series(msgspec.Struct, frozen=True):
    """One figure over shares of wait_max.

    Args:
        name: File name of the plot.
        title: A few words.
        text: What is seen.
        what: What the shares are of.
        shares: Ascending.
    """

    name: str
    title: str
    text: str
    what: str
    shares: tuple[float, ...]

    def table(self, rows: Sequence[Row]) -> Table:
        """Return the rows side by side."""
        heads = (self.what, *(f"{share:g}" for share in self.shares))
        return Table(self.title, self.text, heads, (("MoR", *map(of_row, rows)),))

    def plot(self, rows: Sequence[Row]) -> Plot:
        """Return the rows as a line."""
        ys = tuple(row.simulated or 0.0 for row in rows)
        widths = tuple(row.half_width or 0.0 for row in rows)
        lines = (Line("MoR", self.shares, ys, widths),)
        return Plot(self.name, self.title, self.text, self.what, "cost / OPT, mean of six", lines)


AHEAD = Series(
    "lookahead",
    "Arrivals known ahead",
    "Every arrival is announced that many times wait_max ahead. The mean of the six ratios to "
    "the optimum, for which all arrivals are known.",
    "known ahead, of wait_max",
    HORIZONS,
)
ON_TICKS = Series(
    "ticks",
    "Deciding on a clock",
    f"The policy {ON_CLOCK} sees arrivals at the next tick of a clock only, while their waits "
    "count from when they came. The mean of the six ratios to the optimum.",
    "tick, of wait_max",
    TICKS,
)
