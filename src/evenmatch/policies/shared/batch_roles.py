"""What each player costs in each role: the criterion `role_rank`, and which roles they take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenmatch.criteria.roles import ranks_of
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.solvers.teams.batch import Ints, Singles

ROWS_FIRST = 64
TRACE = 1e-9
"""A weight that changes no quality but lets a rule count ranks that no criterion weighs."""


class RoleFacts:
    """The roles of a queue, and its criterion that looks at them.

    A rank costs its share of the criterion's mean over a full match; where no criterion weighs
    roles all that a player accepts cost nothing.

    Args:
        queue: The queue.
        shares: Weight of each criterion as a part of all weights.
    """

    def __init__(self, queue: Queue, shares: Sequence[float]) -> None:
        form = queue.format
        self._roles = form.roles
        self.seats: Ints = np.array([count for _, count in form.roles], dtype=np.int64)
        each = zip(queue.criteria, shares, strict=True)
        share = sum(weight for criterion, weight in each if criterion.kind == "role_rank")
        if not share and any(rule.kind == "role_rank" for rule in queue.rules):
            share = TRACE
        self.rank_share = share
        self._per_rank = share / (form.k * max(1, len(form.roles) - 1))
        self._costs: Singles = np.zeros((ROWS_FIRST, len(form.roles)), dtype=np.float32)

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        more = np.zeros((size - len(self._costs), len(self._roles)), dtype=np.float32)
        self._costs = np.vstack([self._costs, more])

    def write(self, ticket: Ticket, rows: Sequence[int]) -> None:
        """Write what a party's players make of the roles into its rows."""
        for row, player in zip(rows, ticket.players, strict=True):
            ranks = ranks_of(player, self._roles)
            # Without a weight, a role that is not accepted would cost inf * 0, which is no number.
            self._costs[row] = [r if r == np.inf else r * self._per_rank for r in ranks]

    def costs(self, rows: Ints) -> Singles:
        """Return `Batch.role_cost` of the players of some rows."""
        return np.ascontiguousarray(self._costs[rows])
