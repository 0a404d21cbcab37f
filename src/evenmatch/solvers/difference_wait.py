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
    SEQUENCE,
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

FACTOR, POWER, IS_FROM_ARRIVAL, SEATS, SEARCH, IS_WHOLE, IS_DUE = range(
    FIRST_NUMBER, FIRST_NUMBER + 7
)
"""Numbers: of the wait factor * distance ** power, in seconds; whether it counts from the arrival
of the oldest; players of a match; the search that is on; whether all groups are known to be whole;
whether a group is to be made definitive at once."""
DUE, COST, SEEK, ROLE = range(4)
"""Marks: when the group becomes definitive; what it costs in criteria, infinite without one;
whether the player is to look for one; what he is while somebody looks."""
DROPPED, NEW, GOES = 0.0, 1.0, 2.0
"""Who was dropped looks first; a newcomer is not seen by others before he has looked."""
MEMBER, REFUSES = 0.0, 0.5
"""Roles, added to the number of the search; any other number is no role in this search."""
AT_ONCE = -1.0
"""An instant before all others."""
ANYONE, THE_WILLING, THE_FREE = range(3)
"""Who may be asked: also from better groups; from worse groups; who has none."""
LOW, HIGH, COSTS, WHO = range(4)
"""Rows to work in: the range of each criterion; the nearest players and what each would cost."""
NEAR = 4
"""Players that are looked at for each seat; between two players the nearest is enough."""
TRIES = 4
"""Groups that are tried for a player; the members who would rather stay are left out in turn."""


@kernel(f"void({WAITING}, int64, float64)")
def arrive(waiting: Waiting, slot: int, now: float) -> None:  # noqa: ARG001
    """Note that a newcomer looks for a group."""
    waiting[1][SEEK, slot], waiting[1][ROLE, slot] = NEW, 0.0


@kernel(f"void({WAITING}, int64)", inline=True)
def _dissolve(waiting: Waiting, slot: int) -> None:
    """Free a player and all others of his group; the oldest who does not go looks for another."""
    points, marks, links = waiting[:3]
    oldest, member = NONE, slot
    while member != NONE:
        following = links[PARTNER, member]
        links[PARTNER, member] = NONE
        marks[COST, member], marks[DUE, member] = np.inf, np.inf
        if marks[SEEK, member] != GOES and (
            oldest == NONE
            or points[TIME, member] < points[TIME, oldest]
            or (
                points[TIME, member] == points[TIME, oldest]
                and links[SEQUENCE, member] < links[SEQUENCE, oldest]
            )
        ):
            oldest = member
        member = following
    if oldest != NONE:
        marks[SEEK, oldest] = DROPPED


@kernel(f"void({WAITING}, int64)")
def leave(waiting: Waiting, slot: int) -> None:
    """Let a player go; the rest of his group look for another one."""
    waiting[1][SEEK, slot] = GOES
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
def _cost_with(waiting: Waiting, near: Floats, slot: int) -> float:
    """Return what a group costs in criteria with one more player."""
    points, terms = waiting[0], waiting[5]
    cost = 0.0
    for term in range(terms.shape[0]):
        value = points[FIRST_VALUE + term, slot]
        gap = max(near[HIGH, term], value) - min(near[LOW, term], value)
        cost += terms[term, 0] * shaped(terms, term, gap)
    return cost


