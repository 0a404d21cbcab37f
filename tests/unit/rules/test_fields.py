"""Numbers that stand in quotes."""

import pytest

from evenmatch.rules.fields import number_of
from evenmatch.rules.json_text import Json


@pytest.mark.parametrize(
    ("value", "number"),
    [(2.5, 2.5), ("2", 2), (" -2.5e1 ", -25), ("0", 0)],
)
def test_number_is_taken_out_of_quotes(value: Json, number: float) -> None:
    assert number_of(value) == number


@pytest.mark.parametrize(
    "value",
    [None, True, [], {}, "", " ", "two", "1_000", "\u0661", "inf", "-inf", "nan", "1e999", "0x10"],
)
def test_anything_else_is_no_number(value: Json) -> None:
    assert number_of(value) is None
