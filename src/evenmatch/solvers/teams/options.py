"""The ways to divide a match among its teams, by the sizes of its parties.

Players of a match are ordered by the size of their party, the largest first. All matches whose
parties have the same sizes share one list of options, found by a key: the sum of `radix[size]`
over the parties. Teams with equal seats are interchangeable, so options that only swap them count
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.teams.batch import Floats, Ints, Singles

OPTIONS_MAX = 126
"""Most ways of dividing a match that an evaluation tries in full."""
LANES = 8
"""Options are padded to a multiple of this number, which a kernel processes together."""
NEVER = 1e6
"""Parity cost of an option that only pads a list."""


class Options(NamedTuple):
    """All options of a format.

    Args:
        radix: Shape (largest party + 1,): number that a party of each size adds to the key.
        first: Shape (keys + 1,): start of the options of a key; no options = no legal division.
        parity: Shape (options,): unweighted cost of the party structure in [0, 1]; `NEVER` pads.
        teams: Shape (options, k): team of each place.
        together: Flat: 1 where two places are mates; by key, block of `LANES` options, pair of
            places (01, 02, ... 12, ...) and option; those of a key begin at pairs * first.
        signs: Flat: 1 in the first team and -1 in the second; by key, block, place and option;
            those of a key begin at k * first.
    """

    radix: Ints
    first: Ints
    parity: Singles
    teams: Ints
    together: Singles
    signs: Singles


def count_of(seats: Sequence[int]) -> int:
    """Return how many options there are without parties, at most `OPTIONS_MAX` + 1."""
    return _count_of(tuple(seats)) if sum(seats) <= 10 else OPTIONS_MAX + 1


@lru_cache(maxsize=32)
def _count_of(seats: tuple[int, ...]) -> int:
    return sum(1 for _ in _divisions((1,) * sum(seats), seats))


@lru_cache(maxsize=32)
def options_of(seats: tuple[int, ...], largest: int) -> Options:
    """Return all options of a format whose parties have at most `largest` players.

    Complexity:
        O(keys * options); 5v5 with parties of 5: a tenth of a second, once.
    """
    k = sum(seats)
    radix = np.zeros(largest + 1, dtype=np.int64)
    keys = 1
    for size in range(2, largest + 1):
        radix[size] = keys
        keys *= k // size + 1
    by_key = {
        int(sum(radix[size] for size in sizes)): list(_divisions(sizes, seats))
        for sizes in _partitions(k, largest)
    }
    shapes = {int(sum(radix[size] for size in sizes)): sizes for sizes in _partitions(k, largest)}
    first = np.zeros(keys + 1, dtype=np.int64)
    parity, teams, together, signs = [], [], [], []
    for key in range(keys):
        found = by_key.get(key, [])
        width = -(-len(found) // LANES) * LANES
        first[key + 1] = first[key] + width
        if not found:
            continue
        rows = np.array([*found, *[found[0]] * (width - len(found))], dtype=np.int64)
        parity += [parity_of(shapes[key], row, seats) for row in found]
        parity += [NEVER] * (width - len(found))
        one, two = np.triu_indices(k, 1)
        teams.append(rows)
        together.append(_in_blocks(rows[:, one] == rows[:, two]))
        signs.append(_in_blocks(np.where(rows == 0, 1.0, -1.0)))
    return Options(
        radix,
        first,
        np.array(parity, dtype=np.float32),
        np.vstack([np.zeros((0, k), dtype=np.int64), *teams]),
        np.concatenate([np.zeros(0), *together]).astype(np.float32),
        np.concatenate([np.zeros(0), *signs]).astype(np.float32),
    )


def _in_blocks(rows: NDArray[Any]) -> NDArray[Any]:
    """Return a table of options by rows as blocks of `LANES` options, each by columns."""
    blocks = rows.reshape(len(rows) // LANES, LANES, rows.shape[1])
    return np.ascontiguousarray(blocks.transpose(0, 2, 1)).ravel()


def parity_of(sizes: Sequence[int], teams: Sequence[int], seats: Sequence[int]) -> float:
    """Return .6 x + .4 x^2 for the two teams whose parties differ most."""
    shapes: list[list[int]] = [[] for _ in seats]
    place = 0
    for size in sizes:
        shapes[int(teams[place])].append(size)
        place += size
    most = max(seats)
    tables = np.array([shape + [0] * (most - len(shape)) for shape in shapes])
    worst = max(int(abs(a - b).sum()) for a in tables for b in tables)
    x = worst / 2 / max(most - 1, 1)
    return 0.6 * x + 0.4 * x * x


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write a total as a falling sum of sizes."""
    if total == 0:
        yield ()
    for size in range(min(total, largest), 0, -1):
        for rest in _partitions(total - size, size):
            yield (size, *rest)


def _divisions(sizes: Sequence[int], seats: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the team of each place for each way of assigning parties to teams."""
    stack: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), seats)]
    while stack:
        given, room = stack.pop()
        if len(given) == len(sizes):
            yield tuple(team for team, size in zip(given, sizes, strict=True) for _ in range(size))
            continue
        size = sizes[len(given)]
        for team in range(len(seats) - 1, -1, -1):
            is_twin = any(
                room[other] == seats[other] == seats[team] == room[team] for other in range(team)
            )
            if room[team] >= size and not is_twin:
                left = (*room[:team], room[team] - size, *room[team + 1 :])
                stack.append(((*given, team), left))


def no_options(k: int) -> Options:
    """Return the options of a format whose division is part of the search's state."""
    nothing: Floats = np.zeros(0)
    return Options(
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        nothing.astype(np.float32),
        np.zeros((0, k), dtype=np.int64),
        nothing.astype(np.float32),
        nothing.astype(np.float32),
    )
