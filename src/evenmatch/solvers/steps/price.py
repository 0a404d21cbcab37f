"""The steps of `price`: a pair meets when its cost is no more than both would pay not to wait.

Between two arrivals the only news is that nobody came, so pairs are made at arrivals. Three other
kinds of instants are added: a rule starts to allow a pair, a deadline comes, or a silence has
lasted so long that arrivals must have become rarer.

The most that a player would pay, T, balances the cost of waiting with the gain from the next
arrivals Y, which are drawn like the last ones: rate * E[(T - cost(x, Y))+] = c^2 * wait_price.
With one uniform criterion this is T = c sqrt(weight * wait_price / rate): the paper's length.
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import (
    FIRST_VALUE,
    LOG,
    RAW,
    TIME,
    Floats,
    pair_cost,
    unweighted_cost,
)
from evenmatch.solvers.steps.range_search import find_within
from evenmatch.solvers.steps.together import most_together
from evenmatch.solvers.steps.waiting import (
    FIRST_NUMBER,
    FLAG,
    FOUND,
    NONE,
    NOTED,
    OLDEST,
    PARTNER,
    PRICE,
    SIZE,
    WAIT_MAX,
    WAKE,
    WEIGHT,
    YOUNGER,
    Ints,
    WaitingRoster,
    arrival_rate,
    free_slot,
    is_due,
    is_early,
    note_arrival,
    ready_at,
    round_up,
    wake_by,
    write_pair,
)

C, THETA, GROW, KNOWN_RATE, DIMENSIONS, DENSITY, RATE_NOW, LAST, GUESS = range(
    FIRST_NUMBER, FIRST_NUMBER + 9
)
"""Numbers: the parameters of `price`; how many criteria count; the probability that a uniform
player costs at most 1, or 0 if the criteria are not scaled to [0, 1]; the present rate, the last
arrival, and the last T at rate 1."""
WORTH, LOOK, CLOSE, GAIN = range(4)
"""Marks: T at rate 1; the next instant to search; the rate at which the partner will be accepted;
and, within an instant, the partner's gain, inf before a search."""

LARGER = 0.75
"""Weight of the pickier player in what a pair would pay; the other's is the rest."""
SILENCE = 4.0
"""After n mean intervals without an arrival, the rate is assumed to be at most n / silence."""
SAMPLES = 256
INSTANTS = 20
"""Least number of distinct instants from which the rate is estimated: ten players who come
together say no more about the next arrival than one does."""
AT_ONCE = -1.0
"""An instant before all others."""
MOST_GAIN = 1e300
"""Gain of a pair that plays at any cost."""
UNIFORM_SAMPLES = 4.0
"""Weight of a uniform distribution among the samples, for criteria scaled to [0, 1]."""
WIDE = 4.0
"""Pairs of up to this many times the price are waited for if only a rule keeps them apart."""
STEPS_MAX = 60
PRECISION = 0.01
TOGETHER_MAX = 256
"""Most players who are paired together at one instant; with more, the largest gain comes first."""


@kernel("float64(float64, float64)", inline=True)
def at_rate(rate: float, dimensions: float) -> float:
    """Return by what factor T is smaller than at rate 1: rate ** (1 / (dimensions + 1))."""
    if dimensions == 0.0:
        return 1.0
    if dimensions == 1.0:
        return math.sqrt(rate)
    return float(rate ** (1.0 / (dimensions + 1.0)))


