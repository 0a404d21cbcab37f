"""Who else could take the free seats of a proposal, so that the others need not start over.

Only the free seats are filled: whoever is seated stays. Candidates most like those who left are
looked at first, since they change the match least; a limit on evaluations keeps a repair cheap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from statistics import fmean

import msgspec

from evenmatch.cost.objective import Seating
from evenmatch.engine.pool import Pool
from evenmatch.model.queue import NUMERIC
from evenmatch.model.ticket import Ticket, attribute_of

LOOK_AT_MOST = 1_000
"""Waiting tickets that are compared with those who left."""
SEATINGS_MOST = 16
"""Divisions into teams that one search evaluates, and candidates that may come next."""

Found = tuple[list[Ticket], Seating]
"""All tickets of the match by age, and their division."""


class Vacancy(msgspec.Struct, frozen=True, gc=False):
    """Free seats of a match.

    Args:
        seated: The tickets that stay.
        left: Those who left.
        free: Free seats.
        bots: Seats that computer players fill.
        quality_min: The least that the match may be worth; None where quality is not known.
    """

    seated: tuple[Ticket, ...]
    left: tuple[Ticket, ...]
    free: int
    bots: int = 0
    quality_min: float | None = None


def find_replacements(
    pool: Pool, vacancy: Vacancy, candidates: Iterable[Ticket], now: float
) -> Found | None:
    """Return the cheapest match found that fills the seats, is legal now and good enough.

    Args:
        pool: The queue's pool.
        vacancy: The seats.
        candidates: Waiting tickets, longest waiting first.
        now: The present instant.

    Complexity:
        O(n criteria + k log n) for n candidates, at most `LOOK_AT_MOST`, and `SEATINGS_MOST`
        divisions into teams; 4 to 15 ms in 5v5.
    """
    small = [
        ticket
        for _, ticket in zip(range(LOOK_AT_MOST), candidates, strict=False)
        if ticket.size <= vacancy.free
    ]
    if len(small) > SEATINGS_MOST:
        small = _most_alike(pool, vacancy.left, small)
    may_join = (ticket for ticket in small if _may_join(pool, vacancy.seated, ticket, now))
    fitting = list(islice(may_join, SEATINGS_MOST + vacancy.free))
    best: Found | None = None
    for first in range(min(len(fitting), SEATINGS_MOST)):
        joining = _filled(pool, vacancy.free, fitting[first:], now)
        if joining is None:
            continue
        tickets = sorted([*vacancy.seated, *joining], key=lambda ticket: ticket.age_key)
        seating = pool.objective.seat(tickets, vacancy.bots, now)
        if seating is None or not _is_good(seating, vacancy, now):
            continue
        if best is None or seating.criteria_cost < best[1].criteria_cost:
            best = tickets, seating
    return best


def without_them(pool: Pool, vacancy: Vacancy, now: float) -> Found | None:
    """Return the match that those who stay make alone, where it may start before it is full."""
    if not pool.queue.format.is_variable or not vacancy.seated:
        return None
    tickets = sorted(vacancy.seated, key=lambda ticket: ticket.age_key)
    seating = pool.objective.seat(tickets, vacancy.bots, now)
    if seating is None or not _is_good(seating, vacancy, now):
        return None
    return tickets, seating


def _is_good(seating: Seating, vacancy: Vacancy, now: float) -> bool:
    if seating.ready_at > now:
        return False
    least, quality = vacancy.quality_min, seating.quality
    return least is None or quality is None or quality >= least


def _may_join(pool: Pool, others: Sequence[Ticket], ticket: Ticket, now: float) -> bool:
    ready_at = pool.objective.rules.pair_ready_at
    return all(ready_at(other, ticket) <= now for other in others)


def _filled(pool: Pool, free: int, candidates: Sequence[Ticket], now: float) -> list[Ticket] | None:
    """Return tickets that take exactly the free seats: the first candidate, then who fits next."""
    joining: list[Ticket] = []
    for ticket in candidates:
        if ticket.size <= free and _may_join(pool, joining, ticket, now):
            joining.append(ticket)
            free -= ticket.size
            if free == 0:
                return joining
    return None


def _most_alike(pool: Pool, left: Sequence[Ticket], candidates: list[Ticket]) -> list[Ticket]:
    """Return candidates, those first who are most like the tickets that left."""
    if not left:
        return candidates
    compared = [each.attribute for each in pool.queue.criteria if each.kind in NUMERIC]
    compared += [each.attribute for each in pool.queue.rules if each.kind in NUMERIC]
    roles = {role for ticket in left for player in ticket.players for role in player.roles}
    strangeness = [0.0] * len(candidates)
    for attribute in dict.fromkeys(compared):
        wanted = fmean([_mean(ticket, attribute) for ticket in left])
        gaps = [abs(_mean(ticket, attribute) - wanted) for ticket in candidates]
        widest = max(gaps) or 1.0
        for at, gap in enumerate(gaps):
            strangeness[at] += gap / widest
    if roles:
        for at, ticket in enumerate(candidates):
            if not any(role in roles for player in ticket.players for role in player.roles):
                strangeness[at] += math.inf
    order = sorted(range(len(candidates)), key=strangeness.__getitem__)
    return [candidates[at] for at in order]


def _mean(ticket: Ticket, attribute: str) -> float:
    """Return the mean of a number over a ticket's players; 0 where it is none."""
    values = [attribute_of(ticket, player, attribute) for player in ticket.players]
    return fmean([value if isinstance(value, float | int) else 0.0 for value in values])
