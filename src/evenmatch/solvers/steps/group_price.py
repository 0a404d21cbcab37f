"""The steps of `group_price`: k players meet when a match costs no more than they would pay.

A newcomer grows a group: it repeatedly adds the player that widens the group's box least, until k
are together. What players would pay follows from the box that would be worth waiting for, see
`policies`. As in `price`, groups are made at arrivals, and later only when a rule starts to allow
one, at a deadline, or after a silence so long that arrivals must have become rarer.
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import FIRST_VALUE, TIME, Floats
from evenmatch.solvers.steps.growth import SLACK, believed_rate, cost_of, grow_group, note_close
from evenmatch.solvers.steps.price import (
    CLOSE,
    DIMENSIONS,
    GAIN,
    GROW,
    GUESS,
    KNOWN_RATE,
    LAST,
    LOOK,
    MOST_GAIN,
    RATE_NOW,
    THETA,
    WORTH,
    at_rate,
    reservation_price,
    silent_until,
)
from evenmatch.solvers.steps.waiting import (
    FLAG,
    NONE,
    OLDEST,
    PRICE,
    SEQUENCE,
    SIZE,
    WAIT_MAX,
    WAKE,
    YOUNGER,
    Ints,
    WaitingRoster,
    arrival_rate,
    free_slot,
    is_due,
    is_early,
    note_arrival,
    wake_by,
)

FACTOR = GUESS + 1
"""Number: payment of a group per T of its players. The other numbers are those of `price`."""
NOTHING = -1.0
"""Gain of a group that is not worth its cost yet."""
PART = 0.82
"""Share of the price of a box that criteria may cost; ages and the pickier half add the rest."""
SAMPLES = 128
"""Number of remembered arrivals."""

__all__ = ["SAMPLES", "arrive", "come_back", "decide", "leave"]


@kernel("float64(WaitingRoster, int64)", inline=True)
def _worth(waiting: WaitingRoster, slot: int) -> float:
    """Return what a group of players like this one would pay, at rate 1."""
    numbers = waiting.numbers
    if numbers[THETA] >= 0.0:
        return numbers[THETA]
    rate = numbers[RATE_NOW]
    return (
        numbers[FACTOR]
        * reservation_price(waiting, slot, rate)
        * at_rate(rate, numbers[DIMENSIONS])
    )


@kernel("void(WaitingRoster, int64, float64)")
def arrive(waiting: WaitingRoster, slot: int, now: float) -> None:
    """Store what a newcomer would pay, and that it has not searched yet."""
    points, marks, numbers = waiting.points, waiting.marks, waiting.numbers
    rate = numbers[KNOWN_RATE]
    if numbers[THETA] < 0.0 and rate <= 0.0:
        rate = arrival_rate(waiting, now, 0)
    numbers[RATE_NOW], numbers[LAST] = rate, now
    marks[WORTH, slot] = _worth(waiting, slot)
    marks[LOOK, slot] = points[TIME, slot]
    marks[CLOSE, slot] = 0.0
    wake_by(waiting, marks[LOOK, slot])
    note_arrival(waiting, slot, now)


@kernel("void(WaitingRoster, int64, float64)")
def come_back(waiting: WaitingRoster, slot: int, now: float) -> None:
    """Store the same for a player who returns, without counting an arrival."""
    marks = waiting.marks
    marks[WORTH, slot] = _worth(waiting, slot)
    marks[LOOK, slot] = now
    marks[CLOSE, slot] = 0.0
    wake_by(waiting, now)


@kernel("void(WaitingRoster, int64)", inline=True)
def leave(waiting: WaitingRoster, slot: int) -> None:
    """Remove a player."""
    free_slot(waiting, slot)


@kernel("float64(WaitingRoster, int64, float64, boolean, int64[::1], float64[:,::1])")
def look(
    waiting: WaitingRoster, slot: int, now: float, at_any_cost: bool, group: Ints, box: Floats
) -> float:
    """Return the gain of a player's group over its cost now, below 0 if it waits.

    In that case, the instant at which the player searches again is set.
    """
    points, marks, links = waiting.points, waiting.marks, waiting.links
    numbers, counts = waiting.numbers, waiting.counts
    seats = group.shape[0]
    marks[LOOK, slot], marks[CLOSE, slot] = np.inf, 0.0
    if counts[SIZE] < seats:
        return NOTHING
    if grow_group(waiting, slot, NONE, now, at_any_cost, group, box) < seats:
        return NOTHING
    cost = cost_of(waiting, box)
    ages, worths, highest = 0.0, 0.0, 0.0
    for seat in range(seats):
        ages += now - points[TIME, group[seat]]
        worths += marks[WORTH, group[seat]]
        highest = max(highest, marks[WORTH, group[seat]])
        at_any_cost = at_any_cost or links[FLAG, group[seat]] == 1
    worth = 0.5 * (worths / seats + highest)
    rate = believed_rate(waiting, now)
    limit = worth / at_rate(rate, numbers[DIMENSIONS]) + numbers[GROW] * numbers[PRICE] * ages
    if at_any_cost:
        return MOST_GAIN
    if cost <= limit * SLACK:
        return limit * SLACK - cost
    note_close(waiting, slot, worth / cost, rate)
    return NOTHING


@kernel("boolean(WaitingRoster, int64, float64, int64[::1], float64[:,::1])", inline=True)
def _with_overdue(waiting: WaitingRoster, slot: int, now: float, group: Ints, box: Floats) -> bool:
    """Return whether a player can play at any cost with the oldest overdue player."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    other = counts[OLDEST]
    if counts[SIZE] < group.shape[0]:
        return False
    while other != NONE:
        if links[FLAG, other] == 1 and other != slot:
            at = marks[LOOK, slot]
            size = grow_group(waiting, slot, other, now, True, group, box)
            marks[LOOK, slot] = min(at, marks[LOOK, slot])
            if size > 1:
                return size == group.shape[0]
        other = links[YOUNGER, other]
    return False


