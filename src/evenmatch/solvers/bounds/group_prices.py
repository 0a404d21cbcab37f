"""A lower bound on the cost of any grouping of tickets: prices that no group undercuts by much.

Give every ticket a price, at most the cost of leaving it alone. A match costs at least the prices
of its members plus its reduced cost, and every ticket ends exactly once. So no grouping costs less
than all prices plus the reduced costs of the matches that could be made together. Each full match
has a last ticket of its own, and the matches complete by a certain ticket use their number of seats
from it and the tickets before; the least sum under these limits is found greedily, since the limits
are nested. The sum is concave in the prices, and is raised by steps along a supergradient: tickets
in too many of the cheapest matches become cheaper, the others dearer. The length of a step is set
for a bound that is hoped for; without success, the hoped-for rise shrinks. Matches are priced as
needed (`cheapest_groups`): for each ticket, full ones and ones with bots; see
`solvers.bounds.groups` for the arrays.

Source:
    Held, Wolfe and Crowder, Validation of subgradient optimization (1974), for the steps;
    Camerini, Fratta and Maffioli, On improving relaxation methods (1975), for their memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenmatch.solvers.bounds.groups import FIRST_LOW, SIZE, candidates, least_reduced, term_cost
from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import TIME, UNTIL, Floats, Ints

STEPS_MAX = 300
"""Most steps of the prices."""
EFFORT_MAX = 600_000_000
"""Candidates examined in all steps before the search ends: about 15 s."""
SPLITS = 400
"""Most boxes split for one ticket in one step."""
RISE, FALL = 0.1, 0.85
"""Rise of the bound that a step first aims at, relative to the target, and its factor of decay."""
PATIENCE = 4
"""Steps with little gain after which the aim decays."""
GAIN_LEAST = 1e-4
"""Rise of the bound, relative to it, below which the search ends."""
MEMORY = 0.9
"""Weight of the last direction in the next."""


@dataclass(frozen=True)
class GroupField:
    """Tickets that may share a match; see `solvers.bounds.groups` for the arrays.

    Args:
        points: Shape (5 + 2 * terms, n), by ascending time.
        terms: Shape (terms, 5).
        price: Cost per second and seat.
        seats: Seats of a match.
        ids: Numbers of the tickets, unique across all fields, ascending, shape (n,).
        bots: Criteria cost of a match with bots, and the wait after which bots come; None without.
    """

    points: Floats
    terms: Floats
    price: float
    seats: int
    ids: Ints
    bots: tuple[float, float] | None = None


def lower_bound(fields: Sequence[GroupField], alone: Floats, target: float) -> float:
    """Return a lower bound on the cost of matching the tickets or leaving them alone.

    Args:
        fields: Tickets; a number may be in several fields.
        alone: Cost of leaving each number alone, >= 0; shape (n,).
        target: A cost that is attainable; it determines the length of steps, not the bound.

    Complexity:
        See `cheapest_groups`, for each step.
    """
    seats = _seats(fields, len(alone))
    effort: Ints = np.array([SPLITS, 0], dtype=np.int64)
    prices = np.minimum(alone, 0.8 * target * seats / max(1.0, float(seats.sum())))
    direction: Floats = np.zeros(len(alone))
    bound, best, idle = -np.inf, prices, 0
    hope = RISE * target
    for _ in range(STEPS_MAX):
        proof = _priced(fields, prices, seats, effort)
        if proof.bound > bound:
            idle = idle + 1 if proof.bound < bound + 0.1 * hope else 0
            bound, best = proof.bound, prices
        else:
            idle += 1
        if idle >= PATIENCE:
            hope, idle = FALL * hope, 0
        if hope < GAIN_LEAST * max(bound, 0.0) or effort[1] > EFFORT_MAX:
            break
        direction = proof.slope + MEMORY * direction
        length = float(direction @ direction)
        if length == 0.0:
            break
        way = (bound + hope - proof.bound) / length
        prices = np.minimum(alone, prices + way * direction + proof.surplus * seats)
    # The best prices are worth a closer look.
    effort[0] *= 4
    bound = max(bound, _priced(fields, best, seats, effort).bound)
    return max(0.0, bound - 1e-9 * (1.0 + abs(bound)))


@dataclass(frozen=True)
class _PriceProof:
    """The bound that prices prove, a supergradient, and by how much all seats are overpriced."""

    bound: float
    slope: Floats
    surplus: float


def _priced(
    fields: Sequence[GroupField], prices: Floats, seats: Floats, effort: Ints
) -> _PriceProof:
    slope: Floats = np.ones(len(prices))
    lacks: Floats = np.zeros(len(prices))
    by_last: dict[int, Ints] = {}
    total = float(prices.sum())
    for field in fields:
        worths = np.ascontiguousarray(prices[field.ids])
        least: Floats = np.zeros(len(worths))
        members: Ints = np.full((len(worths), field.seats), -1, dtype=np.int64)
        cheapest_groups(
            field.points, field.terms, field.price, field.seats, worths, effort, least, members
        )
        for at in np.flatnonzero(least < lacks[field.ids]).tolist():
            number = int(field.ids[at])
            lacks[number] = least[at]
            by_last[number] = field.ids[members[at][members[at] >= 0]]
        if field.bots is None:
            continue
        cost, wait_max = field.bots
        cheapest_with_bots(
            field.points, field.price, field.seats, cost, wait_max, worths, least, members
        )
        total += float(least.sum())
        for row in members[least < 0.0]:
            slope[field.ids[row[row >= 0]]] -= 1.0
    seats_least = min((field.seats for field in fields), default=1)
    chosen = _together(lacks, seats, seats_least)
    for number in chosen:
        slope[by_last[number]] -= 1.0
        total += float(lacks[number])
    # If as many matches are chosen as there is room for, lower prices prove the same bound.
    is_full = len(chosen) + 2 >= int(seats.sum()) // seats_least
    surplus = max((float(lacks[number]) for number in chosen), default=0.0) / seats_least
    return _PriceProof(total, slope, surplus if is_full else 0.0)


def _together(lacks: Floats, seats: Floats, size: int) -> list[int]:
    """Return the last tickets of the compatible matches with the least total reduced cost.

    Matches complete by a ticket use at least `size` seats each of it and the tickets before.
    """
    chosen: list[tuple[float, int]] = []
    room = 0.0
    for number, lack in enumerate(lacks.tolist()):
        room += seats[number]
        if lack < 0.0:
            heapq.heappush(chosen, (-lack, number))
        while len(chosen) * size > room:
            heapq.heappop(chosen)
    return sorted(number for _, number in chosen)


def _seats(fields: Sequence[GroupField], count: int) -> Floats:
    seats: Floats = np.ones(count)
    for field in fields:
        seats[field.ids] = field.points[SIZE]
    return seats


_MATRIX = "float64[:,::1]"


@kernel(f"float64({_MATRIX}, float64, int64, float64[::1])")
def _horizon(points: Floats, price: float, seats: int, worths: Floats) -> float:
    """Return an upper bound on the wait of a member of a group that costs less than its prices."""
    count = points.shape[1]
    rates = worths / points[SIZE]
    order = np.argsort(-rates)
    worth, patience, left = 0.0, 0.0, float(seats)
    for rank in range(count):
        i = order[rank]
        if left <= 0.0 or rates[i] <= 0.0:
            break
        worth += rates[i] * min(left, points[SIZE, i])
        left -= points[SIZE, i]
    for i in range(count):
        patience = max(patience, float(points[UNTIL, i] - points[TIME, i]))
    if price > 0.0:
        patience = min(patience, float(worth / price))
    return patience


@kernel(f"float64({_MATRIX}, {_MATRIX}, int64)")
def _own_cost(points: Floats, terms: Floats, ticket: int) -> float:
    """Return the criteria cost of a match of one ticket."""
    cost = 0.0
    for d in range(terms.shape[0]):
        low = FIRST_LOW + d
        cost += term_cost(terms, d, points[low + terms.shape[0], ticket] - points[low, ticket])
    return cost


@kernel(f"float64({_MATRIX}, float64, float64[::1], int64, float64, float64)")
def _bot_rate(
    points: Floats, price: float, worths: Floats, ticket: int, now: float, wait_max: float
) -> float:
    """Return the gain of a ticket per seat over a bot in it."""
    waited = now - points[TIME, ticket]
    rate: float = worths[ticket] / points[SIZE, ticket] + price * (wait_max - waited)
    return rate


@kernel(
    f"void({_MATRIX}, {_MATRIX}, float64, int64, float64[::1], int64[::1], float64[::1],"
    " int64[:,::1])"
)
def cheapest_groups(
    points: Floats,
    terms: Floats,
    price: float,
    seats: int,
    worths: Floats,
    effort: Ints,
    least: Floats,
    members: Ints,
) -> None:
    """Find, for each ticket, the group with the least reduced cost that it completes.

    Args:
        points: The field.
        terms: Its terms and gates.
        price: Cost per second and seat.
        seats: Seats of a match.
        worths: Prices of the tickets.
        effort: First, the most boxes to split for each ticket; the number of candidates examined
            is added to the second.
        least: Filled with a lower bound on the reduced costs, at most 0.
        members: Shape (n, seats): filled with the tickets of the best group found, the last one
            first, padded by -1; all -1 if no group costs less than its members are worth.

    Complexity:
        O(n * boxes * candidates * (terms + seats)); candidates are the tickets that arrive within
        the time that the prices of a match pay for.
    """
    count = points.shape[1]
    horizon = _horizon(points, price, seats, worths)
    chosen = np.zeros(count, dtype=np.int64)
    gains = np.zeros(count)
    sizes = np.zeros(count, dtype=np.int64)
    for last in range(count):
        least[last] = 0.0
        members[last] = -1
        room = seats - int(points[SIZE, last])
        if room < 0 or points[UNTIL, last] < points[TIME, last]:
            continue
        team = np.full(room + 2, -1, dtype=np.int64)
        if room == 0:
            least[last] = min(0.0, _own_cost(points, terms, last) - worths[last])
        else:
            found = candidates(points, terms, last, horizon, chosen)
            for c in range(found):
                i = chosen[c]
                wait = points[TIME, last] - points[TIME, i]
                sizes[c] = int(points[SIZE, i])
                gains[c] = worths[i] - price * points[SIZE, i] * wait
            worth = worths[last]
            least[last] = least_reduced(
                points, terms, chosen, gains, sizes, found, last, room, worth, effort, team
            )
        if least[last] < 0.0:
            members[last, 0] = last
            for at in range(room):
                if team[at] >= 0:
                    members[last, at + 1] = chosen[team[at]]


@kernel(
    f"void({_MATRIX}, float64, int64, float64, float64, float64[::1], float64[::1], int64[:,::1])"
)
def cheapest_with_bots(
    points: Floats,
    price: float,
    seats: int,
    criteria_cost: float,
    wait_max: float,
    worths: Floats,
    least: Floats,
    members: Ints,
) -> None:
    """Find, for each ticket, the cheapest match with bots at its deadline, net of prices.

    The ticket is the oldest in it, and all wait until its deadline; a bot waits `wait_max`.

    Args:
        points: The field.
        price: Cost per second and seat.
        seats: Seats of a match.
        criteria_cost: Criteria cost of a match with bots.
        wait_max: Of the queue, in seconds.
        worths: Prices of the tickets.
        least: Filled with a lower bound on the reduced costs, at most 0.
        members: As for `cheapest_groups`.

    Complexity:
        O(n * tickets within wait_max * seats).
    """
    count = points.shape[1]
    team = np.zeros(seats + 2, dtype=np.int64)
    for first in range(count):
        least[first] = 0.0
        members[first] = -1
        size = int(points[SIZE, first])
        now = points[TIME, first] + wait_max
        if size >= seats or points[UNTIL, first] < now:
            continue
        cost = criteria_cost + price * seats * wait_max - worths[first]
        room, length, held = seats - size - 1, 0, 0
        for i in range(first + 1, count):
            if points[TIME, i] > now or room == 0:
                break
            rate = _bot_rate(points, price, worths, i, now, wait_max)
            if points[UNTIL, i] < now or rate <= 0.0:
                continue
            spot = length
            while spot > 0:
                other = _bot_rate(points, price, worths, team[spot - 1], now, wait_max)
                if other >= rate:
                    break
                team[spot] = team[spot - 1]
                spot -= 1
            team[spot] = i
            length, held = length + 1, held + int(points[SIZE, i])
            while held - int(points[SIZE, team[length - 1]]) >= room:
                length -= 1
                held -= int(points[SIZE, team[length]])
        over = max(0, held - room)
        for at in range(length):
            part = points[SIZE, team[at]]
            if at == length - 1:
                part -= over
            cost -= part * _bot_rate(points, price, worths, team[at], now, wait_max)
        if cost < 0.0:
            least[first] = cost
            members[first, 0] = first
            members[first, 1 : length + 1] = team[:length]
