"""Sums of what became of tickets, folded from records, which compare a policy with its shadow.

The live world, a shadow's, and those of a replay are counted by the same code. A match that is
called off is taken out of the sums again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import msgspec

from evenmatch.engine.lifecycle import LifecycleView, MatchWithTickets, TicketLifecycle
from evenmatch.engine.records import Record
from evenmatch.engine.state.rosters import remove_last
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.model.events import Cancelled, Expired, Voided
from evenmatch.model.queue import Queue


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


class Ledger(LifecycleView):
    """The sums of all queues, of the live engine or of a shadow.

    Args:
        rows: The tickets that wait at the start.
        queues: As they are configured at the start.
        waits_most: Players whose waits are kept, the last ones; None keeps all.
    """

    def __init__(
        self, rows: Iterable[LiveTicket], queues: Iterable[Queue], *, waits_most: int | None = None
    ) -> None:
        self._queues: dict[str, Sums] = {}
        self._waits_most = waits_most
        self._lifecycle = TicketLifecycle([self])
        self._lifecycle.start(rows, queues)
        for row in self._lifecycle.live.values():
            for name in row.queues:
                self._count(row, name, 1)

    def hear(self, record: Record) -> None:
        """Fold a record."""
        self._lifecycle.hear(record)

    def of(self, queue: str) -> Sums:
        """Return the sums of a queue."""
        sums = self._queues.get(queue)
        if sums is None:
            sums = self._queues[queue] = Sums(deque(maxlen=self._waits_most))
        return sums

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Count a ticket that waits in its queues."""
        del record
        for name in row.queues:
            self._count(row, name, 1)

    def returned(self, record: Record, row: LiveTicket) -> None:
        """Count a ticket again whose match was called off."""
        self.entered(record, row)

    def left_queue(self, record: Record, row: LiveTicket, queue: str) -> None:
        """Stop counting a ticket in a queue."""
        del record
        self._count(row, queue, -1)

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        """Stop counting a ticket, and count an expiry."""
        del record
        for name in row.queues:
            self._count(row, name, -1)
            self.of(name).expired += type(event) is Expired

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        """Count a match and the waits of its players."""
        del record
        for row in made.tickets:
            if row is not None:
                for name in row.queues:
                    self._count(row, name, -1)
        sums = self._add(made, 1)
        for wait, size in made.waits:
            sums.waits.extend([wait] * size)

    def voided(self, record: Record, event: Voided, made: list[MatchWithTickets]) -> None:
        """Take a voided match and its fills out of the sums."""
        del record, event
        for each in made:
            sums = self._add(each, -1)
            for wait, size in each.waits:
                for _ in range(size):
                    remove_last(sums.waits, wait)

    def _add(self, made: MatchWithTickets, sign: int) -> Sums:
        """Add a match to the sums of its queue, or take it away."""
        match, sums = made.match, self.of(made.match.queue)
        sums.matches += sign
        sums.bots += sign * match.bots
        if match.quality is not None:
            sums.rated += sign
            sums.quality += sign * match.quality
        for wait, size in made.waits:
            sums.players += sign * size
            sums.wait += sign * wait * size
        return sums

    def _count(self, row: LiveTicket, queue: str, by: int) -> None:
        sums = self.of(queue)
        sums.waiting += by
        sums.entered += by * row.ticket.enqueued_at
