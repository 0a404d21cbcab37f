"""Kernels of a descent by swaps: try all swaps of packs between two groups, and make the best.

A *group* is a match if evaluations find its best division, else a team; some parties on the bench
make a group too, which costs nothing. A swap exchanges one party for a pack of parties of the same
size. All swaps of two groups are evaluated again only after one of them has changed: steps record
the last change of each group and the last examination of each pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.teams.batch import Floats, Ints, Places
from evenmatch.solvers.teams.evaluate import energy_of
from evenmatch.solvers.teams.evaluation_input import Scene
from evenmatch.solvers.teams.search_state import Board, load_changes

MATCHES, TEAMS, STEP, EVALUATIONS, EFFORT, SWAPS = range(6)
"""Indices into `Descent.counts`."""
BY_MASK = 12
"""Packs of several parties are made only in groups of at most this many parties."""
LEAST_GAIN = 1e-7
"""Least fall of energy that counts as a gain in single precision."""


@record(
    "float64[::1], int32[:,::1], int64[::1], int32[::1], int32[:,::1], int64[:,::1], "
    "int32[:,:,::1], int64[:,::1]"
)
class Descent(NamedTuple):
    """The state of a descent, beside its board.

    Args:
        energies: Shape (matches + 2,): energy of each row of the board; the last two are proposals.
        bench: Shape (groups on the bench, room): parties, -1 = none.
        counts: Shape (6,): see `MATCHES` and the names after it; `TEAMS` is the groups per match,
            `EFFORT` the evaluations at which to stop.
        changed: Shape (groups,): the step at which each group changed.
        looked: Shape (groups, groups): the step at which each pair was examined.
        parties: Shape (3, room): parties of the two groups in work, and of one to be written.
        packs: Shape (2, 2^BY_MASK + room, 3): packs of both: mask or party, size, parties.
        move: Shape (2, 3): group, pack and number of parties of each side.
    """

    energies: Floats
    bench: Places
    counts: Ints
    changed: Places
    looked: Places
    parties: Ints
    packs: NDArray[np.int32]
    move: Ints


@kernel("int64(Scene, Board, Descent, int64, int64)", inline=True, allocates=False)
def _list_parties(scene: Scene, board: Board, descent: Descent, group: int, side: int) -> int:
    """Write the parties of a group, and return their number."""
    party, team_start, seat = scene.party, scene.team_start, board.seat
    bench, counts, parties = descent.bench, descent.counts, descent.parties
    found = 0
    row, team = group // counts[TEAMS], group % counts[TEAMS]
    if row >= counts[MATCHES]:
        own = group - counts[MATCHES] * counts[TEAMS]
        while found < bench.shape[1] and bench[own, found] >= 0:
            parties[side, found] = bench[own, found]
            found += 1
        return found
    low = team_start[team]
    high = team_start[team + 1] if counts[TEAMS] > 1 else seat.shape[1]
    before = -1
    for p in range(low, high):
        own = party[seat[row, p]] if seat[row, p] >= 0 else -1
        if own >= 0 and own != before:
            parties[side, found] = own
            found += 1
        before = own
    return found


@kernel("int64(Scene, Descent, int64, int64, int64)", inline=True, allocates=False)
def _list_packs(scene: Scene, descent: Descent, side: int, count: int, largest: int) -> int:
    """Write the packs of a group: single parties, then packs that match a large party."""
    first, parties, packs = scene.first, descent.parties, descent.packs
    for at in range(count):
        own = parties[side, at]
        packs[side, at, 0], packs[side, at, 1] = at, first[own + 1] - first[own]
        packs[side, at, 2] = 1
    found = count
    if largest == 1 or count > BY_MASK:
        return found
    for mask in range(3, 1 << count):
        size, number = 0, 0
        for at in range(count):
            if mask >> at & 1:
                size += packs[side, at, 1]
                number += 1
        if number > 1 and size <= largest:
            packs[side, found, 0], packs[side, found, 1] = mask, size
            packs[side, found, 2] = number
            found += 1
    return found


@kernel("boolean(int32[:,:,::1], int64, int64, int64)", inline=True, allocates=False)
def _holds(packs: Places, side: int, pack: int, at: int) -> bool:
    """Return whether a pack holds a party of its group."""
    if packs[side, pack, 2] == 1:
        return packs[side, pack, 0] == at
    return packs[side, pack, 0] >> at & 1 == 1


@kernel("void(Scene, Board, Descent, int64, int64)", allocates=False)
def _write(scene: Scene, board: Board, descent: Descent, side: int, trial: int) -> None:
    """Write one group of a swap into a row, with its pack replaced by that of the other."""
    first, team_start, seat = scene.first, scene.team_start, board.seat
    counts, parties, packs, move = descent.counts, descent.parties, descent.packs, descent.move
    other = 1 - side
    mine, its = move[side, 1], move[other, 1]
    if packs[side, mine, 2] == 1 and packs[other, its, 2] == 1:
        gone = first[parties[side, packs[side, mine, 0]]]
        come = first[parties[other, packs[other, its, 0]]]
        p = 0
        while seat[trial, p] != gone:
            p += 1
        for s in range(packs[side, mine, 1]):
            seat[trial, p + s] = come + s
        return
    team = move[side, 0] % counts[TEAMS]
    p = team_start[team]
    high = team_start[team + 1] if counts[TEAMS] > 1 else seat.shape[1]
    found = 0
    for at in range(move[side, 2]):
        if not _holds(packs, side, mine, at):
            parties[2, found] = parties[side, at]
            found += 1
    for at in range(move[other, 2]):
        if _holds(packs, other, its, at):
            parties[2, found] = parties[other, at]
            found += 1
    for size in range(high - p, 0, -1):
        for at in range(found):
            own = parties[2, at]
            if first[own + 1] - first[own] == size:
                for s in range(size):
                    seat[trial, p + s] = first[own] + s
                p += size
    for free in range(p, high):
        seat[trial, free] = -1


@kernel("float64(Scene, Board, Descent)", allocates=False)
def _try_swap(scene: Scene, board: Board, descent: Descent) -> float:
    """Evaluate a swap in the rows for proposals; return the change of the energy."""
    seat, energies, counts, move = board.seat, descent.energies, descent.counts, descent.move
    matches, change = counts[MATCHES], 0.0
    rows = (move[0, 0] // counts[TEAMS], move[1, 0] // counts[TEAMS])
    for side in range(2):
        row, trial = rows[side], matches + side
        if row >= matches or (side == 1 and rows[0] == rows[1]):
            continue
        for p in range(seat.shape[1]):
            seat[trial, p] = seat[row, p]
        _write(scene, board, descent, side, trial)
        if rows[0] == rows[1]:
            _write(scene, board, descent, 1, trial)
        load_changes(scene, board, trial, row, False)
        energies[trial] = energy_of(scene, board, trial)
        counts[EVALUATIONS] += 1
        change += energies[trial] - energies[row]
    return change


@kernel("void(Board, Descent)", allocates=False)
def _take(board: Board, descent: Descent) -> None:
    """Make the swap that was tried last."""
    seat, local = board.seat, board.local
    energies, bench = descent.energies, descent.bench
    counts, changed = descent.counts, descent.changed
    parties, packs, move = descent.parties, descent.packs, descent.move
    matches, teams = counts[MATCHES], counts[TEAMS]
    counts[STEP] += 1
    counts[SWAPS] += 1
    for side in range(2):
        row, trial = move[side, 0] // teams, matches + side
        if row < matches:
            for team in range(teams):
                changed[row * teams + team] = counts[STEP]
            if side == 1 and row == move[0, 0] // teams:
                continue
            for p in range(seat.shape[1]):
                seat[row, p] = seat[trial, p]
            for pair in range(local.shape[1]):
                local[row, pair, 0] = local[trial, pair, 0]
                local[row, pair, 1] = local[trial, pair, 1]
            energies[row] = energies[trial]
            continue
        own, found, other = move[side, 0] - matches * teams, 0, 1 - side
        changed[move[side, 0]] = counts[STEP]
        for at in range(move[side, 2]):
            if not _holds(packs, side, move[side, 1], at):
                bench[own, found] = parties[side, at]
                found += 1
        for at in range(move[other, 2]):
            if _holds(packs, other, move[other, 1], at):
                bench[own, found] = parties[other, at]
                found += 1
        for at in range(found, bench.shape[1]):
            bench[own, at] = -1


@kernel("boolean(Scene, Board, Descent, int64, int64)", allocates=False)
def _improve(scene: Scene, board: Board, descent: Descent, one: int, two: int) -> bool:
    """Make the best swap of two groups if it lowers the energy; return whether it does."""
    first, parties, packs, move = scene.first, descent.parties, descent.packs, descent.move
    move[0, 0], move[1, 0] = one, two
    move[0, 2] = _list_parties(scene, board, descent, one, 0)
    move[1, 2] = _list_parties(scene, board, descent, two, 1)
    mine, its = 1, 1
    for at in range(move[0, 2]):
        mine = max(mine, first[parties[0, at] + 1] - first[parties[0, at]])
    for at in range(move[1, 2]):
        its = max(its, first[parties[1, at] + 1] - first[parties[1, at]])
    mine, its = (
        _list_packs(scene, descent, 0, move[0, 2], its),
        _list_packs(scene, descent, 1, move[1, 2], mine),
    )
    best, best_mine, best_its, last = -LEAST_GAIN, -1, -1, False
    for a in range(mine):
        for b in range(its):
            is_alike = packs[0, a, 1] == packs[1, b, 1]
            if not is_alike or (packs[0, a, 2] > 1 and packs[1, b, 2] > 1):
                continue
            move[0, 1], move[1, 1] = a, b
            change = _try_swap(scene, board, descent)
            last = change < best
            if last:
                best, best_mine, best_its = change, a, b
    if best_mine < 0:
        return False
    if not last:
        move[0, 1], move[1, 1] = best_mine, best_its
        _try_swap(scene, board, descent)
    _take(board, descent)
    return True


@kernel("boolean(Scene, Board, Descent)", allocates=False)
def descend(scene: Scene, board: Board, descent: Descent) -> bool:
    """Swap until no swap of any two groups lowers the energy, or the effort is spent.

    Groups that are close in the first order come first, since their swaps gain most.

    Returns:
        Whether no swap lowers the energy.
    """
    counts, changed, looked = descent.counts, descent.changed, descent.looked
    groups, in_matches = changed.shape[0], counts[MATCHES] * counts[TEAMS]
    has_improved = True
    while has_improved:
        has_improved = False
        for distance in range(1, groups):
            for one in range(min(in_matches, groups - distance)):
                two = one + distance
                if looked[one, two] >= max(changed[one], changed[two]):
                    continue
                if counts[EVALUATIONS] >= counts[EFFORT]:
                    return False
                looked[one, two] = counts[STEP]
                has_improved |= _improve(scene, board, descent, one, two)
    return True
