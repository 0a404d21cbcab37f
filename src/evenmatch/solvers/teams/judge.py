"""The exact quality of a plan's matches: in float64, every logarithm computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import (
    APART,
    NOT_ENEMIES,
    NOT_MATES,
    REACHES,
    Batch,
    Floats,
    Ints,
    Places,
)
from evenmatch.solvers.teams.criterion_kernels import (
    UNSEATED,
    parity_gap,
    rank_gap,
    roles_cost,
    room_cost,
    terms_cost,
)
from evenmatch.solvers.teams.evaluation_input import PARITY, Scene
from evenmatch.solvers.teams.pairs import pair_of
from evenmatch.solvers.teams.rules import broken_rules, far_players, other_terms, place_cost
from evenmatch.solvers.teams.search_state import Board, board_of


def judge(scene: Scene, batch: Batch, seated: Places) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the quality and legality of matches.

    Args:
        scene: The batch's.
        batch: The batch.
        seated: Shape (matches, k): players team by team, parties together, -1 = a free seat.

    Complexity:
        O(matches * k^2), with a logarithm for each pair and criterion.
    """
    board = board_of(scene, len(seated))
    board.seat[:] = seated
    costs, broken = np.zeros(len(seated)), np.zeros(len(seated), dtype=np.int64)
    weights = np.ascontiguousarray(batch.facts.ping_weights, dtype=np.float64)
    _judge(scene, board, weights, costs, broken)
    return 1.0 - costs, broken == 0


@kernel("Tuple((float64, int64, int64))(Scene, Board, int64, float64[::1])", allocates=False)
def _judge_pairs(scene: Scene, board: Board, row: int, weights: Floats) -> tuple[float, int, int]:
    """Return the costs of all pairs, rules of pairs broken, and players who reach all others."""
    measures, team_start, seat, failing = scene.measures, scene.team_start, board.seat, board.order
    k, broken, team = seat.shape[1], 0, 0
    total, enemies, mates, enemy_count, mate_count = 0.0, 0.0, 0.0, 0, 0
    for p in range(k):
        failing[1, p] = 0
    for p in range(k):
        while p >= team_start[team + 1]:
            team += 1
        for q in range(k):
            if p == q or seat[row, p] < 0 or seat[row, q] < 0:
                continue
            as_enemies, as_mates, ping, flags = pair_of(measures, seat[row, p], seat[row, q], True)
            failing[1, p] |= 0 if flags & REACHES else 1
            if q < p:
                continue
            if q < team_start[team + 1]:
                total += as_mates
                mates += ping
                mate_count += 1
                broken += 1 if flags & (APART | NOT_MATES) else 0
            else:
                total += as_enemies
                enemies += ping
                enemy_count += 1
                broken += 1 if flags & (APART | NOT_ENEMIES) else 0
    found = 0
    for p in range(k):
        found += 1 if seat[row, p] >= 0 and failing[1, p] == 0 else 0
    every = max(enemy_count + mate_count, 1)
    cost = (total + weights[2] * (enemies + mates)) / every
    cost += weights[0] * enemies / max(enemy_count, 1) + weights[1] * mates / max(mate_count, 1)
    return cost, broken, found


@kernel("void(Scene, Board, float64[::1], float64[::1], int64[::1])", allocates=False)
def _judge(scene: Scene, board: Board, weights: Floats, costs: Floats, broken: Ints) -> None:
    seats_min, team_start = scene.seats_min, scene.team_start
    hosts, numbers = scene.hosts, scene.numbers
    seat, order, states = board.seat, board.order, board.states
    for row in range(costs.shape[0]):
        for p in range(seat.shape[1]):
            order[0, p] = p if seat[row, p] >= 0 else -1
        costs[row], broken[row], reached = _judge_pairs(scene, board, row, weights)
        parity = parity_gap(scene, board, row) if numbers[PARITY] != 0.0 else 0.0
        costs[row] += numbers[PARITY] * parity + hosts[min(reached, 2)]
        costs[row] += terms_cost(scene, seat, row, order) + other_terms(scene, board, row)
        costs[row] += place_cost(scene, board, row)
        costs[row] += room_cost(scene, seat, row)
        roles = roles_cost(scene, seat, row, order, states)
        unseated = roles // UNSEATED
        rank = rank_gap(scene, seat, row, roles - unseated * UNSEATED)
        broken[row] += far_players(scene, board, row) + broken_rules(scene, board, row, rank)
        broken[row] += int(unseated)
        costs[row] += roles - unseated * UNSEATED
        for team in range(seats_min.shape[0]):
            count = 0
            for at in range(team_start[team], team_start[team + 1]):
                count += 1 if seat[row, at] >= 0 else 0
            broken[row] += 1 if count < seats_min[team] else 0
