"""Quality of batches against time, moves a second, and what stands before the first move."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from evenmatch.lab.solve.arrays import read_arrays
from evenmatch.solvers.teams.anneal import Annealing
from evenmatch.solvers.teams.batch import Batch, Pairs
from evenmatch.solvers.teams.pairs import tabulate
from evenmatch.solvers.teams.solve import plan_of, prepare
from tests.bench.report import Row, Setting
from tests.shared import ROOT

BEST = {
    (30, 3): (81.67, 79.12),
    (99, 3): (87.64, 86.24),
    (300, 3): (88.85, 89.28),
    (600, 3): (90.45,),
    (1200, 3): (91.68,),
    (3000, 3): (92.65,),
    (100, 5): (85.90,),
    (200, 5): (87.91,),
    (500, 5): (88.21,),
    (1000, 5): (88.94,),
}
"""Best known qualities by players and team size, of seeds 1, 2; for 5v5 what was to be beaten."""
AIMS = {
    (30, 3, 100): "0 below",
    (99, 3, 100): "<= 0.8 below, aim 0.3",
    (300, 3, 100): "<= 1.2 below, aim 0.5",
    (300, 3, 1000): "<= 0.4 below",
    (1200, 3, 200): "<= 2.4 below, aim 1.0",
    (1200, 3, 1000): "<= 0.8 below",
    (3000, 3, 1000): "<= 2.5 below, aim 1.0",
}
BUDGETS_MS = {
    (30, 3): (100, 1000),
    (99, 3): (100, 1000),
    (300, 3): (100, 1000),
    (600, 3): (200, 1000),
    (1200, 3): (200, 1000),
    (3000, 3): (1000,),
}
SPEED = {3: 2.5e6, 5: 0.7e6}
"""Evaluations a second, by team size, from which the pace of a search follows."""
SLICES = 50


def run(setting: Setting) -> Iterator[Row]:
    shared = Path(os.environ.get("EVENMATCH_SHARED", ROOT.parent / "shared"))
    checker = shared / "batch" / "galactron.py"
    for (players, size), best in BEST.items():
        if setting.quick and players > 600:
            continue
        batches = [
            _instance(checker, setting.data, (players, size, seed + 1)) for seed in range(len(best))
        ]
        if players in (300, 3000):
            yield _tabulating(batches[0], players)
        for budget in BUDGETS_MS.get((players, size), (1000,)):
            yield from _row(batches, best, size, budget, 1 if setting.quick else 3)


def _instance(checker: Path, folder: Path, numbers: tuple[int, int, int]) -> Batch:
    path = folder / ("batch_" + "_".join(map(str, numbers)) + ".npz")
    command = [sys.executable, str(checker), "generate", *map(str, numbers), str(path)]
    subprocess.run(command, check=True)
    return read_arrays(path)


def _tabulating(batch: Batch, players: int) -> Row:
    spent = []
    for _ in range(5):
        began = time.thread_time()
        tabulate(batch.facts, batch.seats)
        spent.append(1e3 * (time.thread_time() - began))
    aim = {300: "<= 1.5", 3000: "<= 150"}[players]
    return Row(f"pairs of {players} players", tuple(spent), "ms", aim)


def _row(
    batches: list[Batch], best: tuple[float, ...], size: int, budget_ms: int, seeds: int
) -> Iterator[Row]:
    players = batches[0].players
    gaps, qualities, speeds = [], [], []
    for batch, known in zip(batches, best, strict=True):
        pairs = tabulate(batch.facts, batch.seats)
        for seed in range(seeds):
            quality, speed = solve_in(batch, pairs, budget_ms / 1e3, seed)
            qualities.append(quality)
            gaps.append(known - quality)
            speeds.append(speed)
    name = f"{size}v{size}, {players} players, {budget_ms} ms"
    aim = AIMS.get((players, size, budget_ms), "<= 0 below" if size == 5 else "")
    yield Row(f"{name}: quality", tuple(qualities), "points")
    yield Row(f"{name}: below best known", tuple(gaps), "points", aim)
    fast = (">= 1,000,000" if players == 300 else "") if size == 3 else ""
    yield Row(f"{name}: moves", tuple(speeds), "1/s", fast)


def solve_in(batch: Batch, pairs: Pairs, seconds: float, seed: int) -> tuple[float, float]:
    """Return quality x 100 and moves a second of a search that ends after so much thread time.

    Everything but the table of pairs is in that time.
    """
    began = time.thread_time()
    ready = prepare(batch, pairs=pairs)
    search = Annealing(ready.scene, ready.seating, ready.candidates, seed)
    search.pace(SPEED[len(ready.seating[0]) // 2] * seconds)
    step, searching = 1_000, time.thread_time()
    while (spent := time.thread_time() - began) < seconds:
        share = min(1.0, spent / seconds + 1.0 / SLICES)
        search.run(step, spent / seconds, share)
        took = time.thread_time() - began - spent
        step = max(500, int(step * min(4.0, seconds / SLICES / max(took, 1e-9))))
    speed = search.moves / (time.thread_time() - searching)
    return 100.0 * float(np.mean(plan_of(ready, search).quality)), speed
