"""Tickets that come back from matches that failed count as much as newcomers do for a round."""

from evenmatch.engine.engine import Engine
from evenmatch.model.events import Matched, Proposed
from evenmatch.model.inputs import Advance, Configure, Decline, Enqueue, Void
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket


def test_two_who_come_back_one_after_the_other_fill_a_round() -> None:
    engine = Engine(lambda each: parse_policy(each.policy))
    check = ReadyCheck(seconds=20.0, repair=0.0)
    engine.step(Configure(0.0, (Queue(policy="periodic:rounds_of=1", accept=check),)))
    engine.step(Enqueue(1.0, tuple([new_ticket(name) for name in "abcd"])))
    while len(engine.tables.proposals) < 2:
        engine.step(Advance(engine.next_wakeup))
    engine.step(Decline(2.0, "s0-m1", "s0-2"))
    events = engine.step(Decline(3.0, "s0-m2", "s0-4")).events
    assert [e.match.tickets for e in events if type(e) is Proposed] == [("s0-1", "s0-3")]


def test_a_restart_does_not_forget_who_is_kept_apart() -> None:
    records = []
    engine = Engine(lambda each: parse_policy(each.policy))
    duel = Queue(policy="periodic:rounds_of=1", allocation="fleet")
    given = Configure(0.0, (duel,)), Enqueue(1.0, (new_ticket("a"), new_ticket("b")))
    for each in (*given, Void(5.0, "s0-m1", "no server")):
        records.append(engine.step(each))
    restarted = Engine(lambda each: parse_policy(each.policy))
    for record in records:
        restarted.apply(record)
    restarted.resume(8.0, engine.memories())
    restarted.step(Advance(8.0))
    assert restarted.next_wakeup == engine.next_wakeup == 15.0
    events = restarted.step(Advance(15.0)).events
    assert [e.match.tickets for e in events if type(e) is Matched] == [("s0-1", "s0-2")]
