"""Waiting single players as arrays: their slots, the order of age, and when two of them may play.

A policy's step functions get all of a pool as one record of arrays, `WaitingRoster`. The engine's
matcher calls the step functions one by one; a compiled run calls the same ones in a loop. So a
policy is written once, and a simulation of a million players makes the engine's matches.

Points are the columns of `matching.pairs`: time, last instant, side, owner, the scaled value for
each term of the cost, then the value for each gate and each rule. A player keeps its slot from
entry to leave. Slots are linked by (time, sequence), oldest first, and by value if a policy needs
that (`skip_list`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.matching.pairs import FIRST_VALUE, OWNER, TIME, UNTIL
from evenmatch.solvers.steps.skip_list import (
    AXIS,
    LANE_LINKS,
    LANES,
    LEFT,
    LEFTMOST,
    LOOSE,
    NO_AXIS,
    REACH,
    unlink,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SEQUENCE, OLDER, YOUNGER, PARTNER, FLAG, FREE, FOUND = range(7)
LINKS = LEFT + LANE_LINKS
SIZE, OLDEST, YOUNGEST, FREE_TOP, NEWEST, NOTED = range(6)
COUNTS = LEFTMOST
MARKS = 4
NUMBERS = 32
PRICE, WAIT_MAX, WEIGHT, WAKE, CLOCK = range(5)
"""The first numbers: price of a second, longest wait, sum of all weights, the next instant to
decide, and, in a compiled run, the last one."""
FIRST_NUMBER = 8
"""From here on the numbers are a policy's own; those before are for `skip_list`."""

RELATIVE, EITHER, LIMIT, RATE, TOP, FORM, FIRST_STEP, LAST_STEP = range(8)
"""Columns of a rule; `FORM` says how its limit grows."""
NEVER, BY_RATE, BY_STEPS, BY_CURVE = 0.0, 1.0, 2.0, 3.0

RATE_OF = 50
"""Number of arrivals from which the rate is estimated."""
PRIOR = 0.1
"""Weight of the guess before any arrival, as a cost in waiting."""
TICKS = 2.0**20
NONE = -1


@record(
    "float64[:,::1], float64[:,::1], int64[:,::1], float64[::1], int64[::1], float64[:,::1], "
    "float64[::1], float64[:,::1], float64[:,::1], float64[:,::1]"
)
class WaitingRoster(NamedTuple):
    """A pool of single players.

    Args:
        points: Shape (rows, slots): see above.
        marks: Shape (MARKS, slots): a policy's data on each slot.
        links: Shape (LINKS, slots): sequence, neighbours by age, partner; the stack of free slots;
            a row to write slots into; and neighbours by value, see `skip_list`.
        numbers: Shape (NUMBERS,): the policy's parameters and state; each policy names its own.
        counts: Shape (COUNTS + LANES,): see `SIZE` and the names after it; then the first slot of
            each lane.
        terms: Shape (terms, 5): of the cost, see `matching.pairs`.
        gates: Shape (gates,): widest gap that may ever play, one for each row after the terms.
        rules: Shape (rules, 8): see `RELATIVE` and the names after it; their values stand after
            those of the gates.
        steps: Shape (2, any): waits and limits of expansions by steps or curve.
        samples: Shape (terms + 2, any): a ring of the last arrivals: instants, values; and a row
            of workspace.
    """

    points: Floats
    marks: Floats
    links: Ints
    numbers: Floats
    counts: Ints
    terms: Floats
    gates: Floats
    rules: Floats
    steps: Floats
    samples: Floats


@kernel("float64(float64)", inline=True)
def round_up(seconds: float) -> float:
    """Return the first instant of the time grid at or after `seconds`."""
    ticks = seconds * TICKS
    if ticks < np.inf:
        return np.ceil(ticks) / TICKS
    return seconds


@kernel("float64(float64[:,::1], float64[:,::1], int64, float64)", inline=True)
def when(rules: Floats, steps: Floats, rule: int, gap: float) -> float:
    """Return the wait from which on a rule's limit reaches a gap; `criteria.expansion.inverse`."""
    limit, form = rules[rule, LIMIT], rules[rule, FORM]
    if gap <= limit:
        return 0.0
    if form == NEVER or gap > rules[rule, TOP]:
        return np.inf
    if form == BY_RATE:
        ticks = (gap - limit) / rules[rule, RATE] * TICKS
        if ticks < np.inf:
            return np.ceil(ticks) / TICKS
        return np.inf
    first, last = int(rules[rule, FIRST_STEP]), int(rules[rule, LAST_STEP])
    at = first
    while at < last and steps[1, at] < gap:
        at += 1
    if at == last:
        return np.inf
    if form == BY_STEPS:
        return round_up(steps[0, at])
    if at == first:
        return 0.0
    x0, y0, x1, y1 = steps[0, at - 1], steps[1, at - 1], steps[0, at], steps[1, at]
    return round_up(x0 + (x1 - x0) * (gap - y0) / (y1 - y0))


