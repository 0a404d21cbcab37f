"""`multi_queue`: brackets that fill, rings around the overdue, and brackets set by the rate."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.policies.base import Decision, Matcher
from evenmatch.policies.multi_queue import MultiQueue
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.compiled.run import CompiledResult, play
from evenmatch.solvers.steps.multi_queue import best_brackets
from evenmatch.testing import queue, rule, ticket
from evenmatch.theory.schlup import multi_queue_cost, r_opt

RATING = Criterion("spread", "rating", scale=Scale(max=100.0))
PING = Criterion("spread", "ping", scale=Scale(max=100.0))


def enter(at_work: Matcher, *ratings: float, first: int = 1) -> list[tuple[str, ...]]:
    """Let players enter at 1 s, 2 s, ...; return the matches."""
    made = []
    for i, rating in enumerate(ratings, first):
        at_work.enter(ticket(f"t{i}", rating, at=i, sequence=i), i)
        made += [grouping.tickets for grouping in at_work.decide(i).matches]
    return made


def test_two_of_one_bracket_play_at_once() -> None:
    at_work = MultiQueue(brackets=(4,)).matcher(queue(criteria=(RATING,)), seed=1)

    assert enter(at_work, 10, 30, 60, 24) == [("t1", "t4")]


def test_highest_value_stands_in_the_last_bracket() -> None:
    at_work = MultiQueue(brackets=(4,)).matcher(queue(criteria=(RATING,)), seed=1)

    assert enter(at_work, 100, 76) == [("t1", "t2")]


def test_values_beyond_the_scale_stand_in_the_brackets_at_its_ends() -> None:
    at_work = MultiQueue(brackets=(4,)).matcher(queue(criteria=(RATING,)), seed=1)

    assert enter(at_work, -500, 900, 1, 99) == [("t1", "t3"), ("t2", "t4")]


def test_each_criterion_has_brackets_of_its_own() -> None:
    in_queue = queue(criteria=(RATING, PING))
    at_work = parse_policy("multi_queue:brackets=1+2").matcher(in_queue, seed=1)
    made = []
    for i, (rating, ping) in enumerate([(0, 10), (100, 90), (100, 40)], 1):
        at_work.enter(ticket(f"t{i}", rating, at=i, sequence=i, ping=ping), i)
        made += [grouping.tickets for grouping in at_work.decide(i).matches]

    assert made == [("t1", "t3")]


def test_overdue_ticket_takes_the_nearest_ring_and_there_the_longest_waiting() -> None:
    given_queue = Queue("main", Format((1, 1, 1)), (RATING,), wait_max=10.0)
    at_work = MultiQueue(brackets=(10,)).matcher(given_queue, seed=1)
    assert enter(at_work, 5, 95, 35, 25, 15) == []

    assert at_work.decide(11.0) == Decision(wake_at=11.0)
    fired = at_work.decide(11.0, fired=True)

    assert [grouping.tickets for grouping in fired.matches] == [("t1", "t4", "t5")]
    assert fired.wake_at == 12.0


def test_too_few_in_all_are_left_to_the_engine() -> None:
    at_work = MultiQueue(brackets=(10,)).matcher(queue(criteria=(RATING,), wait_max=10.0), seed=1)
    enter(at_work, 5)

    assert at_work.decide(11.0, fired=True) == Decision()


def test_kept_overdue_ticket_plays_with_the_next_who_comes() -> None:
    in_queue = queue(criteria=(RATING,), wait_max=10.0, on_deadline="keep")
    at_work = MultiQueue(brackets=(10,)).matcher(in_queue, seed=1)
    enter(at_work, 5)
    at_work.decide(11.0, fired=True)

    assert enter(at_work, 95, first=12) == [("t1", "t12")]


def test_without_deadline_brackets_just_fill() -> None:
    at_work = MultiQueue(brackets=(2,)).matcher(queue(criteria=(RATING,)), seed=1)
    enter(at_work, 5, 95)

    assert at_work.decide(1e6, fired=True) == Decision()


@given(
    rate=st.floats(1e-3, 1e4),
    k=st.integers(2, 12),
    wait_max=st.floats(0.1, 1e3),
    criteria=st.integers(1, 4),
    other=st.integers(1, 10_000),
)
def test_best_brackets_are_those_of_theory(
    rate: float, k: int, wait_max: float, criteria: int, other: int
) -> None:
    found = best_brackets(rate, float(k), float(criteria), float(k), 1.0 / wait_max)

    def expected(brackets: float) -> float:
        return multi_queue_cost(brackets, k=k, rate=rate, wait_max=wait_max, criteria=criteria)

    assert abs(found - max(1.0, r_opt(k=k, rate=rate, wait_max=wait_max, criteria=criteria))) < 1
    assert expected(found) <= expected(other) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("k", "criteria", "rate", "best"),
    [(10, 3, 10, 1), (10, 3, 30, 2), (4, 1, 10, 4), (4, 2, 30, 3)],
)
def test_best_brackets_are_those_that_were_measured(
    k: int, criteria: int, rate: float, best: int
) -> None:
    assert best_brackets(rate, k, criteria, k, 1 / 5.0) == best


def test_brackets_widen_when_arrivals_become_rare() -> None:
    in_queue = queue(criteria=(RATING,), wait_max=10.0)
    at_work = MultiQueue().matcher(in_queue, seed=1)
    rng = np.random.default_rng(1)
    # Sixteen a second: ten brackets. Then one in four seconds: one bracket takes all.
    for i in range(1, 201):
        at_work.enter(ticket(f"t{i}", rng.uniform(0, 100), at=i / 16, sequence=i), i / 16)
        at_work.decide(i / 16)
    made = 0
    for i in range(201, 301):
        at = 12.5 + 4.0 * (i - 200)
        at_work.enter(ticket(f"t{i}", (i % 2) * 100, at=at, sequence=i), at)
        made = len(at_work.decide(at).matches)

    assert made == 1


def run(spec: str, k: int, criteria: int, rate: float, seed: int) -> CompiledResult:
    """Let 1,000 uniform players come to a queue with bots."""
    given_queue = Queue(
        "main",
        Format((1,) * k),
        tuple(Criterion("spread", f"c{d}") for d in range(criteria)),
        wait_max=5.0,
        on_deadline="bots",
        policy=spec,
    )
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1.0 / rate, 1000))
    return play(given_queue, parse_policy(spec), times, rng.random((criteria, 1000)))


def cost(spec: str, k: int, criteria: int, rate: float, seeds: int) -> float:
    """Return the mean cost per match on some sequences."""
    found = [run(spec, k, criteria, rate, seed).costs.mean() for seed in range(seeds)]
    return math.fsum(found) / seeds


@pytest.mark.parametrize(
    ("k", "criteria", "rate", "best"), [(2, 1, 10.0, 6), (4, 1, 10.0, 4), (10, 3, 10.0, 1)]
)
def test_measured_rate_costs_hardly_more_than_the_best_brackets(
    k: int, criteria: int, rate: float, best: int
) -> None:
    adaptive = cost("multi_queue", k, criteria, rate, 10)
    fixed = cost(f"multi_queue:brackets={best}", k, criteria, rate, 10)

    # Same sequences: the standard error of the mean difference is below 1 %.
    assert adaptive <= 1.03 * fixed


@pytest.mark.parametrize(
    ("spec", "in_queue", "sentence"),
    [
        ("multi_queue:brackets=0", queue(criteria=(RATING,)), "must be 1 to 10000, got 0"),
        (
            "multi_queue:brackets=2+3",
            queue(criteria=(RATING,)),
            "one number, or one for each of the 1 criteria of queue main, got 2",
        ),
        (
            "multi_queue:brackets=2,adaptive=true",
            queue(criteria=(RATING,)),
            "give brackets or adaptive=true, not both",
        ),
        (
            "multi_queue",
            queue(criteria=(Criterion("spread", "rating", scale=Scale("none")),)),
            "has the scale none: give it a linear scale with min and max",
        ),
        (
            "multi_queue",
            queue(criteria=(RATING,), rules=(rule(limit=10),)),
            "supports no rules or sides; queue main has rules",
        ),
        ("multi_queue", queue("squads", 2, 2), "is for teams of one player"),
        (
            "multi_queue:brackets=10000",
            queue(criteria=tuple(Criterion("spread", f"c{d}") for d in range(5))),
            "cells are too many",
        ),
        (
            "multi_queue",
            queue(criteria=tuple(Criterion("spread", f"c{d}") for d in range(17))),
            "takes up to 16 criteria, queue main has 17",
        ),
    ],
)
def test_what_it_cannot_do_is_said(spec: str, in_queue: Queue, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_policy(spec).matcher(in_queue, seed=1)


def test_brackets_that_are_not_to_be_measured_must_be_given() -> None:
    with pytest.raises(ConfigError, match="adaptive=false needs brackets"):
        parse_policy("multi_queue:adaptive=false").matcher(
            Queue(criteria=(Criterion("spread", "c0"),), wait_max=5.0), seed=0
        )
