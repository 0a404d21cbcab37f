"""A small herd, with what must be and what must be missed."""

from tests.fault.herd import CALM_WITHIN, Herd

TICKETS = 2_000


def test_herd_is_served_and_nobody_is_lost() -> None:
    figures = Herd(TICKETS).run()

    assert (figures.lost, figures.twice) == (0, 0)
    assert sum(figures.ended.values()) == TICKETS
    assert 0.25 < figures.failed / figures.checks < 0.36
    assert figures.retries > TICKETS / 10
    assert figures.busiest < 0.04
    assert figures.calm_after < CALM_WITHIN


def test_herd_whose_retries_come_together_does_not_settle() -> None:
    together = Herd(TICKETS, jitter=False).run()
    assert together.calm_after > CALM_WITHIN
    assert together.busiest > 0.04
