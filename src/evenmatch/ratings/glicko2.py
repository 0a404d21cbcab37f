"""Glicko-2: Glicko with a volatility, the degree to which a player's strength fluctuates."""

from __future__ import annotations

import msgspec
import numpy as np

from evenmatch.model.rating import Rating
from evenmatch.ratings.base import FloatArray, Ratings, require_positive
from evenmatch.ratings.glicko import POINTS_PER_LOGIT, expect, find_evidence, step
from evenmatch.ratings.outcomes import PeriodOutcomes
from evenmatch.ratings.volatility import solve_volatility


class Glicko2(msgspec.Struct, frozen=True, kw_only=True):
    """Glicko-2. All quantities but the volatility are in points, as on Glicko's scale.

    Args:
        tau: How fast volatilities change, > 0; 0.3 to 1.2 are usual, small is steady.
        mean: Rating of a newcomer.
        deviation: Deviation of a newcomer, and the largest that rest leads to, > 0.
        volatility: Volatility of a newcomer, in logits, > 0.

    Source:
        Glickman, Example of the Glicko-2 system (2013 revision), steps 1 to 8.
    """

    tau: float = 0.5
    mean: float = 1500.0
    deviation: float = 350.0
    volatility: float = 0.06

    def __post_init__(self) -> None:
        for name in ("tau", "deviation", "volatility"):
            require_positive(f"glicko2:{name}", getattr(self, name))

    @property
    def newcomer(self) -> Rating:
        """Return the rating of a player of whom nothing is known."""
        return Rating(mean=self.mean, deviation=self.deviation, volatility=self.volatility)

    def update(self, ratings: Ratings, outcomes: PeriodOutcomes) -> Ratings:
        """Return the ratings after one period; deviations end at most at the newcomer's."""
        evidence = find_evidence(ratings, outcomes)
        variance = np.square(ratings.deviation / POINTS_PER_LOGIT)
        volatility = ratings.volatility.copy()
        at = np.flatnonzero(evidence.played)
        v = 1.0 / evidence.information[at]
        volatility[at] = solve_volatility(
            volatility[at], variance[at] + v, v * evidence.surprise[at], tau=self.tau
        )
        mean, deviation = step(ratings.mean, variance + volatility**2, evidence)
        limit = np.maximum(ratings.deviation, self.deviation)
        return Ratings(mean, np.minimum(deviation * POINTS_PER_LOGIT, limit), volatility)

    def rest(self, ratings: Ratings, periods: float | FloatArray = 1.0) -> Ratings:
        """Return the ratings after periods without a match: sqrt(phi^2 + t sigma^2)."""
        points = ratings.volatility * POINTS_PER_LOGIT * np.sqrt(periods)
        limit = np.maximum(ratings.deviation, self.deviation)
        return ratings._replace(deviation=np.minimum(np.hypot(ratings.deviation, points), limit))

    def win_probability(self, mine: Ratings, theirs: Ratings) -> FloatArray:
        """Return the expected result, drawn to 0.5 by the uncertainty of both."""
        return expect(mine, theirs)
