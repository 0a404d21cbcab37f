"""One round over a crowded pool, beside matchmakers that let players choose one after another.

Ratings are N(1500, 350). Everybody accepts a difference of 150 points that widens by 2 for each
second waited, up to 500; waits are exponential with a mean of a minute. Time is that of the thread,
so other programs do not count. Who has no acceptable partner at all is left out of the share that
plays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.duels.pool import Duels
from evenmatch.solvers.duels.rounds import _by_graph, pair_duels
from evenmatch.solvers.matching.pairs import LOG, RAW
from evenmatch.solvers.teams.batch import MEAN_GAP, PAIR_GAP, Batch, empty_batch, empty_facts
from evenmatch.solvers.teams.descent import descent
from tests.bench.report import Row, Setting

SEEDS, SEEDS_QUICK = 9, 3
AIMS = {1_000: "<= 20 ms", 5_000: "<= 150 ms"}
SMALL = 1_000
"""Slow baselines meet only pools up to this size in quick runs."""
TEAM_PLAYERS, TEAM_EFFORT = 1_000, 10_000
"""Players of 4v4, and evaluations of matches."""

Pairs = list[tuple[int, int]]


class Pool(NamedTuple):
    """Players in the order in which they came, the longest waiting first."""

    ratings: np.ndarray
    limits: np.ndarray

    def accepts(self, i: int) -> np.ndarray:
        """Return who i and who would have i, nearest first."""
        gaps = np.abs(self.ratings - self.ratings[i])
        gaps[i] = np.inf
        found = np.flatnonzero(gaps <= np.minimum(self.limits, self.limits[i]))
        return found[np.argsort(gaps[found], kind="stable")]


def ladder(ratings: np.ndarray, limits: np.ndarray, worth: np.ndarray | None = None) -> Duels:
    """Return a pool in which a pair costs its difference of ratings, within both limits."""
    worth = np.zeros(len(ratings)) if worth is None else worth
    terms = np.array([[PAIR_GAP, 1.0, 0.0, RAW, 1.0, 1.0, 0.0]])
    return Duels(ratings[None], terms, np.zeros((1, 3)), limits[None], worth)


def new_pool(count: int, seed: int) -> Pool:
    rng = np.random.default_rng(seed)
    waits = -np.sort(-rng.exponential(60.0, count))
    return Pool(rng.normal(1500.0, 350.0, count), np.minimum(150.0 + 2.0 * waits, 500.0))


def ours(pool: Pool) -> Pairs:
    found = pair_duels(ladder(pool.ratings, pool.limits))
    assert found.is_optimal
    return [(i, j) for i, j in found.pairs.tolist()]


def by_graph(pool: Pool) -> Pairs:
    found = _by_graph(ladder(pool.ratings, pool.limits), None, 0.0, 60)
    return [(i, j) for i, j in found.pairs.tolist()]


def oldest_first(pool: Pool) -> Pairs:
    """Let everybody, longest waiting first, take the nearest partner who is still free."""
    free, pairs = np.ones(len(pool.ratings), dtype=bool), []
    for i in range(len(free)):
        if free[i]:
            partners = [j for j in pool.accepts(i).tolist() if free[j]]
            if partners:
                free[i] = free[partners[0]] = False
                pairs.append((i, partners[0]))
    return pairs


def stable(pool: Pool) -> Pairs:
    """Let everybody ask partners, nearest first; who is asked leaves a partner for a nearer one."""
    count = len(pool.ratings)
    lists = [pool.accepts(i).tolist() for i in range(count)]
    asked, mates = [0] * count, [-1] * count
    asking = list(range(count - 1, -1, -1))
    while asking:
        i = asking.pop()
        while mates[i] < 0 and asked[i] < len(lists[i]):
            j = lists[i][asked[i]]
            asked[i] += 1
            gap = abs(pool.ratings[i] - pool.ratings[j])
            if mates[j] < 0 or gap < abs(pool.ratings[j] - pool.ratings[mates[j]]):
                if mates[j] >= 0:
                    mates[mates[j]] = -1
                    asking.append(mates[j])
                mates[i], mates[j] = j, i
    return [(i, j) for i, j in enumerate(mates) if i < j]


WAYS: dict[str, Callable[[Pool], Pairs]] = {
    "evenmatch": ours,
    "evenmatch, by its graph alone": by_graph,
    "oldest first": oldest_first,
    "stable marriage": stable,
}


def sorted_teams(pool: Pool) -> np.ndarray:
    """Return eights of neighbours, each divided as well as can be."""
    return descent(_batch(pool), effort=0, seed=1).seating


def ours_in_teams(pool: Pool) -> np.ndarray:
    return descent(_batch(pool), effort=TEAM_EFFORT, seed=1).seating


def eights_by_age(pool: Pool) -> np.ndarray:
    """Let the longest waiting take the seven nearest; strong and weak alternate between teams."""
    free, found = np.ones(len(pool.ratings), dtype=bool), []
    for i in range(len(free)):
        others = [j for j in pool.accepts(i).tolist() if free[j]][:7] if free[i] else []
        if len(others) == 7:
            eight = sorted([i, *others], key=lambda p: pool.ratings[p])
            free[eight] = False
            found.append([eight[at] for at in (0, 3, 4, 7, 1, 2, 5, 6)])
    return np.array(found)


def married_teams(pool: Pool) -> np.ndarray:
    """Let the longest waiting make teams with the three nearest, and marry teams by their means."""
    free, teams = np.ones(len(pool.ratings), dtype=bool), []
    for i in range(len(free)):
        others = [j for j in pool.accepts(i).tolist() if free[j]][:3] if free[i] else []
        if len(others) == 3:
            teams.append([i, *others])
            free[teams[-1]] = False
    means = np.array([pool.ratings[team].mean() for team in teams])
    limits = np.array([pool.limits[team].min() for team in teams])
    return np.array([[*teams[i], *teams[j]] for i, j in stable(Pool(means, limits))])


def _batch(pool: Pool) -> Batch:
    """Return single players for 4v4, judged by both teams' means and by all pairs, half and half.

    Limits are not asked for: eight neighbours break one only where ratings are rare.
    """
    count = len(pool.ratings)
    facts = empty_facts(count)._replace(
        values=pool.ratings[None].copy(),
        gaps=np.array([[PAIR_GAP, 0.5, 0.0, LOG, 500.0, 10.0, 0.0]]),
    )
    batch = empty_batch(np.array([4, 4]), np.arange(count + 1), facts)
    return batch._replace(terms=np.array([[MEAN_GAP, 0.5, 0.0, LOG, 500.0, 20.0, 0.0]]))


TEAM_WAYS: dict[str, Callable[[Pool], np.ndarray]] = {
    "evenmatch": ours_in_teams,
    "sorted, best division": sorted_teams,
    "eights by age": eights_by_age,
    "stable marriage of teams": married_teams,
}
TEAM_MEASURES = [
    ("matched", "%"),
    ("mean team gap", "points"),
    ("median standard deviation", "points"),
    ("mean standard deviation", "points"),
    ("median range", "points"),
]
TEAM_AIMS = [">= 98 %", "<= 1", "<= 6", "", ""]


def run(setting: Setting) -> Iterator[Row]:
    """Yield what each way makes of pools of one against one, then of four against four."""
    seeds = range(SEEDS_QUICK if setting.quick else SEEDS)
    for count in AIMS:
        yield from _duels([new_pool(count, seed) for seed in seeds], setting.quick)
    yield from _teams([new_pool(TEAM_PLAYERS, seed) for seed in seeds])


def _duels(pools: Sequence[Pool], is_quick: bool) -> Iterator[Row]:
    count = len(pools[0].ratings)
    # The first round loads what is compiled.
    best = [_mean_gap(pool, ours(pool)) for pool in pools]
    partners = [sum(len(pool.accepts(i)) > 0 for i in range(count)) for pool in pools]
    for name, way in WAYS.items():
        if is_quick and count > SMALL and not name.startswith("evenmatch"):
            continue
        shares, ratios, seconds = [], [], []
        for pool, gap, playable in zip(pools, best, partners, strict=True):
            start = time.thread_time()
            pairs = way(pool)
            seconds.append(time.thread_time() - start)
            shares.append(200.0 * len(pairs) / playable)
            ratios.append(_mean_gap(pool, pairs) / gap)
        title = f"1v1, {count:,} waiting, {name}"
        aims = (">= 98 %", "<= 1.1", AIMS[count]) if name == "evenmatch" else ("", "", "")
        yield Row(f"{title}: matched", tuple(shares), "%", aims[0])
        yield Row(f"{title}: mean gap", tuple(ratios), "x optimum", aims[1])
        yield Row(f"{title}: time", tuple(1e3 * s for s in seconds), "ms", aims[2])


def _teams(pools: Sequence[Pool]) -> Iterator[Row]:
    for name, way in TEAM_WAYS.items():
        way(pools[0])
        seconds, found = [], []
        for pool in pools:
            start = time.thread_time()
            seated = way(pool)
            seconds.append(time.thread_time() - start)
            found.append(_judged(pool, seated))
        title = f"4v4, {len(pools[0].ratings):,} waiting, {name}"
        aims = TEAM_AIMS if name == "evenmatch" else [""] * len(TEAM_AIMS)
        columns = zip(TEAM_MEASURES, aims, zip(*found, strict=True), strict=True)
        for (measure, unit), aim, values in columns:
            yield Row(f"{title}: {measure}", values, unit, aim)
        aim = "<= 100 ms" if name == "evenmatch" else ""
        yield Row(f"{title}: time", tuple(1e3 * s for s in seconds), "ms", aim)


def _judged(pool: Pool, seated: np.ndarray) -> tuple[float, ...]:
    """Return the measures of matches; those that break anybody's limit do not count."""
    ratings = pool.ratings[seated]
    spans = np.ptp(ratings, axis=1)
    holds = spans <= pool.limits[seated].min(axis=1)
    gaps = np.abs(ratings[:, :4].mean(axis=1) - ratings[:, 4:].mean(axis=1))
    return (
        100.0 * seated[holds].size / len(pool.ratings),
        float(gaps[holds].mean()),
        float(np.median(ratings[holds].std(axis=1))),
        float(ratings[holds].std(axis=1).mean()),
        float(np.median(spans[holds])),
    )


def _mean_gap(pool: Pool, pairs: Pairs) -> float:
    return float(np.mean([abs(pool.ratings[i] - pool.ratings[j]) for i, j in pairs]))
