"""Search for players who may be asked, skipping stretches of the line in which there are none.

For each slot in a lane, see `skip_list`, the links hold the player between it and the next slot of
that lane who would leave their group at the highest cost. If that player stays, all do. So a player
to ask is found in O(log n) steps, though nearly all have a close mate.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import FIRST_VALUE, unweighted_cost
from evenmatch.solvers.steps.skip_list import (
    AXIS,
    BEST,
    COMPARED,
    LANES,
    LEFT,
    LEFTMOST,
    LOOSE,
    RIGHT,
)
from evenmatch.solvers.steps.waiting import NONE, Floats, Ints, WaitingRoster

DUE, COST, SEEK, ROLE = range(4)
"""Marks: when the group becomes definitive; its criteria cost, infinite without a group; whether
the player is to search for one; the player's role during a search."""
DROPPED, NEW, GOES = 0.0, 1.0, 2.0
"""A dropped player searches first; a newcomer is not seen by others before they have searched; a
player who goes to another group or to a match does not search."""
ANYONE, THE_WILLING, THE_FREE = range(3)
"""Who may be asked: players in better groups too; in worse groups only; without a group only."""
NOT_SEEN = -1.0


@kernel("float64(float64[:,::1], int64)", inline=True)
def _worst(marks: Floats, slot: int) -> float:
    """Return the cost of a player's group; the lowest possible if the player is not seen yet."""
    return NOT_SEEN if marks[SEEK, slot] == NEW else marks[COST, slot]


@kernel("void(float64[:,::1], int64[:,::1], int64, int64)", inline=True)
def _note_span(marks: Floats, links: Ints, lane: int, first: int) -> None:
    """Set who has the worst group from one slot of a lane to the next, from the lane below."""
    below = RIGHT + 2 * (lane - 1)
    end = links[RIGHT + 2 * lane, first]
    best = links[BEST + lane - 1, first]
    slot = links[below, first]
    while slot != end:
        other = links[BEST + lane - 1, slot]
        if _worst(marks, other) > _worst(marks, best):
            best = other
        slot = links[below, slot]
    links[BEST + lane, first] = best


@kernel("void(WaitingRoster)", allocates=False)
def note_all(waiting: WaitingRoster) -> None:
    """Set who has the worst group in each stretch: O(n), after players have come or gone."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    for lane in range(LANES):
        slot = counts[LEFTMOST + lane]
        while slot != NONE:
            if lane == 0:
                links[BEST, slot] = slot
            else:
                _note_span(marks, links, lane, slot)
            slot = links[RIGHT + 2 * lane, slot]


@kernel("void(WaitingRoster, int64)", allocates=False)
def note(waiting: WaitingRoster, slot: int) -> None:
    """Update all stretches that hold a player after a change of the player's group: O(log n)."""
    marks, links = waiting.marks, waiting.links
    first = slot
    for lane in range(1, LANES):
        while first != NONE and links[LEFT + 2 * lane, first] == LOOSE:
            first = links[LEFT + 2 * (lane - 1), first]
        if first == NONE:
            break
        _note_span(marks, links, lane, first)


@kernel("float64(WaitingRoster, int64, int64)", inline=True)
def least_cost(waiting: WaitingRoster, slot: int, other: int) -> float:
    """Return the cost of two players by the axis alone: nobody beyond costs less."""
    points, numbers, terms = waiting.points, waiting.numbers, waiting.terms
    row = int(numbers[AXIS])
    term = row - FIRST_VALUE
    if term < 0:
        return 0.0
    gap = abs(points[row, other] - points[row, slot])
    least: float = terms[term, 0] * unweighted_cost(terms, term, gap)
    return least


@kernel("boolean(float64[:,::1], int64, float64, int64)", inline=True)
def _may_ask(marks: Floats, slot: int, cost: float, whom: int) -> bool:
    """Return whether a player with this lower bound on the cost may be asked."""
    worst = _worst(marks, slot)
    if whom == ANYONE:
        return worst != NOT_SEEN
    return worst == np.inf if whom == THE_FREE else worst > cost


@kernel("int64(WaitingRoster, int64, int64, int64)", allocates=False)
def next_left(waiting: WaitingRoster, slot: int, after: int, whom: int) -> int:
    """Return the next player to the left of another one whom a player may ask."""
    marks, links, numbers = waiting.marks, waiting.links, waiting.numbers
    while links[LEFT, after] != NONE:
        cost = least_cost(waiting, slot, links[LEFT, after])
        skipped = NONE
        for lane in range(LANES):
            first = links[LEFT + 2 * lane, after]
            if first in (NONE, LOOSE) or _may_ask(marks, links[BEST + lane, first], cost, whom):
                break
            skipped = first
        numbers[COMPARED] += 1.0
        if skipped == NONE:
            break
        after = skipped
    return int(links[LEFT, after])


@kernel("int64(WaitingRoster, int64, int64, int64)", allocates=False)
def next_right(waiting: WaitingRoster, slot: int, before: int, whom: int) -> int:
    """Return the next player to the right of another one whom a player may ask."""
    marks, links, numbers = waiting.marks, waiting.links, waiting.numbers
    other = links[RIGHT, before]
    while other != NONE:
        cost = least_cost(waiting, slot, other)
        top = NONE
        for lane in range(LANES):
            if links[LEFT + 2 * lane, other] == LOOSE or _may_ask(
                marks, links[BEST + lane, other], cost, whom
            ):
                break
            top = lane
        numbers[COMPARED] += 1.0
        if top == NONE:
            break
        other = links[RIGHT + 2 * top, other]
    return int(other)
