"""The tickets of each player: those that wait, and those that ended recently."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.engine.state.state import Tables

TICKETS_MOST = 100
"""Tickets of one player that are remembered, the newest ones."""
SWEPT = 2
"""Players looked at, for tickets that are kept no longer, for each one that comes."""


class PlayerTickets(LifecycleView):
    """Knows which tickets each player has or had, from durable records.

    Where it knows more players than the engine keeps tickets, whoever came longest ago is looked
    at first, two for each who comes: so it holds at most about twice the players of those tickets.

    Complexity:
        O(1) for a player of a record; `of` is O(t log t) for a player's t tickets.
    """

    def __init__(self) -> None:
        # Taking the first of a plain dictionary again and again passes all that were taken before.
        self._tickets: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._tables: Tables | None = None

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Start over with what the engine keeps."""
        self._tables = engine.tables
        self._tickets = OrderedDict()
        rows = [(row.sequence, name, row.players) for name, row in engine.tables.ended.items()]
        for _, ticket_id, players in sorted(rows):
            self._add(ticket_id, players)
        # Those that wait come last, so that none of them is dropped for one that has ended.
        for row in sorted(live, key=lambda row: row.ticket.sequence):
            self._add(row.ticket.id, [player.id for player in row.ticket.players])

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Note which players a new ticket has."""
        self.returned(record, row)
        tables = self._tables
        assert tables is not None
        if len(self._tickets) > len(tables.waiting) + len(tables.ended):
            self._sweep(SWEPT * row.ticket.size)

    def returned(self, record: Record, row: LiveTicket) -> None:
        """Note which players a ticket has that waits again."""
        del record
        self._add(row.ticket.id, [player.id for player in row.ticket.players])

    def of(self, player: str) -> list[str]:
        """Return ids of a player's tickets that are still kept, newest first."""
        # A ticket that has returned is the last one noted, but not the newest.
        kept = self._kept(self._tickets.get(player, ()))
        return sorted(kept, key=self._sequence_of, reverse=True)

    def __len__(self) -> int:
        """Return how many players are remembered."""
        return len(self._tickets)

    def _add(self, ticket: str, players: Iterable[str]) -> None:
        for player in players:
            before = self._tickets.pop(player, None)
            if before is None:
                self._tickets[player] = (ticket,)
                continue
            others = tuple([each for each in before if each != ticket])
            self._tickets[player] = (*others[1 - TICKETS_MOST :], ticket)

    def _sweep(self, most: int) -> None:
        """Look again at those who came longest ago; who has a ticket that is kept goes last."""
        known = self._tickets
        for _ in range(min(most, len(known))):
            player, tickets = known.popitem(last=False)
            if kept := self._kept(tickets):
                known[player] = kept

    def _sequence_of(self, ticket: str) -> int:
        tables = self._tables
        assert tables is not None
        row = tables.waiting.get(ticket)
        return tables.ended[ticket].sequence if row is None else row.ticket.sequence

    def _kept(self, tickets: tuple[str, ...]) -> tuple[str, ...]:
        tables = self._tables
        assert tables is not None
        if len(tickets) == 1:
            return tickets if tables.knows(tickets[0]) else ()
        return tuple([ticket for ticket in tickets if tables.knows(ticket)])
