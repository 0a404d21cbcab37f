"""The steps of `gap_value`: a pair meets when that is cheaper than what both are worth waiting.

The players who wait lie on a line, in the order of the one criterion. What the pool will still
cost is a sum over the gaps between neighbours and the two ends; a wide gap is cheaper than two
narrow ones, for whoever arrives in it finds somebody near. A pair is made when its own cost and
what the others will then cost are less than the present sum. Lengths are in units of

    L(x) = T(x) / weight, where T solves rate * E[(T - cost(x, Y))+] = c^2 * wait_price

which is c/sqrt(weight rate wait_max) for uniform players; Y are the last arrivals.
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.pairs import FIRST_VALUE, TIME, pair_cost, shaped
from evenmatch.solvers.price import (
    AT_ONCE,
    DIMENSIONS,
    GUESS,
    KNOWN_RATE,
    LAST,
    LOOK,
    RATE_NOW,
    SAMPLES,
    WORTH,
    at_rate,
    most,
)
from evenmatch.solvers.waiting import (
    FLAG,
    LEFT,
    NONE,
    NOTED,
    OLDEST,
    PRICE,
    RIGHT,
    SEQUENCE,
    SIZE,
    WAIT_MAX,
    WAITING,
    WAKE,
    YOUNGER,
    Ints,
    Waiting,
    free_slot,
    is_due,
    note_arrival,
    ready_at,
    round_up,
    settled_rate,
)

IS_BOUNDED, LOWEST, LINKED, LOW_END, HIGH_END, FALLS = range(GUESS + 1, GUESS + 7)
"""Numbers: 1 if all values lie in [0, 1]; the first player by value, and how many are linked;
between which values players come; how often silence has lowered the rate. The others are those of
`price`."""
PICKINESS = 0.9
"""c: a little less than 1, since the rate is measured."""
REACH = 8
"""Neighbours that a player looks at on its right until one may play."""
FALLS_MAX = 128.0
SILENCE, FALL = 4.0, 0.7
"""After n mean intervals without an arrival the rate is taken for 4 / n of what it was, in steps."""

GAP_FAR, GAP_RISE, GAP_NEAR = 0.3443, 0.1555, 2.519
END_FAR, END_RISE, END_NEAR = 0.248, 0.295, 1.374
AGE_COST, AGE_POWER = 1.063, 4.26

__all__ = ["SAMPLES", "arrive", "come_back", "decide", "leave"]


@kernel("float64(float64, float64)", inline=True)
def gap_value(gap: float, length: float) -> float:
    """Return what a gap between neighbours will cost, over the weight; both as distances."""
    if not length > 0.0:
        return 0.0
    near = max(0.0, GAP_NEAR - gap / length)
    return length * (GAP_FAR + GAP_RISE * near * near)


@kernel("float64(float64, float64)", inline=True)
def end_value(gap: float, length: float) -> float:
    """Return the same for the gap between the first or last player and the end of the line."""
    if not length > 0.0:
        return 0.0
    near = max(0.0, END_NEAR - gap / length)
    return length * (END_FAR + END_RISE * near * near)


@kernel(f"float64({WAITING}, int64, int64, float64)", inline=True)
def between(waiting: Waiting, left: int, right: int, scale: float) -> float:
    """Return what the gap between two players would cost if they were neighbours.

    `NONE` is an end of the line; between both ends nobody waits, and that costs nothing.
    """
    points, marks, numbers, terms = waiting[0], waiting[1], waiting[3], waiting[5]
    if left == NONE and right == NONE:
        return 0.0
    if left == NONE:
        gap = points[FIRST_VALUE, right] - numbers[LOW_END]
        return end_value(shaped(terms, 0, max(gap, 0.0)), scale * marks[WORTH, right])
    if right == NONE:
        gap = numbers[HIGH_END] - points[FIRST_VALUE, left]
        return end_value(shaped(terms, 0, max(gap, 0.0)), scale * marks[WORTH, left])
    gap = points[FIRST_VALUE, right] - points[FIRST_VALUE, left]
    length = 0.5 * scale * (marks[WORTH, left] + marks[WORTH, right])
    return gap_value(shaped(terms, 0, gap), length)


@kernel(f"float64({WAITING}, int64, float64)", inline=True)
def age_value(waiting: Waiting, slot: int, now: float) -> float:
    """Return what a player's nearness to its deadline will cost."""
    numbers = waiting[3]
    wait_max = numbers[WAIT_MAX]
    if wait_max == np.inf:
        return 0.0
    age: float = (now - waiting[0][TIME, slot]) / wait_max
    return AGE_COST * numbers[PRICE] * wait_max * age**AGE_POWER


