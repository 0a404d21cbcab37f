"""What holds for all ratings and all outcomes."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch import rate
from evenmatch.errors import ConfigError
from tests.extent import extent

SPECS = ["elo", "glicko", "glicko2", "glicko2:tau=1.2", "weng_lin", "weng_lin:tau=0"]
NAMES = "abcdefgh"

given_ratings = st.dictionaries(
    st.sampled_from(NAMES),
    st.fixed_dictionaries(
        {
            "mean": st.floats(-4000.0, 6000.0),
            "deviation": st.floats(0.5, 350.0) | st.just(0.0),
            "volatility": st.floats(0.01, 0.3),
        }
    ),
)


@st.composite
def outcome(draw: st.DrawFn, size: int | None = None) -> dict[str, Any]:
    """Return a match; with `size`, of two teams of this size."""
    players = draw(st.permutations(NAMES))
    sizes = [size, size] if size else draw(st.lists(st.integers(1, 3), min_size=2, max_size=4))
    teams: list[list[str]] = []
    for each in sizes:
        team, players = players[:each], players[each:]
        if team:
            teams.append(team)
    ranks = draw(st.lists(st.integers(1, 3), min_size=len(teams), max_size=len(teams)))
    seated = [player for team in teams for player in team]
    quitters = [] if size else draw(st.lists(st.sampled_from(seated), max_size=2))
    return {"teams": teams, "ranks": ranks, "quitters": quitters, "wide": draw(st.booleans())}


@pytest.mark.parametrize("spec", SPECS)
@given(ratings=given_ratings, outcomes=st.lists(outcome(), max_size=8))
def test_ratings_stay_finite_and_deviations_bounded(
    spec: str, ratings: dict[str, Any], outcomes: list[dict[str, Any]]
) -> None:
    largest = {"weng_lin": math.hypot(25 / 3, 25 / 300), "weng_lin:tau=0": 25 / 3}.get(spec, 350.0)
    for player, rating in rate(spec, ratings, outcomes).items():
        before = ratings.get(player, {"deviation": largest})["deviation"]
        assert math.isfinite(rating["mean"])
        assert 0.0 <= rating["deviation"] <= max(before, largest) * (1 + 1e-12)
        assert rating["volatility"] is None or 0.0 < rating["volatility"] < math.inf


@pytest.mark.parametrize("spec", SPECS)
@given(ratings=given_ratings, outcomes=st.lists(outcome(), max_size=8), data=st.data())
def test_order_of_matches_does_not_matter(
    spec: str, ratings: dict[str, Any], outcomes: list[dict[str, Any]], data: st.DataObject
) -> None:
    after = rate(spec, ratings, outcomes)
    shuffled = rate(spec, ratings, data.draw(st.permutations(outcomes)))
    assert_same(after, shuffled)


@pytest.mark.parametrize("spec", SPECS)
@given(ratings=given_ratings, outcomes=st.lists(outcome(), max_size=8), data=st.data())
def test_relabelling_players_relabels_the_result(
    spec: str, ratings: dict[str, Any], outcomes: list[dict[str, Any]], data: st.DataObject
) -> None:
    new = dict(zip(NAMES, data.draw(st.permutations(NAMES)), strict=True))
    renamed = [
        {
            **each,
            "teams": [[new[player] for player in team] for team in each["teams"]],
            "quitters": [new[player] for player in each["quitters"]],
        }
        for each in outcomes
    ]
    after = {new[player]: rating for player, rating in rate(spec, ratings, outcomes).items()}
    other = rate(spec, {new[player]: rating for player, rating in ratings.items()}, renamed)
    assert_same(after, other)


@pytest.mark.parametrize("spec", SPECS)
@given(ratings=given_ratings, one=outcome(), data=st.data())
def test_order_of_teams_in_a_match_does_not_matter(
    spec: str, ratings: dict[str, Any], one: dict[str, Any], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(one["teams"]))))
    turned = {
        **one,
        "teams": [one["teams"][i] for i in order],
        "ranks": [one["ranks"][i] for i in order],
    }
    assert_same(rate(spec, ratings, [one]), rate(spec, ratings, [turned]))


@settings(max_examples=extent(50, 200))
@given(ratings=given_ratings, data=st.data(), size=st.integers(1, 4))
def test_elo_takes_from_one_what_it_gives_to_another(
    ratings: dict[str, Any], data: st.DataObject, size: int
) -> None:
    outcomes = data.draw(st.lists(outcome(size), max_size=8))
    everybody = {name: ratings.get(name, {"mean": 1500.0}) for name in NAMES}
    after = rate("elo", everybody, outcomes)
    change = math.fsum(after[name]["mean"] - everybody[name]["mean"] for name in NAMES)
    assert change == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("spec", SPECS)
@given(ratings=given_ratings)
def test_winning_a_duel_never_lowers_a_mean(spec: str, ratings: dict[str, Any]) -> None:
    start = rate(spec, {"a": {}, "b": {}} | ratings, [])
    after = rate(spec, ratings, [{"teams": [["a"], ["b"]], "ranks": [1, 2]}])
    assert after["a"]["mean"] >= start["a"]["mean"]
    assert after["b"]["mean"] <= start["b"]["mean"]


def assert_same(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert one.keys() == two.keys()
    for player, rating in one.items():
        for key, value in rating.items():
            other = two[player][key]
            if value is None or other is None:
                assert value is other
            else:
                assert value == pytest.approx(other, rel=1e-6, abs=1e-6), (player, key)


@pytest.mark.parametrize("spec", [*SPECS, "glicko:deviation_min=30"])
@given(
    ratings=given_ratings,
    first=st.sampled_from("ab"),
    score=st.sampled_from([(1, 2), (2, 1), (3, 3), (2**53, 2**53 + 1)]),
    by_points=st.booleans(),
)
def test_one_game_of_two_comes_out_as_it_does_in_a_period(
    spec: str, ratings: dict[str, Any], first: str, score: tuple[int, int], by_points: bool
) -> None:
    pair = {name: ratings[name] for name in "ab" if name in ratings}
    second = "b" if first == "a" else "a"
    game = {"teams": [[first], [second]], "points" if by_points else "ranks": list(score)}
    alone = rate(spec, pair, [game])
    # Quitters that nobody is make the long way of the same game.
    general = rate(spec, pair, [{**game, "quitters": []}])
    assert list(alone) == list(general)
    for name, rating in general.items():
        own = alone[name]
        assert (own["volatility"] is None) == (rating["volatility"] is None)
        for key in ("mean", "deviation", "volatility"):
            assert (own[key] or 0.0) == pytest.approx(rating[key] or 0.0, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(
    "game",
    [
        {"teams": ["a", "b"], "ranks": [1, 2]},
        {"teams": [["a"], ["a"]], "ranks": [1, 2]},
        {"teams": [["a"], ["b"]], "ranks": [1, math.nan]},
        {"teams": [["a"], ["b"]], "ranks": [True, "2"]},
        {"teams": [["a"], ["b"]], "score": [1, 2]},
        {"teams": [["a"], ["b"]], "ranks": [1, 2, 3]},
        {"teams": [["a"], [7]], "ranks": [1, 2]},
        {"teams": [["a"], ["b"]], "ranks": [10**400, 2]},
        {"teams": [["a"], ["b"]], "points": [10**400, 2.0]},
    ],
)
def test_one_bad_game_is_refused(game: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        rate("elo", {"a": {"mean": 1500.0}}, [game])


@pytest.mark.parametrize(
    "rating",
    [
        {"mean": math.inf},
        {"mean": "x"},
        {"deviation": -1.0},
        {"volatility": 0.0},
        {"mean": 10**400},
        {"men": 1.0},
        3.0,
        None,
    ],
)
def test_one_bad_rating_is_refused(rating: Any) -> None:
    with pytest.raises(ConfigError):
        rate("glicko2", {"a": rating}, [{"teams": [["a"], ["b"]], "ranks": [1, 2]}])