@kernel("int64(WaitingRoster, int64, float64[::1])", inline=True)
def costs_to_last(waiting: WaitingRoster, slot: int, costs: Floats) -> int:
    """Fill in a player's criteria cost with each of the last arrivals; return their number.

    Complexity:
        O(samples * terms).
    """
    points, counts, terms, samples = waiting.points, waiting.counts, waiting.terms, waiting.samples
    count = min(counts[NOTED], samples.shape[1])
    for term in range(terms.shape[0]):
        weight, top = terms[term, 0], terms[term, 2]
        value = points[FIRST_VALUE + term, slot]
        if terms[term, 1] == LOG or terms[term, 4] > 0.0:
            for i in range(count):
                costs[i] += weight * unweighted_cost(terms, term, abs(samples[1 + term, i] - value))
            continue
        # The usual shapes again, so that the processor can compute several at a time.
        if terms[term, 1] == RAW:
            top = np.inf
        else:
            weight = weight / top
        for i in range(count):
            gap = abs(samples[1 + term, i] - value)
            if gap > top:
                gap = top
            costs[i] += weight * gap
    return count


@kernel("UniTuple(float64, 2)(float64[::1], float64)", inline=True)
def _gain_below(costs: Floats, guess: float) -> tuple[float, float]:
    """Return the sum of (guess - cost)+ and the number of costs below the guess.

    There are four partial sums, so that the processor need not wait for each addition.
    """
    gain0 = gain1 = gain2 = gain3 = 0.0
    below0 = below1 = below2 = below3 = 0.0
    for i in range(0, costs.shape[0], 4):
        d0, d1 = guess - costs[i], guess - costs[i + 1]
        d2, d3 = guess - costs[i + 2], guess - costs[i + 3]
        gain0 += d0 if d0 > 0.0 else 0.0
        gain1 += d1 if d1 > 0.0 else 0.0
        gain2 += d2 if d2 > 0.0 else 0.0
        gain3 += d3 if d3 > 0.0 else 0.0
        below0 += 1.0 if d0 > 0.0 else 0.0
        below1 += 1.0 if d1 > 0.0 else 0.0
        below2 += 1.0 if d2 > 0.0 else 0.0
        below3 += 1.0 if d3 > 0.0 else 0.0
    return (gain0 + gain1) + (gain2 + gain3), (below0 + below1) + (below2 + below3)


@kernel("boolean(float64[:,::1], int64)", inline=True)
def _have_company(samples: Floats, count: int) -> bool:
    """Return whether two of the last arrivals came at one instant; several are tested at a time."""
    found = 0
    for i in range(1, count):
        found += 1 if samples[0, i] == samples[0, i - 1] else 0
    return found > 0


@kernel("void(float64[:,::1], float64[::1], int64, int64)")
def _take_cheapest(samples: Floats, costs: Floats, count: int, oldest: int) -> None:
    """Keep the cheapest of the arrivals at one instant: a player would take that one.

    The newest samples end before the oldest.
    """
    before = oldest
    for _ in range(1, count):
        i = before + 1 if before + 1 < count else 0
        if samples[0, i] == samples[0, before]:
            costs[i], costs[before] = min(costs[i], costs[before]), np.inf
        before = i


@kernel("float64(WaitingRoster, int64, float64)")
def reservation_price(waiting: WaitingRoster, slot: int, rate: float) -> float:
    """Return the most that a player would pay rather than wait: T, as a cost.

    Newton's method on rate * E[(T - cost)+] = c^2 * price, which is convex in T. The mean is over
    the last arrivals and, where all criteria are scaled to [0, 1], a few more that are uniform.
    """
    numbers = waiting.numbers
    if numbers[THETA] >= 0.0:
        return numbers[THETA] * numbers[WEIGHT]
    dimensions = numbers[DIMENSIONS]
    costs = waiting.samples[-1]
    costs[:] = 0.0
    count = costs_to_last(waiting, slot, costs)
    uniform = UNIFORM_SAMPLES if numbers[DENSITY] > 0.0 else 0.0
    if dimensions == 0.0 or count + uniform == 0.0:
        return 0.0
    highest = costs.max()
    costs[count:] = np.inf
    if _have_company(waiting.samples, count):
        _take_cheapest(waiting.samples, costs, count, waiting.counts[NOTED] % count)
    target = numbers[C] * numbers[C] * numbers[PRICE] / rate
    guess = numbers[GUESS] / at_rate(rate, dimensions)
    for _ in range(STEPS_MAX):
        gain, below = _gain_below(costs, guess)
        # A uniform player costs at most T with the probability density * T ** dimensions.
        mass = uniform * numbers[DENSITY] * (guess if dimensions == 1.0 else guess**dimensions)
        gain += mass * guess / (dimensions + 1.0)
        below += mass
        if below == 0.0:
            guess = highest + target
            continue
        step = (gain - target * (count + uniform)) / below
        guess = max(guess - step, 0.5 * guess)
        if abs(step) < PRECISION * guess:
            break
    numbers[GUESS] = guess * at_rate(rate, dimensions)
    return guess


