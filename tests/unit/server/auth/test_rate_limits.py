"""Buckets of requests."""

from hypothesis import given
from hypothesis import strategies as st

from evenmatch.server.auth.rate_limits import Buckets


def test_burst_then_a_steady_rate() -> None:
    buckets = Buckets(2.0, 5.0)
    taken = [buckets.take("ann", 100.0) for _ in range(7)]
    assert taken[:5] == [0.0] * 5
    assert taken[5] == 0.5
    assert taken[6] == 0.5, "who was refused owes nothing more"
    assert buckets.take("bob", 100.0) == 0.0
    assert buckets.take("ann", 100.5) == 0.0
    assert buckets.take("ann", 100.5) > 0.0
    assert buckets.missing("ann", 200.0) == 0.0


@given(
    st.lists(st.floats(0.0, 0.5), min_size=1, max_size=200),
    st.floats(0.5, 50.0),
    st.integers(1, 20),
)
def test_no_caller_gets_more_than_burst_and_rate(
    gaps: list[float], rate: float, burst: int
) -> None:
    buckets, now, taken = Buckets(rate, burst), 0.0, 0
    for gap in gaps:
        now += gap
        taken += buckets.take("ann", now) == 0.0
        # Half a request of tolerance for sums of floats.
        assert taken <= burst + rate * now + 0.5 + 1e-6


def test_callers_are_bounded_and_the_busiest_are_remembered() -> None:
    buckets = Buckets(1.0, 3.0, most=100)
    for _ in range(3):
        assert buckets.take("flood", 0.0) == 0.0
    for number in range(1000):
        buckets.take(f"p{number}", 0.0)
        assert len(buckets) <= 100
    assert buckets.take("flood", 0.0) > 0.0
