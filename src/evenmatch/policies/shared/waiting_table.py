"""The waiting tickets as columns in order of age, so that one pass compares one with all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.columns.sets import Row, SetTable
from evenmatch.criteria.scales import Floats
from evenmatch.model.ticket import Ticket

ROOM = 64
"""Tickets for which there is room at first; it doubles."""
GAPS_MAX = 64
"""Gaps left by those who are gone, beyond as many as wait; then the columns are closed up."""
CELLS_A_STEP = 256
"""Numbers of a pass that count as one evaluation."""
NOBODY = -1
"""The kind of a gap."""


class WaitingTable:
    """Rows of numbers, by age; a ticket that leaves keeps its place as a gap for a while.

    Args:
        joint: Says what the numbers are.
    """

    def __init__(self, joint: SetTable) -> None:
        self._joint = joint
        self._keys: list[tuple[float, int]] = []
        self.tickets: list[Ticket | None] = []
        self._kinds: NDArray[np.intp] = np.full(ROOM, NOBODY)
        # A block is what is in use of the numbers of a store, which has room for more.
        self._stores: Row = [np.empty((0, ROOM)) for _ in joint.fills]
        self._blocks: Row = list(self._stores)
        self._gaps = 0
        self.steps = 0

    def add(self, ticket: Ticket, kind: int) -> None:
        """Take a ticket in, behind all older ones."""
        row = self._joint.row(ticket)
        self._make_room(row)
        place, count = bisect_left(self._keys, ticket.age_key), len(self._keys)
        self._keys.insert(place, ticket.age_key)
        self.tickets.insert(place, ticket)
        if place < count:
            self._move(place, count)
        self._kinds[place] = kind
        for number, (block, values) in enumerate(zip(self._blocks, row, strict=True)):
            block[: len(values), place] = values
            if len(values) < block.shape[0]:
                block[len(values) :, place] = self._joint.fills[number]
        self.steps += 1 + ticket.size

    def remove(self, ticket: Ticket) -> None:
        """Let a ticket go."""
        place = self.place(ticket)
        self.tickets[place], self._kinds[place] = None, NOBODY
        self._gaps += 1
        self.steps += 1
        if 2 * self._gaps > len(self._keys) + GAPS_MAX:
            self._close_up()

    def place(self, ticket: Ticket) -> int:
        """Return where a ticket stands; who is older stands before it."""
        return bisect_left(self._keys, ticket.age_key)

    def __len__(self) -> int:
        """Return how many places there are, gaps included."""
        return len(self._keys)

    @property
    def width(self) -> int:
        """Return how many numbers a row has."""
        return sum(block.shape[0] for block in self._blocks)

    def kinds(self, end: int) -> NDArray[np.intp]:
        """Return the kinds of the first places; `NOBODY` for gaps."""
        return self._kinds[:end]

    def set_kinds(self, kinds: Mapping[int, int]) -> None:
        """Give all tickets other kinds, by sequence."""
        self._kinds[: len(self.tickets)] = [
            NOBODY if ticket is None else kinds[ticket.sequence] for ticket in self.tickets
        ]

    def rows(self, places: list[int]) -> Row:
        """Return the rows of some places; each block has shape (numbers, places)."""
        return [block[:, places] for block in self._blocks]

    @property
    def numbers(self) -> Floats:
        """Return the first block of all places, shape (numbers, places)."""
        return self._blocks[0]

    def column(self, block: int, number: int) -> Floats:
        """Return one number of a block for all places."""
        values: Floats = self._blocks[block][number]
        return values

    def joined(self, place: int, end: int) -> Row:
        """Return the rows of one ticket together with each of the first places."""
        found: Row = []
        for block in self._blocks:
            found.append(np.maximum(block[:, place, None], block[:, :end]))
            self.steps += block.shape[0] * end // CELLS_A_STEP
        self.steps += 1
        return found

    def _make_room(self, row: Row) -> None:
        """Let there be a place more, and as many numbers as the row has."""
        used, room = len(self._keys), len(self._kinds)
        if used == room:
            self._kinds = np.concatenate([self._kinds, np.full(room, NOBODY)])
            room *= 2
        for number, (block, values) in enumerate(zip(self._blocks, row, strict=True)):
            store, known = self._stores[number], block.shape[0]
            height = max(known, len(values))
            if store.shape[1] < room or store.shape[0] < height:
                rows = store.shape[0]
                rows = rows if height <= rows else max(height, known + known // 2)
                larger = np.empty((rows, room))
                larger[:known, :used] = block[:, :used]
                self._stores[number] = store = larger
                self.steps += known * used // CELLS_A_STEP
            # Filled as far as somebody has come: the rest would take as long again.
            store[known:height, :used] = self._joint.fills[number]
            self._blocks[number] = store[:height]
            self.steps += (height - known) * used // CELLS_A_STEP

    def _move(self, place: int, count: int) -> None:
        """Move those who are younger by one place."""
        self._kinds[place + 1 : count + 1] = self._kinds[place:count]
        for block in self._blocks:
            block[:, place + 1 : count + 1] = block[:, place:count]
            self.steps += block.shape[0] * (count - place) // CELLS_A_STEP

    def _close_up(self) -> None:
        kept = [place for place, ticket in enumerate(self.tickets) if ticket is not None]
        self._keys = [self._keys[place] for place in kept]
        self.tickets = [self.tickets[place] for place in kept]
        self._kinds[: len(kept)] = self._kinds[kept]
        self._kinds[len(kept) :] = NOBODY
        for block in self._blocks:
            for row in block:
                row[: len(kept)] = row[kept]
            self.steps += block.size // CELLS_A_STEP
        self.steps += len(kept) // 16
        self._gaps = 0
