"""Timers: the earliest instant counts, and whoever leaves takes the right ones along."""

import math
import random

import pytest

from evenmatch.policies.shared.timers import STALE_MAX, Timers


def test_without_timers_nothing_is_ever_due() -> None:
    timers = Timers()

    assert timers.next() == math.inf
    assert timers.pop_due(1e9, fired=True) == []


def test_next_is_the_earliest_instant() -> None:
    timers = Timers()
    timers.put(1, math.inf, (), 0.0)
    timers.put(2, 9.0, (1,), 0.0)
    timers.put(3, 7.0, (1, 2), 0.0)

    assert timers.next() == 7.0


def test_timer_that_is_set_again_forgets_its_old_instant() -> None:
    timers = Timers()
    timers.put(1, math.inf, (), 0.0)
    timers.put(2, 5.0, (1,), 0.0)

    timers.put(2, 8.0, (), 0.0)

    assert timers.next() == 8.0
    assert timers.drop(1) == []
    timers._check({2})


def test_dropping_a_ticket_names_those_whose_timers_it_helped_to_set() -> None:
    timers = Timers()
    timers.put(1, math.inf, (), 0.0)
    timers.put(3, 5.0, (1,), 0.0)
    timers.put(2, 5.0, (1,), 0.0)
    timers.put(4, 6.0, (3,), 0.0)

    assert timers.drop(1) == [2, 3]


def test_dropping_a_dependent_first_leaves_nothing_behind() -> None:
    timers = Timers()
    timers.put(1, math.inf, (), 0.0)
    timers.put(2, 5.0, (1,), 0.0)

    assert timers.drop(2) == []

    assert timers.drop(1) == []
    assert timers.next() == math.inf


def test_due_tickets_come_in_order_of_acceptance_and_once() -> None:
    timers = Timers()
    for sequence, at in ((3, 1.0), (1, 2.0), (2, 3.0)):
        timers.put(sequence, at, (), 0.0)

    assert timers.pop_due(2.0, fired=True) == [1, 3]
    assert timers.pop_due(2.0, fired=True) == []
    assert timers.next() == 3.0


def test_instant_equal_to_now_is_due_only_when_fired() -> None:
    timers = Timers()
    timers.put(1, 5.0, (), 0.0)

    assert timers.pop_due(5.0, fired=False) == []
    assert timers.next() == 5.0
    assert not timers.is_due(1, 5.0, fired=False)
    assert timers.is_due(1, 5.0, fired=True)
    assert timers.pop_due(5.0, fired=True) == [1]


def test_instant_of_the_tickets_own_arrival_is_due_at_once() -> None:
    timers = Timers()
    timers.put(1, 5.0, (), 5.0)

    assert timers.is_due(1, 5.0, fired=False)
    assert timers.pop_due(5.0, fired=False) == [1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_stress_against_a_plain_dict(seed: int) -> None:
    rng = random.Random(seed)
    timers = Timers()
    rows: dict[int, tuple[float, tuple[int, ...]]] = {}

    def put(sequence: int) -> None:
        older = [other for other in rows if other < sequence]
        needs = tuple(rng.sample(older, min(len(older), rng.randrange(3))))
        at = rng.choice((math.inf, float(rng.randrange(20))))
        rows[sequence] = (at, needs)
        timers.put(sequence, at, needs, -1.0)

    for sequence in range(300):
        if rows and rng.random() < 0.4:
            gone = rng.choice(list(rows))
            del rows[gone]
            stale = timers.drop(gone)
            assert stale == sorted(s for s, (_, needs) in rows.items() if gone in needs)
            for other in stale:
                put(other)
        else:
            put(sequence)
        timers._check(set(rows))
        assert timers.next() == min((at for at, _ in rows.values()), default=math.inf)


def test_heap_of_timers_that_come_and_go_stays_small() -> None:
    timers = Timers()
    timers.put(1, 1e9, (), 0.0)
    timers.put(2, 1e9, (), 0.0)

    for sequence in range(3, 20_000):
        timers.put(sequence, 2e9, (), 0.0)
        timers.drop(sequence)

    assert len(timers._heap) <= 2 * 3 + STALE_MAX
    assert timers.pop_due(1e9, fired=True) == [1, 2]


def test_timers_that_are_due_come_out_as_many_at_a_time_as_asked_for() -> None:
    timers = Timers()
    for sequence in range(1, 6):
        timers.put(sequence, 2.0 if sequence % 2 else 1.0, (), 1.0)

    assert timers.pop_due(2.0, fired=True, most=3) == [1, 2, 4]
    assert timers.pop_due(2.0, fired=True, most=3) == [3, 5]
    assert timers.next() == math.inf


def test_timers_that_are_due_only_when_fired_are_left_alone_by_other_calls() -> None:
    timers = Timers()
    timers.put(1, 5.0, (), 0.0)
    timers.put(2, 5.0, (), 5.0)

    assert timers.pop_due(5.0, fired=False) == [2]
    assert timers.next() == 5.0
    assert timers.pop_due(5.0, fired=True) == [1]
