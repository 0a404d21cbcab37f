"""The life table counts everybody who waits, for as long as they do."""

import math
import random

import pytest

from evenmatch.forecast.life_table import BINS, EDGES, KEPT_MATCHES, LifeTable, Waiter, place_of

LONG = 1e20
"""A half-life in which nothing fades."""


def filled(waits: list[tuple[float, float, bool]], now: float) -> LifeTable:
    """Return a table that saw tickets (since, wait, is matched), and then stood still until now."""
    table = LifeTable(LONG)
    table.add_row()
    happenings = [(since, 0, at) for at, (since, _, _) in enumerate(waits)]
    happenings += [(since + wait, 1, at) for at, (since, wait, _) in enumerate(waits)]
    waiters: dict[int, Waiter] = {}
    for instant, kind, at in sorted(happenings):
        if instant > now:
            break
        table.move_on(instant)
        if kind == 0:
            waiters[at] = table.enter(0, instant, instant)
        else:
            table.leave(waiters[at], instant, is_matched=waits[at][2])
    table.move_on(now)
    return table


def test_seconds_and_matches_are_those_of_a_direct_count() -> None:
    rng = random.Random(1)
    waits = [(rng.uniform(0, 500), rng.expovariate(0.02), rng.random() < 0.7) for _ in range(400)]
    now = 450.0
    counts = filled(waits, now).counts(now)
    for place in range(BINS - 1):
        low, high = EDGES[place], EDGES[place + 1]
        seconds = sum(
            max(0.0, min(high, wait, now - since) - low) for since, wait, _ in waits if since < now
        )
        matches = sum(
            is_matched and low <= wait < high and since + wait <= now
            for since, wait, is_matched in waits
        )
        assert counts.seconds[0, place] == pytest.approx(seconds, abs=1e-6)
        assert counts.matched[0, place] == matches


def test_ticket_taken_up_in_mid_wait_counts_from_then_on() -> None:
    table = LifeTable(LONG)
    table.add_row()
    waiter = table.enter(0, since=0.0, now=10.0)
    table.move_on(13.0)
    table.leave(waiter, 13.0, is_matched=True)
    counts = table.counts(13.0)
    assert counts.seconds.sum() == pytest.approx(3.0)
    assert counts.seconds[0, : place_of(10.0)].sum() == 0.0
    assert counts.matched[0, place_of(13.0)] == 1.0


def test_old_counts_fade_by_half_down_to_the_last_ones() -> None:
    table = LifeTable(100.0)
    table.add_row()
    table.move_on(0.0)
    for _ in range(400):
        table.leave(table.enter(0, 0.0, 0.0), 3.0, is_matched=True)
    for now, left in ((100.0, 200.0), (300.0, KEPT_MATCHES), (1e6, KEPT_MATCHES)):
        table.move_on(now)
        assert table.counts(now).matched.sum() == pytest.approx(left)
        assert table.counts(now).seconds.sum() == pytest.approx(3.0 * left)


def test_weights_stay_finite_for_years() -> None:
    table = LifeTable(1.0)
    table.add_row()
    for day in range(1, 200):
        now = 100.0 * day
        table.move_on(now)
        for _ in range(2 * int(KEPT_MATCHES)):
            table.leave(table.enter(0, now, now), now + 0.5, is_matched=True)
    counts = table.counts(19_900.5)
    # Those of the last day, and what was kept of the days before.
    assert counts.matched.sum() == pytest.approx(3.0 * KEPT_MATCHES, rel=0.01)
    assert counts.seconds.sum() == pytest.approx(1.5 * KEPT_MATCHES, rel=0.01)


def test_match_at_once_is_no_match_of_those_who_wait() -> None:
    table = LifeTable(LONG)
    table.add_row()
    table.leave(table.enter(0, 5.0, 5.0), 5.0, is_matched=True)
    counts = table.counts(5.0)
    assert (counts.arrived[0], counts.at_once[0], counts.matched.sum()) == (1.0, 1.0, 0.0)


def test_random_lives_lose_nobody_and_lines_stay_short() -> None:
    rng, table, now = random.Random(2), LifeTable(60.0), 0.0
    rows = [table.add_row() for _ in range(3)]
    waiting: list[Waiter] = []
    for _ in range(4_000):
        now += rng.expovariate(2.0)
        table.move_on(now)
        if waiting and rng.random() < 0.5:
            waiter = waiting.pop(rng.randrange(len(waiting)))
            table.leave(waiter, now, is_matched=rng.random() < 0.8)
        else:
            waiting.append(table.enter(rng.choice(rows), now, now))
    table._check()
    assert sum(table.waiting(row) for row in rows) == len(waiting)
    # Who is gone stays in a line no longer than its bin is wide.
    now += 1e6
    table.move_on(now)
    assert sum(map(len, table._lines)) == len(waiting)


def test_herd_goes_on_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenmatch.forecast.life_table.CROSSINGS_MOST", 50)
    table = LifeTable(LONG)
    table.add_row()
    for _ in range(200):
        table.enter(0, 0.0, 0.0)
    for step in range(20):
        table.move_on(1.0 + step / 1024)
    counts = table.counts(1.01)
    assert counts.seconds[0, 0] == pytest.approx(200.0)
    assert math.isclose(counts.seconds.sum(), 200 * 1.01)
    table._check()
