"""Recovery: the journal alone rebuilds the tables, asks no policy, and the run goes on as before.

Each run is drawn from a seed and interrupted at a drawn record; `--seeds` tries more of them.
"""

import math
import random
from contextlib import suppress
from typing import NamedTuple

import msgspec
import pytest

from evenmatch.criteria.kinds.rematch import redraw_rule
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.errors import KeyReused, TooLate
from evenmatch.model.events import Event
from evenmatch.model.inputs import (
    Advance,
    Assign,
    Cancel,
    Configure,
    Enqueue,
    Finish,
    Input,
)
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.base import Policy
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, player, queue, rule
from tests.conftest import seed_count
from tests.extent import extent

QUEUES = (
    queue("duel", policy="window:limit=50,rate=20", wait_max=9.0, exclusive_match=True),
    queue("calm", policy="periodic:rounds_of=2", wait_max=6.0, on_deadline="bots"),
    queue(
        "squads",
        *(2, 2),
        policy="greedy",
        rules=(rule(limit=100, steps=((2.0, 200.0), (5.0, 400.0))),),
        wait_max=12.0,
        on_deadline="keep",
    ),
    queue("sided", policy="greedy", sides=("cat", "mouse"), rules=(rule(limit=75, rate=12.0),)),
    queue("ranked", policy="window:limit=0.1,rate=0.05,unit=percentile,last=8", wait_max=9.0),
    queue(
        "again",
        policy="greedy",
        criteria=(Criterion("rematch", "recent", matches=3),),
        rules=(redraw_rule(2, every=1.5, matches=2),),
        wait_max=8.0,
    ),
    queue(
        "fair",
        *(2, 2),
        policy="greedy",
        rules=(
            Rule("pair_limit", "meetings", 1.0, within=4.0),
            Rule("household_limit", "household", 2.0),
        ),
        wait_max=8.0,
    ),
    queue("shuffled", policy="tests.shuffles.Shuffles:every=2", wait_max=9.0),
)
STATELESS = tuple(each for each in QUEUES if not each.policy.startswith(("periodic", "tests")))
INPUTS = 80


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(extent(3, 4) * seed_count(metafunc.config)))


def chosen(given: Queue) -> Policy:
    return parse_policy(given.policy)


class AsksNobody:
    """A resolver that is not to be called before `is_open`."""

    def __init__(self) -> None:
        self.is_open = False

    def __call__(self, given: Queue) -> Policy:
        assert self.is_open, "recovery asked for a policy"
        return chosen(given)


class TimedEvents(NamedTuple):
    """An instant and what happened at it."""

    at: float
    events: tuple[Event, ...]


class Run:
    """An engine and all its records, as bytes."""

    def __init__(self, engine: Engine, journal: list[bytes] | None = None) -> None:
        self.engine = engine
        self.journal = journal or []

    def hand_in(self, given: Input) -> list[TimedEvents]:
        """Step the engine, after everything that was due before, and tell what changed."""
        told = []
        while self.engine.next_wakeup < given.now:
            told += self._advance()
        with suppress(TooLate, KeyReused):
            told.append(self._step(given))
        return [each for each in told if each.events]

    def settle(self, now: float) -> list[TimedEvents]:
        """Let everything happen that is due by now."""
        told = []
        while self.engine.next_wakeup <= now:
            told += self._advance()
        return [each for each in told if each.events]

    def _advance(self) -> list[TimedEvents]:
        """Let happen what is due next; jobs are solved at once."""
        now = self.engine.next_wakeup
        told = [self._step(Advance(now))]
        for running in self.engine.take_jobs():
            settle = running.settle(running.solve(), now)
            told.append(self._step(settle))
        return told

    def _step(self, given: Input) -> TimedEvents:
        record = self.engine.step(given)
        self.engine.tables._check()
        if record.sequence:
            self.journal.append(encode(record))
            return TimedEvents(given.now, record.events)
        return TimedEvents(given.now, ())


