"""Players who wait for one-against-one matches, as flat arrays, and the cost of a pair.

In a match of two, all comparisons of numbers are the same: the gap between the two. So terms and
rules are those of a batch without their kinds. Costs that are not gaps of numbers (pings, meetings,
words, players to avoid) are computed pair by pair, through `Extra`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import CAPPED, RAW, shape_gap
from evenmatch.solvers.teams.batch import (
    COLUMN,
    KIND,
    KNEE,
    PAIR_GAP,
    SHAPE,
    STEP,
    TOP,
    WEIGHT,
    Batch,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Extra = Callable[[Ints, Ints], Floats]
"""Maps the two players of many pairs to costs >= 0 in addition to gaps; inf = no legal match."""

BETWEEN, ACCEPT = 1, 2
"""Columns of `Duels.rules`: the row of values compared, and whether one of the two may accept."""


class Duels(NamedTuple):
    """Players to be paired.

    Args:
        values: Shape (columns, n): numbers as criteria and rules compare them, finite.
        terms: Shape (d, 7), as `Batch.terms`: weight >= 0, column, shape, top, knee, step; the
            kind is not read.
        rules: Shape (q, 3), as `Batch.rules`: the kind is not read; column; accept 0 = both must
            accept the gap, 1 = one must.
        tolerances: Shape (q, n): the largest gap that each player accepts by each rule now.
        worth: Shape (n,): worth of seating a player, in units of cost; finite.
    """

    values: Floats
    terms: Floats
    rules: Floats
    tolerances: Floats
    worth: Floats

    @property
    def players(self) -> int:
        """Return the number of players."""
        return self.worth.shape[0]


def duels_of(batch: Batch) -> Duels:
    """Return the players of a batch with all data that are gaps of numbers, without kinds."""
    facts = batch.facts
    terms = np.vstack([batch.terms[batch.terms[:, KIND] <= PAIR_GAP], facts.gaps])
    are_numeric = batch.rules[:, 0] <= PAIR_GAP
    return Duels(
        values=np.ascontiguousarray(facts.values, dtype=np.float64),
        terms=np.ascontiguousarray(terms[terms[:, WEIGHT] != 0.0]),
        rules=np.ascontiguousarray(batch.rules[are_numeric], dtype=np.float64),
        tolerances=np.ascontiguousarray(batch.tolerances[are_numeric], dtype=np.float64),
        worth=np.asarray(batch.worth, dtype=np.float64),
    )


def cost_top(duels: Duels) -> float:
    """Return an upper bound on the cost of a legal pair by its gaps."""
    total = 0.0
    spans = np.ptp(duels.values, axis=1) if duels.values.size else np.zeros(0)
    for rule, tolerances in zip(duels.rules, duels.tolerances, strict=True):
        # Whether both must accept or one, no accepted gap exceeds the largest tolerance.
        column = int(rule[BETWEEN])
        spans[column] = min(spans[column], float(tolerances.max()))
    for term in duels.terms:
        gap = float(spans[int(term[COLUMN])])
        total += term[WEIGHT] * shape_gap(term[SHAPE], term[TOP], term[KNEE], term[STEP], gap)
    return float(total)


def slope_on(duels: Duels, column: int, gap_max: float) -> float | None:
    """Return the cost per unit of gap if costs are proportional to it, else None.

    Args:
        duels: The pool.
        column: The row of values.
        gap_max: The largest gap of interest: a cap at or beyond it does not matter.
    """
    total = 0.0
    for term in duels.terms[duels.terms[:, WEIGHT] != 0.0]:
        is_capped = term[SHAPE] == CAPPED and term[TOP] >= gap_max
        if term[COLUMN] != column or term[STEP] > 0.0 or not (term[SHAPE] == RAW or is_capped):
            return None
        total += float(term[WEIGHT] / (term[TOP] if is_capped else 1.0))
    return total


ARRAYS = "float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1]"


@kernel(f"float64({ARRAYS}, int64, int64)", inline=True)
def duel_cost(
    values: Floats, terms: Floats, rules: Floats, tolerances: Floats, i: int, j: int
) -> float:
    """Return the cost of a pair by its gaps; infinity if a rule forbids it."""
    for q in range(rules.shape[0]):
        column = int(rules[q, BETWEEN])
        low, high = min(tolerances[q, i], tolerances[q, j]), max(tolerances[q, i], tolerances[q, j])
        if abs(values[column, i] - values[column, j]) > (high if rules[q, ACCEPT] != 0.0 else low):
            return np.inf
    cost = 0.0
    for d in range(terms.shape[0]):
        column = int(terms[d, COLUMN])
        gap = abs(values[column, i] - values[column, j])
        cost += terms[d, WEIGHT] * shape_gap(
            terms[d, SHAPE], terms[d, TOP], terms[d, KNEE], terms[d, STEP], gap
        )
    return cost


@kernel(f"float64[::1]({ARRAYS}, int64[::1], int64[::1])")
def duel_costs(
    values: Floats, terms: Floats, rules: Floats, tolerances: Floats, one: Ints, two: Ints
) -> Floats:
    """Return the costs of many pairs by their gaps."""
    costs = np.zeros(one.shape[0])
    for p in range(one.shape[0]):
        costs[p] = duel_cost(values, terms, rules, tolerances, one[p], two[p])
    return costs
