"""The steps of `gap_value`: a pair meets when that lowers the expected cost of the whole pool.

The waiting players lie on a line, in the order of the one criterion. The pool's future cost is a
sum over the gaps between neighbours and the two ends; a wide gap is cheaper than two narrow ones,
since a player who arrives in it finds a near partner. A pair is made when its own cost plus the
others' future cost after it is less than the present sum. Lengths are in units of

    L(x) = T(x) / weight, where T solves rate * E[(T - cost(x, Y))+] = c^2 * wait_price

which is c/sqrt(weight rate wait_max) for uniform players; Y are the last arrivals.
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import FIRST_VALUE, TIME, pair_cost
from evenmatch.solvers.steps.gap_costs import (
    FALLS,
    HIGH_END,
    IS_BOUNDED,
    LOW_END,
    age_value,
    between,
    change,
)
from evenmatch.solvers.steps.price import (
    AT_ONCE,
    DIMENSIONS,
    KNOWN_RATE,
    LAST,
    LOOK,
    RATE_NOW,
    WORTH,
    at_rate,
    reservation_price,
)
from evenmatch.solvers.steps.skip_list import LEFT, LEFTMOST, RIGHT, is_older
from evenmatch.solvers.steps.waiting import (
    FLAG,
    NONE,
    NOTED,
    OLDEST,
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
    next_instant,
    note_arrival,
    ready_at,
    round_up,
    wake_by,
    write_pair,
)

PICKINESS = 0.9
"""c: a little less than 1, since the rate is measured."""
REACH = 8
"""Neighbours to the right that a player tries before giving up, if rules forbid the nearer ones."""
FALLS_MAX = 128.0
SILENCE, FALL = 4.0, 0.7
"""After n mean intervals without an arrival, the assumed rate falls in steps to 4 / n of it."""
SAMPLES = 128
"""Number of remembered arrivals; lengths need fewer than prices do."""

__all__ = ["SAMPLES", "arrive", "come_back", "decide", "leave"]


@kernel("void(WaitingRoster, int64, float64)", inline=True)
def _enter(waiting: WaitingRoster, slot: int, at: float) -> None:
    """Set a player's length at rate 1, and its first instant to search."""
    marks, numbers, terms = waiting.marks, waiting.numbers, waiting.terms
    rate = numbers[RATE_NOW]
    worth = reservation_price(waiting, slot, rate) * at_rate(rate, numbers[DIMENSIONS])
    marks[WORTH, slot] = worth / terms[0, 0]
    marks[LOOK, slot] = at
    wake_by(waiting, at)


@kernel("void(WaitingRoster, int64, float64)")
def arrive(waiting: WaitingRoster, slot: int, now: float) -> None:
    """Enter a newcomer."""
    points, numbers = waiting.points, waiting.numbers
    counts, samples = waiting.counts, waiting.samples
    rate = numbers[KNOWN_RATE]
    if rate <= 0.0:
        rate = arrival_rate(waiting, now, 0)
    numbers[RATE_NOW], numbers[LAST], numbers[FALLS] = rate, now, 0.0
    _enter(waiting, slot, points[TIME, slot])
    note_arrival(waiting, slot, now)
    low, high = 0.0, 1.0
    if numbers[IS_BOUNDED] == 0.0:
        known = min(counts[NOTED], samples.shape[1])
        low, high = samples[1, :known].min(), samples[1, :known].max()
    numbers[LOW_END], numbers[HIGH_END] = low, high


@kernel("void(WaitingRoster, int64, float64)")
def come_back(waiting: WaitingRoster, slot: int, now: float) -> None:
    """Enter a player who returns, without counting an arrival."""
    _enter(waiting, slot, now)


@kernel("void(WaitingRoster, int64)")
def leave(waiting: WaitingRoster, slot: int) -> None:
    """Remove a player who was not matched; the others search again."""
    marks, counts = waiting.marks, waiting.counts
    free_slot(waiting, slot)
    if counts[OLDEST] != NONE:
        marks[LOOK, counts[OLDEST]] = AT_ONCE
        wake_by(waiting, AT_ONCE)


