"""A server that was stopped for an hour does not hold an hour's rounds before it reads anything.

Virtual time: a shard is handed an input an hour late, with every policy of the registry and those
that have rounds at the least distance.
"""

import random
from collections.abc import Sequence

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.replay import Replay
from evenmatch.engine.shard import LATE_LEAST, Answer, Shard, Solve
from evenmatch.errors import ConfigError
from evenmatch.model.inputs import Advance, Configure, Enqueue, Input, Settle, Skip
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Matcher, policy
from evenmatch.policies.registry import POLICIES, parse_policy
from evenmatch.ratings.periods import rate_period
from evenmatch.testing import new_ticket, rule
from evenmatch.testing.scripts import RULED_QUEUES
from tests.conformance.test_policies import SPECS

AWAY = 3_600.0
ASKED_MOST = 4
"""Decisions that an input may cause: that of the merged rounds, and its own."""
CLOCKED = [
    "window:limit=20,rate=0.25,limit_max=300,every=0.05",
    "window:limit=20,rate=0.25,limit_max=300,every=0.05,accept=either,pick=nearest",
    "closest_random:every=0.05,limit=3",
    "adaptive_brackets:width=1,split_at=2,merge_below=1,frame=0.05",
    "weighted:sigma=5,wait=0.001,floor=0.9,every=0.05",
    "sweep:every=0.05,limit=3,rate=0.1",
    "rounds:every=0.05,effort=5",
    "rounds:players=200,wait_max=0.05,effort=5",
    "tests.property.test_missed_rounds.nobody",
]
FIRST = {spec.partition(":")[0]: spec for spec in reversed(SPECS)}
RATED = Criterion("spread", "rating", scale=Scale(min=1000.0, max=1400.0))
DUEL = Queue("main", criteria=(RATED,), rules=(rule(limit=20, rate=0.5),))
QUEUES = (
    DUEL,
    Queue("main", criteria=(RATED,)),
    Queue("main", Format(sides=("cat", "mouse"), side_choice="prefer"), (RATED,)),
    Queue("main", Format((2, 2)), (Criterion("imbalance", "rating", scale=Scale("none")),)),
)


@policy(every=0.05)
def nobody(pool: Sequence[Ticket], now: float) -> list[list[str]]:
    """Match nobody."""
    del pool, now
    return []


class Counting:
    """A matcher, and how often it was asked."""

    def __init__(self, matcher: Matcher, asked: list[float]) -> None:
        self._matcher = matcher
        self._asked = asked

    def __getattr__(self, name: str) -> object:
        return getattr(self._matcher, name)

    def decide(self, now: float, fired: bool = False) -> Decision:
        self._asked.append(now)
        return self._matcher.decide(now, fired)


class World:
    """A shard whose jobs come back an eighth of a second later, and what it wrote."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.records: list[Record] = []
        self.begin(engine_of(self.asked))

    def begin(self, engine: Engine) -> None:
        """Go on with another engine; what was under way is forgotten."""
        self.shard = Shard(engine, late_least=LATE_LEAST)
        self._plans: list[Settle] = []

    def hand_in(self, given: Input) -> int:
        """Hand an input in; return how often a policy was asked for it."""
        before = len(self.asked)
        for effect in self.shard.handle(given):
            if isinstance(effect, Solve):
                running = effect.running
                self._plans.append(running.settle(running.solve(), given.now + 0.125))
        taken = self.shard.take_records()
        self.records += [decode(encode(record)) for record in taken]
        for effect in self.shard.acknowledge(self.shard.engine.tables.sequence):
            assert not isinstance(effect, Answer) or effect.error is None, effect
        return len(self.asked) - before

    def play(self, until: float, steps: int = 40) -> None:
        """Let time pass as a server does: it is never late."""
        begin = self.shard.engine.now
        for step in range(1, steps + 1):
            now = begin + (until - begin) * step / steps
            while self._plans and self._plans[0].now <= now:
                self.hand_in(self._plans.pop(0))
            self.hand_in(Advance(now))

    def away(self, given: Input) -> int:
        """Come back with an input; plans of before come late, too."""
        plans, self._plans = self._plans, []
        count = self.hand_in(given)
        for plan in plans:
            now = given.now + 0.0625
            self.hand_in(Settle(now, plan.queue, plan.number, plan.matches, plan.data))
        return count


def engine_of(asked: list[float]) -> Engine:
    return Engine(
        lambda queue: parse_policy(queue.policy),
        rate=rate_period,
        watch=lambda _, matcher: Counting(matcher, asked),  # type: ignore[arg-type,return-value]
    )


def crowd(rng: random.Random, now: float, count: int, name: str) -> Enqueue:
    ratings = [rng.uniform(500.0, 2500.0) for _ in range(count)]
    return Enqueue(now, tuple(new_ticket(f"{name}{n}", at) for n, at in enumerate(ratings)))


def queue_for(spec: str) -> Queue:
    """Return the first queue that the policy takes, with it."""
    for queue in (*QUEUES, *RULED_QUEUES):
        tried = Queue(queue.name, queue.format, queue.criteria, queue.rules, policy=spec)
        try:
            Pool(tried, parse_policy(spec), seed=0)
        except ConfigError:
            continue
        return tried
    raise AssertionError(f"no queue is for {spec}")


@pytest.mark.parametrize("spec", [*CLOCKED, *(FIRST[name] for name in sorted(POLICIES))])
def test_rounds_that_were_missed_are_merged(spec: str) -> None:
    rng, world = random.Random(spec), World()
    world.hand_in(Configure(0.0, (queue_for(spec),)))
    world.hand_in(crowd(rng, 1.0, 9, "early"))
    world.play(3.0)
    for turn in range(2):
        now = world.shard.engine.now
        returns = crowd(rng, now + AWAY, 3, f"back{turn}") if turn else Advance(now + AWAY)
        assert world.away(returns) <= ASKED_MOST
        world.play(now + AWAY + 2.0)
    assert not world.shard.engine.faults
    again = Replay(engine_of([]))
    for record in world.records:
        assert again.hear(record) is None, record
    assert again.engine.tables.counters == world.shard.engine.tables.counters


@pytest.mark.parametrize("spec", [spec for spec in CLOCKED if "every" in spec or "nobody" in spec])
def test_kill_while_rounds_are_merged_loses_nothing(spec: str) -> None:
    rng, world = random.Random(spec), World()
    world.hand_in(Configure(0.0, (queue_for(spec),)))
    world.hand_in(crowd(rng, 1.0, 9, "early"))
    world.play(3.0)
    world.away(Advance(AWAY))
    kept = next(n for n, record in enumerate(world.records) if type(record.input) is Skip) + 1
    engine, asked = engine_of(world.asked), len(world.asked)
    for record in world.records[:kept]:
        engine.apply(record)
    engine.resume(engine.tables.now)
    begun = Replay(engine_of([]))
    begun.engine.tables = engine.tables.shallow_copy()
    begun.engine.resume(engine.tables.now)
    world.records.clear()
    world.begin(engine)
    world.hand_in(Advance(AWAY))
    assert len(world.asked) - asked <= ASKED_MOST
    world.play(AWAY + 2.0)
    assert all(begun.hear(record) is None for record in world.records)
    assert not engine.tables.miscounted
