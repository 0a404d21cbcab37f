"""Tentative groups: rings of partners, each cheaper than all the groups that it broke.

A player searches for a group among the nearest others. It takes a player out of another group if
the new one costs less, and so a round of changes always ends. For pairs that means: the nearest
player who is free, or strictly closer than to their mate.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import FIRST_VALUE, Floats, shape_gap, unweighted_cost
from evenmatch.solvers.steps.skip_list import AXIS, is_older
from evenmatch.solvers.steps.skip_list_search import (
    ANYONE,
    COST,
    DROPPED,
    DUE,
    GOES,
    ROLE,
    SEEK,
    THE_FREE,
    THE_WILLING,
    least_cost,
    next_left,
    next_right,
    note,
)
from evenmatch.solvers.steps.waiting import (
    FIRST_NUMBER,
    FOUND,
    NONE,
    OLDEST,
    PARTNER,
    SIZE,
    YOUNGER,
    Ints,
    WaitingRoster,
)

SEARCH, DROPS, AT_EASE = range(FIRST_NUMBER, FIRST_NUMBER + 3)
"""Numbers: the number of the present search; and while players search for groups: how many dropped
ones are in the row `FOUND`, and how many are without a group after a search in vain."""
FIRST_NUMBER_AFTER = FIRST_NUMBER + 3
MEMBER, REFUSES = 0.0, 0.5
"""Roles, added to the number of the search; any other number means no role in this search."""
LOW, HIGH, COSTS, WHO = range(4)
"""Rows of workspace: the range of each criterion; the nearest players and the cost of each."""
NEAR = 4
"""Players examined for each seat; for pairs, the nearest is enough."""
TRIES = 4
"""Groups tried for a player; the members who would rather stay are left out in turn."""


@kernel("float64[:,::1](int64, int64)")
def rows_to_work_in(seats: int, terms: int) -> Floats:
    """Return the workspace of `find`."""
    others = seats - 1
    return np.empty((4, max(others if others == 1 else NEAR * others, terms)))


@kernel("void(WaitingRoster, int64)", inline=True)
def dissolve(waiting: WaitingRoster, slot: int) -> None:
    """Free a player and all others of their group; the oldest one left searches again."""
    points, marks, links, numbers = waiting.points, waiting.marks, waiting.links, waiting.numbers
    oldest, member = NONE, slot
    while member != NONE:
        following = links[PARTNER, member]
        links[PARTNER, member] = NONE
        marks[COST, member], marks[DUE, member] = np.inf, np.inf
        note(waiting, member)
        if marks[SEEK, member] == np.inf:
            numbers[AT_EASE] += 1.0
        if marks[SEEK, member] != GOES and (
            oldest == NONE or is_older(points, links, member, oldest)
        ):
            oldest = member
        member = following
    if oldest != NONE:
        if marks[SEEK, oldest] == np.inf:
            numbers[AT_EASE] -= 1.0
        marks[SEEK, oldest] = DROPPED
        # Players dropped before anybody searches are found by their marks.
        if numbers[DROPS] < links.shape[1]:
            links[FOUND, int(numbers[DROPS])] = oldest
            numbers[DROPS] += 1.0


@kernel("void(WaitingRoster)", inline=True)
def mend(waiting: WaitingRoster) -> None:
    """Dissolve groups of which a member did not return after a restart."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    again = True
    while again:
        # Each round removes at least one more player from each broken ring.
        again = False
        slot = counts[OLDEST]
        while slot != NONE:
            if marks[COST, slot] < np.inf:
                partner = links[PARTNER, slot]
                if partner == NONE or marks[COST, partner] == np.inf:
                    dissolve(waiting, slot)
                    again = True
            slot = links[YOUNGER, slot]


@kernel("void(WaitingRoster, int64[:,::1], int64)", inline=True)
def take(waiting: WaitingRoster, out: Ints, row: int) -> None:
    """Take the players in a row out of their groups."""
    marks, links, numbers = waiting.marks, waiting.links, waiting.numbers
    for seat in range(out.shape[1]):
        member = out[row, seat]
        if marks[COST, member] == np.inf and marks[SEEK, member] == np.inf:
            numbers[AT_EASE] -= 1.0
        marks[SEEK, member] = GOES
    for seat in range(out.shape[1]):
        if links[PARTNER, out[row, seat]] != NONE:
            dissolve(waiting, out[row, seat])


@kernel("float64(float64[:,::1], float64[:,::1], float64[:,::1], int64)", inline=True)
def _cost_with(points: Floats, terms: Floats, near: Floats, slot: int) -> float:
    """Return the criteria cost of a group with one more player."""
    cost = 0.0
    for term in range(terms.shape[0]):
        value = points[FIRST_VALUE + term, slot]
        gap = max(near[HIGH, term], value) - min(near[LOW, term], value)
        cost += terms[term, 0] * unweighted_cost(terms, term, gap)
    return cost


@kernel("boolean(WaitingRoster, int64, int64, int64)", inline=True)
def _is_nearer(waiting: WaitingRoster, slot: int, left: int, right: int) -> bool:
    """Return whether the one on the left is nearer than the one on the right by the axis."""
    points, numbers = waiting.points, waiting.numbers
    row = int(numbers[AXIS])
    if left == NONE or right == NONE:
        return right == NONE
    return bool(points[row, slot] - points[row, left] < points[row, right] - points[row, slot])


