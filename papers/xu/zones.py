"""Section V: duels in two zones; (19) to (25), figures 11 to 13 and the appendix, (35) to (43)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.theory.chain import stationary, until_exit
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.zones import Zones, stationary_law, zones
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.xu import printed
from papers.xu.duels import LENGTHS, Duels, duels
from papers.xu.printed import zones_factor
from papers.xu.rows import agreement, fractions, rounded, tell
from papers.xu.trial import Trial, TrialFigures, observe

MOVED = (0.0, 0.05, 0.15, 0.25)
"""Shares of all players who become choice-free, of a half who are experts."""
FINE = tuple(number / 100.0 for number in range(1, 100))


def zone_words() -> Findings:
    """Return the rows of section V's text, all at one player per second."""
    rows = [*_crowded(), *_savings(), *_whole()]
    text = "One player per second: juniors, experts and choice-free experts. Seconds."
    return Findings(tuple(rows), (table_of_rows("Zones: what the text says", text, rows),))


def factor(junior: float, flexible: float) -> float:
    """Return the improvement factor at one player per second."""
    found = _zones(junior, flexible)
    assert found.improvement is not None
    return found.improvement


def _zones(junior: float, flexible: float) -> Zones:
    expert = round(1.0 - junior - flexible, 12)
    return zones(junior=junior, expert=expert, flexible=flexible)


def _crowded() -> list[Row]:
    """Return what a crowded junior zone is worth to experts: most, not nothing."""
    return [
        tell("text5", "'crowded junior zone: no incentive': percent that the first one saves",
             junior=junior, printed=0.0, corrected=50.0 * (1.0 + junior),
             exact=100.0 * (1.0 - factor(junior, 0.0)), verdict="wrong in print")
        for junior in (0.6, 0.8, 0.95)
    ]  # fmt: skip


def _savings() -> list[Row]:
    by_junior = [factor(junior, 0.0) for junior in FINE]
    by_free = [factor((1.0 - free) / 2.0, free) for free in FINE]
    return [
        tell("text5", "percent that the first choice-free expert saves, equal zones", junior=0.5,
             printed=75.0, exact=100.0 * (1.0 - factor(0.5, 0.0))),
        tell("text5", "percent that he saves where juniors are .8", junior=0.8, printed=90.0,
             exact=100.0 * (1.0 - factor(0.8, 0.0))),
        tell("text5", "'the maximal benefit': percent where juniors are .99", junior=0.99,
             printed=90.0, exact=100.0 * (1.0 - factor(0.99, 0.0))),
        tell("text5", "steps out of 98 in which fewer juniors make the factor smaller", printed=0.0,
             exact=float(sum(b > a for a, b in pairwise(by_junior)))),
        tell("text5", "steps out of 98 in which more choice-free make the factor smaller",
             printed=0.0, exact=float(sum(b < a for a, b in pairwise(by_free)))),
        tell("text5", "most that (25) differs for other total rates, all of the same shares",
             junior=0.5, printed=0.0,
             exact=abs((zones(junior=5.0, expert=5.0, flexible=0.0).improvement or 0.0)
                       - factor(0.5, 0.0))),
    ]  # fmt: skip


def _whole() -> list[Row]:
    """Return what the choice-free do to all players, and to those who stay experts."""
    rows = []
    for moved in MOVED:
        found = _zones(0.5, moved)
        setting: dict[str, Any] = {"junior": 0.5, "flexible": moved}
        rows += [
            tell("text5", "mean wait of all", **setting, exact=found.mean),
            tell("text5", "mean wait of those who stay experts", **setting,
                 exact=found.mean_expert),
        ]  # fmt: skip
    means = [_zones(0.5, share / 200.0).mean for share in range(101)]
    falls = [a - b for a, b in pairwise(means)]
    of_both = [_zones(0.5 - share / 400.0, share / 200.0).mean for share in range(200)]
    less = [a - b for a, b in pairwise(of_both)]
    stay = [_zones(0.5, share / 200.0).mean_expert or 0.0 for share in range(100)]
    return [
        *rows,
        tell("text5", "'the more, the lower': steps out of 100 in which the mean wait grows",
             junior=0.5, printed=0.0, exact=float(sum(fall < 0 for fall in falls))),
        tell("text5", "'marginal value decreases': steps out of 99 in which it grows, if only "
             "experts become choice-free", junior=0.5, printed=0.0,
             exact=float(sum(b > a for a, b in pairwise(falls)))),
        tell("text5", "'marginal value decreases': steps out of 198 in which it grows, if both "
             "zones give them", printed=0.0, exact=float(sum(b > a for a, b in pairwise(less)))),
        tell("text5", "'benefits the whole system': steps of .005 of all players "
             "after which those who stay wait longer, out of 99", junior=0.5, printed=0.0,
             exact=float(sum(b > a for a, b in pairwise(stay))),
             verdict="holds if"),
    ]  # fmt: skip


