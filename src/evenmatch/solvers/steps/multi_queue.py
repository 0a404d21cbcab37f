"""The steps of `multi_queue`: a full cell plays; an overdue player takes from the nearest cells.

Each criterion is cut into brackets of equal width, and a player stands in one cell of the grid.
The number of the cell is stored when a player arrives, so finding k players in a cell is one walk
over the pool.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import FIRST_VALUE, TIME
from evenmatch.solvers.steps.waiting import (
    FIRST_NUMBER,
    FLAG,
    NONE,
    OLDEST,
    PRICE,
    SIZE,
    WAIT_MAX,
    WAKE,
    WEIGHT,
    YOUNGER,
    Ints,
    WaitingRoster,
    arrival_rate,
    free_slot,
    note_arrival,
)

IS_ADAPTIVE, SEATS, BRACKETS = range(FIRST_NUMBER, FIRST_NUMBER + 3)
"""Numbers: whether the measured rate sets the brackets; players of a match; then the brackets of
each criterion."""
CRITERIA_MAX = 16
CELLS_MAX = 2.0**53
"""Most cells: their numbers are stored as floats."""
BRACKETS_MAX = 10_000
CELL, LOOK, RING = range(3)
"""Marks: the number of the cell; 0 if the player's cell is still to be checked; how many cells away
a player is from an overdue player who searches."""
CHOSEN = -1.0
WORTH_A_CHANGE = 0.98
"""Adaptive brackets change if the new ones are expected to cost less than this share."""


@kernel("float64(float64, float64, float64, float64, float64, float64)", inline=True)
def expected_cost(
    brackets: float, rate: float, k: float, dimensions: float, weight: float, price: float
) -> float:
    """Return the expected cost of a match: Schlup, eq. (7), for any number of criteria."""
    apart = weight * (k - 1.0) / (brackets * (k + 1.0))
    waits = price * k * (k - 1.0) / (2.0 * rate)
    return apart + float(brackets**dimensions) * waits


@kernel("float64(float64, float64, float64, float64, float64)")
def best_brackets(rate: float, k: float, dimensions: float, weight: float, price: float) -> float:
    """Return the number of brackets for each criterion with the least expected cost.

    Args:
        rate: Tickets per second.
        k: Players of a match.
        dimensions: Number of criteria.
        weight: Sum of their weights; k in the paper.
        price: Cost of a player-second; 1/wait_max in the paper.

    Source:
        Schlup, eq. (9), corrected for several criteria: r = (2 a wait_max / (D (k + 1))) to the
        power 1 / (D + 1). The cost is convex in r, so the best whole number is next to it.
    """
    if dimensions == 0.0 or weight == 0.0:
        return 1.0
    power = 1.0 / (dimensions + 1.0)
    best = float((2.0 * rate * weight / (k * dimensions * (k + 1.0) * price)) ** power)
    most = min(float(BRACKETS_MAX), np.floor(CELLS_MAX ** (1.0 / dimensions)))
    low = min(max(1.0, np.floor(best)), most)
    high = min(low + 1.0, most)
    of_low = expected_cost(low, rate, k, dimensions, weight, price)
    of_high = expected_cost(high, rate, k, dimensions, weight, price)
    return high if of_high < of_low else low


@kernel("int64(WaitingRoster, int64, int64)", inline=True)
def _bracket(waiting: WaitingRoster, slot: int, term: int) -> int:
    """Return the bracket of a criterion in which a player stands, from 0."""
    brackets = waiting.numbers[BRACKETS + term]
    value = waiting.points[FIRST_VALUE + term, slot]
    return int(min(brackets - 1.0, np.floor(value * brackets)))


@kernel("void(WaitingRoster, int64)", inline=True)
def _stand(waiting: WaitingRoster, slot: int) -> None:
    """Store a player's cell, and mark it for checking."""
    cell = 0.0
    for term in range(waiting.terms.shape[0]):
        cell = cell * waiting.numbers[BRACKETS + term] + _bracket(waiting, slot, term)
    waiting.marks[CELL, slot] = cell
    waiting.marks[LOOK, slot] = 0.0


@kernel("void(WaitingRoster, float64)")
def _adapt(waiting: WaitingRoster, now: float) -> None:
    """Change the brackets if others are expected to be clearly better."""
    links, numbers, counts, terms = waiting.links, waiting.numbers, waiting.counts, waiting.terms
    dimensions = float(terms.shape[0])
    rate, k = arrival_rate(waiting, now, 0), numbers[SEATS]
    weight, price = numbers[WEIGHT], numbers[PRICE]
    best = best_brackets(rate, k, dimensions, weight, price)
    present = numbers[BRACKETS]
    if best == present:
        return
    if present > 0.0:
        of_present = expected_cost(present, rate, k, dimensions, weight, price)
        of_best = expected_cost(best, rate, k, dimensions, weight, price)
        if of_best >= WORTH_A_CHANGE * of_present:
            return
    numbers[BRACKETS] = best
    for term in range(1, terms.shape[0]):
        numbers[BRACKETS + term] = best
    slot = counts[OLDEST]
    while slot != NONE:
        _stand(waiting, slot)
        slot = links[YOUNGER, slot]


