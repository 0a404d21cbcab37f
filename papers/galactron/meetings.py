"""Opponent variation: how often the same people meet in two consecutive rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from evenmatch.lab.solve.factors import without
from evenmatch.lab.solve.solution import POINTS
from evenmatch.solvers.teams.batch import Places
from papers.galactron.pools import Pool, encounters, named_factors, pool_of, quality_of, solved
from papers.shared.estimates import Found, difference, is_above, mean_of, told
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.sequences import seeds
from papers.shared.words import table_of_rows

ROUND = 102
EFFORT = 100_000
ROUNDS = 5
CROWDS = (102, 204)
"""Players online: all play every round, or a random half of them."""
FACTOR = "rematch"


class Evening(msgspec.Struct, frozen=True):
    """Rounds of the same players, one after the other."""

    players: int
    seed: int


def meetings(effort: Effort) -> Part:
    """Return the part on opponent variation."""
    tasks = [Evening(n, seed) for n in CROWDS for seed in seeds(effort, quick=3, full=40)]
    return Part(("galactron.variation",), play_evening, tasks, lambda found: _told(tasks, found))


def play_evening(given: Evening) -> Found:
    """Return how many opponents are met again, with the factor and without, percent."""
    found: dict[str, float | None] = {}
    for case in ("with", "without"):
        pool = pool_of(given.players, given.seed)
        rng = np.random.default_rng(given.seed)
        last = np.full((given.players, given.players), -1, dtype=np.int8)
        shares, turned, quality = [], [], []
        for number in range(ROUNDS):
            chosen = _who_plays(pool, rng)
            seated = _round(pool, chosen, given.seed + number, with_factor=case == "with")
            met = encounters(seated, pool.arrays["party"])
            again, changed = _again(seated, met, last)
            if number:
                shares.append(POINTS * again / len(met))
                turned.append(POINTS * changed / again if again else None)
                quality.append(_quality_of_others(pool, seated))
            pool = pool.meeting_again(seated)
            _remember(last, seated)
        known = [each for each in turned if each is not None]
        found[f"{case} again"] = float(np.mean(shares))
        found[f"{case} turned"] = float(np.mean(known)) if known else None
        found[f"{case} quality"] = float(np.mean(quality))
    return found


def _who_plays(pool: Pool, rng: np.random.Generator) -> np.ndarray:
    """Return the players of a round: parties at random until there are enough."""
    first, sizes = pool.batch.first[:-1], np.diff(pool.batch.first)
    order = rng.permutation(len(first))
    chosen = order[np.cumsum(sizes[order]) <= ROUND]
    return np.flatnonzero(np.isin(np.repeat(np.arange(len(first)), sizes), chosen))


def _round(pool: Pool, chosen: np.ndarray, seed: int, *, with_factor: bool) -> Places:
    """Return the matches of chosen players, by their numbers in the pool."""
    batch = pool.some(chosen).batch
    if not with_factor:
        own = tuple(named_factors(batch).values())
        batch = without(batch, own, FACTOR)
    return np.asarray(chosen[solved(batch, EFFORT, seed).seating], dtype=np.int32)


def _again(seated: Places, met: set[tuple[int, int]], last: np.ndarray) -> tuple[int, int]:
    """Return how many were met in the last match of both, and how many changed sides since."""
    side = np.full(len(last), -1)
    half = seated.shape[1] // 2
    side[seated[:, :half]], side[seated[:, half:]] = 0, 1
    again = [(i, j) for i, j in met if last[i, j] >= 0]
    return len(again), sum(int(last[i, j]) != int(side[i] == side[j]) for i, j in again)


def _remember(last: np.ndarray, seated: Places) -> None:
    """Record whom each player met in the last match: mates (1), enemies (0), nobody (-1)."""
    last[seated.ravel()] = -1
    last[:, seated.ravel()] = -1
    half = seated.shape[1] // 2
    for row in seated.tolist():
        for i in row:
            for j in row:
                if i != j:
                    last[i, j] = int((row.index(i) < half) == (row.index(j) < half))


def _quality_of_others(pool: Pool, seated: Places) -> float:
    """Return the mean of the other five factors, with their weights, points."""
    factors = tuple(named_factors(pool.batch).values())
    return quality_of(without(pool.batch, factors, FACTOR), seated)


def _told(tasks: Sequence[Evening], results: Sequence[Found]) -> Findings:
    rows: list[Row] = []
    for players in CROWDS:
        own = [each for task, each in zip(tasks, results, strict=True) if task.players == players]
        setting: dict[str, Any] = {"online": players, "in a round": ROUND}
        for case in ("without", "with"):
            again = mean_of(own, f"{case} again")
            what = f"percent of those met who were met in the match before, {case} the factor"
            rows.append(told("galactron.variation", what, again, **setting))
            turned = mean_of(own, f"{case} turned")
            what = f"percent of them in the other relation now, {case} the factor"
            rows.append(told("galactron.variation", what, turned, **setting))
        fewer = difference(own, "without again", "with again")
        what = "fewer met again for the factor, percent of those met"
        rows.append(told("galactron.variation", what, fewer, is_above(fewer), **setting))
        price = difference(own, "without quality", "with quality")
        what = "quality by the other five factors that it takes, points"
        rows.append(told("galactron.variation", what, price, **setting))
    text = (
        f"{ROUNDS} rounds in a row of {ROUND} players, drawn from all who are online, with the "
        "same skills and parties; the first round has no say."
    )
    return Findings(tuple(rows), (table_of_rows("Meeting the same people", text, rows),))
