"""Figures 2 and 3 of "Automatic Game Matching": cost over the parameter of each algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from evenmatch.lab.reproduce.measure import Estimate, Measured, Task, measure, ratio
from evenmatch.lab.reproduce.row import Effort, Findings, Line, Part, Plot, Row, Verdict, judged
from evenmatch.lab.reproduce.sums import cost_per_match, optima, seeds
from evenmatch.lab.reproduce.worlds import WAIT_MAX, World, file_name
from evenmatch.theory import schlup

FIGURES = {"figure2": (10.0, 13.0), "figure3": (1.0,)}
"""Arrival rates. The caption of figure 2 says 13, the text that refers to it 10: both are drawn."""
RATES = tuple(rate for rates in FIGURES.values() for rate in rates)
CHOICES = tuple(range(1, 11))
SPECS = {
    "A_PM": "periodic:rounds_of={}",
    "A_MQ": "multi_queue:brackets={}",
    "A_DW": "difference_wait:factor={},origin=arrival",
}
SLACK = 0.03
"""Relative error that we allow to a formula which the paper calls an approximation."""
TEXT = (
    "Lines with marks are simulated, lines without are formulas (5) and (7). The parameter is "
    "the number of matches of a round, of brackets, or the waiting factor."
)


def curves(effort: Effort) -> Part:
    """Return the part of figures 2 and 3."""
    chosen = seeds(effort, quick=5, full=100)
    policies = tuple(spec.format(x) for spec in SPECS.values() for x in CHOICES)
    tasks = [
        Task(world=World(rate=rate), seed=seed, policies=policies, wants_optimum=True)
        for rate in RATES
        for seed in chosen
    ]
    ids = tuple(f"schlup.{name}" for name in FIGURES)
    return Part(ids, measure, tasks, partial(_finish, effort.seed))


def _finish(seed: int, results: Sequence[Measured]) -> Findings:
    each = len(results) // len(RATES)
    groups = {rate: results[at * each : (at + 1) * each] for at, rate in enumerate(RATES)}
    rows = [row for rate in RATES for row in _rows(rate, groups[rate])]
    scenarios = {
        row.scenario: World(rate=row.params["rate"]).toml(row.params["policy"], seed)
        for row in rows
        if row.scenario is not None
    }
    plots = tuple(_plot(rate, groups[rate], rows) for rate in RATES)
    return Findings(tuple(rows), plots=plots, scenarios=scenarios)


def _figure(rate: float) -> str:
    return next(name for name, rates in FIGURES.items() if rate in rates)


def _rows(rate: float, runs: Sequence[Measured]) -> list[Row]:
    rows = []
    for name, spec in SPECS.items():
        for x in CHOICES:
            policy = spec.format(x)
            found = cost_per_match(runs, policy)
            formula = _formula(name, x, rate)
            rows.append(
                Row(
                    id=f"schlup.{_figure(rate)}",
                    params={"rate": rate, "algorithm": name, "parameter": x, "policy": policy},
                    printed=formula,
                    simulated=found.value,
                    half_width=found.half_width,
                    verdict=None if formula is None else _verdict(formula, found),
                    scenario=file_name(World(rate=rate).name, policy),
                )
            )
    return rows


def _verdict(formula: float, found: Estimate) -> Verdict:
    """Return whether the formula gives the point; the paper says it needs time-outs to be rare."""
    near = judged(formula, truth=found.value, half_width=found.half_width, slack=SLACK)
    return "holds" if near == "holds" else "holds with conditions"


def _formula(name: str, x: int, rate: float) -> float | None:
    if name == "A_PM":
        return schlup.periodic_cost(2 * x, k=2, rate=rate, wait_max=WAIT_MAX)
    if name == "A_MQ":
        return schlup.multi_queue_cost(x, k=2, rate=rate, wait_max=WAIT_MAX)
    return None


def _plot(rate: float, runs: Sequence[Measured], rows: Sequence[Row]) -> Plot:
    lines = []
    for name in SPECS:
        own = [
            row for row in rows if row.params["rate"] == rate and row.params["algorithm"] == name
        ]
        xs = tuple(float(row.params["parameter"]) for row in own)
        ys = tuple(row.simulated or 0.0 for row in own)
        widths = tuple(row.half_width or 0.0 for row in own)
        lines.append(Line(name, xs, ys, widths))
        theory = tuple(row.printed for row in own if row.printed is not None)
        if theory:
            lines.append(Line(f"{name}, formula", xs, theory, is_theory=True))
    best = optima(runs)
    opt = ratio(best, [World(rate=rate).count / 2] * len(best)).value
    ends = (float(CHOICES[0]), float(CHOICES[-1]))
    lines.append(Line("OPT", ends, (opt, opt), is_theory=True))
    title = f"{_figure(rate).replace('figure', 'Figure ')}: arrival rate {rate:g}"
    if rate == 13.0:
        title += " (its caption; the text says 10)"
    return Plot(
        f"{_figure(rate)}-a{rate:g}", title, TEXT, "parameter", "cost per match", tuple(lines)
    )
