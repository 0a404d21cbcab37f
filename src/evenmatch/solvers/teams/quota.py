"""How many teams parties can fill, by counts alone: which kinds of parties make which teams.

Parties that can take the same seats are of one kind. The seats that a party takes in a team are a
vector: players by role, or the size alone if there are no roles. Each kind has a price, and teams
are filled one after the other, each as cheaply as possible; the price of a kind rises as it runs
out. Then all teams are filled again, with prices that reflect what was scarce, until there are as
many teams as possible. The prices prove it: the price of all parties divided by that of the
cheapest team is an upper bound on the number of teams.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Flags, Floats, Ints, Places

Vector = tuple[int, ...]
"""The seats that a party takes in a team: players by role."""
Team = tuple[tuple[int, Vector], ...]
"""The parties of a team: the kind of each, and the seats that it takes."""

STATES_MAX = 4096
"""Most ways in which a team may be partly filled: product of (seats + 1)."""
TABLE_MAX = 1 << 20
"""Most states times vectors; above it there is no table."""
PASSES = 12
"""Most times that all teams are filled anew."""
STEPS_MAX = 1_000_000
"""Steps after which no further pass begins; one party in one state of a team is a step, some ns."""
LEARN = 2.0
"""Exponent by which the price of a used-up kind rises from pass to pass."""
REPEAT = 8
"""A team is repeated at most once for this many of the parties that are left."""
SLACK = 1e-6
"""Bounds by prices are rounded down; this much is added first, against rounding errors."""
TINY = 1e-12
"""Smaller gains count as none."""
ROLES_IN_SETS = 6
"""With more roles, only each role and all together bound the teams, instead of every set."""


class _Counts(NamedTuple):
    """The input of a pass.

    Args:
        counts: Parties of each kind.
        most: Most parties of each kind in one team.
        first: Start of the options of each kind; the last entry is the number of options.
        vectors: Vector of each option.
        codes: Number that a vector adds to the number of a state.
        fits: Shape (vectors, states): whether a state contains a vector.
    """

    counts: Ints
    most: Ints
    first: Ints
    vectors: Ints
    codes: Ints
    fits: Flags


def most_teams(
    kinds: Sequence[Sequence[Vector]], counts: Sequence[int], seats: Vector, per_match: int
) -> list[Team] | None:
    """Return full teams for as many matches as the parties make, or nearly so.

    Args:
        kinds: The seats that one party of each kind can take in a team, as alternatives.
        counts: Parties of each kind.
        seats: Seats of a team, by role.
        per_match: Teams of a match.

    Returns:
        Teams for whole matches; None if there are too many ways to fill part of a team.

    Complexity:
        At most `PASSES` times teams * parties of kinds that fit into one * states steps, each
        over the vectors of a party; no pass begins after `STEPS_MAX` steps.
    """
    table, vectors = _tabulated(kinds, counts, seats)
    if table is None:
        return None
    upper = _most_by_roles(table, vectors, seats)
    weights = table.counts.astype(np.float64)
    picks: Ints = np.zeros(sum(counts) + 1, dtype=np.int64)
    starts: Ints = np.zeros(upper + 1, dtype=np.int64)
    left: Ints = np.zeros(len(counts), dtype=np.int64)
    best, made, steps = (picks, starts), -1, 0
    for _ in range(PASSES):
        found, bound, taken = _fill_teams(*table, weights, upper, picks, starts, left)
        upper, steps = min(upper, int(bound + SLACK)), steps + taken
        if found > made:
            best, made = (picks.copy(), starts.copy()), found
        if made // per_match >= upper // per_match or steps > STEPS_MAX:
            break
        weights *= np.exp(LEARN * (table.counts - left) / table.counts)
        weights /= weights.mean()
    kind_of = np.repeat(np.arange(len(kinds)), np.diff(table.first)).tolist()
    named = [(kind, vectors[at]) for kind, at in zip(kind_of, table.vectors.tolist(), strict=True)]
    options, begin = best[0].tolist(), best[1].tolist()
    return [
        tuple(named[option] for option in options[begin[team] : begin[team + 1]])
        for team in range(made // per_match * per_match)
    ]


def _tabulated(
    kinds: Sequence[Sequence[Vector]], counts: Sequence[int], seats: Vector
) -> tuple[_Counts | None, list[Vector]]:
    """Return the input of a pass, and the vectors; None if a table would be too large."""
    vectors = sorted({vector for own in kinds for vector in own})
    states = math.prod(own + 1 for own in seats)
    if states > STATES_MAX or states * len(vectors) > TABLE_MAX:
        return None, vectors
    digits, radix = _states(seats)
    rows = np.array(vectors, dtype=np.int64).reshape(len(vectors), len(seats))
    place = {vector: at for at, vector in enumerate(vectors)}
    sizes = np.array([sum(own[0]) for own in kinds], dtype=np.int64)
    table = _Counts(
        counts=np.array(counts, dtype=np.int64),
        most=sum(seats) // np.maximum(sizes, 1),
        first=np.cumsum([0, *map(len, kinds)], dtype=np.int64),
        vectors=np.array([place[vector] for own in kinds for vector in own], dtype=np.int64),
        codes=rows @ radix,
        fits=np.asarray((rows[:, None, :] <= digits).all(axis=2), dtype=np.uint8),
    )
    return table, vectors


@lru_cache(maxsize=16)
def _states(seats: Vector) -> tuple[Ints, Ints]:
    """Return the seats taken in each state of a team, by role, and the step that a player adds."""
    ranges = [range(own + 1) for own in reversed(seats)]
    digits = np.array(list(product(*ranges)), dtype=np.int64)[:, ::-1]
    radix = np.cumprod([1, *(own + 1 for own in seats[:-1])], dtype=np.int64)
    for each in (digits, radix):
        each.setflags(write=False)
    return digits, radix


def _most_by_roles(table: _Counts, vectors: Sequence[Vector], seats: Vector) -> int:
    """Return an upper bound on the number of teams, from the seats of any set of roles."""
    if not len(table.counts):
        return 0
    roles = len(seats)
    if roles <= ROLES_IN_SETS:
        sets = np.array(list(product((0, 1), repeat=roles))[1:], dtype=np.int64)
    else:
        sets = np.vstack([np.eye(roles, dtype=np.int64), np.ones((1, roles), dtype=np.int64)])
    rows = np.array(vectors, dtype=np.int64)[table.vectors]
    reach = np.maximum.reduceat(sets @ rows.T, table.first[:-1], axis=1) @ table.counts
    wanted = sets @ np.array(seats, dtype=np.int64)
    return int((reach[wanted > 0] // wanted[wanted > 0]).min())


@kernel(
    "int64(int64[::1], int64[::1], int64[::1], int64[::1], uint8[:,::1], int64[::1], "
    "float64[::1], float64[::1], int32[:,::1], int64[::1])",
    inline=True,
    allocates=False,
)
def _find_cheapest(
    most: Ints,
    first: Ints,
    vectors: Ints,
    codes: Ints,
    fits: Flags,
    left: Ints,
    price: Floats,
    cost: Floats,
    choice: Places,
    own: Ints,
) -> int:
    """Find the cheapest way to each state of a team, party by party; return the parties' number."""
    full = fits.shape[1] - 1
    cost[:] = np.inf
    cost[0] = 0.0
    used = 0
    for kind in range(len(left)):
        for _ in range(min(left[kind], most[kind])):
            own[used] = kind
            is_better = False
            # The fullest states come first, so that the party is not used twice.
            for state in range(full, 0, -1):
                choice[used, state] = -1
                for option in range(first[kind], first[kind + 1]):
                    vector = vectors[option]
                    if fits[vector, state]:
                        total = cost[state - codes[vector]] + price[kind]
                        if total < cost[state] - TINY:
                            cost[state], choice[used, state] = total, option
                            is_better = True
            used += 1
            if not is_better:
                break
    return used


