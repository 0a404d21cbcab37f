"""Whether parties fill the seats of teams: an exact answer without exhaustive search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

STATES_MAX = 5_000
"""Partly filled matches examined to decide whether parties fill teams."""

Division = tuple[tuple[int, ...], ...]
"""Indices of parties, by team."""
Orders = NDArray[np.int16]
"""Players of many divisions, one row each, in the order of the teams."""
Kind = tuple[int, int]
"""Players of a party, and the team that it insists on; -1 if it is flexible."""
Counts = tuple[tuple[Kind, int], ...]
"""Parties by kind, with their number; sorted, so that equal questions are equal values."""


@lru_cache(maxsize=8192)
def fillable(chosen: Counts, left: Counts, seats: tuple[int, ...]) -> bool | None:
    """Return whether all of `chosen` and some of `left` can fill all seats exactly.

    Args:
        chosen: Parties that must be seated.
        left: Parties that may be seated.
        seats: Seats per team.

    Returns:
        The exact answer, or None if `STATES_MAX` states were not enough to find it.

    Complexity:
        At most `STATES_MAX` states, one per party seated if nothing has to be undone. Flexible
        solos and parties with a side need no states: sums of sizes, as bits of integers, tell
        which seats they can fill.

    >>> fillable((((2, -1), 3),), (), (3, 3)), fillable((((2, -1), 3),), (), (4, 2))
    (False, True)
    """
    free, must, solos = _room_after(chosen, seats)
    if min(free) < 0 or sum(must) + solos > sum(free):
        return False
    own = [1] * len(seats)
    more: list[int] = []
    spare = 0
    for (size, team), count in left:
        if team >= 0:
            own[team] = _sums(own[team], size, min(count, free[team] // size))
            own[team] &= (2 << free[team]) - 1
        elif size == 1:
            spare = count
        else:
            more += [size] * min(count, sum(free) // size)
    search = _Filling(must, sorted(more, reverse=True), own, (solos, solos + spare))
    return search.run(tuple(free))


def _room_after(chosen: Counts, seats: tuple[int, ...]) -> tuple[list[int], list[int], int]:
    """Return the seats left by parties with a side, the flexible parties' sizes, and the solos."""
    free, must, solos = list(seats), [], 0
    for (size, team), count in chosen:
        if team >= 0:
            free[team] -= size * count
        elif size == 1:
            solos += count
        else:
            must += [size] * count
    return free, sorted(must, reverse=True), solos


def _sums(sums: int, size: int, count: int) -> int:
    """Return the sums, as set bits, after adding a size up to `count` times."""
    step = 1
    while count > 0:
        step = min(step, count)
        sums |= sums << (size * step)
        count -= step
        step *= 2
    return sums


