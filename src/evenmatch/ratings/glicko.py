"""Glicko, version 1: a rating and its uncertainty.

The update is a Newton step on the likelihood of a period's results, with the old rating as prior.
Glicko-2 makes the same step from a wider prior, so it uses `find_evidence` and `step` from here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from evenmatch.errors import ConfigError
from evenmatch.model.ticket import Rating
from evenmatch.ratings.base import (
    PlainRating,
    Ratings,
    chance_of,
    logistic,
    require_not_negative,
    require_positive,
)
from evenmatch.ratings.outcomes import FloatArray, PeriodOutcomes
from evenmatch.ratings.pairwise_results import add_up, find_pairwise_results

POINTS_PER_LOGIT = 400.0 / math.log(10.0)
"""Glickman's 173.7178 = 1 / q."""
ATTENUATION = 3.0 / math.pi**2
"""How strongly an opponent's variance, in logits squared, attenuates a result."""


GameEvidence = tuple[float, float, float]
"""The evidence of one game about a player: their variance before it, in logits squared, its
information and its surprise."""


class Evidence(NamedTuple):
    """The evidence of a period about each player, on the scale of logits.

    Args:
        information: Sum of g^2 E (1 - E), the 1 / v of Glicko-2; 0 without a match.
        surprise: Sum of g (score - E).
        played: Whether the player had a match.
    """

    information: FloatArray
    surprise: FloatArray
    played: npt.NDArray[np.bool_]


def attenuation(deviation: FloatArray) -> FloatArray:
    """Return g in (0, 1]: the weight of a result against an opponent of this deviation.

    Args:
        deviation: In logits.

    Source:
        Glickman, Example of the Glicko-2 system, step 3; the g(RD) of the Glicko system.
    """
    return 1.0 / np.sqrt(1.0 + ATTENUATION * np.square(deviation))


def find_evidence(ratings: Ratings, outcomes: PeriodOutcomes) -> Evidence:
    """Return the evidence of the period about each player, at the ratings of its start.

    Source:
        Glickman, The Glicko system, step 2: 1 / d^2 and the sum of g (s - E).
    """
    met = find_pairwise_results(ratings, outcomes)
    g = attenuation(met.deviation / POINTS_PER_LOGIT)
    expected, spread = logistic(g * met.gap / POINTS_PER_LOGIT)
    count = ratings.mean.size
    return Evidence(
        add_up(met.player, g * g * spread, count),
        add_up(met.player, g * (met.score - expected), count),
        np.bincount(met.player, minlength=count) > 0,
    )


def evidence_of_game(
    one: PlainRating, two: PlainRating, score: float
) -> tuple[GameEvidence, GameEvidence]:
    """Return the evidence of one game about each of its players; see `Evidence`.

    Args:
        one: The first player's rating.
        two: The second player's.
        score: The first player's result.
    """
    mean, deviation, _ = one
    other_mean, other_deviation, _ = two
    gap = (mean - other_mean) / POINTS_PER_LOGIT
    variance = (deviation / POINTS_PER_LOGIT) ** 2
    other_variance = (other_deviation / POINTS_PER_LOGIT) ** 2
    g = 1.0 / math.sqrt(1.0 + ATTENUATION * other_variance)
    other_g = 1.0 / math.sqrt(1.0 + ATTENUATION * variance)
    expected, spread = chance_of(g * gap)
    other_expected, other_spread = chance_of(-other_g * gap)
    return (
        (variance, g * g * spread, g * (score - expected)),
        (
            other_variance,
            other_g * other_g * other_spread,
            other_g * (1.0 - score - other_expected),
        ),
    )


def step(mean: FloatArray, variance: FloatArray, evidence: Evidence) -> tuple[FloatArray, ...]:
    """Return means in points and deviations in logits, given prior variances in logits squared.

    A variance of 0 stays 0: such a player is a fixed point for the ratings of others.
    """
    posterior = variance / (1.0 + variance * evidence.information)
    return mean + POINTS_PER_LOGIT * posterior * evidence.surprise, np.sqrt(posterior)


