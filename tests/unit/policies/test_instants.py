"""Who comes at one instant is decided together; and streams that nobody hopes for lose nobody."""

import math
from itertools import islice

import msgspec
import pytest

import evenmatch
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.policies.base import Matcher
from evenmatch.policies.registry import POLICIES, parse_policy
from evenmatch.solvers.steps.price import TOGETHER_MAX
from evenmatch.testing import ticket
from evenmatch.testing.scripts import RULED_QUEUES
from tests.bench.streams import STRANGE, Stream, streams

TOGETHER = ("price:theta=0.1", "gap_value", "delay_greedy:factor=0.01", "group_price")
ONLINE = (
    "price", "gap_value", "delay_greedy", "group_price", "greedy", "periodic:rounds_of=50",
    "difference_wait", "window:attribute=skill,limit=0.1,rate=0.05", "lookahead", "rounds:every=2",
)  # fmt: skip
SKILL = Criterion("spread", "rating", scale=Scale(min=0.0, max=1000.0))
DUEL = Queue(name="main", criteria=(SKILL,), wait_max=5.0)


def come(matcher: Matcher, at: float, *ratings: float) -> list[tuple[str, ...]]:
    """Let players come one after the other at an instant, and return who plays at it."""
    made = []
    for rating in ratings:
        name = f"{rating:g}"
        sequence = 1 + int(10_000.0 * at) + int(rating)
        matcher.enter(ticket(name, rating, at=at, sequence=sequence), at)
        decision = matcher.decide(at)
        made += [group.tickets for group in decision.matches]
    if decision.wake_at == at:
        decision = matcher.decide(at, fired=True)
    return made + [group.tickets for group in decision.matches]


@pytest.mark.parametrize("policy", TOGETHER)
def test_the_nearest_of_those_who_come_at_one_instant_plays(policy: str) -> None:
    matcher = parse_policy(policy).matcher(DUEL, seed=1)
    assert come(matcher, 1.0, 500.0) == []
    # Any of the three is near enough to play; the second is nearest.
    assert come(matcher, 1.125, 503.0, 501.0, 504.0)[0] == ("500", "501")


@pytest.mark.parametrize("policy", ["price", "gap_value"])
def test_those_who_are_left_at_an_instant_find_each_other(policy: str) -> None:
    matcher = parse_policy(policy).matcher(DUEL, seed=1)
    come(matcher, 1.0, 100.0, 900.0)
    found = come(matcher, 1.125, 901.0, 100.5, 102.0, 103.0)
    assert {frozenset(pair) for pair in found} >= {
        frozenset({"100", "100.5"}), frozenset({"900", "901"}),
    }  # fmt: skip


def test_a_closest_pair_parts_if_both_find_others_at_one_instant() -> None:
    matcher = parse_policy("price:theta=0.1").matcher(DUEL, seed=1)
    assert come(matcher, 1.0, 170.0) == []
    # 60 and 110 are closest, and would leave nobody whom the others may play.
    found = come(matcher, 1.125, 1.0, 60.0, 110.0)
    assert {frozenset(pair) for pair in found} == {
        frozenset({"1", "60"}),
        frozenset({"110", "170"}),
    }


def test_more_than_are_paired_together_play_the_closest_first() -> None:
    wide = Criterion("spread", "rating", scale=Scale(max=1e6))
    queue = msgspec.structs.replace(DUEL, criteria=(wide,))
    matcher = parse_policy("price:theta=0.0001").matcher(queue, seed=1)
    alone = [1_000.0 * number for number in range(1, TOGETHER_MAX)]
    assert come(matcher, 1.0, 170.0) == []
    assert come(matcher, 1.125, 1.0, 60.0, 110.0, *alone) == [("60", "110")]


def test_three_who_come_at_one_instant_play_with_those_nearest() -> None:
    queue = Queue(name="main", format=Format((1, 1, 1)), criteria=(SKILL,), wait_max=5.0)
    matcher = parse_policy("group_price").matcher(queue, seed=1)
    assert come(matcher, 1.0, 500.0, 501.0) == []
    assert come(matcher, 1.125, 520.0, 502.0, 530.0)[0] == ("500", "501", "502")


def all_play_or_wait(stream: Stream, policy: str) -> bool:
    """Return whether a policy loses nobody of a stream, and leaves one player over at most."""
    run = evenmatch.simulate(stream.world, arrivals=stream.arrivals, policy=policy)
    states = [each["state"] for each in run.tickets]
    assert len(states) == len(stream.arrivals)
    assert math.isfinite(run.summary["cost"])
    waiting = states.count("waiting")
    return waiting <= 1 and waiting == int(run.summary["unfinished"])


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_no_policy_of_the_package_loses_anybody_of_a_strange_stream(policy: str) -> None:
    """Each by the ratings of the players, in a queue that it takes."""
    for stream in islice(streams(0, 1, by_rating=True), len(STRANGE)):
        queue = stream.world.queues[0]
        spec = policy
        if policy == "window":
            spec = "window:limit=0.1,rate=0.05"
        elif policy == "adaptive_sides":
            sides = Format((1, 1), ("attack", "defend"), side_choice="prefer")
            queue = msgspec.structs.replace(queue, format=sides)
        elif policy == "by_rules":
            queue = msgspec.structs.replace(queue, rules=RULED_QUEUES[0].rules, criteria=())
        world = msgspec.structs.replace(stream.world, queues=(queue,))
        assert all_play_or_wait(msgspec.structs.replace(stream, world=world), spec), stream.kind


@pytest.mark.parametrize("policy", ONLINE)
@pytest.mark.parametrize("kind", STRANGE)
def test_strange_streams_lose_nobody(policy: str, kind: str) -> None:
    stream = next(each for each in streams(0, 1) if each.kind == kind)
    assert all_play_or_wait(stream, policy)