class _Filling:
    """A search through free seats by team, one flexible party after another, without recursion.

    Args:
        must: Sizes of parties to be seated, descending.
        more: Sizes of parties that may be seated, descending.
        own: By team, as bits, the sums that parties with its side may add.
        solos: Flexible solos that must be seated, and those that may be.
    """

    def __init__(
        self, must: list[int], more: list[int], own: list[int], solos: tuple[int, int]
    ) -> None:
        self._must = len(must)
        self._sizes = must + more
        self._own = own
        self._solos = solos
        self._alike = all(sums == own[0] for sums in own)
        self._reach: dict[int, tuple[list[int], int]] = {}
        self._next_size = _ends_of_runs(self._sizes, self._must)

    def run(self, free: tuple[int, ...]) -> bool | None:
        """Return whether these free seats can be filled; None if that would take too long."""
        if self._fills_by_runs(list(free)):
            return True
        room_max = max(free)
        todo = [(0, self._tidy(free))]
        seen = set(todo)
        while todo:
            if len(seen) > STATES_MAX:
                return None
            party, rooms = todo.pop()
            if party >= self._must and self._closes(rooms):
                return True
            if party == len(self._sizes) or self._wastes(party, rooms, room_max):
                continue
            for state in self._after(party, rooms):
                if state not in seen:
                    seen.add(state)
                    todo.append(state)
        return False

    def _fills_by_runs(self, rooms: list[int]) -> bool:
        """Return whether the largest first, as many as fit into each team, fills the seats."""
        party = 0
        while party < len(self._sizes):
            if party >= self._must and self._closes(rooms):
                return True
            size, end = self._sizes[party], self._next_size[party]
            count = end - party
            for team, room in enumerate(rooms):
                seated = min(count, room // size)
                rooms[team] -= size * seated
                count -= seated
            if count and party < self._must:
                return False
            party = end
        return self._closes(rooms)

    def _after(self, party: int, rooms: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the states after a party's turn, the most promising one last."""
        if party >= self._must:
            yield self._next_size[party], rooms
        size = self._sizes[party]
        tried: set[tuple[int, int]] = set()
        for team in sorted(range(len(rooms)), key=rooms.__getitem__, reverse=True):
            room = rooms[team]
            if room < size or (room, self._own[team]) in tried:
                continue
            tried.add((room, self._own[team]))
            yield party + 1, self._tidy((*rooms[:team], room - size, *rooms[team + 1 :]))

    def _tidy(self, rooms: tuple[int, ...]) -> tuple[int, ...]:
        """Return the free seats, sorted among teams that differ in nothing else."""
        if self._alike:
            return tuple(sorted(rooms))
        alike: dict[int, list[int]] = {}
        for own, room in zip(self._own, rooms, strict=True):
            alike.setdefault(own, []).append(room)
        for group in alike.values():
            group.sort(reverse=True)
        return tuple([alike[own].pop() for own in self._own])

    def _closes(self, rooms: Sequence[int]) -> bool:
        """Return whether the teams' own parties and flexible solos fill the free seats."""
        least, most = self._solos
        totals = 1
        for sums, room in zip(self._own, rooms, strict=True):
            if sums != 1:  # 1 is the empty sum
                totals = _add(totals, sums & ((2 << room) - 1))
        return _has(totals, sum(rooms) - most, sum(rooms) - least)

    def _wastes(self, party: int, rooms: tuple[int, ...], room_max: int) -> bool:
        """Return whether seats stay empty that flexible solos cannot fill exactly."""
        known = self._reach.get(party)
        if known is None:
            known = self._reach[party] = self._reachable(party, room_max)
        reach, totals = known
        least, most = self._solos
        if not _has(totals, sum(rooms) - most, sum(rooms) - least):
            return True
        waste = 0
        for sums, room in zip(reach, rooms, strict=True):
            waste += room + 1 - (sums & ((2 << room) - 1)).bit_length()
        return waste > most

    def _reachable(self, party: int, room_max: int) -> tuple[list[int], int]:
        """Return the sums, as bits, of its own and the remaining parties, by team and in all.

        Parties that must be seated count as optional, so the result is still a bound.
        """
        sizes = Counter(self._sizes[party:])
        mask = (2 << room_max) - 1
        sums = totals = 1
        for size, count in sizes.items():
            sums = _sums(sums, size, min(count, room_max // size)) & mask
            totals = _sums(totals, size, count)
        by_own = {own: _add(sums, own) & mask for own in set(self._own)}
        for own in self._own:
            totals = totals if own == 1 else _add(totals, own)
        return [by_own[own] for own in self._own], totals


def _ends_of_runs(sizes: list[int], must: int) -> list[int]:
    """Return for each index the first later one of another size; `must` starts a run, too."""
    ends = list(range(1, len(sizes) + 1))
    for place in range(len(sizes) - 2, -1, -1):
        if sizes[place] == sizes[place + 1] and place + 1 != must:
            ends[place] = ends[place + 1]
    return ends


def _has(sums: int, low: int, high: int) -> bool:
    """Return whether any of the sums, given as bits, lies in [low, high]."""
    low = max(0, low)
    return high >= low and (sums >> low) & ((2 << (high - low)) - 1) != 0


def _add(one: int, other: int) -> int:
    """Return all sums, as bits, of one number from each set."""
    total = 0
    while other:
        low = other & -other
        total |= one * low
        other ^= low
    return total


def counts_of(kinds: Sequence[Kind]) -> Counts:
    """Return kinds with their counts, sorted."""
    return tuple(sorted(Counter(kinds).items()))
