"""Outcomes drawn at random: a journal rebuilds what is known of them, wherever it is cut (I19)."""

import random
from contextlib import suppress

import msgspec
import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.outcomes import reports as module
from evenmatch.engine.records import decode, encode
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.errors import Refusal
from evenmatch.model.inputs import Advance, Configure, Enqueue, Finish, Input, Open, Outcome
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.ratings.periods import rate_period
from evenmatch.testing import queue
from tests.conftest import seed_count


def rated(name: str, *shape: int, **more: object) -> Queue:
    return msgspec.structs.replace(queue(name, *shape, exclusive_match=True), **more)  # type: ignore[arg-type]


QUEUES = (
    rated("duel", rating="glicko2"),
    rated("daily", rating="glicko", rating_period=40.0, ladder="daily"),
    rated("squads", 2, 2, rating="weng_lin", rating_period=60.0, ladder="squads"),
    rated("calm"),
    rated("filled", 1, 1, rating="elo", ladder="filled", backfill="manual"),
)
INPUTS = 300


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(3 * seed_count(metafunc.config)))


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE_SEATS", 6)
    monkeypatch.setattr(module, "REPORTS_LAST", 20.0)
    monkeypatch.setattr(module, "OUTCOMES_MOST", 12)


def new_engine() -> Engine:
    return Engine(lambda each: parse_policy(each.policy), rate=rate_period)


def hand_in(engine: Engine, given: Input, journal: list[bytes]) -> None:
    while engine.next_wakeup < given.now:
        _step(engine, Advance(engine.next_wakeup), journal)
    with suppress(Refusal):
        _step(engine, given, journal)


def _step(engine: Engine, given: Input, journal: list[bytes]) -> None:
    record = engine.step(given)
    engine.tables._check()
    if record.sequence:
        journal.append(encode(record))


def draw(seed: int) -> list[Input]:
    """Return the inputs of a run: people come, and tell of matches that may exist."""
    rng, now = random.Random(seed), 0.0
    inputs: list[Input] = [Configure(0.0, QUEUES, seed)]
    for number in range(INPUTS):
        now += rng.choice((0.0, 0.25, 1.0, 3.0))
        match = f"s0-m{rng.randint(1, 2 + number // 5)}"
        kind = rng.random()
        if kind < 0.5:
            names = rng.sample(range(30), 2)
            into = (rng.choice(QUEUES).name,)
            players = tuple(Player(f"p{name}") for name in names)
            inputs.append(Enqueue(now, tuple(NewTicket((each,), into) for each in players)))
        elif kind < 0.92:
            ranks = rng.choice(((1.0, 2.0), (1.0, 2.0), (2.0, 1.0), (1.0, 1.0)))
            player = rng.choice((None, *(f"p{name}" for name in range(30))))
            player = None if rng.random() < 0.3 else player
            inputs.append(Outcome(now, match, ranks, player=player))
        elif kind < 0.96:
            inputs.append(Finish(now, match))
        else:
            # Whoever of all people is in it leaves, as long as somebody stays.
            names = rng.sample(range(30), 30)
            version = rng.choice((0, 1))
            inputs += [Open(now, match, version, (f"p{name}",)) for name in names]
    return inputs


def test_journal_and_snapshot_go_on_as_if_nothing_had_happened(seed: int) -> None:
    inputs = draw(seed)
    cut = random.Random(seed).randrange(20, len(inputs))
    engine, journal = new_engine(), list[bytes]()
    for given in inputs[:cut]:
        hand_in(engine, given, journal)
    folded, snapped = new_engine(), new_engine()
    for body in journal:
        folded.apply(decode(body))
    memories = restore(snapped, decode_snapshot(encode_snapshot(take(engine))))
    folded.tables.now = engine.tables.now
    assert state_hash(folded) == state_hash(engine) == state_hash(snapped)

    journals = [list[bytes](), list[bytes](), list[bytes]()]
    folded.resume(engine.tables.now)
    snapped.resume(engine.tables.now, memories)
    for at_work, tail in zip((engine, folded, snapped), journals, strict=True):
        for given in inputs[cut:]:
            hand_in(at_work, given, tail)
        hand_in(at_work, Advance(inputs[-1].now + 200.0), tail)

    assert journals[0] == journals[1] == journals[2]
    assert state_hash(folded) == state_hash(engine) == state_hash(snapped)
    counters = engine.tables.counters
    assert counters.outcomes > 5
    assert counters.rated > 10
    assert not engine.tables.closing