@kernel(f"int64({WAITING}, int64, int64, float64[:,::1])", inline=True)
def _look(waiting: Waiting, slot: int, whom: int, near: Floats) -> int:
    """Write down the nearest players who may be asked, by distance and age; return how many."""
    points, marks, links, numbers, counts, terms = waiting[:6]
    search = numbers[SEARCH]
    for term in range(terms.shape[0]):
        near[LOW, term] = near[HIGH, term] = points[FIRST_VALUE + term, slot]
    count = 0
    other = counts[OLDEST]
    while other != NONE:
        if marks[SEEK, other] != NEW and marks[ROLE, other] < search and other != slot:
            cost = _cost_with(waiting, near, other)
            if whom == ANYONE or cost < marks[COST, other]:
                at = count
                if count == near.shape[1]:
                    at = count - 1 if cost < near[COSTS, count - 1] else NONE
                if at != NONE and (whom != THE_FREE or marks[COST, other] == np.inf):
                    while at > 0 and near[COSTS, at - 1] > cost:
                        near[COSTS, at], near[WHO, at] = near[COSTS, at - 1], near[WHO, at - 1]
                        at -= 1
                    near[COSTS, at], near[WHO, at] = cost, other
                    count = min(count + 1, near.shape[1])
        other = links[YOUNGER, other]
    return count


@kernel(f"float64({WAITING}, int64, int64, int64[:,::1], int64, float64[:,::1])")
def _grow(waiting: Waiting, slot: int, whom: int, out: Ints, row: int, near: Floats) -> float:
    """Write down a group that adds the next cheapest player to one; return its cost.

    Returns:
        Infinity if there are too few whose present group costs more.
    """
    points, marks, terms = waiting[0], waiting[1], waiting[5]
    search = waiting[3][SEARCH]
    count = _look(waiting, slot, whom, near)
    out[row, 0] = slot
    cost = 0.0
    for seat in range(1, out.shape[1]):
        best, cost = NONE, np.inf
        for i in range(count):
            other = int(near[WHO, i])
            if marks[ROLE, other] < search:
                found = _cost_with(waiting, near, other)
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


@kernel(f"float64({WAITING}, int64, boolean, int64[:,::1], int64, float64[:,::1])")
def _find(
    waiting: Waiting, slot: int, at_any_cost: bool, out: Ints, row: int, near: Floats
) -> float:
    """Write down the group that a player finds; return its cost, infinity if there is none."""
    marks, numbers, counts = waiting[1], waiting[3], waiting[4]
    if counts[SIZE] < out.shape[1]:
        return np.inf
    numbers[SEARCH] += 1.0
    if at_any_cost:
        return _grow(waiting, slot, ANYONE, out, row, near)
    for _ in range(TRIES):
        cost = _grow(waiting, slot, THE_WILLING, out, row, near)
        is_willing = True
        if cost < np.inf:
            for seat in range(1, out.shape[1]):
                member = out[row, seat]
                if marks[COST, member] <= cost:
                    marks[ROLE, member] = numbers[SEARCH] + REFUSES
                    is_willing = False
            if is_willing:
                return cost
        elif out.shape[1] == 2:
            # Nobody is willing, so nobody is free.
            return np.inf
        else:
            break
    return _grow(waiting, slot, THE_FREE, out, row, near)


@kernel(f"void({WAITING}, int64[:,::1], int64)", inline=True)
def _take(waiting: Waiting, out: Ints, row: int) -> None:
    """Take the players in a row out of their groups."""
    marks, links = waiting[1], waiting[2]
    for seat in range(out.shape[1]):
        marks[SEEK, out[row, seat]] = GOES
    for seat in range(out.shape[1]):
        if links[PARTNER, out[row, seat]] != NONE:
            _dissolve(waiting, out[row, seat])


@kernel(f"void({WAITING}, float64, int64[:,::1], int64, float64)")
def _join(waiting: Waiting, now: float, out: Ints, row: int, cost: float) -> None:
    """Make a group of the players in a row, and say when it becomes definitive."""
    points, marks, links, numbers = waiting[:4]
    seats = out.shape[1]
    _take(waiting, out, row)
    oldest = np.inf
    for seat in range(seats):
        oldest = min(oldest, points[TIME, out[row, seat]])
    distance = cost / numbers[WEIGHT] if numbers[WEIGHT] > 0.0 else 0.0
    start = oldest if numbers[IS_FROM_ARRIVAL] != 0.0 else now
    due = start + round_up(numbers[FACTOR] * distance ** numbers[POWER])
    due = min(due, oldest + numbers[WAIT_MAX])
    if due <= now:
        due = AT_ONCE
        numbers[IS_DUE] = 1.0
    for seat in range(seats):
        member = out[row, seat]
        links[PARTNER, member] = out[row, (seat + 1) % seats]
        marks[COST, member], marks[SEEK, member] = cost, np.inf
        marks[DUE, member] = due


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
                and links[SEQUENCE, out[row, at - 1]] > links[SEQUENCE, slot]
            )
        ):
            out[row, at] = out[row, at - 1]
            at -= 1
        out[row, at] = slot
    for seat in range(out.shape[1]):
        free_slot(waiting, out[row, seat])


