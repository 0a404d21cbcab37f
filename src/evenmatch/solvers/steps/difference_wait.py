"""The steps of `difference_wait`: tentative groups that wait longer the more they differ."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import TIME, Floats
from evenmatch.solvers.steps.skip_list import LEFT, is_older
from evenmatch.solvers.steps.skip_list_search import (
    COST,
    DROPPED,
    DUE,
    GOES,
    NEW,
    ROLE,
    SEEK,
    note,
    note_all,
)
from evenmatch.solvers.steps.tentative import (
    AT_EASE,
    DROPS,
    FIRST_NUMBER_AFTER,
    dissolve,
    find,
    mend,
    rows_to_work_in,
    take,
)
from evenmatch.solvers.steps.waiting import (
    FLAG,
    FOUND,
    NONE,
    OLDEST,
    PARTNER,
    SEQUENCE,
    SIZE,
    WAIT_MAX,
    WAKE,
    WEIGHT,
    YOUNGER,
    Ints,
    WaitingRoster,
    free_slot,
    round_up,
)

FACTOR, POWER, IS_FROM_ARRIVAL, SEATS, IS_WHOLE, IS_DUE = range(
    FIRST_NUMBER_AFTER, FIRST_NUMBER_AFTER + 6
)
"""Numbers: of the wait factor * distance ** power, in seconds; whether it starts at the arrival
of the oldest; players of a match; whether all groups are known to be whole; whether a group is to
become definitive at once."""
AT_ONCE = -1.0
"""An instant before all others."""


@kernel("void(WaitingRoster, int64, float64)")
def arrive(waiting: WaitingRoster, slot: int, now: float) -> None:  # noqa: ARG001
    """Mark a newcomer as searching for a group."""
    waiting.marks[SEEK, slot], waiting.marks[ROLE, slot] = NEW, 0.0


@kernel("void(WaitingRoster, int64)")
def leave(waiting: WaitingRoster, slot: int) -> None:
    """Remove a player; the rest of their group search for another one."""
    waiting.marks[SEEK, slot] = GOES
    dissolve(waiting, slot)
    free_slot(waiting, slot)


@kernel("void(WaitingRoster, float64, int64[:,::1], int64, float64)")
def _join(waiting: WaitingRoster, now: float, out: Ints, row: int, cost: float) -> None:
    """Make a group of the players in a row, and set when it becomes definitive."""
    points, marks, links, numbers = waiting.points, waiting.marks, waiting.links, waiting.numbers
    seats = out.shape[1]
    take(waiting, out, row)
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
        note(waiting, member)


@kernel("void(WaitingRoster, int64[:,::1], int64)", inline=True)
def _write(waiting: WaitingRoster, out: Ints, row: int) -> None:
    """Sort the players of a match by age, and remove them."""
    points, links = waiting.points, waiting.links
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
        before = links[LEFT, out[row, seat]]
        free_slot(waiting, out[row, seat])
        if before != NONE:
            note(waiting, before)


@kernel("void(WaitingRoster)", inline=True)
def _note_seekers(waiting: WaitingRoster) -> None:
    """Write the dropped players into a row, and count those at ease."""
    marks, links, numbers, counts = waiting.marks, waiting.links, waiting.numbers, waiting.counts
    numbers[DROPS] = numbers[AT_EASE] = 0.0
    slot = counts[OLDEST]
    while slot != NONE:
        if marks[SEEK, slot] == DROPPED:
            links[FOUND, int(numbers[DROPS])] = slot
            numbers[DROPS] += 1.0
        elif marks[SEEK, slot] != NEW and marks[COST, slot] == np.inf:
            numbers[AT_EASE] += 1.0
        slot = links[YOUNGER, slot]


@kernel("int64(WaitingRoster)", inline=True)
def _oldest_dropped(waiting: WaitingRoster) -> int:
    """Return the oldest dropped player who still searches."""
    points, marks, links, numbers = waiting.points, waiting.marks, waiting.links, waiting.numbers
    oldest, kept = NONE, 0
    for each in range(int(numbers[DROPS])):
        slot = links[FOUND, each]
        if marks[SEEK, slot] == DROPPED:
            links[FOUND, kept] = slot
            kept += 1
            if oldest == NONE or is_older(points, links, slot, oldest):
                oldest = slot
    numbers[DROPS] = kept
    return oldest


@kernel("int64(WaitingRoster, int64)", inline=True)
def _newcomer(waiting: WaitingRoster, slot: int) -> int:
    """Return the first player by age, starting from one, who has not searched yet."""
    marks, links = waiting.marks, waiting.links
    while slot != NONE and marks[SEEK, slot] != NEW:
        slot = links[YOUNGER, slot]
    return slot


@kernel("int64(WaitingRoster)", inline=True)
def _oldest_at_ease(waiting: WaitingRoster) -> int:
    """Return the oldest player without a group who has searched for one."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    slot: int = counts[OLDEST]
    while marks[COST, slot] < np.inf or marks[SEEK, slot] < np.inf:
        slot = links[YOUNGER, slot]
    return slot


