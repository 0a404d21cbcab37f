"""Weng and Lin's rating of teams by the full Bradley-Terry model: skills of a team add up.

The paper updates after each match. Here each match of a period, evaluated at the ratings of its
start, is a Gaussian message about a player: their new precision is the old one plus those of all
messages, and their new mean is the weighted mean. With one match a period this is exactly the
paper's update, and the order of matches in a period cannot matter.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

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
from evenmatch.ratings.outcomes import FloatArray, PeriodOutcomes, settle_gap
from evenmatch.ratings.pairwise_results import add_up


class WengLin(msgspec.Struct, frozen=True, kw_only=True):
    """Weng and Lin's Bradley-Terry model, full pairing.

    Args:
        mean: Rating of a newcomer, in points.
        deviation: Deviation of a newcomer, in points, > 0.
        beta: Standard deviation of a single performance around the skill, in points, > 0.
        kappa: The smallest factor by which one match shrinks a variance, in (0, 1).
        tau: Deviation that a period adds, in points; 0 is the paper, which has no periods.

    Source:
        Weng and Lin, A Bayesian approximation method for online ranking, JMLR 12 (2011),
        Algorithm 1, with gamma_q = sigma_i / c_iq.
    """

    mean: float = 25.0
    deviation: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    kappa: float = 1e-4
    tau: float = 25.0 / 300.0

    def __post_init__(self) -> None:
        for name in ("deviation", "beta", "kappa"):
            require_positive(f"weng_lin:{name}", getattr(self, name))
        require_not_negative("weng_lin:tau", self.tau)
        if self.kappa >= 1.0:
            raise ConfigError(f"weng_lin:kappa must be < 1, got {self.kappa!r}")

    @property
    def newcomer(self) -> Rating:
        """Return the rating of a player without any results."""
        return Rating(mean=self.mean, deviation=self.deviation)

    def update(self, ratings: Ratings, outcomes: PeriodOutcomes) -> Ratings:
        """Return the ratings after one period."""
        grown = self.rest(ratings)
        variance = np.square(grown.deviation)
        gain, keep = self._messages(ratings.mean, variance, outcomes)
        count = ratings.mean.size
        precision = 1.0 + add_up(outcomes.player, 1.0 / keep - 1.0, count)  # times the old one
        pull = add_up(outcomes.player, gain / keep, count)
        return ratings._replace(
            mean=ratings.mean + pull / precision, deviation=np.sqrt(variance / precision)
        )

    def after_game(
        self, one: PlainRating, two: PlainRating, score: float
    ) -> tuple[PlainRating, PlainRating]:
        """Return the ratings of two players after a period of one game of theirs."""
        mean, deviation, volatility = one
        other_mean, other_deviation, other_volatility = two
        kappa, tau, beta = self.kappa, self.tau, self.beta
        # Deviations grow as in `rest`.
        limit = math.hypot(self.deviation, tau)
        grown = min(math.hypot(deviation, tau), max(deviation, limit))
        other_grown = min(math.hypot(other_deviation, tau), max(other_deviation, limit))
        own, other = grown * grown, other_grown * other_grown
        c_squared = own + other + 2.0 * beta * beta
        c = math.sqrt(c_squared)
        chance, spread = chance_of((mean - other_mean) / c)
        surprise, part = (score - chance) / c, spread / (c * c_squared)
        keep = max(1.0 - grown * own * part, kappa)
        other_keep = max(1.0 - other_grown * other * part, kappa)
        return (
            (mean + own * surprise, math.sqrt(own * keep), volatility),
            (other_mean - other * surprise, math.sqrt(other * other_keep), other_volatility),
        )

    def rest(self, ratings: Ratings, periods: float | FloatArray = 1.0) -> Ratings:
        """Return the ratings after periods without a match.

        Deviations grow at most to that of a newcomer after one period.
        """
        limit = np.maximum(ratings.deviation, np.hypot(self.deviation, self.tau))
        grown = np.hypot(ratings.deviation, self.tau * np.sqrt(periods))
        return ratings._replace(deviation=np.minimum(grown, limit))

    def win_probability(self, mine: Ratings, theirs: Ratings) -> FloatArray:
        """Return the chance p_iq of Algorithm 1.

        For teams, pass the sum of the means and the root of the sum of squared deviations.
        """
        c = np.sqrt(mine.deviation**2 + theirs.deviation**2 + 2.0 * self.beta**2)
        return logistic((mine.mean - theirs.mean) / c)[0]

    def _messages(
        self, mean: FloatArray, variance: FloatArray, outcomes: PeriodOutcomes
    ) -> tuple[FloatArray, FloatArray]:
        """Return the effect of one match on each seat: points won, and the variance's factor."""
        team, mine, theirs = outcomes.team, outcomes.meeting_team, outcomes.meeting_rival
        teams = outcomes.team_count
        team_mean = add_up(team, mean[outcomes.player], teams)
        team_variance = add_up(team, variance[outcomes.player], teams)
        own = team_variance[mine]
        c_squared = own + team_variance[theirs] + 2.0 * self.beta**2
        c = np.sqrt(c_squared)
        gap = settle_gap(team_mean[mine] - team_mean[theirs], outcomes.score, outcomes.wide)
        chance, spread = logistic(gap / c)
        omega = add_up(mine, own / c * (outcomes.score - chance), teams)
        gamma = np.sqrt(own) / c
        delta = add_up(mine, gamma * own / c_squared * spread, teams)
        won = omega[team]
        if outcomes.quits is not None:
            lost = add_up(mine, own / c * -chance, teams)
            won = np.where(outcomes.quits, lost[team], won)
        certain = team_variance == 0.0  # with tau = 0: nobody in the team can change
        share = variance[outcomes.player] / np.where(certain, 1.0, team_variance)[team]
        return share * won, np.maximum(1.0 - share * delta[team], self.kappa)
