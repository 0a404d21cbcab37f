"""The arrival rate: its formula, its memory, and what silence tells."""

from evenmatch.policies.arrival_rate import ARRIVALS, ArrivalRate


def test_rate_counts_the_guess_as_two_arrivals() -> None:
    rate = ArrivalRate(4.0)
    assert rate.rate(9.0) == 4.0
    rate.note(9.0)
    rate.note(10.0)
    assert rate.rate(10.0) == 4 / 1.5


def test_only_the_last_arrivals_count() -> None:
    rate = ArrivalRate(1.0)
    for at in range(1000):
        rate.note(float(at))
    for at in range(ARRIVALS):
        rate.note(1000.0 + at / 100)
    assert rate.rate(1000.5) == (ARRIVALS + 2) / 2.5


def test_memory_restores_the_estimate() -> None:
    rate = ArrivalRate(2.0)
    rate.note(1.0)
    rate.note(3.0)
    assert ArrivalRate(2.0, rate.memory()).rate(7.0) == rate.rate(7.0)
