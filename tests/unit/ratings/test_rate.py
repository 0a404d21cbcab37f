"""The public `rate`: dicts in, dicts out, sentences for what is wrong."""

import math
from typing import Any

import numpy as np
import pytest

import evenmatch
from evenmatch.errors import ConfigError
from evenmatch.ratings.registry import parse_system

EXAMPLE = {
    "player": {"mean": 1500.0, "deviation": 200.0, "volatility": 0.06},
    "first": {"mean": 1400.0, "deviation": 30.0, "volatility": 0.06},
    "second": {"mean": 1550.0, "deviation": 100.0, "volatility": 0.06},
    "third": {"mean": 1700.0, "deviation": 300.0, "volatility": 0.06},
}
MATCHES = [
    {"teams": [["player"], ["first"]], "ranks": [1, 2]},
    {"teams": [["second"], ["player"]], "ranks": [1, 2]},
    {"teams": [["player"], ["third"]], "ranks": [2, 1]},
]
SPECS = ["elo", "glicko", "glicko2:tau=0.5", "weng_lin"]


def duel(*ranks: float, **more: Any) -> dict[str, Any]:
    return {"teams": [["a"], ["b"]], "ranks": list(ranks), **more}


def test_rate_gives_glickmans_examples() -> None:
    glicko = evenmatch.rate("glicko", EXAMPLE, MATCHES)["player"]
    assert glicko["mean"] == pytest.approx(1464.1, abs=0.05)
    assert glicko["deviation"] == pytest.approx(151.4, abs=0.05)
    assert glicko["volatility"] is None
    second = evenmatch.rate("glicko2:tau=0.5", EXAMPLE, MATCHES)["player"]
    assert second["mean"] == pytest.approx(1464.06, abs=0.01)
    assert second["deviation"] == pytest.approx(151.52, abs=0.005)
    assert second["volatility"] == pytest.approx(0.05999, abs=1e-5)


@pytest.mark.parametrize(
    ("spec", "start"),
    [
        ("elo", (1500.0, 350.0, None)),
        ("glicko", (1500.0, 350.0, None)),
        ("glicko2", (1500.0, 350.0, 0.06)),
        ("weng_lin", (25.0, 25.0 / 3.0, None)),
    ],
)
def test_unknown_players_start_as_newcomers(
    spec: str, start: tuple[float, float, float | None]
) -> None:
    given = dict(zip(("mean", "deviation", "volatility"), start, strict=True))
    from_nothing = evenmatch.rate(spec, {}, [duel(1, 2)])
    assert from_nothing == evenmatch.rate(spec, {"a": given, "b": given}, [duel(1, 2)])
    assert from_nothing == evenmatch.rate(spec, {"a": {}, "b": {"mean": None}}, [duel(1, 2)])


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("spec", SPECS)
def test_numbers_may_be_numpys(spec: str, kind: type[np.generic]) -> None:
    plain = {"a": {"mean": 1500.0, "deviation": 200.0}, "b": {"mean": 1400.0}}
    given = {
        player: {key: kind(value) for key, value in rating.items()}  # type: ignore[call-arg]
        for player, rating in plain.items()
    }
    expected = evenmatch.rate(spec, plain, [duel(1, 2, wide=False)])
    in_numpy = [duel(kind(1), kind(2), wide=np.False_), duel() | {"ranks": np.array([1, 2], kind)}]  # type: ignore[call-arg]
    for match in in_numpy:
        assert evenmatch.rate(spec, given, [match]) == expected
    assert all(type(rating["mean"]) is float for rating in expected.values())


def test_numpys_numbers_are_checked_as_well() -> None:
    with pytest.raises(ConfigError, match="mean must be a finite number"):
        evenmatch.rate("elo", {"a": {"mean": np.float64("nan")}}, [])
    with pytest.raises(ConfigError, match="Expected `float"):
        evenmatch.rate("elo", {"a": {"mean": np.array([1.0])}}, [])


@pytest.mark.parametrize("spec", SPECS)
def test_order_of_matches_does_not_matter(spec: str) -> None:
    one = evenmatch.rate(spec, EXAMPLE, MATCHES)
    two = evenmatch.rate(spec, EXAMPLE, MATCHES[::-1])
    for player, rating in one.items():
        for key, value in rating.items():
            other = two[player][key]
            assert value is other if value is None else value == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("spec", SPECS)
def test_the_callers_ratings_stay_as_they_were(spec: str) -> None:
    copy = {player: dict(rating) for player, rating in EXAMPLE.items()}
    evenmatch.rate(spec, EXAMPLE, MATCHES)
    assert copy == EXAMPLE


