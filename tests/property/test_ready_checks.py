"""Ready-checks under random inputs: what is promised to players holds after every step.

By default 150 runs of 40 inputs, always the same; `EVENMATCH_MACHINE=long` makes 100 times as many.
"""

import os
import random
from contextlib import suppress

import pytest
from msgspec.structs import replace

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.state.snapshot import state_hash
from evenmatch.errors import Refusal
from evenmatch.model.events import (
    Cancelled,
    Confirmed,
    Dissolved,
    Event,
    Matched,
    Penalised,
    Proposed,
    Repaired,
)
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Cancel,
    Configure,
    Decline,
    Enqueue,
    Input,
    Update,
)
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.model.queue import ReadyCheck as Check
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import queue

RUNS = 15_000 if os.environ.get("EVENMATCH_MACHINE") == "long" else 150
INPUTS = 40

CHECK = Check(seconds=4.0, loss_max=0.1, cooldowns=(5.0, 20.0), repair=3.0, again=6.0)
NEAR = Criterion("spread", "rating", scale=Scale("linear", 1000.0, 2000.0))
DUEL = replace(queue("duel", wait_max=15.0), accept=CHECK, criteria=(NEAR,))
PAIRS = replace(
    queue("pairs", 2, 2, rules=(Rule("spread", "rating", limit=300.0),)),
    accept=CHECK,
    criteria=(NEAR, Criterion("imbalance", "rating", scale=Scale("linear", 1000.0, 2000.0))),
)
SMALL = replace(
    queue("small", wait_max=6.0),
    format=Format((2, 2), players_min=(1, 1)),
    accept=replace(CHECK, repair=2.0),
)
STRICT = replace(DUEL, name="strict", accept=replace(CHECK, repair=0.0, again=10.0))
SETS: list[tuple[Queue, ...]] = [
    (DUEL,),
    (PAIRS,),
    (SMALL,),
    (STRICT,),
    (DUEL, PAIRS),
    (PAIRS, STRICT),
]