@kernel("void(WaitingRoster, int64, float64)")
def arrive(waiting: WaitingRoster, slot: int, now: float) -> None:
    """Put a newcomer into their cell; if the rate sets the brackets, perhaps move all others."""
    if waiting.numbers[IS_ADAPTIVE] != 0.0:
        _adapt(waiting, now)
        note_arrival(waiting, slot, now)
    _stand(waiting, slot)


@kernel("void(WaitingRoster, int64, float64)")
def come_back(waiting: WaitingRoster, slot: int, now: float) -> None:  # noqa: ARG001
    """Put a player who returns into their cell."""
    _stand(waiting, slot)


@kernel("boolean(WaitingRoster, int64, int64[:,::1], int64)", inline=True)
def _fill_cell(waiting: WaitingRoster, slot: int, out: Ints, found: int) -> bool:
    """Write the oldest players of a player's cell as a match, if they are enough; remove them."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    seats, cell = out.shape[1], marks[CELL, slot]
    count = 0
    other = counts[OLDEST]
    while other != NONE and count < seats:
        if marks[CELL, other] == cell:
            out[found, count] = other
            count += 1
        other = links[YOUNGER, other]
    if count < seats:
        return False
    for seat in range(seats):
        free_slot(waiting, out[found, seat])
    return True


@kernel("void(WaitingRoster, int64, int64[:,::1], int64)")
def _gather(waiting: WaitingRoster, slot: int, out: Ints, found: int) -> None:
    """Match an overdue player with those in the nearest cells, the oldest of each ring first."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    seats = out.shape[1]
    count = 1
    out[found, 0] = slot
    other = counts[OLDEST]
    while other != NONE:
        ring = 0
        for term in range(waiting.terms.shape[0]):
            ring = max(ring, abs(_bracket(waiting, other, term) - _bracket(waiting, slot, term)))
        marks[RING, other] = ring
        if other != slot:
            at = min(count, seats)
            while at > 1 and marks[RING, out[found, at - 1]] > ring:
                if at < seats:
                    out[found, at] = out[found, at - 1]
                at -= 1
            if at < seats:
                out[found, at] = other
                count = min(count + 1, seats)
        other = links[YOUNGER, other]
    for seat in range(seats):
        marks[RING, out[found, seat]] = CHOSEN
    count = 0
    other = counts[OLDEST]
    while count < seats:
        younger = links[YOUNGER, other]
        if marks[RING, other] == CHOSEN:
            out[found, count] = other
            free_slot(waiting, other)
            count += 1
        other = younger


@kernel("int64(WaitingRoster, float64, boolean)", inline=True)
def _overdue(waiting: WaitingRoster, now: float, fired: bool) -> int:
    """Mark overdue players, and return the oldest of them if there are enough for a match."""
    points, links, numbers, counts = waiting.points, waiting.links, waiting.numbers, waiting.counts
    slot = counts[OLDEST]
    while slot != NONE:
        deadline = points[TIME, slot] + numbers[WAIT_MAX]
        if links[FLAG, slot] == 0 and (deadline > now or (deadline == now and not fired)):
            break
        links[FLAG, slot] = 1
        slot = links[YOUNGER, slot]
    numbers[WAKE] = np.inf if slot == NONE else points[TIME, slot] + numbers[WAIT_MAX]
    oldest: int = counts[OLDEST]
    if oldest != NONE and links[FLAG, oldest] == 1 and counts[SIZE] >= numbers[SEATS]:
        return oldest
    return NONE


@kernel("int64(WaitingRoster, float64, boolean, int64[:,::1])")
def decide(waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:
    """Make the matches of an instant; return how many.

    Complexity:
        O(n) for each arrival and each overdue player.
    """
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    found = 0
    slot = counts[OLDEST]
    while slot != NONE:
        younger = links[YOUNGER, slot]
        if marks[LOOK, slot] == 0.0:
            marks[LOOK, slot] = np.inf
            if _fill_cell(waiting, slot, out, found):
                found += 1
                # The next slot may be gone: begin again.
                younger = counts[OLDEST]
        slot = younger
    slot = _overdue(waiting, now, fired)
    while slot != NONE:
        _gather(waiting, slot, out, found)
        found += 1
        slot = _overdue(waiting, now, fired)
    return found
