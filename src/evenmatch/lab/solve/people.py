"""The people behind a batch of tickets: roles and free seats, and what a match tells of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from evenmatch.criteria.objective import weights_of
from evenmatch.criteria.roles import assigned
from evenmatch.criteria.rules import Rules
from evenmatch.criteria.venue import Venues
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket

Tables = Mapping[str, NDArray[Any]]


def weight_of(queue: Queue, kind: str) -> float:
    """Return the share that a kind of criterion has in all weights."""
    weights = weights_of(queue)
    own = [w for c, w in zip(queue.criteria, weights, strict=True) if c.kind == kind]
    total = math.fsum(weights)
    return math.fsum(own) / total if total else 0.0


class PlayerIdentities:
    """Knows who the players of a batch are.

    Args:
        queue: Its format, criteria and rules.
        tickets: In the order in which the batch numbers their players.
        tables: Measured pings and connections, where the batch has them.
    """

    def __init__(self, queue: Queue, tickets: Sequence[Ticket], tables: Tables) -> None:
        self._form = queue.format
        self._rules = Rules(queue) if queue.rules else None
        self._venues = Venues(queue)
        self._ticket = [ticket for ticket in tickets for _ in ticket.players]
        self._ids = [player.id for ticket in tickets for player in ticket.players]
        self._tables = tables

    def objection(self, teams: Sequence[Sequence[int]]) -> str:
        """Return which rule a match breaks, or ""."""
        if self._rules is None:
            return ""
        seated = [self._tickets(team) for team in teams]
        return "" if self._rules.ready_at(seated) <= 0.0 else self._rules.objection(seated, 0.0)

    def tell(self, teams: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return the ids of a match's players by team, and roles, region and hosts if it has any.

        Args:
            teams: Players by their numbers, those of a party next to each other.
        """
        seated = [self._tickets(team) for team in teams]
        told: dict[str, Any] = {"ids": [[self._ids[p] for p in team] for team in teams]}
        if self._form.roles:
            told["roles"] = [list(assigned(team, self._form.roles) or ()) for team in seated]
        # Where tables were given, the tickets' own attributes only stand in for them.
        if "ping" not in self._tables and "connect" not in self._tables:
            venue = self._venues.of(tuple(map(tuple, seated)), 0.0)
            told |= {} if venue.region is None else {"region": venue.region}
            told |= {} if venue.hosts is None else {"hosts": list(venue.hosts)}
        if "connect" in self._tables:
            told["hosts"] = self._hosts([p for team in teams for p in team])
        return told

    def _tickets(self, team: Sequence[int]) -> list[Ticket]:
        return list({self._ticket[p].id: self._ticket[p] for p in team}.values())

    def _hosts(self, players: Sequence[int]) -> list[str]:
        """Return the ids of those who reach all others: least mean ping first, then by id."""
        connect, ping = self._tables["connect"], self._tables.get("ping")
        found = []
        for one in players:
            others = [p for p in players if p != one]
            if all(connect[one, p] for p in others):
                mean = 0.0 if ping is None else math.fsum(ping[one, p] for p in others)
                found.append((mean, self._ids[one]))
        return [name for _, name in sorted(found)]
