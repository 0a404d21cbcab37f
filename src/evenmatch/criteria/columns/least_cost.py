"""The least cost of a match once another ticket joins it, for whole columns of matches.

A `spread` never shrinks when a ticket joins. Other criteria may change in either direction with
more players, so they count as nothing.
"""

from __future__ import annotations

import numpy as np

from evenmatch.criteria.base import NumberGap
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import number_gap_of
from evenmatch.criteria.scales import Floats, scale_gaps
from evenmatch.criteria.values import scaled_numbers
from evenmatch.model.ticket import Ticket

SLACK = 1e-9
"""Largest difference by rounding between two ways to compute the same cost."""


class LeastCost:
    """Lower bounds on a queue's criteria.

    Args:
        objective: The queue's.
    """

    def __init__(self, objective: Objective) -> None:
        queue, self._objective = objective.queue, objective
        pairs = zip(queue.criteria, objective.weights, strict=True)
        self._queue = queue.name
        self._terms = [
            (each, weight) for each, weight in pairs if number_gap_of(each) is NumberGap.WIDEST
        ]
        self.columns = 2 * len(self._terms)

    def row(self, ticket: Ticket) -> tuple[float, ...]:
        """Return the least and the largest value of a ticket for each criterion with a bound."""
        found: list[float] = []
        for criterion, _ in self._terms:
            values = scaled_numbers(criterion, self._queue, ticket)
            found += [min(values), max(values)]
        return tuple(found)

    def joined(self, rows: Floats) -> Floats:
        """Return the row of a match whose tickets have these rows.

        Args:
            rows: Shape (columns, tickets).
        """
        low, high = rows[0::2].min(axis=1), rows[1::2].max(axis=1)
        return np.stack([low, high], axis=1).ravel()

    def of(self, some: Floats, others: Floats) -> tuple[Floats, Floats]:
        """Return the least cost and the largest quality of matches with one more ticket.

        Args:
            some: Rows of matches; the first axis is that of a row's numbers.
            others: Rows of tickets; the other axes broadcast.

        Returns:
            Cost and quality; the quality is 1 or more if the criteria give no bound.
        """
        cost: Floats = np.zeros(())
        scaled: Floats = cost
        for number, (criterion, weight) in enumerate(self._terms):
            low, high = 2 * number, 2 * number + 1
            gaps = np.maximum(some[high], others[high]) - np.minimum(some[low], others[low])
            least = weight * scale_gaps(criterion.scale, gaps)
            cost = cost + least
            if criterion.scale.kind != "none":
                scaled = scaled + least
        if not self._terms:
            cost = np.zeros(np.broadcast_shapes(some.shape[1:], others.shape[1:]))
        known = self._objective.quality(scaled)
        quality: Floats = np.asarray(1.0 if known is None else known)
        if quality.shape != cost.shape:
            quality = np.full(cost.shape, quality)
        return cost - SLACK * (1.0 + cost), quality + SLACK
