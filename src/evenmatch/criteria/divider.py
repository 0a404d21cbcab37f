"""Which divisions of a set of tickets a format allows: seats, sides and roles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from evenmatch.criteria.divisions import (
    MASKED_MAX,
    DivisionTable,
    Room,
    divisions,
    even_layout,
    tabulated,
    two_teams,
    unevenness,
)
from evenmatch.criteria.roles import RoleFit, assigned
from evenmatch.criteria.rules import side_of
from evenmatch.criteria.team_packing import Division
from evenmatch.model.queue import Format
from evenmatch.model.ticket import Ticket

Teams = tuple[tuple[Ticket, ...], ...]
"""Tickets by team."""
Wanted = tuple[int | None, ...]
"""The team in which each party has to be, or None."""

FEW = 1_000
"""Divisions that are all looked at, where each of them is found by a walk."""
CELLS_MAX = 40 * FEW
"""Seats in such divisions; matches of more than 40 players get fewer of them."""
UNEVEN_LOOKED_AT = 200
"""Divisions among which the most even one is taken where no even one is allowed."""


class Divider:
    """The divisions that one format allows.

    Args:
        form: Seats, sides and roles.
    """

    def __init__(self, form: Format) -> None:
        self._sides = form.sides
        self._may_insist = bool(form.insisted)
        self._roles = form.roles
        self._room = Room(form.players, form.least, bool(form.sides))

    def first(self, tickets: Sequence[Ticket], bots: int = 0) -> Teams | None:
        """Return an allowed division, as even as can be; None if there is none.

        Args:
            tickets: By age; early tickets sit in early teams.
            bots: Seats that computer players fill.

        Complexity:
            That of one of `divisions` where tickets and bots fill all seats, or spread evenly.
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
        """Return the allowed divisions, and whether these are all.

        Args:
            tickets: By age; tables number their players party by party.

        Returns:
            Tables by layout, the most even layout first; where there are too many divisions, the
            first one only.
        """
        sizes = tuple([ticket.size for ticket in tickets])
        if len(self._room.seats) == 2 and len(sizes) <= MASKED_MAX:
            found = two_teams(sizes, self._room, self._wanted(tickets, self._room))
            return self._legal(tickets, found), True
        walk = self._walk(tickets, self._room, 0)
        few = min(FEW, CELLS_MAX // max(1, sum(sizes)))
        some = list(islice(walk, few + 1))
        if len(some) <= few:
            return tabulated(sizes, some, self._room.seats), True
        first = self.first(tickets)
        assert first is not None
        places = {ticket.id: place for place, ticket in enumerate(tickets)}
        division = tuple([tuple([places[ticket.id] for ticket in team]) for team in first])
        return tabulated(sizes, [division], self._room.seats), False

    def neighbours(
        self, tickets: Sequence[Ticket], table: DivisionTable, row: int
    ) -> DivisionTable:
        """Return the allowed divisions in which two parties of a size have changed teams.

        Args:
            tickets: As for `tables`.
            table: Holds the division.
            row: The division in it.

        Complexity:
            O(parties^2 x players), in whole arrays but for a loop over pairs of parties.
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
        """Return each player's role by team; None where the queue has no roles."""
        if not self._roles:
            return None
        return tuple([assigned(team, self._roles) or () for team in teams])

    def _wanted(self, tickets: Sequence[Ticket], room: Room, bots: int = 0) -> Wanted:
        """Return the team in which each ticket has to be: its side, where it insists on one.

        Where sides are wishes, these are granted one after the other, those of larger parties
        first and then by age, each unless it would leave no division.
        """
        if not self._sides:
            return (None,) * len(tickets)
        names = [side_of(ticket) for ticket in tickets]
        wishes = tuple([self._sides.index(name) if name else None for name in names])
        if self._may_insist or next(self._walk_of(tickets, room, bots, wishes), None) is not None:
            return wishes
        granted: Wanted = (None,) * len(tickets)
        for party in sorted(range(len(tickets)), key=lambda party: -tickets[party].size):
            more = (*granted[:party], wishes[party], *granted[party + 1 :])
            if next(self._walk_of(tickets, room, bots, more), None) is not None:
                granted = more
        return granted

    def _walk(self, tickets: Sequence[Ticket], room: Room, bots: int) -> Iterator[Division]:
        return self._walk_of(tickets, room, bots, self._wanted(tickets, room, bots))

    def _walk_of(
        self, tickets: Sequence[Ticket], room: Room, bots: int, wanted: Wanted
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
