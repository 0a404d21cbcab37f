"""The group of k tickets that is cheapest net of its members' prices: the pricing of a bound.

A field of tickets is an array with a column for each ticket, by ascending time, and these rows:
the time; the last instant at which it may play; its side (0 = flexible; equal sides never meet);
its owner (equal owners never meet); its size in seats; then for each term the lowest value of its
players; then for each term the highest. Terms are those of `matching.pairs`, and a gate is a term
whose cost is zero up to `top` and infinite beyond. A group that fills the seats costs

    sum over terms of weight * shape(highest - lowest) + price * seats * waits until the last came

The reduced cost of a group is its cost less the prices of its members. Among the groups with a
given last ticket, the cheapest is found by branch and bound over boxes of values: a node has an
inner box, which the group covers at least, and an outer box, which it does not leave. The node's
bound takes the members with the highest prices in the outer box; a box costs no less than any
single member makes it cost.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import OWNER, SIDE, TIME, UNTIL, Floats, Ints, unweighted_cost

SIZE, FIRST_LOW = 4, 5
GATE = 3.0
"""The shape of a gate, in addition to those of `matching.pairs`."""
_MATRIX = "float64[:,::1]"


@kernel(f"float64({_MATRIX}, int64, float64)", inline=True)
def term_cost(terms: Floats, d: int, gap: float) -> float:
    """Return the weighted cost of a gap in one term; infinity beyond a gate."""
    if terms[d, 1] == GATE:
        return 0.0 if gap <= terms[d, 2] else np.inf
    cost: float = terms[d, 0] * unweighted_cost(terms, d, gap)
    return cost


@kernel(f"int64({_MATRIX}, {_MATRIX}, int64, float64, int64[::1])")
def candidates(
    points: Floats,
    terms: Floats,
    last: int,
    horizon: float,
    found: Ints,
) -> int:
    """List the tickets that may play with `last` when it comes, latest first; return the count."""
    count = 0
    terms_count = terms.shape[0]
    now = points[TIME, last]
    for i in range(last - 1, -1, -1):
        if now - points[TIME, i] > horizon:
            break
        if points[UNTIL, i] < now or points[OWNER, i] == points[OWNER, last]:
            continue
        if points[SIDE, i] != 0.0 and points[SIDE, i] == points[SIDE, last]:
            continue
        cost = 0.0
        for d in range(terms_count):
            low = FIRST_LOW + d
            high = low + terms_count
            gap = max(points[high, i], points[high, last]) - min(points[low, i], points[low, last])
            cost += term_cost(terms, d, gap)
        if cost < np.inf:
            found[count] = i
            count += 1
    return count


@kernel(
    f"int64[::1]({_MATRIX}, {_MATRIX}, int64[::1], int64[::1], {_MATRIX}, float64, float64[::1],"
    " float64[::1])"
)
def _outgrowths(
    points: Floats,
    terms: Floats,
    chosen: Ints,
    among: Ints,
    box: Floats,
    limit: float,
    handicaps: Floats,
    costs: Floats,
) -> Ints:
    """Fill in the cost of the inner box once it also covers a candidate, and return the cheapest.

    The rows of `box` are the inner box's low and high, then the outer box's. Candidates outside,
    or whose cost plus handicap reaches the limit, are left out; the others are sorted by cost.
    """
    terms_count = terms.shape[0]
    kept = np.zeros(len(among), dtype=np.int64)
    length = 0
    for c in among:
        i = chosen[c]
        cost = handicaps[c]
        for d in range(terms_count):
            low, high = points[FIRST_LOW + d, i], points[FIRST_LOW + terms_count + d, i]
            if low < box[2, d] or high > box[3, d]:
                cost = np.inf
                break
            cost += term_cost(terms, d, max(high, box[1, d]) - min(low, box[0, d]))
            if cost >= limit:
                break
        if cost < limit:
            costs[c] = cost - handicaps[c]
            kept[length] = c
            length += 1
    return kept[np.argsort(costs[kept[:length]], kind="mergesort")]


@kernel("float64(float64[::1], int64[::1], int64, int64[::1])")
def _gained(gains: Floats, sizes: Ints, seats: int, team: Ints) -> float:
    """Return the gain of the members in the seats; a fraction of the last one may be seated."""
    total = 0.0
    for c in team:
        if c < 0:
            break
        total += gains[c] * min(1.0, seats / sizes[c])
        seats -= sizes[c]
    return total


@kernel(
    "float64(int64[::1], float64[::1], float64[::1], int64[::1], int64, int64[::1], int64[::1])"
)
def _best_prefix(
    order: Ints,
    costs: Floats,
    gains: Floats,
    sizes: Ints,
    seats: int,
    team: Ints,
    best_team: Ints,
) -> float:
    """Return the least of: cost of the dearest candidate less the gains of the best that fill.

    Candidates are added in the given order, by ascending cost. Seats may be filled by a fraction of
    the last one. The candidates of the minimum are left in `best_team`, padded by -1.
    """
    least = np.inf
    best_team[:] = -1
    length, held = 0, 0
    for c in order:
        rate = gains[c] / sizes[c]
        if held >= seats and rate <= gains[team[length - 1]] / sizes[team[length - 1]]:
            continue
        spot = length
        while spot > 0 and gains[team[spot - 1]] / sizes[team[spot - 1]] < rate:
            team[spot] = team[spot - 1]
            spot -= 1
        team[spot] = c
        length, held = length + 1, held + sizes[c]
        while held - sizes[team[length - 1]] >= seats:
            length -= 1
            held -= sizes[team[length]]
        if held < seats:
            continue
        worth = _gained(gains, sizes, seats, team[:length])
        if costs[c] - worth < least:
            least = costs[c] - worth
            best_team[:length] = team[:length]
            best_team[length:] = -1
    return least


@kernel(f"float64({_MATRIX}, {_MATRIX}, int64[::1], int64[::1], int64, {_MATRIX}, float64[::1])")
def _settle(
    points: Floats,
    terms: Floats,
    chosen: Ints,
    team: Ints,
    last: int,
    box: Floats,
    split: Floats,
) -> float:
    """Return the criteria cost of a team, and fill in where its node is best split.

    The split is (term, side: 0 low or 1 high, value); the term is -1 if the team stays within
    the inner box.
    """
    terms_count = terms.shape[0]
    cost, most = 0.0, -1.0
    split[0] = -1.0
    for d in range(terms_count):
        low, high = points[FIRST_LOW + d, last], points[FIRST_LOW + terms_count + d, last]
        for at in range(team.shape[0]):
            if team[at] < 0:
                break
            i = chosen[team[at]]
            low = min(low, points[FIRST_LOW + d, i])
            high = max(high, points[FIRST_LOW + terms_count + d, i])
        cost += term_cost(terms, d, high - low)
        inner = term_cost(terms, d, box[1, d] - box[0, d])
        for side in range(2):
            value = low if side == 0 else high
            reach = box[1, d] - value if side == 0 else value - box[0, d]
            grown = term_cost(terms, d, reach) - inner
            if value != box[side, d] and reach > box[1, d] - box[0, d] and grown > most:
                most = grown
                split[0], split[1], split[2] = d, side, value
    return cost


@kernel("float64[::1](float64[::1], int64[::1], int64[::1])")
def _handicaps(gains: Floats, sizes: Ints, dearest: Ints) -> Floats:
    """Return a lower bound on how much less than the best a team with each candidate gains."""
    handicaps = np.zeros(len(gains))
    if len(dearest) > 0:
        rate = gains[dearest[-1]] / sizes[dearest[-1]]
        for c in range(len(gains)):
            handicaps[c] = max(0.0, sizes[c] * rate - gains[c])
    return handicaps


@kernel(
    f"float64({_MATRIX}, {_MATRIX}, int64[::1], float64[::1], int64[::1], int64, int64, int64,"
    " float64, int64[::1], int64[::1])"
)
def least_reduced(
    points: Floats,
    terms: Floats,
    chosen: Ints,
    gains: Floats,
    sizes: Ints,
    count: int,
    last: int,
    seats: int,
    worth: float,
    effort: Ints,
    best_team: Ints,
) -> float:
    """Return a lower bound on the reduced costs of the groups that `last` completes, at most 0.

    The candidates of the best group found are left in `best_team`. `effort` holds the most boxes
    to split, and the number of candidates examined so far.
    """
    terms_count, node_max = terms.shape[0], effort[0]
    boxes = np.zeros((2 * node_max + 3, 4, terms_count))
    splits = np.zeros((2 * node_max + 3, 3))
    bounds = np.full(2 * node_max + 3, np.inf)
    costs = np.zeros(count)
    team = np.zeros(seats + 2, dtype=np.int64)
    found = np.full(seats + 2, -1, dtype=np.int64)
    best = 0.0
    best_team[:] = -1
    among = np.arange(count)
    highest = -_best_prefix(among, costs, gains, sizes, seats, team, found)
    handicaps = _handicaps(gains, sizes, found[found >= 0])
    for d in range(terms_count):
        boxes[0, 0, d] = points[FIRST_LOW + d, last]
        boxes[0, 1, d] = points[FIRST_LOW + terms_count + d, last]
        boxes[0, 2, d], boxes[0, 3, d] = -np.inf, np.inf
    first, made, looked = 0, 1, 0
    while True:
        for node in range(first, made):
            limit = best + worth + highest
            order = _outgrowths(points, terms, chosen, among, boxes[node], limit, handicaps, costs)
            effort[1] += len(among)
            if node == 0:
                among = order
            bounds[node] = _best_prefix(order, costs, gains, sizes, seats, team, found) - worth
            if bounds[node] >= best:
                continue
            cost = _settle(points, terms, chosen, found, last, boxes[node], splits[node])
            cost -= _gained(gains, sizes, seats, found) + worth
            if cost < best:
                best = cost
                best_team[:] = found
            if splits[node, 0] < 0.0:
                bounds[node] = np.inf
        node = int(np.argmin(bounds[:made]))
        if bounds[node] >= best - 1e-12:
            return best
        if looked >= node_max:
            return float(bounds[node])
        looked += 1
        d, side, value = int(splits[node, 0]), int(splits[node, 1]), splits[node, 2]
        bounds[node] = np.inf
        first = made
        for child in range(2):
            boxes[made] = boxes[node]
            if child == 0:
                # The group does not reach the value.
                boxes[made, 2 + side, d] = np.nextafter(value, np.inf if side == 0 else -np.inf)
            else:
                boxes[made, side, d] = value
            made += 1