@kernel(f"float64({WAITING}, int64, int64, float64, float64)", inline=True)
def change(waiting: Waiting, left: int, right: int, scale: float, now: float) -> float:
    """Return how much less the others will cost, without ages, if two players go; negative."""
    links, terms = waiting[2], waiting[5]
    before, after = links[LEFT, left], links[RIGHT, right]
    kept = between(waiting, before, left, scale) + between(waiting, right, after, scale)
    if links[RIGHT, left] == right:
        kept += between(waiting, left, right, scale)
        change = between(waiting, before, after, scale) - kept
    else:
        inner, outer = links[RIGHT, left], links[LEFT, right]
        kept += between(waiting, left, inner, scale) + between(waiting, outer, right, scale)
        if inner == outer:
            change = between(waiting, before, inner, scale) + between(waiting, inner, after, scale)
        else:
            change = between(waiting, before, inner, scale) + between(waiting, outer, after, scale)
        change -= kept
    ages = age_value(waiting, left, now) + age_value(waiting, right, now)
    return terms[0, 0] * change - ages


@kernel(f"void({WAITING}, int64)", inline=True)
def _link(waiting: Waiting, slot: int) -> None:
    """Give a player its place in the order of values, right of equal ones."""
    points, _, links, numbers = waiting[:4]
    value = points[FIRST_VALUE, slot]
    left, right = NONE, int(numbers[LOWEST])
    while right != NONE and points[FIRST_VALUE, right] <= value:
        left, right = right, links[RIGHT, right]
    links[LEFT, slot], links[RIGHT, slot] = left, right
    if left == NONE:
        numbers[LOWEST] = slot
    else:
        links[RIGHT, left] = slot
    if right != NONE:
        links[LEFT, right] = slot
    numbers[LINKED] += 1.0


@kernel(f"void({WAITING})", inline=True)
def _link_all(waiting: Waiting) -> None:
    """Put all in order, by value and then by age, if players came without being linked."""
    links, numbers, counts = waiting[2], waiting[3], waiting[4]
    if numbers[LINKED] == counts[SIZE]:
        return
    numbers[LOWEST], numbers[LINKED] = NONE, 0.0
    slot = counts[OLDEST]
    while slot != NONE:
        _link(waiting, slot)
        slot = links[YOUNGER, slot]


@kernel(f"void({WAITING}, int64, float64)", inline=True)
def _enter(waiting: Waiting, slot: int, at: float) -> None:
    """Note a player's length at rate 1, and when it looks around first."""
    marks, numbers, counts, terms = waiting[1], waiting[3], waiting[4], waiting[5]
    rate = numbers[RATE_NOW]
    worth = most(waiting, slot, rate) * at_rate(rate, numbers[DIMENSIONS])
    marks[WORTH, slot] = worth / terms[0, 0]
    marks[LOOK, slot] = at
    if numbers[LINKED] == counts[SIZE] - 1:
        _link(waiting, slot)


@kernel(f"void({WAITING}, int64, float64)")
def arrive(waiting: Waiting, slot: int, now: float) -> None:
    """Note a newcomer."""
    points, numbers, counts, samples = waiting[0], waiting[3], waiting[4], waiting[9]
    rate = numbers[KNOWN_RATE]
    if rate <= 0.0:
        rate = settled_rate(waiting, now)
    numbers[RATE_NOW], numbers[LAST], numbers[FALLS] = rate, now, 0.0
    _enter(waiting, slot, points[TIME, slot])
    note_arrival(waiting, slot, now)
    low, high = 0.0, 1.0
    if numbers[IS_BOUNDED] == 0.0:
        known = min(counts[NOTED], samples.shape[1])
        low, high = samples[1, :known].min(), samples[1, :known].max()
    numbers[LOW_END], numbers[HIGH_END] = low, high


