"""The gaps of simulated matches, taken when a match is made: later nobody knows its tickets."""

from __future__ import annotations

from collections.abc import Mapping

from evenmatch.criteria.gaps import Gaps
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.simulation.history import NO_GAPS


class GapMeter:
    """The tickets that wait, kept until their match is measured.

    Args:
        queues: As simulated.
    """

    def __init__(self, queues: tuple[Queue, ...]) -> None:
        self._gaps = {queue.name: Gaps(queue) for queue in queues}
        self._is_idle = not any(gaps.names for gaps in self._gaps.values())
        self._waiting: dict[str, Ticket] = {}

    def enter(self, ticket: Ticket) -> None:
        """Note a ticket that waits now."""
        if not self._is_idle:
            self._waiting[ticket.id] = ticket

    def leave(self, ticket: str) -> None:
        """Forget a ticket that has ended without a match."""
        self._waiting.pop(ticket, None)

    def gaps_of(self, match: Match) -> Mapping[str, float]:
        """Return a match's gaps by name, and forget its tickets; none of a match with bots."""
        if self._is_idle:
            return NO_GAPS
        known = {name: self._waiting.pop(name) for name in match.tickets}
        if match.bots:
            return NO_GAPS
        gaps = self._gaps[match.queue]
        teams = [[known[name] for name in team] for team in match.teams]
        return dict(zip(gaps.names, gaps.of(teams, match.roles, region=match.region), strict=True))
