"""The dashboard's stream and pages, through the application, without a socket."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from evenmatch.config.server import ServerSettings
from evenmatch.errors import UnknownQueue
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Accept as Answer
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.queue import Criterion, Queue, ReadyCheck, Sample, Scale
from evenmatch.server.dashboard import live
from evenmatch.server.dashboard.live import PageView
from evenmatch.server.dashboard.queue_figures import COARSE_MOST, COUNTS, FINE_MOST
from evenmatch.server.dashboard.routes import PACKAGE
from evenmatch.server.http.app import App
from evenmatch.server.http.pages import files_of
from evenmatch.server.http.responses import Message
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.views.followers import Follower
from evenmatch.testing import builders
from tests.waiting import GIVE_UP, until

RATED = Criterion("spread", "rating", weight=1.0, scale=Scale(min=0.0, max=3000.0))
DUEL = Queue(name="duel", policy="greedy", criteria=(RATED,))
SLOW = Queue(name="slow", policy="periodic:rounds_of=1000")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "EVERY", 0.02)


def play(scene: Callable[[Services], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            parts = assemble(ShardPlan((DUEL, SLOW), settings=ServerSettings()), MemoryJournal())
            await parts.runtime.start()
            await scene(parts)
            await parts.runtime.stop()

    asyncio.run(bounded())


async def enqueue(parts: Services, *names: str, queue: str = "duel") -> None:
    new = tuple(builders.new_ticket(name, 1500, queues=(queue,)) for name in names)
    await parts.runtime.ask(Enqueue(parts.runtime.now(), new))


async def get(
    parts: Services, path: str, query: str = "", header: tuple[bytes, bytes] | None = None
) -> tuple[int, dict[str, str], bytes]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "headers": [header] if header else [], "root_path": "",
    }  # fmt: skip
    await App(parts)(scope, receive, send)
    headers = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(each.get("body", b"") for each in sent[1:])


async def first_events(parts: Services, queue: str) -> dict[str, Any]:
    return {
        each.name: msgspec.json.decode(each.body)
        async for each in parts.live.first(PageView(queue))
    }


def test_who_may_see_some_queues_is_shown_these_and_the_first_of_them() -> None:
    async def scene(parts: Services) -> None:
        own = frozenset({"slow"})
        assert parts.live.view_of(None) == PageView("duel")
        view = parts.live.view_of(None, own)
        assert view == parts.live.view_of("slow", own) == PageView("slow", own)
        with pytest.raises(UnknownQueue):
            parts.live.view_of("duel", own)
        (queues, *_) = [event async for event in parts.live.first(view)]
        told = msgspec.json.decode(queues.body)
        assert (told["queue"], [each["name"] for each in told["queues"]]) == ("slow", ["slow"])

    play(scene)


def test_a_new_page_gets_the_hour_and_the_present() -> None:
    async def scene(parts: Services) -> None:
        await enqueue(parts, "a", "b", "c")
        told = await first_events(parts, "duel")
        assert list(told) == ["queues", "hour", "matches", "tick"]
        assert told["queues"]["queue"] == "duel"
        assert [queue["name"] for queue in told["queues"]["queues"]] == ["duel", "slow"]
        assert told["tick"]["waiting"] == 1
        assert told["tick"]["totals"]["arrivals"] == 3
        (match,) = told["matches"]
        assert [party["players"] for team in match["teams"] for party in team] == [["a"], ["b"]]

    play(scene)


def test_a_snapshot_is_encoded_once_for_all_pages() -> None:
    async def scene(parts: Services) -> None:
        pages = [Follower(), Follower()]
        for page in pages:
            parts.live.join(PageView("duel"), page)
        heard = [await page.next(5.0) for page in pages]
        assert heard[0] is not None
        assert heard[0] is heard[1]
        for page in pages:
            parts.live.part(PageView("duel"), page)

    play(scene)


def test_nothing_runs_while_nobody_looks() -> None:
    async def scene(parts: Services) -> None:
        page, before = Follower(), len(asyncio.all_tasks())
        parts.live.join(PageView("duel"), page)
        assert await page.next(GIVE_UP) is not None
        parts.live.part(PageView("duel"), page)
        await until(lambda: len(asyncio.all_tasks()) == before)
        parts.live.join(PageView("duel"), page)
        assert len(asyncio.all_tasks()) == before + 1
        parts.live.part(PageView("duel"), page)
        await until(lambda: len(asyncio.all_tasks()) == before)

    play(scene)


def test_pages_of_different_queues_hear_of_their_own() -> None:
    async def scene(parts: Services) -> None:
        await enqueue(parts, "a", "b", "c", queue="slow")
        duel, slow = Follower(), Follower()
        parts.live.join(PageView("duel"), duel)
        parts.live.join(PageView("slow"), slow)
        waiting = []
        for page in (duel, slow):
            while (event := await page.next(5.0)) is not None and event.name != "tick":
                pass
            assert event is not None
            waiting.append(msgspec.json.decode(event.body)["waiting"])
        assert waiting == [0, 3]
        parts.live.part(PageView("duel"), duel)
        parts.live.part(PageView("slow"), slow)

    play(scene)


def test_the_stream_begins_with_its_queue_and_an_unknown_one_is_refused() -> None:
    async def scene(parts: Services) -> None:
        parts.followers.close()
        status, headers, body = await get(parts, "/v1/dashboard/events", "queue=slow")
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        assert body.count(b"event: ") == 4
        status, _, body = await get(parts, "/v1/dashboard/events", "queue=chess")
        assert (status, msgspec.json.decode(body)["error"]) == (404, "unknown_queue")
        status, _, _ = await get(parts, "/v1/dashboard/events", "colour=red")
        assert status == 400
        assert len(parts.followers) == 0

    play(scene)


def test_a_match_tells_how_it_came_about() -> None:
    async def scene(parts: Services) -> None:
        await enqueue(parts, "a", "b")
        status, _, body = await get(parts, "/v1/dashboard/matches/s0-m1")
        assert status == 200
        assert msgspec.json.decode(body)["factors"][0]["name"] == "spread of rating"
        status, _, body = await get(parts, "/v1/dashboard/matches/s0-m9")
        assert (status, msgspec.json.decode(body)["error"]) == (404, "unknown_match")

    play(scene)


@pytest.mark.parametrize(
    "added",
    [
        Criterion("spread", "rating", scale=Scale("percentile", sample=Sample(last=100))),
        Criterion("spread", "level", scale=Scale(min=0.0, max=10.0)),
    ],
)
def test_a_match_that_was_proposed_before_a_criterion_came_is_shown_without_its_factors(
    added: Criterion,
) -> None:
    async def scene(parts: Services) -> None:
        checked = msgspec.structs.replace(DUEL, accept=ReadyCheck(seconds=60.0))
        runtime = parts.runtime
        await runtime.ask(Configure(runtime.now(), (checked, SLOW), version=2))
        await enqueue(parts, "a", "b")
        more = msgspec.structs.replace(checked, criteria=(RATED, added))
        await runtime.ask(Configure(runtime.now(), (more, SLOW), version=3))
        for ticket in ("s0-1", "s0-2"):
            await runtime.ask(Answer(runtime.now(), "s0-m1", ticket))
        status, _, body = await get(parts, "/v1/dashboard/matches/s0-m1")
        assert status == 200
        shown = msgspec.json.decode(body)
        assert (shown["factors"], shown["gaps"]) == (None, [])
        assert "tick" in await first_events(parts, "duel")

    play(scene)


def test_an_hour_of_a_busy_queue_is_small() -> None:
    async def scene(parts: Services) -> None:
        await enqueue(parts, *(f"p{number}" for number in range(200)), queue="slow")
        history = parts.live._figures.queues["slow"].history
        for tick in range(4_000):
            history.push(
                tick, [12.0] * len(COUNTS) + [1234.0, 12.345, 123.456, 234.567, 345.678, 1000.0]
            )
        size = sum([len(event.frame()) async for event in parts.live.first(PageView("slow"))])
        assert len(history.fine()["tick"]) == FINE_MOST
        assert len(history.coarse()["tick"]) == COARSE_MOST
        assert size + sum(len(file.body) for file in files_of(PACKAGE).values()) <= 200_000

    play(scene)


def test_files_are_asked_for_anew_and_sent_once() -> None:
    async def scene(parts: Services) -> None:
        status, headers, body = await get(parts, "/dashboard/main.js")
        assert (status, headers["x-content-type-options"]) == (200, "nosniff")
        assert headers["content-type"].startswith("text/javascript")
        assert "script-src 'self'" in headers["content-security-policy"]
        assert body
        tag = (b"if-none-match", headers["etag"].encode())
        status, _, body = await get(parts, "/dashboard/main.js", header=tag)
        assert (status, body) == (304, b"")
        for name in ("nothing.js", "..", "../routes.py", "%2e%2e%2froutes.py"):
            assert (await get(parts, f"/dashboard/{name}"))[0] == 404

    play(scene)
