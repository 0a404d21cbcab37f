"""Tables of what each pair of players costs: all of them at once, or the rows of newcomers."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import (
    APART,
    NOT_ENEMIES,
    NOT_MATES,
    REACHED,
    REACHES,
    Facts,
    Flags,
    Floats,
    Ints,
    Pairs,
    Places,
    Singles,
    bare,
)
from evenmatch.solvers.teams.measures import MEASURES, Measures, measures_of, pair_of

TILE = 64
"""Rows and columns that are filled together, so that both triangles stay in the cache."""
TINY = 1e-30
"""Costs are at least this: flags in the bits of 0 would make numbers that processors add slowly."""
E_APART, E_REACHES, E_REACHED, M_APART = 1, 2, 4, 1
"""Bits in a cost as enemies, and in a cost as mates: see `Pairs.costs`."""

SHARES = "float64[::1]"
_TABLES = "float32[:,:,::1], int32[:,:,::1], uint8[:,::1]"


def shares_of(facts: Facts, seats: Ints) -> Floats:
    """Return what a pair adds to the mean of a full match, by kind of pair.

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


def empty_pairs(capacity: int) -> Pairs:
    """Return tables with room for so many players, to be filled by rows."""
    return Pairs(
        np.zeros((capacity, capacity, 2), dtype=np.float32),
        np.zeros((capacity, capacity), dtype=np.uint8),
    )


def tabulate(facts: Facts, layout: Ints, measures: Measures | None = None) -> Pairs:
    """Return what each pair costs a full match.

    Args:
        facts: What is known of n players.
        layout: Seats by team, shape (teams,): means are over pairs of a full match.
        measures: The facts as kernels read them, if they are there already.

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
    _fill_all(bare(read), shares, pairs.costs, bits, pairs.flags)
    return pairs


def fill_rows(pairs: Pairs, facts: Facts, layout: Ints, rows: Ints, alive: Ints) -> None:
    """Fill the rows and columns of newcomers in tables that have room for them.

    Args:
        pairs: Tables of shape (capacity, capacity); changed in place.
        facts: Of `capacity` players; those of rows not in use are not read.
        layout: Seats by team.
        rows: The newcomers.
        alive: All players whose pairs with them are wanted, the newcomers included.

    Complexity:
        O(len(rows) * len(alive)), one kernel call.
    """
    shares = shares_of(facts, layout)
    bits = pairs.costs.view(np.int32)
    measures = bare(measures_of(facts))
    _fill_some(measures, shares, pairs.costs, bits, pairs.flags, rows, alive)


@kernel("int32(int32, int64, int64)", inline=True, allocates=False)
def with_bits(cost: int, bits: int, mask: int) -> int:
    """Return the bits of a cost, rounded so that its last ones carry flags."""
    carried: int = ((cost + (mask + 1) // 2) & ~mask) | bits
    return carried


@kernel("int64(int64)", inline=True, allocates=False)
def enemy_bits(flags: int) -> int:
    """Return what a cost as enemies carries."""
    bits = E_APART if flags & (APART | NOT_ENEMIES) else 0
    bits |= E_REACHES if flags & REACHES else 0
    return bits | (E_REACHED if flags & REACHED else 0)


@kernel(f"void({MEASURES}, {SHARES}, {_TABLES}, int64, int64)", inline=True, allocates=False)
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


@kernel(f"void({MEASURES}, {SHARES}, {_TABLES})")
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


@kernel(f"void({MEASURES}, {SHARES}, {_TABLES}, int64[::1], int64[::1])")
def _fill_some(
    measures: Measures,
    shares: Floats,
    costs: Singles,
    bits: Places,
    flags: Flags,
    rows: Ints,
    alive: Ints,
) -> None:
    for i in rows:
        for j in alive:
            if i != j:
                _fill_pair(measures, shares, costs, bits, flags, i, j)
