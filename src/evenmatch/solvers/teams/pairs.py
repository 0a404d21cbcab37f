"""Tables of what each pair of players costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.matching.pairs import LOG, STEP_SLACK, shape_gap
from evenmatch.solvers.teams.batch import (
    APART,
    COLUMN,
    KNEE,
    MODERATE,
    NOT_ENEMIES,
    NOT_MATES,
    OPEN,
    REACHED,
    REACHES,
    SHAPE,
    STEP,
    TOP,
    WEIGHT,
    Facts,
    Flags,
    Floats,
    Ints,
    Pairs,
    Places,
    Singles,
)

# The cost of a pair of players, from the facts on them: the entries of tables of pairs.
#
# Logarithms are interpolated in tables of 4,096 cells, with an error of at most 2e-7; for the final
# judgement of a match, `exact` computes the logarithm itself.

CELLS = 4096
"""Cells of a curve: a cost as a function of a gap or a ping, between 0 and its top."""
CURVES_KEPT = 256
BEST, WORST, CELLS_PER_MS, FROM_ENEMIES, FROM_MATES = range(5)
"""Indices into `Measures.pings`; the last two: whether pings of such pairs cost or are limited."""


@record(
    "float64[:,::1], float64[:,::1], float32[:,::1], float32[:,::1], float64[:,::1], "
    "float64[::1], float64[:,::1], int64[:,::1], float64[::1], uint64[:,::1], float64[::1], "
    "uint8[:,::1], int64[::1], int64[::1], int64[:,::1], float64[:,::1], uint8[:,::1], "
    "uint8[:,::1], float64[::1]"
)
class Measures(NamedTuple):
    """Facts in the form that kernels read.

    Args:
        values: As in `Facts`; likewise `gaps`, `ping`, `latency`, `ping_max`, `words`,
            `words_weight`, `tongues`, `tongues_weight`, `connect` and `network`.
        curves: Shape (1 + g, CELLS + 2): cost of a ping, then of each gap without its weight.
        pings: Shape (5,), see `BEST` and the names after it.
        link_first: Shape (n + 1,): where the links of each player begin.
        links: Shape (2, l): the other player and flags; a link is a meeting or an avoidance.
        link_costs: Shape (l, 2): cost of a link as enemies and as mates.
        words_mind: As in `Facts`; likewise `tongues_mind` and `region_max`.
    """

    values: Floats
    gaps: Floats
    curves: Singles
    ping: Singles
    latency: Floats
    pings: Floats
    ping_max: Floats
    words: Ints
    words_weight: Floats
    tongues: Flags
    tongues_weight: Floats
    connect: Flags
    network: Ints
    link_first: Ints
    links: Ints
    link_costs: Floats
    words_mind: Flags
    tongues_mind: Flags
    region_max: Floats


def measures_of(facts: Facts) -> Measures:
    """Return facts in the form that kernels read.

    Complexity:
        O(n + links); 4,096 logarithms for each curve that is new.
    """
    best, worst = (float(ms) for ms in facts.ping_scale)
    of_enemies, of_mates, of_all, _ = (float(weight) for weight in facts.ping_weights)
    link_first, links, link_costs = _links(facts)
    return Measures(
        values=np.ascontiguousarray(facts.values, dtype=np.float64),
        gaps=np.ascontiguousarray(facts.gaps, dtype=np.float64),
        curves=np.vstack([_ping_curve(best, worst), *map(curve_of, facts.gaps)]),
        ping=np.ascontiguousarray(facts.ping, dtype=np.float32),
        latency=np.ascontiguousarray(facts.latency, dtype=np.float64),
        pings=np.array(
            [
                best,
                worst,
                CELLS / worst,
                of_enemies + of_all > 0.0 or np.isfinite(facts.ping_max[0]).any(),
                of_mates + of_all > 0.0 or np.isfinite(facts.ping_max[1]).any(),
            ]
        ),
        ping_max=np.ascontiguousarray(facts.ping_max, dtype=np.float64),
        words=np.ascontiguousarray(facts.words, dtype=np.int64),
        words_weight=np.ascontiguousarray(facts.words_weight, dtype=np.float64),
        tongues=np.ascontiguousarray(facts.tongues, dtype=np.uint64),
        tongues_weight=np.ascontiguousarray(facts.tongues_weight, dtype=np.float64),
        connect=np.ascontiguousarray(facts.connect, dtype=np.uint8),
        network=np.ascontiguousarray(facts.network, dtype=np.int64),
        link_first=link_first,
        links=links,
        link_costs=link_costs,
        words_mind=np.ascontiguousarray(facts.words_mind, dtype=np.uint8),
        tongues_mind=np.ascontiguousarray(facts.tongues_mind, dtype=np.uint8),
        region_max=np.ascontiguousarray(facts.region_max, dtype=np.float64),
    )


def curve_of(term: Floats) -> Singles:
    """Return the cost of gaps from 0 to the top of a logarithmic term, without its weight.

    A term with a step has a cell for each step, if cells are fine enough for its gaps. The array is
    cached for the next batch of the queue, so it must not be written to.
    """
    return _curve_of(*term.tolist())


@lru_cache(maxsize=CURVES_KEPT)
def _curve_of(*term: float) -> Singles:
    top = _curve_top(term)
    gaps = np.linspace(0.0, top, CELLS + 1)
    if term[SHAPE] == LOG:
        costs = np.log1p(np.minimum(gaps, term[TOP]) / term[KNEE])
        costs /= math.log1p(term[TOP] / term[KNEE])
    else:
        costs = np.minimum(gaps, top) / top
    return _kept(np.append(costs, costs[-1]))


def _curve_top(term: Sequence[float]) -> float:
    return term[TOP] if term[TOP] > 0.0 and math.isfinite(term[TOP]) else 1.0


@lru_cache(maxsize=CURVES_KEPT)
def _ping_curve(best: float, worst: float) -> Singles:
    pings = np.maximum(np.linspace(0.0, worst, CELLS + 1), best)
    costs = np.clip(np.log(pings / best) / math.log(worst / best), 0.0, 1.0)
    return _kept(np.append(costs, 1.0))


def _kept(costs: Floats) -> Singles:
    curve: Singles = costs.astype(np.float32)
    curve.setflags(write=False)
    return curve


def _links(facts: Facts) -> tuple[Ints, Ints, Floats]:
    """Return the meetings and avoidances of each player."""
    met, avoid = facts.met, facts.avoid
    one = np.concatenate((met[:, 0], avoid[:, 0])).astype(np.int64)
    two = np.concatenate((met[:, 1], avoid[:, 1])).astype(np.int64)
    flags = np.concatenate((np.zeros(len(met), dtype=np.int64), avoid[:, 2]))
    costs = np.zeros((len(one), 2))
    if len(met):
        fresh, were_mates = facts.met_weight * met[:, 2], met[:, 3] > 0.0
        costs[: len(met), 0] = np.where(were_mates, 0.5, 1.0) * fresh
        costs[: len(met), 1] = np.where(were_mates, 1.0, 0.5) * fresh
    ends = np.concatenate((one, two))
    order = np.argsort(ends, kind="stable")
    first: Ints = np.zeros(len(facts.latency) + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=len(first) - 1), out=first[1:])
    others = np.concatenate((two, one))[order]
    links = np.ascontiguousarray(np.vstack((others, np.tile(flags, 2)[order])), dtype=np.int64)
    return first, links, np.ascontiguousarray(np.tile(costs, (2, 1))[order])


@kernel("float64(float32[:,::1], int64, float64)", inline=True, allocates=False)
def on_curve(curves: Singles, row: int, cells: float) -> float:
    """Return the interpolated value of a curve; `cells` is the gap in cells."""
    cells = min(cells, float(CELLS))
    low = int(cells)
    start = float(curves[row, low])
    return start + (cells - low) * (float(curves[row, low + 1]) - start)


@kernel("float64(Measures, int64, int64)", inline=True, allocates=False)
def ping_between(measures: Measures, i: int, j: int) -> float:
    """Return the milliseconds between two players; inf if nothing joins them."""
    ping, latency = measures.ping, measures.latency
    if ping.shape[0] > 0:
        return float(ping[i, j])
    least = np.inf
    for region in range(latency.shape[1]):
        least = min(least, latency[i, region] + latency[j, region])
    return least


@kernel("float64(Measures, float64, boolean)", inline=True, allocates=False)
def cost_of_ping(measures: Measures, ping: float, exact: bool) -> float:
    """Return the cost of a ping in [0, 1]."""
    curves, pings = measures.curves, measures.pings
    if not ping < pings[WORST]:
        return 1.0
    if exact:
        if ping <= pings[BEST]:
            return 0.0
        return math.log(ping / pings[BEST]) / math.log(pings[WORST] / pings[BEST])
    return on_curve(curves, 0, max(ping, pings[BEST]) * pings[CELLS_PER_MS])


@kernel("float64(Measures, int64, int64, boolean)", inline=True, allocates=False)
def _cost_of_gaps(measures: Measures, i: int, j: int, exact: bool) -> float:
    """Return the weighted costs of gaps, words and tongues, which do not depend on teams."""
    values, gaps, curves = measures.values, measures.gaps, measures.curves
    words, words_weight, tongues, tongues_weight = measures[7:11]
    total = 0.0
    for g in range(gaps.shape[0]):
        column = int(gaps[g, COLUMN])
        gap = abs(values[column, i] - values[column, j])
        if exact or gaps[g, SHAPE] != LOG:
            total += gaps[g, WEIGHT] * shape_gap(
                gaps[g, SHAPE], gaps[g, TOP], gaps[g, KNEE], gaps[g, STEP], gap
            )
        else:
            if gaps[g, STEP] > 0.0:
                gap = math.floor(gap / gaps[g, STEP] + STEP_SLACK) * gaps[g, STEP]
            total += gaps[g, WEIGHT] * on_curve(curves, g + 1, gap * (CELLS / gaps[g, TOP]))
    for w in range(words.shape[0]):
        if words[w, i] != words[w, j] and words_weight[w] < np.inf:
            total += words_weight[w]
    for w in range(tongues.shape[0]):
        if tongues[w, i] & tongues[w, j] == 0 and tongues_weight[w] < np.inf:
            total += tongues_weight[w]
    return total


@kernel("boolean(Measures, int64, int64)", inline=True, allocates=False)
def reaches(measures: Measures, i: int, j: int) -> bool:
    """Return whether a player can connect to another."""
    connect, network = measures.connect, measures.network
    if connect.shape[0] > 0:
        return bool(connect[i, j] != 0)
    return network.shape[0] == 0 or bool(
        network[i] == OPEN
        or network[j] == OPEN
        or (network[i] == MODERATE and network[j] == MODERATE)
    )


@kernel("int64(Measures, int64, int64, float64)", inline=True, allocates=False)
def _flags_of(measures: Measures, i: int, j: int, ping: float) -> int:
    """Return the flags of a pair, without those of its links."""
    pings, ping_max = measures.pings, measures.ping_max
    words, words_weight, tongues, tongues_weight = measures[7:11]
    flags = 0
    words_mind, tongues_mind = measures.words_mind, measures.tongues_mind
    if pings[FROM_ENEMIES] > 0.0 and ping > min(ping_max[0, i], ping_max[0, j]):
        flags |= NOT_ENEMIES
    if pings[FROM_MATES] > 0.0 and ping > min(ping_max[1, i], ping_max[1, j]):
        flags |= NOT_MATES
    for w in range(words.shape[0]):
        if words[w, i] != words[w, j]:
            is_minded = words_mind.shape[0] > 0 and words_mind[w, i] | words_mind[w, j] > 0
            flags |= APART if is_minded or words_weight[w] == np.inf else 0
    for w in range(tongues.shape[0]):
        if tongues[w, i] & tongues[w, j] == 0:
            is_minded = tongues_mind.shape[0] > 0 and tongues_mind[w, i] | tongues_mind[w, j] > 0
            flags |= APART if is_minded or tongues_weight[w] == np.inf else 0
    near = min(measures.region_max[i], measures.region_max[j])
    if near < np.inf:
        latency, is_apart = measures.latency, True
        for region in range(latency.shape[1]):
            if latency[i, region] <= near and latency[j, region] <= near:
                is_apart = False
                break
        flags |= APART if is_apart else 0
    flags |= REACHES if reaches(measures, i, j) else 0
    flags |= REACHED if reaches(measures, j, i) else 0
    return flags


@kernel(
    "Tuple((float64, float64, float64, int64))(Measures, int64, int64, boolean)",
    inline=True,
    allocates=False,
)
def pair_of(measures: Measures, i: int, j: int, exact: bool) -> tuple[float, float, float, int]:
    """Return the costs and flags of a pair, not divided by any number of pairs.

    Returns:
        Weighted cost as enemies and as mates, without pings; the cost of the ping, without its
        weight; flags.
    """
    pings, link_first = measures.pings, measures.link_first
    links, link_costs = measures.links, measures.link_costs
    as_enemies = as_mates = _cost_of_gaps(measures, i, j, exact)
    ping, ping_cost = 0.0, 0.0
    if pings[FROM_ENEMIES] > 0.0 or pings[FROM_MATES] > 0.0:
        ping = ping_between(measures, i, j)
        ping_cost = cost_of_ping(measures, ping, exact)
    flags = _flags_of(measures, i, j, ping)
    for at in range(link_first[i], link_first[i + 1]):
        if links[0, at] == j:
            as_enemies += link_costs[at, 0]
            as_mates += link_costs[at, 1]
            flags |= links[1, at]
    return as_enemies, as_mates, ping_cost, flags


TILE = 64
"""Rows and columns that are filled together, so that both triangles stay in the cache."""
TINY = 1e-30
"""Least cost of a pair: flags in the bits of 0 would make denormal numbers, which are slow."""
E_APART, E_REACHES, E_REACHED, M_APART = 1, 2, 4, 1
"""Bits in a cost as enemies, and in a cost as mates: see `Pairs.costs`."""

SHARES = "float64[::1]"
_TABLES = "float32[:,:,::1], int32[:,:,::1], uint8[:,::1]"


def shares_of(facts: Facts, seats: Ints) -> Floats:
    """Return what a pair adds to the means of a full match, by kind of pair.

    Returns:
        1 / number of all pairs; weight of a ping between enemies and between mates, each divided
        by the number of pairs it is averaged over.
    """
    k = int(seats.sum())
    mates = int((seats * (seats - 1)).sum()) // 2
    every = k * (k - 1) // 2
    of_enemies, of_mates, of_all, _ = (float(weight) for weight in facts.ping_weights)
    of_every = of_all / max(every, 1)
    return np.array(
        [
            1.0 / max(every, 1),
            of_enemies / max(every - mates, 1) + of_every,
            of_mates / max(mates, 1) + of_every,
        ]
    )


def tabulate(facts: Facts, layout: Ints, measures: Measures | None = None) -> Pairs:
    """Return the cost of each pair to a full match.

    Args:
        facts: The data on n players.
        layout: Seats by team, shape (teams,): means are over the pairs of a full match.
        measures: The facts as kernels read them, if they exist already.

    Complexity:
        O(n^2 * (facts of a pair)); some 20 ns a pair for the six factors of the blog.
    """
    pairs = Pairs(
        np.empty((len(facts.latency),) * 2 + (2,), dtype=np.float32),
        np.empty((len(facts.latency),) * 2, dtype=np.uint8),
    )
    shares = shares_of(facts, layout)
    bits = pairs.costs.view(np.int32)
    read = measures_of(facts) if measures is None else measures
    _fill_all(read, shares, pairs.costs, bits, pairs.flags)
    return pairs


@kernel("int32(int32, int64, int64)", inline=True, allocates=False)
def with_bits(cost: int, bits: int, mask: int) -> int:
    """Return the bits of a cost, rounded so that its last bits carry flags."""
    carried: int = ((cost + (mask + 1) // 2) & ~mask) | bits
    return carried


@kernel("int64(int64)", inline=True, allocates=False)
def enemy_bits(flags: int) -> int:
    """Return the flags that a cost as enemies carries."""
    bits = E_APART if flags & (APART | NOT_ENEMIES) else 0
    bits |= E_REACHES if flags & REACHES else 0
    return bits | (E_REACHED if flags & REACHED else 0)


@kernel(f"void(Measures, {SHARES}, {_TABLES}, int64, int64)", inline=True, allocates=False)
def _fill_pair(
    measures: Measures,
    shares: Floats,
    costs: Singles,
    bits: Places,
    flags: Flags,
    i: int,
    j: int,
) -> None:
    """Write a pair into both of its places."""
    as_enemies, as_mates, ping_cost, found = pair_of(measures, i, j, False)
    costs[i, j, 0] = max(as_enemies * shares[0] + ping_cost * shares[1], TINY)
    costs[i, j, 1] = max(as_mates * shares[0] + ping_cost * shares[2], TINY)
    bits[i, j, 0] = with_bits(bits[i, j, 0], enemy_bits(found), 7)
    bits[i, j, 1] = with_bits(bits[i, j, 1], M_APART if found & (APART | NOT_MATES) else 0, 1)
    costs[j, i, 0], costs[j, i, 1] = costs[i, j, 0], costs[i, j, 1]
    turned = found & ~(REACHES | REACHED)
    turned |= REACHED if found & REACHES else 0
    turned |= REACHES if found & REACHED else 0
    bits[j, i, 0] = (bits[j, i, 0] & ~7) | enemy_bits(turned)
    flags[i, j], flags[j, i] = found, turned


@kernel(f"void(Measures, {SHARES}, {_TABLES})")
def _fill_all(
    measures: Measures, shares: Floats, costs: Singles, bits: Places, flags: Flags
) -> None:
    count = flags.shape[0]
    for i in range(count):
        costs[i, i, 0] = costs[i, i, 1] = TINY
        flags[i, i] = 0
    for top in range(0, count, TILE):
        for left in range(top, count, TILE):
            for i in range(top, min(count, top + TILE)):
                for j in range(max(left, i + 1), min(count, left + TILE)):
                    _fill_pair(measures, shares, costs, bits, flags, i, j)
