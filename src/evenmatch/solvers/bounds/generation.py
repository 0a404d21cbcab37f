"""Column generation: prices by a linear programme, matches by a search, a bound in each round."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evenmatch.errors import NotSupported
from evenmatch.solvers.bounds.columns import GAIN, Columns, price_sums
from evenmatch.solvers.bounds.match_pricing import (
    Priced,
    Pricing,
    PricingSearch,
    always,
    price_matches,
    pricing_of,
)
from evenmatch.solvers.bounds.packing import SetPacking
from evenmatch.solvers.teams.batch import WEIGHT, Batch, Floats, Plan

ROUNDING = 1e-9
"""Added to each bound for the last digits of sums."""
CLOSE = 5e-5
"""Prices are good enough when no others could lower the bound by more than this."""
KEEP = 4
"""Matches that a round keeps of each root."""
BELOW = 0.001
"""How much less than a match's price the matches may be worth that a round looks for."""
EFFORT_FIRST, EFFORT_GROWS = 1e6, 3.0
"""Numbers that the search of one root may look at in the first rounds, and how that grows."""
SMOOTH, SMOOTH_LEAST = 0.5, 0.02
"""Share of the best prices in those of a search; below the least it counts as none."""


class Dual(NamedTuple):
    """Prices and what they prove.

    Args:
        prices: Price of each party.
        match: What a match must be worth to be of use.
        tops: What a match of each first root is worth at most.
        total: No matches of that number have a higher sum of qualities.
    """

    prices: Floats
    match: float
    tops: Floats
    total: float


class Generation:
    """The state of a column generation.

    Args:
        batch: The parties.
        plan: Legal matches to start from; their number is the number of matches.
    """

    def __init__(self, batch: Batch, plan: Plan) -> None:
        self.pricing = pricing_of(batch)
        _check(batch, self.pricing)
        self.columns = Columns(batch, max(int(form.teams.sum()) for form in self.pricing.tables))
        self.columns.add_plan(plan)
        self.matches = len(self.columns.quality)
        self.quality = math.fsum(self.columns.quality) / max(self.matches, 1)
        self.is_exact = all(form.exact for form in self.pricing.tables)
        self.rounds, self.spent, self.is_done = 0, 0.0, self.matches == 0
        # Without prices a match is worth no more than one that costs only what all cost.
        self.total = self.matches * (1.0 - min(form.fixed for form in self.pricing.tables))
        sizes = self.pricing.sizes.astype(np.float64)
        # Prices are not negative; where gaps have no scale, qualities may be.
        first = sizes * max(self.quality, 0.0) / batch.k
        self.dual = Dual(first, 0.0, np.full(len(sizes), np.inf), np.inf)
        self._effort, self._smooth = EFFORT_FIRST, 1.0
        if self.matches:
            self._packing = SetPacking(len(sizes), self.matches)
            self._packing.add(self.columns.quality, self.columns.parties)

    @property
    def bound(self) -> float:
        """Return the lowest bound so far of the mean quality of a match."""
        return self.total / self.matches + ROUNDING

    def advance(self, effort_most: float, keep_going: Callable[[], bool] = always) -> None:
        """Make one round: prices, search, bound, new matches.

        Args:
            effort_most: Numbers that searches may look at in all.
            keep_going: Asked within the round; a round that is broken off is of little use.
        """
        proposed = self._packing.solve()
        smooth = self._smooth if self._smooth > SMOOTH_LEAST else 0.0
        prices = smooth * self.dual.prices + (1.0 - smooth) * proposed.parties
        match = smooth * self.dual.match + (1.0 - smooth) * proposed.match
        searches = len(prices) * len(self.pricing.tables)
        effort = min(self._effort, max(1.0, (effort_most - self.spent) / searches))
        search = PricingSearch(match - BELOW, KEEP, effort, keep_going)
        priced = price_matches(self.pricing, prices, search)
        self.rounds += 1
        self.spent += priced.spent
        is_better = self._offer(prices, priced)
        new = self.columns.add_priced(priced, prices)
        self._packing.add(self.columns.quality[new], self.columns.parties[new])
        worths = self.columns.quality[new] - price_sums(self.columns.parties[new], proposed.parties)
        has_gained = bool((worths > proposed.match + GAIN).any())
        self.is_done = self.dual.total - proposed.value < CLOSE * self.matches
        if is_better or has_gained:
            self._smooth = SMOOTH
        else:
            self._smooth *= 0.7 if self._smooth > SMOOTH_LEAST else 1.0
            self._effort *= EFFORT_GROWS

    def _offer(self, prices: Floats, priced: Priced) -> bool:
        """Keep the prices if they give the lowest bound so far; return whether they do."""
        highest = np.sort(priced.tops)[::-1][: self.matches]
        paid = math.fsum(prices)
        total = paid + math.fsum(highest)
        is_better = total < self.dual.total
        if is_better:
            match = (total - paid) / self.matches
            self.dual = Dual(prices, match, priced.tops, total)
            self.total = min(self.total, total)
        return is_better


def _check(batch: Batch, pricing: Pricing) -> None:
    """Refuse what would make the bounds of the search wrong."""
    tables = pricing.tables
    lows = [float(np.min(t, initial=0.0)) for f in tables for t in (f.mates, f.enemies, f.own)]
    weights = [*batch.terms[:, WEIGHT].tolist(), batch.parity, *batch.hosts.tolist()]
    lowest = min([*lows, *weights, batch.fullness, float(batch.facts.ping_weights[3])])
    if not lowest >= 0.0:
        raise NotSupported(f"a bound needs weights of at least 0, got {lowest}; leave it out")
