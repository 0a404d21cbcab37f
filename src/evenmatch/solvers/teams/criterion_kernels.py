"""The criteria of one division of a match that are not means over pairs."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import shape_gap
from evenmatch.solvers.teams.batch import (
    COLUMN,
    FREE_SEATS,
    KIND,
    KNEE,
    MEAN_GAP,
    PAIR_GAP,
    SHAPE,
    SPREAD,
    STEP,
    TOP,
    WEIGHT,
    Floats,
    Ints,
    Places,
)
from evenmatch.solvers.teams.evaluation_input import FULLNESS, RANK_SHARE, Scene
from evenmatch.solvers.teams.search_state import Board

UNSEATED = 1024.0
"""Cost of a player without a role; it exceeds the sum of all costs of roles."""

_WHO = "int32[:,::1], int64, int64[:,::1]"
"""Seats by match, one of its rows, and in row 0 of `order` the place of each seat, -1 = free."""


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


@kernel("float64(Scene, int32[:,::1], int64)", allocates=False)
def free_share(scene: Scene, seat: Places, row: int) -> float:
    """Return the free seats as a share of those that may stay free; 0 if none may."""
    seats_min = scene.seats_min
    room, free = seat.shape[1], 0
    for team in range(seats_min.shape[0]):
        room -= seats_min[team]
    for p in range(seat.shape[1]):
        free += 1 if seat[row, p] < 0 else 0
    return free / room if room > 0 else 0.0


@kernel("float64(int32[:,::1], int64)", inline=True, allocates=False)
def filled_share(seat: Places, row: int) -> float:
    """Return the players of a match divided by those of a full one."""
    filled = 0
    for p in range(seat.shape[1]):
        filled += 1 if seat[row, p] >= 0 else 0
    return filled / seat.shape[1]


@kernel(f"float64(Scene, {_WHO}, float64, int64)", allocates=False)
def raw_gap(scene: Scene, seat: Places, row: int, order: Ints, kind: float, column: int) -> float:
    """Return the unscaled gap of one kind in a match; empty teams do not count."""
    values, team_start = scene.measures.values, scene.team_start
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


@kernel(f"float64(Scene, {_WHO})", allocates=False)
def terms_cost(scene: Scene, seat: Places, row: int, order: Ints) -> float:
    """Return the weighted costs of the terms that compare teams, or the range of the match."""
    terms, total = scene.terms, 0.0
    for d in range(terms.shape[0]):
        if terms[d, KIND] > PAIR_GAP:
            continue
        gap = raw_gap(scene, seat, row, order, terms[d, KIND], int(terms[d, COLUMN]))
        total += terms[d, WEIGHT] * shape_gap(
            terms[d, SHAPE], terms[d, TOP], terms[d, KNEE], terms[d, STEP], gap
        )
    return total


@kernel("float64(Scene, int32[:,::1], int64)", allocates=False)
def room_cost(scene: Scene, seat: Places, row: int) -> float:
    """Return the weighted cost of free seats."""
    return scene.numbers[FULLNESS] * free_share(scene, seat, row)


@kernel(f"float64(Scene, int64, {_WHO}, float64[:,::1], float64)", allocates=False)
def _team_roles(
    scene: Scene,
    team: int,
    seat: Places,
    row: int,
    order: Ints,
    states: Floats,
    unseated: float,
) -> float:
    """Return the least cost of one team; a state says how many seats of each role are taken.

    Args:
        scene: The batch.
        team: The team.
        seat: Seats by match.
        row: The match.
        order: The place of each seat.
        states: Workspace.
        unseated: Cost of a player without a role; inf = each needs one.
    """
    role_cost, team_start, steps = scene.role_cost, scene.team_start, scene.match_facts.steps
    count, roles = steps.shape
    now = 0
    for state in range(count):
        states[0, state] = np.inf
    states[0, 0] = 0.0
    for at in range(team_start[team], team_start[team + 1]):
        if order[0, at] < 0:
            continue
        player = seat[row, order[0, at]]
        for state in range(count):
            states[1 - now, state] = np.inf
        for state in range(count):
            cost = states[now, state]
            if cost == np.inf:
                continue
            states[1 - now, state] = min(states[1 - now, state], cost + unseated)
            for r in range(roles):
                after = steps[state, r]
                if after >= 0:
                    own = cost + role_cost[player, r]
                    states[1 - now, after] = min(states[1 - now, after], own)
        now = 1 - now
    best = np.inf
    for state in range(count):
        best = min(best, states[now, state])
    return best


@kernel(f"float64(Scene, {_WHO}, float64[:,::1])", allocates=False)
def roles_cost(scene: Scene, seat: Places, row: int, order: Ints, states: Floats) -> float:
    """Return the least cost of assigning the players of each team to roles.

    Each player without a role adds `UNSEATED`; the rest is the cost of the others.

    Complexity:
        O(k * roles * product of (seats + 1) over the roles).
    """
    team_start = scene.team_start
    total, players = 0.0, 0
    if scene.role_seats.shape[0] == 0:
        return 0.0
    for team in range(team_start.shape[0] - 1):
        cost = _team_roles(scene, team, seat, row, order, states, np.inf)
        if cost == np.inf:
            # The cost tells a search how far a team is from a legal one.
            cost = _team_roles(scene, team, seat, row, order, states, UNSEATED)
        total += cost
    for p in range(seat.shape[1]):
        players += 1 if seat[row, p] >= 0 else 0
    unseated = total // UNSEATED
    cost = total - unseated * UNSEATED
    # The mean is over the players in the match.
    return unseated * UNSEATED + cost * (seat.shape[1] / max(players, 1))


@kernel("float64(Scene, Board, int64)", allocates=False)
def party_gap(scene: Scene, board: Board, row: int) -> float:
    """Return x in `Batch.parity`: how much the parties of two teams differ, seats in `order`.

    Empty teams do not count. The distance of two falling lists of sizes is computed as the sum,
    over sizes, of the differences between the numbers of parties of at least that size.
    """
    first, party, team_start = scene.first, scene.party, scene.team_start
    seat, order = board.seat, board.order
    worst, seats_most = 0, 1
    for team in range(team_start.shape[0] - 1):
        filled = 0
        for at in range(team_start[team], team_start[team + 1]):
            filled += 1 if order[0, at] >= 0 else 0
        seats_most = max(seats_most, filled)
        for other in range(team if filled > 0 else 0):
            # Seats are filled from the first one on.
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
    return worst / 2.0 / max(seats_most - 1, 1)


@kernel("float64(Scene, Board, int64)", allocates=False)
def parity_gap(scene: Scene, board: Board, row: int) -> float:
    """Return .6 x + .4 x^2 for the two teams whose parties differ most."""
    x = party_gap(scene, board, row)
    return 0.6 * x + 0.4 * x * x


@kernel("float64(Scene, int32[:,::1], int64, float64)", allocates=False)
def rank_gap(scene: Scene, seat: Places, row: int, roles: float) -> float:
    """Return the mean rank of the roles of a match over the last rank, from their cost."""
    share, last, players = scene.numbers[RANK_SHARE], scene.role_seats.shape[0] - 1, 0
    if share == 0.0 or last <= 0:
        return 0.0
    for p in range(seat.shape[1]):
        players += 1 if seat[row, p] >= 0 else 0
    worst = players * last
    # Ranks are whole numbers; rounding removes the error of the weights.
    return float(np.rint(roles / share * worst)) / worst
