"""One round over a crowded pool, beside matchmakers that let players choose one after another.

Ratings are N(1500, 350). Everybody accepts a difference of 150 points that widens by 2 for each
second waited, up to 500; waits are exponential with a mean of a minute. Time is that of the thread,
so other programs do not count. Who has no acceptable partner at all is left out of the share that
plays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.duels.pool import ladder
from evenmatch.solvers.duels.rounds import _by_graph, pair_duels
from tests.bench.report import Row, Setting

SEEDS, SEEDS_QUICK = 9, 3
AIMS = {1_000: "<= 20 ms", 5_000: "<= 150 ms"}
SMALL = 1_000
"""Slow baselines meet only pools up to this size in quick runs."""

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


def run(setting: Setting) -> Iterator[Row]:
    """Yield share, gap and time of each way at each size."""
    seeds = range(SEEDS_QUICK if setting.quick else SEEDS)
    ours(new_pool(100, 0))  # compiles or loads what is compiled
    for count in AIMS:
        pools = [new_pool(count, seed) for seed in seeds]
        best = [_mean_gap(pool, ours(pool)) for pool in pools]
        partners = [sum(len(pool.accepts(i)) > 0 for i in range(count)) for pool in pools]
        for name, way in WAYS.items():
            if setting.quick and count > SMALL and not name.startswith("evenmatch"):
                continue
            shares, ratios, seconds = [], [], []
            for pool, gap, playable in zip(pools, best, partners, strict=True):
                start = time.thread_time()
                pairs = way(pool)
                seconds.append(time.thread_time() - start)
                shares.append(200.0 * len(pairs) / playable)
                ratios.append(_mean_gap(pool, pairs) / gap)
            title = f"1v1, {count:,} waiting, {name}"
            is_ours = name == "evenmatch"
            aims = (">= 98 %", "<= 1.1", AIMS[count]) if is_ours else ("", "", "")
            yield Row(f"{title}: matched", tuple(shares), "%", aims[0])
            yield Row(f"{title}: mean gap", tuple(ratios), "x optimum", aims[1])
            yield Row(f"{title}: time", tuple(1e3 * s for s in seconds), "ms", aims[2])


def _mean_gap(pool: Pool, pairs: Pairs) -> float:
    return float(np.mean([abs(pool.ratings[i] - pool.ratings[j]) for i, j in pairs]))
