"""A tentative division of a changing pool: parties change places, a few steps at a time.

Parties sit in **containers**: a whole match where evaluations divide it into teams themselves, else
one team; all others are on the bench. A step takes one or two parties out of a container and trades
them for as many players from another one, or from the bench, and is kept if the matches gain by it,
or by chance at a temperature that falls. Nothing is ever taken apart: a search begins from what
the last one left, so a newcomer costs a few hundred steps, whatever the size of the pool.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.batch.batch import Floats, Ints
from evenmatch.solvers.batch.board import BOARD, Board, load_pairs
from evenmatch.solvers.batch.evaluate import energy_of
from evenmatch.solvers.batch.scene import SCENE, Scene
from evenmatch.solvers.kernel import kernel

MATCHES, BENCHED, MOST, EVALUATED, PINNED = range(5)
"""Places in `Table.counts`."""
HOT, COLD, DOUBT, BENCH_SHARE, FOCUS_SHARE = range(5)
"""Places in `Table.numbers`."""

TABLE = (
    "Tuple((int64[::1], int64[::1], int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1], "
    "float64[::1], float64[::1], int64[::1], uint64[::1], int64[:,::1], int64[::1]))"
)
TRIES = 8
"""Steps that find nothing to trade, for each evaluation asked for, before a search gives up."""
ALONE = -1
GONE = -2
Seeds = NDArray[np.uint64]


class Table(NamedTuple):
    """Who sits where.

    Args:
        start: Shape (containers,): the first place of each in its row of the board.
        room: Shape (containers,): its seats.
        held: Shape (containers, most): parties in it.
        held_count: Shape (containers,).
        bench: Shape (parties,): parties without a match, in any order.
        home: Shape (parties,): container of each party; -1 = the bench.
        sizes: Shape (parties,): players.
        energy: Shape (rows,): of each match; the last two rows are for proposals.
        numbers: First and last temperature; what a loss counts in a match that is not good enough
            (energy above 0) against one that is; share of trades with the bench; share of trades
            that begin at the focus.
        counts: Matches; parties on the bench; players traded at most; evaluations made; party that
            stays where it is, -1 = none.
        chance: Shape (1,): state of the generator.
        picked: Shape (3, parties): room.
        least: Shape (containers,): players whom each needs.
    """

    start: Ints
    room: Ints
    held: Ints
    held_count: Ints
    bench: Ints
    home: Ints
    sizes: Ints
    energy: Floats
    numbers: Floats
    counts: Ints
    chance: Seeds
    picked: Ints
    least: Ints


@kernel("int64(uint64[::1], int64)", inline=True, allocates=False)
def below(chance: Seeds, limit: int) -> int:
    """Return a whole number from 0 to `limit` - 1 (xorshift, Marsaglia 2003)."""
    x = chance[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    chance[0] = x
    return int((x >> np.uint64(33)) % np.uint64(limit))


@kernel("float64(uint64[::1])", inline=True, allocates=False)
def uniform(chance: Seeds) -> float:
    """Return a number in [0, 1)."""
    return below(chance, 1 << 30) / 1073741824.0


@kernel(f"void({SCENE}, {BOARD}, {TABLE}, int64, int64)", allocates=False)
def seat_row(scene: Scene, board: Board, table: Table, row: int, source: int) -> None:
    """Seat the parties of a match, the largest of each container first, and weigh it.

    Args:
        scene: The scene.
        board: The board.
        table: Its containers say who plays.
        row: The match.
        source: A row whose pairs may be copied where the same players sit; -1 = none.
    """
    first, seat = scene[4], board[0]
    start, room, held, held_count, sizes = table[0], table[1], table[2], table[3], table[6]
    per_match = start.shape[0] // seat.shape[0]
    for container in range(row * per_match, (row + 1) * per_match):
        at = start[container]
        size = room[container]
        while size > 0:
            for h in range(held_count[container]):
                party = held[container, h]
                if sizes[party] == size:
                    for player in range(first[party], first[party + 1]):
                        seat[row, at] = player
                        at += 1
            size -= 1
        while at < start[container] + room[container]:
            seat[row, at] = -1
            at += 1
    load_pairs(scene, board, row, source)
    table[7][row] = energy_of(scene, board, row)
    table[9][EVALUATED] += 1


@kernel("float64(float64, float64)", inline=True, allocates=False)
def worth_of(energy: float, doubt: float) -> float:
    """Return the energy as searches see it: that of a match not good enough counts less."""
    return energy * doubt if energy > 0.0 else energy


@kernel("int64(uint64[::1], int64[::1], int64, int64[::1], int64, int64[::1])", allocates=False)
def pick(chance: Seeds, parties: Ints, count: int, sizes: Ints, players: int, picked: Ints) -> int:
    """Write the places of parties with so many players together; return how many, 0 if none."""
    found, left = 0, players
    turn = below(chance, max(count, 1))
    for step in range(count):
        at = turn + step
        at = at - count if at >= count else at
        size = sizes[parties[at]]
        if size <= left and (size == left or below(chance, 5) > 0):
            picked[found] = at
            found += 1
            left -= size
            if left == 0:
                return found
    return 0


@kernel(f"void({TABLE}, int64, int64, int64)", allocates=False)
def copy_match(table: Table, source: int, target: int, per_match: int) -> None:
    """Let one match hold the parties of another."""
    held, held_count = table[2], table[3]
    for c in range(per_match):
        one, two = source * per_match + c, target * per_match + c
        held_count[two] = held_count[one]
        for h in range(held_count[one]):
            held[two, h] = held[one, h]


@kernel("int64(int64[::1], int64, int64[::1], int64)", inline=True, allocates=False)
def drop(parties: Ints, count: int, picked: Ints, taken: int) -> int:
    """Take the picked places out of a list; return what is left of its length."""
    left = 0
    for at in range(count):
        is_taken = False
        for p in range(taken):
            is_taken = is_taken or picked[p] == at
        if not is_taken:
            parties[left] = parties[at]
            left += 1
    return left


@kernel(f"void({BOARD}, {TABLE}, int64, int64, int64)", allocates=False)
def adopt(board: Board, table: Table, source: int, target: int, per_match: int) -> None:
    """Put a proposal in the place of a match."""
    seat, local, home = board[0], board[1], table[5]
    copy_match(table, source, target, per_match)
    for p in range(seat.shape[1]):
        seat[target, p] = seat[source, p]
    for pair in range(local.shape[1]):
        local[target, pair, 0] = local[source, pair, 0]
        local[target, pair, 1] = local[source, pair, 1]
    table[7][target] = table[7][source]
    for container in range(target * per_match, (target + 1) * per_match):
        for h in range(table[3][container]):
            home[table[2][container, h]] = container


@kernel(f"int64({TABLE}, int64)", allocates=False)
def pick_from(table: Table, container: int) -> int:
    """Pick one or two parties of a container into the first row of `picked`; return players."""
    held, held_count, sizes, counts, chance = table[2], table[3], table[6], table[9], table[10]
    picked = table[11]
    count = held_count[container]
    if count == 0:
        return 0
    picked[0, 0] = below(chance, count)
    picked[2, 0] = 1
    party = held[container, picked[0, 0]]
    if party == counts[PINNED]:
        return 0
    players = sizes[party]
    if count > 1 and players < counts[MOST] and below(chance, 10) < 3:
        other = below(chance, count)
        second = held[container, other]
        together = players + sizes[second]
        if other != picked[0, 0] and second != counts[PINNED] and together <= counts[MOST]:
            picked[0, 1] = other
            picked[2, 0] = 2
            players = together
    return players


@kernel(f"void({TABLE}, int64, int64[::1], int64, int64)", allocates=False)
def hand_over(table: Table, container: int, parties: Ints, taken: int, row: int) -> None:
    """Put parties of a list, at the places picked in a row, into a container."""
    held, held_count, picked = table[2], table[3], table[11]
    for p in range(taken):
        held[container, held_count[container]] = parties[picked[row, p]]
        held_count[container] += 1


@kernel(f"int64({SCENE}, {BOARD}, {TABLE}, int64, float64)", allocates=False)
def trade_with_bench(
    scene: Scene, board: Board, table: Table, container: int, temperature: float
) -> int:
    """Trade parties of a container for some of the bench; return whether it could be tried."""
    held, held_count, bench, home = table[2], table[3], table[4], table[5]
    numbers, counts, chance, picked = table[8], table[9], table[10], table[11]
    rows = board[0].shape[0]
    per_match = table[0].shape[0] // rows
    players = pick_from(table, container)
    if players == 0:
        return 0
    mine = picked[2, 0]
    yours = pick(chance, bench, counts[BENCHED], table[6], players, picked[1])
    if yours == 0:
        return 0
    row, spare = container // per_match, rows - 2
    copy_match(table, row, spare, per_match)
    target = spare * per_match + container % per_match
    held_count[target] = drop(held[target], held_count[target], picked[0], mine)
    hand_over(table, target, bench, yours, 1)
    seat_row(scene, board, table, spare, row)
    gain = worth_of(table[7][row], numbers[DOUBT]) - worth_of(table[7][spare], numbers[DOUBT])
    if gain >= 0.0 or uniform(chance) < math.exp(gain / temperature):
        for p in range(mine):
            picked[0, p] = held[container, picked[0, p]]
        counts[BENCHED] = drop(bench, counts[BENCHED], picked[1], yours)
        for p in range(mine):
            bench[counts[BENCHED]] = picked[0, p]
            home[picked[0, p]] = ALONE
            counts[BENCHED] += 1
        adopt(board, table, spare, row, per_match)
    return 1


@kernel(f"int64({SCENE}, {BOARD}, {TABLE}, Tuple((int64, int64)), float64)", allocates=False)
def trade_between(
    scene: Scene, board: Board, table: Table, containers: tuple[int, int], temperature: float
) -> int:
    """Trade parties of two containers; return whether it could be tried."""
    held, held_count, energy = table[2], table[3], table[7]
    chance, picked, doubt = table[10], table[11], table[8][DOUBT]
    rows = board[0].shape[0]
    per_match = table[0].shape[0] // rows
    one, two = containers
    players = pick_from(table, one)
    if players == 0:
        return 0
    mine = picked[2, 0]
    yours = pick(chance, held[two], held_count[two], table[6], players, picked[1])
    for p in range(yours):
        if held[two, picked[1, p]] == table[9][PINNED]:
            return 0
    if yours == 0:
        return 0
    first, second = one // per_match, two // per_match
    spare, other = rows - 2, rows - 2 if first == second else rows - 1
    copy_match(table, first, spare, per_match)
    copy_match(table, second, other, per_match)
    to_one, to_two = spare * per_match + one % per_match, other * per_match + two % per_match
    held_count[to_one] = drop(held[to_one], held_count[to_one], picked[0], mine)
    held_count[to_two] = drop(held[to_two], held_count[to_two], picked[1], yours)
    hand_over(table, to_one, held[two], yours, 1)
    hand_over(table, to_two, held[one], mine, 0)
    before = worth_of(energy[first], doubt)
    seat_row(scene, board, table, spare, first)
    after = worth_of(energy[spare], doubt)
    if first != second:
        before += worth_of(energy[second], doubt)
        seat_row(scene, board, table, other, second)
        after += worth_of(energy[other], doubt)
    gain = before - after
    if gain >= 0.0 or uniform(chance) < math.exp(gain / temperature):
        adopt(board, table, spare, first, per_match)
        if first != second:
            adopt(board, table, other, second, per_match)
    return 1


@kernel(f"void({SCENE}, {BOARD}, {TABLE}, int64[::1], int64)", allocates=False)
def trade(scene: Scene, board: Board, table: Table, focus: Ints, effort: int) -> None:
    """Improve the division by trades.

    Args:
        scene: The batch.
        board: Matches, as `seat_row` left them.
        table: Who sits where; changed in place.
        focus: Parties whose matches are looked at more often.
        effort: Evaluations.

    Complexity:
        O(effort) evaluations.
    """
    home, numbers, counts, chance = table[5], table[8], table[9], table[10]
    per_match = table[0].shape[0] // board[0].shape[0]
    matches = counts[MATCHES]
    if matches == 0 or (matches * per_match == 1 and counts[BENCHED] == 0):
        return
    cooling = (numbers[COLD] / numbers[HOT]) ** (1.0 / max(effort, 1))
    end = counts[EVALUATED] + effort
    temperature, done, tries = numbers[HOT], counts[EVALUATED], 0
    while counts[EVALUATED] < end and tries < TRIES * effort:
        tries += 1
        temperature *= cooling ** (counts[EVALUATED] - done)
        done = counts[EVALUATED]
        one = below(chance, matches * per_match)
        if focus.shape[0] > 0 and uniform(chance) < numbers[FOCUS_SHARE]:
            party = focus[below(chance, focus.shape[0])]
            one = home[party] if home[party] >= 0 else one
        share = max(numbers[BENCH_SHARE], 1.0 / (matches * per_match + 1))
        if matches * per_match == 1 or (counts[BENCHED] > 0 and uniform(chance) < share):
            trade_with_bench(scene, board, table, one, temperature)
        else:
            two = below(chance, matches * per_match - 1)
            trade_between(scene, board, table, (one, two + 1 if two >= one else two), temperature)


@kernel(f"float64({SCENE}, {BOARD}, {TABLE}, int64)", allocates=False)
def quality_of(scene: Scene, board: Board, table: Table, row: int) -> float:
    """Return the quality of a match, what its players are worth left out."""
    worth, seat, players, total = scene[13], board[0], 0, -table[7][row]
    for p in range(seat.shape[1]):
        if seat[row, p] >= 0:
            total -= worth[seat[row, p]]
            players += 1
    return total * seat.shape[1] / max(players, 1)


@kernel(f"Tuple((float64, int64))({SCENE}, {BOARD}, {TABLE}, int64, float64)", allocates=False)
def offers(scene: Scene, board: Board, table: Table, party: int, most: float) -> tuple[float, int]:
    """Return what one party could add to matches that are about to be good enough.

    Args:
        scene: The batch.
        board: The matches.
        table: Who sits where.
        party: It takes the seats of each party of its size in turn, and free ones.
        most: Matches of a higher energy are not asked.

    Returns:
        The sum over matches of the best gain in quality, 0 where there is none; and how many
        matches were asked.
    """
    held, held_count, sizes, energy = table[2], table[3], table[6], table[7]
    rows = board[0].shape[0]
    per_match, spare = table[0].shape[0] // rows, rows - 2
    total, asked = 0.0, 0
    for row in range(table[9][MATCHES]):
        if energy[row] > most or table[5][party] // per_match == row:
            continue
        asked += 1
        before, best, is_open = quality_of(scene, board, table, row), 0.0, True
        for container in range(row * per_match, (row + 1) * per_match):
            target, free = spare * per_match + container % per_match, table[1][container]
            for h in range(held_count[container]):
                free -= sizes[held[container, h]]
            if is_open and free >= sizes[party]:
                copy_match(table, row, spare, per_match)
                held[target, held_count[target]] = party
                held_count[target] += 1
                seat_row(scene, board, table, spare, row)
                best = max(best, quality_of(scene, board, table, spare) - before)
                # Of teams without anybody one is as good as another.
                is_open = held_count[container] > 0
            for h in range(held_count[container]):
                leaver = held[container, h]
                if sizes[leaver] != sizes[party]:
                    continue
                copy_match(table, row, spare, per_match)
                held[target, h] = party
                seat_row(scene, board, table, spare, row)
                best = max(best, quality_of(scene, board, table, spare) - before)
        total += best
    return total, asked
