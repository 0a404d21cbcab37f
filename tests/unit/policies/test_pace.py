"""The pace of `rolling`: who came T seconds ago should have left by now."""

import json
import random

import pytest

from evenmatch.policies.shared.pace import SHORTFALL, SLOTS, Pace

T = 32.0


def pace_of(**known: float) -> Pace:
    return Pace(target=T, price=0.0, wait_max=600.0, spread=0.5, k=4, memory=known)


def settled() -> Pace:
    return pace_of(quality=0.8, variance=0.0025, matches=100)


def test_lag_grows_by_who_came_a_target_ago_and_falls_by_who_leaves() -> None:
    pace = settled()
    pace.came(2, 0.0, 0.0)
    pace.came(1, 8.0, 8.0)
    pace.advance(T - 1.0, True)
    assert pace.lag == 0.0
    pace.advance(T + T / SLOTS, True)
    assert pace.lag == 2.0
    pace.advance(2.0 * T, True)
    assert pace.lag == 3.0
    pace.count_departures(2, 2.0 * T)
    assert pace.lag == 1.0


def test_match_of_usual_quality_starts_at_once_after_a_lull() -> None:
    assert settled().needed_mean_square(0.8) <= 0.0
    assert settled().needed_mean_square(0.79) > 0.0


def test_floor_rises_while_too_many_leave_and_falls_while_players_lag() -> None:
    ahead, behind = settled(), settled()
    ahead.count_departures(2, 0.0)
    behind.count_departures(-2, 0.0)
    assert behind.floor < settled().floor < ahead.floor


def test_any_match_starts_once_all_who_came_within_a_target_lag_behind() -> None:
    pace = settled()
    pace.count_departures(-4, 0.0)
    assert pace.needed_mean_square(0.0) <= 0.0


def test_crowd_may_lag_behind_by_no_more_than_chance_moves_its_number() -> None:
    # All who came within T fill 100 matches, which chance moves by the players of ten.
    pace = settled()
    pace.came(400, 0.0, 0.0)
    pace.count_departures(-39, 0.0)
    assert pace.needed_mean_square(0.0) > 0.0
    pace.count_departures(-1, 0.0)
    assert pace.needed_mean_square(0.0) <= 0.0


def test_crowd_waits_for_its_target_although_its_matches_are_worth_less_than_usual() -> None:
    pace = pace_of(quality=0.9, variance=0.0025, matches=1_000)
    waiting: list[float] = []
    waits: list[float] = []
    for step in range(10 * int(6 * T)):
        now = step / 10.0
        pace.advance(now, True)
        pace.came(2, now, now)
        waiting += [now, now]
        while len(waiting) >= 4 and pace.needed_mean_square(0.5) <= (now - waiting[0]) ** 2:
            pace.learn_from_match(0.5, 4, now - waiting[0], now)
            waits += [now - came for came in waiting[:4]]
            del waiting[:4]
    assert max(waits) == pytest.approx(T, rel=0.1)


def test_perfect_match_never_waits() -> None:
    pace = settled()
    pace.count_departures(3, 0.0)
    for _ in range(100):
        pace.learn_from_match(0.99, 4, 1.0, 0.0)
    assert pace.needed_mean_square(1.0 - SHORTFALL) <= 0.0


def test_relief_of_the_wait_that_is_needed_is_what_is_missing() -> None:
    pace = settled()
    wait = pace.needed_mean_square(0.7) ** 0.5
    assert pace.relief(wait) == pytest.approx(pace.floor - 0.7)


@pytest.mark.parametrize(("rate", "check"), [(0.2, 0.0), (2.0, 0.0), (8.0, 0.0), (4.0, 8.0)])
def test_mean_wait_is_the_target_whatever_matches_are_worth(rate: float, check: float) -> None:
    # Players one by one; the longest waiting four may start whenever chance makes them good.
    rng, pace = random.Random(5), pace_of()
    waiting: list[float] = []
    waits: list[float] = []
    now = 0.0
    for _ in range(int(4_000 + 40 * T * rate)):
        now += rng.expovariate(rate)
        pace.advance(now, True)
        pace.came(1, now, now)
        waiting.append(now)
        # What chance offers is the better, the more there are to choose from.
        quality = max(rng.gauss(0.7, 0.1) for _ in range(1 + len(waiting) // 8))
        pace.expect([quality])
        if len(waiting) >= 4 and pace.needed_mean_square(quality) <= (now - waiting[0]) ** 2:
            mean = now - sum(waiting[:4]) / 4.0
            pace.learn_from_match(quality, 4, mean, now)
            pace.confirmed(check)
            waits += [now + check - came for came in waiting[:4]]
            del waiting[:4]
    late = waits[len(waits) // 4 :]
    # Four players come in 20 s at the lowest rate, so that one in five of them waits for others.
    assert sum(late) / len(late) == pytest.approx(T, rel=0.1)


def test_who_is_asked_before_the_match_is_made_counts_as_lagging_behind() -> None:
    pace = settled()
    pace.came(16, 0.0, 0.0)
    pace.confirmed(T / 4.0)
    assert (pace.lag, pace.behind) == (0.0, 4.0)
    assert pace.floor < settled().floor
    again = pace_of(**json.loads(json.dumps(pace.memory())))
    assert again.behind == 4.0


def test_learnt_target_moves_to_where_a_second_gains_its_price() -> None:
    pace = Pace(target=None, price=0.001, wait_max=600.0, spread=1.0, k=4)
    for _ in range(200):
        pace.learn(0.02)
    assert pace.target == pytest.approx(0.02 / 0.6931471805599453 / 0.001, rel=1e-3)


def test_learnt_target_stays_in_its_bounds() -> None:
    dear = Pace(target=None, price=1e9, wait_max=100.0, spread=1.0, k=4)
    free = Pace(target=None, price=0.0, wait_max=100.0, spread=1.0, k=4)
    for _ in range(200):
        dear.learn(0.02)
        free.learn(0.02)
    assert dear.target == pytest.approx(1.0)
    assert free.target == pytest.approx(50.0)


def test_memory_brings_everything_back() -> None:
    pace = pace_of()
    for second in range(80):
        pace.advance(float(second), True)
        pace.came(1 + second % 3, float(second), float(second))
        if second % 7 == 6:
            pace.expect([0.7])
            pace.learn_from_match(0.7 + 0.01 * (second % 5), 4, 3.0, float(second))
    again = pace_of(**json.loads(json.dumps(pace.memory())))
    assert again.memory() == pace.memory()
    assert again.floor == pace.floor
    assert again.next_at == pace.next_at