@kernel("UniTuple(float64, 2)(WaitingRoster, int64, int64)", inline=True)
def _pair_up(waiting: WaitingRoster, left: int, right: int) -> tuple[float, float]:
    """Return the criteria cost of a pair and its first legal instant; both inf if never."""
    points, terms, gates = waiting.points, waiting.terms, waiting.gates
    cost = pair_cost(points, terms, gates, 0.0, left, right)
    if cost == np.inf:
        return np.inf, np.inf
    return cost, ready_at(waiting, left, right)


@kernel("float64(WaitingRoster)", inline=True)
def believed_rate(waiting: WaitingRoster) -> float:
    """Return the rate of arrivals to assume after a silence."""
    numbers = waiting.numbers
    rate: float = numbers[RATE_NOW]
    return rate * FALL ** numbers[FALLS]


@kernel("float64(WaitingRoster)", inline=True)
def silent_until(waiting: WaitingRoster) -> float:
    """Return the instant at which silence lowers the rate once more; inf if that is in vain."""
    numbers, counts = waiting.numbers, waiting.counts
    if counts[SIZE] < 2 or numbers[FALLS] >= FALLS_MAX:
        return np.inf
    fallen = numbers[RATE_NOW] * FALL ** (numbers[FALLS] + 1.0)
    instant: float = numbers[LAST] + round_up(SILENCE / fallen)
    return instant


@kernel("Tuple((int64, float64))(WaitingRoster, int64, float64, float64)")
def _further(waiting: WaitingRoster, left: int, scale: float, now: float) -> tuple[int, float]:
    """Return the first possible partner beyond the next player on the right, and the sum.

    If a rule will allow one of those it passes, the player searches again at that instant.
    """
    marks, links = waiting.marks, waiting.links
    right = links[RIGHT, links[RIGHT, left]]
    for _ in range(REACH - 1):
        if right == NONE:
            break
        cost, at = _pair_up(waiting, left, right)
        if at < np.inf:
            total = cost + change(waiting, left, right, scale, now)
            if at <= now:
                return right, total
            if total < 0.0:
                marks[LOOK, left] = min(marks[LOOK, left], at)
        right = links[RIGHT, right]
    return NONE, 0.0


@kernel("UniTuple(int64, 2)(WaitingRoster, float64)")
def best_pair(waiting: WaitingRoster, now: float) -> tuple[int, int]:
    """Return the pair of neighbours that makes the pool cheapest, left one first; or `NONE` twice.

    Neighbours are players who may ever play; each stores when a rule starts to allow a partner.

    Complexity:
        O(n), times at most `REACH` if rules keep neighbours apart.
    """
    points, marks, links, numbers = waiting.points, waiting.marks, waiting.links, waiting.numbers
    counts, terms, gates, rules = waiting.counts, waiting.terms, waiting.gates, waiting.rules
    scale = 1.0 / math.sqrt(believed_rate(waiting))
    first, second, least = NONE, NONE, 0.0
    left = counts[LEFTMOST]
    if left == NONE:
        return first, second
    right = links[RIGHT, left]
    before, here = (
        between(points, marks, numbers, terms, NONE, left, scale),
        between(points, marks, numbers, terms, left, right, scale),
    )
    # Powers are slow, and no player's age is worth more than that of the longest waiting.
    most = 2.0 * age_value(points, numbers, int(counts[OLDEST]), now)
    while right != NONE:
        marks[LOOK, left] = np.inf
        beyond = between(points, marks, numbers, terms, right, links[RIGHT, right], scale)
        wider = between(
            points, marks, numbers, terms, links[LEFT, left], links[RIGHT, right], scale
        )
        cost, at = pair_cost(points, terms, gates, 0.0, left, right), now
        if cost == np.inf:
            at = np.inf
        elif rules.shape[0] > 0:
            at = ready_at(waiting, left, right)
        total = cost + terms[0, 0] * (wider - (before + here + beyond))
        if total < most:
            one, two = (
                age_value(points, numbers, left, now),
                age_value(points, numbers, right, now),
            )
            total -= one + two
        if at <= now:
            if total < least:
                first, second, least = left, right, total
        else:
            if at < np.inf and total < 0.0:
                marks[LOOK, left] = at
            other, total = _further(waiting, left, scale, now)
            if total < least:
                first, second, least = left, other, total
        before, here = here, beyond
        left, right = right, links[RIGHT, right]
    marks[LOOK, left] = np.inf
    return first, second


