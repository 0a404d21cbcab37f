"""Repairs under another policy than the one that proposed, errors in them, whom they pass over."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenmatch.criteria.columns.pairs import PairTable
from evenmatch.criteria.objective import Objective, Seating
from evenmatch.engine.engine import Engine
from evenmatch.engine.state.snapshot import decode_snapshot, encode_snapshot, restore, take
from evenmatch.model.events import Dissolved, Event, Expired, Matched, Proposed, Repaired
from evenmatch.model.inputs import Accept as Answer
from evenmatch.model.inputs import Advance, Configure, Decline, Enqueue, Input
from evenmatch.model.queue import Format, Queue, ReadyCheck
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue

CHECK = ReadyCheck(seconds=15.0, repair=10.0)
WINDOW = "window:attribute=rating,limit=100"


def checked(name: str = "main", policy: str = "greedy", players: int = 1) -> Queue:
    """Return a queue whose matches are proposed first."""
    return replace(queue(name, players, players), accept=CHECK, policy=policy, group=name)


def bare(*names: str, queues: tuple[str, ...] = ()) -> tuple[NewTicket, ...]:
    """Return tickets of players without a rating."""
    return tuple([NewTicket((Player(name),), queues) for name in names])


def rated(name: str, queues: tuple[str, ...] = ()) -> NewTicket:
    return replace(new_ticket(name, 1500), queues=queues)


def engine_of(*queues: Queue) -> Engine:
    engine = Engine(lambda each: parse_policy(each.policy))
    hand(engine, Configure(0.0, queues))
    return engine


def hand(engine: Engine, *inputs: Input) -> list[Event]:
    """Hand inputs in, each after what is due before it; return what came of all."""
    events: list[Event] = []
    for given in inputs:
        while engine.next_wakeup < given.now:
            events += engine.step(Advance(engine.next_wakeup)).events
        events += engine.step(given).events
        engine.tables._check()
    return events


def until(engine: Engine, now: float) -> list[Event]:
    """Let time pass."""
    events: list[Event] = []
    while engine.next_wakeup <= now:
        events += engine.step(Advance(engine.next_wakeup)).events
    return events


def only(events: list[Event], kind: type) -> list[Event]:
    return [event for event in events if type(event) is kind]


class TestPolicyThatComparesMore:
    """`greedy` proposes players without a rating; then the queue's policy looks at ratings."""

    def proposed(self) -> Engine:
        engine = engine_of(checked())
        assert only(hand(engine, Enqueue(1.0, bare("a", "b"))), Proposed)
        return engine

    def changed(self) -> Configure:
        return Configure(2.0, (checked(policy=WINDOW),), version=2)

    def test_decline_ends_the_proposal_and_leaves_the_queue_at_work(self) -> None:
        engine = self.proposed()
        hand(engine, self.changed(), Enqueue(2.5, (rated("c"),)))
        events = hand(engine, Decline(3.0, "s0-m1", "s0-1"))

        assert only(events, Dissolved)
        assert not only(events, Repaired)
        assert engine.view("s0-2").reason == "queue_changed"
        assert engine.faults == []
        assert only(hand(engine, Enqueue(4.0, (rated("d"),))), Proposed)

    def test_silence_ends_it_too(self) -> None:
        engine = self.proposed()
        hand(engine, self.changed(), Enqueue(2.5, (rated("c"),)))
        hand(engine, Answer(3.0, "s0-m1", "s0-1"))

        assert only(until(engine, 60.0), Dissolved)
        assert engine.faults == []

    def test_repair_that_runs_ends_with_the_change(self) -> None:
        engine = self.proposed()
        hand(engine, Decline(1.5, "s0-m1", "s0-1"))
        events = hand(engine, self.changed(), Enqueue(2.5, (rated("c"),)))

        assert [event.reason for event in only(events, Dissolved)] == ["queue_changed"]  # type: ignore[attr-defined]
        assert len(only(events, Expired)) == 1
        assert engine.faults == []

    def test_restart_goes_on_without_them_too(self) -> None:
        engine = self.proposed()
        hand(engine, self.changed(), Enqueue(2.5, (rated("c"),)))
        again = Engine(lambda each: parse_policy(each.policy))
        memories = restore(again, decode_snapshot(encode_snapshot(take(engine))))
        again.resume(2.6, memories)
        hand(again, Decline(3.0, "s0-m1", "s0-1"))

        assert again.faults == []
        assert again.view("s0-3").state == "waiting"

    def test_whoever_leaves_need_not_fit(self) -> None:
        engine = engine_of(checked())
        hand(engine, Enqueue(1.0, (*bare("a"), rated("b"))), self.changed())
        hand(engine, Enqueue(2.5, (rated("c"),)))
        events = hand(engine, Decline(3.0, "s0-m1", "s0-1"))

        assert only(events, Repaired)


