"""Folds durable records into the figures of the dashboard, event by event."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView, MatchWithTickets
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.model.events import WITHDRAWN, Cancelled, Dissolved, Expired, Penalised, Voided
from evenmatch.model.inputs import Configure
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.server.dashboard.queue_figures import QueueFigures, RecordedMatch

MADE_MOST = 500
"""Matches of which it is kept who made them."""


class Figures(LifecycleView):
    """The figures of all queues, as far as they are durable.

    Args:
        step: Engine seconds of a tick, one real second as the clock runs.
    """

    def __init__(self, step: float) -> None:
        self.step = step
        self.queues: dict[str, QueueFigures] = {}
        self.made: dict[str, RecordedMatch] = {}
        self.version = 0
        self.paused: frozenset[str] = frozenset()
        self._engine: Engine | None = None

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Start over with the tickets that wait; the hour that was stays."""
        tables = engine.tables
        self._engine = engine
        self.version, self.paused = tables.version, frozenset(tables.paused)
        self._follow(tables.queues.values(), int(tables.now // self.step), live)

    def configured(
        self, record: Record, configuration: Configure, live: Collection[LiveTicket]
    ) -> None:
        """Show the queues of a new configuration, with those who wait in them."""
        del record
        self.version, self.paused = configuration.version, frozenset(configuration.pause)
        self._follow(configuration.queues, int(configuration.now // self.step), live)

    def advance(self, queue: str, now: float) -> None:
        """Close the ticks of a queue that are over at an instant."""
        figures = self.queues.get(queue)
        if figures is not None:
            figures.advance(int(now // self.step))

    def fault(self, queue: str) -> str | None:
        """Return why a queue makes no matches any more; None while all is well."""
        pool = None if self._engine is None else self._engine.pools.get(queue)
        return None if pool is None or pool.fault is None else str(pool.fault)

    def _at(self, queue: str, record: Record) -> QueueFigures | None:
        """Return a queue's figures, moved on to the tick of a record."""
        figures = self.queues.get(queue)
        if figures is not None:
            figures.advance(int(record.input.now // self.step))
        return figures

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Add a new ticket."""
        for name in row.queues:
            if (figures := self._at(name, record)) is not None:
                figures.count("arrivals")
                figures.waiting.enter(row.ticket)

    def updated(self, record: Record, row: LiveTicket) -> None:
        """Show a ticket as it is now."""
        if row.match is None:
            self.returned(record, row)

    def left_queue(self, record: Record, row: LiveTicket, queue: str) -> None:
        """Take a ticket out of one queue."""
        if (figures := self._at(queue, record)) is not None:
            figures.waiting.leave(row.ticket.id)

    def proposed(self, record: Record, match: Match) -> None:
        """Count a proposal."""
        self._count("proposed", match.queue, record)

    def repaired(self, record: Record, match: Match) -> None:
        """Count a proposal that is full again."""
        self._count("repaired", match.queue, record)

    def asked(self, record: Record, row: LiveTicket, queue: str) -> None:
        """Take a ticket that a proposal has out of the tables, and count its players there."""
        self._leave(record, row)
        self._count("asked", queue, record, row.ticket.size)

    def dissolved(self, record: Record, event: Dissolved, queue: str) -> None:
        """Count a proposal that came to nothing."""
        if event.reason != WITHDRAWN:
            self._count("failed", queue, record)

    def released(self, record: Record, row: LiveTicket) -> None:
        """Add a ticket that waits again."""
        self.returned(record, row)

    def penalised(self, record: Record, event: Penalised, queue: str) -> None:
        """Count a player who let a ready-check down."""
        del event
        self._count("unready", queue, record)

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        """Show a match, and its tickets no more."""
        match = made.match
        for row in made.tickets:
            if row is not None:
                self._leave(record, row)
        if (figures := self._at(match.queue, record)) is None:
            return
        tickets = tuple([None if row is None else row.ticket for row in made.tickets])
        shown = RecordedMatch(match, tickets, made.record, figures.queue)
        figures.match(shown)
        self.made[match.id] = shown
        if len(self.made) > MADE_MOST:
            del self.made[next(iter(self.made))]

    def settled(self, record: Record, made: MatchWithTickets) -> None:
        """Let a match count for good that can't be called off any more."""
        del record
        if (figures := self.queues.get(made.match.queue)) is not None:
            figures.settle(made.match.id)

    def voided(self, record: Record, event: Voided, made: list[MatchWithTickets]) -> None:
        """Take a match out of all figures that was called off, and its fills."""
        for name in (event.match, *event.fills):
            self.made.pop(name, None)
        for each in made:
            if (figures := self._at(each.match.queue, record)) is not None:
                figures.take_back(each.match.id)

    def returned(self, record: Record, row: LiveTicket) -> None:
        """Add a ticket to those who wait in its queues; it keeps its age."""
        for name in row.queues:
            if (figures := self._at(name, record)) is not None:
                figures.waiting.enter(row.ticket)

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        """Take a ticket out of all its queues, and count there what became of it."""
        self._leave(record, row)
        for name in row.queues:
            self._count("cancelled" if type(event) is Cancelled else "expired", name, record)

    def _count(self, what: str, queue: str, record: Record, by: int = 1) -> None:
        if (figures := self._at(queue, record)) is not None:
            figures.count(what, by)

    def _leave(self, record: Record, row: LiveTicket) -> None:
        for name in row.queues:
            if (figures := self._at(name, record)) is not None:
                figures.waiting.leave(row.ticket.id)

    def _follow(self, queues: Iterable[Queue], tick: int, live: Iterable[LiveTicket]) -> None:
        """Show these queues from now on, with the tickets that wait in them."""
        before, self.queues = self.queues, {}
        for queue in queues:
            self.queues[queue.name] = _continued(before.get(queue.name), queue, tick, self.step)
        for row in live:
            for name in () if row.match is not None else row.queues:
                if name in self.queues:
                    self.queues[name].waiting.enter(row.ticket)


def _continued(figures: QueueFigures | None, queue: Queue, tick: int, step: float) -> QueueFigures:
    if figures is None:
        return QueueFigures(queue, tick, step)
    figures.advance(tick)
    figures.configure(queue)
    return figures
