"""The strategies of the public kit: whatever they draw, the engine keeps its invariants."""

from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.engine.engine import Engine
from evenmatch.model.inputs import Advance, Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket
from evenmatch.policies.registry import parse_policy
from evenmatch.testing.strategies import instants, new_tickets, queues


@settings(deadline=None, derandomize=True)
@given(
    queues("one"),
    queues("two"),
    st.lists(st.tuples(instants(), new_tickets(size_max=2, queues=("one", "two"))), max_size=12),
)
def test_every_ticket_of_any_queue_has_one_state(
    one: Queue, two: Queue, arrivals: list[tuple[float, NewTicket]]
) -> None:
    engine = Engine(lambda queue: parse_policy(queue.policy))
    engine.step(Configure(0.0, (one, two)))
    for at, ticket in sorted(arrivals, key=lambda arrival: arrival[0]):
        while engine.next_wakeup < at:
            engine.step(Advance(engine.next_wakeup))
        engine.step(Enqueue(at, (ticket,)))
        engine.tables._check()
    while engine.next_wakeup <= 4000.0:
        engine.step(Advance(engine.next_wakeup))
        engine.tables._check()
    assert not engine.faults
    for kept in engine.tables.matches.values():
        seats = (one if kept.match.queue == "one" else two).format
        assert sum(map(len, kept.match.players)) + kept.match.bots == seats.k


@given(new_tickets(size_max=5))
def test_party_has_different_players(ticket: NewTicket) -> None:
    assert 1 <= len({player.id for player in ticket.players}) == len(ticket.players) <= 5
