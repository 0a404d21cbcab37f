"""The ways to divide a match's tickets into teams, parties whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

DIVISIONS_MAX = 20_000
"""Divisions looked at for one match; 8 against 8 solo players have 6,435."""

Division = tuple[tuple[int, ...], ...]
"""Indices of parties, by team."""
Orders = NDArray[np.int16]
"""Players of many divisions, a row each, in the order of the teams."""


def divisions(
    sizes: Sequence[int],
    seats: Sequence[int],
    wanted: Sequence[int | None],
    *,
    named: bool = False,
    spare: int = 0,
) -> Iterator[Division]:
    """Yield the ways to seat parties in teams, at most `DIVISIONS_MAX`.

    Args:
        sizes: Players per party.
        seats: Seats per team.
        wanted: The team that each party insists on, or None.
        named: Whether teams have names; if not, teams of equal size are interchangeable and
            their permutations are left out.
        spare: Seats that stay free (for bots).

    Yields:
        The parties' indices by team. The first one seats parties in order, each in the first
        team where it fits.

    Complexity:
        Exponential in the number of parties, cut off after `DIVISIONS_MAX`.

    >>> list(divisions([1, 1, 2], [2, 2], [None] * 3))
    [((0, 1), (2,))]
    """
    teams: list[list[int]] = [[] for _ in seats]
    free = list(seats)

    def place(party: int) -> Iterator[Division]:
        if party == len(sizes):
            yield tuple(tuple(team) for team in teams)
            return
        opened: set[int] = set()
        for team, room in enumerate(free):
            if sizes[party] > room or wanted[party] not in (None, team):
                continue
            if not named and not teams[team]:
                if seats[team] in opened:
                    continue
                opened.add(seats[team])
            teams[team].append(party)
            free[team] -= sizes[party]
            yield from place(party + 1)
            free[team] += sizes[party]
            teams[team].pop()

    if sum(sizes) + spare == sum(seats):
        yield from islice(place(0), DIVISIONS_MAX)


@lru_cache(maxsize=32)
def division_table(
    sizes: tuple[int, ...], seats: tuple[int, ...], wanted: tuple[int | None, ...], named: bool
) -> tuple[tuple[Division, ...], Orders]:
    """Return all divisions at once, and the players of each in the order of its teams.

    Args:
        sizes: Players per party.
        seats: Seats per team.
        wanted: The team that each party insists on, or None.
        named: Whether teams have names.

    Returns:
        The divisions, and an array of shape (divisions, k): players are numbered party by party,
        and a row lists the first team's players, then the second's, and so on.
    """
    starts = np.concatenate(([0], np.cumsum(sizes))).tolist()
    found = tuple(divisions(sizes, seats, wanted, named=named))
    rows = [
        [p for team in division for party in team for p in range(starts[party], starts[party + 1])]
        for division in found
    ]
    return found, np.array(rows, dtype=np.int16).reshape(len(found), sum(sizes))
