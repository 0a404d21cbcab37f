"""A record decided again, and what of it is no decision."""

from msgspec.structs import replace

from evenmatch.engine.replay import Replay
from evenmatch.model.events import Expired, Refused
from evenmatch.model.inputs import Configure, Decline, Enqueue
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.testing import new_ticket
from tests.unit.lab.journals import Played, new_engine


def test_a_journal_that_tells_no_seconds_of_a_cooldown_is_decided_the_same() -> None:
    queue = Queue("duel", policy="greedy", accept=ReadyCheck(4.0, cooldowns=(500.0,)))
    world = Played().hand_in(Configure(0.0, (queue,), 1))
    for n, now in enumerate((1.0, 21.0)):
        world.hand_in(Enqueue(now, (new_ticket("ada", 1500.0), new_ticket(f"b{n}", 1500.0))))
        (proposal,) = world.engine.tables.proposals.values()
        ada = world.engine.tables.players["default"]["ada"]
        world.hand_in(Decline(now + 1.0, proposal.match.id, ada))
    world.hand_in(Enqueue(41.0, (new_ticket("ada", 1500.0), new_ticket("eve", 1500.0))))
    *before, last = world.records
    refused, *more = last.events
    assert isinstance(refused, Refused)
    assert refused.seconds == 481.0
    replay = Replay(new_engine())
    older = replace(last, events=(replace(refused, seconds=None), *more))
    assert [replay.hear(record) for record in (*before, older)] == [None] * len(world.records)


def test_a_timer_that_the_journal_knows_nothing_of_is_a_difference_at_its_instant() -> None:
    queue = Queue("duel", policy="greedy", wait_max=10.0)
    world = Played().hand_in(Configure(0.0, (queue,), 1))
    world.hand_in(Enqueue(1.0, (new_ticket("ada", 1500.0),))).wait(11.0)
    world.hand_in(Enqueue(20.0, (new_ticket("bea", 1500.0),)))
    *before, expired, last = world.records
    assert [type(event) for event in expired.events] == [Expired]
    replay = Replay(new_engine())
    assert [replay.hear(record) for record in before] == [None] * len(before)

    found = replay.hear(last)

    assert found is not None
    assert (found.at, found.decided, found.first) == (11.0, expired.events, 0)
