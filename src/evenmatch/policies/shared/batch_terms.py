"""Numbers that criteria compare inside a match, as columns and terms of a `Batch`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenmatch.criteria.values import scaled_numbers
from evenmatch.model.queue import NUMERIC, Criterion, Queue
from evenmatch.model.ticket import Ticket
from evenmatch.solvers.matching.pairs import CAPPED, LOG, RAW
from evenmatch.solvers.teams.batch import (
    MEAN_GAP,
    PAIR_GAP,
    SPREAD,
    SUM_GAP,
    Facts,
    Floats,
    Ints,
)

ROWS_FIRST = 64
SHAPES = {"linear": CAPPED, "percentile": CAPPED, "capped": CAPPED, "log": LOG, "none": RAW}


class Terms:
    """The criteria of a queue that compare numbers.

    Args:
        queue: The queue.
        shares: Weight of each criterion as a part of all weights.
    """

    def __init__(self, queue: Queue, shares: Sequence[float]) -> None:
        self._queue = queue.name
        self._criteria = [c for c in queue.criteria if c.kind in NUMERIC]
        weights = [w for c, w in zip(queue.criteria, shares, strict=True) if c.kind in NUMERIC]
        rows = [
            (c, _term(c, weight, column))
            for column, (c, weight) in enumerate(zip(self._criteria, weights, strict=True))
        ]
        self.terms = _table([row for c, row in rows if not _is_paired(c)])
        self._gaps = _table([row for c, row in rows if _is_paired(c)])
        self._columns: Floats = np.zeros((len(self._criteria), ROWS_FIRST))

    @property
    def size(self) -> int:
        """Return how many rows there are."""
        return int(self._columns.shape[1])

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        more = np.zeros((len(self._criteria), size - self.size))
        self._columns = np.hstack([self._columns, more])

    def write(self, ticket: Ticket, rows: Sequence[int]) -> None:
        """Write a party's values into its rows."""
        for column, criterion in enumerate(self._criteria):
            self._columns[column, rows] = scaled_numbers(criterion, self._queue, ticket)

    def values(self, rows: Ints) -> Floats:
        """Return the columns of some rows."""
        return self._columns[:, rows]

    def gaps(self, facts: Facts) -> Facts:
        """Return the facts with the gaps that are averaged over pairs."""
        return facts._replace(gaps=self._gaps)


def _is_paired(criterion: Criterion) -> bool:
    """Return whether a criterion is a mean over pairs of what each pair costs."""
    return criterion.kind == "mean_gap"


def _table(rows: Sequence[Sequence[float]]) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), 7)


def _term(criterion: Criterion, weight: float, column: int) -> tuple[float, ...]:
    kind = {"spread": SPREAD, "mean_gap": PAIR_GAP}.get(criterion.kind, MEAN_GAP)
    if criterion.kind == "imbalance" and criterion.measure == "sum":
        kind = SUM_GAP
    scale = criterion.scale
    shape = SHAPES[scale.kind]
    top = scale.max if scale.kind in ("capped", "log") else 1.0
    step = criterion.step if kind == SUM_GAP else 0.0
    return kind, weight, float(column), shape, top, scale.knee, step
