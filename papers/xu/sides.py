"""Section IV: duels in which players may choose sides; (12) to (18), figures 7 to 10."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.sides import mean_by_formula, sides, stationary_law
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.xu.duels import LENGTHS, Duels, duels
from papers.xu.printed import sides_factor
from papers.xu.rows import agreement, fractions, rounded, said, tell
from papers.xu.side_proofs import EDGES, State, law_of_chain, side_proofs
from papers.xu.trial import Trial, TrialFigures, observe

B = 0.4
"""Share of players who insist on side B, in figure 10."""
STEPS = 1_000
HARDLY, SHARP = 5.0, 2.0
"""Our readings: "hardly changes" is by less than five percent, "sharply" at least twofold."""
DUEL = 0.5
"""Mean wait of duels without sides, at one player per second."""


def side_words() -> Findings:
    """Return the rows of section IV's text, all at one player per second."""
    rows = [*_fall_and_rise(), *_dominated(), *_factor(), *_small_portion()]
    text = "One player per second: a, b and the rest, who are choice-free. Seconds."
    return Findings(tuple(rows), (table_of_rows("Sides: what the text says", text, rows),))


def mean_at(a: float, b: float) -> float | None:
    """Return the mean wait at one player per second; None if it is infinite."""
    return sides(a=a, b=b, flexible=round(1.0 - a - b, 12)).mean


def _wait(a: float, b: float) -> float:
    found = mean_at(a, b)
    assert found is not None, "the setting is stable"
    return found


def _fall_and_rise() -> list[Row]:
    grid = [number * 0.49 / STEPS for number in range(STEPS)]
    waits = [_wait(a, B) for a in grid]
    least = min(range(STEPS), key=waits.__getitem__)
    first = waits[0]
    at_three, sharply = 100.0 * (_wait(0.3, B) / first - 1.0), _wait(0.49, B) / _wait(B, B)
    percent = 100.0 * (first - waits[least]) / first
    return [
        tell("text4", "'first help': share of A at which the mean wait is least", b=B,
             exact=grid[least], verdict=said(0 < least < STEPS - 1)),
        tell("text4", "the mean wait there", b=B, exact=waits[least]),
        tell("text4", "by how much it fell from no A at all, percent", b=B, exact=percent,
             verdict=said(percent > 0.0)),
        tell("text4", "'hardly changes while a < b': percent more at a = .3 than at 0", b=B,
             exact=at_three, verdict=said(at_three < HARDLY)),
        tell("text4", "'hardly changes while a < b': percent more at a = b than at 0", b=B,
             exact=100.0 * (_wait(B, B) / first - 1.0), verdict="holds if"),
        tell("text4", "'increases sharply' where a > b: times as long at a = .49 as at b", b=B,
             exact=sharply, verdict=said(sharply > SHARP)),
    ]  # fmt: skip


def _dominated() -> list[Row]:
    """Return the influence of the larger side on the mean wait, and of the smaller one."""
    rows = []
    for larger in (0.3, 0.4, 0.45):
        waits = [_wait(larger * part / 20.0, larger) for part in range(21)]
        rows.append(
            tell("text4", "'max(a, b) dominates': longest over shortest wait for any smaller side",
                 larger=larger, exact=max(waits) / min(waits), verdict="holds if")
        )  # fmt: skip
    rows.append(
        tell("text4", "the same, over the larger side from .3 to .45 and no smaller one",
             exact=_wait(0.0, 0.45) / _wait(0.0, 0.3))
    )  # fmt: skip
    return rows


def _factor() -> list[Row]:
    """Return what the improvement factor shows about players who change, and what it does not."""
    rows = []
    for share in (0.1, 0.4):
        before = sides(a=0.4, b=share, flexible=round(0.6 - share, 12))
        moved = sides(a=0.4, b=share - 0.01, flexible=round(0.61 - share, 12))
        rows += [
            tell("text4", "improvement factor, which compares classes inside one system", a=0.4,
                 b=share, exact=before.improvement_b, verdict="holds if"),
            tell("text4", "wait of B after 1 % of the players left B to be choice-free", a=0.4,
                 b=share, exact=moved.mean_b),
            tell("text4", "wait of B before", a=0.4, b=share, exact=before.mean_b),
        ]  # fmt: skip
    return rows


