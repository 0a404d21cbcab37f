"""`price`: whom a newcomer takes, and what else than arrivals makes it act."""

import json
import math

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.policies.base import NOTHING, Decision, Matcher
from evenmatch.policies.price import Price
from evenmatch.solvers.steps.price import SILENCE
from evenmatch.testing import rule, ticket

SKILL = Criterion("spread", "rating", weight=2.0, scale=Scale(min=0.0, max=1000.0))
WRONG_FORMAT = (
    "policy price is for one player against one; queue main has 1 against 1 against 1: "
    "choose group_price"
)
DUEL = Queue(criteria=(SKILL,), wait_max=5.0)


def enter(matcher: Matcher, name: str, rating: float, at: float, sequence: int) -> Decision:
    matcher.enter(ticket(name, rating, at=at, sequence=sequence), at)
    return decide(matcher, at)


def decide(matcher: Matcher, at: float) -> Decision:
    """Return what comes of an instant once all who come at it are there."""
    decision = matcher.decide(at)
    return matcher.decide(at, fired=True) if decision.wake_at == at else decision


def groups(decision: Decision) -> list[tuple[str, ...]]:
    return [grouping.tickets for grouping in decision.matches]


def test_newcomer_takes_the_nearest_within_theta() -> None:
    matcher = Price(theta=0.1).matcher(DUEL, seed=0)
    enter(matcher, "far", 100.0, 0.0, 1)
    enter(matcher, "near", 480.0, 1.0, 2)
    enter(matcher, "nearer", 620.0, 2.0, 3)

    # 0.1 of the scale is 100 points; of two partners that will do the nearest is taken.
    assert groups(enter(matcher, "x", 560.0, 3.0, 4)) == [("nearer", "x")]
    assert groups(enter(matcher, "y", 205.0, 3.5, 5)) == []
    assert groups(enter(matcher, "z", 200.0, 3.75, 6)) == [("y", "z")]


def test_distance_of_theta_is_the_mean_of_the_criteria_by_weight() -> None:
    level = Criterion("spread", "level", weight=6.0)
    queue = Queue(criteria=(SKILL, level), wait_max=5.0)
    matcher = Price(theta=0.25).matcher(queue, seed=0)

    def arrive(name: str, rating: float, value: float, at: float, sequence: int) -> Decision:
        matcher.enter(ticket(name, rating, at=at, sequence=sequence, level=value), at)
        return decide(matcher, at)

    arrive("a", 0.0, 0.0, 0.0, 1)
    # (2 * 1 + 6 * 0) / 8 is 0.25, and (2 * 0 + 6 * 0.5) / 8 is more.
    assert groups(arrive("b", 0.0, 0.5, 0.5, 2)) == []
    assert groups(arrive("c", 1000.0, 0.0, 1.0, 3)) == [("a", "c")]


def test_ticket_takes_the_cheapest_there_is_at_its_deadline() -> None:
    matcher = Price(theta=0.0).matcher(DUEL, seed=0)
    enter(matcher, "a", 0.0, 0.0, 1)
    enter(matcher, "b", 900.0, 1.0, 2)
    decision = enter(matcher, "c", 400.0, 2.0, 3)

    assert decision == Decision(wake_at=5.0)
    assert matcher.decide(5.0) == Decision(wake_at=5.0)
    assert groups(matcher.decide(5.0, fired=True)) == [("a", "c")]


def test_pair_that_only_a_rule_keeps_apart_meets_when_it_widens() -> None:
    queue = Queue(criteria=(SKILL,), rules=(rule(limit=10, rate=5.0),), wait_max=60.0)
    matcher = Price(theta=0.5).matcher(queue, seed=0)
    enter(matcher, "a", 100.0, 0.0, 1)

    assert enter(matcher, "b", 150.0, 2.0, 2) == Decision(wake_at=10.0)
    assert groups(matcher.decide(10.0, fired=True)) == [("a", "b")]


def test_long_silence_lowers_the_rate_that_is_believed() -> None:
    queue = Queue(criteria=(SKILL,), wait_price=0.002)
    matcher = Price(grow=0.0).matcher(queue, seed=0)
    rng = np.random.default_rng(1)
    at, left = 0.0, set[str]()
    for sequence in range(1, 400):
        at += 0.125
        decision = enter(matcher, str(sequence), float(rng.integers(1000)), at, sequence)
        left.add(str(sequence))
        left -= {name for group in groups(decision) for name in group}
    assert len(left) >= 2

    # After four mean intervals of silence the first pair may follow, and then all of them.
    made = 0
    wake_at = decision.wake_at
    assert at + SILENCE / 10.0 < wake_at < math.inf
    while wake_at < math.inf:
        decision = matcher.decide(wake_at, fired=True)
        made += len(decision.matches)
        assert decision.wake_at > wake_at
        wake_at = decision.wake_at
    assert made == len(left) // 2


def test_memory_is_plain_data_without_infinities() -> None:
    matcher = Price().matcher(DUEL, seed=0)
    for sequence in range(1, 20):
        enter(matcher, str(sequence), 53.0 * sequence % 1000, sequence / 4, sequence)

    assert json.loads(json.dumps(matcher.memory(), allow_nan=False)) == matcher.memory()


def test_theta_makes_the_threshold_independent_of_waiting_unless_grow_is_given() -> None:
    fixed, growing = Price(theta=0.1), Price(theta=0.1, grow=1.0)
    for policy, expected in ((fixed, []), (growing, [("a", "b")])):
        matcher = policy.matcher(DUEL, seed=0)
        enter(matcher, "a", 0.0, 0.0, 1)
        # 4 s cost 0.8; with `grow` that is added to the 0.2 which theta allows.
        assert groups(enter(matcher, "b", 500.0, 4.0, 2)) == expected


@pytest.mark.parametrize(
    ("policy", "queue", "sentence"),
    [
        (Price(c=0.0), DUEL, "price: c must be between 1e-6 and 1e6, got 0.0"),
        (Price(theta=-1.0), DUEL, "price: theta must be between 0 and 1e15, got -1.0"),
        (Price(rate=0.0), DUEL, "price: rate must be between 1e-9 and 1e15 per second, got 0.0"),
        (Price(grow=-0.1), DUEL, "price: grow must be between 0 and 1e12, got -0.1"),
        (
            Price(),
            Queue("main", Format((1, 1, 1))),
            WRONG_FORMAT,
        ),
    ],
)
def test_what_cannot_work_gets_a_sentence(policy: Price, queue: Queue, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        policy.matcher(queue, seed=0)
    assert str(refused.value) == sentence


def test_nothing_happens_in_an_empty_queue() -> None:
    assert Price().matcher(DUEL, seed=0).decide(3.0, fired=True) == NOTHING


def test_rule_in_percentiles_is_refused_with_the_policies_that_know_it() -> None:
    ranked = Queue(rules=(Rule("spread", "rating", 0.1, "percentile"),))

    with pytest.raises(
        ConfigError, match=r"price does not support unit = percentile.*greedy or window"
    ):
        Price().matcher(ranked, seed=0)
