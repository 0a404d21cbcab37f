"""Random lives of tickets, held to the table of transitions: no other moves, and each of them."""

import random

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state import reducers
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.engine.state.state import Tables
from evenmatch.engine.state.transitions import (
    ASSIGNED,
    NEW,
    POSSIBLE,
    STATES,
    TRANSITIONS,
    WAITING,
)
from evenmatch.errors import Refusal
from evenmatch.model.events import (
    Cancelled,
    Confirmed,
    Dissolved,
    Event,
    Expired,
    Matched,
    Voided,
)
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Assign,
    Cancel,
    Configure,
    Decline,
    Enqueue,
    Input,
    Void,
)
from evenmatch.model.queue import Criterion, Format, Queue, ReadyCheck, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket
from evenmatch.server.runtime.recovery import resolve
from tests.extent import extent

GAP = (Criterion("spread", "rating", scale=Scale("linear", min=0.0, max=3000.0)),)
CHECK = ReadyCheck(seconds=8.0, repair=6.0)
QUEUES = (
    Queue("main", Format((1, 1)), GAP, policy="greedy", wait_max=40.0, allocation="fleet"),
    Queue("main", Format((2, 2)), GAP, policy="greedy", wait_max=40.0, accept=CHECK),
    Queue(
        "main", Format((2, 2)), GAP, policy="greedy", wait_max=40.0, accept=CHECK,
        allocation="fleet",
    ),
)  # fmt: skip
Move = tuple[str, type[Event], str]


def state_of(tables: Tables, ticket_id: str) -> str:
    """Return a ticket's state from the rows alone, as plainly as it can be."""
    if ticket_id in tables.waiting:
        in_proposal = any(ticket_id in each.tickets for each in tables.proposals.values())
        return "proposed" if in_proposal else "waiting"
    if (ended := tables.ended.get(ticket_id)) is None:
        return NEW
    kept = tables.matches.get(ended.match or "")
    is_placed = kept is not None and kept.void is None and kept.assignment is not None
    return ASSIGNED if ended.state == "matched" and is_placed else ended.state


class Lives:
    """An engine to which things happen, and the moves of its tickets."""

    def __init__(self, queue: Queue, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine, self.rng, self.now = Engine(resolve), random.Random(seed), 0.0
        self.moves: set[Move] = set()
        self.matches: list[str] = []
        fold = reducers.fold

        def watched(tables: Tables, given: Input, event: Event) -> None:
            known = {*tables.waiting, *tables.ended}
            before = {each: state_of(tables, each) for each in known}
            fold(tables, given, event)
            if isinstance(event, Matched):
                self.matches.append(event.match.id)
            for each in {*tables.waiting, *tables.ended}:
                was, is_now = before.get(each, NEW), state_of(tables, each)
                if was != is_now:
                    self.moves.add((was, type(event), is_now))

        all_watched = dict.fromkeys(reducers.REDUCERS, watched)
        monkeypatch.setattr("evenmatch.engine.matching.scheduler.REDUCERS", all_watched)
        self.step(Configure(0.0, (queue,)))

    def step(self, given: Input) -> None:
        while (at := self.engine.next_wakeup) < given.now:
            self.engine.step(Advance(at))
        try:
            self.engine.step(given)
        except Refusal:
            return

    def act(self) -> None:
        rng, tables = self.rng, self.engine.tables
        self.now += rng.choice((0.0, 0.5, 2.0, 5.0))
        kind = rng.randrange(12)
        live = [*tables.waiting]
        ticket = rng.choice(live) if live else "s0-1"
        match = rng.choice([*tables.proposals, *self.matches[-3:], "s0-m1"])
        if kind < 4:
            party = [
                Player(f"p{self.engine.tables.sequence}-{seat}", Rating(rng.gauss(1500.0, 200.0)))
                for seat in range(rng.randint(1, 2))
            ]
            self.step(Enqueue(self.now, (NewTicket(tuple(party)),)))
        elif kind < 8 and (held := tables.proposals.get(match)) is not None:
            for each in held.tickets:
                if rng.random() < 0.9:
                    self.step(Accept(self.now, match, each))
        elif kind == 8:
            self.step(Decline(self.now, match, ticket))
        elif kind == 9:
            self.step(Cancel(self.now, ticket))
        elif kind == 10:
            self.step(Void(self.now, match, "no server"))
        else:
            self.step(Assign(self.now, match, {"connection": "here"}))


@settings(
    max_examples=extent(12, 400),
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.sampled_from(QUEUES), st.integers(0, 2**32), st.integers(10, 90))
def test_tickets_move_as_the_table_says(queue: Queue, seed: int, acts: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        lives = Lives(queue, seed, monkeypatch)
        for _ in range(acts):
            lives.act()
    allowed = {(each.before, each.event, each.after) for each in TRANSITIONS}
    assert lives.moves <= allowed


def test_each_way_of_the_table_is_gone() -> None:
    seen: set[Move] = set()
    for seed in range(24):
        with pytest.MonkeyPatch.context() as monkeypatch:
            lives = Lives(QUEUES[seed % len(QUEUES)], seed, monkeypatch)
            for _ in range(60):
                lives.act()
        seen |= lives.moves
    ways = {
        (each.before, each.event, each.after) for each in TRANSITIONS if each.before != each.after
    }
    # A match with a server is called off only with another one that it filled.
    assert seen == ways - {(ASSIGNED, Voided, WAITING)}


@pytest.mark.parametrize("queue", QUEUES[:2])
def test_what_is_not_in_the_table_is_refused_and_read_all_the_same(queue: Queue) -> None:
    engine = Engine(resolve)
    engine.step(Configure(0.0, (queue,)))
    engine.step(Enqueue(0.0, (NewTicket((Player("a", Rating(1500.0)),)),)))
    tables = engine.tables
    early: list[Event] = [
        Confirmed("s0-m1", "s0-1", ("a",)),
        Dissolved("s0-m1", "timeout", ("s0-1",)),
    ]
    for event in early:
        with pytest.raises(AssertionError, match=r"I2: .* s0-1, which is waiting"):
            tables.check_event(event)
    tables.check_event(Cancelled("s0-1", "player"))
    engine.step(Cancel(1.0, "s0-1"))
    late: list[Event] = [Cancelled("s0-1", "player"), Expired("s0-1", "deadline")]
    for event in late:
        with pytest.raises(AssertionError, match=r"I2: .* s0-1, which is cancelled"):
            tables.check_event(event)
    # What a journal says has happened, whatever the table says today.
    tables.waiting["s0-1"] = LiveTicket(
        Ticket("s0-1", 1, 0.0, (Player("a", Rating(1500.0)),), ("main",)), ("main",), 1, "s0-m1"
    )
    reducers.apply(tables, Record(9, Cancel(2.0, "s0-1"), (Expired("s0-1", "deadline"),)))
    assert tables.ended["s0-1"].state == "expired"


def test_each_event_of_the_table_may_happen_where_it_says() -> None:
    known = {(each.before, each.event) for each in TRANSITIONS}
    for before in (NEW, *STATES):
        for event in {each.event for each in TRANSITIONS} - {Voided}:
            assert ((before, event) in POSSIBLE) is ((before, event) in known)


def test_every_state_can_be_reached_and_all_but_the_last_ones_left() -> None:
    reached = {each.after for each in TRANSITIONS}
    assert reached == set(STATES)
    left = {each.before for each in TRANSITIONS if each.before != each.after}
    assert set(STATES) - left == {"cancelled", "expired"}
    assert WAITING in left
