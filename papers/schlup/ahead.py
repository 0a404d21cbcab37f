"""The value of knowing arrivals ahead, and the cost of deciding on a clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from evenmatch.lab.report.plots import Plot, PlotLine
from papers.shared.estimates import mean_of_ratios
from papers.shared.findings import Effort, Findings, Part, Row, Table
from papers.shared.sequences import SequenceFigures, Task, measure, optima, seeds
from papers.shared.words import of_row
from papers.shared.worlds import LENGTH, WAIT_MAX, Rates, World, file_name

HORIZONS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Of wait_max."""
TICKS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""Of wait_max."""
ON_CLOCK = ("price", "lookahead:horizon=1e-6")
"""One decides arrival by arrival, the other plans the whole pool at every tick: the arrivals of one
tick are announced to it together, just before."""
SIX: tuple[Rates, ...] = ("constant", "time")
SETTINGS = tuple((rate, rates) for rates in SIX for rate in (1.0, 3.0, 10.0))


def _worlds(effort: Effort) -> tuple[World, ...]:
    """Return the six settings of Table 3, shorter if many sequences must be quick."""
    count = 2 * LENGTH // 5 if effort.quick else LENGTH
    return tuple(World(rate=rate, rates=rates, count=count) for rate, rates in SETTINGS)


def lookahead(effort: Effort) -> Part:
    """Return the part on arrivals that are known ahead."""
    policies = tuple(_announced(share) for share in HORIZONS)
    tasks = [
        Task(world=world, seed=seed, policies=policies, wants_optimum=True)
        for seed in seeds(effort, quick=3, full=20)
        for world in _worlds(effort)
    ]
    return Part(("schlup.lookahead",), measure, tasks, partial(_of_lookahead, effort.seed))


def _announced(share: float) -> str:
    return f"lookahead:horizon={share * WAIT_MAX:g}"


def ticks(effort: Effort) -> Part:
    """Return the part on decisions on a clock."""
    tasks = [
        Task(
            world=world,
            seed=seed,
            policies=ON_CLOCK,
            wants_optimum=share == 0.0,
            tick=share * WAIT_MAX,
        )
        for seed in seeds(effort, quick=3, full=50)
        for world in _worlds(effort)
        for share in TICKS
    ]
    return Part(("schlup.ticks",), measure, tasks, _of_ticks)


def _of_lookahead(seed: int, results: Sequence[SequenceFigures]) -> Findings:
    groups = [results[at :: len(SETTINGS)] for at in range(len(SETTINGS))]
    rate, rates = SETTINGS[-1]
    world = World(rate=rate, rates=rates)
    rows, scenarios = [], {}
    for share in HORIZONS:
        policy = _announced(share)
        found = mean_of_ratios(
            [([each.costs[policy] for each in runs], optima(runs)) for runs in groups]
        )
        name = file_name(world.name, policy)
        scenarios[name] = world.toml(policy, seed)
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


def _of_ticks(results: Sequence[SequenceFigures]) -> Findings:
    rows = []
    for policy in ON_CLOCK:
        for at, share in enumerate(TICKS):
            found = mean_of_ratios(
                [_costs_and_optima(results, policy, at, world) for world in range(len(SETTINGS))]
            )
            rows.append(
                Row(
                    id="schlup.ticks",
                    params={"tick": share, "policy": policy, "average": "MoR"},
                    simulated=found.value,
                    half_width=found.half_width,
                )
            )
    return Findings(tuple(rows), (ON_TICKS.table(rows),), (ON_TICKS.plot(rows),))


def _costs_and_optima(
    results: Sequence[SequenceFigures], policy: str, tick: int, world: int
) -> tuple[list[float], list[float]]:
    """Return the costs at a tick, and the optima, which are measured without a clock."""
    step, start = len(TICKS) * len(SETTINGS), world * len(TICKS)
    costs = [each.costs[policy] for each in results[start + tick :: step]]
    return costs, optima(results[start::step])


class Series(msgspec.Struct, frozen=True):
    """One figure over shares of wait_max.

    Args:
        name: File name of the plot.
        title: A few words.
        text: What the plot shows.
        what: The quantity whose shares of wait_max these are.
        shares: Ascending.
    """

    name: str
    title: str
    text: str
    what: str
    shares: tuple[float, ...]

    def table(self, rows: Sequence[Row]) -> Table:
        """Return the rows as a table, with a line for each policy that has all shares."""
        heads = (self.what, *(f"{share:g}" for share in self.shares))
        lines = [(name, *map(of_row, own)) for name, own in self._lines(rows)]
        return Table(self.title, self.text, heads, tuple(lines))

    def plot(self, rows: Sequence[Row]) -> Plot:
        """Return the same as lines."""
        lines = tuple(
            PlotLine(
                name,
                self.shares,
                tuple(row.simulated or 0.0 for row in own),
                tuple(row.half_width or 0.0 for row in own),
            )
            for name, own in self._lines(rows)
        )
        return Plot(self.name, self.title, self.text, self.what, "cost / OPT, mean of six", lines)

    def _lines(self, rows: Sequence[Row]) -> Iterator[tuple[str, Sequence[Row]]]:
        count = len(self.shares)
        for at in range(0, len(rows), count):
            name = "MoR" if len(rows) == count else f"MoR, {rows[at].params['policy']}"
            yield name, rows[at : at + count]


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
    "Arrivals are seen at the next tick of a clock only, while their waits count from when they "
    f"came. {ON_CLOCK[0]} pairs those whom a tick brings so that all gain most, {ON_CLOCK[1]} "
    "plans them. The mean of the six ratios to the optimum.",
    "tick, of wait_max",
    TICKS,
)
