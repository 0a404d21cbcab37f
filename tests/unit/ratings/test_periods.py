"""Ratings as a shard keeps them: newcomers, rest, and one period at a time."""

import math
import random

import numpy as np
import pytest

from evenmatch import rate
from evenmatch.errors import ConfigError
from evenmatch.model.match import AgedRating, Result
from evenmatch.model.ticket import POINTS_MAX, Rating
from evenmatch.ratings.base import Ratings
from evenmatch.ratings.glicko import Glicko
from evenmatch.ratings.periods import rate_period

WON = Result((("a",), ("b",)), (1, 2))
SYSTEMS = ("elo", "glicko", "glicko2:tau=0.5", "weng_lin")
BEFORE = {
    "a": Rating(1600.0, 120.0, 0.06),
    "b": Rating(1450.0, 60.0, 0.05),
    "c": Rating(1500.0, 200.0, 0.06),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_one_period_is_what_the_public_function_says(system: str) -> None:
    results = (
        WON,
        Result((("c",), ("b",)), (1, 1), wide=True),
        Result((("a", "c"), ("b",)), (2, 1)),
    )
    known = {name: AgedRating(rating) for name, rating in BEFORE.items()}

    found = rate_period(system, known, results)

    ratings = {n: {"mean": r.mean, "deviation": r.deviation} for n, r in BEFORE.items()}
    if system.startswith("glicko2"):
        ratings = {n: {**ratings[n], "volatility": r.volatility} for n, r in BEFORE.items()}
    played = [{"teams": r.teams, "ranks": r.ranks, "wide": r.wide} for r in results]
    expected = rate(system, ratings, played)
    assert {
        n: {"mean": r.mean, "deviation": r.deviation, "volatility": r.volatility}
        for n, r in found.items()
    } == expected


@pytest.mark.parametrize("system", SYSTEMS)
def test_newcomer_has_the_rating_of_the_system_and_rest_leaves_it_so(system: str) -> None:
    fresh = rate_period(system, {"a": AgedRating()}, ())["a"]

    assert rate_period(system, {"a": AgedRating(fresh, 0)}, ())["a"] == fresh
    assert rate_period(system, {"a": AgedRating(fresh, 1)}, ())["a"] == fresh


def test_glicko_rests_from_the_period_of_the_last_match_on_to_its_cap() -> None:
    rested = [
        rate_period("glicko", {"a": AgedRating(Rating(1500.0, 50.0), periods)}, ())["a"].deviation
        for periods in (0, 1, 4, 100, 5000)
    ]

    assert rested[0] == 50.0
    assert rested[1] == pytest.approx(np.hypot(50.0, 34.64))
    assert rested[2] == pytest.approx(np.hypot(50.0, 2 * 34.64))
    assert rested[3:] == [pytest.approx(350.0, abs=0.1), 350.0]


def test_glicko_makes_those_who_played_in_the_period_before_less_certain_too() -> None:
    system = Glicko()
    columns = Ratings(np.array([1600.0, 1450.0]), np.array([120.0, 60.0]), np.full(2, np.nan))
    rested = system.rest(columns, 1.0).deviation
    known = {name: AgedRating(BEFORE[name], 1) for name in "ab"}
    onset = {
        name: AgedRating(Rating(BEFORE[name].mean, float(d)))
        for name, d in zip("ab", rested, strict=True)
    }

    assert rate_period("glicko", known, (WON,)) == rate_period("glicko", onset, (WON,))


def test_glicko2_counts_only_the_periods_between_for_its_update_adds_its_own() -> None:
    known = {name: AgedRating(BEFORE[name], 1) for name in "ab"}
    fresh = {name: AgedRating(BEFORE[name], 0) for name in "ab"}
    late = {name: AgedRating(BEFORE[name], 9) for name in "ab"}

    found = rate_period("glicko2", known, (WON,))

    assert found == rate_period("glicko2", fresh, (WON,))
    assert rate_period("glicko2", late, (WON,))["a"].deviation > found["a"].deviation


def test_ratings_stay_within_bounds_that_can_be_rated_again() -> None:
    top = Rating(POINTS_MAX, POINTS_MAX)

    found = rate_period("elo:k_factor=1e9", {"a": AgedRating(top), "b": AgedRating(top)}, (WON,))

    assert found["a"].mean == POINTS_MAX
    assert all(rating.is_ratable for rating in found.values())


def test_extreme_ratings_give_ratings_that_can_be_rated_again() -> None:
    rng = random.Random(3)
    systems = (*SYSTEMS, "weng_lin:tau=0", "glicko2:tau=1e9", "elo:k_factor=1e300")
    means, deviations = (-1e9, 0.0, 1500.0, 1e9), (0.0, 1e-300, 1.0, 350.0, 1e9)
    for _ in range(500):
        known = {
            name: AgedRating(
                Rating(rng.choice(means), rng.choice(deviations), rng.choice((1e-12, 0.06, 10.0))),
                rng.choice((0, 1, 10**9)),
            )
            for name in "abcd"
        }
        result = Result((("a", "b"), ("c", "d")), rng.choice(((1, 2), (1, 1))), ("a",))

        found = rate_period(rng.choice(systems), known, (result,) * rng.choice((1, 3)))

        assert all(math.isfinite(each.mean) and each.is_ratable for each in found.values())


def test_unknown_system_is_refused_even_when_nobody_is_rated() -> None:
    with pytest.raises(ConfigError, match="no rating system is called 'trueskill'"):
        rate_period("trueskill", {}, ())


@pytest.mark.parametrize("system", SYSTEMS)
def test_game_of_one_against_one_is_rated_alone_as_it_is_among_others(system: str) -> None:
    rng = random.Random(5)
    ranges = {"mean": (-3000.0, 4000.0), "deviation": (0.0, 500.0), "volatility": (0.01, 0.3)}
    for case in range(300):
        known = {
            name: AgedRating(None if rng.random() < 0.1 else Rating(**_drawn(rng, ranges)))
            for name in "ab"
        }
        game = Result((("b",), ("a",)), rng.choice([(1, 2), (2, 1), (1, 1)]))

        alone = rate_period(system, known, (game,))
        among = rate_period(system, {**known, "c": AgedRating()}, (game,))

        assert list(alone) == ["a", "b"]
        for name in "ab":
            for field in ranges:
                value, expected = getattr(alone[name], field), getattr(among[name], field)
                assert value == pytest.approx(expected, rel=1e-9, abs=1e-9), (case, name, field)


def _drawn(rng: random.Random, ranges: dict[str, tuple[float, float]]) -> dict[str, float]:
    return {field: rng.uniform(*bounds) for field, bounds in ranges.items()}


def test_parameters_that_lead_to_no_number_leave_a_rating_within_its_bounds() -> None:
    known = {name: AgedRating(Rating(POINTS_MAX, 0.0)) for name in "ab"}

    for system in ("elo:k_factor=1e308", "glicko2:tau=1e-200", "glicko2:tau=1e200", "weng_lin"):
        found = rate_period(system, known, (WON,))
        assert all(abs(rating.mean) <= POINTS_MAX for rating in found.values()), system
        assert all(0.0 <= rating.deviation <= POINTS_MAX for rating in found.values()), system
