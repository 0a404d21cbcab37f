"""Groups that grow one player at a time, always by the allowed player that widens them least."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import FIRST_VALUE, SIDE, TIME, Floats, unweighted_cost
from evenmatch.solvers.steps.price import (
    CLOSE,
    DIMENSIONS,
    GROW,
    LAST,
    LOOK,
    RATE_NOW,
    SILENCE,
    THETA,
    WIDE,
    WORTH,
    at_rate,
)
from evenmatch.solvers.steps.range_search import find_within
from evenmatch.solvers.steps.waiting import (
    EITHER,
    FOUND,
    NONE,
    OLDEST,
    PRICE,
    RELATIVE,
    YOUNGER,
    Ints,
    WaitingRoster,
    when,
)

SLACK = 1.0 + 1e-9
"""A group whose instant has come is made, however its last digit was rounded."""
LESS = 0.999
"""A player who searched in vain does so again at a rate that is lower by at least a thousandth."""


@kernel("float64(WaitingRoster, float64)", inline=True)
def believed_rate(waiting: WaitingRoster, now: float) -> float:
    """Return the rate of arrivals to assume after the present silence."""
    numbers = waiting.numbers
    rate: float = numbers[RATE_NOW]
    silence = now - numbers[LAST]
    if silence * rate > SILENCE:
        rate = SILENCE / silence
    return rate


@kernel("void(WaitingRoster, int64, float64, float64)", inline=True)
def note_close(waiting: WaitingRoster, slot: int, part: float, rate: float) -> None:
    """Set the rate at which a player's group would be made if it pays a share of its cost now."""
    marks, numbers = waiting.marks, waiting.numbers
    if numbers[THETA] < 0.0:
        marks[CLOSE, slot] = min(part ** (numbers[DIMENSIONS] + 1.0), LESS * rate)


@kernel("float64(WaitingRoster, int64[::1], float64[:,::1], int64, float64)")
def joins_at(waiting: WaitingRoster, group: Ints, box: Floats, slot: int, newest: float) -> float:
    """Return the instant from which a group and one more may play by the rules; inf if never.

    Args:
        waiting: The pool.
        group: The group's slots.
        box: Shape (2, rows of values): the group's lowest and highest values.
        slot: The additional player.
        newest: When the last of the group was enqueued, seconds.

    Complexity:
        O(rules), times the size of the group for rules that are relative or need one player only.
    """
    points, terms, gates = waiting.points, waiting.terms, waiting.gates
    rules, steps = waiting.rules, waiting.steps
    if points[SIDE, slot] != 0.0 and points[SIDE, slot] == points[SIDE, group[0]]:
        return np.inf
    row = terms.shape[0]
    for gate in range(gates.shape[0]):
        value = points[FIRST_VALUE + row + gate, slot]
        if max(box[1, row + gate], value) - min(box[0, row + gate], value) > gates[gate]:
            return np.inf
    row += gates.shape[0]
    newest = max(newest, points[TIME, slot])
    at = newest
    for rule in range(rules.shape[0]):
        value = points[FIRST_VALUE + row + rule, slot]
        gap = max(box[1, row + rule], value) - min(box[0, row + rule], value)
        if rules[rule, RELATIVE] == 0.0 and rules[rule, EITHER] == 0.0:
            at = max(at, newest + when(rules, steps, rule, gap))
            continue
        first, last = np.inf, -np.inf
        for seat in range(group.shape[0] + 1):
            member = slot if seat == group.shape[0] else group[seat]
            part = gap
            if rules[rule, RELATIVE] != 0.0:
                own = abs(points[FIRST_VALUE + row + rule, member])
                part = 0.0 if gap == 0.0 else np.inf
                if own > 0.0:
                    part = gap / own
            ready = points[TIME, member] + when(rules, steps, rule, part)
            first, last = min(first, ready), max(last, ready)
        at = max(at, first if rules[rule, EITHER] != 0.0 else last)
    return at


@kernel("void(WaitingRoster, int64, float64[:,::1], boolean)", inline=True)
def _widen(waiting: WaitingRoster, slot: int, box: Floats, is_first: bool) -> None:
    """Extend a group's box to include one more player."""
    points = waiting.points
    for row in range(box.shape[1]):
        value = points[FIRST_VALUE + row, slot]
        if is_first or value < box[0, row]:
            box[0, row] = value
        if is_first or value > box[1, row]:
            box[1, row] = value


@kernel("float64(WaitingRoster, float64[:,::1])", inline=True)
def cost_of(waiting: WaitingRoster, box: Floats) -> float:
    """Return the criteria cost of a group."""
    terms = waiting.terms
    cost = 0.0
    for term in range(terms.shape[0]):
        cost += terms[term, 0] * unweighted_cost(terms, term, box[1, term] - box[0, term])
    return cost


@kernel("float64(float64[:,::1], float64[:,::1], float64[:,::1], int64)", inline=True)
def _cost_with(points: Floats, terms: Floats, box: Floats, slot: int) -> float:
    """Return the criteria cost of a group with one more player."""
    cost = 0.0
    for term in range(terms.shape[0]):
        value = points[FIRST_VALUE + term, slot]
        gap = max(box[1, term], value) - min(box[0, term], value)
        cost += terms[term, 0] * unweighted_cost(terms, term, gap)
    return cost


