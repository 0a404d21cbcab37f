"""The application on a journal in memory, without a socket."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from evenmatch.client.client import AsyncClient
from evenmatch.config.server import ServerSettings
from evenmatch.engine.records import Record
from evenmatch.engine.state import reducers as forgetting
from evenmatch.errors import PolicyError
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Criterion, Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.http.app import AllowedHosts, App
from evenmatch.server.http.responses import Message
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.views.followers import Follower
from tests.waiting import turns

DUEL = Queue(name="duel", policy="greedy")


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            await scene()

    asyncio.run(bounded())


async def started(*queues: Queue, journal: MemoryJournal | None = None) -> Services:
    parts = assemble(ShardPlan(queues, settings=ServerSettings()), journal or MemoryJournal())
    await parts.runtime.start()
    return parts


async def call(
    parts: Services, method: str, path: str, body: bytes = b"", key: str = "", query: str = ""
) -> tuple[int, Any]:
    status, _, content = await exchange(parts, method, path, body, key, query)
    return status, content


async def exchange(
    parts: Services, method: str, path: str, body: bytes = b"", key: str = "", query: str = "",
    leaves: asyncio.Event | None = None,
) -> tuple[int, dict[str, str], Any]:  # fmt: skip
    """Return the status, the headers and the content of an answer, whose client may leave."""
    sent: list[Message] = []
    said = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        if (message := next(said, None)) is not None:
            return message
        await (leaves or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"idempotency-key", key.encode())] if key else []
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "headers": headers, "root_path": "",
    }  # fmt: skip
    await App(parts)(scope, receive, send)
    whole = b"".join(message.get("body", b"") for message in sent[1:])
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], told, msgspec.json.decode(whole)


async def pair(parts: Services, queue: str, *players: str) -> None:
    new = tuple(NewTicket((Player(player),), (queue,)) for player in players)
    await parts.runtime.ask(Enqueue(parts.runtime.now(), new))


@pytest.mark.parametrize(("first", "second"), [((), ("mode",)), (("mode",), ())])
def test_key_repeats_its_answer_under_another_configuration(
    first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    party = b'{"players":[{"id":"%b"}]%b}'
    extra = b',"attributes":{"mode":"m"}'
    items = [party % (b"x", extra), b'{"players":7}', party % (b"y", b""), party % (b"z", b"")]
    body = b"[" + b",".join(items) + b"]"

    async def scene() -> None:
        journal, answers = MemoryJournal(), []
        for attributes in (first, second):
            queue = msgspec.structs.replace(DUEL, attributes=attributes)
            parts = await started(queue, journal=journal)
            answers.append(await call(parts, "POST", "/v1/tickets", body, key="k"))
            await parts.runtime.stop()
            journal = journal.reopen()
        assert answers[0] == answers[1]
        assert answers[0][0] == 200

    play(scene)


def test_body_that_is_too_large_is_told_what_it_may_be() -> None:
    async def scene() -> None:
        parts = await started(DUEL)
        whole = b" " * (parts.runtime.plan.settings.limits.body_bytes_max + 1)
        status, problem = await call(parts, "POST", "/v1/tickets", whole)
        assert (status, problem["error"]) == (413, "body_too_large")
        assert problem["message"].endswith("bytes; send fewer tickets at once")
        status, problem = await call(parts, "PUT", "/v1/matches/s0-m1/assignment", whole)
        assert status == 413
        assert problem["message"] == "the body of this request may have at most 16,384 bytes"
        await parts.runtime.stop()

    play(scene)


REFUSED = [
    ("GET", "/v1/tickets/s0-99", b"", 404),
    ("POST", "/v1/matches/s0-m9/accept", b'{"ticket":"s0-1"}', 404),
    ("GET", "/v1/queues/x/stats", b"", 404),
    ("GET", "/v1/nothing", b"", 404),
    ("PUT", "/v1/queues", b"", 405),
    ("POST", "/v1/tickets", b'{"players":[{"id":"a"}],"queues":["x"]}', 404),
    ("POST", "/v1/tickets", b'{"players":[{"id":"a"},{"id":"a"}]}', 400),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), REFUSED)
def test_refused_requests_leave_nothing_for_the_collector(
    method: str, path: str, body: bytes, status: int
) -> None:
    async def scene() -> None:
        parts = await started(DUEL)
        assert (await call(parts, method, path, body))[0] == status
        app, scope = App(parts), {
            "type": "http", "method": method, "path": path, "query_string": b"", "headers": [],
        }  # fmt: skip

        async def receive() -> Message:
            return {"type": "http.request", "body": body}

        async def send(message: Message) -> None:
            del message

        gc.collect()
        gc.disable()
        try:
            for _ in range(100):
                await app({**scope}, receive, send)
            assert gc.collect() < 100
        finally:
            gc.enable()
        await parts.runtime.stop()

    play(scene)


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/tickets"), ("PUT", "/v1/matches/s0-m1/assignment")]
)
def test_body_that_does_not_arrive_is_told_of(
    method: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.server.http.responses.BODY_SECONDS", 0.01)

    async def scene() -> None:
        parts, sent = await started(DUEL), list[Message]()
        begun = iter([{"type": "http.request", "body": b"{", "more_body": True}])

        async def receive() -> Message:
            return next(begun, None) or await asyncio.Event().wait()  # type: ignore[return-value]

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": method, "path": path, "query_string": b"", "headers": [],
        }  # fmt: skip
        await App(parts)(scope, receive, send)
        assert sent[0]["status"] == 408
        assert msgspec.json.decode(sent[1]["body"])["error"] == "request_timeout"
        await parts.runtime.stop()

    play(scene)


def test_refusal_that_cannot_be_sent_and_an_error_after_the_beginning_are_counted() -> None:
    async def scene() -> None:
        parts, app = await started(DUEL), None
        app = App(parts)

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        async def fails(message: Message) -> None:
            raise OSError("the connection is gone")

        for path in ("/v1/tickets/s0-99", "/v1/nothing", "/healthz"):
            scope = {
                "type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [],
            }  # fmt: skip
            await app(scope, receive, fails)
        text = parts.metrics.text().decode()
        for route in ("GET /v1/tickets/{ticket}", "unknown", "GET /healthz"):
            assert f'evenmatch_unexpected_errors_total{{route="{route}"}} 1.0' in text
        await parts.runtime.stop()

    play(scene)


def test_value_of_another_kind_is_told_as_it_was_written() -> None:
    async def scene() -> None:
        criterion = Criterion("spread", "mmr")
        parts = await started(msgspec.structs.replace(DUEL, criteria=(criterion,)))
        for value, shown in (('["a","b"]', '["a", "b"]'), ('"far"', '"far"')):
            body = f'{{"players":[{{"id":"x","attributes":{{"mmr":{value}}}}}]}}'.encode()
            status, problem = await call(parts, "POST", "/v1/tickets", body)
            assert status == 400
            assert problem["message"].endswith(f"mmr must be a number, got {shown}")
        await parts.runtime.stop()

    play(scene)


def test_busy_queue_leaves_the_feed_of_a_quiet_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "KEEP_MATCHES_MOST", 10)

    async def scene() -> None:
        parts = await started(Queue(name="busy", policy="greedy"), DUEL)
        for number in range(15):
            await pair(parts, "busy", f"a{number}", f"b{number}")
        await pair(parts, "duel", "q1", "q2")
        for number in range(15, 24):
            await pair(parts, "busy", f"a{number}", f"b{number}")
        quiet = "/v1/queues/duel/matches"
        for query in ("", "after=0"):
            status, page = await call(parts, "GET", quiet, query=query)
            assert status == 200
            assert len(page["matches"]) == 1
        busy = "/v1/queues/busy/matches"
        status, gone = await call(parts, "GET", busy, query="after=0")
        assert status == 410
        _, rest = await call(parts, "GET", busy, query=f"after={gone['next']}")
        assert (200, rest) == await call(parts, "GET", busy)
        assert rest["matches"]
        await parts.runtime.stop()

    play(scene)


@pytest.mark.parametrize("wait", ["", "&wait=10"])
def test_poll_of_the_feed_has_the_match_whose_record_it_waited_for(wait: str) -> None:
    class Held(MemoryJournal):
        gate: asyncio.Event | None = None

        async def append(
            self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
        ) -> int:
            sequence = await super().append(shard, owner, epoch, first_seq, records)
            # It is stored, and who reads along sees it; only the answer is on its way.
            if self.gate is not None:
                await self.gate.wait()
            return sequence

    async def scene() -> None:
        journal = Held()
        parts = await started(DUEL, journal=journal)
        journal.gate = asyncio.Event()
        pairing = asyncio.create_task(pair(parts, "duel", "a", "b"))
        await turns()
        feed = "/v1/queues/duel/matches"
        asked = asyncio.create_task(call(parts, "GET", feed, query=f"after=1{wait}"))
        await turns()
        assert not asked.done()
        # A server that is told to stop lets nobody wait any longer.
        parts.followers.close()
        journal.gate.set()
        await pairing
        status, page = await asked
        assert (status, [each["match"] for each in page["matches"]]) == (200, ["s0-m1"])
        await parts.runtime.stop()

    play(scene)


def test_leaving_a_queue_is_told_live_as_a_resume_tells_it() -> None:
    async def scene() -> None:
        parts = await started(Queue(name="a", policy="greedy", wait_max=0.2), DUEL)
        runtime, follower = parts.runtime, Follower()
        new = (NewTicket((Player("x"),), ("a", "duel")),)
        (view,) = await runtime.ask(Enqueue(runtime.now(), new))
        parts.tickets.join(view, follower)
        path = f"/v1/tickets/{view.id}"
        polling = asyncio.create_task(call(parts, "GET", path, query="wait=0.6"))
        event = await follower.next(5.0)
        assert event is not None
        now = await runtime.look(lambda engine: engine.view(view.id))
        assert (event.name, event.sequence) == ("waiting", now.changed)
        assert not polling.done(), "a long poll waits for a change of state"
        status, state = await polling
        assert (status, state["state"]) == (200, "waiting")
        await runtime.stop()

    play(scene)


def test_several_changes_of_one_record_are_one_event() -> None:
    async def scene() -> None:
        queues = [Queue(name=name, policy="greedy", wait_max=0.2) for name in "ab"]
        parts = await started(*queues)
        runtime, follower = parts.runtime, Follower()
        new = (NewTicket((Player("x"),), ("a", "b")),)
        (view,) = await runtime.ask(Enqueue(runtime.now(), new))
        parts.tickets.join(view, follower)
        event = await follower.next(5.0)
        assert event is not None
        assert (event.name, event.is_final) == ("expired", True)
        await runtime.stop()

    play(scene)


def test_queue_that_stopped_says_why() -> None:
    async def scene() -> None:
        parts = await started(DUEL)
        _, before = await call(parts, "GET", "/v1/queues")
        parts.runtime.engine.pools["duel"].fault = PolicyError("too clever")
        _, after = await call(parts, "GET", "/v1/queues")
        assert [before[0]["fault"], after[0]["fault"]] == [None, "too clever"]
        await parts.runtime.stop()

    play(scene)


def test_hosts_of_origins_are_welcome() -> None:
    hosts = AllowedHosts(("https://game.example",))
    assert hosts.admit(b"game.example:8080")
    assert hosts.admit(b"127.0.0.1:8080")
    assert not hosts.admit(b"evil.example")
    assert AllowedHosts(("*",)).admit(b"evil.example")


def test_client_outlives_a_server_that_is_overloaded() -> None:
    """Feed and events go on after a 503 and a 429, as they do after a restart."""
    problem = b'{"error":"unavailable","message":"try again later"}'
    page = b'{"matches":[],"next":1}'
    state = b'{"id":"s0-1","state":"cancelled","wait":1.0}'
    event = b"event: cancelled\nid: 2\ndata: " + state + b"\n\n"
    asked: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode():
            asked.append(head.split()[1])
            count = len([path for path in asked if path == asked[-1]])
            if count <= 2:
                status, body, more = (b"503", b"429")[count - 1], problem, b"Retry-After: 0\r\n"
            else:
                status, body, more = b"200", page, b""
            if status == b"200" and asked[-1].endswith("/events"):
                chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
                continue
            length = b"Content-Length: %d\r\n\r\n" % len(body)
            writer.write(b"HTTP/1.1 " + status + b" x\r\n" + more + length + body)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await talk(reader, writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def scene() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with AsyncClient(f"http://127.0.0.1:{port}") as client:
            events = client.events("s0-1")
            state = await anext(events)
            assert state.state == "cancelled"
            await events.aclose()

            async def read() -> None:
                async for _ in client.matches("duel"):
                    pass

            feed = asyncio.create_task(read())
            while not any("after=1" in path for path in asked):
                assert not feed.done()
                await asyncio.sleep(0.01)
            feed.cancel()
            await asyncio.gather(feed, return_exceptions=True)
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0)

    play(scene)
