"""The steps of `delay_greedy`: a pair meets when both waits together reach its distance, in cost.

The instant of a pair is known as soon as both are there, so each player keeps one timer: the
earliest instant of all its pairs at the time it last looked. Whoever looked last at a pair knows
of it; so the earliest timer of all is the earliest pair.
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
"""Number: how long both wait together for each unit of cost."""
MEETS, COSTS = range(2)
"""Marks: the instant at which a player meets its partner, and what that costs in criteria."""
STALE = -1.0
"""An instant before all others: the player has to look around again."""


@kernel("float64(WaitingRoster, int64, int64)", inline=True)
def ripe_at(waiting: WaitingRoster, one: int, two: int) -> float:
    """Return an instant that `meets_at` is never before, without rules and rounding."""
    points, links, numbers = waiting.points, waiting.links, waiting.numbers
    terms, gates = waiting.terms, waiting.gates
    later = max(points[TIME, one], points[TIME, two])
    if links[FLAG, one] == 1 or links[FLAG, two] == 1:
        return later
    cost = pair_cost(points, terms, gates, 0.0, one, two)
    waited = later - min(points[TIME, one], points[TIME, two])
    return later + max(0.5 * (numbers[SECONDS] * cost - waited), 0.0)


@kernel("float64(WaitingRoster, int64, int64, boolean)", inline=True)
def meets_at(waiting: WaitingRoster, one: int, two: int, is_overdue: bool) -> float:
    """Return the instant at which two players have waited long enough for each other.

    Someone whose deadline has passed waits for nothing but the rules.
    """
    points, links, numbers = waiting.points, waiting.links, waiting.numbers
    terms, gates = waiting.terms, waiting.gates
    cost = pair_cost(points, terms, gates, 0.0, one, two)
    if cost == np.inf:
        return np.inf
    at = ready_at(waiting, one, two)
    if is_overdue or links[FLAG, one] == 1 or links[FLAG, two] == 1:
        return at
    later = max(points[TIME, one], points[TIME, two])
    waited = later - min(points[TIME, one], points[TIME, two])
    owed = 0.5 * (numbers[SECONDS] * cost - waited)
    return max(at, later + round_up(max(owed, 0.0)))


@kernel("void(WaitingRoster, int64)")
def look(waiting: WaitingRoster, slot: int) -> None:
    """Note the earliest instant at which a player and another may meet; ties to the older."""
    marks, links = waiting.marks, waiting.links
    partner, soonest = NONE, np.inf
    for found in range(find_within(waiting, slot)):
        other = links[FOUND, found]
        # Rounding up is dear, and makes nothing sooner.
        if ripe_at(waiting, other, slot) < soonest:
            at = meets_at(waiting, other, slot, False)
            if at < soonest:
                partner, soonest = other, at
    marks[MEETS, slot], links[PARTNER, slot] = soonest, partner
    if partner != NONE:
        terms, gates = waiting.terms, waiting.gates
        marks[COSTS, slot] = pair_cost(waiting.points, terms, gates, 0.0, partner, slot)


@kernel("int64(WaitingRoster, int64, float64)")
def cheapest(waiting: WaitingRoster, slot: int, now: float) -> int:
    """Return whom a player at its deadline can play with at the least cost now."""
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
    """Find out when a newcomer meets somebody; all steps are told the time, it is not needed."""
    look(waiting, slot)
    wake_by(waiting, waiting.marks[MEETS, slot])
    wake_by(waiting, waiting.points[TIME, slot] + waiting.numbers[WAIT_MAX])


@kernel("void(WaitingRoster, int64)")
def leave(waiting: WaitingRoster, slot: int) -> None:
    """Let a player go; whoever would have met it looks around again."""
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
    """Return whose timer is earliest if it is due; of equals the cheapest, then the oldest."""
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
    """Return the oldest player whose deadline has come and was not noticed yet."""
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
    """Write down a match, the older player first, and let both go."""
    write_pair(waiting, one, two, out, count)
    leave(waiting, one)
    leave(waiting, two)


@kernel("int64(WaitingRoster, float64, boolean, int64[:,::1])")
def decide(waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:
    """Make the matches of an instant, and note in `WAKE` when to ask again.

    Returns:
        Their number; their slots, which are free now, are in the rows of `out`.

    Complexity:
        O(n) for each match and for each player who looks around again.
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
