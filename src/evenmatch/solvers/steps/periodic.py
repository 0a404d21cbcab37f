"""The steps of `periodic` for single players without rules: collect, sort, cut."""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import FIRST_VALUE, TIME
from evenmatch.solvers.steps.waiting import (
    FIRST_NUMBER,
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

FULL, SORT, IS_ADAPTIVE, FLUSHED_AT, SEATS = range(FIRST_NUMBER, FIRST_NUMBER + 5)
"""Numbers: players that trigger a flush; the term to sort by, -1 for none; whether the measured
rate sets `FULL`; the instant of the last flush; players of a match."""
ROUNDS_OF_MAX = 10_000


@kernel("float64(float64, float64, float64, float64, float64)", inline=True)
def _cost(rounds: float, rate: float, k: float, weight: float, price: float) -> float:
    """Return the expected cost of a match in rounds of so many matches: Schlup, eq. (5)."""
    n = rounds * k
    return weight * (k - 1.0) / (n + 1.0) + price * k * (n - 1.0) / (2.0 * rate)


@kernel("float64(float64, float64, float64, float64)")
def best_rounds(rate: float, k: float, weight: float, price: float) -> float:
    """Return the best number of matches in a round.

    Args:
        rate: Tickets per second.
        k: Players of a match.
        weight: Sum of the weights of the criteria; k in the paper.
        price: Cost of a player-second; 1/wait_max in the paper.

    Source:
        Schlup, eq. (6): n = sqrt(2 a (k - 1) wait_max) - 1. The cost is convex in n, so that the
        best whole number of matches is next to n / k.
    """
    low = 1.0
    if weight > 0.0:
        low = math.sqrt(2.0 * rate * weight * (k - 1.0) / (k * price)) - 1.0
        low = min(max(1.0, np.floor(low / k)), float(ROUNDS_OF_MAX))
        high = min(low + 1.0, float(ROUNDS_OF_MAX))
        if _cost(high, rate, k, weight, price) < _cost(low, rate, k, weight, price):
            low = high
    return low


@kernel("void(WaitingRoster, int64, float64)")
def arrive(waiting: WaitingRoster, slot: int, now: float) -> None:
    """Set the size of a round by the measured rate, if the policy is adaptive."""
    numbers = waiting.numbers
    if numbers[IS_ADAPTIVE] != 0.0:
        rate, k = arrival_rate(waiting, now, 0), numbers[SEATS]
        numbers[FULL] = k * best_rounds(rate, k, numbers[WEIGHT], numbers[PRICE])
        note_arrival(waiting, slot, now)


@kernel("float64(WaitingRoster)", inline=True)
def _next_deadline(waiting: WaitingRoster) -> float:
    """Return the first deadline after the last flush; infinity if there is none."""
    points, links, numbers, counts = waiting.points, waiting.links, waiting.numbers, waiting.counts
    slot = counts[OLDEST]
    while slot != NONE and points[TIME, slot] + numbers[WAIT_MAX] <= numbers[FLUSHED_AT]:
        slot = links[YOUNGER, slot]
    return np.inf if slot == NONE else points[TIME, slot] + numbers[WAIT_MAX]


@kernel("int64(WaitingRoster, float64, int64[:,::1])")
def _flush(waiting: WaitingRoster, now: float, out: Ints) -> int:
    """Sort the oldest players that make whole matches, and cut; return how many matches."""
    points, links, numbers, counts = waiting.points, waiting.links, waiting.numbers, waiting.counts
    numbers[FLUSHED_AT] = now
    seats = out.shape[1]
    found = counts[SIZE] // seats
    slots = np.empty(found * seats, dtype=np.int64)
    values = np.zeros(found * seats)
    slot = counts[OLDEST]
    for place in range(found * seats):
        slots[place] = slot
        if numbers[SORT] >= 0.0:
            values[place] = points[FIRST_VALUE + int(numbers[SORT]), slot]
        slot = links[YOUNGER, slot]
    # Stable, so that equal values keep the order of age.
    order = np.argsort(values, kind="mergesort")
    for match in range(found):
        for seat in range(seats):
            place = order[match * seats + seat]
            at = seat
            while at > 0 and order[match * seats + at - 1] > place:
                order[match * seats + at] = order[match * seats + at - 1]
                at -= 1
            order[match * seats + at] = place
        for seat in range(seats):
            out[match, seat] = slots[order[match * seats + seat]]
            free_slot(waiting, out[match, seat])
    return found


@kernel("int64(WaitingRoster, float64, boolean, int64[:,::1])")
def decide(waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:
    """Flush when the pool is full or the longest waiting is overdue; return how many matches.

    Complexity:
        O(m log m) for a flush of m players, O(1) otherwise.
    """
    numbers, counts = waiting.numbers, waiting.counts
    deadline = _next_deadline(waiting)
    found = 0
    if counts[SIZE] >= numbers[FULL] or deadline < now or (deadline == now and fired):
        found = _flush(waiting, now, out)
        deadline = _next_deadline(waiting)
    numbers[WAKE] = deadline
    return found