@kernel(f"void({WAITING}, int64, float64)")
def come_back(waiting: Waiting, slot: int, now: float) -> None:
    """Note a player who has been here before: no new arrival."""
    _enter(waiting, slot, now)


@kernel(f"void({WAITING}, int64)", inline=True)
def _free(waiting: Waiting, slot: int) -> None:
    """Let a player go, in both orders."""
    links, numbers, counts = waiting[2], waiting[3], waiting[4]
    if numbers[LINKED] == counts[SIZE]:
        left, right = links[LEFT, slot], links[RIGHT, slot]
        if left == NONE:
            numbers[LOWEST] = right
        else:
            links[RIGHT, left] = right
        if right != NONE:
            links[LEFT, right] = left
        numbers[LINKED] -= 1.0
    free_slot(waiting, slot)


@kernel(f"void({WAITING}, int64)")
def leave(waiting: Waiting, slot: int) -> None:
    """Let a player go who was not matched; the others look around again."""
    marks, counts = waiting[1], waiting[4]
    _free(waiting, slot)
    if counts[OLDEST] != NONE:
        marks[LOOK, counts[OLDEST]] = AT_ONCE


@kernel(f"UniTuple(float64, 2)({WAITING}, int64, int64, float64)", inline=True)
def _pair_up(waiting: Waiting, left: int, right: int, now: float) -> tuple[float, float]:
    """Return what a pair costs itself and from when on it may play; both inf if never."""
    points, terms, gates = waiting[0], waiting[5], waiting[6]
    cost = pair_cost(points, terms, gates, 0.0, left, right)
    if cost == np.inf:
        return np.inf, np.inf
    return cost, ready_at(waiting, left, right)


@kernel(f"float64({WAITING})", inline=True)
def believed_rate(waiting: Waiting) -> float:
    """Return the rate that is believed after a silence."""
    numbers = waiting[3]
    rate: float = numbers[RATE_NOW]
    return rate * FALL ** numbers[FALLS]


@kernel(f"float64({WAITING})", inline=True)
def silent_until(waiting: Waiting) -> float:
    """Return the instant at which silence lowers the rate once more; inf if that is in vain."""
    numbers, counts = waiting[3], waiting[4]
    if counts[SIZE] < 2 or numbers[FALLS] >= FALLS_MAX:
        return np.inf
    fallen = numbers[RATE_NOW] * FALL ** (numbers[FALLS] + 1.0)
    instant: float = numbers[LAST] + round_up(SILENCE / fallen)
    return instant


@kernel(f"UniTuple(int64, 2)({WAITING}, float64)")
def best_pair(waiting: Waiting, now: float) -> tuple[int, int]:
    """Return the pair of neighbours that makes the pool cheapest, left one first; or `NONE` twice.

    Neighbours are those who may ever play; each player notes when a rule lets it play with one.

    Complexity:
        O(n * REACH).
    """
    marks, links, numbers, terms = waiting[1], waiting[2], waiting[3], waiting[5]
    scale = 1.0 / math.sqrt(believed_rate(waiting))
    first, second, least = NONE, NONE, 0.0
    left = int(numbers[LOWEST])
    while left != NONE:
        marks[LOOK, left] = np.inf
        right = links[RIGHT, left]
        for _ in range(REACH):
            if right == NONE:
                break
            cost, at = _pair_up(waiting, left, right, now)
            if at < np.inf:
                total = cost + change(waiting, left, right, scale, now)
                if at > now:
                    if total < 0.0:
                        marks[LOOK, left] = min(marks[LOOK, left], at)
                else:
                    if total < least:
                        first, second, least = left, right, total
                    break
            right = links[RIGHT, right]
        left = links[RIGHT, left]
    return first, second


