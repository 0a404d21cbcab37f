"""Tickets of clients that fall silent are taken back, in slices, and nobody else's."""

import asyncio
from itertools import count
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from evenmatch.config.server import ServerSettings
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Cancel, Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.http.ticket_routes import join_ticket
from evenmatch.server.runtime.clock import Clock, Clocks
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.views import heartbeats as presence_module
from evenmatch.server.views.followers import Follower
from tests.unit.server.test_app import call, exchange, play
from tests.waiting import GIVE_UP

ALONE = "periodic:rounds_of=1000"
"""A policy that matches nobody while a test lasts."""
WATCHED = Queue(name="watched", policy=ALONE, silent_after=30.0)
CALM = Queue(name="calm", policy=ALONE)
BRIEF = Queue(name="brief", policy=ALONE, wait_max=5.0, silent_after=30.0)
DUEL = Queue(name="duel", policy="greedy", silent_after=30.0)


class House:
    """A server whose time passes when it is told to, and that looks who is silent then."""

    def __init__(self, parts: Services) -> None:
        self.parts = parts
        self._now = 0.0
        parts.runtime.clock = Clock(parts.runtime.now(), monotonic=lambda: self._now)

    @classmethod
    async def open(cls, journal: MemoryJournal | None = None) -> "House":
        plan = ShardPlan((WATCHED, CALM, DUEL, BRIEF), settings=ServerSettings())
        parts = assemble(plan, journal or MemoryJournal())
        await parts.runtime.start()
        # How late this loop truly is would excuse somebody; time passes when it is told to.
        parts.runtime.lag.end()
        return cls(parts)

    async def close(self) -> None:
        self.parts.presence.close()
        await self.parts.runtime.stop()

    def wait(self, seconds: float) -> None:
        # Views hear of records a moment after the answers; on a busy machine that may be now.
        self.parts.backlog.catch_up()
        self._now += seconds
        self.parts.presence._look()

    async def enter(self, *players: str, queues: tuple[str, ...] = ("watched",)) -> list[str]:
        runtime = self.parts.runtime
        new = tuple(NewTicket((Player(player),), queues) for player in players)
        return [view.id for view in await runtime.ask(Enqueue(runtime.now(), new))]

    async def view(self, ticket_id: str) -> Any:
        return await self.parts.runtime.look(lambda engine: engine.view(ticket_id))

    async def state(self, ticket_id: str) -> str:
        return str((await self.view(ticket_id)).state)


def test_silent_ticket_is_cancelled_and_says_why() -> None:
    async def scene() -> None:
        house = await House.open()
        (first,) = await house.enter("a")
        (calm,) = await house.enter("b", queues=("calm",))
        (both,) = await house.enter("c", queues=("calm", "watched"))
        house.wait(29.0)
        assert await house.state(first) == "waiting"
        house.wait(1.0)
        for ticket_id in (first, both):
            view = await house.view(ticket_id)
            assert (view.state, view.reason) == ("cancelled", "silent")
        assert await house.state(calm) == "waiting"
        assert len(house.parts.presence) == 0
        await house.close()

    play(scene)


def test_heartbeats_keep_a_ticket() -> None:
    async def scene() -> None:
        house = await House.open()
        kept, lost = await house.enter("a", "b")
        for _ in range(3):
            house.wait(20.0)
            status, body = await call(house.parts, "POST", f"/v1/tickets/{kept}/heartbeat")
            assert (status, body["state"]) == (200, "waiting")
        status, body = await call(house.parts, "POST", f"/v1/tickets/{lost}/heartbeat")
        assert (status, body["state"], body["reason"]) == (200, "cancelled", "silent")
        status, _ = await call(house.parts, "POST", "/v1/tickets/s0-77/heartbeat")
        assert status == 404
        await house.close()

    play(scene)


def test_open_stream_keeps_a_ticket_and_its_end_begins_the_time_anew() -> None:
    async def scene() -> None:
        house = await House.open()
        (first,) = await house.enter("a")
        follower = Follower()
        await join_ticket(house.parts, first, follower)
        for _ in range(3):
            house.wait(25.0)
        assert await house.state(first) == "waiting"
        house.parts.tickets.part(first, follower)
        house.wait(29.0)
        assert await house.state(first) == "waiting"
        house.wait(1.0)
        assert await house.state(first) == "cancelled"
        await house.close()

    play(scene)


