"""The interface of every rating system: from ratings and outcomes of one period to new ratings.

A rating period is a stretch of time whose matches are treated as simultaneous: all of them are
rated against the ratings at the start of the period. That is how Glicko and Glicko-2 are defined;
match by match they give other numbers. A period may be as short as one match.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from evenmatch.errors import ConfigError
from evenmatch.model.ticket import Rating
from evenmatch.ratings.outcomes import FloatArray, PeriodOutcomes

LOGIT_MAX = 100.0
"""Larger log-odds are clipped to this value, so that no square of their odds overflows; 100 logits
are about 17,000 points of Elo."""


class Ratings(NamedTuple):
    """The ratings of many players, one array element each.

    Args:
        mean: Estimates, in the system's points.
        deviation: Standard deviations in the same points, >= 0; 0 is a player of known strength.
        volatility: Glicko-2's volatility; NaN in other systems.
    """

    mean: FloatArray
    deviation: FloatArray
    volatility: FloatArray

    def take(self, index: npt.NDArray[np.intp] | slice) -> Ratings:
        """Return the ratings of the players with these indices."""
        return Ratings(*(column[index] for column in self))


PlainRating = tuple[float, float, float]
"""The mean, deviation and volatility of one player, in plain numbers; see `Ratings`."""


class RatingSystem(Protocol):
    """The methods of every rating system; its parameters are frozen fields."""

    @property
    def newcomer(self) -> Rating:
        """Return the rating of a player without any results."""
        ...

    def update(self, ratings: Ratings, outcomes: PeriodOutcomes) -> Ratings:
        """Return the ratings after one period; players without a match rest for one period."""
        ...

    def after_game(
        self, one: PlainRating, two: PlainRating, score: float
    ) -> tuple[PlainRating, PlainRating]:
        """Return the ratings of two players after a period with one game between them.

        The result is that of `update`.

        Args:
            one: The first player's rating.
            two: The second player's rating.
            score: The first player's result: 1 won, 0.5 drew, 0 lost.
        """
        ...

    def rest(self, ratings: Ratings, periods: float | FloatArray = 1.0) -> Ratings:
        """Return the ratings after periods without a match: means stay, deviations grow."""
        ...

    def win_probability(self, mine: Ratings, theirs: Ratings) -> FloatArray:
        """Return the expected result against an opponent: 1 a sure win, 0 a sure loss."""
        ...


def newcomers(system: RatingSystem, count: int) -> Ratings:
    """Return the ratings of `count` players without any results."""
    start = system.newcomer
    volatility = np.nan if start.volatility is None else start.volatility
    return Ratings(
        np.full(count, start.mean), np.full(count, start.deviation), np.full(count, volatility)
    )


def logistic(logit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the probability p = 1 / (1 + exp(-logit)), and p (1 - p) without cancellation."""
    odds = np.exp(-np.minimum(np.abs(logit), LOGIT_MAX))
    share = 1.0 / (1.0 + odds)
    chance = np.where(logit >= 0.0, share, odds * share)
    return chance, odds * share * share


def chance_of(logit: float) -> tuple[float, float]:
    """Return the same as `logistic` for one number."""
    odds = math.exp(-min(abs(logit), LOGIT_MAX))
    share = 1.0 / (1.0 + odds)
    return (share if logit >= 0.0 else odds * share), odds * share * share


def require_positive(name: str, value: float) -> None:
    """Raise an error unless a parameter is a finite number above 0."""
    if not 0.0 < value < np.inf:
        raise ConfigError(f"{name} must be a finite number > 0, got {value!r}")


def require_not_negative(name: str, value: float) -> None:
    """Raise an error unless a parameter is a finite number, 0 or more."""
    if not 0.0 <= value < np.inf:
        raise ConfigError(f"{name} must be a finite number >= 0, got {value!r}")
