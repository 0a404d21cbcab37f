import math

import pytest

from evenmatch.lab.advise.plot import TICKS_MAX, round_counts, round_waits, time_text


@pytest.mark.parametrize("low", [1e-3, 0.07, 1.0, 20.0, 400.0, 3_000.0, 5e4])
@pytest.mark.parametrize("reach", [8.0, 64.0, 1e3, 1e5])
def test_marks_of_waits_are_round_and_neither_few_nor_many(low: float, reach: float) -> None:
    marks = round_waits(low, low * reach)
    assert 2 <= len(marks) <= TICKS_MAX
    assert marks == sorted(set(marks))
    for mark in marks:
        number, _, unit = time_text(mark).replace(",", "").partition(" ")
        assert number.strip("0.") in {"1", "2", "3", "5"}
        # The text says the mark itself, not one beside it.
        seconds = {"s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}[unit]
        assert math.isclose(float(number) * seconds, mark)


def test_a_long_axis_is_marked_in_powers_of_ten_of_its_units() -> None:
    texts = [time_text(each) for each in round_waits(0.9, 9e4)]
    assert texts == ["1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "1 d"]


def test_numbers_of_players_are_marked_without_powers() -> None:
    assert round_counts(80.0, 42_000.0) == [100, 300, 1_000, 3_000, 10_000, 30_000]
    assert round_counts(0.04, 6.0) == [0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0]
