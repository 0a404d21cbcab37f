"""Trades where seats may stay free: parties join, leave and change matches, and sizes change.

Quality counts by the share of seats that is filled, so a match of any size is held against another
by what each of its players has of it. A player on the bench has nothing, which costs `ALONE_COST`.
"""

from __future__ import annotations

import math

from evenmatch.solvers.batch.batch import Ints
from evenmatch.solvers.batch.board import BOARD, Board
from evenmatch.solvers.batch.scene import ILLEGAL, SCENE, Scene
from evenmatch.solvers.batch.trades import (
    ALONE,
    BENCHED,
    COLD,
    DOUBT,
    EVALUATED,
    FOCUS_SHARE,
    HOT,
    MATCHES,
    PINNED,
    TABLE,
    TRIES,
    Table,
    adopt,
    below,
    copy_match,
    drop,
    seat_row,
    trade_between,
    trade_with_bench,
    uniform,
    worth_of,
)
from evenmatch.solvers.kernel import kernel

ALONE_COST = 1.0
"""What a match's worth of players on the bench costs, in quality."""
MOVES = 0.5
"""Share of trades that change sizes."""


@kernel(f"int64({TABLE}, int64)", inline=True, allocates=False)
def players_in(table: Table, container: int) -> int:
    """Return how many players a container holds."""
    held, held_count, sizes = table[2], table[3], table[6]
    total = 0
    for h in range(held_count[container]):
        total += sizes[held[container, h]]
    return total


@kernel(f"boolean({TABLE}, int64, int64)", allocates=False)
def order_teams(table: Table, row: int, per_match: int) -> bool:
    """Put the fuller of like teams first; return whether each has as many as it needs."""
    room, held, held_count, least = table[1], table[2], table[3], table[12]
    low, high = row * per_match, (row + 1) * per_match
    for one in range(low, high):
        for two in range(one + 1, high):
            if room[one] == room[two] and players_in(table, two) > players_in(table, one):
                for h in range(max(held_count[one], held_count[two])):
                    held[one, h], held[two, h] = held[two, h], held[one, h]
                held_count[one], held_count[two] = held_count[two], held_count[one]
        if players_in(table, one) < least[one]:
            return False
    return True


@kernel(f"void({TABLE}, int64, int64)", inline=True, allocates=False)
def _put(table: Table, container: int, party: int) -> None:
    held, held_count = table[2], table[3]
    held[container, held_count[container]] = party
    held_count[container] += 1


@kernel(
    f"boolean({SCENE}, {BOARD}, {TABLE}, int64, Tuple((int64, int64, int64)), float64)",
    allocates=False,
)
def _try_move(
    scene: Scene,
    board: Board,
    table: Table,
    party: int,
    way: tuple[int, int, int],
    temperature: float,
) -> bool:
    """Move a party from a container, and place there, to another; -1 = the bench."""
    energy, bench, home, counts, picked = table[7], table[4], table[5], table[9], table[11]
    rows, k = board[0].shape
    per_match, doubt = table[0].shape[0] // rows, table[8][DOUBT]
    one, at, two = way
    first = one // per_match if one >= 0 else -1
    second = two // per_match if two >= 0 else -1
    spare = rows - 2
    other = spare if first == second else rows - 1
    picked[0, 0] = at
    if first >= 0:
        copy_match(table, first, spare, per_match)
        left = spare * per_match + one % per_match
        table[3][left] = drop(table[2][left], table[3][left], picked[0], 1)
    if second >= 0:
        if first != second:
            copy_match(table, second, other, per_match)
        _put(table, other * per_match + two % per_match, party)
    if first >= 0 and not order_teams(table, spare, per_match):
        return False
    if second >= 0 and first != second and not order_teams(table, other, per_match):
        return False
    # Matches that are not good enough yet count less, but not against the bench.
    if first < 0 or second < 0:
        doubt = 1.0
    gain = ALONE_COST * table[6][party] / k * ((1 if first < 0 else 0) - (1 if second < 0 else 0))
    if first >= 0:
        seat_row(scene, board, table, spare, first)
        gain += worth_of(energy[first], doubt) - worth_of(energy[spare], doubt)
    if second >= 0 and first != second:
        seat_row(scene, board, table, other, second)
        gain += worth_of(energy[second], doubt) - worth_of(energy[other], doubt)
    if gain < 0.0 and uniform(table[10]) >= math.exp(gain / temperature):
        return False
    if first < 0:
        counts[BENCHED] = drop(bench, counts[BENCHED], picked[0], 1)
    if second < 0:
        bench[counts[BENCHED]] = party
        counts[BENCHED] += 1
        home[party] = ALONE
    if first >= 0:
        adopt(board, table, spare, first, per_match)
    if second >= 0 and first != second:
        adopt(board, table, other, second, per_match)
    return True


