"""Follows the life of each ticket in durable records, once for all views that count tickets.

    record --> TicketLifecycle --> entered, asked, released, matched, returned, ended, ...

Records name tickets by id. What a view counts is about the tickets themselves: whose queues, how
old, how many players. The lifecycle keeps who is live and which matches may be called off yet, and
tells each view what happened with the tickets that it happened to; views keep only their own sums.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from evenmatch.engine.admission.ticket_update import refreshed
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.rosters import VoidableMatches
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.engine.state.state import Tables
from evenmatch.engine.state.stored_ratings import accepted_ticket
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Configured,
    Dissolved,
    Event,
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
from evenmatch.model.inputs import Configure, Enqueue, Update
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket


class MatchWithTickets(msgspec.Struct, frozen=True, gc=False):
    """A match that was made, with the tickets that it took.

    Args:
        match: The match.
        tickets: As they were, in the order of its own; None where one was not heard of.
        waits: Of the tickets that were heard of: seconds, and players.
        record: Number of the record that made it.
        was_proposed: Its players were asked for acceptance first.
    """

    match: Match
    tickets: tuple[LiveTicket | None, ...]
    waits: tuple[tuple[float, int], ...]
    record: int
    was_proposed: bool


class LifecycleView:
    """The hooks that a view may define; those that it leaves out cost nothing."""

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Start over: all that the engine knows is durable, and these tickets are live."""

    def heard(self, record: Record) -> None:
        """Take note of a record, before the hooks for its events."""

    def configured(
        self, record: Record, configuration: Configure, live: Collection[LiveTicket]
    ) -> None:
        """Take note of new queues; tickets that this ends have hooks of their own."""

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Take note of a new ticket."""

    def updated(self, record: Record, row: LiveTicket) -> None:
        """Take note of a ticket's newer attributes or places."""

    def left_queue(self, record: Record, row: LiveTicket, queue: str) -> None:
        """Take note that a ticket left one queue; `row` has the queues in which it still waits."""

    def proposed(self, record: Record, match: Match) -> None:
        """Take note of a proposal; `asked` follows for each of its tickets."""

    def repaired(self, record: Record, match: Match) -> None:
        """Take note that a proposal is full again; `asked` follows for those who joined."""

    def asked(self, record: Record, row: LiveTicket, queue: str) -> None:
        """Take note that a ticket is in a proposal of this queue; meanwhile it waits in none."""

    def dissolved(self, record: Record, event: Dissolved, queue: str) -> None:
        """Take note that a proposal came to nothing; `released` follows for its tickets."""

    def released(self, record: Record, row: LiveTicket) -> None:
        """Take note that a ticket of a proposal waits again."""

    def penalised(self, record: Record, event: Penalised, queue: str) -> None:
        """Take note of a player who failed a ready-check of this queue."""

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        """Take note of a match; its tickets are no longer live."""

    def settled(self, record: Record, made: MatchWithTickets) -> None:
        """Take note that a match cannot be voided any more; most matches never can."""

    def voided(self, record: Record, event: Voided, made: list[MatchWithTickets]) -> None:
        """Take back a voided match and its fills; `returned` follows for its tickets.

        `made` lacks matches that were made before the view began.
        """

    def returned(self, record: Record, row: LiveTicket) -> None:
        """Take note that a ticket of a voided match waits again, with its old age."""

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        """Take note that a ticket ended without a match."""

    def told(self, record: Record, event: Event) -> None:
        """Take note of an event that concerns no live ticket."""


Fold = Callable[[Record, Any], None]


