"""What became of tickets, folded from records into sums: a policy and its shadow are compared so.

The live world, a shadow's, and those of a replay are counted by the same code. A match that is
called off is taken out of the sums again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import msgspec

from evenmatch.engine.records import Record
from evenmatch.engine.state.rosters import VoidableMatches, remove_last
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.model.events import (
    Accepted,
    Cancelled,
    Configured,
    Event,
    Expired,
    LeftQueue,
    Matched,
    Voided,
)
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue


class _WaitingTicket(msgspec.Struct, frozen=True, gc=False):
    queues: tuple[str, ...]
    enqueued_at: float
    size: int


class Sums(msgspec.Struct):
    """The figures of one queue.

    Args:
        waits: Of the players matched last, in seconds, as many as the ledger keeps.
        waiting: Tickets that wait now.
        entered: The sum of their `enqueued_at`, so that their mean age costs no walk.
        matches: Matches made.
        bots: Seats filled by computer players.
        players: Players matched.
        wait: The sum of their waits, seconds.
        rated: Matches that have a quality.
        quality: Its sum.
        expired: Tickets that ended without a match.
    """

    waits: deque[float]
    waiting: int = 0
    entered: float = 0.0
    matches: int = 0
    bots: int = 0
    players: int = 0
    wait: float = 0.0
    rated: int = 0
    quality: float = 0.0
    expired: int = 0


class _CountedMatch(msgspec.Struct, frozen=True, gc=False):
    """What a match added to the sums of its queue: the match, and (wait, players) of tickets."""

    match: Match
    waits: tuple[tuple[float, int], ...]


class Ledger:
    """The sums of all queues of one world.

    Args:
        rows: The tickets that wait at the start.
        queues: As they are configured at the start.
        waits_most: Players whose waits are kept, the last ones; None keeps all.
    """

    def __init__(
        self, rows: Iterable[LiveTicket], queues: Iterable[Queue], *, waits_most: int | None = None
    ) -> None:
        configured = list(queues)
        self._queues: dict[str, Sums] = {}
        self._known: dict[str, _WaitingTicket] = {}
        self._recall: VoidableMatches[_CountedMatch] = VoidableMatches(configured)
        self._first_queue = configured[0].name if configured else ""
        self._waits_most = waits_most
        for row in rows:
            ticket = row.ticket
            self._enter(ticket.id, _WaitingTicket(row.queues, ticket.enqueued_at, ticket.size))

    def hear(self, record: Record) -> None:
        """Fold a record."""
        for event in record.events:
            self._fold(record, event)

    def of(self, queue: str) -> Sums:
        """Return the sums of a queue."""
        sums = self._queues.get(queue)
        if sums is None:
            sums = self._queues[queue] = Sums(deque(maxlen=self._waits_most))
        return sums

    def _fold(self, record: Record, event: Event) -> None:
        if isinstance(event, Accepted):
            assert isinstance(record.input, Enqueue)
            new = record.input.tickets[event.item]
            queues = new.queues or (self._first_queue,)
            self._enter(event.ticket, _WaitingTicket(queues, record.input.now, len(new.players)))
        elif isinstance(event, Matched):
            self._match(event.match)
        elif isinstance(event, Expired):
            for name in self._leave(event.ticket):
                self.of(name).expired += 1
        elif isinstance(event, Cancelled):
            self._leave(event.ticket)
        elif isinstance(event, LeftQueue):
            self._leave_queue(event.ticket, event.queue)
        elif isinstance(event, Voided):
            for counted in self._recall.take_back(event):
                self._take_back(counted)
            for ticket in event.tickets:
                known = _WaitingTicket(ticket.queues, ticket.enqueued_at, ticket.size)
                self._enter(ticket.id, known)
        elif isinstance(event, Configured):
            assert isinstance(record.input, Configure)
            self._first_queue = record.input.queues[0].name
            self._recall.configure(record.input.queues)
        else:
            self._recall.settle(event)

    def _match(self, match: Match) -> None:
        sums = self.of(match.queue)
        sums.matches += 1
        sums.bots += match.bots
        if match.quality is not None:
            sums.rated += 1
            sums.quality += match.quality
        waits = []
        for ticket_id in match.tickets:
            known = self._known.get(ticket_id)
            if known is None:
                continue
            self._leave(ticket_id)
            wait = match.at - known.enqueued_at
            sums.players += known.size
            sums.wait += wait * known.size
            sums.waits.extend([wait] * known.size)
            waits.append((wait, known.size))
        self._recall.keep(match, _CountedMatch(match, tuple(waits)))

    def _take_back(self, counted: _CountedMatch) -> None:
        match, sums = counted.match, self.of(counted.match.queue)
        sums.matches -= 1
        sums.bots -= match.bots
        if match.quality is not None:
            sums.rated -= 1
            sums.quality -= match.quality
        for wait, size in counted.waits:
            sums.players -= size
            sums.wait -= wait * size
            for _ in range(size):
                remove_last(sums.waits, wait)

    def _enter(self, ticket_id: str, known: _WaitingTicket) -> None:
        self._known[ticket_id] = known
        for name in known.queues:
            sums = self.of(name)
            sums.waiting += 1
            sums.entered += known.enqueued_at

    def _leave(self, ticket_id: str) -> tuple[str, ...]:
        known = self._known.pop(ticket_id, None)
        if known is None:
            return ()
        for name in known.queues:
            sums = self.of(name)
            sums.waiting -= 1
            sums.entered -= known.enqueued_at
        return known.queues

    def _leave_queue(self, ticket_id: str, queue: str) -> None:
        known = self._known.get(ticket_id)
        if known is not None and queue in known.queues:
            queues = tuple([name for name in known.queues if name != queue])
            self._known[ticket_id] = msgspec.structs.replace(known, queues=queues)
            sums = self.of(queue)
            sums.waiting -= 1
            sums.entered -= known.enqueued_at
