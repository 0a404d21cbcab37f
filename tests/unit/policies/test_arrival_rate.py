"""The arrival rate: its formula, its memory, and what silence tells."""

import pytest

from evenmatch.policies.shared.arrival_rate import ArrivalRate
from evenmatch.solvers.steps.waiting import RATE_OF


def test_guess_is_ten_arrivals_in_the_time_that_costs_one_and_fades() -> None:
    rate = ArrivalRate(price=0.5)
    assert rate.rate(9.0) == 5.0
    rate.note(9.0)
    rate.note(10.0)
    # One interval of a second, and half of the prior of 0.2 s.
    assert rate.rate(10.0) == pytest.approx(2 / 1.1)


def test_only_the_last_arrivals_count() -> None:
    rate = ArrivalRate(price=1.0)
    for at in range(1000):
        rate.note(float(at))
    for at in range(RATE_OF):
        rate.note(1000.0 + at / 100)
    assert rate.rate(1000.49) == pytest.approx(RATE_OF / (0.49 + 0.1 / RATE_OF))


def test_silence_lowers_the_rate() -> None:
    rate = ArrivalRate(price=1.0)
    for at in range(10):
        rate.note(float(at))
    assert rate.rate(9.0) > 2 * rate.rate(30.0)


def test_memory_restores_the_estimate() -> None:
    rate = ArrivalRate(price=2.0)
    rate.note(1.0)
    rate.note(3.0)
    assert ArrivalRate(2.0, rate.memory()).rate(7.0) == rate.rate(7.0)
