"""The matches of a search, and the costs of their pairs beside them.

Each row of a `Board` is a match; next to its seats lie the costs of its pairs, copied from the
table, so that a match that changes by one party reads the pairs of that party alone. Rows beyond
the matches are for proposals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenmatch.solvers.batch.batch import APART, NOT_MATES, Floats, Ints, Places, Singles
from evenmatch.solvers.batch.measures import pair_of
from evenmatch.solvers.batch.pairs import M_APART, TINY, enemy_bits, with_bits
from evenmatch.solvers.batch.scene import SCENE, Scene
from evenmatch.solvers.kernel import kernel

BOARD = (
    "Tuple((int32[:,::1], float32[:,:,::1], int32[:,:,::1], float32[:,::1], int64[:,::1], "
    "float64[:,::1], int64[::1]))"
)


class Board(NamedTuple):
    """Matches under work.

    Args:
        seat: Shape (rows, k): player of each place, -1 = free. Where divisions are found by the
            evaluation, the places of a match are in falling order of party sizes; else they go
            team by team, and so within each team.
        local: Shape (rows, pairs, 2): `Pairs.costs` of each pair of places (01, 02, ... 12, ...).
        bits: The same memory as integers.
        sums: Shape (2, options at most): room for kernels.
        order: Shape (3, k): room: the place of each seat of a team; a count; a count.
        states: Shape (2, states): room for the assignment to roles.
        found: Shape (2,): the option chosen by the last evaluation, and rules broken.
    """

    seat: Places
    local: Singles
    bits: Places
    sums: Singles
    order: Ints
    states: Floats
    found: Ints


def board_of(scene: Scene, rows: int) -> Board:
    """Return an empty board with so many rows."""
    k = int(scene.team_start[-1])
    widths = np.diff(scene.option_first)
    states = int(np.prod(scene.role_seats + 1))
    local = np.zeros((rows, max(k * (k - 1) // 2, 1), 2), dtype=np.float32)
    return Board(
        np.full((rows, k), -1, dtype=np.int32),
        local,
        local.view(np.int32),
        np.zeros((2, int(widths.max(initial=1)) or 1), dtype=np.float32),
        np.zeros((3, k), dtype=np.int64),
        np.zeros((2, states)),
        np.zeros(2, dtype=np.int64),
    )


@kernel(f"void({SCENE}, {BOARD}, int64, int64)", inline=True, allocates=False)
def load_pairs(scene: Scene, board: Board, row: int, source: int) -> None:
    """Write the costs of a row's pairs, copying those that an older row has at the same places.

    Args:
        scene: The scene.
        board: The board.
        row: The row; its seats are known.
        source: The older row; -1 = none.
    """
    measures, shares, costs = scene[0], scene[1], scene[2]
    seat, local, bits = board[0], board[1], board[2]
    at = 0
    for p in range(seat.shape[1]):
        i = seat[row, p]
        is_new = source < 0 or i != seat[source, p]
        for q in range(p + 1, seat.shape[1]):
            j = seat[row, q]
            if not is_new and j == seat[source, q]:
                local[row, at, 0] = local[source, at, 0]
                local[row, at, 1] = local[source, at, 1]
            elif i >= 0 and j >= 0:
                if costs.shape[0] > 0:
                    local[row, at, 0] = costs[i, j, 0]
                    local[row, at, 1] = costs[i, j, 1]
                else:
                    as_enemies, as_mates, ping, flags = pair_of(measures, i, j, False)
                    as_enemies = as_enemies * shares[0] + ping * shares[1]
                    local[row, at, 0] = max(as_enemies, TINY)
                    local[row, at, 1] = max(as_mates * shares[0] + ping * shares[2], TINY)
                    apart = M_APART if flags & (APART | NOT_MATES) else 0
                    bits[row, at, 0] = with_bits(bits[row, at, 0], enemy_bits(flags), 7)
                    bits[row, at, 1] = with_bits(bits[row, at, 1], apart, 1)
            at += 1