@kernel("void(WaitingRoster, int64[::1])", inline=True)
def _match(waiting: WaitingRoster, group: Ints) -> None:
    """Sort a group by age and remove it from the pool."""
    points, links = waiting.points, waiting.links
    for seat in range(1, group.shape[0]):
        slot, at = group[seat], seat
        while at > 0 and (
            points[TIME, group[at - 1]] > points[TIME, slot]
            or (
                points[TIME, group[at - 1]] == points[TIME, slot]
                and links[SEQUENCE, group[at - 1]] > links[SEQUENCE, slot]
            )
        ):
            group[at] = group[at - 1]
            at -= 1
        group[at] = slot
    for seat in range(group.shape[0]):
        free_slot(waiting, group[seat])


@kernel("int64(WaitingRoster)", inline=True)
def _closest(waiting: WaitingRoster) -> int:
    """Return the player whose group would be made first if arrivals became rarer."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    best, close = NONE, 0.0
    slot = counts[OLDEST]
    while slot != NONE:
        if marks[CLOSE, slot] > close:
            best, close = slot, marks[CLOSE, slot]
        slot = links[YOUNGER, slot]
    return best


@kernel("float64(WaitingRoster, int64, float64, int64[::1], float64[:,::1])", inline=True)
def _gain_of(waiting: WaitingRoster, slot: int, now: float, group: Ints, box: Floats) -> float:
    """Return the gain of the group of a player who searches now, below 0 if there is none.

    The player stays due as long as it has a group.
    """
    marks, links, numbers = waiting.marks, waiting.links, waiting.numbers
    at = marks[LOOK, slot]
    gain = look(waiting, slot, now, links[FLAG, slot] == 1, group, box)
    if gain < 0.0 and numbers[WAIT_MAX] < np.inf and _with_overdue(waiting, slot, now, group, box):
        gain = MOST_GAIN
    marks[GAIN, slot] = np.inf
    if gain >= 0.0:
        marks[LOOK, slot], marks[GAIN, slot] = at, gain
    return gain


@kernel("boolean(WaitingRoster, float64, boolean, int64[::1], float64[:,::1])", inline=True)
def _best_match(waiting: WaitingRoster, now: float, fired: bool, group: Ints, box: Floats) -> bool:
    """Find the match with the largest gain of those who search now; return whether there is one.

    Gains only fall while players leave. So the player with the largest gain when all searched
    searches again first, and its group is taken if no other had a larger gain.
    """
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    while True:
        best, last, gain, second = NONE, NONE, -np.inf, -np.inf
        slot = counts[OLDEST]
        while slot != NONE:
            if is_due(marks[LOOK, slot], now, fired):
                if marks[GAIN, slot] == np.inf:
                    _gain_of(waiting, slot, now, group, box)
                    last = slot
                own = marks[GAIN, slot]
                if own < np.inf and own > gain:
                    best, gain, second = slot, own, gain
                elif own < np.inf:
                    second = max(second, own)
            slot = links[YOUNGER, slot]
        if best == NONE:
            return False
        if best == last or _gain_of(waiting, best, now, group, box) >= max(second, 0.0):
            return True


@kernel("boolean(WaitingRoster, float64, boolean, int64[::1], float64[:,::1])", inline=True)
def _next_match(waiting: WaitingRoster, now: float, fired: bool, group: Ints, box: Floats) -> bool:
    """Find one match of this instant; return whether there is one."""
    points, links = waiting.points, waiting.links
    numbers, counts = waiting.numbers, waiting.counts
    if _best_match(waiting, now, fired, group, box):
        return True
    slot = counts[OLDEST]
    while slot != NONE:
        deadline = points[TIME, slot] + numbers[WAIT_MAX]
        if links[FLAG, slot] == 0 and is_due(deadline, now, fired):
            links[FLAG, slot] = 1
            if look(waiting, slot, now, True, group, box) >= 0.0:
                return True
        slot = links[YOUNGER, slot]
    slot = _closest(waiting)
    while slot != NONE:
        if not is_due(silent_until(waiting, slot), now, fired):
            return False
        if look(waiting, slot, now, False, group, box) >= 0.0:
            return True
        slot = _closest(waiting)
    return False


@kernel("float64(WaitingRoster)", inline=True)
def _next_instant(waiting: WaitingRoster) -> float:
    points, marks, links = waiting.points, waiting.marks, waiting.links
    numbers, counts = waiting.numbers, waiting.counts
    at = np.inf
    slot = counts[OLDEST]
    while slot != NONE:
        at = min(at, marks[LOOK, slot])
        if links[FLAG, slot] == 0:
            at = min(at, points[TIME, slot] + numbers[WAIT_MAX])
        slot = links[YOUNGER, slot]
    slot = _closest(waiting)
    if slot != NONE:
        at = min(at, silent_until(waiting, slot))
    return at


@kernel("int64(WaitingRoster, float64, boolean, int64[:,::1])")
def decide(waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:
    """Make the matches of an instant, and set `WAKE` to the next instant to decide.

    Players who arrived at the same instant are decided together, the largest gain first.

    Returns:
        Their number; their slots, which are free now, are in the rows of `out`.

    Complexity:
        O(k * n) for each player who searches.
    """
    found = 0
    if is_early(waiting, now, fired):
        return found
    box = np.empty((2, waiting.points.shape[0] - FIRST_VALUE))
    while found < out.shape[0] and _next_match(waiting, now, fired, out[found], box):
        _match(waiting, out[found])
        found += 1
    waiting.numbers[WAKE] = _next_instant(waiting)
    return found


def factors(seats: int, dimensions: int) -> tuple[float, float]:
    """Return (c, factor): T solves rate * E[(T - cost)+] = c^2 * price; the group pays factor * T.

    Args:
        seats: Players of a match.
        dimensions: Criteria that count.
    """
    if dimensions == 0:
        return 1.0, 1.0
    root = math.factorial(dimensions) ** (1.0 / dimensions)
    ball = (seats + 1) * root / (2 * dimensions * (seats - 1))
    c = math.sqrt(ball * dimensions * seats * (seats - 1) / (2 * (dimensions + 1)))
    return c, PART * (1.0 + dimensions**-1.5 / (seats - 1)) / ball
