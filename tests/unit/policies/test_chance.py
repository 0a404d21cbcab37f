"""Chance belongs to (seed, queue, sequence, number of the draw) and to nothing else."""

import math

import pytest

from evenmatch.policies.shared.chance import Chance


def test_same_ticket_draws_the_same_whoever_drew_before() -> None:
    fresh, used = Chance(1, "duel"), Chance(1, "duel")
    for sequence in range(50):
        used.uniform(sequence)

    assert fresh.uniform(7) == used.uniform(7)


def test_seed_queue_ticket_and_number_each_make_another_draw() -> None:
    draws = [
        Chance(1, "duel").uniform(7),
        Chance(2, "duel").uniform(7),
        Chance(1, "blitz").uniform(7),
        Chance(1, "duel").uniform(8),
        Chance(1, "duel").uniform(7, 1),
    ]
    assert len(set(draws)) == 5


def test_parts_of_the_name_do_not_run_into_each_other() -> None:
    assert Chance(1, "1").uniform(1, 11) != Chance(1, "1").uniform(11, 1)
    assert Chance(11, "a").uniform(1) != Chance(1, "1a").uniform(1)


def test_draws_are_uniform() -> None:
    count = 20_000
    chance = Chance(3, "duel")
    draws = [chance.uniform(sequence) for sequence in range(count)]

    assert all(0.0 <= each < 1.0 for each in draws)
    # The mean of n uniforms has a standard error of 1/sqrt(12 n); four of them.
    assert math.fsum(draws) / count == pytest.approx(0.5, abs=4 / math.sqrt(12 * count))
    for decile in range(10):
        share = sum(decile / 10 <= each < (decile + 1) / 10 for each in draws) / count
        assert share == pytest.approx(0.1, abs=4 * math.sqrt(0.09 / count))


def test_draw_never_changes() -> None:
    # Journals rely on it: a replay must draw what was drawn.
    assert Chance(1, "duel").uniform(1) == 0.5497320317103455
