"""`sweep`: a ticket takes the best partner on the axis as it leaves it."""

import random

import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue
from evenmatch.policies.base import Matcher
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import ticket

SPEC = "sweep:every=1,limit=100,rate=0,limit_max=100"


def paired(spec: str, *tickets: tuple[str, float, float], at: float) -> list[tuple[str, ...]]:
    """Return the pairs of the round at an instant; tickets are (name, rating, enqueued_at)."""
    matcher: Matcher = parse_policy(spec).matcher(Queue(), seed=1)
    for number, (name, rating, since) in enumerate(tickets, 1):
        matcher.enter(ticket(name, rating, at=since, sequence=number), since)
    return [group.tickets for group in matcher.decide(at, fired=True).matches]


def test_lowest_leaves_first_and_takes_the_nearest() -> None:
    # a leaves at 1100, when b and c are on the axis; d and c would be nearer to each other.
    crowd = [("d", 1130.0, 0.0), ("c", 1090.0, 0.0), ("a", 1000.0, 0.0), ("b", 1080.0, 0.0)]
    assert paired(SPEC, *crowd, at=1.0) == [("a", "b"), ("d", "c")]


def test_range_must_reach_on_both_sides() -> None:
    # After 50 s the range is 200: only both together may be 180 apart.
    spec = "sweep:every=1,limit=100,rate=2,limit_max=500"
    assert paired(spec, ("old", 1000.0, 0.0), ("new", 1180.0, 49.0), at=50.0) == []
    assert paired(spec, ("old", 1000.0, 0.0), ("new", 1180.0, 0.0), at=50.0) == [("old", "new")]


def test_limit_is_clamped() -> None:
    spec = "sweep:every=1,limit=100,rate=2,limit_max=150"
    assert paired(spec, ("a", 1000.0, 0.0), ("b", 1151.0, 0.0), at=900.0) == []
    assert paired(spec, ("a", 1000.0, 0.0), ("b", 1150.0, 0.0), at=900.0) == [("a", "b")]


def by_the_book(crowd: list[tuple[str, float, float]]) -> list[tuple[str, ...]]:
    """Return the pairs of a walk along the axis, point by point; all ranges are 100."""
    points = [(rating - 100.0, 0, rating, at, name) for at, (name, rating, _) in enumerate(crowd)]
    points += [(rating + 100.0, 1, rating, at, name) for at, (name, rating, _) in enumerate(crowd)]
    pool: dict[str, tuple[float, int]] = {}
    pairs = []
    for _, is_end, rating, at, name in sorted(points):
        if not is_end:
            pool[name] = rating, at
            continue
        if name not in pool:
            continue
        del pool[name]
        near = [each for each in pool if abs(pool[each][0] - rating) <= 100.0]
        if near:
            best = min(near, key=lambda each: (abs(pool[each][0] - rating), pool[each]))
            pairs.append(tuple(sorted((name, best), key=[n for n, _, _ in crowd].index)))
            del pool[best]
    return pairs


@pytest.mark.parametrize("seed", range(10))
def test_round_is_the_threads_walk(seed: int) -> None:
    rng = random.Random(seed)
    crowd = [(f"t{at:02}", rng.uniform(0.0, 1500.0), 0.0) for at in range(30)]
    assert paired(SPEC, *crowd, at=1.0) == by_the_book(crowd)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("sweep:every=0.04", "sweep: every must be between 0.05 and 1e9 s"),
        ("sweep:limit=-1", "sweep: limit must be"),
    ],
)
def test_parameters_that_cannot_work_are_refused(spec: str, sentence: str) -> None:
    policy = parse_policy(spec)
    with pytest.raises(ConfigError, match=sentence):
        policy.matcher(Queue(), seed=1)
