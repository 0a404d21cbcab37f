"""From a good bound to the optimum: all matches that a better plan could hold, then a choice."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.bounds.columns import price_sums
from evenmatch.solvers.bounds.generation import ROUNDING, Generation
from evenmatch.solvers.bounds.match_pricing import PricingSearch, price_matches
from evenmatch.solvers.bounds.packing import Chosen, SetPacking
from evenmatch.solvers.teams.batch import Ints

TOLERANCE = 1e-6
"""What an integer solution may be off, in the sum of qualities."""
KEEP_MOST = 4096
"""Matches kept of one root; if there are more, the choice is not among all."""
ROOT_MOST = 3e7
"""Numbers that the search of one root may look at."""
COLUMNS_MOST = 100_000
"""Matches among which a choice is tried."""
NODES = 2000
"""Nodes of the search for the best choice."""


class ProvedPlan(NamedTuple):
    """The outcome of an attempt to find the best plan.

    Args:
        bound: Upper bound of the mean quality.
        matches: The best matches found, players by team.
    """

    bound: float
    matches: list[list[list[int]]]


def close(generation: Generation, effort: float, keep_going: Callable[[], bool]) -> ProvedPlan:
    """Return the best plan among the matches that could be in a better one than those known.

    A match of a better plan must be worth the best plan so far, less all prices, less the highest
    worths that its other matches can have. Where all such matches are found, the choice among them
    is the optimum.

    Args:
        generation: A column generation that has come to good prices.
        effort: Numbers that may be looked at.
        keep_going: Asked now and then; False ends the work.
    """
    columns, dual, matches = generation.columns, generation.dual, generation.matches
    known = _choice(generation, np.arange(len(columns.quality)), keep_going)
    given = math.fsum(columns.quality[:matches])
    lowest = max(given, math.fsum(columns.quality[known.columns]))
    others = np.sort(dual.tops)[::-1][: matches - 1]
    limit = lowest - math.fsum(dual.prices) - math.fsum(others) - TOLERANCE
    of_root = min(ROOT_MOST, effort / len(dual.prices))
    search = PricingSearch(limit, KEEP_MOST, of_root, keep_going)
    priced = price_matches(generation.pricing, dual.prices, search)
    generation.spent += priced.spent
    bound, chosen = generation.bound, known.columns
    if priced.is_complete and len(priced.worth) <= COLUMNS_MOST:
        columns.add_priced(priced, dual.prices)
        worths = columns.quality - price_sums(columns.parties, dual.prices)
        # The first columns are the plan that was given: with them there is always a choice.
        sure = np.concatenate([np.arange(matches), known.columns])
        useful = np.union1d(np.flatnonzero(worths > limit), sure)
        best = _choice(generation, useful, keep_going)
        total = max(lowest, best.bound + TOLERANCE)
        bound = min(bound, total / matches + ROUNDING)
        if len(best.columns) and math.fsum(columns.quality[best.columns]) > lowest:
            chosen = best.columns
    return ProvedPlan(bound, [columns.teams(column) for column in chosen.tolist()])


def _choice(generation: Generation, among: Ints, keep_going: Callable[[], bool]) -> Chosen:
    """Return the best choice of matches among some columns, as numbers of columns."""
    columns = generation.columns
    packing = SetPacking(len(generation.pricing.sizes), generation.matches)
    packing.add(columns.quality[among], columns.parties[among])
    chosen = packing.choose(NODES, keep_going)
    return Chosen(chosen.bound, among[chosen.columns])