@kernel("int64(WaitingRoster, float64[:,::1], int64, float64, int64)", inline=True)
def _put_in(waiting: WaitingRoster, near: Floats, count: int, cost: float, other: int) -> int:
    """Insert a player among the nearest, ties by age, if there is room; return the count."""
    points, links = waiting.points, waiting.links
    at = count
    while at > 0 and (
        near[COSTS, at - 1] > cost
        or (near[COSTS, at - 1] == cost and is_older(points, links, other, int(near[WHO, at - 1])))
    ):
        at -= 1
    if at == near.shape[1]:
        return count
    count = min(count + 1, near.shape[1])
    for later in range(count - 1, at, -1):
        near[COSTS, later], near[WHO, later] = near[COSTS, later - 1], near[WHO, later - 1]
    near[COSTS, at], near[WHO, at] = cost, other
    return count


@kernel("int64(WaitingRoster, int64, int64, float64[:,::1])", inline=True)
def _look(waiting: WaitingRoster, slot: int, whom: int, near: Floats) -> int:
    """Write the nearest players who may be asked, by distance and age; return the count."""
    points, marks, numbers, terms = waiting.points, waiting.marks, waiting.numbers, waiting.terms
    search = numbers[SEARCH]
    count, room = 0, near.shape[1]
    left = next_left(waiting, slot, slot, whom)
    right = next_right(waiting, slot, slot, whom)
    while left != NONE or right != NONE:
        is_left = _is_nearer(waiting, slot, left, right)
        other = left if is_left else right
        if is_left:
            left = next_left(waiting, slot, other, whom)
        else:
            right = next_right(waiting, slot, other, whom)
        if count == room and least_cost(waiting, slot, other) > near[COSTS, room - 1]:
            # All others are no nearer, by the axis alone.
            break
        if marks[ROLE, other] < search:
            cost = 0.0
            for term in range(terms.shape[0]):
                gap = abs(points[FIRST_VALUE + term, other] - points[FIRST_VALUE + term, slot])
                cost += terms[term, 0] * shape_gap(
                    terms[term, 1], terms[term, 2], terms[term, 3], terms[term, 4], gap
                )
            if whom == ANYONE or cost < marks[COST, other]:
                count = _put_in(waiting, near, count, cost, other)
    return count


@kernel("float64(WaitingRoster, int64, int64, int64, int64[:,::1], int64, float64[:,::1])")
def _grow(
    waiting: WaitingRoster, slot: int, whom: int, count: int, out: Ints, row: int, near: Floats
) -> float:
    """Write a group that adds the next cheapest of the nearest players to one; return its cost.

    Returns:
        Infinity if too few of them have a more expensive group at present.
    """
    points, marks, terms = waiting.points, waiting.marks, waiting.terms
    search = waiting.numbers[SEARCH]
    for term in range(terms.shape[0]):
        near[LOW, term] = near[HIGH, term] = points[FIRST_VALUE + term, slot]
    out[row, 0] = slot
    cost = 0.0
    for seat in range(1, out.shape[1]):
        best, cost = NONE, np.inf
        for i in range(count):
            other = int(near[WHO, i])
            if marks[ROLE, other] < search:
                found = _cost_with(points, terms, near, other)
                if found < cost and (whom == ANYONE or found < marks[COST, other]):
                    best, cost = other, found
        if best == NONE:
            cost = np.inf
            break
        out[row, seat] = best
        marks[ROLE, best] = search + MEMBER
        for term in range(terms.shape[0]):
            value = points[FIRST_VALUE + term, best]
            near[LOW, term] = min(near[LOW, term], value)
            near[HIGH, term] = max(near[HIGH, term], value)
    for i in range(count):
        if marks[ROLE, int(near[WHO, i])] == search + MEMBER:
            marks[ROLE, int(near[WHO, i])] = 0.0
    return cost


@kernel("float64(WaitingRoster, int64, boolean, int64[:,::1], int64, float64[:,::1])")
def find(
    waiting: WaitingRoster, slot: int, at_any_cost: bool, out: Ints, row: int, near: Floats
) -> float:
    """Write the group that a player finds; return its cost, infinity if there is none."""
    marks, numbers, counts = waiting.marks, waiting.numbers, waiting.counts
    if counts[SIZE] < out.shape[1]:
        return np.inf
    numbers[SEARCH] += 1.0
    whom = ANYONE if at_any_cost else THE_WILLING
    count = _look(waiting, slot, whom, near)
    for _ in range(TRIES):
        cost = _grow(waiting, slot, whom, count, out, row, near)
        if cost == np.inf:
            break
        is_willing = True
        for seat in range(1, out.shape[1]):
            member = out[row, seat]
            if not at_any_cost and marks[COST, member] <= cost:
                marks[ROLE, member] = numbers[SEARCH] + REFUSES
                is_willing = False
        if is_willing:
            return cost
    if out.shape[1] == 2:
        # If no player is willing, none is free.
        return np.inf
    count = _look(waiting, slot, THE_FREE, near)
    return _grow(waiting, slot, THE_FREE, count, out, row, near)