def draw(seed: int, queues: tuple[Queue, ...]) -> list[list[Input]]:
    """Return the inputs of a run, grouped by their instants."""
    rng = random.Random(seed)
    now, count = 0.0, 0
    groups: list[list[Input]] = [[Configure(0.0, queues, seed)]]
    for _ in range(INPUTS):
        pause = rng.choice((0.0, 0.25, 0.25, 0.5, 1.0, 3.0))
        now += pause
        if pause:
            groups.append([])
        kind = rng.random()
        if kind < 0.7:
            tickets = tuple(draw_ticket(rng, queues) for _ in range(rng.choice((1, 1, 2, 4))))
            count += len(tickets)
            key = f"key-{rng.randrange(20)}" if rng.random() < 0.2 else None
            groups[-1].append(Enqueue(now, tickets, key, "digest" if key else ""))
        elif kind < 0.85 and count:
            groups[-1].append(Cancel(now, f"s0-{rng.randint(1, max(1, count // 2))}"))
        elif kind < 0.9:
            groups[-1].append(Assign(now, "s0-m1", {"host": "10.0.0.1"}))
        else:
            groups[-1].append(Finish(now, f"s0-m{rng.randint(1, 6)}"))
    return groups


def draw_ticket(rng: random.Random, queues: tuple[Queue, ...]) -> NewTicket:
    side = rng.choice((None, "cat", "mouse"))

    def draw_player() -> Player:
        name = f"p{rng.randrange(60)}"
        rated = player(name, 1000.0 + 25.0 * rng.randrange(17))
        facts = {"side": side} if side else {}
        return msgspec.structs.replace(rated, attributes=facts)

    if rng.random() < 0.2:
        one, other = draw_player(), draw_player()
        if one.id != other.id:
            return new_ticket("party", one, other, queues=("squads",))
    names = tuple(each.name for each in queues if rng.random() < 0.5)
    return new_ticket("solo", draw_player(), queues=names or (queues[0].name,))


def play(run: Run, groups: list[list[Input]]) -> list[TimedEvents]:
    """Hand in all groups; what is due at an instant happens after its inputs."""
    told: list[TimedEvents] = []
    for group in groups:
        for given in group:
            if isinstance(given, Cancel | Assign | Finish) and not known(run.engine, given):
                continue
            told += run.hand_in(given)
        told += run.settle(group[-1].now)
    return told


def known(engine: Engine, given: Cancel | Assign | Finish) -> bool:
    tables = engine.tables
    if isinstance(given, Cancel):
        return given.ticket in tables.waiting or given.ticket in tables.ended
    return given.match in tables.matches


def recovered(journal: list[bytes]) -> tuple[Engine, AsksNobody]:
    resolver = AsksNobody()
    engine = Engine(resolver)
    for body in journal:
        engine.apply(decode(body))
    return engine, resolver


@pytest.mark.parametrize("queues", [QUEUES, STATELESS], ids=["all", "stateless"])
def test_journal_rebuilds_tables_without_asking_a_policy(
    seed: int, queues: tuple[Queue, ...]
) -> None:
    run = Run(Engine(chosen))
    play(run, draw(seed, queues))
    again, _ = recovered(run.journal)
    assert again.tables == msgspec.structs.replace(run.engine.tables, now=again.tables.now)
    assert again.tables.met
    assert list(again.tables.met["default"]) == list(run.engine.tables.met["default"])
    again.tables.now = run.engine.tables.now  # advances without events are not journalled
    assert state_hash(again) == state_hash(run.engine)
    assert [encode(decode(body)) for body in run.journal] == run.journal


