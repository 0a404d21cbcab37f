"""Scales by hand-computed examples, and their two forms held together."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.criteria.scales import scale_gap, scale_gaps, scale_value, scale_values
from evenmatch.model.queue import Scale

LINEAR = Scale("linear", min=1000.0, max=2000.0)
CAPPED = Scale("capped", max=400.0)
LOG = Scale("log", knee=100.0, max=300.0, cap=2500.0)
NONE = Scale("none")
SCALES = (LINEAR, CAPPED, LOG, NONE)


@pytest.mark.parametrize(
    ("value", "scaled"),
    [(1000.0, 0.0), (1750.0, 0.75), (2000.0, 1.0), (900.0, 0.0), (2600.0, 1.0)],
)
def test_linear_scale_maps_values_to_the_unit_interval_and_clips(
    value: float, scaled: float
) -> None:
    assert scale_value(LINEAR, value) == scaled


@pytest.mark.parametrize("scale", [CAPPED, NONE])
def test_scales_of_gaps_leave_values_alone(scale: Scale) -> None:
    assert scale_value(scale, 12345.0) == 12345.0


def test_log_scale_cuts_values_at_its_cap() -> None:
    assert scale_value(LOG, 2400.0) == 2400.0
    assert scale_value(LOG, 2600.0) == 2500.0


@pytest.mark.parametrize(
    ("scale", "gap", "cost"),
    [
        (LINEAR, 0.25, 0.25),
        (LINEAR, 1.5, 1.0),
        (CAPPED, 100.0, 0.25),
        (CAPPED, 400.0, 1.0),
        (CAPPED, 5000.0, 1.0),
        (NONE, 5000.0, 5000.0),
    ],
)
def test_gap_costs_what_the_definition_says(scale: Scale, gap: float, cost: float) -> None:
    assert scale_gap(scale, gap) == cost


@pytest.mark.parametrize(("gap", "cost"), [(0.0, 0.0), (100.0, 0.5), (300.0, 1.0), (301.0, 1.0)])
def test_log_scale_rises_with_the_logarithm_up_to_its_max(gap: float, cost: float) -> None:
    # ln(1 + 100/100) / ln(1 + 300/100) = ln 2 / ln 4 = 1/2.
    assert math.isclose(scale_gap(LOG, gap), cost, abs_tol=1e-15)


@given(
    st.sampled_from(SCALES),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
)
def test_both_forms_of_scale_value_are_equal(scale: Scale, values: list[float]) -> None:
    table = scale_values(scale, np.array(values))

    np.testing.assert_array_equal(table, [scale_value(scale, value) for value in values])


@given(
    st.sampled_from(SCALES),
    st.lists(st.floats(0.0, 1e6), min_size=1, max_size=20),
)
def test_both_forms_of_scale_gap_are_equal(scale: Scale, gaps: list[float]) -> None:
    table = scale_gaps(scale, np.array(gaps))

    np.testing.assert_allclose(table, [scale_gap(scale, gap) for gap in gaps], rtol=1e-14, atol=0)


@given(st.sampled_from(SCALES[:3]), st.floats(0.0, 1e9), st.floats(0.0, 1e9))
def test_larger_gap_never_costs_less_and_at_most_one(scale: Scale, one: float, two: float) -> None:
    low, high = sorted((one, two))

    assert 0.0 <= scale_gap(scale, low) <= scale_gap(scale, high) <= 1.0
