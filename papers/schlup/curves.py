"""Figures 2 and 3 of "Automatic Game Matching": cost over the parameter of each algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.theory import schlup
from papers.shared.estimates import Estimate, ratio
from papers.shared.findings import Effort, Findings, Part, Row, Verdict, judged
from papers.shared.sequences import (
    CRITERIA,
    TIME,
    SequenceFigures,
    Task,
    cost_per_match,
    measure,
    optima,
    parts_per_match,
    seeds,
)
from papers.shared.worlds import WAIT_MAX, World, file_name

FIGURES = {"figure2": (10.0, 13.0), "figure3": (1.0,)}
"""Arrival rates. The caption of figure 2 says 13, the text about it says 10: both are drawn."""
RATES = tuple(rate for rates in FIGURES.values() for rate in rates)
CHOICES = {"A_G": (0, 10), "A_PM": range(1, 11), "A_MQ": range(1, 11), "A_DW": range(11)}
"""Parameters of each algorithm, starting with the one that makes it greedy; A_G has none, so that
it is a horizontal line."""
SPECS = {
    "A_G": "greedy",
    "A_PM": "periodic:rounds_of={}",
    "A_MQ": "multi_queue:brackets={}",
    "A_DW": "difference_wait:factor={},origin=arrival",
}
PARTS = (CRITERIA, TIME)
SLACK = 0.03
"""Relative error that we allow to a formula that the paper calls an approximation."""
TEXT = (
    "Lines with marks are simulated, lines without are formulas (5) and (7). The parameter is "
    "the number of matches of a round, of brackets, or the waiting factor."
)
PARTS_TEXT = (
    "The same costs in their two parts. With a larger parameter the time cost rises and the "
    "criteria cost falls, as section 5.2 says; A_G stands where all three begin."
)


def curves(effort: Effort) -> Part:
    """Return the part of figures 2 and 3."""
    chosen = seeds(effort, quick=5, full=100)
    named = (spec.format(x) for name, spec in SPECS.items() for x in CHOICES[name])
    policies = tuple(dict.fromkeys(named))
    tasks = [
        Task(world=World(rate=rate), seed=seed, policies=policies, wants_optimum=True)
        for rate in RATES
        for seed in chosen
    ]
    ids = tuple(f"schlup.{name}" for name in FIGURES)
    return Part(ids, measure, tasks, partial(_finish, effort.seed))


def _finish(seed: int, results: Sequence[SequenceFigures]) -> Findings:
    each = len(results) // len(RATES)
    groups = {rate: results[at * each : (at + 1) * each] for at, rate in enumerate(RATES)}
    rows = [row for rate in RATES for row in _rows(rate, groups[rate])]
    scenarios = {
        row.scenario: World(rate=row.params["rate"]).toml(row.params["policy"], seed)
        for row in rows
        if row.scenario is not None
    }
    plots = [_plot(rate, groups[rate], rows) for rate in RATES]
    plots += [_plot_of_parts(rate, rows) for rate in RATES]
    return Findings(tuple(rows), plots=tuple(plots), scenarios=scenarios)


def _figure(rate: float) -> str:
    return next(name for name, rates in FIGURES.items() if rate in rates)


def _rows(rate: float, runs: Sequence[SequenceFigures]) -> list[Row]:
    rows = []
    for name, spec in SPECS.items():
        for x in CHOICES[name]:
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
            rows += [
                Row(
                    id=f"schlup.{_figure(rate)}",
                    params={**rows[-1].params, "figure": part},
                    simulated=estimate.value,
                    half_width=estimate.half_width,
                )
                for part, estimate in parts_per_match(runs, policy).items()
            ]
        if name != "A_G":
            rows.append(_trade(name, rate, rows))
    return rows


def _trade(name: str, rate: float, rows: Sequence[Row]) -> Row:
    """Return how often a larger parameter lowers criteria cost and raises time cost, as in 5.2."""
    criteria, time = ([row.simulated or 0.0 for row in _of(name, rate, rows, p)] for p in PARTS)
    steps = len(criteria) - 1
    as_told = sum(
        criteria[at + 1] < criteria[at] and time[at + 1] > time[at] for at in range(steps)
    )
    return Row(
        id=f"schlup.{_figure(rate)}",
        params={
            "rate": rate,
            "algorithm": name,
            "what": f"section 5.2: of {steps} steps of the parameter, those with less criteria "
            "cost and more time cost",
        },
        printed=float(steps),
        simulated=float(as_told),
        verdict="holds" if as_told == steps else "holds if",
    )


def _of(name: str, rate: float, rows: Sequence[Row], part: str | None = None) -> Iterator[Row]:
    """Yield the rows of an algorithm by parameter: of a part of the cost, or of the total."""
    wanted = {"rate": rate, "algorithm": name}
    for row in rows:
        own = row.params.items() >= wanted.items()
        if own and "parameter" in row.params and row.params.get("figure") == part:
            yield row


def _verdict(formula: float, found: Estimate) -> Verdict:
    """Return whether the formula matches the point; the paper requires time-outs to be rare."""
    near = judged(formula, truth=found.value, half_width=found.half_width, slack=SLACK)
    return "holds" if near == "holds" else "holds if"


def _formula(name: str, x: int, rate: float) -> float | None:
    if name == "A_G":
        return schlup.greedy_cost(k=2, rate=rate, wait_max=WAIT_MAX)
    if name == "A_PM":
        return schlup.periodic_cost(2 * x, k=2, rate=rate, wait_max=WAIT_MAX)
    if name == "A_MQ":
        return schlup.multi_queue_cost(x, k=2, rate=rate, wait_max=WAIT_MAX)
    return None


def _plot(rate: float, runs: Sequence[SequenceFigures], rows: Sequence[Row]) -> Plot:
    lines = []
    for name in SPECS:
        own = list(_of(name, rate, rows))
        xs = tuple(float(row.params["parameter"]) for row in own)
        ys = tuple(row.simulated or 0.0 for row in own)
        widths = tuple(row.half_width or 0.0 for row in own)
        lines.append(PlotLine(name, xs, ys, widths))
        theory = tuple(row.printed for row in own if row.printed is not None)
        if theory:
            lines.append(PlotLine(f"{name}, formula", xs, theory, is_theory=True))
    best = optima(runs)
    opt = ratio(best, [World(rate=rate).count / 2] * len(best)).value
    ends = tuple(map(float, CHOICES["A_G"]))
    lines.append(PlotLine("OPT", ends, (opt, opt), is_theory=True))
    return Plot(
        f"{_figure(rate)}-a{rate:g}",
        _title(rate),
        TEXT,
        "parameter",
        "cost per match",
        tuple(lines),
    )


def _plot_of_parts(rate: float, rows: Sequence[Row]) -> Plot:
    lines = []
    for name in SPECS:
        for part in PARTS:
            own = list(_of(name, rate, rows, part))
            xs = tuple(float(row.params["parameter"]) for row in own)
            ys = tuple(row.simulated or 0.0 for row in own)
            lines.append(
                PlotLine(f"{name}, {part}", xs, ys, tuple(r.half_width or 0.0 for r in own))
            )
    title = f"{_title(rate)}, criteria and time"
    name = f"{_figure(rate)}-a{rate:g}-parts"
    return Plot(name, title, PARTS_TEXT, "parameter", "cost per match", tuple(lines))


def _title(rate: float) -> str:
    title = f"{_figure(rate).replace('figure', 'Figure ')}: arrival rate {rate:g}"
    return f"{title} (its caption; the text says 10)" if rate == 13.0 else title
