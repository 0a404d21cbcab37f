"""Glicko-2: Glicko with a volatility, the degree to which a player's strength fluctuates."""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from evenmatch.model.ticket import Rating
from evenmatch.ratings.base import PlainRating, Ratings, require_positive
from evenmatch.ratings.glicko import (
    POINTS_PER_LOGIT,
    GameEvidence,
    evidence_of_game,
    expect,
    find_evidence,
    step,
)
from evenmatch.ratings.outcomes import FloatArray, PeriodOutcomes


class Glicko2(msgspec.Struct, frozen=True, kw_only=True):
    """Glicko-2. All quantities except the volatility are in points, as on Glicko's scale.

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
        """Return the rating of a player without any results."""
        return Rating(mean=self.mean, deviation=self.deviation, volatility=self.volatility)

    def update(self, ratings: Ratings, outcomes: PeriodOutcomes) -> Ratings:
        """Return the ratings after one period; no deviation exceeds a newcomer's."""
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

    def after_game(
        self, one: PlainRating, two: PlainRating, score: float
    ) -> tuple[PlainRating, PlainRating]:
        """Return the ratings of two players after a period of one game of theirs."""
        evidence, other_evidence = evidence_of_game(one, two, score)
        return self._after(one, evidence), self._after(two, other_evidence)

    def _after(self, before: PlainRating, evidence: GameEvidence) -> PlainRating:
        """Return a player's rating after one game."""
        mean, deviation, volatility = before
        prior, information, surprise = evidence
        v = 1.0 / information
        volatility = volatility_after(volatility, prior + v, v * surprise, self.tau)
        variance = prior + volatility * volatility
        posterior = variance / (1.0 + variance * information)
        after = math.sqrt(posterior) * POINTS_PER_LOGIT
        if after > self.deviation and after > deviation:
            after = max(deviation, self.deviation)
        return mean + POINTS_PER_LOGIT * posterior * surprise, after, volatility

    def rest(self, ratings: Ratings, periods: float | FloatArray = 1.0) -> Ratings:
        """Return the ratings after periods without a match: sqrt(phi^2 + t sigma^2)."""
        points = ratings.volatility * POINTS_PER_LOGIT * np.sqrt(periods)
        limit = np.maximum(ratings.deviation, self.deviation)
        return ratings._replace(deviation=np.minimum(np.hypot(ratings.deviation, points), limit))

    def win_probability(self, mine: Ratings, theirs: Ratings) -> FloatArray:
        """Return the expected result, pulled towards 0.5 by the uncertainty of both."""
        return expect(mine, theirs)


# The one equation of Glicko-2 without a closed form, solved for all players at once.

CONVERGED = 1e-6
"""Glickman's epsilon, on the logarithm of the squared volatility."""

ITERATIONS_MAX = 100
"""The Illinois method needs about ten; after this many, the best value so far is used."""

NEAR, FEW = 1e-3, 0.01
"""Conditions under which one step of Newton's method is enough: the length of the step, and the
share of the squared volatility in the variance that it is a part of.

Glickman's f is linear except for its pull, whose second derivative is at most
|pull| + 2.5 share^2. A step h therefore misses the root by about h^3 / 2 + 1.25 (h share tau)^2,
which is below 1e-9: closer than the Illinois method is required to get. One game between usual
ratings makes a step of at most tau^2 sigma^2 / 2 = 4.5e-4.
"""


def solve_volatility(
    sigma: FloatArray, spread: FloatArray, delta: FloatArray, *, tau: float
) -> FloatArray:
    """Return the volatilities after a period.

    Args:
        sigma: Volatilities before it, in logits, > 0.
        spread: phi^2 + v, the variance of the prior plus that of the results, logits squared.
        delta: Improvement that the results alone suggest, in logits.
        tau: How fast volatilities change, > 0.

    Complexity:
        O(players x iterations); players that have converged are not computed again.

    Source:
        Glickman, Example of the Glicko-2 system (2013 revision), step 5: the Illinois variant of
        regula falsi.

    Differs from the paper:
        If one step of Newton's method ends nearer to the root, as it does for most players, that
        step is taken; see `NEAR`.
    """
    e, weight = np.square(sigma), tau * tau
    both = spread + e
    share = e / both
    pull = 0.5 * share * (np.square(delta) - both) / both
    slope = pull * (1.0 - 2.0 * share) - 0.5 * share * share
    move = pull * weight / (1.0 - slope * weight)
    found: FloatArray = sigma * np.exp(0.5 * move)
    far = ~((np.abs(move) <= NEAR) & (share <= FEW))
    if far.any():
        found[far] = _solve_by_brackets(sigma[far], spread[far], delta[far], tau=tau)
    return found