def test_snapshot_and_tail_equal_the_whole_journal(seed: int) -> None:
    rng = random.Random(seed)
    run, states = Run(Engine(chosen)), {}
    for group in draw(seed, QUEUES):
        play(run, [group])
        if rng.random() < 0.2:
            states[len(run.journal)] = encode_snapshot(take(run.engine))
    whole, _ = recovered(run.journal)
    assert states
    for sequence, state in states.items():
        engine = Engine(AsksNobody())
        restore(engine, decode_snapshot(state))
        assert engine.tables.sequence == sequence
        for body in run.journal[sequence:]:
            engine.apply(decode(body))
        if sequence == len(run.journal):
            engine.tables.now = whole.tables.now
        assert engine.tables == whole.tables
        assert state_hash(engine) == state_hash(whole)


def test_snapshot_does_not_change_while_the_engine_goes_on(seed: int) -> None:
    groups = draw(seed, QUEUES)
    run = Run(Engine(chosen))
    play(run, groups[: len(groups) // 2])
    snapshot = take(run.engine)
    before = encode_snapshot(snapshot)
    play(run, groups[len(groups) // 2 :])
    assert encode_snapshot(snapshot) == before


@pytest.mark.parametrize("way", ["journal", "snapshot", "snapshot and tail"])
def test_run_goes_on_after_recovery_as_if_nothing_had_happened(seed: int, way: str) -> None:
    # What a matcher learnt after the last snapshot may be lost, and without one all of it.
    queues = QUEUES if way == "snapshot" else STATELESS
    groups = draw(seed, queues)
    cut = random.Random(seed).randrange(1, len(groups))
    run = Run(Engine(chosen))
    play(run, groups[: cut // 2])
    early = encode_snapshot(take(run.engine))
    mark = len(run.journal)
    play(run, groups[cut // 2 : cut])
    now = groups[cut - 1][-1].now
    if way == "journal":
        engine, resolver = recovered(run.journal)
        memories = None
    else:
        resolver = AsksNobody()
        engine = Engine(resolver)
        state = encode_snapshot(take(run.engine)) if way == "snapshot" else early
        memories = restore(engine, decode_snapshot(state))
        for body in run.journal[mark:] if way == "snapshot and tail" else ():
            engine.apply(decode(body))
    resolver.is_open = True
    engine.resume(now, memories)
    other = Run(engine, list(run.journal))
    assert other.settle(now) == []
    assert play(other, groups[cut:]) == play(run, groups[cut:])
    end = groups[-1][-1].now
    for later in (end + 1.0, end + 20.0, end + 8000.0):
        assert other.settle(later) == run.settle(later)
    assert other.journal == run.journal
    assert state_hash(other.engine) == state_hash(run.engine)


def test_inputs_of_the_journal_decide_the_same_again(seed: int) -> None:
    run = Run(Engine(chosen))
    play(run, draw(seed, QUEUES))
    run.settle(200.0)
    engine, again = Engine(chosen), []
    for body in run.journal:
        given = decode(body).input
        while engine.next_wakeup < given.now:
            again.append(engine.step(Advance(engine.next_wakeup)))
        again.append(engine.step(given))

    assert [encode(record) for record in again if record.sequence] == run.journal


def test_deadlines_that_passed_while_nobody_looked_are_met_at_once() -> None:
    run = Run(Engine(chosen))
    run.hand_in(Configure(0.0, (queue(wait_max=5.0),)))
    run.hand_in(Enqueue(1.0, (new_ticket("a"),)))
    engine, resolver = recovered(run.journal)
    resolver.is_open = True
    engine.resume(60.0)
    assert engine.next_wakeup == 60.0
    (expired,) = engine.step(Advance(60.0)).events
    assert (expired.ticket, expired.reason) == ("s0-1", "deadline")  # type: ignore[union-attr]
    assert engine.next_wakeup == math.inf


def test_record_keeps_its_numbers_exactly() -> None:
    ticket = new_ticket("a", 0.1 + 0.2, ping={"eu": 1e-300}, score=2.0**53)
    record = Record(1, Enqueue(2.0**-20, (ticket,)), ())
    assert decode(encode(record)) == record
