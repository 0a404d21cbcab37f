"""Renews the `pair_limit` counts of a waiting ticket at the instants at which they fall.

The counts of a waiting ticket fall when a match has become older than the rule's `within`. At that
instant the ticket is refreshed, as by an update of its facts. As a ticket names only those whom a
limit concerns, another limit in a new configuration refreshes it too.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence

from evenmatch.criteria.remembered_matches import meeting_rules
from evenmatch.engine.matching.scheduler import Scheduler
from evenmatch.engine.state.encounters import PlayedMatches, falls_at, with_counts
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.model.events import Accepted, Event, Updated, Voided
from evenmatch.model.queue import Queue

SWEPT_AT = 1024
"""Entries of which the dead are dropped for the first time, and whenever they have doubled."""


class MeetingCounts:
    """The next instant for each waiting ticket that carries counts; dead entries are skipped.

    Args:
        scheduler: The tables and the pools.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.pending: list[tuple[float, str]] = []
        self._sweep_at = SWEPT_AT
        scheduler.add_timer(self)

    def resume(self) -> None:
        """Start over after recovery; counts that fell meanwhile are renewed at once."""
        self.pending.clear()
        for ticket_id in self._scheduler.tables.waiting:
            if self._falls_at(ticket_id, -math.inf) < math.inf:
                self._add(self._scheduler.now, ticket_id)

    def hear(self, events: Sequence[Event]) -> None:
        """Take note of tickets that wait now, or have been refreshed, where matches are counted."""
        for event in events:
            if isinstance(event, Accepted | Updated):
                self._watch(event.ticket)
            elif isinstance(event, Voided):
                # They come back with the counts that they had when they were matched.
                for ticket in event.tickets:
                    self._add(self._scheduler.now, ticket.id)

    def configured(self, before: Mapping[str, Queue]) -> None:
        """Refresh the tickets that wait, or are in proposals, under another limit than before."""
        tables, now = self._scheduler.tables, self._scheduler.now
        changed = {
            name
            for name, queue in tables.queues.items()
            if queue.group in tables.played
            and meeting_rules(queue) != (meeting_rules(before[name]) if name in before else ())
        }
        if changed:
            for ticket_id, row in tables.waiting.items():
                if not changed.isdisjoint(row.queues):
                    self._add(now, ticket_id)
            self.fire(now)

    def next(self) -> float:
        """Return the first instant at which a count may fall; inf if none does."""
        heap, waiting = self.pending, self._scheduler.tables.waiting
        while heap and heap[0][1] not in waiting:
            heapq.heappop(heap)
        return heap[0][0] if heap else math.inf

    def fire(self, now: float) -> set[str]:
        """Refresh the tickets whose counts have fallen; return the queues that they wait in."""
        scheduler, due = self._scheduler, []
        found: set[str] = set()
        while self.pending and self.pending[0][0] <= now:
            due.append(heapq.heappop(self.pending)[1])
        for ticket_id in dict.fromkeys(due):
            if not self._has_changed(ticket_id, now):
                self._watch(ticket_id)
                continue
            scheduler.emit(Updated(ticket_id))
            row = scheduler.tables.waiting[ticket_id]
            if row.match is None:
                scheduler.change(row.ticket, row.queues)
                found.update(row.queues)
        return found

    def _watch(self, ticket_id: str) -> None:
        at = self._falls_at(ticket_id, self._scheduler.now)
        if at < math.inf:
            self._add(at, ticket_id)

    def _add(self, at: float, ticket_id: str) -> None:
        """Look at a ticket at an instant; of each that waits the first entry stays at a sweep.

        Complexity:
            O(log n), on the average.
        """
        heapq.heappush(self.pending, (at, ticket_id))
        if len(self.pending) <= self._sweep_at:
            return
        waiting = self._scheduler.tables.waiting
        first: dict[str, float] = {}
        for due, name in self.pending:
            if name in waiting:
                first[name] = min(due, first.get(name, math.inf))
        self.pending[:] = sorted([(due, name) for name, due in first.items()])
        self._sweep_at = max(SWEPT_AT, 2 * len(self.pending))

    def _falls_at(self, ticket_id: str, now: float) -> float:
        row, queues, played = self._known(ticket_id)
        if row is None or played is None:
            return math.inf
        return falls_at(row.ticket, queues, played, now)

    def _has_changed(self, ticket_id: str, now: float) -> bool:
        row, queues, played = self._known(ticket_id)
        if row is None or played is None:
            return False
        ticket = row.ticket
        return with_counts(ticket, ticket.players, queues, played, now) != ticket.players

    def _known(self, ticket_id: str) -> tuple[LiveTicket | None, list[Queue], PlayedMatches | None]:
        tables = self._scheduler.tables
        row = tables.waiting.get(ticket_id)
        names = () if row is None else row.queues
        queues = [tables.queues[name] for name in names if name in tables.queues]
        return row, queues, tables.played.get(queues[0].group) if queues else None
