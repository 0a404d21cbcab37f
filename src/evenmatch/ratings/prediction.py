"""How good are the forecasts of a rating system, and how to put them right.

Ratings order players well and yet may be too bold or too shy: `fit_slope` finds the one factor on
the log-odds that makes up for it on past matches, `recalibrate` applies it to later ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.ratings.base import FloatArray, Ratings, RatingSystem, logistic
from evenmatch.ratings.outcomes import IndexArray, duels

CHANCE_MIN = 1e-12
"""Forecasts nearer to 0 or 1 count as this, so that a single one never costs infinitely much."""

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
    """Return the expected calibration error: how far bins of forecasts miss their results.

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


def recalibrate(chance: FloatArray, slope: float) -> FloatArray:
    """Return the forecasts with their log-odds multiplied by `slope`: below 1 is less bold."""
    return logistic(slope * _logit(chance))[0]


def fit_slope(chance: FloatArray, score: FloatArray) -> float:
    """Return the slope on the log-odds with the least log loss.

    Source:
        Cox, Two further applications of a model for binary regression, Biometrika 45 (1958), with
        no intercept: swapping the players must swap the forecast. Solved by Newton's method.

    >>> chance, score = np.full(10, 0.9), np.array([1.0] * 7 + [0.0] * 3)
    >>> round(float(recalibrate(chance, fit_slope(chance, score))[0]), 6)
    0.7
    """
    _check(chance, score)
    logit = _logit(chance)
    if not logit.any():
        return 1.0
    slope = 1.0
    for _ in range(50):
        p, spread = logistic(slope * logit)
        curvature = float(np.sum(spread * logit**2))
        change = float(np.sum((score - p) * logit)) / max(curvature, CHANCE_MIN)
        change = min(max(change, -1.0), 1.0)  # perfectly separable results have no finite slope
        slope += change
        if abs(change) < 1e-10:
            break
    return slope


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