class Run:
    """An engine under random inputs, and what its players were promised."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.queues = SETS[seed % len(SETS)]
        self.engine = Engine(lambda each: parse_policy(each.policy))
        self.journal: list[Record] = []
        self.now = 0.0
        self.born: dict[str, float] = {}
        self.first: dict[str, Match] = {}
        self.failed: dict[frozenset[str], float] = {}
        self.left: Cancelled | None = None
        self.answered: dict[str, set[str]] = {}
        self.step(Configure(0.0, self.queues, seed=seed))

    def play(self) -> None:
        for _ in range(INPUTS):
            self.now += self.chance.choice((0.0, 0.25, 0.5, 1.0, 2.75))
            with suppress(Refusal):
                self.step(self.drawn())
        while self.engine.next_wakeup < self.now + 100.0:
            self.now = self.engine.next_wakeup
            self.step(Advance(self.now))
        assert not self.engine.tables.proposals, "a proposal that never ends"

    def drawn(self) -> Input:
        tables, chance = self.engine.tables, self.chance
        proposals, waiting = list(tables.proposals.values()), list(tables.waiting)
        kind = chance.random()
        if proposals and kind < 0.5:
            proposal = chance.choice(proposals)
            ticket = chance.choice(proposal.tickets)
            players = tuple(p.id for p in tables.waiting[ticket].ticket.players)
            some = tuple(p for p in players if chance.random() < 0.8)
            if kind < 0.38:
                return Accept(self.now, proposal.match.id, ticket, some)
            return Decline(self.now, proposal.match.id, ticket, some)
        if waiting and kind < 0.58:
            return Cancel(self.now, chance.choice(waiting))
        if waiting and kind < 0.63:
            ticket = chance.choice(waiting)
            name = tables.waiting[ticket].ticket.players[0].id
            return Update(self.now, ticket, players=(Player(name, Rating(self.rating())),))
        if kind < 0.66:
            paused = tuple(q.name for q in self.queues if chance.random() < 0.3)
            return Configure(self.now, self.queues, seed=1, version=2, pause=paused)
        if kind < 0.72:
            return Advance(self.now)
        return Enqueue(self.now, tuple(self.new() for _ in range(chance.randint(1, 3))))

    def new(self) -> NewTicket:
        names = [q.name for q in self.queues if self.chance.random() < 0.7] or [self.queues[0].name]
        size = (
            2 if "duel" not in names and "strict" not in names and self.chance.random() < 0.3 else 1
        )
        ids = self.chance.sample(range(14), size)
        players = tuple(Player(f"p{n}", Rating(self.rating())) for n in ids)
        return NewTicket(players, tuple(names))

    def rating(self) -> float:
        return float(self.chance.randint(10, 20) * 100)

    def step(self, given: Input) -> None:
        while self.engine.next_wakeup < given.now:
            self._step(Advance(self.engine.next_wakeup))
        self._step(given)

    def _step(self, given: Input) -> None:
        record = self.engine.step(given)
        self.engine.tables._check()
        if record.sequence:
            self.journal.append(record)
        for event in record.events:
            self.judge(given, event)
        for row in self.engine.tables.waiting.values():
            assert self.born.setdefault(row.ticket.id, row.ticket.enqueued_at) == (
                row.ticket.enqueued_at
            ), "an innocent lost his place"
            in_pools = [n for n, p in self.engine.pools.items() if row.ticket.id in p.tickets]
            assert in_pools == (
                [] if row.match else [n for n in self.engine.pools if n in row.queues]
            )

    def judge(self, given: Input, event: Event) -> None:
        if isinstance(event, Proposed):
            self.first[event.match.id] = event.match
            self.answered[event.match.id] = set()
            players = frozenset(p for team in event.match.players for p in team)
            assert self.failed.get(players, 0.0) <= given.now, "the same set at once"
        elif isinstance(event, Repaired):
            before = self.first[event.match.id].quality
            assert (
                event.match.quality is None
                or before is None
                or (event.match.quality >= before - 0.1 - 1e-12)
            ), "a repair cost more than it may"
        elif isinstance(event, Matched):
            assert event.match.id in self.first, "a match that nobody was asked about"
            for team in event.match.players:
                assert set(team) <= self.answered[event.match.id], "somebody never accepted"
        elif isinstance(event, Dissolved):
            first = self.first[event.match]
            players = frozenset(p for team in first.players for p in team)
            accept = self.engine.tables.queues[first.queue].accept
            assert accept is not None
            # The set that fails is the last full one; if nothing was repaired, the first.
            if not any(
                isinstance(e, Repaired) and e.match.id == event.match
                for r in self.journal
                for e in r.events
            ):
                self.failed[players] = given.now + accept.again
        elif isinstance(event, Cancelled):
            self.left = event
        elif isinstance(event, Confirmed):
            self.answered[event.match] |= set(event.players)
        elif isinstance(event, Penalised):
            self.check_guilt(given, event)

    def check_guilt(self, given: Input, event: Penalised) -> None:
        """Assert that who is penalised declined, left by himself, or did not answer."""
        assert self.left is not None
        assert self.left.match is not None
        if isinstance(given, Decline):
            assert not given.players or event.player in given.players
        elif isinstance(given, Cancel):
            assert (self.left.ticket, self.left.reason) == (given.ticket, "player")
        else:
            assert self.left.reason == "silent"
            assert event.player not in self.answered[self.left.match]


@pytest.mark.parametrize("block", range(5))
def test_promises_hold_and_the_journal_rebuilds_them(block: int) -> None:
    repaired = dissolved = 0
    for seed in range(block * RUNS // 5, (block + 1) * RUNS // 5):
        run = Run(seed)
        run.play()
        repaired += run.engine.tables.counters.repaired
        dissolved += run.engine.tables.counters.dissolved
        if seed % 5 == 0:
            again = Engine(lambda each: parse_policy(each.policy))
            for record in run.journal:
                again.apply(decode(encode(record)))
            assert state_hash(again) == state_hash(run.engine)
    assert repaired
    assert dissolved
