"""Random batches of every kind, small enough for the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenmatch.solvers.batch.batch import (
    APART,
    FREE_SEATS,
    MEAN_GAP,
    NOT_ENEMIES,
    NOT_MATES,
    PAIR_GAP,
    REGION_GAP,
    SPREAD,
    SUM_GAP,
    Batch,
    Facts,
    empty_batch,
    empty_facts,
)
from evenmatch.solvers.pairs import CAPPED, LOG, RAW


def sizes_of(players: int, largest: int, rng: np.random.Generator) -> list[int]:
    """Return sizes of parties, half of the players alone."""
    sizes: list[int] = []
    while sum(sizes) < players:
        size = int(rng.integers(1, largest + 1)) if rng.random() < 0.4 else 1
        sizes.append(min(size, players - sum(sizes)))
    return sizes


def plain_batch(seats: Sequence[int], players: int, seed: int, largest: int = 0) -> Batch:
    """Return a batch judged like the blog's: one gap of sums, parity, pings, meetings, hosts."""
    rng = np.random.default_rng(seed)
    sizes = sizes_of(players, largest or min(min(seats), 3), rng)
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    terms = np.array([[SUM_GAP, 0.3, 0.0, LOG, 900.0, 50.0, 16.0]])
    batch = empty_batch(np.array(seats, dtype=np.int64), first, plain_facts(first, rng))
    hosts = np.array([0.1, 0.04, 0.0])
    return batch._replace(terms=terms, parity=0.1, hosts=hosts)


def plain_facts(first: np.ndarray, rng: np.random.Generator) -> Facts:
    players = int(first[-1])
    ping = rng.uniform(5.0, 500.0, (players, players)).astype(np.float32)
    ping = (ping + ping.T) / 2
    party = np.repeat(np.arange(len(first) - 1), np.diff(first))
    met = [
        (i, j, rng.random(), float(rng.integers(2)))
        for i in range(players)
        for j in range(i)
        if party[i] != party[j] and rng.random() < 0.2
    ]
    return empty_facts(players)._replace(
        values=rng.integers(0, 400, (2, players)).astype(np.float64),
        gaps=np.array([[PAIR_GAP, 0.2, 0.0, LOG, 300.0, 40.0, 0.0]]),
        ping=ping,
        ping_weights=np.array([0.2, 0.0, 0.0, 0.0]),
        met=np.array(met, dtype=np.float64).reshape(-1, 4),
        met_weight=0.1,
        connect=(rng.random((players, players)) < 0.8).astype(np.uint8),
    )


def rich_batch(seats: Sequence[int], players: int, seed: int, free: int = 0) -> Batch:
    """Return a batch in which everything that can be judged is judged.

    `free` seats of each team may stay empty.
    """
    rng = np.random.default_rng(seed)
    batch = plain_batch(seats, players, seed, largest=2 if min(seats) > 1 else 1)
    n, k = players, int(sum(seats))
    facts = batch.facts._replace(
        gaps=np.array(
            [
                [PAIR_GAP, 0.05, 0.0, LOG, 300.0, 40.0, 7.0],
                [PAIR_GAP, 0.05, 1.0, CAPPED, 300.0, 0.0, 0.0],
                [PAIR_GAP, 0.0001, 1.0, RAW, 0.0, 0.0, 0.0],
            ]
        ),
        ping=np.zeros((0, 0), dtype=np.float32),
        latency=rng.choice([20.0, 60.0, 150.0, 300.0, np.inf], (n, 4)).astype(np.float32),
        ping_weights=np.array([0.1, 0.02, 0.03, 0.05]),
        ping_max=rng.choice([400.0, np.inf], n),
        words=rng.integers(0, 3, (2, n)),
        words_weight=np.array([0.03, np.inf]) if seed % 2 else np.array([0.03, 0.02]),
        tongues=rng.integers(1, 16, (2, n)).astype(np.uint64),
        tongues_weight=np.array([0.03, np.inf]) if seed % 3 else np.array([0.03, 0.02]),
        avoid=np.array(
            [
                (i, j, int(rng.choice([APART, NOT_MATES, NOT_ENEMIES])))
                for i in range(n)
                for j in range(i)
                if rng.random() < 0.02
            ],
            dtype=np.int64,
        ).reshape(-1, 3),
        connect=np.zeros((0, 0), dtype=np.uint8),
        network=rng.integers(0, 3, n),
    )
    return batch._replace(
        facts=facts,
        seats_min=batch.seats - free,
        terms=np.array(
            [
                [SUM_GAP, 0.1, 0.0, LOG, 900.0, 50.0, 16.0],
                [MEAN_GAP, 0.1, 1.0, CAPPED, 300.0, 0.0, 0.0],
                [SPREAD, 0.05, 0.0, LOG, 400.0, 50.0, 0.0],
            ]
        ),
        fullness=0.05 if free else 0.0,
        role_seats=np.array([1, max(seats)]),
        role_cost=np.where(rng.random((n, 2)) < 0.2, np.inf, rng.random((n, 2)) * 0.1 / k).astype(
            np.float32
        ),
        rules=np.array(
            [
                [SPREAD, 0.0, 0.0],
                [SUM_GAP, 1.0, 1.0],
                [MEAN_GAP, 0.0, 0.0],
                [PAIR_GAP, 1.0, 1.0],
                [FREE_SEATS, 0.0, 1.0],
                [REGION_GAP, 0.0, 0.0],
                [REGION_GAP, 0.0, 1.0],
            ]
        ),
        reach=np.vstack(
            [
                rng.uniform(200.0, 600.0, (4, n)),
                rng.uniform(0.0, 1.0, (1, n)),
                rng.choice([60.0, 150.0, 300.0, np.inf], (2, n)),
            ]
        ),
    )
