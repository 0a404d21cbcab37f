"""Section IV: duels in which players may choose sides; (12) to (18), figures 7 to 10."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.sides import mean_by_formula, sides, stationary_law
from papers.shared.row import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.xu.duels import LENGTHS, Duels, duels
from papers.xu.printed import sides_factor
from papers.xu.side_plots import side_plots
from papers.xu.side_proofs import EDGES, State, law_of_chain, side_proofs
from papers.xu.side_words import side_words
from papers.xu.tell import agreement, fractions, rounded, tell
from papers.xu.trial import Observed, Trial, observe

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
"""States of figure 8: how many choice-free players, of A and of B wait."""
IDS = ("12", "13", "14", "15", "16", "17", "18", *map(str, range(26, 35)), "fact3", "pi0",
       "figure8", "figure9", "figure10", "text4")  # fmt: skip


def points(seed: int) -> list[Duels]:
    """Return the settings: ours, and those that the seed chooses."""
    return duels("sides", FIXED, _drawn(seed))


def _drawn(seed: int) -> Iterator[tuple[float, ...]]:
    rng = np.random.default_rng((seed, 3))
    for _ in range(DRAWN):
        total, free = rng.uniform(0.5, 3.0), rng.uniform(0.35, 0.65)
        # Near the threshold means take many more arrivals than a run has.
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


def _finish(effort: Effort, own: Sequence[Duels], results: Sequence[Observed]) -> Findings:
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


def _formulas(point: Duels, found: Observed) -> list[Row]:
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


def _of_chain(point: Duels, found: Observed) -> list[Row]:
    """Return the stationary law of figure 8, and what is wrong in its drawing."""
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
