"""Thurstone and Mosteller's normal curve beside Bradley and Terry's logistic one, for teams.

Weng and Lin give an update for either model. The package has the logistic one, `weng_lin`; this
module has the normal one, so that both can forecast the same recorded matches of teams.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenmatch.ratings.outcomes import FloatArray
from papers.studies.rating_forecasts import CHANCE_MIN, fit_slope, log_loss, recalibrate

TAIL = -30.0
"""Below it, the ratio of the normal density to its integral is -x to one part in a thousand."""


class TeamMatch(NamedTuple):
    """A match of two teams: players by number, and the first team's result."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    score: float


class TeamModel(NamedTuple):
    """A model of Weng and Lin, with its parameters.

    Args:
        normal: Thurstone and Mosteller's curve; otherwise Bradley and Terry's.
        beta: Standard deviation of a single performance around the skill, in deviations of a
            newcomer, > 0.
        tau: Deviation that a match adds, in deviations of a newcomer, >= 0.
        draw_margin: Half the width of the gap that is a draw, in performances' deviations, > 0;
            the logistic curve has none, a draw is half a win there.
        mean: Of a newcomer, in deviations of one; skills add up, so it is what one more player
            in a team is worth.

    Source:
        Weng and Lin, A Bayesian approximation method for online ranking, JMLR 12 (2011),
        Algorithms 1 and 3, with gamma_q = sigma_i / c_iq. For two teams, Algorithms 2 and 4 of
        partial pairing are the same.
    """

    normal: bool
    beta: float = 0.5
    tau: float = 0.01
    draw_margin: float = 0.1
    mean: float = 3.0


BETAS, TAUS, MARGINS = (0.5, 1.0, 2.0, 4.0, 8.0), (0.0, 0.03, 0.1, 0.2), (0.05, 0.5)
MEANS = (0.0, 1.0, 3.0)
"""The values that `tune` tries."""
KAPPA = 1e-4
"""The smallest factor by which one match shrinks a variance, as in the paper."""


def forecast_teams(model: TeamModel, matches: Sequence[TeamMatch]) -> list[float]:
    """Forecast each match from those before it, all players being newcomers at first.

    Returns:
        The first team's expected results, in order.
    """
    skills: dict[int, tuple[float, float]] = {}
    chances = []
    for match in matches:
        teams = [
            [
                (mean, variance + model.tau**2)
                for mean, variance in (skills.get(player, (model.mean, 1.0)) for player in team)
            ]
            for team in (match.first, match.second)
        ]
        gap = math.fsum(mean for mean, _ in teams[0]) - math.fsum(mean for mean, _ in teams[1])
        variances = [math.fsum(variance for _, variance in team) for team in teams]
        c = math.sqrt(sum(variances) + 2.0 * model.beta**2)
        x = gap / c
        chances.append(normal_integral(x) if model.normal else 1.0 / (1.0 + math.exp(-x)))
        for players, team, own, sign in (
            (match.first, teams[0], variances[0], 1.0),
            (match.second, teams[1], variances[1], -1.0),
        ):
            score = match.score if sign > 0.0 else 1.0 - match.score
            surprise, information = _evidence(model, sign * x, score, model.draw_margin / c)
            omega, delta = own / c * surprise, math.sqrt(own) / c * own / c**2 * information
            for player, (mean, variance) in zip(players, team, strict=True):
                share = variance / own
                skills[player] = (mean + share * omega, variance * max(1 - share * delta, KAPPA))
    return chances


def tune(
    matches: Sequence[TeamMatch], earlier: int, *, normal: bool
) -> tuple[TeamModel, FloatArray]:
    """Return the parameters that forecast the earlier matches best, and forecasts of the later.

    Args:
        matches: In order of time.
        earlier: How many of them may be used for parameters and recalibration.
        normal: The curve, as in `TeamModel`.
    """
    score = np.array([match.score for match in matches[:earlier]])
    found = []
    margins = MARGINS if normal else MARGINS[:1]
    means = MEANS if any(len(match.first) != len(match.second) for match in matches) else MEANS[:1]
    for beta, tau, margin, mean in itertools.product(BETAS, TAUS, margins, means):
        model = TeamModel(normal, beta, tau, margin, mean)
        chance = forecast_teams(model, matches[:earlier])
        past = np.clip(chance, CHANCE_MIN, 1.0 - CHANCE_MIN)
        found.append((log_loss(recalibrate(past, fit_slope(past, score)), score), model))
    _, best = min(found)
    return best, forecast_later(best, matches, earlier)


def forecast_later(model: TeamModel, matches: Sequence[TeamMatch], earlier: int) -> FloatArray:
    """Return forecasts of the later matches, recalibrated by a slope fitted to the earlier ones."""
    chance = np.clip(forecast_teams(model, matches), CHANCE_MIN, 1.0 - CHANCE_MIN)
    score = np.array([match.score for match in matches[:earlier]])
    return recalibrate(chance[earlier:], fit_slope(chance[:earlier], score))


def _evidence(model: TeamModel, x: float, score: float, margin: float) -> tuple[float, float]:
    """Return the slope of the log-likelihood of a result at a gap x, and its curvature."""
    if not model.normal:
        chance = 1.0 / (1.0 + math.exp(-x))
        return score - chance, chance * (1.0 - chance)
    if score == 0.5:
        return drawn(x, margin)
    sign = 1.0 if score > 0.5 else -1.0
    v, w = won(sign * x - margin)
    return sign * v, w


def won(x: float) -> tuple[float, float]:
    """Return V and W of a win: v = density / integral at x, and v (v + x).

    >>> [round(each, 4) for each in won(0.0)]
    [0.7979, 0.6366]
    """
    v = -x if x < TAIL else density(x) / normal_integral(x)
    return v, min(v * (v + x), 1.0)


def drawn(x: float, margin: float) -> tuple[float, float]:
    """Return V and W of a draw, for a gap of at most the margin either way.

    >>> [round(each, 4) for each in drawn(0.0, 0.1)]
    [0.0, 0.9967]
    """
    high, low = margin - x, -margin - x
    integral = normal_integral(high) - normal_integral(low)
    if integral < 1e-12:  # far out: treated as if the gap had been the nearer end of the margin
        return (low if x < 0.0 else high), 1.0
    v = (density(low) - density(high)) / integral
    return v, min(v * v + (high * density(high) - low * density(low)) / integral, 1.0)


def density(x: float) -> float:
    """Return the standard normal density."""
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def normal_integral(x: float) -> float:
    """Return the standard normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))
