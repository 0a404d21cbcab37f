"""The tickets of a pool as columns of numbers, so that one pass compares all with a match.

A ticket's numbers are made once, when it is looked at for the first time, and kept while it waits.
Repairs of failed ready-checks and running matches with free seats look at the same columns.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.columns.least_cost import LeastCost
from evenmatch.criteria.columns.pairs import PairTable
from evenmatch.criteria.columns.regions import RegionTable
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import NUMERIC
from evenmatch.criteria.roles import Roles, mask_of
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.seat_completion import SeatCompletion, seats_of
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket, attribute_of

LOOK_AT_MOST = 1_000
"""Waiting tickets that are looked at, longest waiting first."""
FEW = 64
"""Rows that there is room for at first; the room doubles when it is full."""
NEW_ROWS_MOST = 500
"""Tickets whose numbers one look at all who wait makes: some 15 us each."""
KINDS_MOST = 4_096
"""Kinds that are remembered when rows move together; beyond it they are numbered anew."""


class TicketColumns(msgspec.Struct, frozen=True, gc=False):
    """Some tickets as columns; the last axis of each is that of the tickets.

    Args:
        tickets: The tickets, in the order in which they were asked for.
        pairs: What rules on pairs compare, by `PairTable.row`.
        extents: What criteria compare at the least, by `LeastCost.row`.
        values: Mean over the players of each number that criteria and rules compare; see
            `WaitingColumns.compared`.
        regions: The worst latency to each place, by `RegionTable.row`.
        sizes: Players.
        roles: Roles that some player of the ticket takes, as bits; all where no role is listed.
        kinds: Which seats the ticket may take: its number in `WaitingColumns.seats`.
    """

    tickets: Sequence[Ticket]
    pairs: Floats
    extents: Floats
    values: Floats
    regions: Floats
    sizes: NDArray[np.int64]
    roles: NDArray[np.int64]
    kinds: NDArray[np.int64]


class WaitingColumns:
    """The numbers of the tickets that wait in one queue.

    Args:
        objective: The queue's.
        pairs: What its rules say of pairs.
        least_cost: Its criteria at the least.
    """

    def __init__(self, objective: Objective, pairs: PairTable, least_cost: LeastCost) -> None:
        self._pairs, self._least = pairs, least_cost
        self.regions = RegionTable(objective.rules)
        self.compared = _compared(objective.queue)
        self._queue = objective.queue
        self._roles: Roles = self._queue.format.roles
        # Another object once kinds are numbered anew: what was told by the old ones is void then.
        self.seats = self._new_seats()
        self._rows: dict[str, int] = {}
        self._held: list[Ticket] = []
        ends = np.cumsum([pairs.columns, least_cost.columns, len(self.compared), 1, 1, 1])
        self._parts = tuple(int(end) for end in ends)
        self._numbers: Floats = np.empty((0, self._parts[-1]))
        self._places: Floats = np.empty((0, 0))
        self._last: TicketColumns | None = None
        # Whether anybody has looked yet; before that, nobody needs to note newcomers.
        self.are_kept = False
        # Whether all who wait have rows: so they do from the first look at all of them on.
        self._have_all = False

    @property
    def are_exact(self) -> bool:
        """Return whether they tell all that rules say of two tickets."""
        return self._pairs.is_exact_beside(self.regions.told)

    def oldest(self, waiting: Mapping[str, Ticket]) -> TicketColumns:
        """Return those who have waited longest, `LOOK_AT_MOST` at most.

        Args:
            waiting: All who wait, by id, longest waiting first.

        Complexity:
            O(n) for n tickets looked at, with a small constant: nothing of a ticket is made twice.
        """
        tickets = list(islice(waiting.values(), LOOK_AT_MOST))
        # Lists compare by identity first, so this is quick where nobody came or went.
        if self._last is None or self._last.tickets != tickets:
            self._compact(waiting)
            self._last, self.are_kept = self.of(tickets), True
        return self._last

    def ready_with(self, ticket: Ticket, waiting: Mapping[str, Ticket], now: float) -> list[Ticket]:
        """Return the tickets that rules on pairs may let play with this one now, in no order.

        Whoever has no numbers yet is among them; each call makes those of `NEW_ROWS_MOST`.

        Args:
            ticket: One that waits.
            waiting: All who wait, by id; all of them are looked at.
            now: The present instant.

        Complexity:
            O(n rules) in columns for n tickets, once all have their numbers.
        """
        rest: list[Ticket] = []
        if not self._have_all:
            # From now on newcomers get theirs at once.
            self.are_kept = True
            rest = [each for each in waiting.values() if not self._knows(each)]
            for each in rest[:NEW_ROWS_MOST]:
                self._row(each)
            rest = rest[NEW_ROWS_MOST:]
            self._have_all = not rest
        row = np.array([self._pairs.row(ticket)])
        known = self._numbers[: len(self._held), : self._parts[0]]
        ready = np.flatnonzero(self._pairs.ready_at(known.T, row.T) <= now).tolist()
        # Rows of those who have left stay for a while.
        found = [self._held[place] for place in ready]
        return [each for each in found if waiting.get(each.id) is each] + rest

    def add(self, ticket: Ticket, waiting: Mapping[str, Ticket]) -> None:
        """Note a newcomer, so that the next look need not; to be called where they `are_kept`.

        Args:
            ticket: The newcomer.
            waiting: All who wait, by id, the newcomer among them.
        """
        # Who comes behind those that are looked at gets a row when it is needed.
        if self._have_all or len(waiting) <= LOOK_AT_MOST or ticket.id in self._rows:
            self._row(ticket)
        self._compact(waiting)

    def of(self, tickets: Iterable[Ticket]) -> TicketColumns:
        """Return some tickets that wait."""
        tickets = list(tickets)
        rows = [self._row(ticket) for ticket in tickets]
        found = self._numbers[rows].T
        places = self._places[rows].T
        first, second, third, fourth, fifth, _ = self._parts
        return TicketColumns(
            tickets,
            found[:first],
            found[first:second],
            found[second:third],
            places,
            found[third].astype(np.int64),
            found[fourth].astype(np.int64),
            found[fifth].astype(np.int64),
        )

    def means(self, tickets: Collection[Ticket]) -> list[float]:
        """Return the mean over some tickets of each of the numbers in `TicketColumns.values`."""
        count = len(tickets)
        return [sum([_mean(each, name) for each in tickets]) / count for name in self.compared]

    def _new_seats(self) -> SeatCompletion:
        form = self._queue.format
        return seats_of(self._queue, frozenset(form.sides).difference(form.strict_sides))

    def _knows(self, ticket: Ticket) -> bool:
        row = self._rows.get(ticket.id)
        return row is not None and self._held[row] is ticket

    def _row(self, ticket: Ticket) -> int:
        row = self._rows.get(ticket.id)
        if row is None:
            row = self._rows[ticket.id] = len(self._held)
            self._held.append(ticket)
            self._fill(row, ticket)
        elif self._held[row] is not ticket:
            self._held[row] = ticket
            self._fill(row, ticket)
        return row

    def _fill(self, row: int, ticket: Ticket) -> None:
        regions = self.regions.row(ticket) if self.regions.says_something else []
        if row >= len(self._numbers) or len(regions) > self._places.shape[1]:
            self._make_room(row, self.regions.columns)
        values = [_mean(ticket, attribute) for attribute in self.compared]
        roles = 0
        for player in ticket.players:
            roles |= mask_of(player, self._roles)
        pairs, extents = self._pairs.row(ticket), self._least.row(ticket)
        kind = self.seats.kind_of(ticket)
        self._numbers[row] = (*pairs, *extents, *values, ticket.size, roles, kind)
        self._places[row] = math.inf
        self._places[row, : len(regions)] = regions

    def _make_room(self, row: int, places: int) -> None:
        """Grow to hold a row and a number of places; a place nobody knew before is out of reach."""
        room = max(FEW, len(self._numbers))
        while room <= row:
            room *= 2
        numbers = np.zeros((room, self._parts[-1]))
        numbers[: len(self._numbers)] = self._numbers
        known = self._places
        wider = np.full((room, max(places, known.shape[1])), math.inf)
        wider[: len(known), : known.shape[1]] = known
        self._numbers, self._places = numbers, wider

    def _compact(self, waiting: Mapping[str, Ticket]) -> None:
        """Let go of those who wait no more once they are many; the others move together."""
        if len(self._held) <= 2 * len(waiting) + FEW:
            return
        stay = [row for row, ticket in enumerate(self._held) if waiting.get(ticket.id) is ticket]
        self._numbers[: len(stay)] = self._numbers[stay]
        self._places[: len(stay)] = self._places[stay]
        self._held = [self._held[row] for row in stay]
        self._rows = {ticket.id: row for row, ticket in enumerate(self._held)}
        if len(self.seats.sizes) > KINDS_MOST:
            self.seats, self._last = self._new_seats(), None
            for row, ticket in enumerate(self._held):
                self._numbers[row, -1] = self.seats.kind_of(ticket)


def _compared(queue: Queue) -> tuple[str, ...]:
    """Return the numbers that criteria and rules of a queue compare."""
    compared = [each.attribute for each in queue.criteria if each.kind in NUMERIC]
    compared += [each.attribute for each in queue.rules if each.kind in NUMERIC]
    return tuple(dict.fromkeys(compared))


def _mean(ticket: Ticket, attribute: str) -> float:
    """Return the mean of a number over a ticket's players; 0 where it is none."""
    values = [attribute_of(ticket, player, attribute) for player in ticket.players]
    if len(values) == 1 and type(values[0]) is float:
        return values[0]
    numbers = [float(value) if isinstance(value, float | int) else 0.0 for value in values]
    return sum(numbers) / len(numbers)
