"""`group_price`: k players meet when their match costs no more than they would pay."""

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Queue, Rule
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.compiled.run import CompiledResult, Floats, play


def free_for_all(k: int, criteria: int, policy: str = "group_price", **settings: object) -> Queue:
    terms = tuple(Criterion("spread", f"c{d}") for d in range(criteria))
    return Queue(format=Format((1,) * k), criteria=terms, policy=policy, **settings)  # type: ignore[arg-type]


def run(queue: Queue, times: Floats, values: Floats) -> CompiledResult:
    return play(queue, parse_policy(queue.policy), times, values)


def mean_cost(policy: str, k: int, criteria: int, rate: float, *, is_normal: bool = False) -> float:
    """Return the cost per match, the mean of six sequences of 3,000 arrivals."""
    queue = free_for_all(k, criteria, policy, wait_max=5.0, on_deadline="bots")
    costs = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        times = np.cumsum(rng.exponential(1.0, 3000)) / rate
        values = rng.random((3000, criteria))
        if is_normal:
            values = np.clip(0.5 + 0.15 * rng.standard_normal((3000, criteria)), 0.0, 1.0)
        costs.append(run(queue, times, np.ascontiguousarray(values.T)).costs.mean())
    return float(np.mean(costs))


@pytest.mark.parametrize(
    ("k", "criteria", "rate", "most"),
    [
        (10, 3, 10.0, 8.594),
        (10, 3, 30.0, 6.30),
        (10, 3, 100.0, 4.628),
        (4, 1, 10.0, 1.044),
        (4, 2, 30.0, 1.089),
    ],
)
def test_untuned_it_reaches_the_cost_of_the_best_fixed_threshold(
    k: int, criteria: int, rate: float, most: float
) -> None:
    assert mean_cost("group_price", k, criteria, rate) <= most


def test_with_players_in_a_cluster_it_is_cheaper_than_any_fixed_threshold() -> None:
    fixed = min(
        mean_cost(f"group_price:theta={theta},grow={grow}", 4, 2, 30.0, is_normal=True)
        for theta in (0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
        for grow in (0.0, 0.1, 0.2)
    )
    assert mean_cost("group_price", 4, 2, 30.0, is_normal=True) < 0.97 * fixed


def test_a_threshold_that_accepts_all_lets_the_first_k_play_at_once() -> None:
    rng = np.random.default_rng(1)
    times, values = np.cumsum(rng.exponential(1.0, 30)), rng.random((2, 30))
    found = run(free_for_all(3, 2, "group_price:theta=100"), times, values)
    assert found.tickets.tolist() == np.arange(30).reshape(10, 3).tolist()
    assert found.at.tolist() == times[2::3].tolist()


def test_the_newcomer_takes_in_whoever_widens_the_group_least() -> None:
    values = np.array([[0.0, 0.9, 0.5, 0.6, 0.55]])
    found = run(free_for_all(3, 1, "group_price:theta=0.4,grow=0"), np.arange(5.0), values)
    assert found.tickets.tolist() == [[2, 3, 4]]
    assert found.criteria[0] == pytest.approx(0.3)


def test_waits_make_a_group_accept_more() -> None:
    # The third player comes after waits of 4 s and 2 s; with grow the price rises by 0.1 * 6.
    times, values = np.array([0.0, 2.0, 4.0]), np.array([[0.0, 0.3, 0.2]])
    assert len(run(free_for_all(3, 1, "group_price:theta=0.4,grow=0.1"), times, values).at) == 1
    assert len(run(free_for_all(3, 1, "group_price:theta=0.4,grow=0.08"), times, values).at) == 0


def test_at_the_deadline_the_overdue_player_grows_a_group_at_any_cost() -> None:
    queue = free_for_all(3, 1, "group_price:theta=0,grow=0", wait_max=3.0)
    found = run(queue, np.array([0.0, 1.0, 1.0, 2.0]), np.array([[0.0, 1.0, 0.75, 0.5]]))
    assert found.tickets.tolist() == [[0, 2, 3]]
    assert found.at.tolist() == [3.0]


def test_who_stays_beyond_the_deadline_plays_with_the_next_newcomer() -> None:
    queue = free_for_all(3, 1, "group_price:theta=0,grow=0", wait_max=3.0, on_deadline="keep")
    found = run(queue, np.array([0.0, 1.0, 50.0]), np.array([[0.0, 1.0, 0.5]]))
    assert found.at.tolist() == [50.0]


def test_last_players_meet_at_some_time_without_a_deadline() -> None:
    rng = np.random.default_rng(2)
    times, values = np.cumsum(rng.exponential(0.01, 300)), rng.random((2, 300))
    found = run(free_for_all(5, 2), times, values)
    assert len(found.at) == 60
    assert found.at[-1] > times[-1]


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        (free_for_all(3, 1, wait_price=0.0), "set wait_price above 0 or give theta"),
        (free_for_all(3, 1, "group_price:theta=-1"), "theta must be between 0 and 1e15, got -1"),
        (free_for_all(3, 1, "group_price:grow=-1"), "grow must be between 0 and 1e12, got -1"),
        (
            Queue(format=Format((1, 1, 1), sides=("a", "b", "c")), policy="group_price"),
            "supports sides only for two players; queue main has 3",
        ),
        (
            Queue(format=Format((1, 1, 1)), rules=(Rule("imbalance", "rating", limit=5.0),)),
            "does not support rules of imbalance between more than two players",
        ),
        (Queue(format=Format((2, 2))), "is for teams of one player"),
        (
            Queue(format=Format((1, 1, 1)), criteria=(Criterion("rematch", "met"),)),
            "does not support rematch",
        ),
    ],
)
def test_queue_that_cannot_be_played_is_refused(queue: Queue, message: str) -> None:
    spec = queue.policy if queue.policy.startswith("group_price") else "group_price"
    with pytest.raises(ConfigError, match=message):
        parse_policy(spec).matcher(queue, seed=0)
