"""The steps of `delay_greedy`: a pair meets once its waits add up to its distance, in cost.

The instant of a pair is known as soon as both players wait. Each player keeps one timer: the
earliest instant of all its pairs when it last looked. The player that looked last at a pair has it
in its timer, so the earliest timer is that of the earliest pair.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import TIME, pair_cost
from evenmatch.solvers.steps.range_search import find_within
from evenmatch.solvers.steps.waiting import (
    FIRST_NUMBER,
    FLAG,
    FOUND,
    NONE,
    OLDEST,
    PARTNER,
    WAIT_MAX,
    WAKE,
    YOUNGER,
    Ints,
    WaitingRoster,
    free_slot,
    is_due,
    is_early,
    next_instant,
    ready_at,
    round_up,
    wake_by,
    write_pair,
)

SECONDS = FIRST_NUMBER
"""Index in `numbers`: seconds that a pair waits in total for each unit of cost."""
MEETS, COSTS = range(2)
"""Marks: the instant at which a player meets its partner, and the criteria cost of that pair."""
STALE = -1.0
"""An instant before all others: the player has to look again."""


@kernel("float64(WaitingRoster, int64, int64)", inline=True)
def ripe_at(waiting: WaitingRoster, one: int, two: int) -> float:
    """Return a lower bound on `meets_at`, without rules and rounding."""
    points, links, numbers = waiting.points, waiting.links, waiting.numbers
    terms, gates = waiting.terms, waiting.gates
    later = max(points[TIME, one], points[TIME, two])
    if links[FLAG, one] == 1 or links[FLAG, two] == 1:
        return later
    cost = pair_cost(points, terms, gates, 0.0, one, two)
    waited = later - min(points[TIME, one], points[TIME, two])
    return later + max(0.5 * (numbers[SECONDS] * cost - waited), 0.0)


@kernel("float64(WaitingRoster, int64, int64)", inline=True)
def meets_at(waiting: WaitingRoster, one: int, two: int) -> float:
    """Return the instant at which two players have waited long enough for each other.

    A player past its deadline waits only for the rules.
    """
    points, links, numbers = waiting.points, waiting.links, waiting.numbers
    terms, gates = waiting.terms, waiting.gates
    cost = pair_cost(points, terms, gates, 0.0, one, two)
    if cost == np.inf:
        return np.inf
    at = ready_at(waiting, one, two)
    if links[FLAG, one] == 1 or links[FLAG, two] == 1:
        return at
    later = max(points[TIME, one], points[TIME, two])
    waited = later - min(points[TIME, one], points[TIME, two])
    owed = 0.5 * (numbers[SECONDS] * cost - waited)
    return max(at, later + round_up(max(owed, 0.0)))


@kernel("void(WaitingRoster, int64)")
def look(waiting: WaitingRoster, slot: int) -> None:
    """Set the earliest instant at which a player and another may meet; ties to the older."""
    marks, links = waiting.marks, waiting.links
    partner, soonest = NONE, np.inf
    for found in range(find_within(waiting, slot)):
        other = links[FOUND, found]
        # Rounding up is slow, and makes no instant earlier.
        if ripe_at(waiting, other, slot) < soonest:
            at = meets_at(waiting, other, slot)
            if at < soonest:
                partner, soonest = other, at
    marks[MEETS, slot], links[PARTNER, slot] = soonest, partner
    if partner != NONE:
        terms, gates = waiting.terms, waiting.gates
        marks[COSTS, slot] = pair_cost(waiting.points, terms, gates, 0.0, partner, slot)


@kernel("int64(WaitingRoster, int64, float64)")
def cheapest(waiting: WaitingRoster, slot: int, now: float) -> int:
    """Return the cheapest partner that a player at its deadline can play with now."""
    points, links, terms, gates = waiting.points, waiting.links, waiting.terms, waiting.gates
    partner, least = NONE, np.inf
    for found in range(find_within(waiting, slot)):
        other = links[FOUND, found]
        cost = pair_cost(points, terms, gates, 0.0, other, slot)
        if cost < least and ready_at(waiting, other, slot) <= now:
            partner, least = other, cost
    return partner


@kernel("void(WaitingRoster, int64, float64)")
def arrive(waiting: WaitingRoster, slot: int, now: float) -> None:  # noqa: ARG001
    """Find when a newcomer meets a partner; `now` is there because all policies' steps get it."""
    look(waiting, slot)
    wake_by(waiting, waiting.marks[MEETS, slot])
    wake_by(waiting, waiting.points[TIME, slot] + waiting.numbers[WAIT_MAX])


