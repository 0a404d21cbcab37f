"""Matches rated per second: our systems in one period, and other libraries match by match.

Run with `python -m tests.bench.ratings [--quick]`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import glicko2
import numpy as np
from elote import EloCompetitor, Glicko2Competitor, GlickoCompetitor
from openskill.models import BradleyTerryFull

from evenmatch.ratings.base import newcomers
from evenmatch.ratings.outcomes import duels
from evenmatch.ratings.registry import parse_system

SEED = 1
TIMES = 5
Row = dict[str, str | int | float]

AIMS = {"glicko": 1_000_000.0, "glicko2": 500_000.0}
"""Matches per second that we want at least, on one core."""


class Load(NamedTuple):
    """Duels between players of normally distributed strength."""

    players: int
    first: np.ndarray
    second: np.ndarray
    score: np.ndarray


def make_load(players: int, matches: int) -> Load:
    rng = np.random.default_rng(SEED)
    skill = rng.normal(1500.0, 300.0, players)
    first = rng.integers(0, players, matches)
    second = (first + rng.integers(1, players, matches)) % players
    chance = 1.0 / (1.0 + 10.0 ** ((skill[second] - skill[first]) / 400.0))
    return Load(players, first, second, (rng.random(matches) < chance).astype(float))


def ours(spec: str, load: Load) -> Callable[[], object]:
    system = parse_system(spec)
    ratings = newcomers(system, load.players)
    # One period beforehand, so that ratings differ as in service.
    ratings = system.update(ratings, duels(load.first, load.second, load.score))
    return lambda: system.update(ratings, duels(load.first, load.second, load.score))


def elote(kind: type[EloCompetitor | GlickoCompetitor | Glicko2Competitor], load: Load) -> None:
    players = [kind(initial_rating=1500) for _ in range(load.players)]
    for one, two, score in zip(*map(list, load[1:]), strict=True):
        winner, loser = (one, two) if score else (two, one)
        players[winner].beat(players[loser])


def openskill(load: Load) -> None:
    model = BradleyTerryFull()
    players = [model.rating() for _ in range(load.players)]
    for one, two, score in zip(*map(list, load[1:]), strict=True):
        teams = [[players[one]], [players[two]]]
        (players[one],), (players[two],) = model.rate(teams, ranks=[2 - score, 1 + score])


def glicko2_library(load: Load) -> None:
    """Rate one period, each player against all of his opponents."""
    opponents: list[list[int]] = [[] for _ in range(load.players)]
    results: list[list[float]] = [[] for _ in range(load.players)]
    for one, two, score in zip(*map(list, load[1:]), strict=True):
        opponents[one].append(two)
        opponents[two].append(one)
        results[one].append(score)
        results[two].append(1.0 - score)
    players = [glicko2.Player() for _ in range(load.players)]
    means, deviations = [x.rating for x in players], [x.rd for x in players]
    for player, rivals, scores in zip(players, opponents, results, strict=True):
        if rivals:
            player.update_player(
                [means[i] for i in rivals], [deviations[i] for i in rivals], scores
            )


def measure(what: str, matches: int, call: Callable[[], object], times: int) -> Row:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    rates = sorted(matches / each for each in seconds)
    return {
        "what": what,
        "matches": matches,
        "times": times,
        "per_second": statistics.median(rates),
        "per_second_min": rates[0],
        "per_second_max": rates[-1],
        "aim": AIMS.get(what.removeprefix("evenmatch "), 0.0),
    }


def rows(quick: bool = False) -> list[Row]:
    """Return a row for each system and library, all measured in this run, one after another."""
    large = make_load(100_000, 100_000 if quick else 1_000_000)
    small = make_load(500, 2_000 if quick else 10_000)
    found = []
    for spec in ("elo", "glicko", "glicko2", "weng_lin"):
        found.append(measure(f"evenmatch {spec}", large.first.size, ours(spec, large), TIMES))
    rivals: list[tuple[str, Callable[[], object]]] = [
        ("elote EloCompetitor", lambda: elote(EloCompetitor, small)),
        ("elote GlickoCompetitor", lambda: elote(GlickoCompetitor, small)),
        ("elote Glicko2Competitor", lambda: elote(Glicko2Competitor, small)),
        ("glicko2 Player", lambda: glicko2_library(small)),
        ("openskill BradleyTerryFull", lambda: openskill(small)),
    ]
    for what, call in rivals:
        found.append(measure(what, small.first.size, call, 1 if quick else 3))
    return found


def main() -> None:
    """Print the rows as a table, or with --json as they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller loads")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    arguments = parser.parse_args()
    found = rows(arguments.quick)
    if arguments.json:
        print(json.dumps(found))
        return
    for row in found:
        print(
            f"{row['what']:28} {row['per_second']:14,.0f} matches/s "
            f"({row['per_second_min']:,.0f} to {row['per_second_max']:,.0f}; "
            f"{row['matches']:,} matches, {row['times']} times)"
            + (f"  aim {row['aim']:,.0f}" if row["aim"] else "")
        )


if __name__ == "__main__":
    main()
