"""The engine, behind a shard, against the naive model of `naive.py`, under random inputs.

By default 200 runs of 30 rules, always the same. A million rules take a quarter of an hour:

    EVENMATCH_MACHINE=long .venv/bin/python -m pytest tests/property/test_engine_machine.py
"""

import os
import random
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import decode, encode
from evenmatch.engine.shard import Answer, Effect, Push, Shard
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.errors import JournalUnavailable
from evenmatch.model.events import Matched
from evenmatch.model.inputs import (
    Advance,
    Assign,
    Cancel,
    Configure,
    Enqueue,
    Finish,
    Input,
)
from evenmatch.model.queue import Expansion, Format, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.base import Policy
from evenmatch.policies.registry import parse_policy
from tests.extent import extent, more
from tests.property.naive import Naive, NaiveQueue, Played

pytestmark = more

IS_LONG = os.environ.get("EVENMATCH_MACHINE") == "long"
RUNS, RULES = (20_000, 50) if IS_LONG else (extent(60, 200), 30)

DUEL = NaiveQueue("duel")
THREE = NaiveQueue("three", players=3, wait_max=6.0, on_deadline="bots")
RATED = NaiveQueue("rated", limit=50.0, rate=30.0, wait_max=8.0)
CAPPED = NaiveQueue(
    "capped", limit=0.0, rate=7.0, limit_max=150.0, wait_max=4.0, on_deadline="keep"
)
STEPPED = NaiveQueue("stepped", limit=50.0, steps=((1.5, 100.0), (4.0, 250.0)))
SHARE = NaiveQueue("share", limit=0.0625, rate=0.0625, relative=True, wait_max=20.0)
NEAREST = NaiveQueue("nearest", limit=25.0, steps=((2.0, 100.0), (3.0, 150.0)), nearest=True)
BOTS = NaiveQueue("bots", limit=50.0, rate=10.0, wait_max=5.0, on_deadline="bots")
KEPT = NaiveQueue("kept", players=3, wait_max=2.0, on_deadline="keep")
BUSY = NaiveQueue("busy", exclusive=True, match_max=7.0, limit=100.0, rate=25.0)

CONFIGURATIONS: list[tuple[NaiveQueue, ...]] = [
    (DUEL,),
    (THREE,),
    (RATED,),
    (STEPPED,),
    (SHARE,),
    (NEAREST,),
    (NEAREST, SHARE),
    (CAPPED, KEPT),
    (BOTS, STEPPED),
    (RATED, THREE),
    (THREE, DUEL),
    (BUSY, RATED),
    (KEPT, BOTS, BUSY),
]

PLAYERS = st.integers(0, 30).map(lambda number: f"p{number}")
RATINGS = st.integers(0, 12).map(lambda step: 100.0 + 25.0 * step)
LATER = st.sampled_from((0.0, 0.0, 0.0, 0.25, 0.5, 1.0, 2.75, 9.0))
FEW = st.integers(0, 40)


def configured(queue: NaiveQueue) -> Queue:
    rules: tuple[Rule, ...] = ()
    if queue.limit is not None:
        top = None if queue.limit_max == float("inf") else queue.limit_max
        expand = Expansion(rate=queue.rate, steps=queue.steps, max=top)
        unit = "relative" if queue.relative else "difference"
        rules = (Rule("spread", "rating", queue.limit, unit, expand),)  # type: ignore[arg-type]
    return Queue(
        queue.name,
        Format((1,) * queue.players),
        (),
        rules,
        None if queue.wait_max == float("inf") else queue.wait_max,
        on_deadline=queue.on_deadline,  # type: ignore[arg-type]
        policy=f"window:pick={'nearest' if queue.nearest else 'oldest'}" if rules else "greedy",
        exclusive_match=queue.exclusive,
        match_max=queue.match_max,
    )


def chosen(queue: Queue) -> Policy:
    return parse_policy(queue.policy)


