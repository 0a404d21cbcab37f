"""A record decided again, and what of it is no decision."""

import pytest
from msgspec.structs import replace

from evenmatch.engine.records import Record
from evenmatch.engine.replay import Difference, Replay
from evenmatch.model.events import Accepted, Expired, Rated, Refused
from evenmatch.model.inputs import Configure, Decline, Enqueue, Outcome
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.model.ticket import NewTicket, Player
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


def rated_games() -> list[Record]:
    """Return the records of two rated games of ada and bea, who come without ratings."""
    queue = Queue("duel", policy="greedy", rating="glicko2")
    world = Played().hand_in(Configure(0.0, (queue,), 1))
    for now in (1.0, 11.0):
        world.hand_in(Enqueue(now, (NewTicket((Player("ada"),)), NewTicket((Player("bea"),)))))
        match = list(world.engine.tables.matches)[-1]
        world.hand_in(Outcome(now + 5.0, match, ranks=(1, 2)))
    return world.records


def with_more_mean(record: Record, points: float) -> Record:
    """Return a record whose first rated player has more points."""
    *before, rated = record.events
    assert isinstance(rated, Rated)
    (name, first), *others = rated.ratings.items()
    ratings = {name: replace(first, mean=first.mean + points), **dict(others)}
    return replace(record, events=(*before, replace(rated, ratings=ratings)))


@pytest.mark.parametrize("points", [1e-10, -2e-7])
def test_a_rating_whose_last_digits_were_rounded_otherwise_is_no_difference(points: float) -> None:
    start, entered, outcome, again, last = rated_games()
    rounded = with_more_mean(outcome, points)
    replay = Replay(new_engine())

    assert [replay.hear(record) for record in (start, entered, rounded)] == [None] * 3

    # What the journal says goes on: the next ticket has that rating, and so has the next game.
    ada, bea = again.events[:2]
    assert isinstance(ada, Accepted)
    assert isinstance(rounded.events[-1], Rated)
    known = replace(ada, ratings={"ada": rounded.events[-1].ratings["ada"]})
    found = replay.hear(replace(again, events=(known, bea, *again.events[2:])))
    assert found is None
    assert replay.hear(last) is None


def test_an_event_after_a_rounded_rating_is_named_as_the_first_that_differs() -> None:
    *_, outcome, _, _ = rated_games()
    recorded = with_more_mean(outcome, 1e-10)
    more = replace(recorded, events=(*recorded.events, Expired("s0-9", "deadline")))
    other = (*outcome.events, Expired("s0-8", "deadline"))

    assert Difference(more, outcome.input.now, other).first == len(outcome.events)


def test_the_match_that_a_refusal_names_is_no_decision() -> None:
    queue = Queue("duel", policy="greedy", exclusive_match=True)
    world = Played().hand_in(Configure(0.0, (queue,), 1))
    names = ("ada", "bea")
    world.hand_in(Enqueue(1.0, tuple(new_ticket(name, 1500.0) for name in names)))
    world.hand_in(Enqueue(2.0, (new_ticket("ada", 1500.0), new_ticket("eve", 1500.0))))
    *before, last = world.records
    refused, *more = last.events
    assert isinstance(refused, Refused)
    assert refused.match == "s0-m1"
    replay = Replay(new_engine())
    older = replace(last, events=(replace(refused, match="s0-m7"), *more))

    assert [replay.hear(record) for record in (*before, older)] == [None] * len(world.records)


def test_a_rating_that_is_another_is_a_difference() -> None:
    start, entered, outcome, *_ = rated_games()
    replay = Replay(new_engine())
    assert [replay.hear(record) for record in (start, entered)] == [None] * 2

    found = replay.hear(with_more_mean(outcome, 0.01))

    assert found is not None
    assert found.decided == outcome.events
    assert found.first == len(outcome.events) - 1
