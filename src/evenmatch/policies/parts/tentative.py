"""A tentative division of the waiting tickets into matches, and the search that improves it.

What is kept between searches is plain: the sequences of the tickets in each match, container by
container, and on the bench. A search makes arrays of it, longest waiting first, so that nothing
depends on rows, ids or on how often it was asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import msgspec
import numpy as np

from evenmatch.policies.parts.batching import Roster, with_worth
from evenmatch.solvers.batch.batch import Ints, bare
from evenmatch.solvers.batch.board import board_of
from evenmatch.solvers.batch.joins import join, merge, trade_seats
from evenmatch.solvers.batch.scene import ILLEGAL, IS_PLAIN, scene_of
from evenmatch.solvers.batch.trades import (
    BENCHED,
    EVALUATED,
    HOT,
    MATCHES,
    PINNED,
    Table,
    offers,
    seat_row,
    trade,
)

Seated = list[list[int]]
"""One match: sequences of tickets, container by container."""

HOT_MAX, COLD = 0.01, 0.0004
HEAT = 4e-5
"""Temperatures, in quality of a match: a search begins at `HEAT` for each evaluation that a player
gets, for what heat breaks has to be mended. More than `HOT_MAX` finds nothing more."""
COSTLIER = 5
"""How many times as long an evaluation takes that is not the plain one, about."""
BENCH_SHARE, FOCUS_SHARE = 0.15, 0.5


class Division(msgspec.Struct):
    """Who is with whom for now.

    Args:
        matches: Full matches, or with fewer players where the format allows it.
        bench: Everybody else, in the order of their coming here.
    """

    matches: list[Seated] = []
    bench: list[int] = []

    def leave(self, sequence: int) -> int | None:
        """Take a ticket out; return the place of its match, which falls apart, or None."""
        if sequence in self.bench:
            self.bench.remove(sequence)
            return None
        for at, match in enumerate(self.matches):
            found = members(match)
            if sequence in found:
                del self.matches[at]
                self.bench += [each for each in found if each != sequence]
                return at
        return None

    def sequences(self) -> list[int]:
        """Return everybody."""
        return [*(s for match in self.matches for s in members(match)), *self.bench]


def members(match: Seated) -> list[int]:
    """Return the sequences of a match."""
    return [sequence for container in match for sequence in container]


class Search:
    """One look at a division, in arrays.

    Args:
        roster: The waiting tickets.
        division: Who is with whom; not changed before `store`.
        worths: What a match gains by seating one player of each ticket, in quality.
        now: Rules count as they stand now.
        doubt: What a loss counts in a match that is not good enough, against one that is.
    """

    def __init__(
        self,
        roster: Roster,
        division: Division,
        worths: Mapping[int, float],
        now: float,
        doubt: float,
    ) -> None:
        self.tickets = [t for t in roster.by_age() if t.sequence in worths]
        self.place = {t.sequence: at for at, t in enumerate(self.tickets)}
        worth = [worths[t.sequence] for t in self.tickets]
        batch = with_worth(roster.batch(self.tickets, now), worth)
        self._worth = worth
        form = roster.queue.format
        self._seats, self._least = form.players, form.least
        self.has_room = form.is_variable
        self._scene = scene_of(batch)
        self._rows = sum(t.size for t in self.tickets) // sum(self._least) + 2
        self._board = board_of(self._scene, self._rows)
        self.illegal = float(self._scene.numbers[ILLEGAL])
        self._table = self._seat(division, doubt)
        self._args = bare(self._scene), bare(self._board), bare(self._table)
        for row in range(self.count):
            seat_row(*self._args, row, -1)

    @property
    def count(self) -> int:
        """Return how many matches there are."""
        return int(self._table.counts[MATCHES])

    @property
    def evaluations(self) -> int:
        """Return the matches evaluated so far."""
        return int(self._table.counts[EVALUATED])

    def fill(self) -> None:
        """Make matches of those on the bench, the largest parties first, as long as they fill.

        Where seats may stay free, who is left joins the match where that is best, or a new one that
        is large enough; and of two small matches one is made where that is better.
        """
        self._fill(self._seats)
        if self.has_room:
            at = int(self._table.counts[BENCHED])
            while at > 0:
                at -= 1
                join(*self._args, at)
            self._fill(self._least)
            self._merge()

    def begin_with(self, sequence: int) -> None:
        """Make one match with a ticket, and put all others on the bench."""
        table, mine = self._table, self.place[sequence]
        bench = list(range(len(self.tickets)))
        table.home[:] = -1
        table.counts[MATCHES] = 0
        found = self._pack(bench, self._seats, mine)
        if found is None and self.has_room:
            found = self._pack(bench, self._least, mine)
        if found is not None:
            seated = [party for team in found for party in team]
            bench = [party for party in bench if party not in seated]
            self._hold(0, found if self._per_match > 1 else [seated])
            table.counts[MATCHES] = 1
            seat_row(*self._args, 0, -1)
        table.bench[: len(bench)] = bench
        table.counts[BENCHED] = len(bench)

    def trade(self, focus: Sequence[int], effort: int, seed: bytes, pinned: int = -1) -> None:
        """Improve the division; trades begin at the matches of `focus` more often.

        Matches that are judged by more than one gap of teams, pairs and hosts cost several times
        as much to evaluate; they get a smaller share of the effort, so that a search stays short.
        """
        table = self._table
        if self._scene.numbers[IS_PLAIN] == 0.0:
            effort = max(1, effort // COSTLIER)
        table.chance[0] = np.uint64(int.from_bytes(seed[:8], "big") | 1)
        table.counts[PINNED] = self.place.get(pinned, -1)
        heat = HEAT * effort / max(len(self._scene.party), 1)
        table.numbers[HOT] = min(max(heat, COLD), HOT_MAX)
        places: Ints = np.array([self.place[s] for s in focus if s in self.place], dtype=np.int64)
        (trade_seats if self.has_room else trade)(*self._args, places, effort)

    def surplus(self) -> list[float]:
        """Return of each match its quality and what its players are worth; -inf if illegal."""
        energies = self._table.energy[: self.count].tolist()
        return [-energy if energy < self.illegal else -np.inf for energy in energies]

    def qualities(self) -> list[float]:
        """Return of each match its quality; -inf if illegal."""
        found = []
        for row, surplus in enumerate(self.surplus()):
            inside = [self.tickets[at] for at in self._parties(row)]
            players = sum(ticket.size for ticket in inside)
            worth = sum(self._worth[at] * self.tickets[at].size for at in self._parties(row))
            found.append((surplus - worth) * sum(self._seats) / players)
        return found

    def offers(self, sequence: int, most: float) -> tuple[float, int]:
        """Return what a ticket adds to matches of a surplus of -`most` or more; see `trades`."""
        total, asked = offers(*self._args, self.place[sequence], most)
        return float(total), int(asked)

    def division(self) -> Division:
        """Return who is with whom now."""
        table, per_match = self._table, self._per_match
        sequences = [ticket.sequence for ticket in self.tickets]
        matches = [
            [
                [sequences[p] for p in table.held[c, : table.held_count[c]].tolist()]
                for c in range(row * per_match, (row + 1) * per_match)
            ]
            for row in range(self.count)
        ]
        bench = table.bench[: table.counts[BENCHED]].tolist()
        return Division(matches, [sequences[party] for party in bench])

    @property
    def _per_match(self) -> int:
        return 1 if self._scene.is_divided else len(self._seats)

    def _seat(self, division: Division, doubt: float) -> Table:
        per_match, seats = self._per_match, self._seats
        rooms = [sum(seats)] if per_match == 1 else list(seats)
        leasts = [sum(self._least)] if per_match == 1 else list(self._least)
        starts = [0, *np.cumsum(rooms).tolist()][:-1]
        count, containers = len(self.tickets), self._rows * per_match
        most = max(rooms)
        sizes = np.array([t.size for t in self.tickets], dtype=np.int64)
        table = Table(
            start=np.tile(np.array(starts, dtype=np.int64), self._rows),
            room=np.tile(np.array(rooms, dtype=np.int64), self._rows),
            held=np.zeros((containers, most), dtype=np.int64),
            held_count=np.zeros(containers, dtype=np.int64),
            bench=np.zeros(count + most, dtype=np.int64),
            home=np.full(count, -1, dtype=np.int64),
            sizes=sizes,
            energy=np.zeros(self._rows),
            numbers=np.array([HOT_MAX, COLD, doubt, BENCH_SHARE, FOCUS_SHARE]),
            counts=np.array([0, 0, max(seats), 0, -1], dtype=np.int64),
            chance=np.ones(1, dtype=np.uint64),
            picked=np.zeros((3, count + most), dtype=np.int64),
            least=np.tile(np.array(leasts, dtype=np.int64), self._rows),
        )
        self._table = table
        for row, match in enumerate(division.matches):
            self._hold(row, [[self.place[s] for s in container] for container in match])
            table.counts[MATCHES] += 1
        bench = [self.place[sequence] for sequence in division.bench]
        table.bench[: len(bench)] = bench
        table.counts[BENCHED] = len(bench)
        return table

    def _hold(self, row: int, containers: Sequence[Sequence[int]]) -> None:
        table = self._table
        for c, parties in enumerate(containers, row * self._per_match):
            table.held[c, : len(parties)] = parties
            table.held_count[c] = len(parties)
            table.home[list(parties)] = c

    def _parties(self, row: int) -> list[int]:
        """Return the parties of a match."""
        table, per_match = self._table, self._per_match
        return [
            party
            for c in range(row * per_match, (row + 1) * per_match)
            for party in table.held[c, : table.held_count[c]].tolist()
        ]

    def _fill(self, wanted: Sequence[int]) -> None:
        """Make matches of those on the bench that have so many players in each team at least."""
        table = self._table
        bench = table.bench[: table.counts[BENCHED]].tolist()
        while (found := self._pack(bench, wanted)) is not None:
            row = self.count
            for team in found:
                bench = [party for party in bench if party not in team]
            self._hold(row, found if self._per_match > 1 else [[p for t in found for p in t]])
            table.counts[MATCHES] += 1
            seat_row(*self._args, row, -1)
        table.bench[: len(bench)] = bench
        table.counts[BENCHED] = len(bench)

    def _merge(self) -> None:
        """Make one match of two that have room for each other where that is better."""
        one = 0
        while one < self.count:
            two = one + 1
            while two < self.count:
                together = [*self._parties(one), *self._parties(two)]
                players = sum(self.tickets[at].size for at in together)
                # Where two have become one, another match stands in the place of the second.
                if players > sum(self._seats) or not merge(*self._args, one, two):
                    two += 1
            one += 1

    def _pack(
        self, bench: Sequence[int], wanted: Sequence[int], before: int = -1
    ) -> list[list[int]] | None:
        """Return the parties of each team of one match; None if too few in any.

        The largest parties come first, and before them one that must be there. Once each team has
        the players that are wanted, others take the seats that are still free.
        """
        sizes = self._table.sizes
        if int(sizes[list(bench)].sum()) < sum(wanted):
            return None
        left = sorted(bench, key=lambda party: (party != before, -int(sizes[party])))
        teams: list[list[int]] = [[] for _ in wanted]
        free = list(self._seats)
        for goal in (wanted, self._seats):
            for team, seats in enumerate(self._seats):
                for party in left:
                    size = int(sizes[party])
                    if size <= free[team] and seats - free[team] < goal[team]:
                        teams[team].append(party)
                        free[team] -= size
                left = [party for party in left if party not in teams[team]]
            if any(s - f < g for s, f, g in zip(self._seats, free, goal, strict=True)):
                return None if goal is wanted else teams
        return teams


def seed_of(*parts: object) -> bytes:
    """Return the seed of one search."""
    text = "/".join(map(str, parts))
    return blake2b(text.encode(), digest_size=8).digest()