@kernel("float64(float64, float64)", inline=True)
def _share(gap: float, value: float) -> float:
    if value == 0.0:
        return 0.0 if gap == 0.0 else np.inf
    return gap / abs(value)


@kernel("float64(WaitingRoster, int64, int64)", inline=True)
def ready_at(waiting: WaitingRoster, i: int, j: int) -> float:
    """Return the instant from which two slots may play by the rules; like `Rules.duel_ready_at`."""
    points, terms, gates = waiting.points, waiting.terms, waiting.gates
    rules, steps = waiting.rules, waiting.steps
    row = FIRST_VALUE + terms.shape[0] + gates.shape[0]
    one, two = points[TIME, i], points[TIME, j]
    both = max(one, two)
    at = both
    for rule in range(rules.shape[0]):
        mine, yours = points[row + rule, i], points[row + rule, j]
        gap = abs(mine - yours)
        if rules[rule, RELATIVE] == 0.0 and rules[rule, EITHER] == 0.0:
            found = both + when(rules, steps, rule, gap)
        else:
            own, other = gap, gap
            if rules[rule, RELATIVE] != 0.0:
                own, other = _share(gap, mine), _share(gap, yours)
            first = one + when(rules, steps, rule, own)
            second = two + when(rules, steps, rule, other)
            if rules[rule, EITHER] != 0.0:
                found = max(both, min(first, second))
            else:
                found = max(first, second)
        at = max(at, found)
    return at


@kernel("int64(WaitingRoster, int64, float64)", inline=True)
def take_slot(waiting: WaitingRoster, sequence: int, at: float) -> int:
    """Take a free slot for a player; its values are still to be written.

    Args:
        waiting: The pool; it must have room.
        sequence: Larger for later acceptance.
        at: Instant at which the player was enqueued.

    Returns:
        The slot, linked in the order of age.

    Complexity:
        O(1) for newcomers; the number of younger players for one who returns.
    """
    points, marks, links, counts = waiting.points, waiting.marks, waiting.links, waiting.counts
    counts[FREE_TOP] -= 1
    slot: int = links[FREE, counts[FREE_TOP]]
    points[TIME, slot], points[UNTIL, slot] = at, np.inf
    points[OWNER, slot] = slot
    links[SEQUENCE, slot], links[PARTNER, slot], links[FLAG, slot] = sequence, NONE, 0
    links[LEFT, slot] = LOOSE
    for row in range(marks.shape[0]):
        marks[row, slot] = np.inf
    older = counts[YOUNGEST]
    while older != NONE and (
        points[TIME, older] > at
        or (points[TIME, older] == at and links[SEQUENCE, older] > sequence)
    ):
        older = links[OLDER, older]
    younger = counts[OLDEST] if older == NONE else links[YOUNGER, older]
    links[OLDER, slot], links[YOUNGER, slot] = older, younger
    if older == NONE:
        counts[OLDEST] = slot
    else:
        links[YOUNGER, older] = slot
    if younger == NONE:
        counts[YOUNGEST] = slot
    else:
        links[OLDER, younger] = slot
    counts[SIZE] += 1
    return slot


@kernel("void(WaitingRoster, int64)", inline=True)
def free_slot(waiting: WaitingRoster, slot: int) -> None:
    """Give a slot back: O(1)."""
    links, counts = waiting.links, waiting.counts
    unlink(links, counts, slot)
    older, younger = links[OLDER, slot], links[YOUNGER, slot]
    if older == NONE:
        counts[OLDEST] = younger
    else:
        links[YOUNGER, older] = younger
    if younger == NONE:
        counts[YOUNGEST] = older
    else:
        links[OLDER, younger] = older
    links[FREE, counts[FREE_TOP]] = slot
    counts[FREE_TOP] += 1
    counts[SIZE] -= 1


@kernel("float64(int64, float64, float64)", inline=True)
def measured_rate(known: int, span: float, price: float) -> float:
    """Return the rate of n arrivals in a span that ends now, tickets per second.

    It is (n + 1) / (span + prior / (n + 1)), where the prior is the number of seconds that cost
    0.1: a guess before the second arrival, which loses weight with each.
    """
    return (known + 1.0) / (span + PRIOR / (price * (known + 1.0)))


@kernel("float64(WaitingRoster, float64, int64)", inline=True)
def arrival_rate(waiting: WaitingRoster, now: float, least: int) -> float:
    """Return the rate of the last `RATE_OF` arrivals, tickets per second.

    Args:
        waiting: The pool.
        now: The present instant.
        least: Least number of distinct instants; if there are fewer, more arrivals are counted.

    Complexity:
        O(`RATE_OF`), O(samples) if many arrive at one instant.
    """
    numbers, counts, samples = waiting.numbers, waiting.counts, waiting.samples
    room = samples.shape[1]
    kept, known, instants = min(counts[NOTED], room), 0, 0
    at, oldest = counts[NOTED] % room, now
    while known < kept and (known < RATE_OF or instants < least):
        at = at - 1 if at > 0 else room - 1
        instants += 1 if samples[0, at] != oldest else 0
        oldest = samples[0, at]
        known += 1
    return measured_rate(known, now - oldest, numbers[PRICE])