class EngineMachine(RuleBasedStateMachine):
    """Hands the same inputs to a shard and to the naive model."""

    shard: Shard
    naive: Naive

    @initialize(queues=st.sampled_from(CONFIGURATIONS))
    def configure(self, queues: tuple[NaiveQueue, ...]) -> None:
        self.now = 0.0
        self.journal: list[bytes] = []
        self.asked = 0
        self.answered: list[int] = []
        self.rests_on: dict[int, int] = {}
        self.shard = Shard(Engine(chosen))
        self.naive = Naive(queues)
        self.marks: list[tuple[int, Naive]] = []
        self.durable = self.naive.copy()
        self.hand_in(Configure(0.0, tuple(configured(queue) for queue in queues)))
        self.settle_all()

    def hand_in(self, given: Input) -> None:
        self.asked += not isinstance(given, Advance)
        effects = self.shard.handle(given, self.asked)
        sequence = self.shard.engine.tables.sequence
        self.rests_on.setdefault(self.asked, sequence)
        self.heard(effects)
        self.marks.append((sequence, self.naive.copy()))

    def heard(self, effects: list[Effect] | list[Answer]) -> None:
        """Note who was answered; nobody may hear of what the journal does not have."""
        for effect in effects:
            if isinstance(effect, Push):
                assert effect.record.sequence <= len(self.journal)
                continue
            self.answered.append(effect.to)
            if not isinstance(effect.error, JournalUnavailable):
                assert self.rests_on[effect.to] <= len(self.journal)

    def settle_all(self) -> None:
        """Write all records to the journal and acknowledge them."""
        if not self.marks:
            return
        records = self.shard.take_records()
        self.journal += [encode(record) for record in records]
        self.heard(self.shard.acknowledge(len(self.journal)))
        self.durable = self.marks[-1][1]
        self.marks.clear()

    @rule(
        later=LATER,
        items=st.lists(st.tuples(PLAYERS, RATINGS, st.integers(1, 7)), min_size=1, max_size=4),
    )
    def enqueue(self, later: float, items: list[tuple[str, float, int]]) -> None:
        self.now += later
        names = [queue.name for queue in self.naive.queues]
        wanted = []
        for player, rating, bits in items:
            queues = tuple(name for at, name in enumerate(names) if bits >> at & 1)
            wanted.append((player, rating, queues or (names[0],)))
        self.naive.enqueue(self.now, wanted)
        tickets = tuple(
            NewTicket((Player(player, Rating(rating)),), queues)
            for player, rating, queues in wanted
        )
        self.hand_in(Enqueue(self.now, tickets))

    @rule(later=LATER, player=PLAYERS, rating=RATINGS)
    def enqueue_one(self, later: float, player: str, rating: float) -> None:
        self.now += later
        name = self.naive.queues[0].name
        self.naive.enqueue(self.now, [(player, rating, (name,))])
        self.hand_in(Enqueue(self.now, (NewTicket((Player(player, Rating(rating)),)),)))

    @rule(seed=st.integers(0, 2**16), count=st.integers(5, 12))
    def rush(self, seed: int, count: int) -> None:
        """Let many arrive one after another, so that partners have something to choose from."""
        rng = random.Random(seed)
        for _ in range(count):
            later = rng.choice((0.0, 0.25, 0.5, 1.0, 2.75))
            player, rating = f"r{rng.randrange(60)}", 100.0 + 25.0 * rng.randrange(13)
            self.enqueue(later, [(player, rating, rng.randrange(1, 8))])

    @rule(later=LATER, place=FEW)
    def cancel(self, later: float, place: int) -> None:
        if not self.naive.waiting:
            return
        self.now += later
        number = self.naive.waiting[place % len(self.naive.waiting)].number
        self.naive.cancel(self.now, number)
        self.hand_in(Cancel(self.now, f"s0-{number}"))

    @rule(later=LATER)
    def advance(self, later: float) -> None:
        self.now += later
        self.naive.advance(self.now)
        self.hand_in(Advance(self.now))

    @rule(later=LATER, place=FEW)
    def finish(self, later: float, place: int) -> None:
        if not self.naive.played:
            return
        self.now += later
        number = place % len(self.naive.played) + 1
        self.naive.finish(self.now, number)
        self.hand_in(Finish(self.now, f"s0-m{number}"))

    @rule(later=LATER, place=FEW)
    def assign(self, later: float, place: int) -> None:
        if not self.naive.played:
            return
        self.now += later
        self.naive.until(self.now)
        number = place % len(self.naive.played) + 1
        self.hand_in(Assign(self.now, f"s0-m{number}", {"host": "a"}))

    @rule()
    def acknowledge(self) -> None:
        self.settle_all()
        assert self.answered == list(range(1, self.asked + 1))

    @rule(place=FEW)
    def acknowledge_some(self, place: int) -> None:
        if not self.marks:
            return
        place %= len(self.marks)
        sequence, then = self.marks[place]
        count = sequence - len(self.journal)
        self.journal += [encode(record) for record in self.shard.take_records(count)]
        self.heard(self.shard.acknowledge(sequence))
        del self.marks[: place + 1]
        self.durable = then

    @rule(later=LATER)
    def fail(self, later: float) -> None:
        """Lose what is not acknowledged, and rebuild the rest from the journal, later."""
        self.heard(self.shard.fail())
        assert self.answered == list(range(1, self.asked + 1))
        self.now += later
        engine = Engine(chosen)
        for body in self.journal:
            engine.apply(decode(body))
        self.go_on(engine, {}, self.durable.copy())

    @rule(later=LATER)
    def restart_from_snapshot(self, later: float) -> None:
        self.settle_all()
        self.now += later
        before = self.shard.engine
        snapshot = decode_snapshot(encode_snapshot(take(before)))
        engine = Engine(chosen)
        memories = restore(engine, snapshot)
        assert state_hash(engine) == state_hash(before)
        self.go_on(engine, dict(memories), self.naive)

    def go_on(self, engine: Engine, memories: dict[str, Any], naive: Naive) -> None:
        """Let a new engine take over now: what fell due meanwhile happens now."""
        engine.resume(self.now, memories)
        self.shard = Shard(engine)
        self.naive = naive
        self.naive.fire(self.now)
        self.marks.clear()
        self.hand_in(Advance(self.now))
        self.settle_all()

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "shard"):
            return
        engine, naive = self.shard.engine, self.naive
        assert not engine.faults
        tables = engine.tables
        tables._check()
        for pool in engine.pools.values():
            check_matcher(pool.matcher)
        played = [
            Played(kept.match.at, kept.match.queue, numbers(kept.match.tickets), kept.match.bots)
            for kept in tables.matches.values()
        ]
        assert sorted(played, key=in_order) == sorted(naive.played, key=in_order)
        waiting = {number(name): set(row.queues) for name, row in tables.waiting.items()}
        assert waiting == {ticket.number: set(ticket.queues) for ticket in naive.waiting}
        assert tables.counters.accepted == naive.accepted
        assert tables.counters.cancelled == len(naive.cancelled)
        assert tables.counters.expired == len(naive.expired)
        live = {name for name, kept in tables.matches.items() if kept.live}
        assert live == {f"s0-m{match}" for _, match, _ in naive.busy}

    def teardown(self) -> None:
        """Check that the journal rebuilds the state, and that it holds every match once."""
        if hasattr(self, "shard"):
            self.settle_all()
            engine = Engine(chosen)
            matches = []
            for body in self.journal:
                record = decode(body)
                matches += [event for event in record.events if isinstance(event, Matched)]
                engine.apply(record)
            assert len(matches) == len(self.naive.played)
            assert engine.tables.waiting == self.shard.engine.tables.waiting


def check_matcher(matcher: Any) -> None:
    """Call the `_check` of a matcher, or of its timers."""
    if hasattr(matcher, "_check"):
        matcher._check()
    elif hasattr(matcher, "_timers"):
        waiting = matcher._pool if hasattr(matcher, "_pool") else matcher._by_sequence
        matcher._timers._check(set(waiting))


def in_order(played: Played) -> tuple[float, tuple[int, ...]]:
    return (played.at, played.tickets)


def number(name: str) -> int:
    return int(name.rpartition("-")[2])


def numbers(names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(sorted(number(name) for name in names))


TestEngine = EngineMachine.TestCase
TestEngine.settings = settings(
    max_examples=RUNS,
    stateful_step_count=RULES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    derandomize=not IS_LONG,
)