@kernel("void(WaitingRoster, int64, float64)")
def arrive(waiting: WaitingRoster, slot: int, now: float) -> None:
    """Store what a newcomer would pay, and that it has not searched yet."""
    points, marks, numbers = waiting.points, waiting.marks, waiting.numbers
    rate = numbers[KNOWN_RATE]
    if numbers[THETA] >= 0.0:
        rate = 1.0
    elif rate <= 0.0:
        rate = arrival_rate(waiting, now, INSTANTS)
    numbers[RATE_NOW], numbers[LAST] = rate, now
    marks[WORTH, slot] = reservation_price(waiting, slot, rate) * at_rate(rate, numbers[DIMENSIONS])
    marks[LOOK, slot] = points[TIME, slot]
    marks[CLOSE, slot] = 0.0
    wake_by(waiting, marks[LOOK, slot])
    note_arrival(waiting, slot, now)


@kernel("void(WaitingRoster, int64, float64)")
def come_back(waiting: WaitingRoster, slot: int, now: float) -> None:
    """Store the same for a player who returns, without counting an arrival."""
    marks, numbers = waiting.marks, waiting.numbers
    rate = numbers[RATE_NOW]
    marks[WORTH, slot] = reservation_price(waiting, slot, rate) * at_rate(rate, numbers[DIMENSIONS])
    marks[LOOK, slot] = now
    marks[CLOSE, slot] = 0.0
    wake_by(waiting, now)


@kernel("float64(WaitingRoster, int64, int64)", inline=True)
def worth_of(waiting: WaitingRoster, one: int, two: int) -> float:
    """Return what a pair would pay in criteria, at rate 1."""
    marks = waiting.marks
    mine, yours = marks[WORTH, one], marks[WORTH, two]
    worth: float = LARGER * max(mine, yours) + (1.0 - LARGER) * min(mine, yours)
    return worth


@kernel("int64(WaitingRoster, int64, float64, boolean)")
def look(waiting: WaitingRoster, slot: int, now: float, at_any_cost: bool) -> int:
    """Return the partner of a player now; without one, set when it searches again.

    Of the partners worth their cost, the one with the largest gain; at any cost, the cheapest.
    Partner and gain are stored.
    """
    points, marks, links = waiting.points, waiting.marks, waiting.links
    numbers, terms, gates = waiting.numbers, waiting.terms, waiting.gates
    scale = 1.0 / at_rate(numbers[RATE_NOW], numbers[DIMENSIONS])
    partner, most_gain, least_cost = NONE, -np.inf, np.inf
    soon, late = np.inf, np.inf
    nearest, nearness = NONE, 0.0
    has_rules = waiting.rules.shape[0] > 0
    for found in range(find_within(waiting, slot)):
        other = links[FOUND, found]
        cost = pair_cost(points, terms, gates, 0.0, other, slot)
        if cost < np.inf:
            worth = worth_of(waiting, slot, other)
            age = now - min(points[TIME, slot], points[TIME, other])
            limit = worth * scale + numbers[GROW] * numbers[PRICE] * age
            if at_any_cost or links[FLAG, other] == 1:
                limit = np.inf
            at = ready_at(waiting, slot, other) if has_rules else now
            if at <= now:
                gain = limit - cost
                if gain >= 0.0 and (gain > most_gain or (gain == most_gain and cost < least_cost)):
                    partner, most_gain, least_cost = other, gain, cost
                if worth > nearness * cost:
                    nearest, nearness = other, worth / cost if cost > 0.0 else np.inf
            elif cost <= WIDE * limit:
                soon = min(soon, at)
            else:
                late = min(late, at)
    marks[CLOSE, slot], marks[GAIN, slot] = 0.0, np.inf
    if partner != NONE:
        links[PARTNER, slot], marks[GAIN, slot] = partner, min(most_gain, MOST_GAIN)
        return partner
    marks[LOOK, slot] = soon if soon < np.inf else late
    links[PARTNER, slot] = nearest
    if numbers[THETA] < 0.0:
        marks[CLOSE, slot] = nearness ** (numbers[DIMENSIONS] + 1.0)
    return partner


