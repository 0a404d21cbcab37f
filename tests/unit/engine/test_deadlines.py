"""Deadlines come in order, and those whose owner is gone are skipped."""

import math

from evenmatch.engine.matching.deadlines import Deadlines, Entry


def entry(at: float, sequence: int) -> Entry:
    return (at, sequence, f"t{sequence}", "main")


def test_without_entries_nothing_is_ever_due() -> None:
    deadlines = Deadlines(lambda _: True)

    assert deadlines.next() == math.inf
    assert deadlines.take_due(1e9) == []


def test_due_entries_are_taken_out_in_order_of_instant_then_sequence() -> None:
    deadlines = Deadlines(lambda _: True)
    for at, sequence in ((9.0, 4), (5.0, 3), (5.0, 2), (7.0, 1)):
        deadlines.add(entry(at, sequence))

    assert deadlines.take_due(7.0) == [entry(5.0, 2), entry(5.0, 3), entry(7.0, 1)]
    assert deadlines.next() == 9.0
    assert deadlines.take_due(8.0) == []


def test_entries_whose_owner_is_gone_do_not_count() -> None:
    gone = {"t1", "t3"}
    deadlines = Deadlines(lambda each: each[2] not in gone)
    for sequence in range(1, 5):
        deadlines.add(entry(float(sequence), sequence))

    assert deadlines.next() == 2.0
    assert deadlines.take_due(10.0) == [entry(2.0, 2), entry(4.0, 4)]


def test_heap_is_swept_when_it_has_doubled() -> None:
    alive = {"t1"}
    deadlines = Deadlines(lambda each: each[2] in alive)
    deadlines.add(entry(1e6, 1))

    for sequence in range(2, 5_000):
        deadlines.add(entry(float(sequence), sequence))

    assert len(deadlines.pending) <= 1_024
    assert deadlines.next() == 1e6


def test_equal_entries_are_swept_too() -> None:
    deadlines = Deadlines(lambda _: True)
    for _ in range(3_000):
        deadlines.add(entry(9.0, 1))

    assert len(deadlines.pending) <= 1_024


def test_living_entries_survive_the_sweep() -> None:
    deadlines = Deadlines(lambda _: True)
    for sequence in range(3_000, 0, -1):
        deadlines.add(entry(float(sequence), sequence))

    assert [each[1] for each in deadlines.take_due(1e9)] == list(range(1, 3_001))


def test_due_entries_are_found_in_order_and_stay() -> None:
    dead = {3, 11}
    deadlines = Deadlines(lambda each: each[1] not in dead)
    instants = [9.0, 2.0, 7.0, 4.0, 5.0, 1.0, 8.0, 2.0, 6.0, 3.0, 2.5, 7.5]
    for sequence, at in enumerate(instants):
        deadlines.add(entry(at, sequence))
    alive = [entry(at, each) for each, at in enumerate(instants) if each not in dead]
    for now in (0.5, 1.0, 2.0, 6.5, 9.0):
        assert deadlines.due(now) == sorted(each for each in alive if each[0] <= now)
    assert len(deadlines.pending) == len(instants)