FREE = (0.0, 0.1, 0.3, 0.5)
"""Shares of the choice-free, a line each in figure 12."""
JUNIORS = (0.1, 0.3, 0.5, 0.6)
"""Shares of juniors, a line each in figure 13."""
GRID = (0.1, 0.3, 0.5)
EDGES = (("junior", "junior"), ("expert", "expert"), ("flexible", "flexible"),
         ("junior", "flexible"), ("expert", "flexible"))  # fmt: skip
STEPS = 50

Measured = tuple[float, float, Estimate]
"""Juniors and experts per second, and the mean wait, at one player per second in all."""


def zone_plots(measured: Sequence[Measured]) -> Findings:
    """Return figures 12 and 13 with points of both.

    Args:
        measured: What was simulated.
    """
    rows = _grid()
    text = "(23) and the mean wait, beside the compatibility graph; one player per second."
    table = table_of_rows("Figures 12 and 13", text, rows)
    return Findings(tuple(rows), (table,), (_figure12(), _figure13(measured)))


def _grid() -> list[Row]:
    rows = []
    for junior in GRID:
        for flexible in GRID:
            a, c = fractions(junior, flexible)
            rates: dict[str, Any] = {
                "junior": junior,
                "expert": float(1 - a - c),
                "flexible": flexible,
            }
            if a + c >= 1:
                continue
            exact = compatibility_graph(rates=rates, edges=EDGES)
            assert exact.means is not None
            free, experts = exact.means["flexible"], exact.means["expert"]
            assert free is not None
            assert experts is not None
            rows += [
                tell("figure12", "improvement factor", **rates,
                     printed=zones_factor(a, 1 - a - c, c), exact=free / experts),
                tell("figure13", "mean wait", **rates, printed=zones(**rates).mean,
                     exact=exact.mean),
            ]  # fmt: skip
    return rows


def _figure12() -> Plot:
    lines = []
    for free in FREE:
        xs = tuple(number / STEPS for number in range(1, STEPS) if number / STEPS + free < 1.0)
        ys = tuple(factor(x, free) for x in xs)
        lines.append(PlotLine(f"choice-free = {free:g}", xs, ys, is_theory=True))
    text = (
        "Wait of choice-free experts over that of experts who stay, by the share of juniors. The "
        "more juniors, the more there is to save: the text that calls a crowded junior zone no "
        "incentive contradicts its own figure."
    )
    return Plot("figure12", "Figure 12: improvement factor", text, "share of juniors",
                "improvement factor", tuple(lines))  # fmt: skip


def _figure13(measured: Sequence[Measured]) -> Plot:
    lines = []
    for junior in JUNIORS:
        own = sorted((b, found) for a, b, found in measured if a == junior)
        if own:
            xs = tuple(b for b, _ in own)
            ys = tuple(found.value for _, found in own)
            lines.append(PlotLine(f"juniors = {junior:g}", xs, ys,
                              tuple(found.half_width for _, found in own)))  # fmt: skip
        experts = [number / STEPS for number in range(1, STEPS + 1)]
        shown = [b for b in experts if junior + b <= 1.0]
        waits = [
            zones(junior=junior, expert=b, flexible=round(1.0 - junior - b, 12)).mean for b in shown
        ]
        lines.append(
            PlotLine(f"juniors = {junior:g}, formula", tuple(shown), tuple(waits), is_theory=True)
        )
    text = (
        "Mean wait of all, by the share of experts who stay; the rest of the players is "
        "choice-free. It falls with each expert who becomes choice-free, to the left; not less "
        "with each further one, as the text has it, but more."
    )
    return Plot("figure13", "Figure 13: mean wait with zones", text, "share of experts who stay",
                "mean wait, s", tuple(lines))  # fmt: skip


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


def _finish(effort: Effort, own: Sequence[Duels], results: Sequence[TrialFigures]) -> Findings:
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


def _formulas(point: Duels, found: TrialFigures) -> list[Row]:
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


def _of_states(point: Duels, found: TrialFigures) -> list[Row]:
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
