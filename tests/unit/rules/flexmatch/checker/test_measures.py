"""Numbers of the checker are exact where they can be."""

from fractions import Fraction

import pytest

from evenmatch.rules.flexmatch.checker.match import exact
from evenmatch.rules.flexmatch.checker.measures import NoValue, intersection, root, union


@pytest.mark.parametrize(
    ("square", "side"),
    [(Fraction(36, 169), Fraction(6, 13)), (Fraction(4), Fraction(2)), (Fraction(0), Fraction(0))],
)
def test_root_of_a_square_is_exact(square: Fraction, side: Fraction) -> None:
    assert root(square) == side


@pytest.mark.parametrize("square", [Fraction(2), Fraction(4, 3), Fraction(1, 2)])
def test_other_roots_have_twenty_digits(square: Fraction) -> None:
    side = root(square)
    assert 0 <= square - side * side < Fraction(4, 10**20)


def test_numbers_are_what_their_decimals_say() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1e-7) == Fraction(1, 10**7)
    assert exact(3) == 3


def test_sets_keep_their_order_and_hold_each_value_once() -> None:
    assert union([["b", "a"], ["a", "c", "c"]]) == ["b", "a", "c"]
    assert intersection([["b", "a", "b"], ["a", "b", "c"]]) == ["b", "a"]
    assert union([]) == []
    with pytest.raises(NoValue):
        intersection([])
