"""Limits that widen, and the inverse that every decision asks."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.criteria.expansion import TICKS, inverse, last_change, limit_at, round_up
from evenmatch.model.queue import Expansion

TICK = 1.0 / TICKS
STEPS = Expansion(steps=((60.0, 250.0), (120.0, 350.0)))
CURVE = Expansion(curve=((10.0, 200.0), (30.0, 300.0)))


def amounts(most: float) -> st.SearchStrategy[float]:
    """Draw a number that is 0, or so large that differences of two keep their digits."""
    return st.floats(0.0, most).map(lambda number: number if number > 1e-200 else 0.0)


LIMITS = amounts(500.0)
GAPS = amounts(3000.0)
CAPS = st.none() | st.floats(500.0, 2000.0)


@st.composite
def points(draw: st.DrawFn, limit: float) -> tuple[tuple[float, float], ...]:
    """Draw (wait, limit) pairs that rise in wait and do not fall in limit."""
    waits = sorted(draw(st.sets(st.floats(0.001, 900.0), min_size=1, max_size=6)))
    growths = draw(st.lists(amounts(300.0), min_size=len(waits), max_size=len(waits)))
    found, at = [], limit
    for wait, growth in zip(waits, growths, strict=True):
        at += growth
        found.append((wait, at))
    return tuple(found)


@st.composite
def schedules(draw: st.DrawFn) -> tuple[float, Expansion]:
    """Draw a first limit and any kind of expansion of it."""
    limit = draw(LIMITS)
    cap = draw(CAPS)
    kind = draw(st.sampled_from(("rate", "steps", "curve")))
    if kind == "rate":
        return limit, Expansion(rate=draw(st.floats(0.0, 50.0)), max=cap)
    if kind == "steps":
        return limit, Expansion(steps=draw(points(limit)), max=cap)
    return limit, Expansion(curve=draw(points(limit)), max=cap)


@pytest.mark.parametrize(
    ("wait", "limit"), [(0.0, 150.0), (60.0, 270.0), (175.0, 500.0), (1000.0, 500.0)]
)
def test_limit_grows_by_its_rate_up_to_the_cap(wait: float, limit: float) -> None:
    assert limit_at(150.0, Expansion(rate=2.0, max=500.0), wait) == limit


@pytest.mark.parametrize(
    ("wait", "limit"), [(0.0, 150.0), (59.9, 150.0), (60.0, 250.0), (120.0, 350.0), (1e6, 350.0)]
)
def test_limit_jumps_at_each_step(wait: float, limit: float) -> None:
    assert limit_at(150.0, STEPS, wait) == limit


@pytest.mark.parametrize(
    ("wait", "limit"),
    [(0.0, 100.0), (5.0, 150.0), (10.0, 200.0), (20.0, 250.0), (30.0, 300.0), (99.0, 300.0)],
)
def test_limit_follows_the_straight_lines_of_a_curve(wait: float, limit: float) -> None:
    assert limit_at(100.0, CURVE, wait) == limit


def test_curve_before_its_first_point_keeps_that_points_limit() -> None:
    assert limit_at(100.0, Expansion(curve=((0.0, 200.0), (10.0, 300.0))), -1.0) == 200.0


def test_limit_without_expansion_never_moves() -> None:
    assert limit_at(150.0, None, 1e6) == 150.0


def test_inverse_without_expansion_says_at_once_or_never() -> None:
    when = inverse(150.0, None)

    assert (when(150.0), when(150.1)) == (0.0, math.inf)


def test_inverse_of_a_rate_is_the_wait_at_which_the_limit_reaches_the_gap() -> None:
    when = inverse(150.0, Expansion(rate=2.0, max=500.0))

    assert [when(gap) for gap in (150.0, 151.0, 500.0, 500.1)] == [0.0, 0.5, 175.0, math.inf]


def test_inverse_of_a_rate_of_zero_is_never() -> None:
    assert inverse(150.0, Expansion(rate=0.0))(151.0) == math.inf


def test_inverse_of_steps_is_the_wait_of_the_first_step_that_suffices() -> None:
    when = inverse(150.0, STEPS)

    assert [when(gap) for gap in (150.0, 151.0, 250.0, 300.0, 351.0)] == [
        0.0,
        60.0,
        60.0,
        120.0,
        math.inf,
    ]


def test_cap_cuts_steps_short() -> None:
    when = inverse(150.0, Expansion(steps=STEPS.steps, max=300.0))

    assert [when(gap) for gap in (300.0, 301.0)] == [120.0, math.inf]


def test_inverse_of_a_curve_is_found_on_the_line() -> None:
    when = inverse(100.0, CURVE)

    assert [when(gap) for gap in (100.0, 150.0, 250.0, 300.0, 301.0)] == [
        0.0,
        5.0,
        20.0,
        30.0,
        math.inf,
    ]


def test_curve_that_starts_above_the_limit_accepts_at_once() -> None:
    when = inverse(100.0, Expansion(curve=((0.0, 200.0), (10.0, 300.0))))

    assert [when(gap) for gap in (150.0, 200.0, 250.0)] == [0.0, 0.0, 5.0]


def test_cap_cuts_a_curve_short() -> None:
    when = inverse(100.0, Expansion(curve=CURVE.curve, max=250.0))

    assert [when(gap) for gap in (250.0, 250.1)] == [20.0, math.inf]


@pytest.mark.parametrize(
    ("expand", "at"),
    [
        (None, 0.0),
        (Expansion(rate=0.0), 0.0),
        (Expansion(rate=2.0), math.inf),
        (Expansion(rate=2.0, max=250.0), 50.0),
        (Expansion(rate=2.0, max=100.0), 0.0),
        (STEPS, 120.0),
        (CURVE, 30.0),
    ],
)
def test_last_change_is_the_wait_after_which_nothing_grows(
    expand: Expansion | None, at: float
) -> None:
    assert last_change(expand, 150.0) == at


@pytest.mark.parametrize("seconds", [1e304, math.inf])
def test_round_up_leaves_what_is_too_large_for_ticks(seconds: float) -> None:
    assert round_up(seconds) == seconds


@given(st.floats(0.0, 1e6))
def test_round_up_gives_the_first_instant_of_the_grid(seconds: float) -> None:
    at = round_up(seconds)

    assert at * TICKS == int(at * TICKS)
    assert at - TICK < seconds <= at


@given(schedules(), GAPS)
def test_inverse_is_on_the_grid_and_the_limit_suffices_then(
    schedule: tuple[float, Expansion], gap: float
) -> None:
    limit, expand = schedule
    wait = inverse(limit, expand)(gap)

    if wait < math.inf:
        assert wait * TICKS == int(wait * TICKS)
        assert limit_at(limit, expand, wait) >= gap * (1 - 1e-12)
    else:
        assert limit_at(limit, expand, 1e7) < gap


@given(schedules(), GAPS)
def test_limit_does_not_suffice_a_tick_before_the_inverse(
    schedule: tuple[float, Expansion], gap: float
) -> None:
    limit, expand = schedule
    wait = inverse(limit, expand)(gap)

    if 0.0 < wait < math.inf:
        assert limit_at(limit, expand, wait - TICK) <= gap * (1 + 1e-12)


@given(schedules(), st.lists(GAPS, min_size=2, max_size=10))
def test_inverse_never_falls_as_the_gap_grows(
    schedule: tuple[float, Expansion], gaps: list[float]
) -> None:
    when = inverse(*schedule)
    waits = [when(gap) for gap in sorted(gaps)]

    assert waits == sorted(waits)


@given(schedules(), st.floats(0.0, 1.0))
def test_gap_within_the_first_limit_is_accepted_at_once(
    schedule: tuple[float, Expansion], part: float
) -> None:
    limit, expand = schedule

    assert inverse(limit, expand)(part * limit) == 0.0