def test_long_poll_of_a_client_that_left_keeps_no_ticket() -> None:
    async def scene() -> None:
        house = await House.open()
        (first,) = await house.enter("a")
        leaves, path = asyncio.Event(), f"/v1/tickets/{first}"
        polling = asyncio.create_task(
            exchange(house.parts, "GET", path, query="wait=20", leaves=leaves)
        )
        while not house.parts.tickets.is_followed(first):
            await asyncio.sleep(0.001)
        house.wait(45.0)
        assert await house.state(first) == "waiting"
        leaves.set()
        async with asyncio.timeout(GIVE_UP):
            await polling
        assert len(house.parts.followers) == 0
        house.wait(29.0)
        assert await house.state(first) == "waiting"
        house.wait(1.0)
        assert await house.state(first) == "cancelled"
        await house.close()

    play(scene)


def test_poll_of_the_feed_ends_when_its_client_left() -> None:
    async def scene() -> None:
        house = await House.open()
        leaves = asyncio.Event()
        polling = asyncio.create_task(
            exchange(house.parts, "GET", "/v1/queues/duel/matches", query="wait=20", leaves=leaves)
        )
        while not len(house.parts.followers):
            await asyncio.sleep(0.001)
        leaves.set()
        async with asyncio.timeout(GIVE_UP):
            await polling
        assert len(house.parts.followers) == 0
        await house.close()

    play(scene)


def test_restart_gives_everybody_the_whole_time_once_more() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        house = await House.open(journal)
        (first,) = await house.enter("a")
        house.wait(29.0)
        await house.close()
        again = await House.open(journal.reopen())
        again.wait(29.0)
        assert await again.state(first) == "waiting"
        again.wait(1.0)
        assert await again.state(first) == "cancelled"
        await again.close()

    play(scene)


def test_herd_that_falls_silent_goes_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each look at the time is 1 ms later, so a slice of 5 ms takes five.
    ticks = count()

    async def scene() -> None:
        house = await House.open()
        clocks = Clocks(stopwatch=lambda: next(ticks) / 1_000.0)
        monkeypatch.setattr(house.parts.runtime, "clocks", clocks)
        await house.enter(*(f"p{number}" for number in range(20)))
        house.wait(30.0)
        assert 1 <= house.parts.presence.cancelled <= 5
        # The slices after it come by themselves.
        while house.parts.presence.cancelled < 20:
            await asyncio.sleep(0.001)
        await house.parts.runtime.look(lambda engine: None)
        house.parts.backlog.catch_up()
        assert house.parts.statistics.waiting("watched") == 0
        await house.close()

    play(scene)


def test_pause_changes_nothing_and_a_longer_silence_begins_anew() -> None:
    async def scene() -> None:
        house = await House.open()
        (first,) = await house.enter("a")
        house.wait(20.0)
        runtime = house.parts.runtime
        queues = (WATCHED, CALM, DUEL, BRIEF)
        await runtime.ask(Configure(runtime.now(), queues, version=2, pause=("calm",)))
        house.wait(9.0)
        assert await house.state(first) == "waiting"
        longer = msgspec.structs.replace(WATCHED, silent_after=60.0)
        await runtime.ask(Configure(runtime.now(), (longer, CALM, DUEL, BRIEF), version=3))
        house.wait(59.0)
        assert await house.state(first) == "waiting"
        house.wait(1.0)
        assert await house.state(first) == "cancelled"
        await house.close()

    play(scene)


def test_ticket_that_leaves_the_watched_queue_is_watched_no_more() -> None:
    async def scene() -> None:
        house = await House.open()
        (both,) = await house.enter("a", queues=("calm", "brief"))
        assert len(house.parts.presence) == 1
        house.wait(10.0)
        runtime = house.parts.runtime
        await runtime.ask(Cancel(runtime.now(), (await house.enter("b"))[0]))
        assert (await house.view(both)).queues == ("calm",)
        assert len(house.parts.presence) == 0
        await house.close()

    play(scene)


def test_leaving_a_queue_is_no_sign_of_life() -> None:
    async def scene() -> None:
        house = await House.open()
        (both,) = await house.enter("a", queues=("watched", "brief"))
        house.wait(10.0)
        runtime = house.parts.runtime
        await runtime.ask(Cancel(runtime.now(), (await house.enter("b"))[0]))
        assert (await house.view(both)).queues == ("watched",)
        house.wait(19.0)
        assert await house.state(both) == "waiting"
        house.wait(1.0)
        assert await house.state(both) == "cancelled"
        await house.close()

    play(scene)


