import math

from evenmatch.policies.parts.pace import Pace
from evenmatch.testing import ticket


def learnt(price: float = 0.001, **known: float) -> Pace:
    return Pace(price, 2.0, 600.0, {"quality": 0.8, "variance": 0.0025, "wait": 60.0, **known})


def test_match_of_usual_quality_starts_after_the_usual_wait() -> None:
    pace = learnt()
    together = [ticket("a", 1, at=10.0), ticket("b", 1, at=10.0)]
    assert math.isclose(pace.ready_at(together, 0.8), 70.0, abs_tol=1e-5)


def test_better_match_starts_sooner_and_a_worse_one_later() -> None:
    pace = learnt()
    apart = [ticket("a", 1, at=0.0), ticket("b", 1, at=20.0)]
    # A standard deviation of .05 is half of what a wait of W makes up for. They came 10 s before
    # and after the mean, so their mean square is that of the mean wait and 100.
    assert math.isclose(pace.ready_at(apart, 0.85), 10.0 + math.sqrt(1_700.0), abs_tol=1e-5)
    assert math.isclose(pace.ready_at(apart, 0.75), 10.0 + math.sqrt(5_300.0), abs_tol=1e-5)


def test_match_is_ready_when_what_its_players_are_due_reaches_what_it_lacks() -> None:
    pace = learnt()
    apart = [ticket("a", 1, at=0.0), ticket("b", 1, at=35.0), ticket("c", 1, at=50.0)]
    at = pace.ready_at(apart, 0.7)
    fallen = math.fsum(pace.relief(at - t.enqueued_at) for t in apart) / 3.0
    assert math.isclose(fallen, pace.high - 0.7, abs_tol=1e-6)


def test_match_as_good_as_any_starts_before_its_players_came() -> None:
    pace = learnt()
    assert pace.ready_at([ticket("a", 1, at=0.0), ticket("b", 1, at=20.0)], 0.95) < 20.0


def test_party_counts_with_all_its_players() -> None:
    pace = learnt()
    friends = [ticket("a", 1, 1, 1, at=0.0), ticket("b", 1, at=20.0)]
    assert math.isclose(pace.ready_at(friends, 0.8), 5.0 + math.sqrt(3_525.0), abs_tol=1e-5)


def played_at_gain(offered: float) -> float:
    pace = learnt()
    for second in range(200):
        pace.arrived(float(second), offered, 1)
        if second % 10 == 9:
            pace.played(0.8, float(second))
    return pace.wait


def test_usual_wait_grows_while_arrivals_bring_more_than_a_second_costs() -> None:
    assert played_at_gain(0.004) > 60.0


def test_usual_wait_falls_where_nobody_who_comes_fits() -> None:
    assert played_at_gain(0.0) < 60.0


def test_usual_wait_stays_in_its_bounds() -> None:
    pace = Pace(0.0, 2.0, 100.0)
    assert pace.wait == 50.0
    assert Pace(1e9, 2.0, 100.0).wait == 1.0


def test_memory_brings_everything_back() -> None:
    pace = learnt()
    for second in range(30):
        pace.arrived(float(second), 0.01 * (second % 3), second % 2)
        pace.played(0.7 + 0.01 * (second % 5), second + 0.5)
    again = Pace(0.001, 2.0, 600.0, pace.memory())
    assert again.memory() == pace.memory()
    assert again.gain(40.0) == pace.gain(40.0)
