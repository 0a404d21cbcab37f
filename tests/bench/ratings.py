"""Ratings one game at a time: how fast, and how well they forecast beside rating periods.

Forecasts are of the later 30 % of recorded Halo duels, put right by a slope that was fitted on the
earlier 70 %. Weng and Lin's two curves forecast team games and duels in the same way, as published
and with parameters chosen on the earlier games. Where `elote` or `openskill` is installed, it rates
the same games in the same run.
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
from evenmatch.ratings.base import Ratings, RatingSystem, newcomers
from evenmatch.ratings.registry import parse_system
from evenmatch.ratings.weng_lin import WengLin
from papers.studies.rating_forecasts import (
    Duels,
    fit_slope,
    log_loss,
    predict_each,
    predict_in_turn,
    recalibrate,
)
from papers.studies.team_models import TeamMatch, TeamModel, forecast_later, forecast_teams, tune
from tests.bench.report import Row, Setting

SYSTEMS = ("elo", "glicko", "glicko2", "weng_lin")
PLAYERS = 500
PERIODS = {"one game at a time": 0.0, "15 minutes at a time": 900.0, "a day at a time": 86400.0}
EARLIER = 0.7
RECORDED = Path(__file__).resolve().parents[1] / "data" / "halo2_beta_1v1.csv.gz"
TEAMS = RECORDED.with_name("halo2_beta_large_teams.csv.gz")
CURVES = {"Bradley-Terry": False, "Thurstone-Mosteller": True}

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
    teams = _halo_teams()
    yield from _team_forecasts(teams)
    yield from _curves("Halo team games", teams)
    if not setting.quick:
        duels = zip(
            *(np.concatenate(each) for each in zip(*_halo(0.0)[0], strict=True)), strict=True
        )
        games = [TeamMatch((int(one),), (int(two),), float(won)) for one, two, won in duels]
        yield from _curves("Halo duels", games)


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
            if seconds:
                chance, _ = predict_in_turn(system, newcomers(system, players), periods)
            else:
                chance = predict_each(system, periods)
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


def _team_forecasts(matches: list[TeamMatch]) -> Iterator[Row]:
    """Forecast the later team games by each system, rating each game at once."""
    earlier = int(EARLIER * len(matches))
    score = np.array([match.score for match in matches])
    for spec in SYSTEMS:
        system, known = parse_system(spec), dict[str, Any]()
        chances = []
        for match in matches:
            teams = [[str(player) for player in team] for team in (match.first, match.second)]
            sides = (_team_rating(system, [known.get(name) for name in team]) for team in teams)
            chances.append(system.win_probability(*sides).item())
            seated = {name: known[name] for team in teams for name in team if name in known}
            points = [match.score, 1.0 - match.score]
            known.update(rate(spec, seated, [{"teams": teams, "points": points}]))
        chance = np.array(chances)
        slope = fit_slope(chance[:earlier], score[:earlier])
        loss = log_loss(recalibrate(chance[earlier:], slope), score[earlier:])
        yield Row(f"{spec}: later Halo team games, one at a time", (loss,), "log loss")


def _team_rating(system: RatingSystem, members: list[Any]) -> Ratings:
    """Return what a system forecasts a team by: the sum of skills, or the average opponent."""
    start = {"mean": system.newcomer.mean, "deviation": system.newcomer.deviation}
    found = [member or start for member in members]
    share = 1.0 if isinstance(system, WengLin) else 1.0 / len(found)
    mean = share * sum(each["mean"] for each in found)
    variance = share * sum(each["deviation"] ** 2 for each in found)
    return Ratings(np.array([mean]), np.array([variance**0.5]), np.array([np.nan]))


def _curves(what: str, matches: list[TeamMatch]) -> Iterator[Row]:
    """Compare the logistic and the normal curve on the later matches."""
    earlier = int(EARLIER * len(matches))
    score = np.array([match.score for match in matches[earlier:]])
    losses: dict[str, list[np.ndarray]] = {}
    for name, normal in CURVES.items():
        published = TeamModel(normal)
        model, tuned = tune(matches, earlier, normal=normal)
        chances = {
            "as published, not put right": np.array(forecast_teams(published, matches)[earlier:]),
            "as published": forecast_later(published, matches, earlier),
            "tuned": tuned,
        }
        for way, chance in chances.items():
            note = (
                f"beta {model.beta:g}, tau {model.tau:g}, mean {model.mean:g}"
                if way == "tuned"
                else ""
            )
            yield Row(
                f"{name}, {way}: later {what}", (log_loss(chance, score),), "log loss", "", note
            )
            loss = -score * np.log(chance) - (1.0 - score) * np.log1p(-chance)
            losses.setdefault(way, []).append(loss)
    for way, (logistic, normal_curve) in losses.items():
        less = normal_curve - logistic
        error = less.std(ddof=1) / np.sqrt(less.size)
        note = f"standard error {error:.4f}, {less.size} games; below 0: the normal curve is better"
        yield Row(f"difference, {way}: {what}", (float(less.mean()),), "log loss", "", note)


def _halo_teams() -> list[TeamMatch]:
    """Return the recorded games of two teams in order of their ends; scores of a team add up."""
    games: dict[tuple[str, int], dict[str, list[dict[str, str]]]] = {}
    with gzip.open(TEAMS, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            game = games.setdefault((row["end_time"], int(row["match_id"])), {})
            game.setdefault(row["team"], []).append(row)
    matches = []
    for _, game in sorted(games.items()):
        if len(game) == 2:
            one, two = (game[team] for team in sorted(game))
            points = [sum(int(row["player_score"]) for row in team) for team in (one, two)]
            players = (tuple(int(row["player"]) for row in team) for team in (one, two))
            matches.append(TeamMatch(*players, (np.sign(points[0] - points[1]) + 1.0) / 2.0))
    return matches
