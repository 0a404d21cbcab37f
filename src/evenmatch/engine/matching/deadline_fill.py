"""The generic search at a deadline: who else plays with an overdue ticket, and how many bots."""

from __future__ import annotations

from evenmatch.criteria.objective import Seating
from evenmatch.engine.matching.pool import Pool
from evenmatch.model.ticket import Ticket

LOOK_AT_MOST = 1_000
"""Waiting tickets that are considered for one overdue ticket."""

Filled = tuple[list[Ticket], Seating, int]
"""Tickets by age, their division, and the number of bots."""


def fill_at_deadline(pool: Pool, overdue: Ticket, now: float) -> Filled | None:
    """Seat an overdue ticket with the longest waiting tickets that may play with it.

    Tickets are taken as long as there are seats. Bots come in where the queue has them, and no
    more of them than the smallest match needs; where the queue lets tickets expire, a match that
    may start before it is full is made only without them.

    Returns:
        The match; None if the queue has no such way out, or if nothing makes the match legal.

    Complexity:
        O(n k) for the first `LOOK_AT_MOST` tickets of the pool.
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
    for looked, ticket in enumerate(pool.tickets.values()):
        if room == 0 or looked >= LOOK_AT_MOST:
            break
        if ticket.size > room or ticket.id == overdue.id or ticket.id in pool.delayed:
            continue
        if any(ready_at(other, ticket) > now for other in chosen):
            continue
        larger = sorted([*chosen, ticket], key=lambda t: t.age_key)
        found = seat_with_bots(pool, larger, now)
        if found is not None:
            chosen, room = larger, room - ticket.size
            seating, bots = found
    return (chosen, seating, bots) if has_bots or not bots else None


def seat_with_bots(pool: Pool, tickets: list[Ticket], now: float) -> tuple[Seating, int] | None:
    """Return a division that is legal now, with as few bots as it takes; None if there is none."""
    form = pool.queue.format
    players = sum([ticket.size for ticket in tickets])
    for bots in range(max(0, form.k_min - players), form.k - players + 1):
        seating = pool.objective.seat(tickets, bots, now)
        if seating is not None:
            return (seating, bots) if seating.ready_at <= now else None
    return None
