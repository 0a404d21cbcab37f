import time

import pytest

from evenmatch.criteria.expansion import TICKS
from evenmatch.server.runtime.clock import Clock, Clocks, resumed_at


class Hand:
    """A monotonic clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def test_instants_lie_on_the_grid_and_never_fall() -> None:
    hand = Hand()
    clock = Clock(0.1, monotonic=hand)
    before = 0.1
    for step in (0.0, 1e-9, 0.3, 1e-7, 12.34567):
        hand.at += step
        now = clock.now()
        assert now * TICKS == int(now * TICKS)
        assert now >= before
        before = now


def test_speed_is_engine_seconds_per_real_second() -> None:
    hand = Hand()
    clock = Clock(0.0, speed=60.0, monotonic=hand)
    hand.at += 2.0
    assert clock.now() == 120.0
    assert clock.delay(180.0) == 1.0
    assert clock.delay(0.0) == 0.0


@pytest.mark.parametrize(
    ("away", "expected"), [(0.0, 50.0), (20.0, 70.0), (3_600.0, 110.0), (-3_600.0, 50.0)]
)
def test_pause_counts_for_a_minute_at_most(away: float, expected: float) -> None:
    assert resumed_at(50.0, 1_000.0, 1_000.0 + away) == expected


def test_lease_counts_the_time_for_which_the_machine_is_suspended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = {"suspended": 100.0}
    monkeypatch.setattr(time, "CLOCK_BOOTTIME", "suspended", raising=False)
    monkeypatch.setattr(time, "clock_gettime", shown.__getitem__)
    lease = Clocks().lease
    before = lease()
    shown["suspended"] += 3_600.0
    assert lease() - before == 3_600.0
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    assert lease() == 7.0
