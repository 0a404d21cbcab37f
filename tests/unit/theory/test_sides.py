import math
from fractions import Fraction

import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.sides import (
    figure_9,
    figure_10,
    improvement_slope,
    mean_by_formula,
    sides,
    stationary_law,
)
from tests.unit.theory.matching_chain import chain, seed_of, simulate

EDGES = [("a", "b"), ("a", "flexible"), ("b", "flexible"), ("flexible", "flexible")]

CHECKED = [  # a, b, flexible; mean_a, mean_b, mean_flexible, mean of the reference
    ((0.3, 0.3, 0.4), ("175/116", "175/116", "10/29", "121/116")),
    ((0.4, 0.3, 0.3), ("100/27", "175/162", "20/81", "203/108")),
]


@pytest.mark.parametrize(("rates", "means"), CHECKED)
def test_sides_equal_the_checked_fractions(rates, means) -> None:
    found = sides(a=rates[0], b=rates[1], flexible=rates[2])
    assert found.stable
    exact = found.exact
    assert (exact["mean_a"], exact["mean_b"], exact["mean_flexible"], exact["mean"]) == means


@pytest.mark.parametrize(
    ("rates", "mean"), [((0.45, 0.45, 0.1), "496/101"), ((0.1, 0.4, 0.5), "425/232")]
)
def test_means_of_all_equal_the_checked_fractions(rates, mean) -> None:
    assert sides(a=rates[0], b=rates[1], flexible=rates[2]).exact["mean"] == mean


GRID = [(a, b, c) for a in (0, 1, 2, 5) for b in (0, 1, 3) for c in (1, 2, 7) if c > abs(a - b)]


@pytest.mark.parametrize(("a", "b", "c"), GRID)
def test_sides_are_the_graph_exactly(a, b, c) -> None:
    found = sides(a=a, b=b, flexible=c)
    graph = compatibility_graph(rates={"a": a, "b": b, "flexible": c}, edges=EDGES)
    assert found.exact["mean"] == graph.exact["mean"]
    assert Fraction(found.exact["mean"]) == mean_by_formula(Fraction(a), Fraction(b), Fraction(c))
    for name in ("a", "b", "flexible"):
        assert found.exact[f"mean_{name}"] == graph.exact["means"][name]


def test_improvement_is_that_of_the_paper() -> None:
    for b in (0.0, 0.1, 0.25, 0.4):
        found = sides(a=0.2, b=b, flexible=0.8 - b)
        assert found.improvement_b == pytest.approx((1 - 2 * b) ** 2 / (1 - b), abs=1e-12)
        assert found.improvement_a == pytest.approx(0.6**2 / 0.8, abs=1e-12)


def test_improvement_slope_is_the_derivative() -> None:
    for b in (0.05, 0.2, 0.45):
        low, high = (sides(a=0.2, b=b + h, flexible=0.8 - b - h) for h in (-1e-4, 1e-4))
        slope = (high.improvement_b - low.improvement_b) / 2e-4
        assert improvement_slope(b) == pytest.approx(slope, abs=1e-4)
    with pytest.raises(ConfigError, match=r"b must be a share in \[0, 0.5\), got 0.5"):
        improvement_slope(0.5)


def test_too_few_flexible_are_transient_and_the_crowded_side_grows() -> None:
    found = sides(a=0.5, b=0.3, flexible=0.1)
    assert (found.stable, found.kind, found.growth) == (False, "transient", 0.1)
    assert (found.starved, found.mean, found.exact) == (("a",), None, {})
    assert sides(a=0.2, b=0.7, flexible=0.1).starved == ("b",)


def test_growth_is_what_a_simulation_shows() -> None:
    rates = {"a": 0.5, "b": 0.3, "flexible": 0.1}
    rng = seed_of("growth of sides")
    found = simulate(rates, EDGES, 100_000, rng)
    seconds = 100_000 / 0.9
    # The pool is a walk with drift .1/s and one step per arrival.
    assert abs(found["a"].waiting - 0.1 * seconds) < 4 * math.sqrt(100_000)
    assert found["b"].waiting + found["flexible"].waiting == 0


@pytest.mark.parametrize(
    ("rates", "starved"), [((0.3, 0.3, 0), ("a", "b")), ((0.3, 0.1, 0.2), ("a",))]
)
def test_boundary_is_null_recurrent(rates, starved) -> None:
    found = sides(a=rates[0], b=rates[1], flexible=rates[2])
    assert (found.stable, found.kind, found.growth) == (False, "null recurrent", 0.0)
    assert found.starved == starved


def test_stationary_law_is_that_of_the_chain() -> None:
    law = stationary_law(a=0.2, b=0.1, flexible=0.6, states=60)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    cut, means, _ = chain({"a": 0.2, "b": 0.1, "flexible": 0.6}, EDGES, 40)
    assert cut < 1e-15
    waiting = sum(i * p for i, p in law.items() if i != "flexible" and i > 0)
    assert waiting == pytest.approx(0.2 * means["a"], abs=1e-10)
    assert law["flexible"] == pytest.approx(0.6 * means["flexible"], abs=1e-10)
    with pytest.raises(ConfigError, match="has no stationary law: flexible must exceed"):
        stationary_law(a=0.5, b=0.1, flexible=0.4)


def test_sides_equal_a_simulation() -> None:
    rng = seed_of("sides")
    for _ in range(3):
        a, b = rng.uniform(0.05, 0.35, 2)
        rates = {"a": float(a), "b": float(b), "flexible": float(1 - a - b)}
        found = sides(**rates)
        drawn = simulate(rates, EDGES, 150_000, rng)
        print(rates, found.mean, drawn[""])
        for name, exact in (
            ("", found.mean),
            ("a", found.mean_a),
            ("b", found.mean_b),
            ("flexible", found.mean_flexible),
        ):
            assert abs(drawn[name].mean - exact) < (4 if name else 3) * drawn[name].error


def test_figures_show_the_small_fall_and_the_unstable_corner() -> None:
    curve = figure_10(200)
    low = min(curve, key=lambda point: point[1])
    assert (low[0], round(low[1], 6)) == (0.1475, 1.831241)
    assert [round(mean, 4) for a, mean in curve if a in (0.3, 0.4)] == [1.8796, 2.3462]
    surface = {(a, b): mean for a, b, mean in figure_9(20)}
    assert surface[0.5, 0.5] is surface[0.6, 0.1] is None
    assert surface[0.3, 0.3] == pytest.approx(121 / 116)
    with pytest.raises(ConfigError, match="parts must be from 2 to 200, got 1"):
        figure_9(1)


@pytest.mark.parametrize(
    ("rates", "sentence"),
    [
        ((-0.1, 1, 1), "a must be 0 or from 1e-12 to 1e\\+12 per second, got -0.1"),
        ((1, 1, math.nan), "flexible must be 0 or from"),
        ((1, math.inf, 1), "b must be 0 or from"),
        ((1, True, 1), "b must be a number per second, got 'True'"),
        ((0, 0, 0), "a, b, flexible must not all be 0: nobody would come"),
    ],
)
def test_bad_rates_are_one_sentence(rates, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence):
        sides(a=rates[0], b=rates[1], flexible=rates[2])
