"""What compares the players of one match but is not a mean over pairs, for one division."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.batch.batch import (
    COLUMN,
    FREE_SEATS,
    KIND,
    KNEE,
    MEAN_GAP,
    PAIR_GAP,
    REGION_GAP,
    SHAPE,
    SPREAD,
    STEP,
    TOP,
    WEIGHT,
    Floats,
    Ints,
    Places,
    Singles,
)
from evenmatch.solvers.batch.board import BOARD, Board
from evenmatch.solvers.batch.scene import FULLNESS, HAS_REGION, SCENE, Scene
from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.pairs import shape_gap

TIE = 1e-9
"""Sums of regions that differ by less are equal."""
UNSEATED = 1024.0
"""What a player without a role adds to the cost of roles; it is more than all that roles cost."""

_WHO = "int32[:,::1], int64, int64[:,::1]"
"""Seats by match, a row of them, and in row 0 of `order` the place of each seat, -1 = free."""


@kernel("float64(float64[:,::1], int32[:,::1], int64, int64[:,::1], int64)", allocates=False)
def _mean_pair_gap(values: Floats, seat: Places, row: int, order: Ints, column: int) -> float:
    total, count = 0.0, 0
    for a in range(seat.shape[1]):
        for b in range(a + 1, seat.shape[1]):
            if order[0, a] >= 0 and order[0, b] >= 0:
                one, two = seat[row, order[0, a]], seat[row, order[0, b]]
                total += abs(values[column, one] - values[column, two])
                count += 1
    return total / max(count, 1)


@kernel(f"float64({SCENE}, int32[:,::1], int64)", allocates=False)
def free_share(scene: Scene, seat: Places, row: int) -> float:
    """Return free seats over those that may stay free; 0 where none may."""
    seats_min = scene[15]
    room, free = seat.shape[1], 0
    for team in range(seats_min.shape[0]):
        room -= seats_min[team]
    for p in range(seat.shape[1]):
        free += 1 if seat[row, p] < 0 else 0
    return free / room if room > 0 else 0.0


@kernel("float64(int32[:,::1], int64)", inline=True, allocates=False)
def filled_share(seat: Places, row: int) -> float:
    """Return the players of a match over those of a full one."""
    filled = 0
    for p in range(seat.shape[1]):
        filled += 1 if seat[row, p] >= 0 else 0
    return filled / seat.shape[1]


@kernel(f"float64({SCENE}, {_WHO}, float64, int64)", allocates=False)
def raw_gap(scene: Scene, seat: Places, row: int, order: Ints, kind: float, column: int) -> float:
    """Return the gap of one kind in a match, without a scale; empty teams do not count."""
    values, team_start = scene[0][0], scene[14]
    low, high = np.inf, -np.inf
    if kind == FREE_SEATS:
        return free_share(scene, seat, row)
    if kind == PAIR_GAP:
        return _mean_pair_gap(values, seat, row, order, column)
    for team in range(team_start.shape[0] - 1):
        total, count = 0.0, 0
        for at in range(team_start[team], team_start[team + 1]):
            if order[0, at] < 0:
                continue
            value = values[column, seat[row, order[0, at]]]
            total += value
            count += 1
            if kind == SPREAD:
                low, high = min(low, value), max(high, value)
        if kind != SPREAD and count > 0:
            total = total / count if kind == MEAN_GAP else total
            low, high = min(low, total), max(high, total)
    return max(high - low, 0.0)


@kernel(f"float64({SCENE}, {_WHO})", allocates=False)
def terms_cost(scene: Scene, seat: Places, row: int, order: Ints) -> float:
    """Return the weighted costs of the terms that compare teams, or the range of the match."""
    terms, total = scene[6], 0.0
    for d in range(terms.shape[0]):
        gap = raw_gap(scene, seat, row, order, terms[d, KIND], int(terms[d, COLUMN]))
        total += terms[d, WEIGHT] * shape_gap(
            terms[d, SHAPE], terms[d, TOP], terms[d, KNEE], terms[d, STEP], gap
        )
    return total


@kernel(f"int64({SCENE}, {_WHO}, int64, float64)", allocates=False)
def _too_far(scene: Scene, seat: Places, row: int, order: Ints, region: int, limit: float) -> int:
    """Return for how many players of a match its region is too far, 0 if for none.

    Where it is for some, those count who would have to go to make any region near enough.
    """
    latency, fewest = scene[0][4], seat.shape[1]
    is_near = region >= 0
    if is_near:
        for at in range(seat.shape[1]):
            if order[0, at] >= 0 and latency[seat[row, order[0, at]], region] > limit:
                is_near = False
    if is_near:
        return 0
    for each in range(latency.shape[1]):
        far = 0
        for at in range(seat.shape[1]):
            if order[0, at] >= 0 and not latency[seat[row, order[0, at]], each] <= limit:
                far += 1
        fewest = min(fewest, far)
    return max(fewest, 1)


@kernel(f"int64({SCENE}, {_WHO}, int64)", allocates=False)
def broken_rules(scene: Scene, seat: Places, row: int, order: Ints, region: int) -> int:
    """Return how many rules of the match are broken: limits of gaps, and words for all.

    A region that is too far counts by the players for whom it is, so that a search gets nearer.
    """
    rules, reach, broken = scene[11], scene[12], 0
    for q in range(rules.shape[0]):
        narrow, wide = np.inf, -np.inf
        for at in range(seat.shape[1]):
            if order[0, at] >= 0:
                limit = reach[q, seat[row, order[0, at]]]
                narrow, wide = min(narrow, limit), max(wide, limit)
        limit = wide if rules[q, 2] != 0.0 else narrow
        if rules[q, 0] == REGION_GAP:
            broken += _too_far(scene, seat, row, order, region, limit)
        elif raw_gap(scene, seat, row, order, rules[q, 0], int(rules[q, 1])) > limit:
            broken += 1
    tongues, tongues_weight = scene[0][9], scene[0][10]
    for w in range(tongues.shape[0]):
        if tongues_weight[w] == np.inf:
            shared = np.uint64(0xFFFFFFFFFFFFFFFF)
            for at in range(seat.shape[1]):
                if order[0, at] >= 0:
                    shared &= tongues[w, seat[row, order[0, at]]]
            broken += 1 if shared == 0 else 0
    return broken


@kernel(f"Tuple((int64, float64))({SCENE}, {_WHO})", allocates=False)
def region_of(scene: Scene, seat: Places, row: int, order: Ints) -> tuple[int, float]:
    """Return the region of a match, -1 if it has none, and its mean cost (or milliseconds).

    Complexity:
        O(k * regions).
    """
    latency, costs, players = scene[0][4], scene[25], 0
    chosen, best, ms_best, most_best = -1, np.inf, np.inf, np.inf
    if scene[16][HAS_REGION] == 0.0:
        return -1, 0.0
    for at in range(seat.shape[1]):
        players += 1 if order[0, at] >= 0 else 0
    for region in range(costs.shape[1]):
        total = 0.0
        for at in range(seat.shape[1]):
            if order[0, at] >= 0:
                total += costs[seat[row, order[0, at]], region]
        if not total <= best + TIE or total == np.inf:
            continue
        ms, most = 0.0, 0.0
        for at in range(seat.shape[1]):
            if order[0, at] >= 0:
                own = latency[seat[row, order[0, at]], region]
                ms += own
                most = max(most, own)
        is_less = total < best - TIE or ms < ms_best - TIE
        if is_less or (ms <= ms_best + TIE and most < most_best):
            chosen, best, ms_best, most_best = region, total, ms, most
    return chosen, best / players if chosen >= 0 else 1.0


@kernel(f"float64({SCENE}, int32[:,::1], int64)", allocates=False)
def room_cost(scene: Scene, seat: Places, row: int) -> float:
    """Return the weighted cost of free seats."""
    return scene[16][FULLNESS] * free_share(scene, seat, row)


@kernel(
    "float64(int64[::1], float32[:,::1], int64[::1], int64, int32[:,::1], int64, int64[:,::1], "
    "float64[:,::1])",
    allocates=False,
)
def _team_roles(
    role_seats: Ints,
    role_cost: Singles,
    team_start: Ints,
    team: int,
    seat: Places,
    row: int,
    order: Ints,
    states: Floats,
) -> float:
    """Return the least cost of one team; a state says how many seats of each role are taken.

    Whoever finds no role costs `UNSEATED`: so a search sees how far a team is from a legal one.
    """
    count = 1
    for r in range(role_seats.shape[0]):
        count *= role_seats[r] + 1
    now = 0
    states[now, :count] = np.inf
    states[now, 0] = 0.0
    for at in range(team_start[team], team_start[team + 1]):
        if order[0, at] < 0:
            continue
        player = seat[row, order[0, at]]
        states[1 - now, :count] = np.inf
        for state in range(count):
            if states[now, state] == np.inf:
                continue
            states[1 - now, state] = min(states[1 - now, state], states[now, state] + UNSEATED)
            stride = 1
            for r in range(role_seats.shape[0]):
                taken = state // stride % (role_seats[r] + 1)
                own = float(role_cost[player, r])
                if taken < role_seats[r] and own < np.inf:
                    after = state + stride
                    states[1 - now, after] = min(states[1 - now, after], states[now, state] + own)
                stride *= role_seats[r] + 1
        now = 1 - now
    best = np.inf
    for state in range(count):
        best = min(best, states[now, state])
    return best


@kernel(f"float64({SCENE}, {_WHO}, float64[:,::1])", allocates=False)
def roles_cost(scene: Scene, seat: Places, row: int, order: Ints, states: Floats) -> float:
    """Return the least cost of giving the players of each team their roles.

    `UNSEATED` times the players who find none is in it; the rest is what the others cost.

    Complexity:
        O(k * roles * product of (seats + 1) over the roles).
    """
    role_seats, role_cost, team_start = scene[9], scene[10], scene[14]
    total, players = 0.0, 0
    if role_seats.shape[0] == 0:
        return 0.0
    for team in range(team_start.shape[0] - 1):
        total += _team_roles(role_seats, role_cost, team_start, team, seat, row, order, states)
    for p in range(seat.shape[1]):
        players += 1 if seat[row, p] >= 0 else 0
    unseated = total // UNSEATED
    cost = total - unseated * UNSEATED
    # The mean is over those who play.
    return unseated * UNSEATED + cost * (seat.shape[1] / max(players, 1))


@kernel(f"float64({SCENE}, {BOARD}, int64)", allocates=False)
def parity_gap(scene: Scene, board: Board, row: int) -> float:
    """Return .6 x + .4 x^2 for the two teams whose parties differ most, seats in `order`.

    Empty teams do not count. The distance of two falling lists of sizes is counted the other way
    round: for each size, by how much the numbers of parties at least as large differ.
    """
    first, party, team_start, seat, order = scene[4], scene[5], scene[14], board[0], board[4]
    worst, seats_most = 0, 1
    for team in range(team_start.shape[0] - 1):
        filled = 0
        for at in range(team_start[team], team_start[team + 1]):
            filled += 1 if order[0, at] >= 0 else 0
        seats_most = max(seats_most, filled)
        for other in range(team if filled > 0 else 0):
            # Seats are filled from the first on.
            if order[0, team_start[other]] < 0:
                continue
            for size in range(seat.shape[1]):
                order[1, size] = 0
            for sign, one in ((1, team), (-1, other)):
                before = -1
                for at in range(team_start[one], team_start[one + 1]):
                    if order[0, at] < 0:
                        continue
                    own = party[seat[row, order[0, at]]]
                    if own != before:
                        for size in range(first[own + 1] - first[own]):
                            order[1, size] += sign
                    before = own
            distance = 0
            for size in range(seat.shape[1]):
                distance += abs(order[1, size])
            worst = max(worst, distance)
    x = worst / 2.0 / max(seats_most - 1, 1)
    return 0.6 * x + 0.4 * x * x
