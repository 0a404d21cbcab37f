"""Ratings one game at a time: how fast, and how well they forecast beside rating periods.

Forecasts are of the later 30 % of recorded Halo duels, put right by a slope that was fitted on the
earlier 70 %. Where `elote` or `openskill` is installed, it rates the same games in the same run.
"""

from __future__ import annotations

import csv
import gzip
import random
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from evenmatch import rate
from evenmatch.ratings.base import newcomers
from evenmatch.ratings.registry import parse_system
from papers.studies.rating_forecasts import Duels, fit_slope, log_loss, predict_in_turn, recalibrate
from tests.bench.report import Row, Setting

SYSTEMS = ("elo", "glicko", "glicko2", "weng_lin")
PLAYERS = 500
PERIODS = {"one game at a time": 0.0, "15 minutes at a time": 900.0, "a day at a time": 86400.0}
EARLIER = 0.7
RECORDED = Path(__file__).resolve().parents[1] / "data" / "halo2_beta_1v1.csv.gz"

Games = list[tuple[str, str]]
"""Winner and loser of each game."""


def run(setting: Setting) -> Iterator[Row]:
    """Measure speed and forecasts."""
    games, rounds = (2_000, 3) if setting.quick else (20_000, 5)
    rng = random.Random(1)
    names = [f"p{number}" for number in range(PLAYERS)]
    played: Games = [tuple(rng.sample(names, 2)) for _ in range(games)]  # type: ignore[misc]
    sides: dict[str, Callable[[Games], object]] = {
        f"{spec}, `rate`": lambda given, spec=spec: _ours(spec, given) for spec in SYSTEMS
    }
    sides |= {name: side for name, side in _peers().items() if side is not None}
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            began = time.perf_counter()
            side(played)
            seconds[name].append(time.perf_counter() - began)
    for name, values in seconds.items():
        aim = ">= 100,000" if "rate" in name else ""
        yield Row(f"{name}: games", tuple(games / each for each in values), "games/s", aim)
    for name, side in _peers().items():
        if side is None:
            yield Row(name, (float("nan"),), "games/s", "", "not installed: pip install " + name)
    yield from _forecasts()


def _ours(spec: str, played: Games) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for winner, loser in played:
        before = {name: known[name] for name in (winner, loser) if name in known}
        known.update(rate(spec, before, [{"teams": [[winner], [loser]], "ranks": [1, 2]}]))
    return known


def _peers() -> dict[str, Callable[[Games], object] | None]:
    return {"elote": _elote(), "openskill": _openskill()}


def _elote() -> Callable[[Games], object] | None:
    try:
        elote: Any = import_module("elote")
    except ImportError:
        return None

    def play(played: Games) -> object:
        known: dict[str, Any] = {}
        for winner, loser in played:
            one, two = (known.setdefault(name, elote.EloCompetitor()) for name in (winner, loser))
            one.beat(two)
        return known

    return play


def _openskill() -> Callable[[Games], object] | None:
    try:
        models: Any = import_module("openskill.models")
    except ImportError:
        return None
    model = models.BradleyTerryFull()

    def play(played: Games) -> object:
        known: dict[str, Any] = {}
        for winner, loser in played:
            one, two = (known.setdefault(name, model.rating()) for name in (winner, loser))
            (known[winner],), (known[loser],) = model.rate([[one], [two]])
        return known

    return play


def _forecasts() -> Iterator[Row]:
    for spec in SYSTEMS:
        system = parse_system(spec)
        for name, seconds in PERIODS.items():
            periods, players = _halo(seconds)
            chance, _ = predict_in_turn(system, newcomers(system, players), periods)
            score = np.concatenate([each[2] for each in periods])
            cut = int(EARLIER * score.size)
            slope = fit_slope(chance[:cut], score[:cut])
            loss = log_loss(recalibrate(chance[cut:], slope), score[cut:])
            yield Row(f"{spec}: later Halo duels, {name}", (loss,), "log loss")


def _halo(seconds: float) -> tuple[list[Duels], int]:
    """Return the recorded duels by period, in order of their ends."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["end_time"])
    at = np.array([datetime.fromisoformat(row["end_time"]).timestamp() for row in rows])
    first, second = (np.array([int(row[f"player_{side}"]) for row in rows]) for side in "ab")
    lead = np.array([int(row["score_a"]) - int(row["score_b"]) for row in rows])
    number = (at - at[0]) // seconds if seconds else np.arange(len(rows))
    cuts = np.flatnonzero(np.diff(number)) + 1
    parts = [np.split(each, cuts) for each in (first, second, (np.sign(lead) + 1.0) / 2.0)]
    return list(zip(*parts, strict=True)), int(max(first.max(), second.max())) + 1
