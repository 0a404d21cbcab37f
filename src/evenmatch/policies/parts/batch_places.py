"""What a `Batch` knows of latencies: places and milliseconds, by the attribute that says them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenmatch.cost.latency import known_of, ping_table
from evenmatch.model.ticket import Player, Ticket
from evenmatch.solvers.batch.batch import Floats, Ints, Singles

ROWS_FIRST = 64
PLACES_MAX = 256
"""Places with a column of their own; a search does not know the others, the last look does."""


class Places:
    """The latencies of the waiting players by one attribute, row by row.

    Args:
        attribute: Its name.
    """

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute
        self._columns: dict[str, int] = {}
        self._ms: Floats = np.full((ROWS_FIRST, 0), np.inf)

    def __len__(self) -> int:
        return len(self._columns)

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        more = np.full((size - len(self._ms), self._ms.shape[1]), np.inf)
        self._ms = np.vstack([self._ms, more])

    def clear(self) -> None:
        """Forget all places; every row must be written anew."""
        self._columns.clear()
        self._ms = np.full((len(self._ms), 0), np.inf)

    def write(self, ticket: Ticket, player: Player, row: int) -> None:
        """Write a player's latencies to regions, and to other players who were measured."""
        known: Mapping[str, float] = known_of(ticket, player, self.attribute)
        self._ms[row] = np.inf
        for place in known:
            if place == player.id:
                continue
            at = self._columns.setdefault(place, len(self._columns))
            if at >= PLACES_MAX:
                continue
            if at >= self._ms.shape[1]:
                column = np.full((len(self._ms), 1), np.inf)
                self._ms = np.hstack([self._ms, column])
            self._ms[row, at] = known[place]

    def table(self, rows: Ints) -> Floats:
        """Return the latencies of some rows to the places that any of them knows, by name."""
        by_name = sorted(place for place in self._columns.items() if place[1] < self._ms.shape[1])
        own = self._ms[np.ix_(rows, np.array([at for _, at in by_name], dtype=np.int64))]
        return np.ascontiguousarray(own[:, np.isfinite(own).any(axis=0)])

    def measured(self, tickets: Sequence[Ticket]) -> Singles | None:
        """Return the ping of each pair of players if some of these was measured to another."""
        if not any(p.id in self._columns for t in tickets for p in t.players):
            return None
        return self.pings(tickets)

    def pings(self, tickets: Sequence[Ticket]) -> Singles:
        """Return the ping of each pair of players."""
        return ping_table(tickets, self.attribute).astype(np.float32)


def stacked(tables: Sequence[Floats], players: int) -> Floats:
    """Return latency tables of several attributes as one, unknown regions at the end."""
    widest = max((table.shape[1] for table in tables), default=0)
    found = np.full((len(tables), players, widest), np.inf)
    for at, table in enumerate(tables):
        found[at, :, : table.shape[1]] = table
    return found
