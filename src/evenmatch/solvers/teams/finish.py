"""A last polish: the parties of two matches are divided between them anew, as well as can be."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Ints, Places
from evenmatch.solvers.teams.evaluate import energy_at, least_energy
from evenmatch.solvers.teams.evaluation_input import SCENE, Scene
from evenmatch.solvers.teams.moves import EVALUATIONS, MATCHES, WALK, Walk
from evenmatch.solvers.teams.search_state import BOARD, Board

PARTIES_MAX = 13
"""Two matches of more parties than this together are left alone: 2^(parties - 1) divisions."""
GAIN_MIN = 1e-9


def neighbours(place: Places, candidates: Places, matches: int) -> Ints:
    """Return pairs of matches, those first whose players are each other's candidates most often.

    Args:
        place: `Walk.place`.
        candidates: The best partners of each player.
        matches: How many there are.

    Returns:
        Shape (pairs, 2).
    """
    row = place[0].astype(np.int64)
    one = np.repeat(row, candidates.shape[1])
    other = np.where(candidates.ravel() >= 0, row[candidates.ravel()], -1)
    is_pair = (one >= 0) & (other >= 0) & (one != other)
    low, high = np.minimum(one, other)[is_pair], np.maximum(one, other)[is_pair]
    codes, counts = np.unique(low * matches + high, return_counts=True)
    codes = codes[np.argsort(-counts, kind="stable")]
    return np.stack((codes // max(matches, 1), codes % max(matches, 1)), axis=1)


@kernel(f"int64({SCENE}, {BOARD}, int64, int64[:,::1], int64)", allocates=False)
def _add_parts(scene: Scene, board: Board, row: int, parts: Ints, count: int) -> int:
    """Add the parties of a row to a list that falls by size; return how many there are then."""
    first, party, seat = scene[4], scene[5], board[0]
    p = 0
    while p < seat.shape[1]:
        own = party[seat[row, p]]
        size = first[own + 1] - first[own]
        at = count
        while at > 0 and parts[1, at - 1] < size:
            parts[0, at], parts[1, at] = parts[0, at - 1], parts[1, at - 1]
            at -= 1
        parts[0, at], parts[1, at] = own, size
        count += 1
        p += size
    return count


@kernel(f"boolean({SCENE}, {BOARD}, {WALK}, int64[:,::1], int64, int64)", allocates=False)
def _deal(scene: Scene, board: Board, walk: Walk, parts: Ints, count: int, mask: int) -> bool:
    """Write the two proposals of a mask; return whether both can be divided into teams."""
    first, radix, option_first, seat = scene[4], scene[17], scene[18], board[0]
    k, trial = seat.shape[1], walk[3][MATCHES]
    filled = 0
    for part in range(count):
        filled += parts[1, part] if (mask >> part) & 1 == 0 else 0
    if filled != k:
        return False
    for side in range(2):
        p, key = 0, 0
        for part in range(count):
            if (mask >> part) & 1 == side:
                key += radix[parts[1, part]]
                for s in range(parts[1, part]):
                    seat[trial + side, p] = first[parts[0, part]] + s
                    p += 1
        if option_first[key] == option_first[key + 1]:
            return False
    return True


@kernel(f"void({SCENE}, {BOARD}, {WALK}, int64[:,::1], int64[:,::1], int64)", allocates=False)
def resolve_pairs(
    scene: Scene, board: Board, walk: Walk, pairs: Ints, parts: Ints, effort: int
) -> None:
    """Divide the parties of pairs of matches anew, where that lowers their energies.

    Parties stay whole. Only for formats whose best divisions evaluations find themselves.

    Args:
        scene: The scene.
        board: The board.
        walk: The search.
        pairs: Shape (p, 2): pairs of matches, see `neighbours`.
        parts: Shape (2, 2 k): room.
        effort: Evaluations after which no further pair is begun.

    Complexity:
        At most 2^(parties - 1) evaluations of both matches of a pair: 462 for 3v3 without parties.
    """
    energies, place, counts, seat = walk[0], walk[1], walk[3], board[0]
    trial, begun = counts[MATCHES], counts[EVALUATIONS]
    for pair in range(pairs.shape[0]):
        if counts[EVALUATIONS] - begun >= effort:
            return
        one, two = pairs[pair, 0], pairs[pair, 1]
        count = _add_parts(scene, board, two, parts, _add_parts(scene, board, one, parts, 0))
        if count > PARTIES_MAX:
            continue
        best, chosen = energies[one] + energies[two] - GAIN_MIN, -1
        # The largest party may as well be in the first match: matches are alike.
        for mask in range(0, 1 << count, 2):
            if not _deal(scene, board, walk, parts, count, mask):
                continue
            energy = energy_at(scene, board, trial)
            counts[EVALUATIONS] += 1
            if energy + least_energy(scene, board, trial + 1) >= best:
                continue
            energy += energy_at(scene, board, trial + 1)
            counts[EVALUATIONS] += 1
            if energy < best:
                best, chosen = energy, mask
        if chosen >= 0:
            _deal(scene, board, walk, parts, count, chosen)
            for side, row in ((0, one), (1, two)):
                for p in range(seat.shape[1]):
                    player = seat[trial + side, p]
                    seat[row, p] = player
                    place[0, player], place[1, player] = row, p
                energies[row] = energy_at(scene, board, row)
