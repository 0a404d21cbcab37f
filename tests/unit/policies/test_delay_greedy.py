"""`delay_greedy`: a pair meets when its waits together cost as much as its distance."""

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Queue
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.compiled.run import play

GAP = Criterion("spread", "c0", weight=2.0)


def matches(queue: Queue, times: list[float], values: list[float]) -> list[tuple[float, list[int]]]:
    found = play(queue, parse_policy(queue.policy), np.array(times), np.array([values]))
    return [(float(at), row.tolist()) for at, row in zip(found.at, found.tickets, strict=True)]


def duel(policy: str = "delay_greedy", **settings: object) -> Queue:
    return Queue(criteria=(GAP,), policy=policy, **settings)  # type: ignore[arg-type]


def test_pair_meets_when_both_waits_together_reach_its_cost() -> None:
    # A gap of 0.25 costs 0.5; at 0.3125 s one has waited 0.3125 s and the other 0.1875 s.
    assert matches(duel(), [0.0, 0.125], [0.25, 0.5]) == [(0.3125, [0, 1])]


def test_instants_lie_on_the_grid_and_never_before_the_wait_is_enough() -> None:
    ((at, _),) = matches(duel(), [0.0, 0.0], [0.1, 0.2])
    assert at * 2**20 == int(at * 2**20)
    assert 0.1 <= at < 0.1 + 2**-19


def test_factor_stretches_the_wait_and_zero_abolishes_it() -> None:
    assert matches(duel("delay_greedy:factor=2"), [0.0, 0.0], [0.25, 0.5])[0][0] == 0.5
    assert matches(duel("delay_greedy:factor=0"), [0.0, 1.0], [0.0, 1.0])[0][0] == 1.0


def test_who_loses_a_partner_to_somebody_nearer_looks_around_again() -> None:
    # 0 and 1 would meet at 0.5 s; 2 takes 1 away at 0.125 s, and 0 then waits for 3.
    found = matches(duel(), [0.0, 0.0, 0.0625, 0.25], [0.0, 0.5, 0.5625, 0.25])
    assert found == [(0.09375, [1, 2]), (0.375, [0, 3])]


def test_at_the_deadline_the_cheapest_partner_is_taken() -> None:
    queue = duel("delay_greedy:factor=100", wait_max=1.0)
    assert matches(queue, [0.0, 0.5, 0.5], [0.0, 1.0, 0.75])[0] == (1.0, [0, 2])


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        (duel("delay_greedy:factor=-1"), "factor must be between 0 and 1e12, got -1"),
        (duel(wait_price=0.0), "waiting costs nothing: set wait_price above 0 or factor=0"),
        (duel(format=Format((1, 1, 1))), "is for one player against one"),
    ],
)
def test_queue_that_cannot_be_played_is_refused(queue: Queue, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_policy(queue.policy).matcher(queue, seed=0)