@kernel("float64(float64[:,::1], float64[:,::1], int64, int64)", inline=True)
def _cost_of_two(points: Floats, terms: Floats, one: int, two: int) -> float:
    """Return the criteria cost of two players, like `_cost_with`, without its comparisons."""
    cost = 0.0
    for term in range(terms.shape[0]):
        gap = abs(points[FIRST_VALUE + term, one] - points[FIRST_VALUE + term, two])
        cost += terms[term, 0] * unweighted_cost(terms, term, gap)
    return cost


@kernel("boolean(WaitingRoster)", inline=True)
def _is_free(waiting: WaitingRoster) -> bool:
    """Return whether no rule and no side can keep players apart."""
    gates, rules = waiting.gates, waiting.rules
    return gates.shape[0] + rules.shape[0] == 0


@kernel(
    "int64(WaitingRoster, float64, int64[::1], int64, float64[:,::1], int64[::1], float64[::1], "
    "float64)"
)
def _fill(
    waiting: WaitingRoster,
    now: float,
    group: Ints,
    size: int,
    box: Floats,
    who: Ints,
    near: Floats,
    worth: float,
) -> int:
    """Fill a group that has its first player or two; return how many players it has then.

    Args:
        waiting: The pool.
        now: The present instant, seconds.
        group: The group's slots.
        size: How many of its slots are filled already.
        box: The first player's values; it is widened.
        who: Slots of those who may play with the first one, by age.
        near: Cost of each with the first one alone, a lower bound: a wider group costs more.
        worth: The most that any waiting player would pay, at rate 1; inf if cost does not matter.

    Complexity:
        O(k * n), of which few steps read all rows.
    """
    points, marks, numbers = waiting.points, waiting.marks, waiting.numbers
    counts, terms = waiting.counts, waiting.terms
    is_free = _is_free(waiting)
    newest = points[TIME, group[0]]
    if size == 2:
        newest = max(newest, points[TIME, group[1]])
        _widen(waiting, group[1], box, False)
    cost = cost_of(waiting, box)
    rate = believed_rate(waiting, now)
    ages = group.shape[0] * (now - points[TIME, counts[OLDEST]])
    bound = worth / at_rate(rate, numbers[DIMENSIONS]) + numbers[GROW] * numbers[PRICE] * ages
    while size < group.shape[0]:
        taken, least = NONE, np.inf
        for candidate in range(who.shape[0]):
            if near[candidate] >= least:
                continue
            with_it = _cost_with(points, terms, box, who[candidate])
            if not is_free:
                at = joins_at(waiting, group[:size], box, who[candidate], newest)
                if at > now:
                    marks[LOOK, group[0]] = min(marks[LOOK, group[0]], at)
                    continue
            if with_it < least:
                taken, least = candidate, with_it
                if with_it == cost:
                    # No other player can widen the group less.
                    break
        if taken == NONE:
            break
        if least > SLACK * bound:
            # With any other player, nobody pays that much before arrivals are rarer.
            note_close(waiting, group[0], worth / least, rate)
            break
        near[taken], cost = np.inf, least
        group[size] = who[taken]
        newest = max(newest, points[TIME, who[taken]])
        _widen(waiting, who[taken], box, False)
        size += 1
    return size


@kernel("float64(WaitingRoster)", inline=True)
def _highest_worth(waiting: WaitingRoster) -> float:
    """Return the most that any waiting player would pay, at rate 1."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    worth = -np.inf
    slot = counts[OLDEST]
    while slot != NONE:
        worth = max(worth, marks[WORTH, slot])
        slot = links[YOUNGER, slot]
    return worth


@kernel("int64(WaitingRoster, int64, int64, float64, boolean, int64[::1], float64[:,::1])")
def grow_group(
    waiting: WaitingRoster,
    slot: int,
    second: int,
    now: float,
    at_any_cost: bool,
    group: Ints,
    box: Floats,
) -> int:
    """Grow a group around a player by the least added cost, and set when a rule allows more.

    Args:
        waiting: The pool.
        slot: The first of the group.
        second: The player to add next if the rules allow it; `NONE` leaves it open.
        now: The present instant, seconds.
        at_any_cost: Whether to go on when the group costs more than anybody would pay.
        group: Filled with the slots, as many as a match has seats.
        box: Filled with the group's lowest and highest values.

    Returns:
        How many players the group has.

    Complexity:
        O(k * m), and O(m * rows), for m players that `find_within` finds; O(n) if they are enough.
    """
    points, marks, links = waiting.points, waiting.marks, waiting.links
    numbers, terms = waiting.numbers, waiting.terms
    wide = WIDE * marks[WORTH, slot] / at_rate(numbers[RATE_NOW], numbers[DIMENSIONS])
    others = find_within(waiting, slot)
    near = np.empty(others)
    who = np.empty(others, dtype=np.int64)
    group[0] = slot
    _widen(waiting, slot, box, True)
    is_free = _is_free(waiting) and group.shape[0] > 2
    size, known, soon, late = 1, 0, np.inf, np.inf
    for found in range(others):
        other = links[FOUND, found]
        cost, at = _cost_of_two(points, terms, slot, other), now
        if not is_free:
            at = joins_at(waiting, group[:1], box, other, points[TIME, slot])
        if at <= now:
            who[known], near[known] = other, cost
            if other == second:
                group[1], near[known], size = second, np.inf, 2
            known += 1
        elif cost <= wide:
            soon = min(soon, at)
        else:
            late = min(late, at)
    marks[LOOK, slot] = soon if soon < np.inf else late
    if known < group.shape[0] - 1:
        return size
    worth = np.inf if at_any_cost else _highest_worth(waiting)
    return _fill(waiting, now, group, size, box, who[:known], near[:known], worth)