@kernel("void(WaitingRoster, int64)", inline=True)
def forget(waiting: WaitingRoster, slot: int) -> None:
    """Remove a player; those who had it as the nearest search again at once."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    free_slot(waiting, slot)
    other = counts[OLDEST]
    while other != NONE:
        if links[PARTNER, other] == slot:
            links[PARTNER, other] = NONE
            marks[LOOK, other], marks[GAIN, other] = AT_ONCE, np.inf
            wake_by(waiting, AT_ONCE)
        other = links[YOUNGER, other]


@kernel("void(WaitingRoster, int64, int64, int64[:,::1], int64)", inline=True)
def pair(waiting: WaitingRoster, one: int, two: int, out: Ints, count: int) -> None:
    """Write a match, the older player first, and remove both."""
    write_pair(waiting, one, two, out, count)
    forget(waiting, one)
    forget(waiting, two)


@kernel("float64(WaitingRoster, int64)", inline=True)
def silent_until(waiting: WaitingRoster, slot: int) -> float:
    """Return the instant until which silence makes a player's nearest partner good enough."""
    marks, numbers = waiting.marks, waiting.numbers
    instant: float = numbers[LAST] + round_up(SILENCE / marks[CLOSE, slot])
    return instant


@kernel("int64(WaitingRoster)", inline=True)
def note_next(waiting: WaitingRoster) -> int:
    """Set `WAKE` to the next instant of all; return whose nearest partner silence brings first."""
    points, marks, links = waiting.points, waiting.marks, waiting.links
    numbers, counts = waiting.numbers, waiting.counts
    at = np.inf
    closest, close = NONE, 0.0
    slot = counts[OLDEST]
    while slot != NONE:
        at = min(at, marks[LOOK, slot])
        if links[FLAG, slot] == 0:
            at = min(at, points[TIME, slot] + numbers[WAIT_MAX])
        if marks[CLOSE, slot] > close and links[PARTNER, slot] != NONE:
            closest, close = slot, marks[CLOSE, slot]
        slot = links[YOUNGER, slot]
    if closest != NONE:
        at = min(at, silent_until(waiting, closest))
    numbers[WAKE] = at
    return closest


@kernel("int64(WaitingRoster, float64, boolean)", inline=True)
def _best_looker(waiting: WaitingRoster, now: float, fired: bool) -> int:
    """Return the player with the largest gain among those who search now, ties to the older."""
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    best, most_gain = NONE, -np.inf
    slot = counts[OLDEST]
    while slot != NONE:
        if is_due(marks[LOOK, slot], now, fired):
            if marks[GAIN, slot] == np.inf:
                look(waiting, slot, now, links[FLAG, slot] == 1)
            if marks[GAIN, slot] < np.inf and marks[GAIN, slot] > most_gain:
                best, most_gain = slot, marks[GAIN, slot]
        slot = links[YOUNGER, slot]
    return best


