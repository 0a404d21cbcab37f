"""The matches that prices say are missing: for each ticket, full ones and ones with bots.

See `solvers.bounds.groups` for the arrays.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.bounds.groups import FIRST_LOW, SIZE, candidates, least_reduced, term_cost
from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import TIME, UNTIL, Floats, Ints

_MATRIX = "float64[:,::1]"


@kernel(f"float64({_MATRIX}, float64, int64, float64[::1])")
def _horizon(points: Floats, price: float, seats: int, worths: Floats) -> float:
    """Return how long a member of a group can have waited that costs less than its prices."""
    count = points.shape[1]
    top = np.sort(worths / points[SIZE])
    worth, patience = 0.0, 0.0
    for rank in range(min(seats, count)):
        worth += max(0.0, top[count - 1 - rank])
    for i in range(count):
        patience = max(patience, float(points[UNTIL, i] - points[TIME, i]))
    if price > 0.0:
        patience = min(patience, float(worth / price))
    return patience


@kernel(f"float64({_MATRIX}, {_MATRIX}, int64)")
def _own_cost(points: Floats, terms: Floats, ticket: int) -> float:
    """Return what the criteria cost of a match of one ticket."""
    cost = 0.0
    for d in range(terms.shape[0]):
        low = FIRST_LOW + d
        cost += term_cost(terms, d, points[low + terms.shape[0], ticket] - points[low, ticket])
    return cost


@kernel(f"float64({_MATRIX}, float64, float64[::1], int64, float64, float64)")
def _bot_rate(
    points: Floats, price: float, worths: Floats, ticket: int, now: float, wait_max: float
) -> float:
    """Return what a seat of a ticket gains over a bot in it."""
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
        seats: Of a match.
        worths: Prices of the tickets.
        effort: The most boxes split for each ticket; to the second is added how many candidates
            were looked at.
        least: Filled with a lower bound on the reduced costs, at most 0.
        members: Shape (n, seats): filled with the tickets of the best group found, the last one
            first, -1 behind; all -1 if none costs less than its members are worth.

    Complexity:
        O(n * boxes * candidates * (terms + seats)); candidates are those that come within the
        time that the prices of a match pay for.
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
    """Find, for each ticket, the match with bots at its deadline that is cheapest for its members.

    It is the oldest there, and everyone waits until its deadline; a bot waits `wait_max`.

    Args:
        points: The field.
        price: Cost per second and seat.
        seats: Of a match.
        criteria_cost: What the criteria cost of a match with bots.
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
