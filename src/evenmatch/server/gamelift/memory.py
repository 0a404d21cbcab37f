"""Facts about tickets that GameLift's clients may ask for and the engine does not keep.

An ended ticket's attributes, and why a ticket waits again: both only for people and for clients
that look once more, so they are kept in memory; after a restart ended tickets have ids alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from itertools import islice

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.engine.state.state import Tables
from evenmatch.model.events import WITHDRAWN, Dissolved
from evenmatch.model.ticket import Player
from evenmatch.server.gamelift.shapes import PlayerShape

PREFIX = "aws:"
"""What the caller's ticket ids get in front: no id that a shard gives has a colon."""
ROSTER_PLAYERS_MOST = 50_000
"""Players of requests to fill matches that are remembered; beyond, the oldest requests go."""
SWEPT = 2
"""Tickets looked at, for those that are kept no longer, for each one that comes."""


class GameLiftMemory(LifecycleView):
    """Remembers the tickets that came over GameLift's protocol, from durable records."""

    def __init__(self) -> None:
        self._players: OrderedDict[str, tuple[Player, ...]] = OrderedDict()
        self._returned: set[str] = set()
        self._rosters: OrderedDict[str, tuple[PlayerShape, ...]] = OrderedDict()
        self._rostered = 0
        self._tables: Tables | None = None

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Start over with the tickets that are live."""
        self._tables = engine.tables
        self._players = OrderedDict(
            (row.ticket.id, row.ticket.players) for row in live if is_ours(row.ticket.id)
        )
        self._returned &= self._players.keys()

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Note which players a new ticket has."""
        del record
        if is_ours(row.ticket.id):
            self._players[row.ticket.id] = row.ticket.players
            self._sweep()

    def released(self, record: Record, row: LiveTicket) -> None:
        """Note that a ticket waits again because others did not accept."""
        if is_ours(row.ticket.id) and not _was_withdrawn(record, row.ticket.id):
            self._returned.add(row.ticket.id)

    def players_of(self, ticket: str) -> tuple[Player, ...] | None:
        """Return the players of a ticket with all their facts; None if these are not kept."""
        return self._players.get(ticket)

    def was_returned(self, ticket: str) -> bool:
        """Return whether a ticket waits again because others did not accept."""
        return ticket in self._returned

    def keep_roster(self, ticket: str, players: tuple[PlayerShape, ...]) -> None:
        """Note the facts of the players in a request to fill a match."""
        # Of an id that is used again, the earlier roster goes.
        self._rostered += len(players) - len(self._rosters.pop(ticket, ()))
        self._rosters[ticket] = players
        while self._rostered > ROSTER_PLAYERS_MOST and len(self._rosters) > 1:
            self._rostered -= len(self._rosters.popitem(last=False)[1])

    def roster_of(self, ticket: str) -> tuple[PlayerShape, ...]:
        """Return the players of a request to fill a match; none if they are not kept."""
        return self._rosters.get(ticket, ())

    def __len__(self) -> int:
        """Return how many tickets are remembered."""
        return len(self._players)

    def _sweep(self) -> None:
        assert self._tables is not None
        for ticket in list(islice(self._players, SWEPT)):
            if self._tables.knows(ticket):
                self._players.move_to_end(ticket)
            else:
                del self._players[ticket]
                self._returned.discard(ticket)


def _was_withdrawn(record: Record, ticket: str) -> bool:
    """Return whether a ticket waits again because the match it was to join asks for nobody."""
    return any(
        isinstance(each, Dissolved) and each.reason == WITHDRAWN and ticket in each.tickets
        for each in record.events
    )


def is_ours(ticket: str) -> bool:
    """Return whether a ticket came over GameLift's protocol."""
    return ticket.startswith(PREFIX)
