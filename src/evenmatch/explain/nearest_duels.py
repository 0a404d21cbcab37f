"""The nearest matches of one against one, over all candidates and therefore exact."""

from __future__ import annotations

import math

import numpy as np

from evenmatch.criteria.scales import Floats
from evenmatch.explain.hypothetical_match import prospect_of
from evenmatch.explain.pairwise import Sight
from evenmatch.explain.waiting_table import ENQUEUED, SEQUENCE, Rows, TraitTable
from evenmatch.model.explanation import Prospect

CLOSE = 1e-9
"""Costs that differ by less in arrays are told apart by the reference."""
TOLD_APART = 8
"""Candidates at most for whom that is done."""


def best_duel(crowd: TraitTable, sight: Sight) -> Prospect | None:
    """Return the legal duel with the least cost of the criteria, then the longest waiting one."""
    rows = np.flatnonzero(sight.allowed)
    if not len(rows):
        return None
    costs = nearness(crowd, sight, rows)
    is_exact = _sees_all(sight) and bool(np.isfinite(costs).all())
    found = []
    for row in _by_age(crowd, rows[costs <= costs.min() + CLOSE])[:TOLD_APART]:
        prospect = prospect_of(crowd, (sight.row, row), sight.now, is_exact=is_exact)
        assert prospect is not None, "two who fit make a duel"
        found.append(prospect)
    return min(found, key=lambda each: each.criteria_cost)


def first_duel(crowd: TraitTable, sight: Sight) -> Prospect | None:
    """Return the duel that becomes legal first, of those that are not yet."""
    is_ahead = sight.others & sight.fits & (sight.ready_at > sight.now)
    ready_at = np.where(is_ahead, sight.ready_at, math.inf)
    first = float(ready_at.min())
    if first == math.inf:
        return None
    row = _by_age(crowd, np.flatnonzero(ready_at == first))[0]
    return prospect_of(crowd, (sight.row, row), sight.now, is_exact=_sees_all(sight))


def nearness(crowd: TraitTable, sight: Sight, rows: Rows) -> Floats:
    """Return what the criteria cost in a match of two with some; inf where that is not known."""
    total: Floats = np.zeros(len(rows))
    for trait, weight in zip(crowd.criteria, crowd.objective.weights, strict=True):
        total += weight * crowd.costs(trait, sight.row, rows)
    return total


def _sees_all(sight: Sight) -> bool:
    return int(np.count_nonzero(sight.others)) == len(sight.others) - 1


def _by_age(crowd: TraitTable, rows: Rows) -> list[int]:
    """Return rows, longest waiting first."""
    if len(rows) == 1:
        return [int(rows[0])]
    order = np.lexsort((crowd.column(SEQUENCE)[rows], crowd.column(ENQUEUED)[rows]))
    return [int(row) for row in rows[order]]
