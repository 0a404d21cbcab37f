"""The quality of the forecasts of a rating system, and how to recalibrate them.

Ratings may order players well and yet give too extreme or too cautious forecasts: `fit_slope` finds
the factor on the log-odds that corrects this on past matches, `recalibrate` applies it to later
ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.ratings.base import (
    PlainRating,
    Ratings,
    RatingSystem,
    logistic,
    newcomers,
)
from evenmatch.ratings.outcomes import FloatArray, IndexArray, duels

CHANCE_MIN = 1e-12
"""Forecasts closer to 0 or 1 are clipped to this, so that no single one has an infinite loss."""

CONVERGED = 1e-9
ITERATIONS_MAX = 50
"""Steps of a fit; results that are perfectly separable have no finite slope."""

UPSET_MAX = 0.9

Duels = tuple[IndexArray, IndexArray, FloatArray]
"""First players, second players, and the first's scores, of one period."""


def predict_in_turn(
    system: RatingSystem, ratings: Ratings, periods: Iterable[Duels]
) -> tuple[FloatArray, Ratings]:
    """Forecast each period's duels from the periods before it.

    Args:
        system: Makes the forecasts and the updates.
        ratings: Of all players at the start.
        periods: The duels of each period, in order of time.

    Returns:
        The first players' win probabilities of all duels in order, and the final ratings.
    """
    chances: list[FloatArray] = []
    for first, second, score in periods:
        chances.append(system.win_probability(ratings.take(first), ratings.take(second)))
        ratings = system.update(ratings, duels(first, second, score))
    return np.concatenate(chances) if chances else np.empty(0), ratings


def predict_each(system: RatingSystem, games: Iterable[Duels]) -> FloatArray:
    """Forecast each game from those before it, updating only its two players after each game.

    This is what callers of `rate` with one game at a time do, and a server without
    `rating_period`. In `predict_in_turn` with a period for each game, all others would rest for a
    period per game.

    Args:
        system: Makes the forecasts and the updates; all players are newcomers at first.
        games: Periods of one game, in order of time.

    Returns:
        The first players' win probabilities.
    """
    mean, deviation, volatility = (column.item() for column in newcomers(system, 1))
    start: PlainRating = (mean, deviation, volatility)
    known: dict[int, PlainRating] = {}
    chances = []
    for firsts, seconds, scores in games:
        first, second, score = int(firsts.item()), int(seconds.item()), float(scores.item())
        one, two = known.get(first, start), known.get(second, start)
        mine, theirs = (Ratings(*(np.array([each]) for each in rating)) for rating in (one, two))
        chances.append(system.win_probability(mine, theirs).item())
        known[first], known[second] = system.after_game(one, two, score)
    return np.array(chances)


def log_loss(chance: FloatArray, score: FloatArray) -> float:
    """Return the mean negative log-likelihood per match, in nats; a draw is half a win.

    A coin costs ln 2 = 0.693.
    """
    _check(chance, score)
    p = np.clip(chance, CHANCE_MIN, 1.0 - CHANCE_MIN)
    return float(-np.mean(score * np.log(p) + (1.0 - score) * np.log1p(-p)))


def accuracy(chance: FloatArray, score: FloatArray) -> float:
    """Return the share of decided matches that the favourite won; even forecasts count half."""
    _check(chance, score)
    decided = score != 0.5
    if not decided.any():
        raise ConfigError("accuracy needs at least one match that was not drawn")
    side = np.sign(chance[decided] - 0.5) * np.sign(score[decided] - 0.5)
    return float(np.mean((side + 1.0) / 2.0))


def calibration_error(chance: FloatArray, score: FloatArray, bins: int = 10) -> float:
    """Return the expected calibration error: the mean distance of forecasts and results in bins.

    Args:
        chance: Forecasts, in [0, 1].
        score: Results, in [0, 1].
        bins: Bins of equal width over [0, 1].

    Returns:
        The mean over matches of |mean forecast - mean result| of the match's bin.

    Source:
        Naeini, Cooper and Hauskrecht, Obtaining well calibrated probabilities using Bayesian
        binning, AAAI (2015), ECE.
    """
    _check(chance, score)
    if bins < 1:
        raise ConfigError(f"bins must be at least 1, got {bins}")
    bin_ = np.minimum((chance * bins).astype(np.intp), bins - 1)
    missed = np.bincount(bin_, weights=chance - score, minlength=bins)
    return float(np.abs(missed).sum() / chance.size)


