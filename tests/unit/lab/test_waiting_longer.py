"""What waiting longer would buy: which queues can say it, and what is played."""

import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.lab.study.sweep import FirstArrivals, at_factor, play_short, target_in
from evenmatch.model.scenario import Scenario

TEXT = """
[[queue]]
name = "pairs"
teams = 2
players = 2
target_wait = 20.0
policy = "{policy}"
[[queue.criteria]]
kind = "imbalance"
attribute = "rating"
scale = {{kind = "linear", min = 0.0, max = 3000.0}}
[[queue]]
name = "duel"
policy = "greedy"
[arrivals]
process = "regular"
interval = 2.0
count = 40
[attributes.rating]
distribution = "normal"
mean = 1500.0
deviation = 300.0
"""


def world(policy: str = "rolling") -> Scenario:
    return parse_scenario(TEXT.format(policy=policy))


def test_the_target_is_the_policys_own_or_else_the_queues() -> None:
    assert target_in(world()) == 20.0
    assert target_in(world("rolling:target_wait=8")) == 8.0
    assert target_in(world(), "rolling:target_wait=9") == 9.0
    assert target_in(world("greedy")) is None
    price = TEXT.replace("target_wait = 20.0", "wait_price = 0.1").format(policy="rolling")
    assert target_in(parse_scenario(price)) is None


def test_only_queues_with_a_target_change() -> None:
    pairs, duel = at_factor(world(), 0.5).queues
    assert (pairs.target, pairs.policy) == (10.0, "rolling")
    assert duel == world().queues[1]
    pairs, _ = at_factor(world("rolling:target_wait=8,effort=300"), 2.0).queues
    assert (pairs.target, pairs.policy) == (20.0, "rolling:effort=300,target_wait=16")


def test_a_short_run_may_last_for_a_time() -> None:
    # They come every two seconds: at 0, 2, .. 30.
    assert play_short(FirstArrivals(world("greedy"), 10, seconds=30.0))["tickets"] == 15
    assert play_short(FirstArrivals(world("greedy"), 10, seconds=1e9))["tickets"] == 40


def test_a_short_run_begins_to_count_after_the_warm_up() -> None:
    warm = parse_scenario("warmup = 15.0\n" + TEXT.format(policy="greedy"))
    # Those who come at 0, 2, .. 14 are not counted, and those who come at 16, 18, .. are.
    assert play_short(FirstArrivals(warm, 10))["tickets"] == 10
    assert play_short(FirstArrivals(warm, 3, seconds=30.0))["tickets"] == 15
    assert play_short(FirstArrivals(warm, 100))["tickets"] == 32


@pytest.mark.parametrize("until", [None, 13.0])
def test_a_short_run_ends_with_its_last_arrival(until: float | None) -> None:
    text = TEXT.format(policy="greedy")
    whole = parse_scenario(text if until is None else f"until = {until}\n{text}")
    figures = play_short(FirstArrivals(whole, 10))
    # They come every two seconds, the first of them at once; four of them are a match.
    assert figures["tickets"] == (10 if until is None else 7)
    assert figures["matches"] == (2 if until is None else 1)
    # Those who came at 16 and 18 s waited until 18 s; at 8, 10 and 12 s, until 13 s.
    assert figures["unfinished"] == (2 if until is None else 3)
    assert figures["cost_waiting"] == pytest.approx(2.0 if until is None else 9.0)
