"""Random batches of every kind, small enough for the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenmatch.solvers.matching.pairs import CAPPED, LOG, RAW
from evenmatch.solvers.teams.batch import (
    ALL,
    APART,
    ENEMIES,
    FREE_SEATS,
    HOME_GAP,
    HOSTS_LACK,
    LISTED_GAP,
    MATES,
    MEAN_GAP,
    NOT_ENEMIES,
    NOT_MATES,
    PAIR_GAP,
    PARTY_GAP,
    PING_GAP,
    RANK_GAP,
    REGION_GAP,
    SPREAD,
    SUM_GAP,
    TONGUES_GAP,
    WORDS_GAP,
    Batch,
    Facts,
    empty_batch,
    empty_facts,
)


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
        ping_max=rng.choice([400.0, np.inf], (2, n)),
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
        tolerances=np.vstack(
            [
                rng.uniform(200.0, 600.0, (4, n)),
                rng.uniform(0.0, 1.0, (1, n)),
                rng.choice([60.0, 150.0, 300.0, np.inf], (2, n)),
            ]
        ),
    )


def strange_batch(seats: Sequence[int], players: int, seed: int, *, sides: bool = False) -> Batch:
    """Return a batch with all terms and rules that compare more than numbers, mostly kept."""
    rng = np.random.default_rng(seed)
    batch = plain_batch(seats, players, seed, largest=2 if min(seats) > 1 else 1)
    n, k = players, int(sum(seats))
    others = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.05]
    has_roles = len(set(seats)) == 1 and seats[0] > 1
    facts = batch.facts._replace(
        ping=np.zeros((0, 0), dtype=np.float32),
        latency=rng.choice([20.0, 60.0, 150.0, np.inf], (n, 4), p=[0.3, 0.3, 0.3, 0.1]),
        ping_weights=np.array([0.05, 0.0, 0.0, 0.05]),
        more_latency=rng.choice([10.0, 40.0, 90.0], (2, n, 3)),
        more_ping=np.zeros((0, 0, 0), dtype=np.float32),
        venues=np.array(
            [[0.0, 25.0, 400.0, 100.0], [1.0, 5.0, 100.0, 40.0], [2.0, 0.0, 0.0, np.inf]]
            if seed % 2
            else [[0.0, 25.0, 400.0, np.inf], [1.0, 5.0, 100.0, np.inf], [2.0, 0.0, 0.0, 40.0]]
        ),
        region_max=rng.choice([60.0, np.inf], n, p=[0.05, 0.95]),
        words=rng.integers(0, 2, (1, n)),
        words_weight=np.zeros(1),
        words_mind=(rng.random((1, n)) < 0.02).astype(np.uint8),
        tongues=rng.integers(1, 16, (1, n)).astype(np.uint64),
        tongues_weight=np.zeros(1),
        tongues_mind=(rng.random((1, n)) < 0.02).astype(np.uint8),
        listed=np.array(
            [(i, j, at % 2, rng.integers(1, 4), at % 3) for at, (i, j) in enumerate(others)],
            dtype=np.float64,
        ).reshape(-1, 5),
        homes=np.where(rng.random((2, n, 2)) < 0.5, rng.integers(0, 6, (2, n, 2)), -1),
        more_connect=(rng.random((1, n, n)) < 0.7).astype(np.uint8),
    )
    ping = facts.more_latency[:, :, None] + facts.more_latency[:, None]
    if seed % 2:
        facts = facts._replace(more_ping=ping.min(axis=3).astype(np.float32))
    columns = [
        (PARTY_GAP, 0.0, [0.5, 1.0]),
        (RANK_GAP, 0.0, [0.3, 0.6, 1.0]),
        (REGION_GAP, 0.0, [150.0, np.inf]),
        (REGION_GAP, 2.0, [40.0, 90.0]),
        (PING_GAP, 3.0 * 0 + ENEMIES, [300.0, np.inf]),
        (PING_GAP, 3.0 * 1 + MATES, [80.0, 130.0]),
        (PING_GAP, 3.0 * 2 + ALL, [130.0, 180.0]),
        (HOSTS_LACK, 0.0, [1.0, 2.0]),
        (HOSTS_LACK, 1.0, [1.0, 2.0]),
        (WORDS_GAP, 0.0, [0.0, 1.0, 1.0]),
        (TONGUES_GAP, 0.0, [0.0, 1.0]),
        (LISTED_GAP, 0.0, [1.0, 2.0, 3.0]),
        (LISTED_GAP, 1.0, [2.0, 3.0]),
        (HOME_GAP, 3.0 * 0 + ENEMIES, [2.0, 3.0]),
        (HOME_GAP, 3.0 * 1 + MATES, [2.0, 3.0]),
        (HOME_GAP, 3.0 * 1 + ALL, [4.0, 6.0]),
    ]
    # Nearly all accept the most, or no match would be legal.
    tolerances = [
        np.where(rng.random(n) < 0.1, rng.choice(own, n), max(own)) for _, _, own in columns
    ]
    return batch._replace(
        facts=facts,
        terms=np.array(
            [
                [REGION_GAP, 0.05, 1.0, CAPPED, 100.0, 5.0, 0.0],
                [PING_GAP, 0.05, 3.0 * 1 + ALL, CAPPED, 200.0, 20.0, 0.0],
                [PING_GAP, 0.05, 3.0 * 0 + MATES, CAPPED, 300.0, 10.0, 0.0],
                [HOSTS_LACK, 0.1, 1.0, CAPPED, 1.0, 1.0, 0.0],
                [SPREAD, 0.2, 0.0, RAW, 1.0, 1.0, 0.0],
            ]
        ),
        role_seats=np.array([1, seats[0] - 1] if has_roles else [], dtype=np.int64),
        role_cost=(rng.integers(0, 2, (n, 2 * has_roles)) * (0.1 / k)).astype(np.float32),
        rank_share=0.1,
        rules=np.array([(kind, column, float(rng.random() < 0.2)) for kind, column, _ in columns]),
        tolerances=np.array(tolerances),
        sides=rng.choice([-1, -1, *range(len(seats))], n) if sides else np.zeros(0, dtype=np.int64),
    )