class TestErrorInOneRepair:
    def test_stops_its_queue_and_no_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = engine_of(checked("one"), checked("two"))
        hand(engine, Enqueue(1.0, (rated("a", ("one",)), rated("b", ("one",)))))
        hand(engine, Enqueue(1.0, (rated("c", ("one",)),)))

        def broken(self: PairTable, some: object, others: object) -> None:
            raise TypeError("planted")

        with monkeypatch.context() as patch:
            patch.setattr(PairTable, "ready_at", broken)
            events = hand(engine, Decline(2.0, "s0-m1", "s0-1"))
            assert only(events, Dissolved)
            until(engine, 50.0)

        (fault,) = engine.faults
        assert "queue one failed in the repair of match s0-m1: TypeError: planted" in str(fault)
        assert engine.view("s0-2").state == "waiting"
        pair = Enqueue(60.0, (rated("d", ("two",)), rated("e", ("two",))))
        assert only(hand(engine, pair), Proposed)

    def test_of_several_seats_stops_its_queue_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = engine_of(checked("one", players=2), checked("two"))
        four = tuple([rated(name, ("one",)) for name in "abcd"])
        hand(engine, Enqueue(1.0, four), Decline(2.0, "s0-m1", "s0-1"))
        hand(engine, Decline(2.0, "s0-m1", "s0-2"))

        def broken(self: PairTable, some: object, others: object) -> None:
            raise TypeError("planted")

        with monkeypatch.context() as patch:
            patch.setattr(PairTable, "ready_at", broken)
            hand(engine, Enqueue(3.0, (rated("e", ("one",)),)))
            until(engine, 50.0)

        assert len(engine.faults) == 1
        assert not engine.tables.proposals
        hand(engine, Enqueue(60.0, (rated("f", ("two",)), rated("g", ("two",)))))
        made = hand(engine, Answer(61.0, "s0-m2", "s0-6"), Answer(61.0, "s0-m2", "s0-7"))
        assert only(made, Matched)


class TestSeats:
    """A repair looks only at tickets that find seats beside those who stay."""

    ROLES = (("tank", 1), ("support", 1))

    def player(self, name: str, *roles: str) -> NewTicket:
        return NewTicket((Player(name, roles=roles),))

    def proposed(self) -> Engine:
        form = Format((2, 2), roles=self.ROLES)
        engine = engine_of(Queue("main", form, accept=CHECK, policy="greedy"))
        tanks = tuple([self.player(f"t{n}", "tank") for n in range(50)])
        supports = (self.player("a", "support"), self.player("b", "support"))
        assert only(hand(engine, Enqueue(1.0, (*tanks, *supports))), Proposed)
        return engine

    def test_tanks_are_not_tried_in_the_seat_of_a_support(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = self.proposed()
        tried: list[int] = []
        seat = Objective.seat

        def counted(self: Objective, *given: Any) -> Seating | None:
            tried.append(len(given[0]))
            return seat(self, *given)

        monkeypatch.setattr(Objective, "seat", counted)
        assert not only(hand(engine, Decline(2.0, "s0-m1", "s0-51")), Repaired)
        until(engine, 4.0)
        assert tried == []
        assert only(hand(engine, Enqueue(5.0, (self.player("c", "tank", "support"),))), Repaired)
        assert tried

    def test_another_tank_takes_the_seat_of_a_tank(self) -> None:
        engine = self.proposed()
        assert only(hand(engine, Decline(2.0, "s0-m1", "s0-1")), Repaired)