def _small_portion() -> list[Row]:
    """Return the guarantee of a small portion of choice-free players."""
    rows = []
    for free in (0.02, 0.05, 0.1, 0.2):
        side = (1.0 - free) / 2.0
        rows.append(
            tell("text4", "'a small portion': times the wait of duels without sides, equal sides",
                 flexible=free, exact=_wait(side, side) / DUEL, verdict="holds if")
        )  # fmt: skip
    growth = sides(a=0.55, b=0.35, flexible=0.1).growth
    rows.append(
        tell("text4", "'a small portion': a tenth, but sides are .55 and .35: growth per second",
             flexible=0.1, exact=growth, verdict="holds if")
    )  # fmt: skip
    return rows


OTHERS = (0.1, 0.2, 0.3, 0.4, 0.45)
"""Shares of side B, a line each."""
GRID = (0.1, 0.2, 0.3, 0.4)
HIGHEST = 8.0
"""Seconds at which lines are cut; they diverge as a approaches 1/2."""
PLOT_STEPS = 98

Measured = tuple[float, float, Estimate]
"""Players per second for A and for B, and the mean wait, at one player per second in all."""


def side_plots(measured: Sequence[Measured]) -> Findings:
    """Return figures 9 and 10 with points of both.

    Args:
        measured: The simulated waits.
    """
    rows = [*_grid(GRID, GRID, "figure9"), *_grid((0.01, 0.15, 0.3, 0.4, 0.49), (B,), "figure10")]
    text = "The mean wait by (16), and by the compatibility graph; one player per second."
    table = table_of_rows("Figures 9 and 10", text, rows)
    return Findings(tuple(rows), (table,), (_figure9(measured), _figure10(measured)))


def _grid(firsts: Sequence[float], seconds: Sequence[float], name: str) -> list[Row]:
    rows = []
    for one in firsts:
        for other in seconds:
            a, b = fractions(one, other)
            exact = compatibility_graph(
                rates={"a": one, "b": other, "flexible": float(1 - a - b)}, edges=EDGES
            )
            rows.append(
                tell(name, "mean wait", a=one, b=other, printed=mean_by_formula(a, b, 1 - a - b),
                     exact=exact.mean)
            )  # fmt: skip
    return rows


def _line(b: float, highest: float) -> PlotLine:
    shares = [float(Fraction(number, 2 * PLOT_STEPS)) for number in range(1, PLOT_STEPS)]
    points = [(a, mean_at(a, b)) for a in shares if a + b < 1.0]
    known = [(a, wait) for a, wait in points if wait is not None and wait <= highest]
    xs, ys = zip(*known, strict=True)
    return PlotLine(f"b = {b:g}, formula", xs, ys, is_theory=True)


def _marks(measured: Sequence[Measured], b: float) -> PlotLine | None:
    own = sorted((a, found) for a, other, found in measured if other == b)
    if not own:
        return None
    values = tuple((found.value, found.half_width) for _, found in own)
    ys, widths = zip(*values, strict=True)
    return PlotLine(f"b = {b:g}", tuple(a for a, _ in own), ys, widths)


def _figure9(measured: Sequence[Measured]) -> Plot:
    lines = []
    for b in OTHERS:
        marks = _marks(measured, b)
        lines += [*([marks] if marks else []), _line(b, HIGHEST)]
    text = (
        "A line for each share of side B. The mean wait hardly changes while side A is the "
        f"smaller one, and has no end where A nears 1/2; lines are cut at {HIGHEST:g} seconds."
    )
    return Plot("figure9", "Figure 9: mean wait with sides", text, "share of side A",
                "mean wait, s", tuple(lines))  # fmt: skip


def _figure10(measured: Sequence[Measured]) -> Plot:
    marks = _marks(measured, B)
    line = _line(B, 2.0)
    text = (
        "Figure 9 where side B has .4 of the players, looked at closely: the wait falls by a "
        "thousandth until side A has .147, then rises."
    )
    near = [marks] if marks else []
    return Plot("figure10", "Figure 10: the same, closely", text, "share of side A",
                "mean wait, s", (*near, line), from_zero=False)  # fmt: skip


FIXED = ((0.3, 0.3, 0.4), (0.3, 0.4, 0.3), (0.1, 0.4, 0.5), (0.01, 0.4, 0.59))
"""Players per second for side A, for side B, and choice-free."""
DRAWN = 3
STATES: dict[State, str] = {
    0: "0,0,0",
    1: "0,1,0",
    2: "0,2,0",
    -1: "0,0,1",
    -2: "0,0,2",
    "flexible": "1,0,0",
}
"""States of figure 8: numbers of waiting choice-free players, of A and of B."""
IDS = ("12", "13", "14", "15", "16", "17", "18", *map(str, range(26, 35)), "fact3", "pi0",
       "figure8", "figure9", "figure10", "text4")  # fmt: skip