@kernel("void(WaitingRoster, int64, float64)", inline=True)
def note_arrival(waiting: WaitingRoster, slot: int, now: float) -> None:
    """Store an arrival's instant and values in place of the oldest."""
    points, counts, samples = waiting.points, waiting.counts, waiting.samples
    at = counts[NOTED] % samples.shape[1]
    samples[0, at] = now
    for term in range(samples.shape[0] - 2):
        samples[1 + term, at] = points[FIRST_VALUE + term, slot]
    counts[NOTED] += 1


@kernel("void(WaitingRoster, int64, int64, int64[:,::1], int64)", inline=True)
def write_pair(waiting: WaitingRoster, one: int, two: int, out: Ints, count: int) -> None:
    """Write a match of two, the older player first."""
    points, links = waiting.points, waiting.links
    is_older = points[TIME, one] < points[TIME, two] or (
        points[TIME, one] == points[TIME, two] and links[SEQUENCE, one] < links[SEQUENCE, two]
    )
    out[count, 0], out[count, 1] = (one, two) if is_older else (two, one)


@kernel("float64(WaitingRoster, int64)", inline=True)
def next_instant(waiting: WaitingRoster, mark: int) -> float:
    """Return the first of all instants in a row of marks and of all deadlines not marked yet."""
    points, marks, links = waiting.points, waiting.marks, waiting.links
    numbers, counts = waiting.numbers, waiting.counts
    at = np.inf
    slot = counts[OLDEST]
    while slot != NONE:
        at = min(at, marks[mark, slot])
        if links[FLAG, slot] == 0:
            at = min(at, points[TIME, slot] + numbers[WAIT_MAX])
        slot = links[YOUNGER, slot]
    return at


@kernel("boolean(float64, float64, boolean)", inline=True)
def is_due(at: float, now: float, fired: bool) -> bool:
    """Return whether an instant has come for a player.

    One equal to `now` waits until it is fired, since more arrivals may share it.
    """
    return at < now or (at == now and fired)


@kernel("boolean(WaitingRoster, float64, boolean)", inline=True)
def is_early(waiting: WaitingRoster, now: float, fired: bool) -> bool:
    """Return whether nothing is due yet at an instant that may still get arrivals."""
    return not fired and waiting.numbers[WAKE] >= now


@kernel("void(WaitingRoster, float64)", inline=True)
def wake_by(waiting: WaitingRoster, at: float) -> None:
    """Set the next decision of the pool to an instant, unless it is earlier already."""
    waiting.numbers[WAKE] = min(waiting.numbers[WAKE], at)


def make_waiting(
    slots: int, table: tuple[Floats, Floats, Floats, Floats], samples: int
) -> WaitingRoster:
    """Return an empty pool.

    Args:
        slots: Number of slots.
        table: (terms, gates, rules, steps).
        samples: Number of remembered arrivals.
    """
    terms, gates, rules, steps = table
    rows = FIRST_VALUE + len(terms) + len(gates) + len(rules)
    links = np.zeros((LINKS, slots), dtype=np.int64)
    # The lowest slot is taken first.
    links[FREE] = np.arange(slots)[::-1]
    counts = np.zeros(COUNTS + LANES, dtype=np.int64)
    counts[OLDEST] = counts[YOUNGEST] = counts[COUNTS:] = NONE
    counts[FREE_TOP] = slots
    numbers = np.zeros(NUMBERS)
    numbers[WAKE] = numbers[REACH] = np.inf
    numbers[AXIS] = NO_AXIS
    return WaitingRoster(
        np.zeros((rows, slots)),
        np.zeros((MARKS, slots)),
        links,
        numbers,
        counts,
        terms,
        gates,
        rules,
        steps,
        np.zeros((2 + len(terms), samples)),
    )


def grow(waiting: WaitingRoster, slots: int) -> WaitingRoster:
    """Return the same pool with more room; slots keep their places."""
    links, counts, old = waiting.links, waiting.counts, waiting.points.shape[1]
    wider = []
    for array in (waiting.points, waiting.marks, links):
        copy: NDArray[Any] = np.zeros((array.shape[0], slots), dtype=array.dtype)
        copy[:, :old] = array
        wider.append(copy)
    free = int(counts[FREE_TOP])
    added = slots - old
    wider[2][FREE, added : added + free] = links[FREE, :free]
    wider[2][FREE, :added] = np.arange(slots - 1, old - 1, -1)
    counts[FREE_TOP] = free + added
    return waiting._replace(points=wider[0], marks=wider[1], links=wider[2])
