"""Improve groups of tickets: exchange tickets between matches while that lowers the cost.

Source:
    Kirkpatrick, Gelatt and Vecchi, Optimization by simulated annealing (1983).
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.bounds.groups import FIRST_LOW, SIZE, term_cost
from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import TIME, UNTIL, Floats, Ints

RANDOM_MODULUS = 2**31 - 1
HEAT, HEAT_LAST = 0.2, 1e-3
"""Temperature at the start, in mean costs of a match; and at the end, relative to the start."""
MOVES_EACH, MOVES_MAX = 40_000, 40_000_000
"""Exchanges tried per ticket, and in all: some seconds."""
REACH = 8
"""A ticket is exchanged with one at most this many times the group's size before or behind it."""

_MATRIX = "float64[:,::1]"


@kernel(f"float64({_MATRIX}, {_MATRIX}, float64, int64[::1])")
def group_cost(points: Floats, terms: Floats, price: float, group: Ints) -> float:
    """Return the cost of a full match when its last ticket arrives; infinity if it is forbidden."""
    now, until, weighted, seats = -np.inf, np.inf, 0.0, 0.0
    for i in group:
        now = max(now, points[TIME, i])
        until = min(until, points[UNTIL, i])
        weighted += points[SIZE, i] * points[TIME, i]
        seats += points[SIZE, i]
    if now > until:
        return np.inf
    cost: float = price * (seats * now - weighted)
    terms_count = terms.shape[0]
    for d in range(terms_count):
        low, high = np.inf, -np.inf
        for i in group:
            low = min(low, points[FIRST_LOW + d, i])
            high = max(high, points[FIRST_LOW + terms_count + d, i])
        cost += term_cost(terms, d, high - low)
    return cost


@kernel("int64(int64)")
def _next_random(state: int) -> int:
    """Return the next state of a random generator in 1..2^31 - 2 (Park and Miller, 1988)."""
    return state * 48271 % RANDOM_MODULUS


@kernel(f"void({_MATRIX}, {_MATRIX}, float64, int64[:,::1], int64, float64)")
def regroup(
    points: Floats, terms: Floats, price: float, groups: Ints, moves: int, heat: float
) -> None:
    """Exchange tickets between groups until they cost less, by simulated annealing.

    Args:
        points: The field, see `solvers.bounds.groups`; all sizes are 1.
        terms: Its terms.
        price: Cost per second and seat.
        groups: Shape (groups, members): tickets; changed in place.
        moves: Exchanges tried.
        heat: Temperature at the start, a cost > 0.

    Complexity:
        O(moves * members * terms).
    """
    count, size = groups.shape
    place = np.full(points.shape[1], -1, dtype=np.int64)
    costs = np.zeros(count)
    for g in range(count):
        costs[g] = group_cost(points, terms, price, groups[g])
        for at in range(size):
            place[groups[g, at]] = g * size + at
    everyone = np.sort(groups.ravel())
    rank = np.zeros(points.shape[1], dtype=np.int64)
    for at in range(len(everyone)):
        rank[everyone[at]] = at
    state = 1
    cooling = HEAT_LAST ** (1.0 / max(1, moves))
    reach = REACH * size
    for _ in range(moves):
        heat *= cooling
        state = _next_random(state)
        one = everyone[state % len(everyone)]
        state = _next_random(state)
        at = rank[one] + state % (2 * reach + 1) - reach
        if at < 0 or at >= len(everyone):
            continue
        two = everyone[at]
        g, h = place[one] // size, place[two] // size
        if g == h:
            continue
        groups[g, place[one] % size], groups[h, place[two] % size] = two, one
        first = group_cost(points, terms, price, groups[g])
        second = group_cost(points, terms, price, groups[h])
        worse = first + second - costs[g] - costs[h]
        state = _next_random(state)
        chance = state / RANDOM_MODULUS
        if worse <= 0.0 or chance < math.exp(-worse / heat):
            costs[g], costs[h] = first, second
            place[one], place[two] = place[two], place[one]
        else:
            groups[g, place[one] % size], groups[h, place[two] % size] = one, two


def improved(points: Floats, terms: Floats, price: float, groups: Ints) -> tuple[float, float]:
    """Regroup, and return the cost of the groups before and after.

    Args:
        points: As for `regroup`.
        terms: Its terms.
        price: Cost per second and seat.
        groups: As for `regroup`.
    """
    before = math.fsum(group_cost(points, terms, price, group) for group in groups)
    if len(groups) < 2 or before == 0.0:
        return before, before
    moves = min(MOVES_MAX, MOVES_EACH * groups.size)
    regroup(points, terms, price, groups, moves, HEAT * before / len(groups))
    after = math.fsum(group_cost(points, terms, price, group) for group in groups)
    return before, after