@kernel(f"int64({WAITING})", inline=True)
def _seeker(waiting: Waiting) -> int:
    """Return who looks next: one who was dropped, one of enough who are free, or a newcomer.

    Of each kind it is the oldest. If nobody has to look, the next instant is noted.
    """
    points, marks, links, numbers, counts = waiting[:5]
    oldest, newcomer, free, wake = NONE, NONE, 0, np.inf
    slot: int = counts[OLDEST]
    while slot != NONE:
        if marks[SEEK, slot] == DROPPED:
            return slot
        if marks[SEEK, slot] == NEW:
            if newcomer == NONE:
                newcomer = slot
        elif marks[COST, slot] == np.inf:
            free += 1
            if oldest == NONE:
                oldest = slot
            if links[FLAG, slot] == 0:
                wake = min(wake, points[TIME, slot] + numbers[WAIT_MAX])
        else:
            wake = min(wake, marks[DUE, slot])
        slot = links[YOUNGER, slot]
    numbers[WAKE] = wake
    return oldest if free >= numbers[SEATS] else newcomer


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
    links, numbers = waiting[2], waiting[3]
    numbers[IS_DUE] = 0.0
    slot = _due(waiting, now, fired)
    while slot != NONE:
        for seat in range(out.shape[1]):
            out[found, seat] = slot
            slot = links[PARTNER, slot]
        _write(waiting, out, found)
        found += 1
        slot = _due(waiting, now, fired)
    return found


@kernel(f"int64({WAITING}, float64, int64[:,::1], int64, float64[:,::1])", inline=True)
def _rearrange(waiting: Waiting, now: float, out: Ints, found: int, near: Floats) -> int:
    """Let everybody look who has to; return the number of matches so far."""
    marks, numbers = waiting[1], waiting[3]
    slot = _seeker(waiting)
    while slot != NONE:
        if marks[SEEK, slot] == NEW and numbers[IS_DUE] != 0.0:
            # What the newcomer before made definitive is not to be changed by this one.
            found = _commit(waiting, out, found, now, False)
        marks[SEEK, slot] = np.inf
        cost = _find(waiting, slot, False, out, found, near)
        if cost < np.inf:
            _join(waiting, now, out, found, cost)
        slot = _seeker(waiting)
    return found


@kernel(f"int64({WAITING}, float64, boolean, int64[:,::1])")
def decide(waiting: Waiting, now: float, fired: bool, out: Ints) -> int:
    """Make the matches of an instant; return how many.

    Complexity:
        O(n k) for each player who looks for a group, at most `TRIES` times.
    """
    numbers = waiting[3]
    others = out.shape[1] - 1
    near = np.empty((4, max(others if others == 1 else NEAR * others, waiting[5].shape[0])))
    found = 0
    if numbers[IS_WHOLE] == 0.0:
        numbers[IS_WHOLE] = 1.0
        _mend(waiting)
    again = True
    while again:
        found = _rearrange(waiting, now, out, found, near)
        is_late = numbers[WAKE] <= now
        if is_late:
            found = _commit(waiting, out, found, now, fired)
        slot = _overdue(waiting, now, fired)
        again = slot != NONE
        if again:
            _find(waiting, slot, True, out, found, near)
            _take(waiting, out, found)
            _write(waiting, out, found)
            found += 1
        elif is_late:
            _note_wake(waiting)
    return found
