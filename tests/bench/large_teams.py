"""Teams of two to sixteen: annealing beside descent and a plain annealing, a second each.

The plain one has the same evaluations, one heat for matches of all sizes, and moves drawn at random
in place of moves guided by candidates.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np

from evenmatch.lab.solve import search
from evenmatch.lab.solve.arrays import batch_of
from evenmatch.solvers.teams.batch import Batch, Floats
from tests.bench.report import Row, Setting
from tests.shared import ROOT

SIZES = {2: 120, 3: 300, 4: 300, 5: 320, 6: 240, 8: 160, 16: 320}
"""Players of a batch by players of a team."""
PARTIES = {1: 0.55, 2: 0.25, 3: 0.12, 4: 0.08}
"""Share of players by size of party in teams of six and more, where the generator has none."""
SECONDS = 1.0
PLAIN = np.array([0.02, 0.001, 0.0, 0.0])


def run(setting: Setting) -> Iterator[Row]:
    """Compare the searches on three batches of each size, from two seeds each."""
    shared = Path(os.environ.get("EVENMATCH_SHARED", ROOT.parent / "shared"))
    sys.path.insert(0, str(shared / "batch"))
    generator = import_module("galactron")
    for size in SIZES:
        generator.PARTY_MIX.setdefault(size, PARTIES)
    counts = (1, 1) if setting.quick else (3, 2)
    for size, players in SIZES.items():
        batches = [
            batch_of(generator.generate(players, size, number + 1)) for number in range(counts[0])
        ]
        for name in ("anneal", "descent", "plain"):
            values = tuple(
                _quality(batch, name, seed) for batch in batches for seed in range(counts[1])
            )
            label = f"{size}v{size}, {players} players, {SECONDS:g} s: {name}"
            mean = f"mean {np.mean(values):.2f}"
            yield Row(label, values, "points", "", mean)


def _quality(batch: Batch, name: str, seed: int) -> float:
    usual = search.habits_of_large
    if name == "plain":
        search.habits_of_large = _plain
    try:
        plan = search.search(
            batch,
            search.parse_method("descent" if name == "descent" else "anneal"),
            search.parse_objective("mean"),
            search.SolveBudget(seconds=SECONDS),
            seed,
        )
    finally:
        search.habits_of_large = usual
    return 100.0 * float(plan.quality.mean())


def _plain(habits: Floats, parties: float) -> Floats:
    del habits, parties
    return PLAIN.copy()
