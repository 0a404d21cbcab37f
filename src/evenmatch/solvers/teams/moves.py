"""Moves of a search: packs of parties of equal size change places between two groups.

A *group* is a match if evaluations find its best division, else a team; or it is the bench. A move
begins with one party of each group; the smaller pack takes in further parties of its group until
both have the same size. If seats may stay free, packs of different sizes may change places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.teams.batch import Floats, Ints, Places
from evenmatch.solvers.teams.evaluation_input import HAS_ROOM, Scene
from evenmatch.solvers.teams.search_state import Board

Draws = NDArray[np.uint64]

MATCHES, ON_BENCH, EVALUATIONS, EFFORT = range(4)
"""Indices into `Walk.counts`."""
START_HEAT, END_HEAT, GUIDED, PICKY = range(4)
"""Indices into `Walk.habits`: temperatures; share of moves that bring a player together with one of
their best partners; share of moves that begin with the worse placed of two players."""


@record(
    "float64[::1], int32[:,::1], int32[::1], int64[::1], uint64[::1], int32[:,::1], "
    "int64[:,::1], float64[::1]"
)
class Walk(NamedTuple):
    """The state of a search, beside its board.

    Args:
        energies: Shape (matches + 2,): energy of each row of the board; the last two are proposals.
        place: Shape (2, n): row of each player, -1 = on the bench; and place in that row.
        bench: Shape (parties,): parties on the bench.
        counts: Shape (6,): see `MATCHES` and the names after it.
        chance: Shape (1,): state of the random generator.
        candidates: Shape (n, PARTNERS).
        packs: Shape (4, k + 2): parties of both packs; their sizes and other numbers of the move.
        habits: Shape (4,): see `START_HEAT` and the names after it.
    """

    energies: Floats
    place: Places
    bench: Places
    counts: Ints
    chance: Draws
    candidates: Places
    packs: Ints
    habits: Floats


FROM_ROW, FROM_LOW, FROM_HIGH, TO_ROW, TO_LOW, TO_HIGH = range(6)
"""Indices into `Walk.packs[2]`: rows of both groups, -1 = the bench, and their places."""
FROM_COUNT, TO_COUNT, KEPT = range(3)
"""Indices into `Walk.packs[3]`: parties in both packs; a party that must stay."""


@kernel("uint64(uint64[::1])", inline=True, allocates=False)
def _draw(chance: Draws) -> int:
    """Return 64 random bits.

    Source:
        Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators (2014): SplitMix64.
    """
    chance[0] += np.uint64(0x9E3779B97F4A7C15)
    z = chance[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel("int64(uint64[::1], int64)", inline=True, allocates=False)
def below(chance: Draws, count: int) -> int:
    """Return a random number below a count of at most 2^32."""
    high = _draw(chance) >> np.uint64(32)
    return int(np.int64((high * np.uint64(count)) >> np.uint64(32)))


@kernel("float64(uint64[::1])", inline=True, allocates=False)
def uniform(chance: Draws) -> float:
    """Return a random number in (0, 1]."""
    return (np.float64(_draw(chance) >> np.uint64(11)) + 1.0) * 1.1102230246251565e-16


@kernel("void(Scene, Walk, int64, int64, int64)", inline=True, allocates=False)
def _enter_group(scene: Scene, walk: Walk, side: int, row: int, p: int) -> None:
    """Set the group that a place belongs to as one side of the move."""
    team_start, option_first, numbers = scene.team_start, scene.option_first, walk.packs
    low, high = 0, team_start[team_start.shape[0] - 1]
    if row >= 0 and option_first.shape[0] == 1:
        team = 0
        while p >= team_start[team + 1]:
            team += 1
        low, high = team_start[team], team_start[team + 1]
    numbers[2, side] = row
    numbers[2, side + 1] = low
    numbers[2, side + 2] = high


@kernel("int64(Scene, Board, Walk, int64)", inline=True, allocates=False)
def _any_party(scene: Scene, board: Board, walk: Walk, side: int) -> int:
    """Return a random party of a group, -1 if the draw hits a free seat."""
    party, seat = scene.party, board.seat
    bench, counts, chance, packs = walk.bench, walk.counts, walk.chance, walk.packs
    row, low, high = packs[2, side], packs[2, side + 1], packs[2, side + 2]
    if row < 0:
        if counts[ON_BENCH] == 0:
            return -1
        return bench[below(chance, counts[ON_BENCH])]
    player = seat[row, low + below(chance, high - low)]
    return party[player] if player >= 0 else -1


@kernel("boolean(Walk, int64, int64)", inline=True, allocates=False)
def _is_packed(walk: Walk, side: int, one: int) -> bool:
    packs = walk.packs
    for at in range(packs[3, side]):
        if packs[side, at] == one:
            return True
    return packs[3, KEPT] == one


@kernel("boolean(Scene, Board, Walk)", inline=True, allocates=False)
def _grow_packs(scene: Scene, board: Board, walk: Walk) -> bool:
    """Add parties to the smaller pack until both have one size; return whether they do."""
    first, packs = scene.first, walk.packs
    one, two = packs[0, 0], packs[1, 0]
    lead = (first[one + 1] - first[one]) - (first[two + 1] - first[two])
    tries = 0
    while lead != 0:
        tries += 1
        if tries > 12:
            return False
        side = 0 if lead < 0 else 1
        other = _any_party(scene, board, walk, 3 * side)
        if other < 0 or _is_packed(walk, side, other):
            continue
        size = first[other + 1] - first[other]
        if size > abs(lead) and tries < 5:
            continue
        if packs[3, side] >= packs.shape[1]:
            return False
        packs[side, packs[3, side]] = other
        packs[3, side] += 1
        lead += size if side == 0 else -size
    return True


@kernel("boolean(Scene, Board, Walk)", allocates=False)
def _packs_fit(scene: Scene, board: Board, walk: Walk) -> bool:
    """Return whether both groups keep legal sizes when packs of any size change places."""
    first, team_start, seats_min = scene.first, scene.team_start, scene.seats_min
    seat, packs = board.seat, walk.packs
    change = 0
    for at in range(packs[3, TO_COUNT]):
        change += first[packs[1, at] + 1] - first[packs[1, at]]
    for at in range(packs[3, FROM_COUNT]):
        change -= first[packs[0, at] + 1] - first[packs[0, at]]
    for side in range(2):
        row, low, high = packs[2, 3 * side], packs[2, 3 * side + 1], packs[2, 3 * side + 2]
        if row >= 0:
            filled, team = change if side == 0 else -change, 0
            while team_start[team] != low:
                team += 1
            for p in range(low, high):
                filled += 1 if seat[row, p] >= 0 else 0
            if filled > high - low or filled < seats_min[team]:
                return False
    return True


@kernel("int64(Walk)", inline=True, allocates=False)
def _first_player(walk: Walk) -> int:
    """Return a random player, sometimes the worse placed of two."""
    energies, place, chance, habits = walk.energies, walk.place, walk.chance, walk.habits
    count = place.shape[1]
    i = below(chance, count)
    if habits[PICKY] > 0.0 and uniform(chance) < habits[PICKY]:
        other = below(chance, count)
        if place[0, other] >= 0 and (
            place[0, i] < 0 or energies[place[0, other]] > energies[place[0, i]]
        ):
            i = other
    return i


@kernel("boolean(Scene, Board, Walk)", inline=True, allocates=False)
def propose(scene: Scene, board: Board, walk: Walk) -> bool:
    """Draw a random move; return False if the draw gives none."""
    party, is_divided, seat = scene.party, scene.option_first.shape[0] > 1, board.seat
    place, counts, chance = walk.place, walk.counts, walk.chance
    candidates, packs = walk.candidates, walk.packs
    if counts[MATCHES] == 0:
        return False
    i = _first_player(walk)
    bits = _draw(chance)
    is_guided = np.float64(bits >> np.uint64(40)) < walk.habits[GUIDED] * 16777216.0
    if is_guided:
        j = int(candidates[i, bits & np.uint64(15)])
    else:
        j = below(chance, party.shape[0])
    if j < 0 or party[i] == party[j]:
        return False
    if place[0, j] < 0:
        i, j = j, i
        if place[0, j] < 0:
            return False
    packs[3, KEPT] = -1
    packs[3, FROM_COUNT] = packs[3, TO_COUNT] = 1
    p = int(place[1, j])
    if is_guided and place[0, i] != place[0, j]:
        # Player i joins the match of j, who stays there: somebody else has to leave it.
        packs[3, KEPT] = party[j]
        p = below(chance, seat.shape[1])
    _enter_group(scene, walk, TO_ROW, place[0, j], 0 if is_divided else p)
    _enter_group(scene, walk, FROM_ROW, place[0, i], place[1, i])
    player = seat[place[0, j], p]
    if player >= 0 and party[player] == packs[3, KEPT]:
        return False
    if packs[2, FROM_ROW] == packs[2, TO_ROW] and packs[2, FROM_LOW] == packs[2, TO_LOW]:
        return False
    packs[0, 0] = party[i]
    if player < 0:
        packs[3, TO_COUNT] = 0
        return _packs_fit(scene, board, walk)
    packs[1, 0] = party[player]
    if scene.numbers[HAS_ROOM] > 0.0 and bits & np.uint64(16) > 0:
        return _packs_fit(scene, board, walk)
    return _grow_packs(scene, board, walk)


@kernel(
    "void(int64[::1], int32[::1], int64[:,::1], int64[:,::1], int32[:,::1], int64, int64)",
    allocates=False,
)
def _rebuild(
    first: Ints, party: Places, packs: Ints, parties: Ints, seat: Places, row: int, side: int
) -> None:
    """Write a group anew, its parties in falling order of size."""
    low, high = packs[2, 3 * side + 1], packs[2, 3 * side + 2]
    count, before, largest = 0, -1, 1
    for p in range(low, high):
        own = party[seat[row, p]] if seat[row, p] >= 0 else -1
        if own != before and own >= 0:
            stays = True
            for at in range(packs[3, side]):
                stays = stays and packs[side, at] != own
            if stays:
                parties[1, count] = own
                count += 1
        before = own
    for at in range(packs[3, 1 - side]):
        parties[1, count] = packs[1 - side, at]
        count += 1
    for at in range(count):
        largest = max(largest, first[parties[1, at] + 1] - first[parties[1, at]])
    p = low
    for size in range(largest, 0, -1):
        for at in range(count):
            own = parties[1, at]
            if first[own + 1] - first[own] == size:
                for s in range(size):
                    seat[row, p + s] = first[own] + s
                p += size
    for free in range(p, high):
        seat[row, free] = -1


@kernel("boolean(Scene, Board, Walk, int64, int64)", inline=True, allocates=False)
def rewrite(scene: Scene, board: Board, walk: Walk, row: int, side: int) -> bool:
    """Write into a row the group of one side of the move, with its pack replaced by the other.

    Returns:
        Whether one party took the place of another of its size, and nothing else changed.
    """
    first, place, packs, seat = scene.first, walk.place, walk.packs, board.seat
    if packs[3, 0] == 1 and packs[3, 1] == 1:
        gone, come = packs[side, 0], packs[1 - side, 0]
        size = first[come + 1] - first[come]
        if size == first[gone + 1] - first[gone]:
            p = place[1, first[gone]]
            for s in range(size):
                seat[row, p + s] = first[come] + s
            return True
    _rebuild(first, scene.party, packs, board.order, seat, row, side)
    return False
