"""The matches of a search, and the costs of their pairs beside them.

Each row of a `Board` is a match; next to its seats lie the costs of its pairs, copied from the
table, so that changing one party of a match reads only the pairs of that party. The rows after the
matches hold proposals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.teams.batch import APART, NOT_MATES, Floats, Ints, Places, Singles
from evenmatch.solvers.teams.evaluation_input import Scene
from evenmatch.solvers.teams.pairs import M_APART, TINY, enemy_bits, pair_of, with_bits

ALL_RULES = 1 << 30
"""A number of broken rules that no match reaches: an evaluation with it counts all of them."""


@record(
    "int32[:,::1], float32[:,:,::1], int32[:,:,::1], float32[:,::1], int64[:,::1], "
    "float64[:,::1], int64[::1], int64[::1]"
)
class Board(NamedTuple):
    """The matches that a search works on.

    Args:
        seat: Shape (rows, k): player of each place, -1 = free. If evaluations find divisions, the
            places of a match are in falling order of party sizes; otherwise they go team by team,
            in that order within each team.
        local: Shape (rows, pairs, 2): `Pairs.costs` of each pair of places (01, 02, ... 12, ...).
        bits: The same memory as integers.
        sums: Shape (3, ...): workspace for costs and gaps of options, and their summands.
        order: Shape (3, k): workspace: the place of each seat of a team; a count; a count.
        states: Shape (2, states): workspace for the assignment of roles.
        found: Shape (3,): the option that the last evaluation chose; how many rules it breaks; the
            number of broken rules at which an evaluation may stop.
        keys: Shape (rows,): key of each row's options, if there are any.
    """

    seat: Places
    local: Singles
    bits: Places
    sums: Singles
    order: Ints
    states: Floats
    found: Ints
    keys: Ints


def board_of(scene: Scene, rows: int) -> Board:
    """Return an empty board with `rows` rows."""
    k = int(scene.team_start[-1])
    widths = np.diff(scene.option_first)
    states = int(np.prod(scene.role_seats + 1))
    local = np.zeros((rows, max(k * (k - 1) // 2, 1), 2), dtype=np.float32)
    return Board(
        np.full((rows, k), -1, dtype=np.int32),
        local,
        local.view(np.int32),
        np.zeros((3, max(int(widths.max(initial=1)), local.shape[1], k)), dtype=np.float32),
        np.zeros((3, k), dtype=np.int64),
        np.zeros((2, states)),
        np.array([0, 0, ALL_RULES], dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
    )


@kernel("void(Scene, Board, int64, int64, int64, int64)", inline=True, allocates=False)
def _load_pair(scene: Scene, board: Board, row: int, at: int, i: int, j: int) -> None:
    """Write the costs of one pair of a row."""
    measures, shares, costs = scene.measures, scene.shares, scene.costs
    local, bits = board.local, board.bits
    if costs.shape[0] > 0:
        local[row, at, 0] = costs[i, j, 0]
        local[row, at, 1] = costs[i, j, 1]
        return
    as_enemies, as_mates, ping, flags = pair_of(measures, i, j, False)
    local[row, at, 0] = max(as_enemies * shares[0] + ping * shares[1], TINY)
    local[row, at, 1] = max(as_mates * shares[0] + ping * shares[2], TINY)
    apart = M_APART if flags & (APART | NOT_MATES) else 0
    bits[row, at, 0] = with_bits(bits[row, at, 0], enemy_bits(flags), 7)
    bits[row, at, 1] = with_bits(bits[row, at, 1], apart, 1)


@kernel("int64(Scene, Board, int64)", inline=True, allocates=False)
def _key_of(scene: Scene, board: Board, row: int) -> int:
    """Return the key of a row's options, see `options`."""
    first, party, radix, seat = scene.first, scene.party, scene.radix, board.seat
    key, p = 0, 0
    while p < seat.shape[1]:
        own = party[seat[row, p]]
        size = first[own + 1] - first[own]
        key += radix[size]
        p += size
    return key


@kernel("void(Scene, Board, int64)", allocates=False)
def load_pairs(scene: Scene, board: Board, row: int) -> None:
    """Write the costs of a row's pairs, from its seats alone."""
    seat, keys = board.seat, board.keys
    if scene.option_first.shape[0] > 1:
        keys[row] = _key_of(scene, board, row)
    at = 0
    for p in range(seat.shape[1]):
        i = seat[row, p]
        for q in range(p + 1, seat.shape[1]):
            j = seat[row, q]
            if i >= 0 and j >= 0:
                _load_pair(scene, board, row, at, i, j)
            at += 1


@kernel("void(Scene, Board, int64, int64, boolean)", inline=True, allocates=False)
def load_changes(scene: Scene, board: Board, row: int, source: int, is_alike: bool) -> None:
    """Write the costs of a row's pairs, starting from an older row with some of the same players.

    It is inlined into each search that calls it: see `kernel`. All costs are copied in one sweep,
    then those of the places that differ are written, which avoids a test for each pair.

    Args:
        scene: The scene.
        board: The board.
        row: The row; its seats are written already.
        source: The older row, its pairs loaded.
        is_alike: Whether parties of the same sizes take the same places.
    """
    seat, local, keys = board.seat, board.local, board.keys
    k = seat.shape[1]
    if is_alike:
        keys[row] = keys[source]
    elif scene.option_first.shape[0] > 1:
        keys[row] = _key_of(scene, board, row)
    for pair in range(local.shape[1]):
        local[row, pair, 0] = local[source, pair, 0]
        local[row, pair, 1] = local[source, pair, 1]
    for p in range(k):
        if seat[row, p] == seat[source, p]:
            continue
        for q in range(k):
            low, high = min(p, q), max(p, q)
            i, j = seat[row, low], seat[row, high]
            if low != high and i >= 0 and j >= 0:
                at = low * k - low * (low + 1) // 2 + high - low - 1
                _load_pair(scene, board, row, at, i, j)
