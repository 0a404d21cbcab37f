"""The ways to divide a match's tickets into teams, parties whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.roles import RoleFit, assign_roles
from evenmatch.criteria.rules import side_of
from evenmatch.criteria.team_packing import Counts, Division, Kind, Orders, counts_of, fillable
from evenmatch.model.queue import Format
from evenmatch.model.ticket import Ticket

DIVISIONS_MAX = 20_000
"""Most divisions examined for one match; 8 against 8 solo players have 6,435."""
MASKED_MAX = 16
"""Most parties for which all divisions into two teams are listed at once: 65,536 sets."""
TRIED_MAX = 5_000
"""Partly filled matches that one search may abandon without finding a division."""
OPENED_MAX = 32
"""Most numbers of teams that are tried for an even layout."""

Layout = tuple[int, ...]
"""Players per team."""
MayShare = Callable[[Sequence[int]], bool]
"""Whether parties may be in one team, whoever joins them; then so may any part of them."""


class DivisionTable(NamedTuple):
    """Many divisions of the same parties.

    Args:
        layout: Players per team, the same in all of them.
        orders: Shape (divisions, players): players are numbered party by party, and a row lists
            the first team's players, then the second's, and so on.
    """

    layout: Layout
    orders: Orders


class Room(NamedTuple):
    """The teams of a match.

    Args:
        seats: Seats per team.
        least: Seats that must be filled; the same as `seats` for full matches.
        named: Whether teams have names; if not, teams of equal size are interchangeable and
            their permutations are left out.
    """

    seats: Layout
    least: Layout
    named: bool = False


def divisions(
    sizes: Sequence[int],
    room: Room,
    wanted: Sequence[int | None],
    *,
    spare: int = 0,
    may_share: MayShare | None = None,
) -> Iterator[Division]:
    """Yield the ways to seat parties in teams, at most `DIVISIONS_MAX`.

    Args:
        sizes: Players per party.
        room: The teams.
        wanted: The team that each party insists on, or None.
        spare: Required seats that stay free (for bots).
        may_share: A further condition on teams, including partly filled ones.

    Yields:
        The parties' indices by team. The first division seats parties in order, each in the first
        team where it fits and leaves the others a place.

    Complexity:
        O(parties x teams) per division, and one `fillable` per distinct partly filled match; none
        once the remaining parties are flexible solos. With `may_share`, at most `TRIED_MAX` partly
        filled matches.

    >>> list(divisions([1, 1, 2], Room((2, 2), (2, 2)), [None] * 3))
    [((0, 1), (2,))]
    """
    if not sum(room.least) <= sum(sizes) + spare <= sum(room.seats):
        return
    kinds = [(s, -1 if team is None else team) for s, team in zip(sizes, wanted, strict=False)]
    walk = _SeatingWalk(kinds, room, spare, may_share)
    yield from islice(walk.run(), DIVISIONS_MAX)


class _SeatingWalk:
    """A search that seats parties in order, without recursion, if the rest still finds places."""

    def __init__(
        self, kinds: list[Kind], room: Room, spare: int, may_share: MayShare | None
    ) -> None:
        self._kinds = kinds
        self._seats, self._least, self._named = room
        self._may_share = may_share
        self._spare = spare
        # Seats that may stay free are treated as solos who may join one team.
        free = [(least, seats) for least, seats in zip(room.least, room.seats, strict=True)]
        self._optional: Counts = tuple(
            ((1, team), most - least) for team, (least, most) in enumerate(free) if most > least
        )
        self._free = list(room.seats)
        self._teams: list[list[int]] = [[] for _ in room.seats]
        self._chosen: list[int] = []
        self._answers: dict[tuple[int, tuple[int, ...]], bool] = {}
        self._suffixes: dict[int, Counts] = {}
        # From here on, all parties are flexible solos, who always find a place.
        self._easy = len(kinds)
        while self._easy and kinds[self._easy - 1] == (1, -1):
            self._easy -= 1

    def run(self) -> Iterator[Division]:
        """Yield the divisions, first those that seat early parties in early teams."""
        if not self._leaves_places(0):
            return
        if not self._kinds:
            yield ((),) * len(self._seats)
            return
        turns = [self._options(0)]
        tried = 0
        while turns and tried < TRIED_MAX:
            party = len(turns) - 1
            if len(self._chosen) > party:
                self._undo(party)
            team = next(turns[-1], None)
            if team is None:
                turns.pop()
                continue
            self._free[team] -= self._kinds[party][0]
            self._chosen.append(team)
            self._teams[team].append(party)
            if self._may_share is not None:
                tried += 1
                if not self._may_share(self._teams[team]):
                    continue
            if not self._leaves_places(party + 1):
                continue
            if len(turns) == len(self._kinds):
                tried = 0
                yield tuple(map(tuple, self._teams))
            else:
                turns.append(self._options(party + 1))

    def _undo(self, party: int) -> None:
        team = self._chosen.pop()
        self._free[team] += self._kinds[party][0]
        self._teams[team].pop()

    def _options(self, party: int) -> Iterator[int]:
        """Yield the teams in which a party may sit; `run` undoes each before the next."""
        size, wanted = self._kinds[party]
        opened: set[tuple[int, int]] = set()
        for team, seats in enumerate(self._seats):
            if size > self._free[team] or wanted not in (-1, team):
                continue
            if not self._named and self._free[team] == seats:
                if (seats, self._least[team]) in opened:
                    continue
                opened.add((seats, self._least[team]))
            yield team

    def _leaves_places(self, party: int) -> bool:
        """Return whether the parties from here on fit into the free seats."""
        if party >= self._easy:
            return not self._optional or self._missing() <= len(self._kinds) - party + self._spare
        key = (party, tuple(self._free))
        answer = self._answers.get(key)
        if answer is None:
            suffix = self._suffixes.get(party)
            if suffix is None:
                suffix = self._suffixes[party] = counts_of(self._kinds[party:])
            is_alike = not self._named and not self._optional
            free = tuple(sorted(key[1])) if is_alike else key[1]
            chosen = counts_of([*self._kinds[party:], *[(1, -1)] * self._spare])
            answer = fillable(chosen, self._optional, free) is True
            self._answers[key] = answer
        return answer

    def _missing(self) -> int:
        """Return how many players the teams still need."""
        missing = 0
        for free, seats, least in zip(self._free, self._seats, self._least, strict=True):
            missing += max(0, least - (seats - free))
        return missing


def division_tables(
    sizes: Sequence[int], found: Iterable[Division], seats: Layout
) -> tuple[DivisionTable, ...]:
    """Return divisions as tables, the most even layout first."""
    starts = np.concatenate(([0], np.cumsum(sizes))).tolist()
    rows: dict[Layout, list[list[int]]] = {}
    for division in found:
        layout = tuple([sum([sizes[party] for party in team]) for team in division])
        row = [p for team in division for i in team for p in range(starts[i], starts[i + 1])]
        rows.setdefault(layout, []).append(row)
    tables = [DivisionTable(layout, np.array(own, dtype=np.int16)) for layout, own in rows.items()]
    return tuple(sorted(tables, key=lambda table: unevenness(table.layout, seats)))


@lru_cache(maxsize=32)
def two_teams(
    sizes: tuple[int, ...], room: Room, wanted: tuple[int | None, ...]
) -> tuple[DivisionTable, ...]:
    """Return all divisions into two teams as tables, the most even layout first.

    Args:
        sizes: Players per party, of at most `MASKED_MAX`.
        room: Two teams.
        wanted: The team that each party insists on, or None.

    Complexity:
        O(2^parties), in whole arrays.

    """
    # A set of parties is a number whose highest bit is the first party; the parties of the set are
    # in the second team. So ascending numbers give the order of `divisions`.
    second: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    for size in reversed(sizes):
        second = np.concatenate((second, second + size))
    first = sum(sizes) - second
    fits = (first <= room.seats[0]) & (second <= room.seats[1])
    fits &= (first >= room.least[0]) & (second >= room.least[1])
    is_alike = room.seats[0] == room.seats[1] and room.least[0] == room.least[1]
    if is_alike and not room.named:
        fits[len(fits) // 2 :] = False
    sets = np.flatnonzero(fits)
    n = len(sizes)
    for party, team in enumerate(wanted):
        if team is not None:
            sets = sets[(sets >> (n - 1 - party)) & 1 == team]
    is_second = (sets[:, None] >> np.arange(n - 1, -1, -1)) & 1 == 1
    players = np.repeat(is_second, sizes, axis=1)
    tables = []
    for count in dict.fromkeys(second[sets].tolist()):
        own = players[second[sets] == count]
        layout = (sum(sizes) - count, count)
        parts = [np.nonzero(part)[1].reshape(len(own), -1) for part in (~own, own)]
        tables.append(DivisionTable(layout, np.hstack(parts).astype(np.int16)))
    return tuple(sorted(tables, key=lambda table: unevenness(table.layout, room.seats)))


def division_of(row: Sequence[int], layout: Layout, party_of: Sequence[int]) -> Division:
    """Return a row of a table as parties by team.

    >>> division_of([0, 3, 1, 2], (2, 2), [0, 1, 1, 2])
    ((0, 2), (1,))
    """
    division = []
    start = 0
    for count in layout:
        players = row[start : start + count]
        division.append(tuple(dict.fromkeys([party_of[player] for player in players])))
        start += count
    return tuple(division)


def unevenness(layout: Layout, seats: Layout) -> tuple[float, int]:
    """Return how much the teams that play differ in the share of their seats filled.

    Of equally even layouts, the one with fewer teams comes first.
    """
    shares = [count / room for count, room in zip(layout, seats, strict=True) if count]
    return (max(shares) - min(shares) if shares else 0.0, len(shares))


@lru_cache(maxsize=1024)
def even_layout(players: int, room: Room) -> Layout:
    """Return the most even way to spread `players` solos over teams.

    Complexity:
        O(players log teams) for each number of teams that may play, at most `OPENED_MAX`.

    >>> even_layout(4, Room((3, 3), (1, 1))), even_layout(4, Room((2, 2, 2), (1, 1, 0)))
    ((2, 2), (2, 2, 0))
    """
    needed = [team for team, least in enumerate(room.least) if least]
    others = [team for team, least in enumerate(room.least) if not least]
    found: list[Layout] = []
    for more in range(len(others) + 1):
        opened = needed + others[:more]
        if sum([room.seats[team] for team in opened]) >= players and len(found) < OPENED_MAX:
            found.append(_spread(players, room, opened))
    return min(found, key=lambda layout: unevenness(layout, room.seats), default=room.least)


def _spread(players: int, room: Room, opened: list[int]) -> Layout:
    """Return the layout that fills these teams evenly."""
    counts = list(room.least)
    teams = [(counts[team] / room.seats[team], team) for team in opened]
    heapify(teams)
    for _ in range(players - sum(counts)):
        _, team = heappop(teams)
        counts[team] += 1
        if counts[team] < room.seats[team]:
            heappush(teams, (counts[team] / room.seats[team], team))
    return tuple(counts)


# The divisions of a set of tickets that a format allows: seats, sides and roles.

Teams = tuple[tuple[Ticket, ...], ...]
"""Tickets by team."""
RequiredTeams = tuple[int | None, ...]
"""The required team of each party, or None."""

FEW = 1_000
"""Most divisions that are all examined if a search has to find each of them."""
CELLS_MAX = 40 * FEW
"""Most seats in such divisions; matches of more than 40 players get fewer divisions."""
UNEVEN_LOOKED_AT = 200
"""Divisions among which the most even one is taken if no even one is allowed."""


class Divider:
    """The divisions that one format allows.

    Args:
        form: Seats, sides and roles.
    """

    def __init__(self, form: Format) -> None:
        self._sides = form.sides
        self._may_insist = bool(form.strict_sides)
        self._roles = form.roles
        self._room = Room(form.players, form.least_players, bool(form.sides))

    def first(self, tickets: Sequence[Ticket], bots: int = 0) -> Teams | None:
        """Return an allowed division, as even as possible; None if there is none.

        Args:
            tickets: By age; early tickets sit in early teams.
            bots: Seats that computer players fill.

        Complexity:
            That of one of `divisions` if tickets and bots fill all seats, or spread evenly.
        """
        sizes = [ticket.size for ticket in tickets]
        room, found = self._room, None
        count = sum(sizes) + bots
        if room.least != room.seats and sum(room.least) <= count <= sum(room.seats):
            layout = even_layout(count, room)
            found = next(self._walk(tickets, Room(layout, layout, room.named), bots), None)
        if found is None:
            some = islice(self._walk(tickets, room, bots), UNEVEN_LOOKED_AT)
            if room.least == room.seats:
                found = next(some, None)
            else:
                found = min(some, key=lambda each: self._unevenness(each, sizes), default=None)
        return None if found is None else teams_of(tickets, found)

    def tables(self, tickets: Sequence[Ticket]) -> tuple[tuple[DivisionTable, ...], bool]:
        """Return the allowed divisions, and whether the list is complete.

        Args:
            tickets: By age; tables number their players party by party.

        Returns:
            Tables by layout, the most even layout first; if there are too many divisions, only the
            first one.
        """
        sizes = tuple([ticket.size for ticket in tickets])
        if len(self._room.seats) == 2 and len(sizes) <= MASKED_MAX:
            found = two_teams(sizes, self._room, self._wanted(tickets, self._room))
            return self._legal(tickets, found), True
        walk = self._walk(tickets, self._room, 0)
        few = min(FEW, CELLS_MAX // max(1, sum(sizes)))
        some = list(islice(walk, few + 1))
        if len(some) <= few:
            return division_tables(sizes, some, self._room.seats), True
        first = self.first(tickets)
        assert first is not None
        places = {ticket.id: place for place, ticket in enumerate(tickets)}
        division = tuple([tuple([places[ticket.id] for ticket in team]) for team in first])
        return division_tables(sizes, [division], self._room.seats), False

    def neighbours(
        self, tickets: Sequence[Ticket], table: DivisionTable, row: int
    ) -> DivisionTable:
        """Return the allowed divisions in which two parties of one size have swapped teams.

        Args:
            tickets: As for `tables`.
            table: Holds the division.
            row: The division in it.

        Complexity:
            O(parties^2 x players), in whole arrays except for a loop over pairs of parties.
        """
        sizes = [ticket.size for ticket in tickets]
        order = table.orders[row]
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        team_of = np.repeat(np.arange(len(table.layout)), table.layout)
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)
        at, own = place[starts], np.array(sizes)
        kept = self._wanted(tickets, self._room)
        wanted = np.array([-1 if team is None else team for team in kept])
        one, two = np.triu_indices(len(sizes), 1)
        team = team_of[at]
        fits = (own[one] == own[two]) & (team[one] != team[two])
        for here, there in ((one, two), (two, one)):
            fits &= (wanted[here] < 0) | (wanted[here] == team[there])
        one, two = one[fits], two[fits]
        orders = np.repeat(order[None, :], len(one), axis=0)
        rows = np.arange(len(one))
        for step in range(max(sizes)):
            some = own[one] > step
            here, there = at[one][some] + step, at[two][some] + step
            orders[rows[some], here] = order[there]
            orders[rows[some], there] = order[here]
        legal = self._legal(tickets, (DivisionTable(table.layout, orders),))
        return legal[0] if legal else DivisionTable(table.layout, orders[:0])

    def roles(self, teams: Teams) -> tuple[tuple[str, ...], ...] | None:
        """Return each player's role by team; None if the queue has no roles."""
        if not self._roles:
            return None
        return tuple([assign_roles(team, self._roles) or () for team in teams])

    def _wanted(self, tickets: Sequence[Ticket], room: Room, bots: int = 0) -> RequiredTeams:
        """Return the team in which each ticket must be: its side, if it insists on one.

        Wishes for sides are granted one after the other, to larger parties first and then by age,
        each unless it would leave no division.
        """
        if not self._sides:
            return (None,) * len(tickets)
        names = [side_of(ticket) for ticket in tickets]
        wishes = tuple([self._sides.index(name) if name else None for name in names])
        if self._may_insist or next(self._walk_of(tickets, room, bots, wishes), None) is not None:
            return wishes
        granted: RequiredTeams = (None,) * len(tickets)
        for party in sorted(range(len(tickets)), key=lambda party: -tickets[party].size):
            more = (*granted[:party], wishes[party], *granted[party + 1 :])
            if next(self._walk_of(tickets, room, bots, more), None) is not None:
                granted = more
        return granted

    def _walk(self, tickets: Sequence[Ticket], room: Room, bots: int) -> Iterator[Division]:
        return self._walk_of(tickets, room, bots, self._wanted(tickets, room, bots))

    def _walk_of(
        self, tickets: Sequence[Ticket], room: Room, bots: int, wanted: RequiredTeams
    ) -> Iterator[Division]:
        sizes = [ticket.size for ticket in tickets]
        if not self._roles:
            return divisions(sizes, room, wanted, spare=bots)
        fit = RoleFit(tickets, self._roles)
        if not fit.may_fit(len(room.seats)):
            return iter(())
        return divisions(sizes, room, wanted, spare=bots, may_share=fit.may_share)

    def _legal(
        self, tickets: Sequence[Ticket], found: tuple[DivisionTable, ...]
    ) -> tuple[DivisionTable, ...]:
        """Return the divisions whose teams can be given roles."""
        if not self._roles:
            return found
        fit = RoleFit(tickets, self._roles)
        legal = [
            DivisionTable(table.layout, table.orders[fit.legal(table.orders, table.layout)])
            for table in found
        ]
        return tuple([table for table in legal if len(table.orders)])

    def _unevenness(self, division: Division, sizes: Sequence[int]) -> tuple[float, int]:
        layout = tuple([sum([sizes[party] for party in team]) for team in division])
        return unevenness(layout, self._room.seats)


def teams_of(tickets: Sequence[Ticket], division: Division) -> Teams:
    """Return the tickets of a division by team."""
    return tuple([tuple([tickets[party] for party in team]) for team in division])
