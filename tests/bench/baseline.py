"""The speed of the paths that most users walk, held against what it was.

    python -m tests.bench baseline            # compares, and fails where one is 15 % slower
    python -m tests.bench baseline --write    # notes what it is now

Each path takes turns with a calibration: a fixed piece of work in plain Python, as calls, records
and look-ups are. What is kept is their ratio, which hardly depends on the machine; of many short
rounds the fast ones count, since whatever else runs makes both slower.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

import evenmatch
from evenmatch.model.ticket import Player, Rating
from tests.bench.drives import EngineDrive
from tests.bench.report import Row, Setting
from tests.bench.workload import LARGE, SMALL, Load, arrivals, duel

KEPT = Path(__file__).with_name("baseline.json")
SLOWER_MAX = 1.15
"""Times what is kept, beyond which the bench fails."""
ROUNDS = 160
FAST = 5.0
"""Percentile of all rounds that counts: what else runs makes most of them slower."""
STEPS = 10_000
"""Loops of the calibration, about 2 ms."""
TICKETS = 60
WARM = {SMALL.name: 4_000, LARGE.name: 12_000}
DUELS = 100

Work = Callable[[], None]


class Slower(Exception):
    """A path is slower than it was."""


def run(setting: Setting) -> Iterator[Row]:
    """Measure each path in units of the calibration.

    Raises:
        Slower: One takes more than `SLOWER_MAX` times what is kept.
    """
    before = _kept()
    slower = []
    for name, least in _measured(ROUNDS // 4 if setting.quick else ROUNDS).items():
        aim, note = "", "nothing kept: --write keeps it"
        if name in before:
            aim = f"<= {SLOWER_MAX * before[name]:.3g}"
            note = f"{least / before[name]:.2f} times what is kept"
            if least > SLOWER_MAX * before[name]:
                slower.append(f"{name} {note}")
        yield Row(name, (least,), "calibrations", aim, note)
    if slower:
        raise Slower("; ".join(slower))


def main(argv: Sequence[str]) -> int:
    """Note what the paths take now."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench baseline", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep what is measured", required=True)
    parser.parse_args(argv)
    found = {name: round(value, 4) for name, value in _measured(ROUNDS).items()}
    KEPT.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(f"kept in {KEPT}", file=sys.stderr)
    return 0


def _kept() -> dict[str, float]:
    found: dict[str, float] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def _measured(rounds: int) -> dict[str, float]:
    """Return what each path takes in calibrations: both at their fast moments, in turns."""
    paths = _paths(rounds)
    for work in paths.values():
        work()
    gc.collect()
    gc.freeze()
    gc.disable()  # collections come when they like, and belong to no path
    units: list[float] = []
    spent: dict[str, list[float]] = {name: [] for name in paths}
    try:
        for _ in range(rounds):
            for name, work in paths.items():
                units.append(_seconds(_calibrate))
                spent[name].append(_seconds(work))
    finally:
        gc.enable()
        gc.unfreeze()
    unit = float(np.percentile(units, FAST))
    return {name: float(np.percentile(each, FAST)) / unit for name, each in spent.items()}


def _paths(rounds: int) -> dict[str, Work]:
    skills = np.random.default_rng(1).normal(1500.0, 300.0, DUELS)
    return {
        "engine, 60 tickets at a pool of 140": _engine(SMALL, rounds),
        "engine, 60 tickets at a pool of 1,500": _engine(LARGE, rounds),
        "evenmatch.rate, 60 games one by one": _rate,
        "evenmatch.solve, 100 duels": lambda: _solve(skills.tolist()),
    }


def _engine(load: Load, rounds: int) -> Work:
    drive = EngineDrive(duel(load.limit, load.rate))
    stream = arrivals(load, seed=7)
    drive.feed(list(islice(stream, WARM[load.name])))
    parts = iter([list(islice(stream, TICKETS)) for _ in range(rounds + 1)])
    return lambda: drive.feed(next(parts))


def _rate() -> None:
    ratings = {name: {"mean": 1500.0, "deviation": 80.0, "volatility": 0.06} for name in "ab"}
    game = [{"teams": [["a"], ["b"]], "ranks": [1, 2]}]
    for _ in range(60):
        ratings = evenmatch.rate("glicko2", ratings, game)


def _solve(skills: list[float]) -> None:
    evenmatch.solve(
        {
            "format": {"teams": 2, "players": 1},
            "criteria": [
                {
                    "kind": "spread",
                    "attribute": "rating",
                    "scale": {"kind": "linear", "min": 0, "max": 3000},
                }
            ],
            "tickets": [
                {"players": [{"id": str(number), "rating": {"mean": skill}}]}
                for number, skill in enumerate(skills)
            ],
        }
    )


def _calibrate() -> None:
    """Do a fixed piece of work: calls, frozen records, look-ups, sums."""
    rows: dict[str, Player] = {}
    total = 0.0
    for number in range(STEPS):
        name = _NAMES[number & 255]
        row = rows.get(name)
        if row is None or number & 7 == 0:
            row = rows[name] = Player(name, Rating(float(number), 80.0))
        total += _mean_of(row)
    assert total > 0.0


def _mean_of(player: Player) -> float:
    return player.rating.mean if player.rating is not None else 0.0


_NAMES = [f"player-{number}" for number in range(256)]


def _seconds(work: Work) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began
