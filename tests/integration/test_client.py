"""The client and a real server: ready-checks, streams that come back, clients that fall silent."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import uvicorn
from msgspec import UNSET

from evenmatch.client.client import AsyncClient, ServerRefused
from evenmatch.config.server import ServerSettings
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.model.ticket import Player, Rating
from evenmatch.server.http.app import App
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.serve import listen
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.wire.live import StreamEvent, StreamProblem, UpdateTicket
from evenmatch.wire.matches import ReportOutcome
from evenmatch.wire.tickets import CreateTicket

DUEL = Queue(name="duel", policy="greedy")
CHECKED = Queue(name="checked", policy="greedy", accept=ReadyCheck(seconds=20.0))
CALM = Queue(name="calm", policy="periodic:rounds_of=1000")


@asynccontextmanager
async def served(*queues: Queue) -> AsyncIterator[tuple[Services, AsyncClient]]:
    """Serve on a real socket in this very loop, so that a test can reach behind it."""
    parts = assemble(ShardPlan(queues, settings=ServerSettings()), MemoryJournal())
    await parts.runtime.start()
    config = uvicorn.Config(
        App(parts), ws="websockets-sansio", lifespan="off", log_config=None, access_log=False
    )
    server = uvicorn.Server(config)
    with listen("127.0.0.1", 0) as listening:
        task = asyncio.create_task(server._serve([listening]))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with AsyncClient(url, chance=lambda: 0.0) as client:
            yield parts, client
        parts.followers.close()
        server.should_exit = True
        await task
    parts.presence.close()
    await parts.runtime.stop()


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30.0):
            await scene()

    asyncio.run(bounded())


def party(*players: str, queue: str = "duel") -> CreateTicket:
    return CreateTicket(tuple(Player(player, Rating(1500.0)) for player in players), (queue,))


async def said(stream: AsyncIterator[StreamEvent | StreamProblem]) -> tuple[str, str]:
    event = await anext(stream)
    assert isinstance(event, StreamEvent)
    return event.ticket.id, event.event


def test_every_route_has_its_method() -> None:
    async def scene() -> None:
        async with served(DUEL, CALM) as (_, client):
            ada = await client.create(party("ada", queue="calm"))
            assert (await client.heartbeat(ada.id)).state == "waiting"
            new = UpdateTicket(players=(Player("ada", Rating(1700.0)),))
            assert (await client.update(ada.id, new)).state == "waiting"
            assert (await client.explain(ada.id)).summary
            assert [queue.name for queue in await client.queues()] == ["duel", "calm"]
            assert (await client.stats("calm")).waiting == 1
            assert (await client.longest_waiting("calm")).tickets[0].ticket == ada.id
            items = await client.create_many([party("bob"), party("cy")])
            assert [item.status for item in items] == [201, 201]
            (match,) = (await client.page("duel")).matches
            assert (await client.match(match.match)).tickets == match.tickets
            placed = await client.assign(match.match, {"connection": "10.0.0.1:7777"})
            assert placed.assignment == {"connection": "10.0.0.1:7777"}
            assert (await client.finish(match.match)).match == match.match
            for _ in range(2):
                told = await client.report(match.match, ReportOutcome(ranks=(1.0, 2.0)))
                assert told.outcome is not UNSET
                assert told.outcome.state == "counted"
            with pytest.raises(ServerRefused, match="ladder"):
                await client.rating("steam/bob", "duel")
            assert await client.cancel(ada.id) == "cancelled"
            states = [state.state async for state in client.events(ada.id)]
            assert states == ["cancelled"]

    play(scene)


def test_ready_check_is_accepted_by_both() -> None:
    async def scene() -> None:
        async with served(CHECKED) as (_, client):
            ada = await client.create(party("ada", queue="checked"))
            bob = await client.create(party("bob", queue="checked"))
            events = client.events(ada.id)
            proposed = await anext(events)
            assert proposed.state == "proposed"
            assert proposed.match is not None
            for ticket in (ada, bob, ada):
                assert (await client.accept(proposed.match, ticket.id)).match == proposed.match
            told, matched = [await anext(events) for _ in range(2)]
            assert (told.state, told.accepted, told.answer_within) == ("proposed", ("ada",), UNSET)
            assert (matched.state, matched.match) == ("matched", proposed.match)
            cy = await client.create(party("cy", queue="checked"))
            dot = await client.create(party("dot", queue="checked"))
            match = (await client.get(cy.id)).match
            assert match is not None
            await client.decline(match, dot.id)
            with pytest.raises(ServerRefused):
                await client.accept(match, dot.id)

    play(scene)


def test_stream_of_many_tickets_comes_back_and_misses_nothing() -> None:
    async def scene() -> None:
        async with served(DUEL, CALM) as (parts, client):
            ada, bob = [await client.create(party(name, queue="calm")) for name in ("ada", "bob")]
            cy = await client.create(party("cy"))
            stream = client.stream(ada.id, bob.id)
            events = aiter(stream)
            assert [await said(events), await said(events)] == [
                (ada.id, "waiting"), (bob.id, "waiting"),
            ]  # fmt: skip
            await stream.follow(cy.id, "s0-99")
            assert await said(events) == (cy.id, "waiting")
            problem = await anext(events)
            assert isinstance(problem, StreamProblem)
            assert (problem.ticket, problem.problem.error) == ("s0-99", "unknown_ticket")
            # The connection breaks, and things happen before it is back.
            parts.followers.cut_all()
            await client.cancel(bob.id)
            await client.create(party("dot"))
            found = {await said(events), await said(events)}
            assert found == {(bob.id, "cancelled"), (cy.id, "matched")}
            await stream.unfollow(cy.id)
            await client.cancel(ada.id)
            assert await said(events) == (ada.id, "cancelled")
            await events.aclose()  # type: ignore[attr-defined]

    play(scene)


def test_stream_that_is_not_allowed_says_why() -> None:
    async def scene() -> None:
        async with served(DUEL) as (parts, client):
            parts.followers._most = 0
            events = aiter(client.stream())
            waiting = asyncio.create_task(anext(events))  # type: ignore[arg-type]
            await asyncio.sleep(0.1)
            # 429 passes: it is tried again.
            assert not waiting.done()
            parts.followers._most = 10
            ada = await client.create(party("ada"))
            stream = client.stream(ada.id)
            assert await said(aiter(stream)) == (ada.id, "waiting")
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    play(scene)


def test_silent_client_loses_its_ticket_and_a_following_one_keeps_it() -> None:
    async def scene() -> None:
        watched = Queue(name="watched", policy=CALM.policy, silent_after=0.4)
        async with served(watched) as (_, client):
            silent = await client.create(party("ada", queue="watched"))
            kept = await client.create(party("bob", queue="watched"))
            events = client.events(kept.id)
            assert (await anext(events)).state == "waiting"
            ended = await client.get(silent.id, wait=0.0)
            while ended.state == "waiting":
                await asyncio.sleep(0.1)
                ended = await client.get(silent.id)
            assert (ended.state, ended.reason) == ("cancelled", "silent")
            assert (await client.get(kept.id)).state == "waiting"
            await events.aclose()

    play(scene)
