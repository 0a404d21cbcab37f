"""Quality against effort: descent and annealing, restarts and forced swaps, at equal evaluations.

Effort is counted in evaluations of a match, each of which tries all of its divisions, so it is the
same on every machine; `speed` measures how many there are in a second.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.lab.solve.solution import POINTS
from papers.galactron.pools import pool_of, solved
from papers.shared.estimates import Estimate, Found, difference, is_above, mean_of, told
from papers.shared.findings import Effort, Findings, Part, Row, Table, Verdict
from papers.shared.sequences import seeds
from papers.shared.words import figure, of_row

SIZES = (102, 300)
"""Players of a pool: "100+", and the number that the blog would like."""
POOLS = {102: 30, 300: 20}
"""Number of pools; thirty of the larger ones were tried, too, and decide nothing more."""
EFFORTS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
METHODS = {
    "anneal": "annealing",
    "descent": "descent, restarts",
    "descent:escape=forced": "descent, forced swaps",
}
ONE_DESCENT = 30_000
"""Approximate evaluations of the first descent of some 100 players."""
TEXT = (
    "Mean quality in points over pools of our world, by the evaluations spent. Half-widths are "
    "those of the mean over pools; methods meet the same pools, so that their differences are "
    "known far better: see the rows."
)


class Climb(msgspec.Struct, frozen=True):
    """A pool, to be solved by all methods with each effort."""

    players: int
    seed: int
    efforts: tuple[int, ...]


def effort_ladder(effort: Effort) -> Part:
    """Return the part of quality against effort."""
    efforts = EFFORTS[:-1] if effort.quick else EFFORTS
    tasks = [
        Climb(players, seed, efforts)
        for players in reversed(SIZES)
        for seed in seeds(effort, quick=3, full=POOLS[players])
    ]
    ids = tuple(f"galactron.{name}" for name in ("time", "annealing", "forced"))
    return Part(ids, climb, tasks, lambda found: _finish(tasks, found))


def climb(given: Climb) -> Found:
    """Return the quality that each method finds with each effort, points."""
    batch = pool_of(given.players, given.seed).batch
    return {
        f"{method} {effort}": POINTS
        * float(solved(batch, effort, given.seed, method=method).quality.mean())
        for method in METHODS
        for effort in given.efforts
    }


def _finish(tasks: Sequence[Climb], results: Sequence[Found]) -> Findings:
    rows: list[Row] = []
    plots = []
    for players in SIZES:
        own = [each for task, each in zip(tasks, results, strict=True) if task.players == players]
        curve = _curves(players, own)
        rows += [*curve, *_comparisons(players, own)]
        plots.append(_plot(players, curve))
    return Findings(tuple(rows), (_table(rows),), tuple(plots))


def efforts_of(results: Sequence[Found]) -> list[int]:
    """Return the efforts with which pools were solved."""
    return sorted({int(key.rpartition(" ")[2]) for key in results[0]})


def _curves(players: int, results: Sequence[Found]) -> list[Row]:
    return [
        told(
            "galactron.time",
            "mean quality",
            mean_of(results, f"{method} {effort}"),
            players=players,
            method=method,
            evaluations=effort,
        )
        for method in METHODS
        for effort in efforts_of(results)
    ]


def _comparisons(players: int, results: Sequence[Found]) -> list[Row]:
    """Return annealing compared with descent, and forced swaps with restarts, at equal effort."""
    rows = []
    for effort in efforts_of(results):
        anneal, descent, forced = (f"{method} {effort}" for method in METHODS)
        gain = difference(results, anneal, descent)
        setting = {"players": players, "evaluations": effort}
        rows.append(
            told(
                "galactron.annealing",
                "annealing better than descent by, points",
                gain,
                _not_significant(gain),
                **setting,
            )
        )
        gain = difference(results, descent, forced)
        verdict = is_above(gain) if effort > ONE_DESCENT else None
        what = "restarts better than forced swaps by, points"
        rows.append(told("galactron.forced", what, gain, verdict, **setting))
    first = f"descent:escape=forced {ONE_DESCENT}"
    for effort in (each for each in efforts_of(results) if each > ONE_DESCENT):
        gain = difference(results, f"descent:escape=forced {effort}", first)
        what = f"forced swaps better than {ONE_DESCENT:,} evaluations of descent by, points"
        setting = {"players": players, "evaluations": effort}
        rows.append(told("galactron.forced", what, gain, is_above(gain), **setting))
    return rows


def _not_significant(gain: Estimate) -> Verdict:
    """Return whether annealing is "probably not significantly" better: not beyond chance."""
    return "differs" if gain.value > gain.half_width else "holds"


def _plot(players: int, rows: Sequence[Row]) -> Plot:
    lines = tuple(
        PlotLine(
            name,
            tuple(
                float(row.params["evaluations"]) for row in rows if row.params["method"] == method
            ),
            tuple(row.simulated or 0.0 for row in rows if row.params["method"] == method),
            tuple(row.half_width or 0.0 for row in rows if row.params["method"] == method),
        )
        for method, name in METHODS.items()
    )
    return Plot(
        f"time-{players}", f"Quality against effort, {players} players", TEXT,
        "evaluations", "mean quality, points", lines, is_log=True, from_zero=False,
    )  # fmt: skip


def _table(rows: Sequence[Row]) -> Table:
    heads = ("evaluations", "players", *METHODS.values(), "annealing - descent")
    lines = []
    for players in SIZES:
        for effort in dict.fromkeys(row.params["evaluations"] for row in rows):
            own = [
                row
                for row in rows
                if row.params["players"] == players and row.params["evaluations"] == effort
            ]
            curve = [of_row(row) for row in own if row.id == "galactron.time"]
            gain = next(row for row in own if row.id == "galactron.annealing")
            shown = figure(gain.simulated, gain.half_width, 2)
            lines.append((f"{effort:,}", f"{players}", *curve, shown))
    return Table("Quality against effort", TEXT, heads, tuple(lines))
