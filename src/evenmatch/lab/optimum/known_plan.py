"""A plan that costs less than a run did: its full matches, with tickets exchanged."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenmatch.solvers.bounds.prices import GroupField
from evenmatch.solvers.bounds.regroup import improved
from evenmatch.solvers.matching.pairs import Ints

PlayedMatch = tuple[float, Sequence[int]]
"""What a full match cost, and the indices of its tickets."""


def saved_by_regrouping(field: GroupField, matches: Sequence[PlayedMatch]) -> float:
    """Return how much less the full matches of a run could have cost, as far as a search finds.

    Tickets that played with bots or with nobody stay as they are.

    Args:
        field: The tickets, with costs that are exact; a ticket's index is its number.
        matches: Full matches of the run.
    """
    if not matches:
        return 0.0
    groups: Ints = np.array([group for _, group in matches], dtype=np.int64)
    paid = math.fsum(cost for cost, _ in matches)
    _, planned = improved(field.points, field.terms, field.price, groups)
    return max(0.0, paid - planned)
