"""`gap_value`: what a pair costs against what the others will cost without it."""

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.compiled.run import Floats, play

GAP = Criterion("spread", "c0", weight=2.0)


def cost(policy: str, times: Floats, values: Floats) -> float:
    queue = Queue(criteria=(GAP,), policy=policy, wait_max=5.0, on_deadline="bots")
    return float(play(queue, parse_policy(policy), times, values[None]).costs.sum())


def test_it_is_cheaper_than_price_for_uniform_players() -> None:
    # 20 sequences of 1,000 at each rate: 1 to 2 % cheaper at low rates, level at the highest.
    for rate, most in ((1.0, 0.99), (3.0, 1.0), (10.0, 1.01)):
        sums = np.zeros(2)
        for seed in range(20):
            rng = np.random.default_rng(seed)
            times = np.cumsum(rng.exponential(1.0, 1000)) / rate
            values = rng.random(1000)
            sums += [cost("gap_value", times, values), cost("price", times, values)]
        assert sums[0] < most * sums[1]


def test_measured_rate_comes_close_to_the_known_one() -> None:
    rng = np.random.default_rng(1)
    times, values = np.cumsum(rng.exponential(0.1, 4000)), rng.random(4000)
    known, measured = cost("gap_value:rate=10", times, values), cost("gap_value", times, values)
    assert abs(measured / known - 1.0) < 0.03


@pytest.mark.parametrize("scale", [Scale(), Scale("none")])
def test_last_two_meet_at_some_time_without_a_deadline(scale: Scale) -> None:
    queue = Queue(
        criteria=(Criterion("spread", "c0", weight=2.0, scale=scale),), policy="gap_value"
    )
    rng = np.random.default_rng(2)
    times = np.cumsum(rng.exponential(0.01, 100))
    found = play(queue, parse_policy("gap_value"), times, rng.random((1, 100)))
    assert len(found.at) == 50
    assert found.at[-1] > times[-1]


def test_silence_ends_the_wait_of_two_who_are_far_apart() -> None:
    # Two players at the ends of the line cost 2: silence of that order ends their wait.
    queue = Queue(criteria=(GAP,), policy="gap_value:rate=100")
    found = play(queue, parse_policy(queue.policy), np.array([0.0, 0.0]), np.array([[0.0, 1.0]]))
    assert 0.04 < found.at[0] < 20.0


def test_equal_values_and_a_pool_that_grows_keep_their_order() -> None:
    queue = Queue(criteria=(GAP,), policy="gap_value:rate=1e9")
    values = np.repeat(np.arange(150) / 150.0, 2)
    order = np.random.default_rng(3).permutation(300)
    found = play(queue, parse_policy(queue.policy), np.arange(300) * 1e-9, values[order][None])
    assert np.all(found.criteria == 0.0)
    assert len(found.at) == 150


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        (Queue(criteria=(GAP, GAP)), "is for one criterion with a weight above 0"),
        (Queue(), "is for one criterion with a weight above 0"),
        (Queue(criteria=(Criterion("spread", "c0", weight=0.0),)), r"1 with weights \[0.0\]"),
        (Queue(criteria=(GAP,), wait_price=0.0), "set wait_price above 0"),
        (Queue(format=Format((1, 1, 1)), criteria=(GAP,)), "is for one player against one"),
    ],
)
def test_queue_that_cannot_be_played_is_refused(queue: Queue, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_policy("gap_value").matcher(queue, seed=0)


def test_rate_must_be_positive() -> None:
    with pytest.raises(ConfigError, match="rate must be between 1e-9 and 1e15 per second, got 0"):
        parse_policy("gap_value:rate=0").matcher(Queue(criteria=(GAP,)), seed=0)