@kernel("int64(WaitingRoster, float64, boolean)", inline=True)
def _due(waiting: WaitingRoster, now: float, fired: bool) -> int:
    """Return the oldest player whose group has become definitive."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    slot: int = counts[OLDEST]
    while slot != NONE:
        due = marks[DUE, slot]
        if due < now or (due == now and fired):
            return slot
        slot = links[YOUNGER, slot]
    return NONE


@kernel("void(WaitingRoster)", inline=True)
def _note_wake(waiting: WaitingRoster) -> None:
    """Set `WAKE` to when the next group becomes definitive, or a player without one is overdue."""
    points, marks, links = waiting.points, waiting.marks, waiting.links
    numbers, counts = waiting.numbers, waiting.counts
    wake = np.inf
    slot = counts[OLDEST]
    while slot != NONE:
        wake = min(wake, marks[DUE, slot])
        if marks[COST, slot] == np.inf and links[FLAG, slot] == 0:
            wake = min(wake, points[TIME, slot] + numbers[WAIT_MAX])
        slot = links[YOUNGER, slot]
    numbers[WAKE] = wake


@kernel("int64(WaitingRoster, float64, boolean)", inline=True)
def _overdue(waiting: WaitingRoster, now: float, fired: bool) -> int:
    """Mark overdue players, and return the oldest without a group if enough players are there."""
    points, marks, links = waiting.points, waiting.marks, waiting.links
    numbers, counts = waiting.numbers, waiting.counts
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


@kernel("int64(WaitingRoster, int64[:,::1], int64, float64, boolean)", inline=True)
def _commit(waiting: WaitingRoster, out: Ints, found: int, now: float, fired: bool) -> int:
    """Write all groups that have become definitive; return the number of matches so far."""
    links, numbers = waiting.links, waiting.numbers
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


@kernel("int64(WaitingRoster, float64, int64[:,::1], int64, float64[:,::1])", inline=True)
def _rearrange(waiting: WaitingRoster, now: float, out: Ints, found: int, near: Floats) -> int:
    """Let all players search who have to; return the number of matches so far.

    First dropped players, then one of those at ease, if they are enough for a group, then
    newcomers; the oldest of each.
    """
    marks, numbers, counts = waiting.marks, waiting.numbers, waiting.counts
    _note_seekers(waiting)
    newcomer = _newcomer(waiting, counts[OLDEST])
    if newcomer != NONE or numbers[DROPS] > 0.0 or numbers[AT_EASE] >= numbers[SEATS]:
        note_all(waiting)
    while True:
        slot = _oldest_dropped(waiting)
        if slot == NONE and numbers[AT_EASE] >= numbers[SEATS]:
            slot = _oldest_at_ease(waiting)
        if slot == NONE:
            slot = newcomer = _newcomer(waiting, newcomer)
            if slot == NONE:
                break
            if numbers[IS_DUE] != 0.0:
                # What the newcomer before made definitive must not be changed by this one.
                found = _commit(waiting, out, found, now, False)
        if marks[SEEK, slot] < np.inf and marks[COST, slot] == np.inf:
            numbers[AT_EASE] += 1.0
        marks[SEEK, slot] = np.inf
        note(waiting, slot)
        cost = find(waiting, slot, False, out, found, near)
        if cost < np.inf:
            _join(waiting, now, out, found, cost)
    _note_wake(waiting)
    return found


@kernel("int64(WaitingRoster, float64, boolean, int64[:,::1])")
def decide(waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:
    """Make the matches of an instant; return how many.

    Complexity:
        O(n + k^2) for each player who searches for a group.
    """
    numbers = waiting.numbers
    near = rows_to_work_in(out.shape[1], waiting.terms.shape[0])
    found = 0
    if numbers[IS_WHOLE] == 0.0:
        numbers[IS_WHOLE] = 1.0
        mend(waiting)
    again = True
    while again:
        found = _rearrange(waiting, now, out, found, near)
        is_late = numbers[WAKE] <= now
        if is_late:
            found = _commit(waiting, out, found, now, fired)
        slot = _overdue(waiting, now, fired)
        again = slot != NONE
        if again:
            find(waiting, slot, True, out, found, near)
            take(waiting, out, found)
            _write(waiting, out, found)
            found += 1
        elif is_late:
            _note_wake(waiting)
    return found
