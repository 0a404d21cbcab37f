"""The steps of `difference_wait`: tentative groups, which the unlike have to wait for longer.

A group is a ring of partners. It takes a player out of another group if it costs less, so that
each new group is better than all that it breaks: a round of changes always ends. With two players
a group this is the paper's rule: the nearest who is free or strictly closer than to his mate.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.pairs import FIRST_VALUE, TIME, Floats, shaped
from evenmatch.solvers.waiting import (
    FIRST_NUMBER,
    FLAG,
    NONE,
    OLDEST,
    PARTNER,
    SIZE,
    WAIT_MAX,
    WAITING,
    WAKE,
    WEIGHT,
    YOUNGER,
    Ints,
    Waiting,
    free_slot,
    round_up,
)

FACTOR, POWER, IS_FROM_ARRIVAL, SEATS = range(FIRST_NUMBER, FIRST_NUMBER + 4)
"""Numbers: of the wait factor * distance ** power, in seconds; whether it counts from the arrival
of the oldest; players of a match."""
DUE, COST, SEEK, ROLE = range(4)
"""Marks: when the group becomes definitive; what it costs in criteria, infinite without one;
whether the player is to look for one; what he is while somebody looks."""
DROPPED, NEW = 0.0, 1.0
"""Who was dropped looks first; a newcomer is not seen by others before he has looked."""
OTHER, MEMBER, REFUSES = 0.0, 1.0, 2.0
AT_ONCE = -1.0
"""An instant before all others."""
TRIES = 8
"""Groups that are tried for a player; the members who would rather stay are left out in turn."""


@kernel(f"void({WAITING}, int64, float64)")
def arrive(waiting: Waiting, slot: int, now: float) -> None:
    """Note that a newcomer looks for a group."""
    waiting[1][SEEK, slot] = NEW


@kernel(f"void({WAITING}, int64)", inline=True)
def _dissolve(waiting: Waiting, slot: int) -> None:
    """Free a player and all others of his group, who are to look for another one."""
    marks, links = waiting[1], waiting[2]
    member = slot
    while member != NONE:
        following = links[PARTNER, member]
        links[PARTNER, member] = NONE
        if marks[COST, member] < np.inf:
            marks[COST, member], marks[DUE, member] = np.inf, np.inf
            marks[SEEK, member] = DROPPED
        member = following


@kernel(f"void({WAITING}, int64)")
def leave(waiting: Waiting, slot: int) -> None:
    """Let a player go; the rest of his group look for another one."""
    _dissolve(waiting, slot)
    free_slot(waiting, slot)


@kernel(f"void({WAITING})", inline=True)
def _mend(waiting: Waiting) -> None:
    """Dissolve groups of which a member did not come back after a restart."""
    marks, links, counts = waiting[1], waiting[2], waiting[4]
    slot = counts[OLDEST]
    while slot != NONE:
        younger = links[YOUNGER, slot]
        if marks[COST, slot] < np.inf:
            partner = links[PARTNER, slot]
            if partner == NONE or marks[COST, partner] == np.inf:
                _dissolve(waiting, slot)
                younger = counts[OLDEST]
        slot = younger


@kernel(f"float64({WAITING}, float64[:,::1], int64)", inline=True)
def _cost_with(waiting: Waiting, span: Floats, slot: int) -> float:
    """Return what a group costs in criteria with one more player."""
    points, terms = waiting[0], waiting[5]
    cost = 0.0
    for term in range(terms.shape[0]):
        value = points[FIRST_VALUE + term, slot]
        gap = max(span[1, term], value) - min(span[0, term], value)
        cost += terms[term, 0] * shaped(terms, term, gap)
    return cost


@kernel(f"float64({WAITING}, int64, boolean, int64[:,::1], int64, float64[:,::1])")
def _grow(
    waiting: Waiting, slot: int, at_any_cost: bool, out: Ints, row: int, span: Floats
) -> float:
    """Write down a group that adds the next cheapest player to one; return its cost.

    Those are left out who are in a group that costs no more.

    Returns:
        Infinity if there are too few.
    """
    points, marks, links, _, counts, terms = waiting[:6]
    for term in range(terms.shape[0]):
        span[0, term] = span[1, term] = points[FIRST_VALUE + term, slot]
    out[row, 0] = slot
    marks[ROLE, slot] = MEMBER
    cost = 0.0
    for seat in range(1, out.shape[1]):
        best, cost = NONE, np.inf
        other = counts[OLDEST]
        while other != NONE:
            if marks[ROLE, other] == OTHER:
                found = _cost_with(waiting, span, other)
                if found < cost and (at_any_cost or found < marks[COST, other]):
                    best, cost = other, found
            other = links[YOUNGER, other]
        if best == NONE:
            return np.inf
        out[row, seat] = best
        marks[ROLE, best] = MEMBER
        for term in range(terms.shape[0]):
            value = points[FIRST_VALUE + term, best]
            span[0, term] = min(span[0, term], value)
            span[1, term] = max(span[1, term], value)
    return cost


@kernel(f"float64({WAITING}, int64, boolean, int64[:,::1], int64, float64[:,::1])")
def _find(
    waiting: Waiting, slot: int, at_any_cost: bool, out: Ints, row: int, span: Floats
) -> float:
    """Write down the group that a player finds; return its cost, infinity if there is none."""
    marks, links, counts = waiting[1], waiting[2], waiting[4]
    if counts[SIZE] < out.shape[1]:
        return np.inf
    other = counts[OLDEST]
    while other != NONE:
        marks[ROLE, other] = REFUSES if marks[SEEK, other] == NEW else OTHER
        other = links[YOUNGER, other]
    for _ in range(TRIES):
        cost = _grow(waiting, slot, at_any_cost, out, row, span)
        if cost == np.inf or at_any_cost:
            return cost
        is_willing = True
        for seat in range(1, out.shape[1]):
            member = out[row, seat]
            marks[ROLE, member] = OTHER
            if marks[COST, member] <= cost:
                marks[ROLE, member] = REFUSES
                is_willing = False
        if is_willing:
            return cost
    return np.inf


@kernel(f"void({WAITING}, float64, int64[:,::1], int64, float64)")
def _join(waiting: Waiting, now: float, out: Ints, row: int, cost: float) -> None:
    """Make a group of the players in a row, and say when it becomes definitive."""
    points, marks, links, numbers = waiting[:4]
    seats = out.shape[1]
    oldest = np.inf
    for seat in range(seats):
        member = out[row, seat]
        if links[PARTNER, member] != NONE:
            _dissolve(waiting, member)
        oldest = min(oldest, points[TIME, member])
    distance = cost / numbers[WEIGHT] if numbers[WEIGHT] > 0.0 else 0.0
    start = oldest if numbers[IS_FROM_ARRIVAL] != 0.0 else now
    due = start + round_up(numbers[FACTOR] * distance ** numbers[POWER])
    due = min(due, oldest + numbers[WAIT_MAX])
    for seat in range(seats):
        member = out[row, seat]
        links[PARTNER, member] = out[row, (seat + 1) % seats]
        marks[COST, member], marks[SEEK, member] = cost, np.inf
        marks[DUE, member] = AT_ONCE if due <= now else due


@kernel(f"void({WAITING}, int64[:,::1], int64)", inline=True)
def _write(waiting: Waiting, out: Ints, row: int) -> None:
    """Put the players of a match in the order of age, and let them go."""
    points, _, links = waiting[:3]
    for seat in range(out.shape[1]):
        slot, at = out[row, seat], seat
        while at > 0 and (
            points[TIME, out[row, at - 1]] > points[TIME, slot]
            or (
                points[TIME, out[row, at - 1]] == points[TIME, slot]
                and links[0, out[row, at - 1]] > links[0, slot]
            )
        ):
            out[row, at] = out[row, at - 1]
            at -= 1
        out[row, at] = slot
    for seat in range(out.shape[1]):
        free_slot(waiting, out[row, seat])


@kernel(f"int64({WAITING})", inline=True)
def _seeker(waiting: Waiting) -> int:
    """Return who looks next: the oldest of those who were dropped, else of the newcomers."""
    marks, links, counts = waiting[1], waiting[2], waiting[4]
    best, least = NONE, np.inf
    slot = counts[OLDEST]
    while slot != NONE and least > DROPPED:
        if marks[SEEK, slot] < least:
            best, least = slot, marks[SEEK, slot]
        slot = links[YOUNGER, slot]
    return best


@kernel(f"int64({WAITING}, float64, boolean)", inline=True)
def _due(waiting: Waiting, now: float, fired: bool) -> int:
    """Return the oldest player whose group has become definitive."""
    marks, links, counts = waiting[1], waiting[2], waiting[4]
    slot: int = counts[OLDEST]
    while slot != NONE:
        due = marks[DUE, slot]
        if due < now or (due == now and fired):
            return slot
        slot = links[YOUNGER, slot]
    return NONE


@kernel(f"void({WAITING})", inline=True)
def _note_wake(waiting: Waiting) -> None:
    """Note when the next group becomes definitive, or somebody without one is overdue."""
    points, marks, links, numbers, counts = waiting[:5]
    wake = np.inf
    slot = counts[OLDEST]
    while slot != NONE:
        wake = min(wake, marks[DUE, slot])
        if marks[COST, slot] == np.inf and links[FLAG, slot] == 0:
            wake = min(wake, points[TIME, slot] + numbers[WAIT_MAX])
        slot = links[YOUNGER, slot]
    numbers[WAKE] = wake


@kernel(f"int64({WAITING}, float64, boolean)", inline=True)
def _overdue(waiting: Waiting, now: float, fired: bool) -> int:
    """Note who is overdue, and return the oldest without a group if players for one are there."""
    points, marks, links, numbers, counts = waiting[:5]
    slot = counts[OLDEST]
    while slot != NONE:
        deadline = points[TIME, slot] + numbers[WAIT_MAX]
        if links[FLAG, slot] == 0 and (deadline > now or (deadline == now and not fired)):
            return NONE
        links[FLAG, slot] = 1
        if marks[COST, slot] == np.inf and counts[SIZE] >= numbers[SEATS]:
            return slot
        slot = links[YOUNGER, slot]
    return NONE


@kernel(f"int64({WAITING}, int64[:,::1], int64, float64, boolean)", inline=True)
def _commit(waiting: Waiting, out: Ints, found: int, now: float, fired: bool) -> int:
    """Write down all groups that have become definitive; return the number of matches so far."""
    links = waiting[2]
    slot = _due(waiting, now, fired)
    while slot != NONE:
        for seat in range(out.shape[1]):
            out[found, seat] = slot
            slot = links[PARTNER, slot]
        _write(waiting, out, found)
        found += 1
        slot = _due(waiting, now, fired)
    return found


@kernel(f"int64({WAITING}, float64, boolean, int64[:,::1])")
def decide(waiting: Waiting, now: float, fired: bool, out: Ints) -> int:
    """Make the matches of an instant; return how many.

    Complexity:
        O(n k) for each player who looks for a group, at most `TRIES` times.
    """
    marks = waiting[1]
    span = np.empty((2, waiting[5].shape[0]))
    found = 0
    _mend(waiting)
    again = True
    while again:
        again = False
        slot = _seeker(waiting)
        while slot != NONE:
            if marks[SEEK, slot] == NEW:
                # What the newcomer before made definitive is not to be changed by this one.
                found = _commit(waiting, out, found, now, False)
            marks[SEEK, slot] = np.inf
            cost = _find(waiting, slot, False, out, found, span)
            if cost < np.inf:
                _join(waiting, now, out, found, cost)
            slot = _seeker(waiting)
        found = _commit(waiting, out, found, now, fired)
        slot = _overdue(waiting, now, fired)
        if slot != NONE:
            _find(waiting, slot, True, out, found, span)
            for seat in range(out.shape[1]):
                if waiting[2][PARTNER, out[found, seat]] != NONE:
                    _dissolve(waiting, out[found, seat])
            _write(waiting, out, found)
            found += 1
            again = True
    _note_wake(waiting)
    return found
