"""A set of waiting tickets as a match that could be, by the objective that the engine asks."""

from __future__ import annotations

import math
from collections.abc import Iterable

from evenmatch.explain.waiting_table import TraitTable
from evenmatch.model.explanation import Prospect


def prospect_of(
    crowd: TraitTable, rows: Iterable[int], now: float, *, is_exact: bool
) -> Prospect | None:
    """Return the match that tickets make, divided as the engine would; None if they make none.

    Args:
        crowd: The table.
        rows: Places of the tickets.
        now: The instant; a division that is legal now is preferred, else the one that is first.
        is_exact: As the prospect says of itself.
    """
    tickets = sorted((crowd.tickets[row] for row in rows), key=lambda ticket: ticket.age_key)
    objective = crowd.objective
    seating = objective.seat(tickets, now=now)
    if seating is None or seating.ready_at == math.inf:
        return None
    return Prospect(
        at=seating.ready_at,
        tickets=tuple([ticket.id for ticket in tickets]),
        teams=tuple([tuple([ticket.id for ticket in team]) for team in seating.teams]),
        quality=seating.quality,
        cost=objective.cost(seating, 0, max(now, seating.ready_at)),
        criteria_cost=seating.criteria_cost,
        is_exact=is_exact,
    )
