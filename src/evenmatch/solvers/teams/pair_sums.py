"""The total cost of the pairs of one division of a match, and how many of them are forbidden."""

from __future__ import annotations

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.evaluation_input import HAS_FLAGS, Scene
from evenmatch.solvers.teams.pairs import E_APART, M_APART
from evenmatch.solvers.teams.search_state import Board


@kernel("float64(Scene, Board, int64)", allocates=False)
def pairs_cost(scene: Scene, board: Board, row: int) -> float:
    """Return the cost of pairs for the division in `order`; broken rules are counted in `found`.

    If seats are free, the means are over fewer pairs: the sums over enemies and over mates are each
    scaled up. That is exact except for means over all pairs in matches whose teams have different
    numbers of free seats; `judge` computes those exactly.
    """
    team_start, numbers = scene.team_start, scene.numbers
    seat, local, bits, order, found = board.seat, board.local, board.bits, board.order, board.found
    k, broken = seat.shape[1], 0
    enemies, mates = 0.0, 0.0
    enemy_count, mate_count, enemy_most, mate_most = 0, 0, 0, 0
    team = 0
    for a in range(k):
        while a >= team_start[team + 1]:
            team += 1
        for b in range(a + 1, k):
            is_mate = b < team_start[team + 1]
            mate_most += 1 if is_mate else 0
            enemy_most += 0 if is_mate else 1
            if order[0, a] < 0 or order[0, b] < 0:
                continue
            p, q = min(order[0, a], order[0, b]), max(order[0, a], order[0, b])
            at = p * k - p * (p + 1) // 2 + q - p - 1
            if is_mate:
                mates += local[row, at, 1]
                mate_count += 1
                broken += bits[row, at, 1] & M_APART
            else:
                enemies += local[row, at, 0]
                enemy_count += 1
                broken += bits[row, at, 0] & E_APART
    found[1] = broken if numbers[HAS_FLAGS] > 0.0 else 0
    if enemy_count < enemy_most:
        enemies *= enemy_most / max(enemy_count, 1)
    if mate_count < mate_most:
        mates *= mate_most / max(mate_count, 1)
    return enemies + mates


@kernel("float64(Scene, Board, int64)", inline=True, allocates=False)
def full_pairs_cost(scene: Scene, board: Board, row: int) -> float:
    """Return `pairs_cost` of a full match whose seats are in team order already."""
    team_start, numbers, local, bits = scene.team_start, scene.numbers, board.local, board.bits
    k, at, broken = board.seat.shape[1], 0, 0
    total = 0.0
    for team in range(team_start.shape[0] - 1):
        end = team_start[team + 1]
        for a in range(team_start[team], end):
            for _ in range(a + 1, end):
                total += local[row, at, 1]
                broken += bits[row, at, 1] & M_APART
                at += 1
            for _ in range(end, k):
                total += local[row, at, 0]
                broken += bits[row, at, 0] & E_APART
                at += 1
    board.found[1] = broken if numbers[HAS_FLAGS] > 0.0 else 0
    return total