@kernel("int64(WaitingRoster, float64, boolean)", inline=True)
def _overdue(waiting: WaitingRoster, now: float, fired: bool) -> int:
    """Return the oldest player whose deadline has come and who finds a partner at any cost."""
    points, links, numbers, counts = waiting.points, waiting.links, waiting.numbers, waiting.counts
    slot: int = counts[OLDEST]
    while slot != NONE:
        if links[FLAG, slot] == 0:
            if not is_due(points[TIME, slot] + numbers[WAIT_MAX], now, fired):
                return NONE  # younger players have later deadlines
            links[FLAG, slot] = 1
            if look(waiting, slot, now, True) != NONE:
                return slot
        slot = links[YOUNGER, slot]
    return slot


@kernel("float64(WaitingRoster, int64, int64, float64)", inline=True)
def _gain_of(waiting: WaitingRoster, one: int, two: int, now: float) -> float:
    """Return by how much a pair's cost is below what both would pay; -inf if it may not play."""
    points, numbers = waiting.points, waiting.numbers
    cost = pair_cost(points, waiting.terms, waiting.gates, 0.0, one, two)
    if cost == np.inf:
        return -np.inf
    if waiting.rules.shape[0] > 0 and ready_at(waiting, one, two) > now:
        return -np.inf
    age = now - min(points[TIME, one], points[TIME, two])
    scale = 1.0 / at_rate(numbers[RATE_NOW], numbers[DIMENSIONS])
    gain: float = worth_of(waiting, one, two) * scale + numbers[GROW] * numbers[PRICE] * age - cost
    return gain


@kernel("int64(WaitingRoster, float64, boolean, int64[:,::1])")
def _pair_together(waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:
    """Pair players who search at one instant for the largest total gain; return how many pairs.

    Nothing is done for a single player, for more than `TOGETHER_MAX`, or if one of them plays at
    any cost: then the largest gain comes first.

    Complexity:
        That of `most_together` for n waiting players.
    """
    marks, links, counts = waiting.marks, waiting.links, waiting.counts
    size, lookers = counts[SIZE], 0
    if size > TOGETHER_MAX:
        return 0
    slot = counts[OLDEST]
    while slot != NONE:
        lookers += 1 if is_due(marks[LOOK, slot], now, fired) else 0
        if links[FLAG, slot] == 1:
            return 0
        slot = links[YOUNGER, slot]
    if lookers < 2:
        return 0
    slots = np.empty(size, dtype=np.int64)
    slot = counts[OLDEST]
    for i in range(size):
        slots[i], slot = slot, links[YOUNGER, slot]
    gains = np.full((size, size), -np.inf)
    for i in range(size):
        for j in range(i):
            one, two = slots[j], slots[i]
            if is_due(marks[LOOK, one], now, fired) or is_due(marks[LOOK, two], now, fired):
                gains[i, j] = gains[j, i] = _gain_of(waiting, one, two, now)
    mates = most_together(gains)
    found = 0
    for i in range(size):
        if mates[i] > i:
            pair(waiting, slots[i], slots[mates[i]], out, found)
            found += 1
    return found


@kernel("int64(WaitingRoster, float64, boolean, int64[:,::1])")
def decide(waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:
    """Make the matches of an instant, and set `WAKE` to the next instant to decide.

    Players who arrived at the same instant are paired together for the largest total gain; then
    come those whose deadline it is.

    Returns:
        Their number; their slots, which are free now, are in the rows of `out`.

    Complexity:
        O(n) for each match, and at most for each player who searches: `find_within`.
    """
    if is_early(waiting, now, fired):
        return 0
    found = _pair_together(waiting, now, fired, out)
    while True:
        slot = _best_looker(waiting, now, fired)
        if slot == NONE:
            slot = _overdue(waiting, now, fired)
        if slot == NONE:
            slot = note_next(waiting)
            if slot == NONE or not is_due(silent_until(waiting, slot), now, fired):
                return found
        pair(waiting, slot, waiting.links[PARTNER, slot], out, found)
        found += 1
