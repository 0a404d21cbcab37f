"""How far matches are from the best possible: bounds by column generation."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evenmatch.lab.solve.solution import POINTS
from evenmatch.solvers.bounds.set_packing import PROVEN, prove
from papers.galactron.pools import pool_of, solved
from papers.shared.estimates import Found, is_above, mean_of, told
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.sequences import seeds
from papers.shared.words import table_of_rows

DESCENTS = {30: 5_000, 60: 15_000, 102: 50_000, 300: 300_000}
"""Approximate evaluations of a couple of descents, by the size of the pool."""
ANNEALING = 20
"""Annealing gets this many times that effort, to find a good start for the proof."""
PROOF = 2e6
"""Numbers that a proof may examine, for each player of the pool."""
LONG = {300: 0.4, 102: 10.0, 60: 10.0, 30: 10.0}
"""Factors on it without `--quick`. Pools of 300 are not proved with all of `PROOF` even then, which
would take 270 s; their bound is looser for it."""
POOLS = {300: 3, 102: 3, 60: 4, 30: 24}
"""Number of pools: one of 102 players takes 50 s; ten of 30 would not decide whether descents miss
the optimum in most of them."""


class Doubt(msgspec.Struct, frozen=True):
    """A pool of some size, and the effort of its proof."""

    players: int
    seed: int
    proof: float


def proofs(effort: Effort) -> Part:
    """Return the part of bounds."""
    asked = (30,) if effort.quick else (300, 102, 60, 30)
    tasks = [
        Doubt(n, seed, (1.0 if effort.quick else LONG[n]) * PROOF * n)
        for n in asked
        for seed in seeds(effort, quick=2, full=POOLS[n])
    ]
    return Part(("galactron.bound",), bound, tasks, lambda found: _told(tasks, found))


def bound(given: Doubt) -> Found:
    """Return the distance of some descents and of annealing from the bound, points."""
    batch = pool_of(given.players, given.seed).batch
    effort = DESCENTS[given.players]
    descent = solved(batch, effort, given.seed, method="descent")
    annealed = solved(batch, effort * ANNEALING, given.seed)
    proof = prove(batch, annealed, effort=given.proof, optimum=True)
    best = float(proof.plan.quality.mean())
    return {
        "descent": POINTS * (proof.bound - float(descent.quality.mean())),
        "anneal": POINTS * (proof.bound - float(annealed.quality.mean())),
        "best": POINTS * (proof.bound - best),
        "proved": POINTS * proof.is_optimal,
        "missed": POINTS * (best - float(descent.quality.mean()) > PROVEN),
    }


def _told(tasks: Sequence[Doubt], results: Sequence[Found]) -> Findings:
    rows: list[Row] = []
    words = {
        "descent": "a couple of descents below the bound, points",
        "anneal": f"annealing, {ANNEALING} times the effort, below the bound, points",
        "best": "the best that is known below the bound, points",
        "proved": "percent of pools whose best is proved",
        "missed": "percent of pools whose best a couple of descents miss",
    }
    for players in sorted({task.players for task in tasks}):
        own = [each for task, each in zip(tasks, results, strict=True) if task.players == players]
        for key, what in words.items():
            found = mean_of(own, key)
            verdict = is_above(found, POINTS / 2.0) if key == "missed" else None
            aim = POINTS / 2.0
            rows.append(told("galactron.bound", what, found, verdict, aim=aim, players=players))
    text = (
        "No matches of as many have a mean quality above the bound. The blog says that its matches "
        "are almost certainly not the best."
    )
    return Findings(tuple(rows), (table_of_rows("How far from the best", text, rows),))