@kernel(f"boolean({WAITING}, int64, int64)", inline=True)
def _is_before(waiting: Waiting, one: int, two: int) -> bool:
    """Return whether a player is left of another one of the same value."""
    points, links = waiting[0], waiting[2]
    slot = links[LEFT, two]
    while slot != NONE and points[FIRST_VALUE, slot] == points[FIRST_VALUE, two]:
        if slot == one:
            return True
        slot = links[LEFT, slot]
    return False


@kernel(f"int64({WAITING}, int64, float64)")
def partner_of(waiting: Waiting, slot: int, now: float) -> int:
    """Return whom a player plays with at any cost; note when a rule allows somebody, if nobody.

    Complexity:
        O(n).
    """
    points, marks, links, numbers, counts = waiting[:5]
    scale = 1.0 / math.sqrt(believed_rate(waiting))
    partner, least, soon = NONE, np.inf, np.inf
    other = counts[OLDEST]
    while other != NONE:
        if other != slot:
            left, right = slot, other
            is_left = points[FIRST_VALUE, other] < points[FIRST_VALUE, slot]
            if points[FIRST_VALUE, other] == points[FIRST_VALUE, slot]:
                is_left = _is_before(waiting, other, slot)
            if is_left:
                left, right = other, slot
            cost, at = _pair_up(waiting, left, right, now)
            if at > now:
                soon = min(soon, at)
            else:
                total = cost + change(waiting, left, right, scale, now)
                if total < least:
                    partner, least = other, total
        other = links[YOUNGER, other]
    marks[LOOK, slot] = min(marks[LOOK, slot], soon)
    return partner


@kernel(f"void({WAITING}, int64, int64, int64[:,::1], int64)", inline=True)
def _pair(waiting: Waiting, one: int, two: int, out: Ints, count: int) -> None:
    """Write down a match, the older player first, and let both go."""
    points, links = waiting[0], waiting[2]
    is_older = points[TIME, one] < points[TIME, two] or (
        points[TIME, one] == points[TIME, two] and links[SEQUENCE, one] < links[SEQUENCE, two]
    )
    out[count, 0], out[count, 1] = (one, two) if is_older else (two, one)
    _free(waiting, one)
    _free(waiting, two)


@kernel(f"boolean({WAITING}, float64, boolean)", inline=True)
def _is_anything_due(waiting: Waiting, now: float, fired: bool) -> bool:
    """Return whether somebody looks around now, or silence lowers the rate."""
    points, marks, links, numbers, counts = waiting[:5]
    due = False
    slot = counts[OLDEST]
    while slot != NONE:
        due = due or is_due(marks[LOOK, slot], points[TIME, slot], now, fired)
        slot = links[YOUNGER, slot]
    at = silent_until(waiting)
    while at < now or (at == now and fired):
        numbers[FALLS] += 1.0
        due = True
        at = silent_until(waiting)
    return due


@kernel(f"UniTuple(int64, 2)({WAITING}, float64, boolean, boolean)", inline=True)
def _overdue_pair(waiting: Waiting, now: float, is_looking: bool, fired: bool) -> tuple[int, int]:
    """Return the oldest player whose deadline has come, or had come before, and its partner."""
    points, _, links, numbers, counts = waiting[:5]
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


@kernel(f"float64({WAITING})", inline=True)
def _next_instant(waiting: Waiting) -> float:
    points, marks, links, numbers, counts = waiting[:5]
    at = silent_until(waiting)
    slot = counts[OLDEST]
    while slot != NONE:
        at = min(at, marks[LOOK, slot])
        if links[FLAG, slot] == 0:
            at = min(at, points[TIME, slot] + numbers[WAIT_MAX])
        slot = links[YOUNGER, slot]
    return at


@kernel(f"int64({WAITING}, float64, boolean, int64[:,::1])")
def decide(waiting: Waiting, now: float, fired: bool, out: Ints) -> int:
    """Make the matches of an instant, and note in `WAKE` when to ask again.

    Returns:
        Their number; their slots, which are free now, are in the rows of `out`.

    Complexity:
        O(n) for each match and each instant at which somebody looks around.
    """
    _link_all(waiting)
    found = 0
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
    waiting[3][WAKE] = _next_instant(waiting)
    return found