@kernel("int64(WaitingRoster, int64, float64)")
def partner_of(waiting: WaitingRoster, slot: int, now: float) -> int:
    """Return a player's partner at any cost; without one, set when a rule allows one.

    Complexity:
        O(n).
    """
    points, marks, links, counts = waiting.points, waiting.marks, waiting.links, waiting.counts
    scale = 1.0 / math.sqrt(believed_rate(waiting))
    partner, least, soon = NONE, np.inf, np.inf
    other = counts[OLDEST]
    while other != NONE:
        if other != slot:
            left, right = slot, other
            is_left = points[FIRST_VALUE, other] < points[FIRST_VALUE, slot]
            if points[FIRST_VALUE, other] == points[FIRST_VALUE, slot]:
                is_left = is_older(points, links, other, slot)
            if is_left:
                left, right = other, slot
            cost, at = _pair_up(waiting, left, right)
            if at > now:
                soon = min(soon, at)
            else:
                total = cost + change(waiting, left, right, scale, now)
                if total < least:
                    partner, least = other, total
        other = links[YOUNGER, other]
    marks[LOOK, slot] = min(marks[LOOK, slot], soon)
    return partner


@kernel("void(WaitingRoster, int64, int64, int64[:,::1], int64)", inline=True)
def _pair(waiting: WaitingRoster, one: int, two: int, out: Ints, count: int) -> None:
    """Write a match, the older player first, and remove both."""
    write_pair(waiting, one, two, out, count)
    free_slot(waiting, one)
    free_slot(waiting, two)


@kernel("boolean(WaitingRoster, float64, boolean)", inline=True)
def _is_anything_due(waiting: WaitingRoster, now: float, fired: bool) -> bool:
    """Return whether a player searches now, or silence lowers the rate."""
    marks, links = waiting.marks, waiting.links
    numbers, counts = waiting.numbers, waiting.counts
    due = False
    slot = counts[OLDEST]
    while slot != NONE:
        due = due or is_due(marks[LOOK, slot], now, fired)
        slot = links[YOUNGER, slot]
    at = silent_until(waiting)
    while at < now or (at == now and fired):
        numbers[FALLS] += 1.0
        due = True
        at = silent_until(waiting)
    return due


@kernel("UniTuple(int64, 2)(WaitingRoster, float64, boolean, boolean)", inline=True)
def _overdue_pair(
    waiting: WaitingRoster, now: float, is_looking: bool, fired: bool
) -> tuple[int, int]:
    """Return the oldest player whose deadline has come, now or before, and its partner."""
    points, links, numbers, counts = waiting.points, waiting.links, waiting.numbers, waiting.counts
    slot = counts[OLDEST]
    while slot != NONE:
        deadline = points[TIME, slot] + numbers[WAIT_MAX]
        is_new = links[FLAG, slot] == 0 and (deadline < now or (deadline == now and fired))
        if is_new or (is_looking and links[FLAG, slot] == 1):
            links[FLAG, slot] = 1
            partner = partner_of(waiting, slot, now)
            if partner != NONE:
                return slot, partner
        slot = links[YOUNGER, slot]
    return NONE, NONE


@kernel("int64(WaitingRoster, float64, boolean, int64[:,::1])")
def decide(waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:
    """Make the matches of an instant, and set `WAKE` to the next instant to decide.

    Players who arrived at the same instant are decided together.

    Returns:
        Their number; their slots, which are free now, are in the rows of `out`.

    Complexity:
        O(n) for each match and each instant at which a player searches.
    """
    found = 0
    if is_early(waiting, now, fired):
        return found
    is_looking = _is_anything_due(waiting, now, fired)
    while True:
        one, two = NONE, NONE
        if is_looking:
            one, two = best_pair(waiting, now)
        if one == NONE:
            one, two = _overdue_pair(waiting, now, is_looking, fired)
        if one == NONE:
            break
        _pair(waiting, one, two, out, found)
        found += 1
        is_looking = True
    waiting.numbers[WAKE] = min(silent_until(waiting), next_instant(waiting, LOOK))
    return found
