"""What rules and criteria compare beyond numbers, as kernels read it: places, lists, homes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.teams.batch import Batch, Facts, Flags, Floats, Ints, Singles

OTHERS = (
    "Tuple((float64[:,:,::1], float32[:,:,::1], int64[::1], float64[:,:,::1], int64[::1], "
    "int64[:,::1], float64[::1], int64[:,:,::1], uint8[:,:,::1], int64[::1], int64[:,::1]))"
)


class Others(NamedTuple):
    """Facts that evaluations look up match by match.

    Args:
        latencies: Shape (attributes, n, regions): milliseconds, inf = unknown.
        pings: `Facts.more_ping`.
        venue_of: Shape (venues,): the attribute of each.
        region_costs: Shape (venues, n, regions): what the region of a match is chosen by: cost, or
            milliseconds; inf = unknown, or too far for ever.
        listed_first: Shape (n + 1,): where each player's entries begin.
        listed: Shape (3, l): the other player, the list, which pairs count.
        listed_gaps: Shape (l,).
        homes: `Facts.homes`, and so is `more_connect`.
        sides: `Batch.sides`.
        steps: Shape (states, roles): the state of a team after a player took a role, -1 = full.
    """

    latencies: Floats
    pings: Singles
    venue_of: Ints
    region_costs: Floats
    listed_first: Ints
    listed: Ints
    listed_gaps: Floats
    homes: Ints
    more_connect: Flags
    sides: Ints
    steps: Ints


def others_of(batch: Batch) -> Others:
    """Return what kernels need of a batch beside `Measures`."""
    facts = batch.facts
    latencies = _latencies(facts)
    venues = venues_of(facts)
    costs = [venue_costs(latencies[int(of)], *scale) for of, *scale in venues]
    return Others(
        latencies,
        np.ascontiguousarray(facts.more_ping, dtype=np.float32),
        np.array([venue[0] for venue in venues], dtype=np.int64),
        np.ascontiguousarray(costs, dtype=np.float64).reshape(len(venues), *latencies.shape[1:]),
        *_by_player(facts),
        np.ascontiguousarray(facts.homes, dtype=np.int64),
        np.ascontiguousarray(facts.more_connect, dtype=np.uint8),
        np.ascontiguousarray(batch.sides, dtype=np.int64),
        _steps(batch.role_seats),
    )


def venues_of(facts: Facts) -> list[tuple[float, float, float, float]]:
    """Return attribute, best, worst and furthest by which regions are chosen: `Facts.venues`."""
    if len(facts.venues):
        return [(row[0], row[1], row[2], row[3]) for row in facts.venues.tolist()]
    best, worst = (float(ms) for ms in facts.ping_scale)
    return [(0.0, *((best, worst) if facts.ping_weights[3] else (0.0, 0.0)), math.inf)]


def venue_costs(ms: Floats, best: float, worst: float, furthest: float) -> Floats:
    """Return what a region is chosen by; any shape."""
    costs: Floats = ms
    if worst != 0.0:
        costs = np.clip(np.log(np.clip(ms, best, worst) / best) / math.log(worst / best), 0.0, 1.0)
    return np.where(np.isfinite(ms) & (ms <= furthest), costs, np.inf)


def _latencies(facts: Facts) -> Floats:
    """Return the latencies by all attributes, side by side."""
    own = facts.latency
    found = np.full(
        (
            1 + len(facts.more_latency),
            len(own),
            max(own.shape[1], facts.more_latency.shape[2]),
        ),
        np.inf,
    )
    found[0, :, : own.shape[1]] = own
    found[1:, :, : facts.more_latency.shape[2]] = facts.more_latency
    return found


def _by_player(facts: Facts) -> tuple[Ints, Ints, Floats]:
    """Return the entries of lists from both of their ends, in the order of the players."""
    rows = facts.listed
    ends = np.concatenate((rows[:, 0], rows[:, 1])).astype(np.int64)
    others = np.concatenate((rows[:, 1], rows[:, 0]))
    order = np.argsort(ends, kind="stable")
    first: Ints = np.zeros(len(facts.latency) + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=len(first) - 1), out=first[1:])
    table = np.vstack((others, np.tile(rows[:, 2], 2), np.tile(rows[:, 4], 2)))[:, order]
    return first, np.ascontiguousarray(table, dtype=np.int64), np.tile(rows[:, 3], 2)[order]


def _steps(role_seats: Ints) -> Ints:
    """Return where each role leads from each state of a team; a state counts the seats taken."""
    sizes = [int(seats) + 1 for seats in role_seats]
    states = math.prod(sizes)
    steps = np.full((states, len(sizes)), -1, dtype=np.int64)
    stride = 1
    for role, size in enumerate(sizes):
        taken = np.arange(states) // stride % size
        steps[:, role] = np.where(taken < size - 1, np.arange(states) + stride, -1)
        stride *= size
    return steps