@kernel(
    "Tuple((int64, float64, int64))(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "uint8[:,::1], float64[::1], int64, int64[::1], int64[::1], int64[::1])"
)
def _fill_teams(
    counts: Ints,
    most: Ints,
    first: Ints,
    vectors: Ints,
    codes: Ints,
    fits: Flags,
    weights: Floats,
    wanted: int,
    picks: Ints,
    starts: Ints,
    left: Ints,
) -> tuple[int, float, int]:
    """Fill teams, each as cheaply as possible.

    `weights` holds the price of all parties of a kind together while none is used. The options of
    all teams are written into `picks`, the start of each team into `starts`, and the number of
    parties of each kind that remain into `left`. Returns the number of teams filled, an upper
    bound on it, and the steps taken.
    """
    full, items = fits.shape[1] - 1, 0
    for kind in range(len(counts)):
        items += min(counts[kind], most[kind])
        left[kind] = counts[kind]
    price = weights / counts
    cost, choice = np.zeros(full + 1), np.zeros((items, full + 1), dtype=np.int32)
    own, use = np.zeros(items, dtype=np.int64), np.zeros(len(counts), dtype=np.int64)
    teams, at, steps, bound = 0, 0, 0, 0.0
    starts[0] = 0
    while teams < wanted:
        used = _find_cheapest(most, first, vectors, codes, fits, left, price, cost, choice, own)
        steps += used * full
        if teams == 0:
            bound = weights.sum() / cost[full]
        if cost[full] == np.inf:
            break
        use[:] = 0
        begin, state = at, full
        for item in range(used - 1, -1, -1):
            option = choice[item, state]
            if state > 0 and option >= 0:
                picks[at] = option
                at += 1
                use[own[item]] += 1
                state -= codes[vectors[option]]
        size, times = at - begin, wanted - teams
        for kind in range(len(counts)):
            if use[kind] > 0:
                times = min(times, max(left[kind] // use[kind] // REPEAT, 1))
        for place in range(at, begin + times * size):
            picks[place] = picks[place - size]
        at = begin + times * size
        for _ in range(times):
            teams += 1
            starts[teams] = starts[teams - 1] + size
        for kind in range(len(counts)):
            if use[kind] > 0:
                left[kind] -= times * use[kind]
                gone = (counts[kind] - left[kind]) / counts[kind]
                price[kind] = weights[kind] / counts[kind] * math.exp(gone)
    return teams, bound, steps