class TicketLifecycle:
    """Follows durable records, and tells views what happens to tickets.

    Args:
        views: In the order in which they are told.

    Complexity:
        O(1) an event and a ticket of it, and what the views that want to hear of it do.
    """

    def __init__(self, views: Iterable[LifecycleView]) -> None:
        self.live: dict[str, LiveTicket] = {}
        self._tables: Tables | None = None
        self._first_queue = ""
        self._voidable: VoidableMatches[MatchWithTickets] = VoidableMatches()
        # The queue of each proposal, and of the one that the last cancelled ticket was in.
        self._proposals: dict[str, str] = {}
        self._blamed_in = ""
        views = tuple(views)
        self._hooks = {
            name: tuple([getattr(view, name) for view in views if _wants(view, name)])
            for name in vars(LifecycleView)
            if not name.startswith("_")
        }
        self._heard, self._entered = self._hooks["heard"], self._hooks["entered"]
        self._matched = self._hooks["matched"]
        self._folds: dict[type, Fold] = {
            Configured: self._configure,
            Accepted: self._accept,
            Updated: self._update,
            LeftQueue: self._leave_queue,
            Proposed: self._propose,
            Repaired: self._repair,
            Dissolved: self._dissolve,
            Penalised: self._penalise,
            Matched: self._match,
            Voided: self._void,
            Cancelled: self._cancel,
            Expired: self._end,
            Assigned: self._settle,
            Finished: self._settle,
        }

    def reset(self, engine: Engine) -> None:
        """Start over: everything in the engine's tables is durable."""
        tables = self._tables = engine.tables
        self.start(tables.waiting.values(), tables.queues.values())
        self._proposals = {key: row.match.queue for key, row in tables.proposals.items()}
        self._tell("began", engine, self.live.values())

    def start(self, rows: Iterable[LiveTicket], queues: Iterable[Queue]) -> None:
        """Take over the live tickets and the queues, without telling the views."""
        configured = list(queues)
        self.live = {row.ticket.id: row for row in rows}
        self._first_queue = configured[0].name if configured else ""
        self._voidable.configure(configured)

    def hear(self, record: Record) -> None:
        """Fold a durable record."""
        for hook in self._heard:
            hook(record)
        for event in record.events:
            fold = self._folds.get(type(event))
            if fold is None:
                self._tell("told", record, event)
            else:
                fold(record, event)

    def _tell(self, what: str, *said: Any) -> None:
        for hook in self._hooks[what]:
            hook(*said)

    def _configure(self, record: Record, event: Configured) -> None:
        del event
        input_ = record.input
        assert isinstance(input_, Configure)
        self._first_queue = input_.queues[0].name
        self._voidable.configure(input_.queues)
        self._tell("configured", record, input_, self.live.values())

    def _accept(self, record: Record, event: Accepted) -> None:
        present = self._row(event.ticket)
        ticket = self._accepted(record, event) if present is None else present.ticket
        row = self.live[event.ticket] = LiveTicket(ticket, ticket.queues, record.sequence)
        for hook in self._entered:
            hook(record, row)

    def _accepted(self, record: Record, event: Accepted) -> Ticket:
        """Return an accepted ticket which the engine does not have among the live any more.

        It lacks whom its players met before; only the engine knew.
        """
        input_ = record.input
        assert isinstance(input_, Enqueue)
        new = input_.tickets[event.item]
        if event.ratings or event.defaults:
            new = accepted_ticket(new, event)
        places = {key: placed.places for key, placed in event.percentiles.items()}
        queues = new.queues or (self._first_queue,)
        return Ticket(
            event.ticket, event.sequence, input_.now, new.players, queues, new.attributes, places
        )

    def _row(self, ticket_id: str) -> LiveTicket | None:
        """Return what the engine has of a ticket; memory may be ahead of the record."""
        return None if self._tables is None else self._tables.waiting.get(ticket_id)

    def _update(self, record: Record, event: Updated) -> None:
        row, newer = self.live.get(event.ticket), self._row(event.ticket)
        if row is None:
            return
        if newer is not None:
            ticket = newer.ticket
        elif isinstance(record.input, Update):
            # The engine has matched or ended it since, perhaps because of this very update.
            ticket = refreshed(row.ticket, record.input, event.percentiles)
        else:
            return
        self._tell("updated", record, self._change(record, row, ticket=ticket))

    def _change(self, record: Record, row: LiveTicket, **changes: Any) -> LiveTicket:
        row = msgspec.structs.replace(row, changed=record.sequence, **changes)
        self.live[row.ticket.id] = row
        return row

    def _leave_queue(self, record: Record, event: LeftQueue) -> None:
        row = self.live.get(event.ticket)
        if row is not None and event.queue in row.queues:
            queues = tuple([name for name in row.queues if name != event.queue])
            row = self._change(record, row, queues=queues)
            self._tell("left_queue", record, row, event.queue)

    def _propose(self, record: Record, event: Proposed) -> None:
        self._proposals[event.match.id] = event.match.queue
        self._tell("proposed", record, event.match)
        self._ask(record, event.match, event.match.tickets)

    def _repair(self, record: Record, event: Repaired) -> None:
        self._tell("repaired", record, event.match)
        self._ask(record, event.match, event.joined)

    def _ask(self, record: Record, match: Match, tickets: Iterable[str]) -> None:
        for ticket_id in tickets:
            row = self.live.get(ticket_id)
            if row is not None:
                row = self._change(record, row, match=match.id)
                self._tell("asked", record, row, match.queue)

    def _dissolve(self, record: Record, event: Dissolved) -> None:
        self._tell("dissolved", record, event, self._proposals.pop(event.match, ""))
        for ticket_id in event.tickets:
            row = self.live.get(ticket_id)
            if row is not None:
                self._tell("released", record, self._change(record, row, match=None))

    def _penalise(self, record: Record, event: Penalised) -> None:
        # It follows the cancel of its ticket.
        if self._blamed_in:
            self._tell("penalised", record, event, self._blamed_in)

    def _match(self, record: Record, event: Matched) -> None:
        match = event.match
        was_proposed = self._proposals.pop(match.id, None) is not None
        rows, waits = [], []
        for ticket_id in match.tickets:
            row = self.live.pop(ticket_id, None)
            rows.append(row)
            if row is not None:
                waits.append((match.at - row.ticket.enqueued_at, len(row.ticket.players)))
        made = MatchWithTickets(match, tuple(rows), tuple(waits), record.sequence, was_proposed)
        for hook in self._matched:
            hook(record, made)
        for settled in self._voidable.keep(match, made):
            self._tell("settled", record, settled)

    def _settle(self, record: Record, event: Assigned | Finished) -> None:
        for made in self._voidable.settle(event):
            self._tell("settled", record, made)
        self._tell("told", record, event)

    def _void(self, record: Record, event: Voided) -> None:
        self._tell("voided", record, event, self._voidable.take_back(event))
        for ticket in event.tickets:
            row = self.live[ticket.id] = LiveTicket(ticket, ticket.queues, record.sequence)
            self._tell("returned", record, row)

    def _cancel(self, record: Record, event: Cancelled) -> None:
        self._blamed_in = self._proposals.get(event.match or "", "")
        self._end(record, event)

    def _end(self, record: Record, event: Cancelled | Expired) -> None:
        row = self.live.pop(event.ticket, None)
        if row is not None:
            self._tell("ended", record, row, event)


def _wants(view: LifecycleView, name: str) -> bool:
    """Return whether a view defines a hook itself."""
    return getattr(type(view), name) is not getattr(LifecycleView, name)
