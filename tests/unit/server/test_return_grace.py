"""After a restart whoever waited has time to come back before they must answer."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from evenmatch.config.server import ServerSettings
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.events import Proposed
from evenmatch.model.inputs import Accept, Advance, Configure, Enqueue, Input, Prolong
from evenmatch.model.match import Match
from evenmatch.model.queue import Format, Queue
from evenmatch.model.queue import ReadyCheck as Check
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.http.ticket_routes import join_ticket
from evenmatch.server.runtime.clock import RETURN_SECONDS, Clock, Clocks
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.return_grace import ReturnGrace
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.views.followers import Follower, TicketFeed
from tests.unit.server.test_app import call
from tests.waiting import turns

CHECK = Check(seconds=10.0, repair=0.0, cooldowns=())
DUEL = Queue(name="duel", policy="greedy", accept=CHECK)
TWOS = msgspec.structs.replace(DUEL, name="twos", format=Format((2, 2)))


class House:
    """A server whose time passes when it is told to, and that can be killed and started again."""

    def __init__(self, *, speed: float = 1.0) -> None:
        self._journal = MemoryJournal()
        self._now = 0.0
        self._settings = msgspec.structs.replace(ServerSettings(), clock_speed=speed)
        self.parts: Services

    async def start(self, away: float = 0.0) -> None:
        """Start, with the pause of a server that was away for so long."""
        plan = ShardPlan((DUEL, TWOS), settings=self._settings)
        clocks = Clocks(wall=lambda: time.time() + away)
        self.parts = assemble(plan, self._journal, clocks=clocks)
        runtime = self.parts.runtime
        await runtime.start()
        runtime.lag.end()
        runtime.clock = Clock(
            runtime.now(), speed=self._settings.clock_speed, monotonic=lambda: self._now
        )

    async def restart(self, away: float = 0.0) -> None:
        self.parts.presence.close()
        await self.parts.runtime.stop()
        self._journal = self._journal.reopen()
        await self.start(away)

    async def wait(self, seconds: float) -> None:
        self._now += seconds
        self.parts.runtime._fire()
        await self.parts.runtime.look(lambda engine: None)
        await turns(5)

    async def enter(self, *parties: str, queue: str = "duel") -> list[str]:
        runtime = self.parts.runtime
        new = tuple(NewTicket(tuple(map(Player, each)), (queue,)) for each in parties)
        found = [view.id for view in await runtime.ask(Enqueue(runtime.now(), new))]
        await turns(5)
        return found

    def state(self, ticket: str) -> tuple[str, str | None]:
        view = self.parts.runtime.engine.view(ticket)
        return view.state, view.reason

    async def accept(self, ticket: str) -> None:
        runtime = self.parts.runtime
        match = runtime.engine.view(ticket).match
        assert match is not None
        await runtime.ask(Accept(runtime.now(), match, ticket))


def play(scene: Callable[[House], Awaitable[None]], *, speed: float = 1.0) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            house = House(speed=speed)
            await house.start()
            await scene(house)
            house.parts.presence.close()
            await house.parts.runtime.stop()

    asyncio.run(bounded())


def test_who_was_asked_before_an_outage_has_time_to_come_back() -> None:
    async def scene(house: House) -> None:
        one, other = await house.enter("a", "b")
        assert house.state(one) == ("proposed", None)
        await house.restart(away=12.0)
        await house.wait(RETURN_SECONDS)
        await house.accept(one)
        await house.wait(9.0)
        assert house.state(other) == ("proposed", None)
        await house.accept(other)
        assert house.state(one) == house.state(other) == ("matched", None)

    play(scene)


@pytest.mark.parametrize("speed", [1.0, 10.0])
def test_who_is_asked_right_after_an_outage_has_time_to_come_back(speed: float) -> None:
    async def scene(house: House) -> None:
        (one,) = await house.enter("a")
        await house.restart(away=12.0)
        (new,) = await house.enter("b")
        await house.accept(new)
        await house.wait(RETURN_SECONDS)
        assert house.state(one) == ("proposed", None)
        await house.wait(CHECK.seconds / speed + 1.0)
        assert house.state(one) == ("cancelled", "silent")
        assert house.state(new) == ("waiting", None)

    play(scene, speed=speed)


def test_who_is_back_and_who_is_new_has_the_usual_time() -> None:
    async def scene(house: House) -> None:
        (one,) = await house.enter("a")
        await house.restart(away=12.0)
        await join_ticket(house.parts, one, Follower())
        (new,) = await house.enter("b")
        await house.wait(CHECK.seconds + 1.0)
        assert house.state(one) == house.state(new) == ("cancelled", "silent")

    play(scene)


def test_party_is_back_when_all_of_it_are() -> None:
    async def scene(house: House) -> None:
        (pair,) = await house.enter("ab", queue="twos")
        await house.restart(away=12.0)
        await join_ticket(house.parts, pair, Follower())
        (new,) = await house.enter("cd", queue="twos")
        await house.accept(new)
        await house.wait(CHECK.seconds + 1.0)
        assert house.state(pair) == ("proposed", None)

    play(scene)


def test_later_on_nobody_has_more_time() -> None:
    async def scene(house: House) -> None:
        (one,) = await house.enter("a")
        await house.restart(away=12.0)
        await house.wait(RETURN_SECONDS + 1.0)
        await house.enter("b")
        await house.wait(CHECK.seconds + 1.0)
        assert house.state(one) == ("cancelled", "silent")

    play(scene)


def test_short_silence_is_allowed_time_to_come_back_too() -> None:
    async def scene(house: House) -> None:
        runtime = house.parts.runtime
        brief = Queue(name="brief", policy="periodic:rounds_of=99", silent_after=5.0)
        await runtime.ask(Configure(runtime.now(), (DUEL, TWOS, brief), version=2, by="x"))
        back, lost = await house.enter("a", "b", queue="brief")
        presence = house.parts.presence
        presence.began(runtime.engine, ())
        await house.wait(RETURN_SECONDS - 1.0)
        presence.seen(back)
        presence._look()
        assert house.state(lost) == ("waiting", None)
        await house.wait(1.0)
        presence._look()
        assert (house.state(lost), house.state(back)) == (
            ("cancelled", "silent"),
            ("waiting", None),
        )
        await house.wait(4.0)
        presence._look()
        assert house.state(back) == ("cancelled", "silent")

    play(scene)


def test_who_misses_a_check_and_who_falls_silent_are_told_apart_by_the_match() -> None:
    async def scene(house: House) -> None:
        runtime = house.parts.runtime
        brief = Queue(name="brief", policy="greedy", silent_after=5.0, accept=CHECK)
        await runtime.ask(Configure(runtime.now(), (DUEL, TWOS, brief), version=2, by="x"))
        (asked, other) = await house.enter("a", "b", queue="brief")
        await house.accept(other)
        await house.wait(CHECK.seconds + 1.0)
        # The other one waits again, and nobody follows it.
        await house.wait(5.0)
        house.parts.presence._look()
        for ticket, match in ((asked, "s0-m1"), (other, None)):
            status, told = await call(house.parts, "GET", f"/v1/tickets/{ticket}")
            assert (status, told["reason"], told["match"]) == (200, "silent", match)

    play(scene)


def test_server_that_fails_again_and_again_gives_the_same_time_back_once() -> None:
    async def scene(house: House) -> None:
        one, other = await house.enter("a", "b")
        for _ in range(4):
            await house.restart(away=12.0)
        (proposal,) = house.parts.runtime.engine.tables.proposals.values()
        whole = CHECK.seconds + RETURN_SECONDS
        assert all(until <= house.parts.runtime.now() + whole for until in proposal.until.values())
        await house.wait(whole + 1.0)
        assert house.state(one) == house.state(other) == ("cancelled", "silent")

    play(scene)


@pytest.mark.parametrize(("until", "more"), [(10.0, RETURN_SECONDS), (13.0, RETURN_SECONDS - 3)])
def test_who_is_asked_for_one_match_and_then_another_has_the_time_once(
    until: float, more: float
) -> None:
    """Both records become durable at once, when the ticket is asked for the later one."""

    async def scene() -> None:
        given: list[Input] = []
        row = SimpleNamespace(match="s0-m2", ticket=SimpleNamespace(enqueued_at=-1.0, size=1))
        proposal = SimpleNamespace(queue=DUEL, until={"s0-1": until})
        tables = SimpleNamespace(waiting={"s0-1": row}, proposals={"s0-m2": proposal})
        engine = SimpleNamespace(tables=tables)
        runtime = SimpleNamespace(
            now=lambda: 0.0,
            clock=SimpleNamespace(speed=1.0),
            handle=lambda each, to: given.append(each),
        )
        grace = ReturnGrace(cast(TicketFeed, SimpleNamespace(count=lambda ticket: 0)))
        grace.begin(cast(Runtime, runtime))
        grace.reset(cast(Engine, engine))
        for number, match_id in enumerate(("s0-m1", "s0-m2"), 1):
            match = Match(match_id, "duel", 0.0, ("s0-1",), (("s0-1",),), (("a",),))
            grace.hear(Record(number, Advance(0.0), (Proposed(match, {"s0-1": 10.0}),)))
            await turns(2)
        assert given == [Prolong(0.0, more, ("s0-1",))]

    asyncio.run(scene())
