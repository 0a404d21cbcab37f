"""The compiled run: arrivals, deadlines and a policy's steps in one loop, as in the engine.

At one instant, arrivals come before everything that is due; then the policy decides; then tickets
whose deadline has come play with the longest waiting and bots, or expire, or stay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.matching.pairs import FIRST_VALUE, TIME, Floats
from evenmatch.solvers.steps import (
    delay_greedy,
    difference_wait,
    gap_value,
    greedy,
    group_price,
    multi_queue,
    periodic,
    price,
)
from evenmatch.solvers.steps.policy_numbers import (
    DELAY_GREEDY,
    DIFFERENCE_WAIT,
    GAP_VALUE,
    GREEDY,
    GROUP_PRICE,
    MULTI_QUEUE,
    PERIODIC,
    PRICE,
)
from evenmatch.solvers.steps.skip_list import link
from evenmatch.solvers.steps.waiting import (
    CLOCK,
    FREE_TOP,
    NONE,
    OLDEST,
    SEQUENCE,
    WAIT_MAX,
    WAKE,
    YOUNGER,
    Ints,
    WaitingRoster,
    free_slot,
    take_slot,
)

EXPIRE, BOTS, KEEP = range(3)
"""What happens to a ticket at its deadline."""
ROW, MADE, MET, STOP = range(4)
STATE = 4
"""State of a run between two calls: see `play`."""
OVER, MERGED = 1, 2
"""How a ticket ended: it waits no more, or it came while its player waited already."""


@record(
    "float64[::1], float64[:,::1], int64[::1], int64[::1], int8[::1], int64[:,::1], float64[::1], "
    "float64[::1]"
)
class CompiledRun(NamedTuple):
    """Arrivals, and arrays for the results.

    Args:
        times: Shape (arrivals,): instants in seconds, ascending.
        values: Shape (rows of values, arrivals): scaled, as in the pool from `FIRST_VALUE` on.
        players: Shape (arrivals,): number of the player; -1 of one who comes only once.
        latest: Shape (players,): the last accepted arrival of each, -1 = none.
        ends: Shape (arrivals,), zeros: filled with `OVER` and `MERGED`.
        tickets: Filled with the arrivals of each match by age, -1 for bots.
        at: Filled with the instant of each match.
        expired_at: Filled with the instants at which tickets expired.
    """

    times: Floats
    values: Floats
    players: Ints
    latest: Ints
    ends: NDArray[np.int8]
    tickets: Ints
    at: Floats
    expired_at: Floats


@kernel("void(int64, WaitingRoster, int64, float64)", inline=True)
def arrive(kind: int, waiting: WaitingRoster, slot: int, now: float) -> None:
    """Tell a policy of a newcomer."""
    if kind == PRICE:
        price.arrive(waiting, slot, now)
    elif kind == DELAY_GREEDY:
        delay_greedy.arrive(waiting, slot, now)
    elif kind == GROUP_PRICE:
        group_price.arrive(waiting, slot, now)
    elif kind == GAP_VALUE:
        gap_value.arrive(waiting, slot, now)
    elif kind == PERIODIC:
        periodic.arrive(waiting, slot, now)
    elif kind == MULTI_QUEUE:
        multi_queue.arrive(waiting, slot, now)
    elif kind == DIFFERENCE_WAIT:
        difference_wait.arrive(waiting, slot, now)


@kernel("int64(int64, WaitingRoster, float64, boolean, int64[:,::1])", inline=True)
def decide(kind: int, waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:
    """Let a policy make its matches; return how many."""
    found = 0
    if kind == PRICE:
        found = price.decide(waiting, now, fired, out)
    elif kind == DELAY_GREEDY:
        found = delay_greedy.decide(waiting, now, fired, out)
    elif kind == GROUP_PRICE:
        found = group_price.decide(waiting, now, fired, out)
    elif kind == GAP_VALUE:
        found = gap_value.decide(waiting, now, fired, out)
    elif kind == GREEDY:
        found = greedy.decide(waiting, now, fired, out)
    elif kind == PERIODIC:
        found = periodic.decide(waiting, now, fired, out)
    elif kind == MULTI_QUEUE:
        found = multi_queue.decide(waiting, now, fired, out)
    elif kind == DIFFERENCE_WAIT:
        found = difference_wait.decide(waiting, now, fired, out)
    return found


@kernel("void(int64, WaitingRoster, int64)", inline=True)
def leave(kind: int, waiting: WaitingRoster, slot: int) -> None:
    """Remove a player whom the policy has not matched."""
    if kind == PRICE:
        price.forget(waiting, slot)
    elif kind == DELAY_GREEDY:
        delay_greedy.leave(waiting, slot)
    elif kind == GROUP_PRICE:
        group_price.leave(waiting, slot)
    elif kind == GAP_VALUE:
        gap_value.leave(waiting, slot)
    elif kind == DIFFERENCE_WAIT:
        difference_wait.leave(waiting, slot)
    elif kind in (GREEDY, PERIODIC, MULTI_QUEUE):
        free_slot(waiting, slot)


@kernel("int64(WaitingRoster, int64)", inline=True)
def _next_overdue(waiting: WaitingRoster, met: int) -> int:
    """Return the first player by age whose deadline has not been handled yet."""
    links, counts = waiting.links, waiting.counts
    slot: int = counts[OLDEST]
    while slot != NONE and links[SEQUENCE, slot] <= met:
        slot = links[YOUNGER, slot]
    return slot


@kernel("int64(WaitingRoster, float64, int64, int64[:,::1], CompiledRun, int64)", inline=True)
def _write(
    waiting: WaitingRoster, now: float, found: int, slots: Ints, run: CompiledRun, made: int
) -> int:
    """Write matches as indices of arrivals; return how many there are in all."""
    links = waiting.links
    for match in range(found):
        for seat in range(slots.shape[1]):
            ticket = links[SEQUENCE, slots[match, seat]] - 1
            run.tickets[made, seat] = ticket
            run.ends[ticket] = OVER
        run.at[made] = now
        made += 1
    return made


@kernel(
    "int64(int64, WaitingRoster, int64, float64, int64[:,::1], CompiledRun, int64[::1])",
    allocates=False,
)
def fire(
    kind: int,
    waiting: WaitingRoster,
    on_deadline: int,
    now: float,
    slots: Ints,
    run: CompiledRun,
    state: Ints,
) -> int:
    """Do everything that is due at an instant; return the number of matches so far."""
    links, numbers, counts = waiting.links, waiting.numbers, waiting.counts
    points = waiting.points
    seats = slots.shape[1]
    numbers[CLOCK] = now
    found = decide(kind, waiting, now, True, slots)
    made = _write(waiting, now, found, slots, run, state[MADE])
    is_changed = False
    slot = _next_overdue(waiting, state[MET])
    while slot != NONE and points[TIME, slot] + numbers[WAIT_MAX] <= now:
        state[MET] = links[SEQUENCE, slot]
        if on_deadline == EXPIRE:
            run.expired_at[links[SEQUENCE, slot] - 1] = now
            run.ends[links[SEQUENCE, slot] - 1] = OVER
            leave(kind, waiting, slot)
            is_changed = True
        elif on_deadline == BOTS:
            # The overdue player is the oldest whose deadline was not handled: all play with bots.
            run.tickets[made, :] = NONE
            run.at[made] = now
            for seat in range(seats):
                if counts[OLDEST] != NONE:
                    ticket = links[SEQUENCE, counts[OLDEST]] - 1
                    run.tickets[made, seat] = ticket
                    run.ends[ticket] = OVER
                    leave(kind, waiting, counts[OLDEST])
            made += 1
            is_changed = True
        slot = _next_overdue(waiting, state[MET])
    if is_changed:
        found = decide(kind, waiting, now, True, slots)
        made = _write(waiting, now, found, slots, run, made)
    return made


@kernel("boolean(CompiledRun, int64)", inline=True, allocates=False)
def _waits_already(run: CompiledRun, row: int) -> bool:
    """Return whether the player of an arrival waits; if not, make the arrival their latest."""
    player = run.players[row]
    if player == NONE:
        return False
    before = run.latest[player]
    if before != NONE and run.ends[before] == 0:
        run.ends[row] = MERGED
        return True
    run.latest[player] = row
    return False


@kernel("void(int64, WaitingRoster, int64, int64[:,::1], CompiledRun, int64[::1])", allocates=False)
def play(
    kind: int,
    waiting: WaitingRoster,
    on_deadline: int,
    slots: Ints,
    run: CompiledRun,
    state: Ints,
) -> None:
    """Run arrivals from `state[ROW]` on, until the last one, or until the pool is full.

    Args:
        kind: The policy.
        waiting: The pool, with the policy's parameters.
        on_deadline: `EXPIRE`, `BOTS` or `KEEP`.
        slots: Room for the matches of one decision; as many columns as seats.
        run: Arrivals; the results are filled in.
        state: `ROW`, `MADE`, `MET`, `STOP`: next arrival, matches so far, last sequence whose
            deadline was handled, arrival to stop at (one beyond the last: run to the end).

    Complexity:
        That of the policy's steps.
    """
    points, numbers, counts = waiting.points, waiting.numbers, waiting.counts
    times, values = run.times, run.values
    count = times.shape[0]
    while state[ROW] < state[STOP]:
        row = state[ROW]
        arrives_at = times[row] if row < count else np.inf
        while counts[OLDEST] != NONE:
            due = numbers[WAKE]
            slot = _next_overdue(waiting, state[MET])
            if slot != NONE:
                due = min(due, points[TIME, slot] + numbers[WAIT_MAX])
            if not due < arrives_at:
                break
            state[MADE] = fire(kind, waiting, on_deadline, due, slots, run, state)
        if row < count and counts[FREE_TOP] == 0:
            return
        if row < count:
            # Whoever waits already comes, too: the run goes on until then.
            numbers[CLOCK] = arrives_at
            if not _waits_already(run, row):
                slot = take_slot(waiting, row + 1, arrives_at)
                for value in range(values.shape[0]):
                    points[FIRST_VALUE + value, slot] = values[value, row]
                link(points, waiting.links, numbers, counts, slot)
                arrive(kind, waiting, slot, arrives_at)
                found = decide(kind, waiting, arrives_at, False, slots)
                state[MADE] = _write(waiting, arrives_at, found, slots, run, state[MADE])
        state[ROW] += 1
