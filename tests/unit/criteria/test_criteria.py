"""Criteria: each by hand, and the table form against the reference that defines it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.criteria.kinds.numeric import MeanGap, imbalance, mean_gap, spread
from evenmatch.criteria.registry import numeric_kind
from evenmatch.criteria.scales import scale_value, scale_values
from evenmatch.model.queue import Criterion, Scale
from tests.extent import extent

CRITERIA = (
    Criterion("spread", "rating", scale=Scale("linear", 0.0, 3000.0)),
    Criterion("spread", "rating", scale=Scale("capped", max=500.0)),
    Criterion("mean_gap", "rating", scale=Scale("linear", 0.0, 3000.0)),
    Criterion("mean_gap", "rating", scale=Scale("log", knee=50.0, max=900.0, cap=2000.0)),
    Criterion("imbalance", "rating", scale=Scale("linear", 0.0, 3000.0)),
    Criterion("imbalance", "rating", scale=Scale("capped", max=2000.0), measure="sum"),
)


@st.composite
def matches(draw: st.DrawFn) -> tuple[tuple[int, ...], list[list[float]]]:
    """Draw a layout, uneven teams included, and the players' values of a few matches."""
    layout = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    k = sum(layout)
    row = st.lists(st.integers(0, 3000).map(float), min_size=k, max_size=k)
    return layout, draw(st.lists(row, min_size=1, max_size=4))


def by_team(row: list[float], layout: tuple[int, ...]) -> list[list[float]]:
    """Cut one match's values into teams."""
    teams, start = [], 0
    for size in layout:
        teams.append(row[start : start + size])
        start += size
    return teams


def test_spread_is_the_range_over_all_players() -> None:
    assert spread([[3.0, 10.0], [7.0]]) == 7.0


def test_mean_gap_is_the_mean_over_all_pairs() -> None:
    # Pairs: 3-10, 3-7, 10-7 -> (7 + 4 + 3) / 3.
    assert mean_gap([[3.0, 10.0], [7.0]]) == pytest.approx(14.0 / 3.0, abs=1e-15)


def test_mean_gap_of_one_player_is_nothing() -> None:
    assert mean_gap([[3.0]]) == 0.0


def test_imbalance_compares_means_of_uneven_teams() -> None:
    assert imbalance([[10.0], [4.0, 6.0, 5.0, 5.0]]) == 5.0


def test_imbalance_compares_sums_where_asked() -> None:
    assert imbalance([[10.0], [4.0, 6.0, 5.0, 5.0]], "sum") == 10.0


def test_imbalance_is_between_the_two_most_different_teams() -> None:
    assert imbalance([[1.0], [5.0], [9.0]]) == 8.0


@pytest.mark.parametrize(
    ("gap", "rounded"), [(0.0, 0.0), (0.24, 0.0), (0.25, 0.25), (0.7, 0.5), (0.75 - 1e-12, 0.75)]
)
def test_imbalance_of_sums_is_rounded_down_to_steps(gap: float, rounded: float) -> None:
    assert imbalance([[gap], [0.0]], "sum", 0.25) == rounded


def test_step_does_not_touch_means() -> None:
    assert imbalance([[0.7], [0.0]], "mean", 0.25) == 0.7


@pytest.mark.parametrize(("kind", "gap"), [("spread", 7.0), ("imbalance", 0.5)])
def test_gap_of_dispatches_by_kind(kind: str, gap: float) -> None:
    assert numeric_kind(Criterion(kind)).gap_of([[3.0, 10.0], [7.0]]) == gap


def test_gap_of_mean_gap() -> None:
    assert MeanGap.gap_of([[1.0], [4.0]]) == 3.0


def test_reference_scales_the_gap() -> None:
    criterion = Criterion("spread", "rating", scale=Scale("capped", max=400.0))

    assert numeric_kind(criterion).reference(criterion, [[1500.0], [1600.0]]) == 0.25


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: f"{c.kind}-{c.scale.kind}")
@settings(deadline=None, max_examples=extent(20, 50))
@given(drawn=matches())
def test_table_equals_the_reference(
    criterion: Criterion, drawn: tuple[tuple[int, ...], list[list[float]]]
) -> None:
    layout, rows = drawn
    values = scale_values(criterion.scale, np.array(rows))

    costs = numeric_kind(criterion).table(criterion, values, layout)

    expected = [
        numeric_kind(criterion).reference(
            criterion,
            [[scale_value(criterion.scale, v) for v in team] for team in by_team(row, layout)],
        )
        for row in rows
    ]
    np.testing.assert_allclose(costs, expected, rtol=0, atol=1e-12)


@settings(deadline=None, max_examples=extent(20, 50))
@given(drawn=matches(), step=st.sampled_from((0.0, 1.0, 25.0, 1000.0)))
def test_table_of_raw_sums_equals_the_reference_with_and_without_steps(
    drawn: tuple[tuple[int, ...], list[list[float]]], step: float
) -> None:
    layout, rows = drawn
    criterion = Criterion("imbalance", "n", scale=Scale("none"), measure="sum", step=step)

    costs = numeric_kind(criterion).table(criterion, np.array(rows), layout)

    expected = [numeric_kind(criterion).reference(criterion, by_team(row, layout)) for row in rows]
    np.testing.assert_allclose(costs, expected, rtol=0, atol=1e-12)


def test_table_of_mean_gap_with_one_seat_is_nothing() -> None:
    criterion = Criterion("mean_gap", "n", scale=Scale("none"))

    assert MeanGap.table(criterion, np.array([[5.0], [9.0]]), (1,)).tolist() == [
        0.0,
        0.0,
    ]


@settings(deadline=None, max_examples=extent(20, 50))
@given(drawn=matches())
def test_criterion_scaled_to_the_unit_interval_stays_in_it(
    drawn: tuple[tuple[int, ...], list[list[float]]],
) -> None:
    layout, rows = drawn
    for criterion in CRITERIA:
        values = scale_values(criterion.scale, np.array(rows))
        costs = numeric_kind(criterion).table(criterion, values, layout)
        assert all(0.0 <= cost <= 1.0 and math.isfinite(cost) for cost in costs)
