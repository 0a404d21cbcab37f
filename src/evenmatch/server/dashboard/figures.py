"""A fold of durable records into what the dashboard shows, event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.stored_ratings import with_ratings
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Dissolved,
    Expired,
    Finished,
    LeftQueue,
    Matched,
    Penalised,
    Proposed,
    Repaired,
    Updated,
    Voided,
)
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.server.dashboard.queue_figures import QueueFigures, RecordedMatch

MADE_MOST = 500
"""Matches of which it is kept who made them."""

Fold = Callable[[Record, Any], None]
Waiting = tuple[Ticket, tuple[str, ...]]
"""A ticket and the queues that it waits in."""


class Figures:
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
        self._queues_of: dict[str, tuple[str, ...]] = {}
        self._proposals: dict[str, str] = {}
        # Tickets that a proposal has: they count in no queue, neither here nor there.
        self._asked: dict[str, Ticket] = {}
        self._blamed_in = ""
        # By name, so that a kind of event that nobody counts costs one look.
        self._folds: dict[str, Fold] = {
            "Accepted": self._accept,
            "Matched": self._match,
            "Cancelled": self._cancel,
            "Expired": self._expire,
            "LeftQueue": self._leave_queue,
            "Updated": self._update,
            "Configured": self._configure,
            "Proposed": self._propose,
            "Repaired": self._repair,
            "Dissolved": self._dissolve,
            "Voided": self._void,
            "Assigned": self._settle,
            "Finished": self._settle,
            "Penalised": self._penalise,
        }

    def reset(self, engine: Engine) -> None:
        """Begin anew with the tickets that wait; the hour that was stays."""
        self._engine = engine
        self.version = engine.tables.version
        self.paused = frozenset(engine.tables.paused)
        held = engine.tables.proposals
        self._proposals = {name: proposal.match.queue for name, proposal in held.items()}
        tables = engine.tables
        rows = tables.waiting.values()
        self._asked = {row.ticket.id: row.ticket for row in rows if row.match is not None}
        waiting = [(row.ticket, row.queues) for row in rows]
        self._follow(tables.queues.values(), int(tables.now // self.step), waiting)

    def hear(self, record: Record) -> None:
        """Fold a durable record."""
        for event in record.events:
            fold = self._folds.get(type(event).__name__)
            if fold is not None:
                fold(record, event)

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

    def _accept(self, record: Record, event: Accepted) -> None:
        ticket = self._ticket_of(record, event)
        self._queues_of[ticket.id] = ticket.queues
        for name in ticket.queues:
            if (figures := self._at(name, record)) is not None:
                figures.count("arrivals")
                figures.waiting.enter(ticket)

    def _ticket_of(self, record: Record, event: Accepted) -> Ticket:
        """Return an accepted ticket: the engine's, or where it waits no longer, the same again.

        The latter lacks whom its players met before; only the engine knew.
        """
        engine, given = self._engine, record.input
        assert engine is not None
        assert isinstance(given, Enqueue)
        row = engine.tables.waiting.get(event.ticket)
        if row is not None:
            return row.ticket
        new = given.tickets[event.item]
        if event.ratings:
            new = with_ratings(new, event.ratings)
        queues = new.queues or (next(iter(self.queues)),)
        places = {key: placed.places for key, placed in event.percentiles.items()}
        return Ticket(
            event.ticket, event.sequence, given.now, new.players, queues, new.attributes, places
        )

    def _match(self, record: Record, event: Matched) -> None:
        match = event.match
        self._proposals.pop(match.id, None)
        tickets = tuple([self._leave(record, ticket_id) for ticket_id in match.tickets])
        figures = self._at(match.queue, record)
        if figures is None:
            return
        made = RecordedMatch(match, tickets, record.sequence, figures.queue)
        figures.match(made)
        self.made[match.id] = made
        if len(self.made) > MADE_MOST:
            del self.made[next(iter(self.made))]

    def _leave(self, record: Record, ticket_id: str, count: str = "") -> Ticket | None:
        """Take a ticket out of all its queues, and count there what became of it."""
        ticket = self._asked.pop(ticket_id, None)
        for name in self._queues_of.pop(ticket_id, ()):
            figures = self._at(name, record)
            if figures is None:
                continue
            if (present := figures.waiting.leave(ticket_id)) is not None:
                ticket = present.ticket
            if count and ticket is not None:
                figures.count(count)
        return ticket

    def _take_aside(self, record: Record, ticket_id: str, queue: str) -> None:
        """Take a ticket that a proposal of a queue has out of the tables; it is still live."""
        for name in self._queues_of.get(ticket_id, ()):
            figures = self._at(name, record)
            if figures is not None and (present := figures.waiting.leave(ticket_id)) is not None:
                self._asked[ticket_id] = present.ticket
        ticket, asking = self._asked.get(ticket_id), self._at(queue, record)
        if ticket is not None and asking is not None:
            asking.count("asked", ticket.size)

    def _enter(self, record: Record, ticket: Ticket) -> None:
        """Add a ticket to those who wait in its queues."""
        for name in self._queues_of.get(ticket.id, ()):
            if (figures := self._at(name, record)) is not None:
                figures.waiting.enter(ticket)

    def _cancel(self, record: Record, event: Cancelled) -> None:
        self._blamed_in = self._proposals.get(event.match or "", "")
        self._leave(record, event.ticket, "cancelled")

    def _penalise(self, record: Record, event: Penalised) -> None:
        """Count a player who let a ready-check down; it follows the cancel of their ticket."""
        del event
        if (figures := self._at(self._blamed_in, record)) is not None:
            figures.count("unready")

    def _expire(self, record: Record, event: Expired) -> None:
        self._leave(record, event.ticket, "expired")

    def _leave_queue(self, record: Record, event: LeftQueue) -> None:
        figures = self._at(event.queue, record)
        queues = self._queues_of.get(event.ticket, ())
        self._queues_of[event.ticket] = tuple(name for name in queues if name != event.queue)
        if figures is not None:
            figures.waiting.leave(event.ticket)

    def _update(self, record: Record, event: Updated) -> None:
        assert self._engine is not None
        row = self._engine.tables.waiting.get(event.ticket)
        if row is None:
            return
        if event.ticket in self._asked:
            self._asked[event.ticket] = row.ticket
        else:
            self._enter(record, row.ticket)

    def _propose(self, record: Record, event: Proposed) -> None:
        self._proposals[event.match.id] = event.match.queue
        if (figures := self._at(event.match.queue, record)) is not None:
            figures.count("proposed")
        for ticket_id in event.match.tickets:
            self._take_aside(record, ticket_id, event.match.queue)

    def _repair(self, record: Record, event: Repaired) -> None:
        if (figures := self._at(event.match.queue, record)) is not None:
            figures.count("repaired")
        for ticket_id in event.joined:
            self._take_aside(record, ticket_id, event.match.queue)

    def _dissolve(self, record: Record, event: Dissolved) -> None:
        name = self._proposals.pop(event.match, "")
        if (figures := self._at(name, record)) is not None:
            figures.count("failed")
        for ticket_id in event.tickets:
            ticket = self._asked.pop(ticket_id, None)
            if ticket is not None:
                self._enter(record, ticket)

    def _void(self, record: Record, event: Voided) -> None:
        """Take the tickets of a match back that cannot be played; they keep their age."""
        for name in (event.match, *event.fills):
            self.made.pop(name, None)
        for name, figures in self.queues.items():
            self._at(name, record)
            figures.void(event)
        for ticket in event.tickets:
            self._queues_of[ticket.id] = ticket.queues
            self._enter(record, ticket)

    def _settle(self, record: Record, event: Assigned | Finished) -> None:
        """Let a match count for good that can't be void any more."""
        del record
        for figures in self.queues.values():
            figures.settle(event)

    def _configure(self, record: Record, event: Any) -> None:
        del event
        given: Any = record.input
        self.version, self.paused = given.version, frozenset(given.pause)
        # The engine's tables may be ahead of this record, so the tickets are those heard of.
        known = dict(self._asked)
        for figures in self.queues.values():
            known |= {ticket.id: ticket for ticket in figures.waiting.tickets()}
        waiting = [(known[key], queues) for key, queues in self._queues_of.items() if key in known]
        self._follow(given.queues, int(given.now // self.step), waiting)

    def _follow(self, queues: Iterable[Queue], tick: int, waiting: Iterable[Waiting]) -> None:
        """Show these queues from now on, with the tickets that wait in them."""
        before, self.queues = self.queues, {}
        for queue in queues:
            self.queues[queue.name] = _continued(before.get(queue.name), queue, tick, self.step)
        self._queues_of.clear()
        for ticket, names in waiting:
            self._queues_of[ticket.id] = names
            for name in names:
                if name in self.queues and ticket.id not in self._asked:
                    self.queues[name].waiting.enter(ticket)


def _continued(figures: QueueFigures | None, queue: Queue, tick: int, step: float) -> QueueFigures:
    if figures is None:
        return QueueFigures(queue, tick, step)
    figures.advance(tick)
    figures.configure(queue)
    return figures
