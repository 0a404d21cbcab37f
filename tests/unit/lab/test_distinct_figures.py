"""Stars stand only at differences that chance does not explain."""

import numpy as np
import pytest

from evenmatch.lab.study.study import (
    best_of,
    footnote,
    is_distinct,
    mean_and_width,
    student_t,
)


def test_a_difference_within_its_noise_marks_nobody() -> None:
    rng = np.random.default_rng(1)
    marked = 0
    for _ in range(400):
        common = rng.normal(10.0, 3.0, 10)
        pair = [(common + rng.normal(0.0, 1.0, 10)).tolist() for _ in range(2)]
        marked += bool(best_of([float(np.mean(each)) for each in pair], pair, -1))
    # At 95 % one in twenty is marked by mistake: 20 of 400, with a standard error of 4.4.
    assert marked <= 20 + 4 * 4.4


def test_pairing_finds_what_the_spread_of_the_runs_would_hide() -> None:
    common = [1.0, 50.0, 9.0, 120.0, 33.0]
    less = [value - 0.5 - 0.01 * at for at, value in enumerate(common)]
    assert best_of([42.6, 42.08], [common, less], -1) == {1}
    assert best_of([42.6, 42.08], [common, less], 1) == {0}
    assert best_of([42.6, 42.08], [common, less], 0) == set()


def test_those_who_cannot_be_told_from_the_best_are_marked_with_it() -> None:
    samples = [[1.0, 2.0, 3.0, 4.0], [1.1, 1.9, 3.1, 3.9], [11.0, 12.1, 13.0, 14.2]]
    assert best_of([2.5, 2.5, 12.6], samples, -1) == {0, 1}
    assert best_of([2.5, 2.5, 12.6], samples, 1) == {2}


@pytest.mark.parametrize("two", [[], [None, None], [3.0], [2.0, None]])
def test_what_was_not_measured_twice_marks_nobody(two: list[float | None]) -> None:
    one: list[float | None] = [1.0] * len(two)
    assert not is_distinct(one, two)
    assert best_of([1.0, 3.0], [one, two], 1) == set()


def test_a_policy_without_the_figure_is_left_out() -> None:
    assert best_of([1.0, None], [[1.0, 1.0], [None, None]], 1) == set()
    assert best_of([1.0, 2.0, None], [[1.0, 1.1], [2.0, 2.1], [None, None]], 1) == {1}


def test_rounding_is_no_difference() -> None:
    one = [3.367147033987792, 3.3671470339877925, 3.367147033987792]
    two = [3.3671470339877922 + 1e-15] * 3
    assert mean_and_width(one)[1] == 0.0
    assert not is_distinct(one, two)
    assert is_distinct(one, [value + 1e-6 for value in one])


def test_a_small_spread_is_no_rounding() -> None:
    assert mean_and_width([1e-12, 2e-12])[1] == pytest.approx(student_t(1) * 0.5e-12)
    assert mean_and_width([0.0, 0.0]) == (0.0, 0.0)


def test_the_footnote_says_what_was_compared() -> None:
    assert "over 8 runs, 95 %" in footnote(8)
    assert "over 10 equal shares of the run, 95 %" in footnote(1)
