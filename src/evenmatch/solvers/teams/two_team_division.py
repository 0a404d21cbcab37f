"""The best division of a match into two teams, by exhaustive search."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Ints, Places
from evenmatch.solvers.teams.criterion_kernels import parity_gap
from evenmatch.solvers.teams.evaluate import divided_cost
from evenmatch.solvers.teams.evaluation_input import PARITY, Scene
from evenmatch.solvers.teams.search_state import Board, board_of, load_pairs

PLAYERS_MAX = 16
"""Two teams of at most this many players together are divided exactly."""


def is_exact(scene: Scene) -> bool:
    """Return whether `split_matches` finds the best division of each match."""
    return len(scene.seats_min) == 2 and int(scene.team_start[-1]) <= PLAYERS_MAX


def split_matches(scene: Scene, seated: Places) -> Places:
    """Return matches of two teams, each divided in the best way, parties whole.

    Without `is_exact` they are returned unchanged.

    Args:
        scene: The batch.
        seated: Shape (matches, k): team by team, parties in falling order of size, -1 = free.

    Complexity:
        O(2^parties * k^2) for each match: 8v8 without parties has 6,435 divisions.
    """
    if not is_exact(scene) or not len(seated):
        return seated
    board = board_of(scene, len(seated))
    board.seat[:] = seated
    parts: Ints = np.zeros((4, seated.shape[1]), dtype=np.int64)
    _split_all(scene, board, parts)
    return board.seat


@kernel("int64(Scene, Board, int64, int64[:,::1])", allocates=False)
def _find_parts(scene: Scene, board: Board, row: int, parts: Ints) -> int:
    """Write the first place and size of each party of a row, largest first; return their number."""
    first, party, seat = scene.first, scene.party, board.seat
    count, p = 0, 0
    while p < seat.shape[1]:
        if seat[row, p] < 0:
            p += 1
            continue
        own = party[seat[row, p]]
        size = first[own + 1] - first[own]
        at = count
        while at > 0 and parts[1, at - 1] < size:
            parts[0, at], parts[1, at] = parts[0, at - 1], parts[1, at - 1]
            at -= 1
        parts[0, at], parts[1, at] = p, size
        count += 1
        p += size
    return count


@kernel("boolean(Scene, Board, int64[:,::1], int64, int64)", allocates=False)
def _take_sides(scene: Scene, board: Board, parts: Ints, count: int, mask: int) -> bool:
    """Write into `order` the division in which the set bits of a mask are the second team."""
    team_start, seats_min, order = scene.team_start, scene.seats_min, board.order
    left, right = team_start[0], team_start[1]
    for p in range(team_start[2]):
        order[0, p] = -1
    for part in range(count):
        team, size = (mask >> part) & 1, parts[1, part]
        at = right if team else left
        if at + size > team_start[team + 1]:
            return False
        for s in range(size):
            order[0, at + s] = parts[0, part] + s
        left += 0 if team else size
        right += size if team else 0
    return left >= seats_min[0] and right - team_start[1] >= seats_min[1]


@kernel("void(Scene, Board, int64[:,::1])", allocates=False)
def _split_all(scene: Scene, board: Board, parts: Ints) -> None:
    team_start, seats_min, seat = scene.team_start, scene.seats_min, board.seat
    order, found = board.order, board.found
    k = seat.shape[1]
    is_even = team_start[2] == 2 * team_start[1] and seats_min[0] == seats_min[1]
    is_even = is_even and scene.match_facts.sides.shape[0] == 0
    for row in range(seat.shape[0]):
        load_pairs(scene, board, row)
        count = _find_parts(scene, board, row, parts)
        best, fewest = np.inf, 1 << 30
        # Equal teams are interchangeable, so the last party may always be in the first.
        for mask in range(1 << (count - 1 if is_even else count)):
            if not _take_sides(scene, board, parts, count, mask):
                continue
            parity = parity_gap(scene, board, row) if scene.numbers[PARITY] != 0.0 else 0.0
            cost = divided_cost(scene, board, row, parity)
            if found[1] < fewest or (found[1] == fewest and cost < best):
                best, fewest = cost, found[1]
                for p in range(k):
                    parts[2, p] = seat[row, order[0, p]] if order[0, p] >= 0 else -1
        for p in range(k):
            seat[row, p] = parts[2, p]
