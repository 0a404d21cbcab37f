"""The generic search: who else plays with an overdue ticket, and how many bots it takes."""

from __future__ import annotations

from evenmatch.cost.objective import Seating
from evenmatch.engine.pool import Pool
from evenmatch.model.ticket import Ticket

LOOK_AT_MOST = 1_000
"""Waiting tickets that are considered for one overdue ticket."""


def fill_with_bots(
    pool: Pool, overdue: Ticket, now: float
) -> tuple[list[Ticket], Seating, int] | None:
    """Seat an overdue ticket with the longest waiting tickets that may play with it, and bots.

    Returns:
        The tickets by age, their division and the number of bots; None if not even bots make
        it legal.

    Complexity:
        O(n k) for the first `LOOK_AT_MOST` tickets of the pool.
    """
    k = pool.queue.format.k
    chosen = [overdue]
    seating = pool.objective.seat(chosen, bots=k - overdue.size, now=now)
    if seating is None or seating.ready_at > now:
        return None
    ready_at = pool.objective.rules.pair_ready_at
    room = k - overdue.size
    for looked, ticket in enumerate(pool.tickets.values()):
        if room == 0 or looked >= LOOK_AT_MOST:
            break
        if ticket.size > room or ticket.id == overdue.id:
            continue
        if any(ready_at(other, ticket) > now for other in chosen):
            continue
        larger = sorted([*chosen, ticket], key=lambda t: t.age_key)
        found = pool.objective.seat(larger, bots=room - ticket.size, now=now)
        if found is not None and found.ready_at <= now:
            chosen, seating, room = larger, found, room - ticket.size
    return chosen, seating, room
