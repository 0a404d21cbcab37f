"""Estimates of waits, from durable records to the answers of the server."""

import math
from typing import Any

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import TicketLifecycle
from evenmatch.engine.records import Record
from evenmatch.errors import PolicyError
from evenmatch.forecast.waits import MATCHES_MIN
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Advance, Cancel, Configure, Decline, Enqueue
from evenmatch.model.queue import Criterion, Queue, ReadyCheck
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.server.views.forecasting import WaitEstimates
from evenmatch.wire.tickets import Estimate
from tests.unit.server.test_app import call, pair, play, started

DUEL = Queue(name="duel", policy="greedy")
ROUNDS = Queue(name="big", criteria=(Criterion("party_parity"),), policy="rounds:every=60")


class World:
    """An engine whose records are durable at once, and the estimates that hear of them."""

    def __init__(self, *queues: Queue) -> None:
        self.engine = Engine(lambda queue: parse_policy(queue.policy))
        self.waits = WaitEstimates()
        self.lifecycle = TicketLifecycle([self.waits])
        self.lifecycle.reset(self.engine)
        self.now = 0.0
        self.step(Configure(0.0, queues or (DUEL,)))

    def step(self, given: Any) -> Record:
        while (at := self.engine.next_wakeup) < given.now:
            self.lifecycle.hear(self.engine.step(Advance(at)))
        record = self.engine.step(given)
        self.lifecycle.hear(record)
        return record

    def comes(self, now: float, player: str, *queues: str) -> str:
        self.step(Enqueue(now, (NewTicket((Player(player),), queues),)))
        return next(reversed(self.engine.tables.waiting), "")

    def duels(self, count: int, wait: float, *queues: str) -> float:
        """Let pairs come one after another, the first of each waiting so long."""
        for number in range(count):
            self.comes(self.now + 1.0, f"a{self.now}", *queues)
            self.now += 1.0 + wait
            self.comes(self.now, f"b{number}{self.now}", *queues)
        return self.now

    def estimate(self, ticket_id: str, now: float) -> Estimate | None:
        return self.waits.estimate(self.engine, ticket_id, now)


def test_estimate_follows_what_happened() -> None:
    world = World()
    now = world.duels(MATCHES_MIN - 1, 8.0)
    name = world.comes(now, "x")
    assert world.estimate(name, now) is None
    world.step(Cancel(now, name))
    now = world.duels(30, 8.0)
    name = world.comes(now, "y")
    found = world.estimate(name, now)
    assert found is not None
    # All waits were 8 s; a bin of the table is 19 % wide.
    assert found.p50 == pytest.approx(8.0, rel=0.25)
    assert found.low <= found.p50 <= found.high
    world.comes(now, "z")
    assert world.estimate(name, now) is None


def test_new_process_learns_from_what_is_kept_and_an_old_one_goes_on() -> None:
    world = World()
    now = world.duels(60, 8.0)
    name = world.comes(now, "y")
    before = world.estimate(name, now)
    anew = WaitEstimates()
    TicketLifecycle([anew]).reset(world.engine)
    found = anew.estimate(world.engine, name, now)
    assert before is not None
    assert found is not None
    # Cells are not kept, waits are; here all tickets are of one cell.
    assert found.p50 == pytest.approx(before.p50, rel=0.1)
    world.lifecycle.reset(world.engine)
    assert world.estimate(name, now) == before


def test_new_process_learns_no_waits_for_matches_from_failed_ready_checks() -> None:
    world = World(Queue(name="duel", policy="greedy", accept=ReadyCheck(repair=0.0)))
    for number in range(MATCHES_MIN + 1):
        now, one = 1.0 + 20.0 * number, f"s0-{2 * number + 1}"
        world.comes(now, f"a{number}")
        two = world.comes(now + 8.0, f"b{number}")
        world.step(Decline(now + 9.0, f"s0-m{number + 1}", two))
        world.step(Cancel(now + 9.0, one))
    again = WaitEstimates()
    TicketLifecycle([again]).reset(world.engine)

    assert world.waits.of(world.engine, "duel", 500.0) == (None, ())
    assert again.of(world.engine, "duel", 500.0) == (None, ())


def test_rounds_tell_the_moment() -> None:
    world = World(ROUNDS, DUEL)
    name = world.comes(5.0, "x", "big")
    assert world.estimate(name, 5.0) == Estimate(60.0, 60.0, 60.0)
    other = world.comes(25.0, "y", "big")
    assert world.estimate(other, 25.0) == Estimate(40.0, 40.0, 40.0)
    assert world.engine.next_wakeup == 65.0


def test_round_bounds_the_estimate_of_a_ticket_that_waits_elsewhere_too() -> None:
    world = World(DUEL, ROUNDS)
    now = world.duels(30, 8.0)
    name = world.comes(now, "y", "duel", "big")
    found = world.estimate(name, now)
    assert found is not None
    assert found.p50 < 15.0
    assert found.high <= 60.0
    assert world.estimate(name, now + 59.0) is not None
    last = world.estimate(name, now + 59.0)
    assert last is not None
    assert last.high <= 1.0


def test_queue_that_makes_no_matches_promises_nothing() -> None:
    world = World()
    now = world.duels(40, 8.0)
    name = world.comes(now, "y")
    assert world.estimate(name, now) is not None
    world.engine.pools["duel"].fault = PolicyError("broken")
    assert world.estimate(name, now) is None
    assert world.waits.of(world.engine, "duel", now) == (None, ())
    world.engine.pools["duel"].fault = None
    assert world.waits.of(world.engine, "duel", now)[0] is not None
    world.step(Configure(now, (DUEL,), version=2, pause=("duel",)))
    assert world.estimate(name, now) is None
    assert world.waits.of(world.engine, "duel", now) == (None, ())


def test_cells_of_a_queue_are_shown() -> None:
    world = World()
    now = world.duels(40, 8.0)
    whole, cells = world.waits.of(world.engine, "duel", now)
    assert whole is not None
    (cell,) = cells
    assert (cell.size, cell.region, cell.decile, cell.waiting) == (1, None, None, 0)
    # Half of the newcomers are matched as they come.
    assert (cell.low, whole.low) == (0.0, 0.0)
    assert math.isclose(cell.high, whole.high, rel_tol=0.3)
    assert world.waits.of(world.engine, "nowhere", now) == (None, ())


def test_server_answers_with_estimates() -> None:
    async def scene() -> None:
        parts = await started(DUEL, journal=MemoryJournal())
        status, created = await call(parts, "POST", "/v1/tickets", b'{"players":[{"id":"a"}]}')
        assert status == 201
        path = f"/v1/tickets/{created['id']}"
        _, waiting = await call(parts, "GET", path)
        assert waiting["estimate"] is None
        now = parts.runtime.now()
        for _ in range(MATCHES_MIN):
            parts.waits._forecast.learn("duel", 8.0, now, is_matched=True)
        _, waiting = await call(parts, "GET", path)
        found = waiting["estimate"]
        assert 0.0 <= found["low"] <= found["p50"] <= found["high"]
        _, polled = await call(parts, "GET", path, query="wait=0.05")
        assert polled["estimate"] is not None
        _, stats = await call(parts, "GET", "/v1/queues/duel/stats")
        assert stats["estimate"]["p50"] > 0.0
        assert stats["cells"][0]["size"] == 1
        await pair(parts, "duel", "b")
        _, matched = await call(parts, "GET", path)
        assert (matched["state"], matched["estimate"]) == ("matched", None)
        await parts.runtime.stop()

    play(scene)