def points(seed: int) -> list[Duels]:
    """Return the settings: ours, and those that the seed chooses."""
    return duels("sides", FIXED, _drawn(seed))


def _drawn(seed: int) -> Iterator[tuple[float, ...]]:
    rng = np.random.default_rng((seed, 3))
    for _ in range(DRAWN):
        total, free = rng.uniform(0.5, 3.0), rng.uniform(0.35, 0.65)
        # Near the threshold, means need many more arrivals than a run has.
        lean = rng.uniform(-1.0, 1.0) * (free - 0.25)
        a, b = (1.0 - free + lean) / 2.0, (1.0 - free - lean) / 2.0
        yield rounded([total * a, total * b, total * free])


def texts(seed: int) -> dict[str, str]:
    """Return the scenarios by their names."""
    return {each.scenario: each.text(seed) for each in points(seed)}


def with_sides(effort: Effort) -> Part:
    """Return the part of sides that settle down."""
    own = points(effort.seed)
    tasks = [
        Trial(
            name=each.scenario,
            text=each.text(effort.seed),
            count=80_000 if effort.quick else LENGTHS[each.kind],
            by="side",
            wants_states=each.name == "1",
        )
        for each in own
    ]
    ids = tuple(f"xu.{name}" for name in IDS)
    return Part(ids, observe, tasks, partial(_finish, effort, own))


def _finish(effort: Effort, own: Sequence[Duels], results: Sequence[TrialFigures]) -> Findings:
    seen = list(zip(own, results, strict=True))
    rows = [row for point, found in seen for row in _formulas(point, found)]
    rows += _of_chain(*seen[0])
    text = (
        "Duels; players per second for side A, for side B and choice-free. Exact figures are those "
        f"of the compatibility graph. {agreement(rows, effort)}"
    )
    table = table_of_rows("Sides: (13) to (17), figure 8", text, rows)
    proofs, words = side_proofs(own[0].rates), side_words()
    measured = [
        (point.rates["a"], point.rates["b"], found.mean())
        for point, found in seen
        if not point.is_drawn
    ]
    plots = side_plots(measured)
    return Findings(
        (*rows, *proofs.rows, *words.rows, *plots.rows),
        (table, *proofs.tables, *words.tables, *plots.tables),
        plots.plots,
        texts(effort.seed),
    )


def _formulas(point: Duels, found: TrialFigures) -> list[Row]:
    paper = sides(**point.rates)
    a, b, c = fractions(*point.rates.values())
    exact = compatibility_graph(rates=point.rates, edges=EDGES)
    assert exact.means is not None
    free, of_b = exact.means["flexible"], exact.means["b"]
    assert free is not None
    assert of_b is not None
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario}
    return [
        tell("13", "mean wait of side A", **setting, printed=paper.mean_a,
             exact=exact.means["a"], found=found.mean("A")),
        tell("14", "mean wait of side B", **setting, printed=paper.mean_b,
             exact=exact.means["b"], found=found.mean("B")),
        tell("15", "mean wait of the choice-free", **setting, printed=paper.mean_flexible,
             exact=exact.means["flexible"], found=found.mean("")),
        tell("16", "mean wait", **setting, printed=mean_by_formula(a, b, c), exact=exact.mean,
             found=found.mean()),
        tell("17", "improvement factor of side B", **setting, printed=sides_factor(b, a + b + c),
             exact=free / of_b, found=found.ratio("", "B")),
    ]  # fmt: skip


def _of_chain(point: Duels, found: TrialFigures) -> list[Row]:
    """Return the stationary law of figure 8, and the error in its drawing."""
    paper, law = stationary_law(**point.rates, states=2), law_of_chain(**point.rates)
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario}
    rows = [
        tell("pi0", "probability that nobody waits", **setting, printed=paper[0], exact=law[0],
             found=found.share(STATES[0])),
    ]  # fmt: skip
    rows += [
        tell("figure8", f"share of time in state {_name(state)}", **setting, printed=paper[state],
             exact=law[state], found=found.share(code))
        for state, code in STATES.items()
    ]  # fmt: skip
    # Its drawing says lambda_1 there, a rate that section IV does not have.
    rows.append(
        tell("figure8", "rate of the arc from 1 to 2, drawn as lambda_1", **point.params,
             corrected=point.rates["a"], exact=point.rates["a"], verdict="wrong in print")
    )  # fmt: skip
    return rows


def _name(state: State) -> str:
    return "1'" if state == "flexible" else str(state)
