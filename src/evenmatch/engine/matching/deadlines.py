"""Deadlines of tickets and matches: a heap whose dead entries are dropped when they surface."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sized
from itertools import chain
from typing import Protocol

import numpy as np

from evenmatch.criteria.objective import Seating
from evenmatch.engine.matching.pool import Pool
from evenmatch.model.ticket import Ticket

Entry = tuple[float, int, int, str, str]
"""(instant, sequence, place of the queue, id of the ticket or match, name of the queue)."""


class TimerSource(Protocol):
    """Something that makes the engine wake up."""

    @property
    def pending(self) -> Sized:
        """Return what it waits for, always the same object; while empty, `next` is not asked."""
        ...

    def next(self) -> float:
        """Return the first instant that counts; inf if there is none."""


class Deadlines:
    """Instants in order; entries whose owner is gone are skipped.

    Args:
        is_alive: Whether an entry still counts.
    """

    def __init__(self, is_alive: Callable[[Entry], bool]) -> None:
        self._is_alive = is_alive
        self.pending: list[Entry] = []
        self._compact_at = 1024

    def add(self, entry: Entry) -> None:
        """Put an entry in.

        Complexity:
            O(log n); dead entries are swept out whenever the heap has doubled, and so are those of
            which there are several: a ticket that came back may have its old one here, too.
        """
        heapq.heappush(self.pending, entry)
        if len(self.pending) > self._compact_at:
            self.pending[:] = [item for item in dict.fromkeys(self.pending) if self._is_alive(item)]
            heapq.heapify(self.pending)
            self._compact_at = max(1024, 2 * len(self.pending))

    def next(self) -> float:
        """Return the first instant that counts; inf if there is none."""
        heap = self.pending
        while heap:
            if self._is_alive(heap[0]):
                return heap[0][0]
            heapq.heappop(heap)
        return math.inf

    def due(self, now: float) -> list[Entry]:
        """Return the entries up to `now` that count, in order, and leave them where they are.

        Complexity:
            O(d log d) in entries up to `now`: no entry of a heap is earlier than its parent.
        """
        heap, found, places = self.pending, [], [0]
        for place in places:
            if place < len(heap) and heap[place][0] <= now:
                found.append(heap[place])
                places += (2 * place + 1, 2 * place + 2)
        return sorted([entry for entry in found if self._is_alive(entry)])

    def take_due(self, now: float) -> list[Entry]:
        """Take out and return the entries up to `now` that count, in order."""
        found: list[Entry] = []
        while self.pending and self.next() <= now:
            found.append(heapq.heappop(self.pending))
        return found

    def clear(self) -> None:
        """Forget all entries."""
        self.pending.clear()

    def put_back(self, entries: list[Entry]) -> None:
        """Make entries that were taken out due again."""
        for entry in entries:
            heapq.heappush(self.pending, entry)


# The generic search at a deadline: who else plays with an overdue ticket, and how many bots.

Filled = tuple[list[Ticket], Seating, int]
"""Tickets by age, their division, and the number of bots."""


def fill_at_deadline(
    pool: Pool,
    overdue: Ticket,
    now: float,
    is_barred: Callable[[list[Ticket]], bool] = lambda _: False,
) -> Filled | None:
    """Seat an overdue ticket with the longest waiting tickets that may play with it.

    Tickets are taken as long as there are seats. Bots come in where the queue has them, and no
    more of them than the smallest match needs; where the queue lets tickets expire, a match that
    may start before it is full is made only without them.

    Args:
        pool: The queue's pool.
        overdue: The ticket.
        now: The present instant.
        is_barred: Whether just these tickets may not play together now; beside others they may.

    Returns:
        The match; None if the queue has no such way out, or if nothing makes the match legal.

    Complexity:
        O(n) in columns for the first n tickets of the pool, `LOOK_AT_MOST` of them at the most;
        then O(m k) questions to the rules for the m of them that may play with the overdue one.
    """
    has_bots = pool.queue.on_deadline == "bots"
    if not has_bots and not pool.queue.format.is_variable:
        return None
    chosen = [overdue]
    found = seat_with_bots(pool, chosen, now)
    if found is None:
        return None
    seating, bots = found
    ready_at = pool.objective.rules.pair_ready_at
    room = pool.queue.format.k - overdue.size
    # Those who made a barred set: once somebody else has joined, they may.
    shunned: list[Ticket] = []
    for ticket in chain(ready_beside(pool, overdue, now), shunned):
        if room == 0:
            break
        if ticket.size > room or ticket.id == overdue.id or ticket.id in pool.delayed_until:
            continue
        if any(ready_at(other, ticket) > now for other in chosen):
            continue
        larger = sorted([*chosen, ticket], key=lambda t: t.age_key)
        if is_barred(larger):
            if ticket not in shunned:
                shunned.append(ticket)
        elif (found := seat_with_bots(pool, larger, now)) is not None:
            chosen, room = larger, room - ticket.size
            seating, bots = found
    if (bots and not has_bots) or (len(chosen) == 1 and is_barred(chosen)):
        return None
    return chosen, seating, bots


def ready_beside(pool: Pool, overdue: Ticket, now: float) -> list[Ticket]:
    """Return the longest waiting tickets without those that may not play with this one yet.

    Columns say that of all at once, and are never too late. Asking the rules about each would cost
    seconds where many deadlines come together and hardly anybody fits.
    """
    among = pool.columns.oldest(pool.tickets)
    early = pool.pairs.ready_at(among.pairs, np.array([pool.pairs.row(overdue)]).T)
    return [among.tickets[place] for place in np.flatnonzero(early <= now).tolist()]


def seat_with_bots(pool: Pool, tickets: list[Ticket], now: float) -> tuple[Seating, int] | None:
    """Return a division that is legal now, with as few bots as it takes; None if there is none."""
    form = pool.queue.format
    players = sum([ticket.size for ticket in tickets])
    for bots in range(max(0, form.k_min - players), form.k - players + 1):
        seating = pool.objective.seat(tickets, bots, now)
        if seating is not None:
            return (seating, bots) if seating.ready_at <= now else None
    return None
