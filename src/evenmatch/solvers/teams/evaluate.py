"""Kernels for the value of matches during a search.

Searches lower the `energy` of a match: minus its transformed quality, minus the worth of its
players. If seats may stay free, quality is multiplied by the share of seats that are filled;
otherwise many small matches would seem better than few large ones. The energy has no lower bound,
since the worth of players has none.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Floats, Places, Singles
from evenmatch.solvers.teams.criterion_kernels import (
    UNSEATED,
    filled_share,
    parity_gap,
    rank_gap,
    roles_cost,
    room_cost,
    terms_cost,
)
from evenmatch.solvers.teams.evaluation_input import (
    GAP_CELLS,
    GAP_COLUMN,
    GAP_SMOOTH,
    HAS_FLAGS,
    HAS_HOSTS,
    HAS_LATE,
    HAS_ROOM,
    HAS_WORTH,
    ILLEGAL,
    IS_PLAIN,
    PARITY,
    POWER,
    Scene,
)
from evenmatch.solvers.teams.options import LANES, NEVER
from evenmatch.solvers.teams.pair_sums import full_pairs_cost, pairs_cost
from evenmatch.solvers.teams.pairs import (
    CELLS,
    E_APART,
    E_REACHED,
    E_REACHES,
    M_APART,
)
from evenmatch.solvers.teams.rules import broken_rules, far_players, other_terms, place_cost
from evenmatch.solvers.teams.search_state import Board, load_pairs
from evenmatch.solvers.teams.three_v_three import trio_cost, trio_hosts

PER_VIOLATION = 0.05
"""Energy that each broken rule adds to a match that is not legal."""
IMPOSSIBLE = 1e9
"""Energy of a match whose parties cannot be divided into teams."""


@kernel("float64(Scene, Board, int64)", inline=True, allocates=False)
def hosts_cost(scene: Scene, board: Board, row: int) -> float:
    """Return the weighted cost of having no, one, two or more players who reach all others."""
    hosts, seat, bits, counts = scene.hosts, board.seat, board.bits, board.order
    k = seat.shape[1]
    found = 0
    if k <= 62:
        failing, at = 0, 0
        for p in range(k):
            for q in range(p + 1, k):
                if seat[row, p] >= 0 and seat[row, q] >= 0:
                    both = bits[row, at, 0]
                    failing |= ((~both >> 1) & 1) << p
                    failing |= ((~both >> 2) & 1) << q
                at += 1
        for p in range(k):
            found += 1 if seat[row, p] >= 0 and (failing >> p) & 1 == 0 else 0
    else:
        for p in range(k):
            counts[1, p] = 0
        at = 0
        for p in range(k):
            for q in range(p + 1, k):
                if seat[row, p] >= 0 and seat[row, q] >= 0:
                    both = bits[row, at, 0]
                    counts[1, p] += 0 if both & E_REACHES else 1
                    counts[1, q] += 0 if both & E_REACHED else 1
                at += 1
        for p in range(k):
            found += 1 if seat[row, p] >= 0 and counts[1, p] == 0 else 0
    return hosts[min(found, 2)]


@kernel(
    "void(float32[::1], int64, int64, int64, float32[::1], float32[::1])",
    inline=True,
    allocates=False,
)
def _add_up(
    table: Singles, start: int, rows: int, width: int, factors: Singles, sums: Singles
) -> None:
    """Add rows of the options' table, times factors, to the options' sums, `LANES` at a time."""
    # Unsigned, so that no time is spent on checking for negative indices.
    at, one = np.uint64(start * rows), np.uint64(1)
    two, three, four = np.uint64(2), np.uint64(3), np.uint64(4)
    five, six, seven = np.uint64(5), np.uint64(6), np.uint64(7)
    for s in range(0, width, LANES):
        a0, a1, a2, a3 = sums[s], sums[s + 1], sums[s + 2], sums[s + 3]
        a4, a5, a6, a7 = sums[s + 4], sums[s + 5], sums[s + 6], sums[s + 7]
        for row in range(rows):
            factor = factors[row]
            a0 += table[at] * factor
            a1 += table[at + one] * factor
            a2 += table[at + two] * factor
            a3 += table[at + three] * factor
            a4 += table[at + four] * factor
            a5 += table[at + five] * factor
            a6 += table[at + six] * factor
            a7 += table[at + seven] * factor
            at += np.uint64(LANES)
        sums[s], sums[s + 1], sums[s + 2], sums[s + 3] = a0, a1, a2, a3
        sums[s + 4], sums[s + 5], sums[s + 6], sums[s + 7] = a4, a5, a6, a7


@kernel("float64(Scene, Board, int64)", inline=True, allocates=False)
def _plain_cost(scene: Scene, board: Board, row: int) -> float:
    """Return the cost of the best division of a match of two equal teams, hosts left out.

    All options are summed side by side: the shared part is the cost of all pairs as enemies, and
    each pair of mates adds the difference.
    """
    values, curves, numbers = scene.measures.values, scene.curves, scene.numbers
    option_first, option_parity = scene.option_first, scene.option_parity
    together, signs = scene.together, scene.signs
    seat, local, bits, sums, found = board.seat, board.local, board.bits, board.sums, board.found
    key = board.keys[row]
    start = option_first[key]
    width = option_first[key + 1] - start
    if width == 0:
        return IMPOSSIBLE
    parity = np.float32(numbers[PARITY])
    for s in range(width):
        sums[0, s] = parity * option_parity[start + s]
        sums[1, s] = 0.0
    if values.shape[0] > 0:
        for p in range(seat.shape[1]):
            sums[2, p] = np.float32(values[int(numbers[GAP_COLUMN]), seat[row, p]])
        _add_up(signs, start, seat.shape[1], width, sums[2], sums[1])
    shared = 0.0
    penalty = np.float32(numbers[HAS_FLAGS] * numbers[ILLEGAL])
    for pair in range(local.shape[1]):
        as_enemies, as_mates = local[row, pair, 0], local[row, pair, 1]
        if penalty > 0.0:
            as_enemies += penalty * np.float32(bits[row, pair, 0] & E_APART)
            as_mates += penalty * np.float32(bits[row, pair, 1] & M_APART)
        shared += as_enemies
        sums[2, pair] = as_mates - as_enemies
    _add_up(together, start, local.shape[1], width, sums[2], sums[0])
    best, chosen = np.float32(NEVER), 0
    smooth = numbers[GAP_SMOOTH]
    for s in range(width):
        if sums[0, s] >= best:
            continue
        cells = min(abs(float(sums[1, s])) * numbers[GAP_CELLS] + 1e-9, float(CELLS))
        low = int(cells)
        gap = curves[0, low]
        if smooth > 0.0:
            gap += np.float32(cells - low) * (curves[0, low + 1] - gap)
        cost = sums[0, s] + gap
        if cost < best:
            best, chosen = cost, s
    found[0] = chosen
    found[1] = int((best + shared) / numbers[ILLEGAL]) if penalty > 0.0 else 0
    return float(best + shared)


@kernel("float64(Scene, Board, int64, float64)", allocates=False)
def divided_cost(scene: Scene, board: Board, row: int, parity: float) -> float:
    """Return the cost of the division in `order`, hosts and region left out.

    The rules that it breaks, without those on regions, are counted in `found`.

    Args:
        scene: The batch.
        board: Its matches.
        row: One of them.
        parity: Cost of its party structure, unweighted.
    """
    seat, order, states, found = board.seat, board.order, board.states, board.found
    cost = scene.numbers[PARITY] * parity + pairs_cost(scene, board, row)
    cost += terms_cost(scene, seat, row, order) + other_terms(scene, board, row)
    cost += room_cost(scene, seat, row)
    roles = roles_cost(scene, seat, row, order, states)
    unseated = roles // UNSEATED
    rank = rank_gap(scene, seat, row, roles - unseated * UNSEATED)
    found[1] += broken_rules(scene, board, row, rank)
    found[1] += int(unseated)
    return cost + roles - unseated * UNSEATED


@kernel("float64(Scene, Board, int64)", inline=True, allocates=False)
def _seated_cost(scene: Scene, board: Board, row: int) -> float:
    """Return the cost of a match whose players sit team by team, hosts left out.

    The rules that it breaks are counted in `found`. If it breaks any, its cost is not computed; and
    the count stops at the number of rules that `found` says is enough.
    """
    seat, order, states, found = board.seat, board.order, board.states, board.found
    numbers = scene.numbers
    for p in range(seat.shape[1]):
        order[0, p] = p if seat[row, p] >= 0 else -1
    if numbers[HAS_ROOM] == 0.0:
        cost = full_pairs_cost(scene, board, row)
    else:
        cost = pairs_cost(scene, board, row)
    if found[1] >= found[2]:
        return 0.0
    found[1] += far_players(scene, board, row)
    if found[1] >= found[2]:
        return 0.0
    roles = roles_cost(scene, seat, row, order, states)
    unseated = roles // UNSEATED
    found[1] += int(unseated)
    if found[1] >= found[2]:
        return 0.0
    rank = rank_gap(scene, seat, row, roles - unseated * UNSEATED)
    found[1] += broken_rules(scene, board, row, rank)
    if found[1] > 0:
        return 0.0
    if numbers[PARITY] != 0.0:
        cost += numbers[PARITY] * parity_gap(scene, board, row)
    cost += terms_cost(scene, seat, row, order) + other_terms(scene, board, row)
    return cost + room_cost(scene, seat, row) + roles + place_cost(scene, board, row)


@kernel("float64(Scene, Board, int64)", allocates=False)
def _best_option_cost(scene: Scene, board: Board, row: int) -> float:
    """Return the cost of the best division of a match, with all terms and rules."""
    team_start, option_first = scene.team_start, scene.option_first
    option_parity = scene.option_parity
    option_teams, order, found = scene.option_teams, board.order, board.found
    key = board.keys[row]
    best, fewest, chosen = np.inf, 1 << 30, -1
    for option in range(option_first[key], option_first[key + 1]):
        if option_parity[option] >= NEVER:
            continue
        for team in range(team_start.shape[0] - 1):
            order[2, team] = team_start[team]
        for p in range(option_teams.shape[1]):
            team = option_teams[option, p]
            order[0, order[2, team]] = p
            order[2, team] += 1
        cost = divided_cost(scene, board, row, float(option_parity[option]))
        if found[1] < fewest or (found[1] == fewest and cost < best):
            best, fewest, chosen = cost, found[1], option - option_first[key]
    found[0], found[1] = chosen, fewest + far_players(scene, board, row)
    return best + place_cost(scene, board, row) if chosen >= 0 else IMPOSSIBLE


@kernel("float64(Scene, Board, int64)", inline=True, allocates=False)
def _general_cost(scene: Scene, board: Board, row: int) -> float:
    """Return the cost of a match that the plain evaluation does not support, hosts left out."""
    if scene.option_first.shape[0] > 1:
        return _best_option_cost(scene, board, row)
    return _seated_cost(scene, board, row)


@kernel("boolean(Scene, Board, int64)", allocates=False)
def _is_late(scene: Scene, board: Board, row: int) -> bool:
    """Return whether the option just chosen breaks a rule that flags of pairs do not cover."""
    team_start, option_teams, order = scene.team_start, scene.option_teams, board.order
    option = scene.option_first[board.keys[row]] + board.found[0]
    for team in range(team_start.shape[0] - 1):
        order[2, team] = team_start[team]
    for p in range(option_teams.shape[1]):
        team = option_teams[option, p]
        order[0, order[2, team]] = p
        order[2, team] += 1
    broken = far_players(scene, board, row) + broken_rules(scene, board, row, 0.0)
    return bool(broken > 0)


@kernel("float64(Scene, Board, int64)", inline=True, allocates=False)
def _other_cost(scene: Scene, board: Board, row: int) -> float:
    """Return the cost of a match of any format; option and broken rules are put into `found`."""
    numbers = scene.numbers
    if numbers[IS_PLAIN] > 0.0:
        cost = _plain_cost(scene, board, row)
        is_asked = numbers[HAS_LATE] > 0.0 and cost != IMPOSSIBLE and board.found[1] == 0
        if is_asked and _is_late(scene, board, row):
            cost = _general_cost(scene, board, row)
    else:
        cost = _general_cost(scene, board, row)
    if cost != IMPOSSIBLE and numbers[HAS_HOSTS] > 0.0:
        cost += hosts_cost(scene, board, row)
    return cost


@kernel("float64(float64[::1], float64)", inline=True, allocates=False)
def gain_of(numbers: Floats, cost: float) -> float:
    """Return what a match of this cost adds to the sum that is maximised."""
    power, quality = numbers[POWER], 1.0 - cost
    if power == 0.0:
        return -cost * cost
    if power != 1.0 and quality > 0.0:
        return quality**power
    return quality


@kernel("float64(float64[::1], int32[:,::1], int64)", inline=True, allocates=False)
def worth_of(worth: Floats, seat: Places, row: int) -> float:
    """Return the worth of the players of a match."""
    total = 0.0
    for p in range(seat.shape[1]):
        if seat[row, p] >= 0:
            total += worth[seat[row, p]]
    return total


@kernel("float64(Scene, Board, int64)", inline=True, allocates=False)
def least_energy(scene: Scene, board: Board, row: int) -> float:
    """Return a lower bound on the energy of a row, from its players alone."""
    worth, numbers, floor, seat = scene.worth, scene.numbers, scene.floor, board.seat
    cost = 0.0
    for p in range(seat.shape[1]):
        if seat[row, p] >= 0:
            cost += floor[seat[row, p]]
    gain = gain_of(numbers, cost)
    if numbers[HAS_WORTH] > 0.0:
        gain += worth_of(worth, seat, row)
    return -gain


@kernel("float64(Scene, Board, int64)", inline=True, allocates=False)
def _trio_cost(scene: Scene, board: Board, row: int) -> float:
    """Return the cost of a match of two teams of three, hosts included."""
    values, curves, hosts = scene.measures.values, scene.curves, scene.hosts
    numbers, trio = scene.numbers, scene.trio
    seat, local, bits, sums, found = board.seat, board.local, board.bits, board.sums, board.found
    column = int(numbers[GAP_COLUMN])
    for p in range(6):
        sums[1, p] = np.float32(values[column, seat[row, p]])
    key = board.keys[row]
    cost = trio_cost(local, row, trio[key], sums[1], curves, numbers[GAP_CELLS:])
    found[1] = 0
    return cost + hosts[min(trio_hosts(bits, row), 2)] if cost < NEVER / 2 else IMPOSSIBLE


@kernel("float64(Scene, Board, int64)", inline=True, allocates=False)
def energy_of(scene: Scene, board: Board, row: int) -> float:
    """Return the energy of a row whose pairs are loaded.

    Complexity:
        Plain matches: O(pairs * options), eight options at a time. Others: as `reference`.
    """
    worth, numbers, trio = scene.worth, scene.numbers, scene.trio
    seat, found = board.seat, board.found
    if trio.shape[0] > 0 and numbers[HAS_FLAGS] + numbers[HAS_LATE] == 0.0:
        cost = _trio_cost(scene, board, row)
    else:
        cost = _other_cost(scene, board, row)
    if cost == IMPOSSIBLE:
        return IMPOSSIBLE
    if found[1] > 0:
        return numbers[ILLEGAL] + PER_VIOLATION * found[1]
    gain = gain_of(numbers, cost)
    if numbers[HAS_ROOM] > 0.0:
        gain *= filled_share(seat, row)
    if numbers[HAS_WORTH] > 0.0:
        gain += worth_of(worth, seat, row)
    return -gain


@kernel("int64(Scene, Board, int64)", allocates=False)
def option_of(scene: Scene, board: Board, row: int) -> int:
    """Return the index of the best option of a row whose pairs are loaded."""
    option_first, found = scene.option_first, board.found
    _other_cost(scene, board, row)
    return option_first[board.keys[row]] + found[0]


@kernel("float64(Scene, Board, int64)", allocates=False)
def energy_at(scene: Scene, board: Board, row: int) -> float:
    """Return the energy of a row, from its seats alone; too slow for the innermost loops."""
    load_pairs(scene, board, row)
    return energy_of(scene, board, row)


@kernel("void(Scene, Board, int64, float64[::1])", allocates=False)
def evaluate(scene: Scene, board: Board, count: int, energies: Floats) -> None:
    """Write the energies of the first rows of a board, from their seats alone."""
    for row in range(count):
        energies[row] = energy_at(scene, board, row)
