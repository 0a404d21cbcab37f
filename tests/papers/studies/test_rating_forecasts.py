"""Scores of forecasts, and their recalibration."""

import math

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.ratings.base import logistic, newcomers
from evenmatch.ratings.elo import Elo
from papers.studies.rating_forecasts import (
    accuracy,
    calibration_error,
    fit_slope,
    fit_slope_and_upset,
    log_loss,
    predict_in_turn,
    recalibrate,
    seen_by_favourite,
)


def test_log_loss_of_a_coin_is_ln_2() -> None:
    assert log_loss(np.full(4, 0.5), np.array([1.0, 0.0, 0.5, 1.0])) == pytest.approx(math.log(2))


def test_log_loss_of_a_certain_miss_is_finite() -> None:
    assert 20.0 < log_loss(np.array([0.0]), np.array([1.0])) < 30.0


def test_accuracy_leaves_draws_out_and_halves_even_forecasts() -> None:
    chance = np.array([0.9, 0.8, 0.5, 0.7])
    assert accuracy(chance, np.array([1.0, 0.0, 1.0, 0.5])) == pytest.approx(1.5 / 3)


def test_accuracy_of_draws_alone_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one match that was not drawn"):
        accuracy(np.array([0.4]), np.array([0.5]))


def test_calibration_error_is_the_weighted_gap_of_the_bins() -> None:
    chance = np.array([0.15, 0.15, 0.95, 1.0])
    score = np.array([0.0, 1.0, 1.0, 1.0])
    assert calibration_error(chance, score) == pytest.approx(0.5 * 0.35 + 0.5 * 0.025)


def test_favourites_view_turns_round_what_favours_the_second() -> None:
    chance, score = seen_by_favourite(np.array([0.2, 0.7]), np.array([0.0, 0.5]))
    assert chance.tolist() == [0.8, 0.7]
    assert score.tolist() == [1.0, 0.5]


def test_fit_finds_slope_and_upset_that_made_the_results() -> None:
    rng = np.random.default_rng(8)
    claimed = logistic(rng.normal(0.0, 2.0, 200_000))[0]
    true = recalibrate(claimed, 0.7)
    score = (rng.random(true.size) < true).astype(float)
    # The standard error of the slope is 1 / sqrt(sum p (1 - p) logit^2), about 0.004.
    assert fit_slope(claimed, score) == pytest.approx(0.7, abs=0.016)
    true = recalibrate(claimed, 1.3, 0.2)
    score = (rng.random(true.size) < true).astype(float)
    slope, upset = fit_slope_and_upset(claimed, score)
    assert slope == pytest.approx(1.3, abs=0.06)
    assert upset == pytest.approx(0.2, abs=0.02)


def test_fit_never_makes_the_log_loss_worse() -> None:
    rng = np.random.default_rng(9)
    for _ in range(20):
        chance, score = rng.random(30), rng.choice([0.0, 0.5, 1.0], 30)
        one = log_loss(recalibrate(chance, fit_slope(chance, score)), score)
        two = log_loss(recalibrate(chance, *fit_slope_and_upset(chance, score)), score)
        assert two <= one + 1e-6 <= log_loss(chance, score) + 2e-6


def test_fit_of_separable_results_stays_finite() -> None:
    chance, score = np.array([0.6, 0.7, 0.3]), np.array([1.0, 1.0, 0.0])
    assert 1.0 < fit_slope(chance, score) <= 51.0


def test_fit_of_even_forecasts_changes_nothing() -> None:
    assert fit_slope_and_upset(np.full(3, 0.5), np.array([1.0, 1.0, 0.0])) == (1.0, 0.0)


def test_swapping_the_players_swaps_the_recalibrated_forecast() -> None:
    chance = np.array([0.1, 0.5, 0.8])
    one, two = recalibrate(chance, 0.6, 0.1), recalibrate(1.0 - chance, 0.6, 0.1)
    assert one + two == pytest.approx(1.0)


def test_predictions_use_earlier_periods_only() -> None:
    first, second = np.array([0]), np.array([1])
    period = (first, second, np.array([1.0]))
    chances, after = predict_in_turn(Elo(), newcomers(Elo(), 2), [period, period])
    assert chances.tolist() == pytest.approx([0.5, 1.0 / (1.0 + 10.0 ** (-32.0 / 400.0))])
    assert after.mean[0] > 1516.0


@pytest.mark.parametrize(
    ("chance", "score", "sentence"),
    [
        ([0.5], [1.0, 0.0], "flat arrays of one length"),
        ([], [], "flat arrays of one length"),
        ([1.2], [1.0], r"forecasts must be in \[0, 1\]"),
        ([0.2], [np.nan], r"scores must be in \[0, 1\]"),
    ],
)
def test_forecasts_that_cannot_be_scored_are_refused(
    chance: list[float], score: list[float], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        log_loss(np.array(chance), np.array(score))


def test_calibration_needs_a_bin() -> None:
    with pytest.raises(ConfigError, match="bins must be at least 1, got 0"):
        calibration_error(np.array([0.5]), np.array([1.0]), bins=0)