def expect(mine: Ratings, theirs: Ratings) -> FloatArray:
    """Return the expected result of a match when both ratings are uncertain.

    Source:
        Glickman, The Glicko system, the expected outcome with g(sqrt(RD_i^2 + RD_j^2)).
    """
    g = attenuation(np.hypot(mine.deviation, theirs.deviation) / POINTS_PER_LOGIT)
    return logistic(g * (mine.mean - theirs.mean) / POINTS_PER_LOGIT)[0]


class Glicko(msgspec.Struct, frozen=True, kw_only=True):
    """Glicko, version 1.

    `update` takes the ratings at the onset of the period. Players without a match come out one
    period less certain; players with a match do not, so call `rest` before the next period if they
    should (Glickman's step 1 with t = 1).

    Args:
        mean: Rating of a newcomer, in points.
        deviation: Deviation of a newcomer, and the largest that rest leads to, in points, > 0.
        deviation_min: Lower bound on deviations, in points; Glickman advises about 30 if ratings
            should keep changing.
        growth: Glickman's c: sqrt(RD^2 + c^2 t) after t periods, in points. The default leads
            from 50 to 350 in 100 periods.

    Source:
        Glickman, The Glicko system (1999), steps 1 and 2.
    """

    mean: float = 1500.0
    deviation: float = 350.0
    deviation_min: float = 0.0
    growth: float = 34.64

    def __post_init__(self) -> None:
        require_positive("glicko:deviation", self.deviation)
        require_not_negative("glicko:deviation_min", self.deviation_min)
        require_not_negative("glicko:growth", self.growth)
        if self.deviation_min > self.deviation:
            raise ConfigError(
                f"glicko:deviation_min must not exceed deviation {self.deviation}, "
                f"got {self.deviation_min}"
            )

    @property
    def newcomer(self) -> Rating:
        """Return the rating of a player without any results."""
        return Rating(mean=self.mean, deviation=self.deviation)

    def update(self, ratings: Ratings, outcomes: PeriodOutcomes) -> Ratings:
        """Return the ratings after one period."""
        evidence = find_evidence(ratings, outcomes)
        mean, deviation = step(
            ratings.mean, np.square(ratings.deviation / POINTS_PER_LOGIT), evidence
        )
        active = np.maximum(deviation * POINTS_PER_LOGIT, self.deviation_min)
        rested = self.rest(ratings).deviation
        return ratings._replace(mean=mean, deviation=np.where(evidence.played, active, rested))

    def after_game(
        self, one: PlainRating, two: PlainRating, score: float
    ) -> tuple[PlainRating, PlainRating]:
        """Return the ratings of two players after a period of one game of theirs."""
        evidence, other_evidence = evidence_of_game(one, two, score)
        return self._after(one, evidence), self._after(two, other_evidence)

    def _after(self, before: PlainRating, evidence: GameEvidence) -> PlainRating:
        """Return a player's rating after one game."""
        mean, _, volatility = before
        variance, information, surprise = evidence
        posterior = variance / (1.0 + variance * information)
        return (
            mean + POINTS_PER_LOGIT * posterior * surprise,
            max(math.sqrt(posterior) * POINTS_PER_LOGIT, self.deviation_min),
            volatility,
        )

    def rest(self, ratings: Ratings, periods: float | FloatArray = 1.0) -> Ratings:
        """Return the ratings after periods without a match: min(sqrt(RD^2 + c^2 t), deviation)."""
        grown = np.hypot(ratings.deviation, self.growth * np.sqrt(periods))
        limit = np.maximum(ratings.deviation, self.deviation)
        return ratings._replace(deviation=np.minimum(grown, limit))

    def win_probability(self, mine: Ratings, theirs: Ratings) -> FloatArray:
        """Return the expected result, pulled towards 0.5 by the uncertainty of both."""
        return expect(mine, theirs)
