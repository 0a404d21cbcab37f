"""Elo: one number per player, moved by the surprise of each result."""

from __future__ import annotations

import math

import msgspec

from evenmatch.model.ticket import Rating
from evenmatch.ratings.base import (
    PlainRating,
    Ratings,
    chance_of,
    logistic,
    require_positive,
)
from evenmatch.ratings.outcomes import FloatArray, PeriodOutcomes
from evenmatch.ratings.pairwise_results import add_up, find_pairwise_results

LOGITS_PER_POINT = math.log(10.0) / 400.0
"""400 points are odds of 10 to 1."""


class Elo(msgspec.Struct, frozen=True, kw_only=True):
    """The Elo system. Deviations and volatilities pass through unchanged.

    Args:
        k_factor: Difference in points between a certain loss and a win instead of it, > 0.
        mean: Rating of a newcomer, in points.

    Source:
        Elo, The Rating of Chessplayers, Past and Present (1978), section 1.6, with the logistic
        curve that chess federations use today.
    """

    k_factor: float = 32.0
    mean: float = 1500.0

    def __post_init__(self) -> None:
        require_positive("elo:k_factor", self.k_factor)

    @property
    def newcomer(self) -> Rating:
        """Return the rating of a player without any results."""
        return Rating(mean=self.mean)

    def update(self, ratings: Ratings, outcomes: PeriodOutcomes) -> Ratings:
        """Return the ratings after one period: mean + k_factor x (results - expectations).

        Every pair of a free-for-all counts as a match, so changes grow with its size; choose a
        smaller k_factor for it. Teams of equal sizes win in total what their rivals lose.
        """
        met = find_pairwise_results(ratings, outcomes)
        expected, _ = logistic(met.gap * LOGITS_PER_POINT)
        change = add_up(met.player, met.score - expected, ratings.mean.size)
        return ratings._replace(mean=ratings.mean + self.k_factor * change)

    def after_game(
        self, one: PlainRating, two: PlainRating, score: float
    ) -> tuple[PlainRating, PlainRating]:
        """Return the ratings of two players after a period of one game of theirs."""
        mean, deviation, volatility = one
        other_mean, other_deviation, other_volatility = two
        expected, _ = chance_of((mean - other_mean) * LOGITS_PER_POINT)
        change = self.k_factor * (score - expected)
        return (
            (mean + change, deviation, volatility),
            (other_mean - change, other_deviation, other_volatility),
        )

    def rest(self, ratings: Ratings, periods: float | FloatArray = 1.0) -> Ratings:
        """Return the same ratings: in Elo, rest changes nothing."""
        return ratings

    def win_probability(self, mine: Ratings, theirs: Ratings) -> FloatArray:
        """Return the expected result, from the gap alone."""
        return logistic((mine.mean - theirs.mean) * LOGITS_PER_POINT)[0]