def seen_by_favourite(chance: FloatArray, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return forecasts and results from the side that the forecast favours.

    Which player comes first is arbitrary, or is white, which ratings do not include; from the
    favourite's side, a calibration error measures the ratings alone.
    """
    favoured = chance >= 0.5
    return np.where(favoured, chance, 1.0 - chance), np.where(favoured, score, 1.0 - score)


def recalibrate(chance: FloatArray, slope: float, upset: float = 0.0) -> FloatArray:
    """Return the recalibrated forecasts.

    Args:
        chance: Forecasts, in [0, 1].
        slope: Factor on the log-odds; below 1 makes forecasts less extreme.
        upset: Share of matches whose result is a coin toss, whatever the ratings, in [0, 1].
    """
    return 0.5 * upset + (1.0 - upset) * logistic(slope * _logit(chance))[0]


def fit_slope(chance: FloatArray, score: FloatArray) -> float:
    """Return the slope on the log-odds with the least log loss.

    Source:
        Cox, Two further applications of a model for binary regression, Biometrika 45 (1958), with
        no intercept: swapping the players must swap the forecast.

    >>> chance, score = np.full(10, 0.9), np.array([1.0] * 7 + [0.0] * 3)
    >>> round(float(recalibrate(chance, fit_slope(chance, score))[0]), 6)
    0.7
    """
    return _fit(chance, score, np.array([1.0, 0.0]), free=1)[0]


def fit_slope_and_upset(chance: FloatArray, score: FloatArray) -> tuple[float, float]:
    """Return the slope, and the share of coin tosses, with the least log loss.

    Real favourites by 600 points lose far more often than any slope allows that also fits close
    matches: some are newcomers with a wrong rating, or people who leave.
    """
    start = np.array([fit_slope(chance, score), 0.0])
    return _fit(chance, score, start, free=2)


def _fit(
    chance: FloatArray, score: FloatArray, at: FloatArray, *, free: int
) -> tuple[float, float]:
    """Fit the first `free` of (slope, upset) from `at` by Fisher scoring with halved steps."""
    _check(chance, score)
    logit = _logit(chance)
    if not logit.any():
        return 1.0, 0.0  # no data to learn from
    loss = log_loss(recalibrate(chance, at[0], at[1]), score)
    for _ in range(ITERATIONS_MAX):
        p, spread = logistic(at[0] * logit)
        q = np.clip(recalibrate(chance, at[0], at[1]), CHANCE_MIN, 1.0 - CHANCE_MIN)
        slopes = np.stack(((1.0 - at[1]) * spread * logit, 0.5 - p))[:free]
        weighted = slopes / (q * (1.0 - q))
        scoring = weighted @ slopes.T + CHANCE_MIN * np.eye(free)
        change = np.zeros(2)
        change[:free] = np.clip(np.linalg.solve(scoring, weighted @ (score - q)), -1.0, 1.0)
        while np.abs(change).max() > CONVERGED:
            new = np.array([at[0] + change[0], min(max(at[1] + change[1], 0.0), UPSET_MAX)])
            new_loss = log_loss(recalibrate(chance, new[0], new[1]), score)
            if new_loss < loss:
                at, loss = new, new_loss
                break
            change /= 2.0
        else:
            break
    return float(at[0]), float(at[1])


def _logit(chance: FloatArray) -> FloatArray:
    p = np.clip(chance, CHANCE_MIN, 1.0 - CHANCE_MIN)
    logit: FloatArray = np.log(p) - np.log1p(-p)
    return logit


def _check(chance: FloatArray, score: FloatArray) -> None:
    if chance.shape != score.shape or chance.ndim != 1 or not chance.size:
        raise ConfigError(
            "forecasts and scores must be flat arrays of one length >= 1, "
            f"got shapes {chance.shape} and {score.shape}"
        )
    for name, values in (("forecasts", chance), ("scores", score)):
        if not np.all((values >= 0.0) & (values <= 1.0)):
            raise ConfigError(f"{name} must be in [0, 1]")