def test_log_tells_of_a_herd_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        house = await House.open()
        told = []
        # The log itself is replaced: what one process shares keeps what is put on it and taken off.
        log = SimpleNamespace(info=lambda *_, count: told.append(count))
        monkeypatch.setattr(presence_module, "log", log)
        # On a busy machine a second may pass between the two, and a slice may end early.
        monkeypatch.setattr(presence_module, "TELL_SECONDS", GIVE_UP)
        monkeypatch.setattr(presence_module, "SLICE_SECONDS", GIVE_UP)
        for wait in (1.0, 30.0, 30.0):
            await house.enter("a", "b", "c")
            house.wait(wait)
        house.parts.presence._tell()
        assert told == [6]
        monkeypatch.setattr(presence_module, "TELL_SECONDS", 0.02)
        await house.enter("a")
        house.wait(30.0)
        while len(told) < 2:
            await asyncio.sleep(0.01)
        assert told == [6, 1]
        await house.close()

    play(scene)


def test_signs_of_ended_tickets_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        monkeypatch.setattr(presence_module, "STALE_MOST", 10)
        house = await House.open()
        for number in range(40):
            await house.enter(f"a{number}", f"b{number}", queues=("duel",))
        assert len(house.parts.presence) == 0
        assert len(house.parts.presence._entries) <= 14
        await house.close()

    play(scene)


def test_nobody_is_cancelled_while_the_journal_is_away_and_all_are_expected_anew() -> None:
    async def scene() -> None:
        house = await House.open()
        (first,) = await house.enter("a")
        runtime = house.parts.runtime
        runtime.failure = "the disk is full"
        house.wait(31.0)
        runtime.failure = None
        assert await house.state(first) == "waiting"
        house.parts.presence.began(runtime.engine, ())
        house.wait(29.0)
        assert await house.state(first) == "waiting"
        house.wait(1.0)
        assert await house.state(first) == "cancelled"
        await house.close()

    play(scene)


def test_silent_ticket_of_an_overloaded_server_is_tried_again() -> None:
    async def scene() -> None:
        house = await House.open()
        (first,) = await house.enter("a")
        house.parts.runtime.shard.pending_max = 0
        house.wait(30.0)
        house.parts.runtime.shard.pending_max = 100
        assert await house.state(first) == "waiting"
        house.wait(30.0)
        assert await house.state(first) == "cancelled"
        await house.close()

    play(scene)


def test_matched_ticket_need_not_be_there() -> None:
    async def scene() -> None:
        house = await House.open()
        ids = await house.enter("a", "b", queues=("duel",))
        house.wait(100.0)
        assert {await house.state(each) for each in ids} == {"matched"}
        assert (len(house.parts.presence), house.parts.presence.cancelled) == (0, 0)
        await house.close()

    play(scene)


def test_ticket_is_brought_up_to_date_in_place() -> None:
    async def scene() -> None:
        house = await House.open()
        parts = house.parts
        body = b'{"queues":["calm"],"players":[{"id":"a","rating":{"mean":1500}}]}'
        _, created = await call(parts, "POST", "/v1/tickets", body)
        path = f"/v1/tickets/{created['id']}"
        new = b'{"players":[{"id":"a","rating":{"mean":1650,"deviation":40}}]}'
        status, body_now = await call(parts, "PATCH", path, new)
        assert (status, body_now["state"]) == (200, "waiting")
        tables = parts.runtime.engine.tables
        row = tables.waiting[created["id"]]
        assert row.ticket.players[0].rating.mean == 1650.0
        assert row.ticket.enqueued_at == created["enqueued_at"]
        for bad, code in (
            (b'{"players":[{"id":"stranger"}]}', 400),
            (b'{"players":[{"id":"a","rating":{"mean":1}},{"id":"a"}]}', 400),
            (b'{"players":[{"id":"a","attributes":{"hat":1}}]}', 400),
            (b'{"attributes":{"hat":1}}', 400),
            (b'{"colour":1}', 400),
            (b"7", 400),
        ):
            status, problem = await call(parts, "PATCH", path, bad)
            assert status == code, problem
            assert tables.waiting[created["id"]] == row
        status, _ = await call(parts, "PATCH", "/v1/tickets/s0-99", b"{}")
        assert status == 404
        await call(parts, "DELETE", path)
        status, problem = await call(parts, "PATCH", path, new)
        assert (status, problem["error"]) == (409, "too_late")
        await house.close()

    play(scene)
