"""Percentiles among the last tickets: placed once at acceptance, folded by step and apply alike."""

from evenmatch.criteria.percentile import RecentValues
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.model.events import Accepted, Expired, Placed
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.queue import Criterion, Sample, Scale
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, player, queue, rule

PLACED = Scale("percentile", sample=Sample(last=3))
RANKED = queue(
    "ranked",
    policy="window:limit=0.0,unit=percentile,last=3",
    criteria=(Criterion("spread", "rating", scale=PLACED),),
)
PLAIN = queue("plain")


def new_engine() -> Engine:
    return Engine(lambda each: parse_policy(each.policy))


def played(*ratings: float) -> tuple[Engine, list[Record]]:
    """Return an engine with the ranked queue, to which players of these ratings came."""
    engine = new_engine()
    records = [engine.step(Configure(0.0, (RANKED, PLAIN)))]
    for number, rating in enumerate(ratings):
        records.append(engine.step(Enqueue(float(number), (new_ticket(f"p{number}", rating),))))
    return engine, records


def test_ticket_is_placed_among_those_before_it_and_keeps_its_place() -> None:
    engine, records = played(1000, 2000, 1500)

    (event, *_) = records[-1].events
    assert event == Accepted(0, "s0-3", 3, {"ranked/rating": Placed(3, (0.5,))})
    assert engine.tables.waiting["s0-2"].ticket.percentiles == {"ranked/rating": (0.75,)}
    # The first and the third both stood in the middle as they came, so they meet.
    assert [kept.match.tickets for kept in engine.tables.matches.values()] == [("s0-1", "s0-3")]
    assert [kept.match.quality for kept in engine.tables.matches.values()] == [1.0]


def test_only_the_last_values_are_kept() -> None:
    engine, _ = played(5, 1, 4, 2, 3)
    assert engine.tables.recent == {"ranked/rating": RecentValues([4.0, 2.0, 3.0], [2.0, 3.0, 4.0])}


def test_party_is_placed_player_by_player() -> None:
    engine = new_engine()
    squads = queue("squads", 2, 2, criteria=(Criterion("spread", "rating", scale=PLACED),))
    engine.step(Configure(0.0, (squads,)))
    engine.step(Enqueue(0.0, (new_ticket("a", player("one", 10), player("two", 20)),)))
    engine.step(Enqueue(1.0, (new_ticket("b", player("x", 15), player("y", 30)),)))
    places = [row.ticket.percentiles for row in engine.tables.waiting.values()]
    assert engine.tables.recent["squads/rating"].arrived == [20.0, 15.0, 30.0]
    assert places == []
    (kept,) = engine.tables.matches.values()
    # 0.5 and 0.5 against 0.5 and 5/6.
    assert kept.match.quality is not None
    assert abs(kept.match.quality - 2 / 3) < 1e-12


def test_journal_alone_rebuilds_places_and_last_values() -> None:
    engine, records = played(1000, 2000, 1500, 1200)
    again = new_engine()
    for record in records:
        again.apply(decode(encode(record)))

    assert again.tables.recent == engine.tables.recent
    assert again.tables.waiting == engine.tables.waiting
    assert state_hash(again) == state_hash(engine)


def test_snapshot_carries_the_last_values_and_later_ones_do_not_touch_it() -> None:
    engine, _ = played(1000, 2000, 1500)
    snapshot = take(engine)
    engine.step(Enqueue(9.0, (new_ticket("late", 1700),)))
    again = new_engine()
    restore(again, decode_snapshot(encode_snapshot(snapshot)))

    assert again.tables.recent["ranked/rating"].arrived == [1000.0, 2000.0, 1500.0]
    again.resume(9.0, {})
    record = again.step(Enqueue(9.0, (new_ticket("late", 1700),)))
    assert record.events[0] == Accepted(0, "s0-4", 4, {"ranked/rating": Placed(3, (0.625,))})
    assert again.tables.recent == engine.tables.recent


def test_waiting_ticket_that_was_never_placed_does_not_fit_a_queue_that_asks_for_it() -> None:
    engine = new_engine()
    engine.step(Configure(0.0, (queue("ranked"),)))
    engine.step(Enqueue(0.0, (new_ticket("a", 1000),)))

    record = engine.step(Configure(1.0, (RANKED,)))

    assert Expired("s0-1", "queue_changed") in record.events


def test_other_number_of_last_values_keeps_the_tickets_and_the_values() -> None:
    engine, _ = played(1000, 2000)
    shorter = queue("ranked", rules=(rule(limit=0.0, unit="percentile", sample=Sample(last=1)),))

    engine.step(Configure(2.0, (shorter,)))
    engine.step(Enqueue(3.0, (new_ticket("c", 3000),)))

    assert list(engine.tables.waiting) == ["s0-1", "s0-2", "s0-3"]
    assert engine.tables.recent == {"ranked/rating": RecentValues([3000.0], [3000.0])}


def test_values_of_a_queue_that_is_gone_are_forgotten() -> None:
    engine, _ = played(1000)
    engine.step(Configure(2.0, (PLAIN,)))
    assert engine.tables.recent == {}


def test_tickets_of_other_queues_are_not_placed() -> None:
    engine, _ = played(1000)
    record = engine.step(Enqueue(5.0, (new_ticket("x", 1, queues=("plain",)),)))
    assert record.events[0] == Accepted(0, "s0-2", 2)
    assert engine.tables.recent["ranked/rating"].arrived == [1000.0]
