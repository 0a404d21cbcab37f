"""The two curves of Weng and Lin: one equals the package's system, the other its definition."""

import math
import random

import numpy as np
import pytest

from evenmatch import rate
from evenmatch.ratings.base import Ratings
from evenmatch.ratings.registry import parse_system
from papers.studies.rating_forecasts import log_loss
from papers.studies.team_models import (
    TeamMatch,
    TeamModel,
    drawn,
    forecast_later,
    forecast_teams,
    normal_integral,
    tune,
    won,
)


def games(count: int, *, size: int, seed: int) -> list[TeamMatch]:
    rng = random.Random(seed)
    skill = [rng.gauss(0.0, 1.0) for _ in range(12)]
    matches = []
    for _ in range(count):
        seats = rng.sample(range(12), 2 * size)
        one, two = tuple(seats[:size]), tuple(seats[size:])
        gap = sum(skill[each] for each in one) - sum(skill[each] for each in two)
        gap += rng.gauss(0.0, 1.0)
        matches.append(TeamMatch(one, two, 0.5 if abs(gap) < 0.2 else float(gap > 0.0)))
    return matches


def sum_up(team: list[str], known: dict[str, dict[str, float | None]]) -> Ratings:
    """Return a team's rating as `WengLin.win_probability` wants it."""
    members = [known.get(player, {"mean": 3.0, "deviation": 1.0}) for player in team]
    mean = sum(each["mean"] or 0.0 for each in members)
    deviation = math.hypot(*(each["deviation"] or 0.0 for each in members))
    return Ratings(np.array([mean]), np.array([deviation]), np.array([np.nan]))


def test_the_logistic_curve_is_the_systems() -> None:
    spec = "weng_lin:mean=3,deviation=1,beta=0.5,tau=0"
    matches = games(60, size=2, seed=1)
    matches = [each._replace(first=each.first[:1]) for each in matches[:20]] + matches[20:]
    chances = forecast_teams(TeamModel(False, tau=0.0), matches)
    known: dict[str, dict[str, float | None]] = {}
    for match, chance in zip(matches, chances, strict=True):
        teams = [[str(each) for each in team] for team in (match.first, match.second)]
        one, two = (sum_up(team, known) for team in teams)
        assert chance == pytest.approx(parse_system(spec).win_probability(one, two)[0], rel=1e-9)
        known = rate(spec, known, [{"teams": teams, "points": [match.score, 1.0 - match.score]}])


@pytest.mark.parametrize("x", [-40.0, -6.0, -1.0, 0.0, 0.7, 5.0])
def test_a_wins_evidence_is_the_slope_of_its_log_chance(x: float) -> None:
    v, w = won(x)
    if x > -30.0:
        step = 1e-4
        low, mid, high = (math.log(normal_integral(x + k * step)) for k in (-1, 0, 1))
        assert v == pytest.approx((high - low) / (2 * step), rel=1e-6)
        assert w == pytest.approx((2 * mid - low - high) / step**2, rel=1e-3, abs=1e-6)
    assert 0.0 <= w <= 1.0
    assert v >= 0.0


@pytest.mark.parametrize("x", [-3.0, -0.2, 0.0, 0.4, 2.0])
def test_a_draws_evidence_is_the_slope_of_its_log_chance(x: float) -> None:
    def log_chance(at: float) -> float:
        return math.log(normal_integral(0.3 - at) - normal_integral(-0.3 - at))

    v, w = drawn(x, 0.3)
    step = 1e-4
    low, mid, high = (log_chance(x + k * step) for k in (-1, 0, 1))
    assert v == pytest.approx((high - low) / (2 * step), rel=1e-6, abs=1e-8)
    assert w == pytest.approx((2 * mid - low - high) / step**2, rel=1e-3)


@pytest.mark.parametrize("normal", [False, True])
def test_later_matches_change_nothing_that_was_chosen(normal: bool) -> None:
    matches = games(150, size=2, seed=2)
    turned = [*matches[:100], *(each._replace(score=1.0 - each.score) for each in matches[100:])]
    model, chance = tune(matches, 100, normal=normal)
    other, _ = tune(turned, 100, normal=normal)
    assert model == other
    assert chance.size == 50
    assert np.array_equal(chance, forecast_later(model, matches, 100))
    score = np.array([match.score for match in matches[100:]])
    assert log_loss(chance, score) < 0.6
