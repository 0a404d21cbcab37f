"""Section V: duels in two zones; (19) to (25), figure 11 and the appendix, (35) to (43)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from evenmatch.theory.chain import stationary, until_exit
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.zones import stationary_law, zones
from papers.shared.measure import Estimate
from papers.shared.row import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.xu import printed
from papers.xu.duels import LENGTHS, Duels, duels
from papers.xu.tell import agreement, fractions, rounded, tell
from papers.xu.trial import Observed, Trial, observe
from papers.xu.zone_plots import EDGES, zone_plots
from papers.xu.zone_words import zone_words

FIXED = ((0.3, 0.3, 0.4), (0.5, 0.3, 0.2), (0.6, 0.3, 0.1), (0.8, 0.2, 0.001))
"""Juniors, experts and choice-free experts per second."""
DRAWN = 3
NAMES = {"junior": "junior", "expert": "expert", "flexible": "expert+junior"}
"""What a trial calls the classes, by the queues that they enter."""
STATES = {
    "0": ("nobody", ("0,0,0",)),
    "A": ("junior", ("0,0,1",)),
    "B": ("expert", ("1,0,0",)),
    "AB": ("junior_expert", ("1,0,1 first 2",)),
    "BA": ("expert_junior", ("1,0,1 first 0",)),
    "C": ("flexible", ("0,1,0",)),
}
"""States of figure 11: what theory calls them, and how many of each class wait."""
FEW = 0.02
"""Share of choice-free players from which on they are enough to measure."""
NUMBERS = {"A": "35", "B": "36", "AB": "37", "BA": "38", "C": "39"}
IDS = (*map(str, range(19, 26)), *map(str, range(35, 44)), "figure11", "figure12", "figure13",
       "text5")  # fmt: skip


def points(seed: int) -> list[Duels]:
    """Return the settings: ours, and those that the seed chooses."""
    rng = np.random.default_rng((seed, 4))
    drawn = [rounded(rng.uniform(0.1, 1.5, 3).tolist()) for _ in range(DRAWN)]
    return duels("zones", FIXED, drawn)


def texts(seed: int) -> dict[str, str]:
    """Return the scenarios by their names."""
    return {each.scenario: each.text(seed) for each in points(seed)}


def with_zones(effort: Effort) -> Part:
    """Return the part of zones."""
    own = points(effort.seed)
    tasks = [
        Trial(
            name=each.scenario,
            text=each.text(effort.seed),
            count=15_000 if effort.quick else LENGTHS[each.kind],
            by="queues",
            wants_states=each.name in ("1", "drawn-1"),
        )
        for each in own
    ]
    ids = tuple(f"xu.{name}" for name in IDS)
    return Part(ids, observe, tasks, partial(_finish, effort, own))


def _finish(effort: Effort, own: Sequence[Duels], results: Sequence[Observed]) -> Findings:
    seen = list(zip(own, results, strict=True))
    rows = [row for point, found in seen for row in _formulas(point, found)]
    rows += [row for point, found in seen if found.states for row in _of_states(point, found)]
    rows += [*_proof(own[0]), *_special()]
    text = (
        "Duels; juniors, experts and choice-free experts per second. Exact figures are those of "
        f"the compatibility graph and of the chain. {agreement(rows, effort)}"
    )
    table = table_of_rows("Zones: (19) to (25), (35) to (43), figure 11", text, rows)
    measured = [
        (point.rates["junior"], point.rates["expert"], found.mean())
        for point, found in seen
        if not point.is_drawn
    ]
    words, plots = zone_words(), zone_plots(measured)
    return Findings(
        (*rows, *words.rows, *plots.rows),
        (table, *words.tables, *plots.tables),
        plots.plots,
        texts(effort.seed),
    )


def _formulas(point: Duels, found: Observed) -> list[Row]:
    paper = zones(**point.rates)
    exact = compatibility_graph(rates=point.rates, edges=EDGES)
    assert exact.means is not None
    free, of_experts = exact.means["flexible"], exact.means["expert"]
    assert free is not None
    assert of_experts is not None
    a, b, c = fractions(*point.rates.values())
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario}
    return [
        tell("19", "mean wait of juniors", **setting, printed=paper.mean_junior,
             exact=exact.means["junior"], found=found.mean(NAMES["junior"])),
        tell("20", "mean wait of experts", **setting, printed=paper.mean_expert,
             exact=of_experts, found=found.mean(NAMES["expert"])),
        tell("21", "mean wait of the choice-free", **setting, printed=paper.mean_flexible,
             exact=free, found=_if_many(point, found.mean(NAMES["flexible"]))),
        tell("22", "mean wait", **setting, printed=paper.mean, exact=exact.mean,
             found=found.mean()),
        tell("23", "improvement factor", **setting, printed=printed.zones_factor(a, b, c),
             exact=free / of_experts,
             found=_if_many(point, found.ratio(NAMES["flexible"], NAMES["expert"]))),
    ]  # fmt: skip


def _if_many(point: Duels, found: Estimate) -> Estimate | None:
    """Return an estimate of the choice-free, unless hardly any came."""
    share = point.rates["flexible"] / sum(point.rates.values())
    return found if share >= FEW else None


def chain_of_figure11(a: Fraction, b: Fraction, c: Fraction) -> dict[str, dict[str, Fraction]]:
    """Return the chain of figure 11: rates between its states."""
    total = a + b + c
    return {
        "0": {"A": a, "B": b, "C": c},
        "A": {"0": a + c, "AB": b},
        "B": {"0": b + c, "BA": a},
        "C": {"0": total},
        "AB": {"A": b, "B": a + c},
        "BA": {"B": a, "A": b + c},
    }


def _of_states(point: Duels, found: Observed) -> list[Row]:
    """Return the stationary law: (35) to (39), and the chain of figure 11."""
    paper = stationary_law(**point.rates)
    law = stationary(chain_of_figure11(*fractions(*point.rates.values())))
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario}
    rows = []
    for state, (name, codes) in STATES.items():
        what = f"share of time in state {state}"
        share = found.share(*codes)
        figures = {"printed": paper[name], "exact": law[state], "found": share}
        rows.append(tell("figure11", what, **setting, **figures))  # type: ignore[arg-type]
        if state in NUMBERS:
            rows.append(tell(NUMBERS[state], what, **setting, **figures))  # type: ignore[arg-type]
    return rows


def _proof(point: Duels) -> list[Row]:
    """Return a junior's remaining waits, and his wait made of them."""
    a, b, c = fractions(*point.rates.values())
    total = a + b + c
    remaining = printed.zones_remaining(a, b, c)
    # A junior who waits sees a chain that ends when another junior or a free expert meets him.
    moves = {"A": {"AB": b}, "AB": {"A": b}, "BA": {"A": b + c}}
    exits = {"A": a + c, "AB": a + c, "BA": a}
    exact = until_exit(moves, exits, dict.fromkeys(moves, Fraction(1)))
    law = stationary_law(**point.rates)
    by_parts = law["nobody"] * remaining["A"] + law["expert"] * remaining["BA"]
    found = compatibility_graph(rates=point.rates, edges=EDGES)
    assert found.means is not None
    rows = [
        tell(number, f"a junior's remaining wait in state {state}", **point.params,
             printed=remaining[state], exact=exact[state])
        for number, state in (("41", "A"), ("42", "AB"), ("43", "BA"))
    ]  # fmt: skip
    # As printed it has pi_2, a state that zones do not have; it needs pi_B.
    rows.append(
        tell("40", "mean wait of juniors; pi_2 is printed for pi_B", **point.params,
             corrected=by_parts, exact=found.means["junior"], verdict="wrong in print")
    )  # fmt: skip
    assert abs(float(by_parts * total) - (found.means["junior"] or 0.0) * float(total)) < 1e-12
    return rows


def _special() -> list[Row]:
    """Return (24) and (25), the improvement factor in two special cases."""
    rows = []
    for each, free in ((0.3, 0.4), (0.45, 0.1), (0.2, 0.6)):
        b, c = fractions(each, free)
        rows.append(
            tell("24", "improvement factor, as many juniors as experts", junior=each, expert=each,
                 flexible=free, printed=printed.zones_factor_equal(b, c),
                 exact=_factor_of(each, each, free))
        )  # fmt: skip
    for junior in (0.2, 0.5, 0.8):
        (a,) = fractions(junior)
        expert = float(1 - a)
        rows.append(
            tell("25", "improvement factor of the first choice-free one", junior=junior,
                 expert=expert, flexible=0.0, printed=printed.zones_factor_first(a),
                 exact=_factor_of(junior, expert, 0.0))
        )  # fmt: skip
    return rows


def _factor_of(junior: float, expert: float, flexible: float) -> float:
    rates: dict[str, Any] = {"junior": junior, "expert": expert, "flexible": flexible}
    means = compatibility_graph(rates=rates, edges=EDGES).means
    assert means is not None
    free, of_experts = means["flexible"], means["expert"]
    assert free is not None
    assert of_experts is not None
    return free / of_experts
