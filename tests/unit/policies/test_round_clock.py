"""The clock of rounds: first entry + n * every, whoever asks and however often."""

import math

from evenmatch.policies.shared.round_clock import RoundClock


def test_first_entry_sets_the_beat() -> None:
    clock = RoundClock(2.0, {})
    clock.start(5.0)
    clock.start(5.5)

    assert clock.round_at == 7.0
    assert not clock.is_due(7.0, fired=False)
    assert clock.is_due(7.0, fired=True)
    assert clock.is_due(7.5, fired=False)


def test_beat_goes_on_while_the_clock_stands() -> None:
    clock = RoundClock(2.0, {})
    clock.start(5.0)
    clock.stop()
    assert clock.round_at == math.inf

    clock.start(12.0)

    assert clock.round_at == 13.0


def test_move_goes_beyond_now_even_from_a_beat() -> None:
    clock = RoundClock(2.0, {})
    clock.start(5.0)
    clock.move_on(9.0)

    assert clock.round_at == 11.0


def test_beat_off_the_time_grid_still_moves_on() -> None:
    clock = RoundClock(0.1, {})
    clock.start(0.3)
    for _ in range(500):
        before = clock.round_at
        clock.move_on(before)
        assert before < clock.round_at < before + 0.11


def test_memory_keeps_the_beat() -> None:
    before = RoundClock(2.0, {})
    before.start(5.0)
    after = RoundClock(2.0, before.memory())
    after.start(6.5)

    assert after.round_at == 7.0
    assert RoundClock(2.0, {}).memory() == {"anchor": None, "round_at": None}
