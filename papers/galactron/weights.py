"""Weights and objectives: the effect of a factor on the others, and of another objective."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenmatch.lab.solve.arrays import ALIASES
from evenmatch.lab.solve.factors import BatchFactor, factors_of, figures_of, reweighed
from evenmatch.lab.solve.search import SolveBudget, parse_method, parse_objective, search
from evenmatch.lab.solve.solution import POINTS, cost_of
from evenmatch.solvers.teams.batch import Batch, Places
from papers.galactron.pools import FACTORS, means_of, named_factors, pool_of, solved, started
from papers.shared.estimates import Estimate, Found, difference, is_above, mean_of, told
from papers.shared.findings import Effort, Findings, Part, Row, Table
from papers.shared.sequences import seeds
from papers.shared.words import figure

PLAYERS = 102
EFFORT = 150_000
MATES = "ping to teammates"
OBJECTIVES = ("mean", "sqrt", "rms", "median", "p10")
STARTS = 8
"""Searches of each objective, of which it selects one."""
FIGURES = ("mean", "worst tenth", "median", "worst")


def weights(effort: Effort) -> Part:
    """Return the part of weights."""
    ids = tuple(f"galactron.{name}" for name in ("teammates", "weights", "shares", "hosts"))
    chosen = seeds(effort, quick=3, full=60)
    return Part(ids, weigh, chosen, _told_of_weights)


def weigh(seed: int) -> Found:
    """Return the factors' means under the blog's weights, and under others."""
    batch = pool_of(PLAYERS, seed).batch
    with_mates = _with_mates(batch)
    factors = named_factors(batch)
    mates = next(f for f in factors_of(with_mates, ("skill",)) if f.name not in ALIASES)
    shown = {**factors, MATES: mates}
    plain = {name: factor.weight for name, factor in factors.items()}
    cases = {"blog": plain, f"with {MATES}": {**plain, MATES: plain["ping"]}}
    cases |= {f"without {name}": {**plain, name: 0.0} for name in FACTORS}
    cases |= {f"twice {name}": {**plain, name: 2.0 * plain[name]} for name in FACTORS}
    found: dict[str, float | None] = {}
    for case, wanted in cases.items():
        plan = solved(reweighed(batch, shown, wanted), EFFORT, seed)
        found |= {f"{case}: {name}": v for name, v in means_of(shown, plan.seating).items()}
        if case in ("blog", "without host"):
            found |= {f"{case}: {key}": v for key, v in _hosts(factors, plan.seating).items()}
        if case == "blog":
            found |= _shares("solved", factors, plan.seating)
    return found | _shares("random", factors, started(batch, "random", seed))


def _with_mates(batch: Batch) -> Batch:
    """Return the batch with ping to teammates beside that to enemies."""
    own = batch.facts.ping_weights.copy()
    own[1] = own[0]
    return batch._replace(facts=batch.facts._replace(ping_weights=own))


def _hosts(factors: dict[str, BatchFactor], seated: Places) -> Found:
    """Return the percentage of matches with at least one and two possible hosts."""
    quality = 1.0 - cost_of(factors["host"].alone, seated)
    return {
        "percent with a host": POINTS * float(np.mean(quality > 1e-6)),
        "percent with two": POINTS * float(np.mean(quality > 1.0 - 1e-6)),
    }


def _shares(name: str, factors: dict[str, BatchFactor], seated: Places) -> Found:
    found: dict[str, float | None] = {}
    figures = figures_of(tuple(factors.values()), seated, cost_of)
    for factor, own in zip(factors, figures, strict=True):
        share = own.share
        found[f"{name} share {factor}"] = None if share is None else share / own.weight
        found[f"{name} spread {factor}"] = own.spread
        found[f"{name} zeros {factor}"] = POINTS * own.zeros
    return found


def _told_of_weights(results: Sequence[Found]) -> Findings:
    rows = [*_about_mates(results), *_about_weights(results), *_about_hosts(results)]
    rows += _about_shares(results)
    return Findings(tuple(rows), (_table_of_weights(results), _table_of_shares(results)))


def _lost(results: Sequence[Found], case: str, factor: str) -> Estimate:
    return difference(results, f"blog: {factor}", f"{case}: {factor}")


def _about_mates(results: Sequence[Found]) -> list[Row]:
    case = f"with {MATES}"
    rows = []
    for name in FACTORS:
        lost = _lost(results, case, name)
        verdict = is_above(lost) if name == "ping" else None
        rows.append(told("galactron.teammates", f"{name}: points lost", lost, verdict))
    gained = difference(results, f"{case}: {MATES}", f"blog: {MATES}")
    return [*rows, told("galactron.teammates", f"{MATES}: points gained", gained)]


def _about_weights(results: Sequence[Found]) -> list[Row]:
    """Return the gain of all other factors without one, and their loss with a heavier one."""
    rows = []
    for name in FACTORS:
        for case, word, more, less in (
            (f"without {name}", "gain", f"without {name}", "blog"),
            (f"twice {name}", "loss", "blog", f"twice {name}"),
        ):
            sums: list[Found] = [
                {side: _mean_of_others(each, side, name) for side in (more, less)}
                for each in results
            ]
            mean = difference(sums, more, less)
            what = f"mean {word} of the others, points"
            rows.append(told("galactron.weights", what, mean, is_above(mean), weight=case))
    return rows


def _mean_of_others(found: Found, case: str, name: str) -> float:
    others = [found[f"{case}: {other}"] or 0.0 for other in FACTORS if other != name]
    return sum(others) / len(others)


def _about_hosts(results: Sequence[Found]) -> list[Row]:
    rows = []
    for key in ("percent with a host", "percent with two"):
        more = difference(results, f"blog: {key}", f"without host: {key}")
        for case in ("blog", "without host"):
            rows.append(
                told("galactron.hosts", key, mean_of(results, f"{case}: {key}"), weight=case)
            )
        what = f"{key}: more for the factor by"
        rows.append(told("galactron.hosts", what, more, is_above(more)))
    return rows


def _about_shares(results: Sequence[Found]) -> list[Row]:
    rows = []
    for kind in ("random", "solved"):
        for name in FACTORS:
            for key, what in (
                ("share", "share of the variance over the weight"),
                ("zeros", "percent of matches with 0"),
            ):
                found = mean_of(results, f"{kind} {key} {name}")
                rows.append(told("galactron.shares", what, found, matches=kind, factor=name))
        for name in ("team", "player", "ping"):
            more = difference(results, f"{kind} spread premade", f"{kind} spread {name}")
            what = f"premades spread more than {name} by, points"
            rows.append(told("galactron.shares", what, more, is_above(more), matches=kind))
    return rows


def _table_of_weights(results: Sequence[Found]) -> Table:
    shown = (*FACTORS, MATES)
    cases = ["blog", f"with {MATES}"]
    cases += [f"{word} {name}" for word in ("without", "twice") for name in FACTORS]
    lines = [
        (case, *(figure(mean_of(results, f"{case}: {name}").value, digits=1) for name in shown))
        for case in cases
    ]
    text = (
        f"Mean of each factor over matches, {PLAYERS} players; weights always sum to 1. "
        "Ping to teammates is not a factor of the blog; where it is, it weighs as much as the "
        "ping to enemies."
    )
    return Table("Weights", text, ("weights", *shown), tuple(lines))


def _table_of_shares(results: Sequence[Found]) -> Table:
    heads = ("factor", "spread, random", "share / weight, random", "% zero, random",
             "spread, solved", "share / weight, solved", "% zero, solved")  # fmt: skip
    lines = [
        (
            name,
            *(
                figure(found.value, found.half_width, 2 if key == "share" else 1)
                for kind in ("random", "solved")
                for key in ("spread", "share", "zeros")
                for found in [mean_of(results, f"{kind} {key} {name}")]
            ),
        )
        for name in FACTORS
    ]
    text = (
        "How much each factor differs from match to match, in points; its share of the variance of "
        "quality over its weight, above 1 where it says more than its weight does; and how often "
        "it is 0. In matches at random, and in those of annealing."
    )
    return Table("Factors that react extremely", text, heads, tuple(lines))


def objectives(effort: Effort) -> Part:
    """Return the part on objectives."""
    chosen = seeds(effort, quick=3, full=60)
    return Part(("galactron.objective",), try_objectives, chosen, _told_of_objectives)


def try_objectives(seed: int) -> Found:
    """Return figures of the matches under each objective, points."""
    batch = pool_of(PLAYERS, seed).batch
    found: dict[str, float | None] = {}
    for name in OBJECTIVES:
        budget = SolveBudget(evaluations=STARTS * EFFORT // 2, parts=STARTS)
        plan = search(batch, parse_method("anneal"), parse_objective(name), budget, seed)
        quality = POINTS * plan.quality
        found[f"{name} mean"] = float(quality.mean())
        found[f"{name} worst tenth"] = float(np.percentile(quality, 10.0))
        found[f"{name} median"] = float(np.median(quality))
        found[f"{name} worst"] = float(quality.min())
    return found


def _told_of_objectives(results: Sequence[Found]) -> Findings:
    rows = []
    lines = []
    for name in OBJECTIVES:
        found = [mean_of(results, f"{name} {key}") for key in FIGURES]
        for key, each in zip(FIGURES, found, strict=True):
            rows.append(told("galactron.objective", key, each, objective=name))
        lines.append((name, *(figure(each.value, each.half_width, 2) for each in found)))
        if name == "mean":
            continue
        for key in FIGURES:
            more = difference(results, f"{name} {key}", f"mean {key}")
            # The comment hopes for control over the extremes, at any cost for the mean.
            verdict = is_above(more) if key in ("worst tenth", "worst") else None
            what = f"{key}: more than by the mean by"
            rows.append(told("galactron.objective", what, more, verdict, objective=name))
    text = (
        f"{PLAYERS} players; figures of the matches, points. Square root and root mean square "
        f"steer the search; median and p10 choose among {STARTS} searches, as all do."
    )
    heads = ("objective", *FIGURES)
    return Findings(tuple(rows), (Table("What is maximised", text, heads, tuple(lines)),))