@kernel(f"boolean({SCENE}, {BOARD}, {TABLE}, int64, int64, float64)", allocates=False)
def move(scene: Scene, board: Board, table: Table, one: int, two: int, temperature: float) -> bool:
    """Try to move some party of a container to another, -1 = the bench; return whether it went."""
    held, held_count, counts, chance = table[2], table[3], table[9], table[10]
    count = counts[BENCHED] if one < 0 else held_count[one]
    if count == 0 or one == two:
        return False
    at = below(chance, count)
    party = table[4][at] if one < 0 else held[one, at]
    if party == counts[PINNED]:
        return False
    if two >= 0 and players_in(table, two) + table[6][party] > table[1][two]:
        return False
    return _try_move(scene, board, table, party, (one, at, two), temperature)


@kernel(f"boolean({SCENE}, {BOARD}, {TABLE}, int64)", allocates=False)
def join(scene: Scene, board: Board, table: Table, at: int) -> bool:
    """Seat the party at a place of the bench where that is best; return whether it was.

    Complexity:
        An evaluation for each match with free seats, and each of its teams that differ.
    """
    energy, held_count = table[7], table[3]
    rows, k = board[0].shape
    per_match, spare = table[0].shape[0] // rows, rows - 2
    party = table[4][at]
    most, chosen = 0.0, -1
    for row in range(table[9][MATCHES]):
        is_open = True
        for container in range(row * per_match, (row + 1) * per_match):
            players = players_in(table, container)
            if not is_open or players + table[6][party] > table[1][container]:
                continue
            # Of teams without anybody one is as good as another.
            is_open = held_count[container] > 0
            copy_match(table, row, spare, per_match)
            _put(table, spare * per_match + container % per_match, party)
            seat_row(scene, board, table, spare, row)
            gain = energy[row] - energy[spare] + ALONE_COST * table[6][party] / k
            if energy[spare] < scene[16][ILLEGAL] and gain > most:
                most, chosen = gain, container
    # Nothing has changed since, so it is taken whatever the temperature.
    return chosen >= 0 and _try_move(scene, board, table, party, (-1, at, chosen), 1.0)


@kernel(f"boolean({SCENE}, {BOARD}, {TABLE}, int64, int64)", allocates=False)
def merge(scene: Scene, board: Board, table: Table, first: int, second: int) -> bool:
    """Make one match of two if that is better; the last match takes the place of the second."""
    energy, counts, held, held_count = table[7], table[9], table[2], table[3]
    rows = board[0].shape[0]
    per_match, spare = table[0].shape[0] // rows, rows - 2
    copy_match(table, first, spare, per_match)
    for container in range(second * per_match, (second + 1) * per_match):
        for h in range(held_count[container]):
            chosen, fewest = -1, 0
            for target in range(spare * per_match, (spare + 1) * per_match):
                free = table[1][target] - players_in(table, target)
                if free >= table[6][held[container, h]] and free > fewest:
                    chosen, fewest = target, free
            if chosen < 0:
                return False
            _put(table, chosen, held[container, h])
    order_teams(table, spare, per_match)
    seat_row(scene, board, table, spare, first)
    if energy[spare] >= energy[first] + energy[second]:
        return False
    adopt(board, table, spare, first, per_match)
    counts[MATCHES] -= 1
    if second != counts[MATCHES]:
        adopt(board, table, counts[MATCHES], second, per_match)
    return True


@kernel(f"void({SCENE}, {BOARD}, {TABLE}, int64[::1], int64)", allocates=False)
def trade_seats(scene: Scene, board: Board, table: Table, focus: Ints, effort: int) -> None:
    """Improve the division as `trades.trade` does, and by moves that change sizes.

    Args:
        scene: The batch.
        board: Matches, as `seat_row` left them.
        table: Who sits where; changed in place.
        focus: Parties whose matches are looked at more often.
        effort: Evaluations.
    """
    home, numbers, counts, chance = table[5], table[8], table[9], table[10]
    containers = counts[MATCHES] * (table[0].shape[0] // board[0].shape[0])
    if containers == 0:
        return
    cooling = (numbers[COLD] / numbers[HOT]) ** (1.0 / max(effort, 1))
    end = counts[EVALUATED] + effort
    temperature, done, tries = numbers[HOT], counts[EVALUATED], 0
    while counts[EVALUATED] < end and tries < TRIES * effort:
        tries += 1
        temperature *= cooling ** (counts[EVALUATED] - done)
        done = counts[EVALUATED]
        one = below(chance, containers)
        if focus.shape[0] > 0 and uniform(chance) < numbers[FOCUS_SHARE]:
            party = focus[below(chance, focus.shape[0])]
            one = home[party] if home[party] >= 0 else one
        # One more than the containers: the bench.
        two = below(chance, containers + 1) - 1
        if uniform(chance) < MOVES:
            if uniform(chance) < 0.5:
                move(scene, board, table, one, two, temperature)
            else:
                move(scene, board, table, two, one, temperature)
        elif two < 0:
            trade_with_bench(scene, board, table, one, temperature)
        elif two != one:
            trade_between(scene, board, table, (one, two), temperature)
