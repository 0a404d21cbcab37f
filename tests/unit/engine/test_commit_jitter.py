"""`commit_jitter`: a newcomer is held back for a time of his own; nothing else changes."""

import msgspec
import pytest

from evenmatch.engine.admission.admission import let_in_at
from evenmatch.engine.engine import Engine
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue, ticket

HASTY = queue("main", wait_max=30.0)
CALM = msgspec.structs.replace(HASTY, commit_jitter=8.0)


def world(given: Queue, seed: int = 1) -> Engine:
    engine = Engine(lambda each: parse_policy(each.policy))
    engine.step(Configure(0.0, (given,), seed))
    return engine


def until(engine: Engine, at: float) -> None:
    while engine.next_wakeup <= at:
        engine.step(Advance(engine.next_wakeup))


def enter(engine: Engine, names: str, at: float) -> None:
    until(engine, at)
    for name in names:
        engine.step(Enqueue(at, (new_ticket(name, 1500),)))


def made(engine: Engine) -> list[tuple[float, set[str]]]:
    assert not engine.faults
    matches = [kept.match for kept in engine.tables.matches.values()]
    return [(m.at, {p for team in m.players for p in team}) for m in matches]


def test_pair_plays_when_the_later_of_two_delays_is_over() -> None:
    engine = world(CALM)
    enter(engine, "ab", 0.0)
    delays = [let_in_at(row.ticket, CALM, 1) for row in engine.tables.waiting.values()]
    until(engine, 40.0)

    assert all(0.0 < delay <= 8.0 for delay in delays)
    assert made(engine) == [(max(delays), {"a", "b"})]


def test_delays_are_spread_evenly_and_belong_to_seed_queue_and_ticket() -> None:
    delays = [let_in_at(ticket("t", sequence=n), CALM, 1) for n in range(1, 1001)]
    other = msgspec.structs.replace(CALM, name="other")

    # The mean of 1,000 uniform delays on [0, 8] has a standard error of 0.073.
    assert sum(delays) / 1000 == pytest.approx(4.0, abs=4 * 0.073)
    assert 0.0 <= min(delays) < 0.1
    assert 7.9 < max(delays) <= 8.0
    assert let_in_at(ticket("t", at=100.0, sequence=1), CALM, 1) == 100.0 + delays[0]
    assert let_in_at(ticket("t", sequence=1), CALM, 2) != delays[0]
    assert let_in_at(ticket("t", sequence=1), other, 1) != delays[0]
    assert let_in_at(ticket("t", at=5.0, sequence=1), HASTY, 1) == 5.0


def test_two_who_press_at_once_are_put_together_less_often() -> None:
    def meetings(given: Queue) -> int:
        count = 0
        for seed in range(60):
            engine = world(given, seed)
            for at, names in enumerate(("c", "d", "e", "f", "xy", "h", "i", "j", "k")):
                enter(engine, names, float(at))
            until(engine, 100.0)
            count += any(players == {"x", "y"} for _, players in made(engine))
        return count

    # Within their 8 s about eight others come or wait: the two meet in a fraction of the runs.
    assert meetings(HASTY) == 60
    assert 1 <= meetings(CALM) <= 24


def test_deadline_is_that_of_the_ticket_and_not_of_its_commit() -> None:
    engine = world(CALM)
    enter(engine, "a", 1.0)
    until(engine, 30.999)
    assert len(engine.tables.waiting) == 1
    until(engine, 31.0)

    (ended,) = engine.tables.ended.values()
    assert (ended.state, ended.reason, ended.ended_at) == ("expired", "deadline", 31.0)


def test_ticket_may_be_cancelled_while_it_is_held_back() -> None:
    engine = world(CALM)
    enter(engine, "ab", 0.0)
    first, _ = engine.tables.waiting
    engine.step(Cancel(0.0, first))
    until(engine, 20.0)

    assert made(engine) == []
    assert engine.tables.ended[first].state == "cancelled"


def test_newcomer_who_is_held_back_does_not_fill_up_the_match_of_another_at_his_deadline() -> None:
    brawl = queue("main", 1, 1, 1, wait_max=10.0, on_deadline="bots")
    engine = world(msgspec.structs.replace(brawl, commit_jitter=9.0))
    enter(engine, "a", 0.0)
    enter(engine, "b", 9.999)
    until(engine, 10.0)

    assert made(engine) == [(10.0, {"a"})]


@pytest.mark.parametrize("seed", range(5))
def test_restart_finds_the_same_instants_again(seed: int) -> None:
    engine = world(CALM, seed)
    for at, names in enumerate(("ab", "c", "de", "fg")):
        enter(engine, names, float(at))
    other = Engine(lambda each: parse_policy(each.policy))
    memories = restore(other, decode_snapshot(encode_snapshot(take(engine))))
    other.resume(3.0, memories)
    for each in (engine, other):
        until(each, 100.0)

    assert made(other) == made(engine)
    assert state_hash(other) == state_hash(engine)


def test_new_configuration_lets_everyone_in_or_holds_back_anew() -> None:
    engine = world(CALM)
    enter(engine, "ab", 0.0)
    engine.step(Configure(0.0, (HASTY,), 1, 2))

    assert made(engine) == [(0.0, {"a", "b"})]