def _solve_by_brackets(
    sigma: FloatArray, spread: FloatArray, delta: FloatArray, *, tau: float
) -> FloatArray:
    """Return the same by the Illinois method, for any input."""
    a = 2.0 * np.log(sigma)
    problem = _Problem(a, spread, np.square(delta) - spread, tau)
    bracket = _first_bracket(problem)
    root = np.empty_like(a)
    at = np.arange(a.size)
    for _ in range(ITERATIONS_MAX):
        root[at] = bracket.best
        left = np.abs(bracket.end - bracket.best) > CONVERGED
        if not left.any():
            break
        if np.count_nonzero(left) < 0.7 * left.size:  # copying costs about half an iteration
            at, problem, bracket = at[left], problem.take(left), bracket.take(left)
            left = left[left]
        bracket = _narrow(bracket, problem, left)
    return np.exp(root / 2.0)


def volatility_after(sigma: float, spread: float, delta: float, tau: float) -> float:
    """Return the same as `solve_volatility` for one player."""
    e, weight = sigma * sigma, tau * tau
    both = spread + e
    share = e / both
    pull = 0.5 * share * (delta * delta - both) / both
    slope = pull * (1.0 - 2.0 * share) - 0.5 * share * share
    move = pull * weight / (1.0 - slope * weight)
    if -NEAR <= move <= NEAR and share <= FEW:
        return sigma * math.exp(0.5 * move)
    return _volatility_by_brackets(sigma, spread, delta, tau)


def _volatility_by_brackets(sigma: float, spread: float, delta: float, tau: float) -> float:
    """Return the same as `_solve_by_brackets` for one player."""
    a, excess = 2.0 * math.log(sigma), delta * delta - spread
    rate = 1.0 / (tau * tau)

    def f(x: float) -> float:
        e = math.exp(x)
        of_both = spread + e
        return e * (excess - e) / (2.0 * of_both * of_both) - (x - a) * rate

    best, f_best = a, f(a)
    end = math.log(excess) if excess > 0.0 else a - tau
    f_end = f(end)
    while excess <= 0.0 and f_end < 0.0:
        end -= tau
        f_end = f(end)
    for _ in range(ITERATIONS_MAX):
        if abs(end - best) <= CONVERGED:
            break
        new = best + (best - end) * f_best / (f_end - f_best)
        f_new = f(new)
        if f_new * f_end <= 0.0:
            best, f_best = end, f_end
        else:
            f_best *= 0.5
        end, f_end = new, f_new
    return math.exp(best / 2.0)


class _Problem(NamedTuple):
    """Glickman's f, with a = ln sigma^2 and excess = delta^2 - phi^2 - v."""

    a: FloatArray
    spread: FloatArray
    excess: FloatArray
    tau: float

    def f(self, x: FloatArray) -> FloatArray:
        e = np.exp(x)
        pull: FloatArray = e * (self.excess - e) / (2.0 * np.square(self.spread + e))
        return pull - (x - self.a) / self.tau**2

    def take(self, left: npt.NDArray[np.bool_]) -> _Problem:
        return _Problem(self.a[left], self.spread[left], self.excess[left], self.tau)


class _Bracket(NamedTuple):
    """Two ends with the root between them; `f_best` may have been halved."""

    best: FloatArray
    end: FloatArray
    f_best: FloatArray
    f_end: FloatArray

    def take(self, left: npt.NDArray[np.bool_]) -> _Bracket:
        return _Bracket(*(column[left] for column in self))


def _first_bracket(problem: _Problem) -> _Bracket:
    rises = problem.excess > 0.0
    end = np.where(rises, np.log(np.where(rises, problem.excess, 1.0)), problem.a - problem.tau)
    f_end = problem.f(end)
    # The pull is never below -1/2, so f >= 0 after tau / 2 steps: one, for usual values of tau.
    while np.any(short := ~rises & (f_end < 0.0)):
        end = np.where(short, end - problem.tau, end)
        f_end = problem.f(end)
    return _Bracket(problem.a, end, problem.f(problem.a), f_end)


def _narrow(bracket: _Bracket, problem: _Problem, left: npt.NDArray[np.bool_]) -> _Bracket:
    """Make one step of the Illinois method where `left` is true."""
    best, end, f_best, f_end = bracket
    fall = np.where(left, f_end - f_best, 1.0)
    new = best + (best - end) * f_best / fall
    f_new = problem.f(new)
    crosses = f_new * f_end <= 0.0
    return _Bracket(
        np.where(left & crosses, end, best),
        np.where(left, new, end),
        np.where(left, np.where(crosses, f_end, 0.5 * f_best), f_best),
        np.where(left, f_new, f_end),
    )
