"""The waiting tickets of one queue as a table that is updated between explanations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from itertools import compress, filterfalse
from operator import is_not

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.base import Form
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import comparison_of
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.seat_completion import Labels
from evenmatch.criteria.team_packing import Kind
from evenmatch.explain.pair_columns import (
    Codes,
    HostColumns,
    LatencyColumns,
    NamedPlayers,
    Numbers,
    PairColumn,
    Sets,
    SharedWordCount,
    Unknown,
)
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Ticket

ENQUEUED, SEQUENCE, KIND, FIXED = 0, 1, 2, 3
EXCEPTIONS_MAX = 400
"""Most pairs of one ticket that are compared singly; further ones are left out and reported."""

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

PAIR_COLUMNS: dict[Form, type[PairColumn]] = {
    Form.NUMBERS: Numbers,
    Form.WORD: Codes,
    Form.SETS: Sets,
    Form.NAMES: NamedPlayers,
    Form.SHARED: SharedWordCount,
    Form.NETWORK: HostColumns,
    Form.PLACES: LatencyColumns,
    Form.PARTIES: PairColumn,
    Form.SEATS: PairColumn,
    Form.ROLES: PairColumn,
}
"""Forms that have columns, or constrain no two tickets of many; all others are `Unknown`."""


def pair_column_of(definition: Criterion | Rule, queue: Queue) -> PairColumn:
    """Return the columns of a rule or a criterion."""
    compared = comparison_of(definition, queue)
    return PAIR_COLUMNS.get(compared.form, Unknown)(compared)


class PairColumnTable:
    """A table with one column per waiting ticket; the last one takes the place of one that leaves.

    Args:
        queue: With the rules of its policy.
        objective: Of the queue.
    """

    def __init__(self, queue: Queue, objective: Objective) -> None:
        self.queue = queue
        self.objective = objective
        self.rules = [pair_column_of(rule, queue) for rule in queue.rules]
        self.criteria = [pair_column_of(criterion, queue) for criterion in queue.criteria]
        self._pair_columns = [*self.rules, *self.criteria]
        self.labels = Labels(queue)
        self.tickets: list[Ticket] = []
        self.kinds: list[Kind] = []
        self._kind_numbers: dict[Kind, int] = {}
        self._known: dict[str, Ticket] = {}
        self._row: dict[str, int] = {}
        self._ticket_of: dict[str, str] = {}
        # Rules and criteria with the same gaps share the columns of the first of them.
        self._first = [
            next(
                one
                for one in self._pair_columns
                if one is each or (each.key and one.key == each.key)
            )
            for each in self._pair_columns
        ]
        self._slices: list[tuple[PairColumn, slice]] = []
        start = FIXED
        for pair_column in dict.fromkeys(self._first):
            self._slices.append((pair_column, slice(start, start + pair_column.width)))
            start += pair_column.width
        self._table: Floats = np.zeros((start, 64))
        # Gaps of one ticket that several pair columns share, without exceptions.
        self._shared: dict[PairColumn, Floats] = {}
        self._shared_row = -1

    def __len__(self) -> int:
        return len(self.tickets)

    def refresh(self, present: Mapping[str, Ticket]) -> None:
        """Add new tickets, and remove those that are gone.

        Complexity:
            A check of each ticket, and O(columns) for each that has come or gone.
        """
        known = self._known
        self._shared_row = -1
        is_gone = map(is_not, map(present.get, known), known.values())
        for ticket_id in list(compress(known, is_gone)):
            self._leave(ticket_id)
        if len(known) == len(present):
            return
        for ticket_id in filterfalse(known.__contains__, present):
            self._enter(present[ticket_id])
        for pair_column, place in self._slices:
            if isinstance(pair_column, LatencyColumns) and pair_column.grown:
                for ticket_id in pair_column.grown:
                    row = pair_column.row(self._known[ticket_id])
                    self._table[place, self._row[ticket_id]] = row
                pair_column.grown.clear()

    def among(self, rows: Sequence[int]) -> PairColumnTable:
        """Return a table of some of the tickets, in this order; it is not updated."""
        some = copy(self)
        some.tickets = [self.tickets[row] for row in rows]
        some._row = {ticket.id: place for place, ticket in enumerate(some.tickets)}
        some._table = self._table[:, list(rows)]
        some._shared, some._shared_row = {}, -1
        return some

    def row_of(self, ticket_id: str) -> int:
        """Return the index of a ticket in all columns."""
        return self._row[ticket_id]

    def column(self, which: int) -> Floats:
        """Return one of the fixed columns."""
        found: Floats = self._table[which, : len(self.tickets)]
        return found

    def means(self, pair_column: PairColumn) -> Floats:
        """Return the absolute mean value of each party, for a rule whose unit is `relative`."""
        found: Floats = self._cut(pair_column, 0)[1][-1]
        return found

    def may_fill(
        self,
        chosen: Mapping[Kind, int],
        left: Mapping[Kind, int],
        seats: tuple[int, ...] | None = None,
    ) -> bool:
        """Return whether some match has all of `chosen` and is filled from `left`; yes in doubt.

        Args:
            chosen: Tickets of the match, by kind.
            left: Tickets that may join them, by kind.
            seats: Players of each team of a smaller match than a full one.
        """
        return self.labels.may_fill(chosen, left, seats) is not False

    def counts(self, among: Mask) -> dict[Kind, int]:
        """Return how many of some tickets are of each kind."""
        if len(self.kinds) == 1:
            count = int(np.count_nonzero(among))
            return {self.kinds[0]: count} if count else {}
        numbers = self.column(KIND)[among].astype(np.intp)
        found = np.bincount(numbers, minlength=len(self.kinds)).tolist()
        return {kind: count for kind, count in zip(self.kinds, found, strict=True) if count}

    def kind(self, row: int) -> Kind:
        """Return the kind of a ticket."""
        return self.kinds[int(self._table[KIND, row])]

    def gaps(self, pair_column: PairColumn, row: int) -> tuple[Floats, list[int]]:
        """Return the gaps of one ticket to all, and the rows that could not be compared."""
        gaps = self._gaps(pair_column, row)
        rows, left_out = self._exceptions(pair_column, row)
        one = self.tickets[row]
        if rows:
            gaps = gaps.copy()
        for other in rows:
            gaps[other] = pair_column.comparison.pair_gap(one, self.tickets[other])
        return gaps, left_out

    def costs(self, pair_column: PairColumn, row: int, rows: Rows) -> Floats:
        """Return the cost of a criterion in a duel with some tickets; inf if it is unknown.

        For larger formats, it measures how near two tickets are.

        Args:
            pair_column: The criterion.
            row: The ticket's index.
            rows: The others' indices, ascending.
        """
        if pair_column.key is not None:
            costs = pair_column.costs_of(self._gaps(pair_column, row)[rows])
        else:
            own, table = self._cut(pair_column, row)
            costs = pair_column.costs(own, table[:, rows])
        named, left_out = (
            self._exceptions(pair_column, row) if self.queue.format.is_duel else ([], [])
        )
        if named or left_out:
            places = {other: place for place, other in enumerate(rows.tolist())}
            one = self.tickets[row]
            for other in named:
                if other in places:
                    costs[places[other]] = pair_column.comparison.cost_of_duel(
                        one, self.tickets[other]
                    )
            costs[[places[other] for other in left_out if other in places]] = math.inf
        return costs

    def _gaps(self, pair_column: PairColumn, row: int) -> Floats:
        """Return gaps by columns only, computed once for all pair columns that share them."""
        pair_column = self._first[self._pair_columns.index(pair_column)]
        if self._shared_row != row:
            self._shared_row = row
            self._shared.clear()
        known = self._shared.get(pair_column)
        if known is None:
            known = self._shared[pair_column] = pair_column.gaps(*self._cut(pair_column, row))
        return known

    def _cut(self, pair_column: PairColumn, row: int) -> tuple[Floats, Floats]:
        place = next(cut for each, cut in self._slices if each is pair_column)
        table = self._table[place, : len(self.tickets)]
        return np.ascontiguousarray(table[:, row]), table

    def _exceptions(self, pair_column: PairColumn, row: int) -> tuple[list[int], list[int]]:
        """Return the rows to compare singly, and those beyond the limit."""
        if not pair_column.is_known:
            oldest = np.lexsort((self.column(SEQUENCE), self.column(ENQUEUED))).tolist()
            rows = [other for other in oldest if other != row]
        elif isinstance(pair_column, NamedPlayers):
            pair_column = self._first[self._pair_columns.index(pair_column)]
            assert isinstance(pair_column, NamedPlayers)
            players, tickets = pair_column.named(self.tickets[row])
            found = dict.fromkeys(tickets)
            for word in players:
                if (ticket_id := self._ticket_of.get(word)) is not None:
                    found[ticket_id] = None
            found.pop(self.tickets[row].id, None)
            rows = [self._row[ticket_id] for ticket_id in found if ticket_id in self._row]
        else:
            return [], []
        return rows[:EXCEPTIONS_MAX], rows[EXCEPTIONS_MAX:]

    def _enter(self, ticket: Ticket) -> None:
        row = len(self.tickets)
        if row == self._table.shape[1]:
            self._table = np.concatenate([self._table, np.zeros_like(self._table)], axis=1)
        kind = self.labels.kind_of(ticket)
        number = self._kind_numbers.setdefault(kind, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
        self._known[ticket.id], self._row[ticket.id] = ticket, row
        for player in ticket.players:
            self._ticket_of[player.id] = ticket.id
        self.tickets.append(ticket)
        values: list[float] = [ticket.enqueued_at, float(ticket.sequence), float(number)]
        for pair_column, _ in self._slices:
            values += pair_column.values(ticket)
        self._table[:, row] = values

    def _leave(self, ticket_id: str) -> None:
        row, ticket = self._row.pop(ticket_id), self._known.pop(ticket_id)
        for player in ticket.players:
            if self._ticket_of.get(player.id) == ticket_id:
                del self._ticket_of[player.id]
        for pair_column, _ in self._slices:
            pair_column.forget(ticket)
        last = self.tickets.pop()
        if row < len(self.tickets):
            self.tickets[row] = last
            self._row[last.id] = row
            self._table[:, row] = self._table[:, len(self.tickets)]

    def _check(self) -> None:
        """Assert that the table equals a newly built one."""
        assert len(self.tickets) == len(self._row) == len(self._known)
        for ticket_id, row in self._row.items():
            assert self.tickets[row] is self._known[ticket_id]
            assert self._table[ENQUEUED, row] == self.tickets[row].enqueued_at