@kernel("void(WaitingRoster, int64)")
def leave(waiting: WaitingRoster, slot: int) -> None:
    """Remove a player; those who would have met it look again."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    free_slot(waiting, slot)
    other = counts[OLDEST]
    while other != NONE:
        if links[PARTNER, other] == slot:
            links[PARTNER, other] = NONE
            marks[MEETS, other] = STALE
            wake_by(waiting, STALE)
        other = links[YOUNGER, other]


@kernel("int64(WaitingRoster, float64, boolean)", inline=True)
def _first_due(waiting: WaitingRoster, now: float, fired: bool) -> int:
    """Return the player with the earliest timer if it is due; ties to the cheapest, then oldest."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    first, soonest, least = NONE, np.inf, np.inf
    slot = counts[OLDEST]
    while slot != NONE:
        if marks[MEETS, slot] == STALE:
            look(waiting, slot)
        at = marks[MEETS, slot]
        is_sooner = at < soonest or (at == soonest and marks[COSTS, slot] < least)
        if is_sooner and is_due(at, now, fired):
            first, soonest, least = slot, at, marks[COSTS, slot]
        slot = links[YOUNGER, slot]
    return first


@kernel("int64(WaitingRoster, float64, boolean)", inline=True)
def _first_overdue(waiting: WaitingRoster, now: float, fired: bool) -> int:
    """Return the oldest player whose deadline has come and has not been noticed yet."""
    points, links, numbers, counts = waiting.points, waiting.links, waiting.numbers, waiting.counts
    slot: int = counts[OLDEST]
    while slot != NONE:
        deadline = points[TIME, slot] + numbers[WAIT_MAX]
        if links[FLAG, slot] == 0 and (deadline < now or (deadline == now and fired)):
            return slot
        slot = links[YOUNGER, slot]
    return slot


@kernel("void(WaitingRoster, int64, int64, int64[:,::1], int64)", inline=True)
def _pair(waiting: WaitingRoster, one: int, two: int, out: Ints, count: int) -> None:
    """Write a match, the older player first, and remove both."""
    write_pair(waiting, one, two, out, count)
    leave(waiting, one)
    leave(waiting, two)


@kernel("int64(WaitingRoster, float64, boolean, int64[:,::1])")
def decide(waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:
    """Make the matches of an instant, and set `WAKE` to the next instant to decide.

    Returns:
        Their number; their slots, which are free now, are in the rows of `out`.

    Complexity:
        O(n) for each match and for each player who looks again.
    """
    marks, links, numbers = waiting.marks, waiting.links, waiting.numbers
    found = 0
    if is_early(waiting, now, fired):
        return found
    while True:
        slot = _first_due(waiting, now, fired)
        if slot != NONE:
            _pair(waiting, slot, links[PARTNER, slot], out, found)
            found += 1
            continue
        slot = _first_overdue(waiting, now, fired)
        if slot == NONE:
            break
        links[FLAG, slot] = 1
        marks[MEETS, slot] = STALE
        partner = cheapest(waiting, slot, now)
        if partner != NONE:
            _pair(waiting, slot, partner, out, found)
            found += 1
    numbers[WAKE] = next_instant(waiting, MEETS)
    return found