@pytest.mark.parametrize("spec", SPECS)
def test_nothing_played_is_allowed(spec: str) -> None:
    assert evenmatch.rate(spec, {}, []) == {}
    after = evenmatch.rate(spec, {"a": {"mean": 1600.0, "deviation": 5.0}}, [])
    assert after["a"]["mean"] == 1600.0
    assert (after["a"]["deviation"] > 5.0) == (spec != "elo")


def test_points_with_handicap_stand_in_for_ranks() -> None:
    match = {"teams": [["a"], ["b"]], "points": [20, 18], "handicap": [0, 5]}
    assert evenmatch.rate("elo", {}, [match]) == evenmatch.rate("elo", {}, [duel(2, 1)])


def test_quitters_lose() -> None:
    after = evenmatch.rate("elo", {}, [duel(1, 2, quitters=["a"])])
    assert after == evenmatch.rate("elo", {}, [duel(2, 1)])


def test_wide_match_of_the_thread() -> None:
    ratings = {"a": {"mean": 2655.0}, "b": {"mean": 2044.0}}
    after = evenmatch.rate("elo", ratings, [duel(2, 1, wide=True)])
    assert (after["a"]["mean"], after["b"]["mean"]) == (2639.0, 2060.0)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("elu", "no rating system is called 'elu'; did you mean elo?"),
        ("", "no rating system is called ''"),
        ("glicko2:tua=1", "glicko2 has no parameter 'tua'; did you mean tau?"),
        ("glicko2:tau=x", "glicko2:tau must be a number, got 'x'"),
        ("glicko2:tau=nan", "glicko2:tau must be a finite number, got 'nan'"),
        ("glicko2:tau=0.5,tau=0.6", "with each key once"),
        ("glicko2:tau", "write name:key=value"),
        ("elo:" + "x" * 1000, "may have 1000 characters"),
    ],
)
def test_a_spec_that_cannot_be_used_is_refused(spec: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_system(spec)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("ratings", "outcome", "sentence"),
    [
        ({"a": {"mean": math.nan}}, duel(1, 2), "rating of 'a': mean must be a finite number"),
        ({"a": {"mean": math.inf}}, duel(1, 2), "rating of 'a': mean must be a finite number"),
        ({"a": {"deviation": -1.0}}, duel(1, 2), "rating of 'a': deviation must be >= 0"),
        ({"a": {"deviation": math.nan}}, duel(1, 2), "rating of 'a': deviation must be >= 0"),
        ({"a": {"volatility": -1.0}}, duel(1, 2), "rating of 'a': volatility must be > 0"),
        ({"a": {"average": 1.0}}, duel(1, 2), "rating of 'a'"),
        ({"a": {"mean": "high"}}, duel(1, 2), "rating of 'a'"),
        ({1: {"mean": 1.0}}, duel(1, 2), "a player id must be text, got 1"),
        ([], duel(1, 2), "ratings must map player ids to ratings, got list"),
        ({}, duel(1), "outcome 0 needs one rank for each team: 2 teams, got 1"),
        ({}, duel(1, math.nan), "outcome 0: every rank must be a finite number"),
        ({}, duel(1, 2, quitters=["c"]), "outcome 0: quitter 'c' is in none of its teams"),
        ({}, duel(1, 2, points=[1, 2]), "outcome 0 needs either ranks or points"),
        ({}, {"teams": [["a"], ["b"]]}, "outcome 0 needs either ranks or points"),
        ({}, duel(1, 2, handicap=[1, 2]), "outcome 0: a handicap counts only with points"),
        ({}, {"teams": [["a"], ["b"]], "points": [1, 2], "handicap": [1]}, "outcome 0: a handicap"),
        ({}, {"teams": [["a"], ["a"]], "ranks": [1, 2]}, "outcome 0 names player 'a' twice"),
        ({}, {"teams": [["a", "a"], ["b"]], "ranks": [1, 2]}, "outcome 0 names player 'a' twice"),
        ({}, {"teams": [["a"]], "ranks": [1]}, "outcome 0 needs 2 to 200 teams"),
        ({}, {"teams": [["a"], []], "ranks": [1, 2]}, "outcome 0 needs 2 to 200 teams"),
        ({}, {"teams": [[1], ["b"]], "ranks": [1, 2]}, "outcome 0: "),
        ({}, duel(1, 2, winner="a"), "outcome 0: "),
        ({}, "a beats b", "outcome 0: "),
        ({}, {"teams": [[str(i) for i in range(1000)], ["x"]], "ranks": [1, 2]}, "1000 players"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(ratings: Any, outcome: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        evenmatch.rate("glicko2", ratings, [outcome])
    assert isinstance(caught.value, ValueError)
    assert sentence in str(caught.value)
