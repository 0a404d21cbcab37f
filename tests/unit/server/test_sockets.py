"""The stream of many tickets, without a socket: what it says, what it refuses, whom it cuts."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from evenmatch.model.inputs import Assign, Cancel, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.http import sockets
from evenmatch.server.http.app import App
from evenmatch.server.http.responses import Message
from evenmatch.server.http.ticket_routes import join_ticket
from evenmatch.server.runtime.services import Services
from evenmatch.server.views.followers import Follower
from tests.unit.server.test_app import DUEL, call, pair, play, started
from tests.waiting import turns, until


class Socket:
    """A client of the stream; `said` is what the server sent, as JSON."""

    def __init__(self, parts: Services, path: str = "/v1/stream", **headers: str) -> None:
        self._given: asyncio.Queue[Message] = asyncio.Queue()
        self.sent: list[Message] = []
        self.breaks: Exception | None = None
        self.breaks_at = "websocket.send"
        self.delay: Callable[[], Awaitable[None]] | None = None
        self._heard = asyncio.Event()
        scope = {
            "type": "websocket", "path": path, "raw_path": path.encode(),
            "query_string": b"", "root_path": "", "extensions": {"websocket.http.response": {}},
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        self._given.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.create_task(App(parts)(scope, self._given.get, self._send))

    async def _send(self, message: Message) -> None:
        if self.breaks is not None and message["type"] == self.breaks_at:
            raise self.breaks
        if self.delay is not None and message["type"] == "websocket.send":
            await self.delay()
        self.sent.append(message)
        self._heard.set()
        if message["type"] == "websocket.close":
            self.leave()

    def say(self, **command: Any) -> None:
        text = msgspec.json.encode(command).decode()
        self._given.put_nowait({"type": "websocket.receive", "text": text})

    def say_raw(self, message: Message) -> None:
        self._given.put_nowait(message)

    def leave(self) -> None:
        self._given.put_nowait({"type": "websocket.disconnect", "code": 1000})

    async def said(self, count: int) -> list[Any]:
        """Return what was said once there are so many messages."""
        while True:
            texts = [each["text"] for each in self.sent if each["type"] == "websocket.send"]
            if len(texts) >= count:
                return [msgspec.json.decode(text) for text in texts]
            self._heard.clear()
            await self._heard.wait()


async def waiting(parts: Services, *players: str, queue: str = "duel") -> list[str]:
    new = tuple(NewTicket((Player(player),), (queue,)) for player in players)
    views = await parts.runtime.ask(Enqueue(parts.runtime.now(), new))
    return [view.id for view in views]


QUIET = Queue(name="quiet", policy="periodic:rounds_of=1000")
"""A queue in which nobody is matched while a test lasts."""


def test_each_ticket_is_followed_to_its_end() -> None:
    async def scene() -> None:
        parts = await started(DUEL, QUIET)
        (first,) = await waiting(parts, "a")
        (other,) = await waiting(parts, "b", queue="quiet")
        socket = Socket(parts)
        socket.say(follow=[first, other])
        present = await socket.said(2)
        assert [each["event"] for each in present] == ["waiting", "waiting"]
        assert [each["ticket"]["id"] for each in present] == [first, other]
        await pair(parts, "duel", "c")
        matched = (await socket.said(3))[-1]
        assert (matched["event"], matched["ticket"]["match"]) == ("matched", "s0-m1")
        assert matched["sequence"] > present[-1]["sequence"]
        now = parts.runtime.now()
        await parts.runtime.ask(Assign(now, "s0-m1", {"connection": "here"}))
        assigned = (await socket.said(4))[-1]
        assert assigned["ticket"]["assignment"] == {"connection": "here"}
        await parts.runtime.ask(Cancel(parts.runtime.now(), other))
        cancelled = (await socket.said(5))[-1]
        assert cancelled["ticket"]["reason"] == "player"
        # What has ended for good is followed no longer.
        assert not parts.tickets.is_followed(other)
        assert parts.tickets.is_followed(first)
        socket.leave()
        await socket.task
        assert not parts.tickets.is_followed(first)
        assert len(parts.followers) == 0
        await parts.runtime.stop()

    play(scene)


def test_resume_sends_only_what_is_newer() -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        first, second = await waiting(parts, "a", "b", queue="quiet")
        socket = Socket(parts)
        socket.say(follow=[first, second])
        seen = max(each["sequence"] for each in await socket.said(2))
        socket.leave()
        await socket.task
        await parts.runtime.ask(Cancel(parts.runtime.now(), second))
        again = Socket(parts)
        again.say(follow=[first, second], after=seen)
        (only,) = await again.said(1)
        assert (only["event"], only["ticket"]["id"]) == ("cancelled", second)
        again.say(follow=["s0-7"])
        (_, problem) = await again.said(2)
        assert problem["event"] == "problem"
        assert (problem["ticket"], problem["problem"]["error"]) == ("s0-7", "unknown_ticket")
        again.leave()
        await again.task
        await parts.runtime.stop()

    play(scene)


def test_ticket_that_ended_while_it_was_followed_may_be_asked_for_again() -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        (ticket,) = await waiting(parts, "a", queue="quiet")
        socket = Socket(parts)
        socket.say(follow=[ticket])
        await socket.said(1)
        await parts.runtime.ask(Cancel(parts.runtime.now(), ticket))
        ended = (await socket.said(2))[-1]
        # Somebody else is being told of the end meanwhile.
        await join_ticket(parts, ticket, Follower())
        socket.say(follow=[ticket], after=ended["sequence"])
        socket.say(follow=[ticket])
        assert (await socket.said(3))[2:] == [ended]
        socket.leave()
        await socket.task
        await parts.runtime.stop()

    play(scene)


def test_number_of_another_journal_hides_no_state() -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        (ticket,) = await waiting(parts, "a", queue="quiet")
        socket = Socket(parts)
        # The server was set back to a copy that knows less than its clients have seen.
        socket.say(follow=[ticket], after=10**6)
        assert [each["event"] for each in await socket.said(1)] == ["waiting"]
        socket.leave()
        await socket.task
        await parts.runtime.ask(Cancel(parts.runtime.now(), ticket))
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        path = f"/v1/tickets/{ticket}/events"
        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
            "query_string": b"", "headers": [(b"last-event-id", b"1000000")], "root_path": "",
        }  # fmt: skip
        await App(parts)(scope, asyncio.Event().wait, send)  # type: ignore[arg-type]
        assert sent[0]["status"] == 200
        assert b"event: cancelled" in b"".join(each.get("body", b"") for each in sent)
        await parts.runtime.stop()

    play(scene)


def test_what_is_unfollowed_is_heard_of_no_more() -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        first, second = await waiting(parts, "a", "b", queue="quiet")
        socket = Socket(parts)
        socket.say(follow=[first, second])
        await socket.said(2)
        socket.say(unfollow=[first, "never followed"])
        # Answered in order: when the problem is there, the message before it was taken.
        socket.say(follow=["nobody"])
        await socket.said(3)
        await parts.runtime.ask(Cancel(parts.runtime.now(), first))
        await parts.runtime.ask(Cancel(parts.runtime.now(), second))
        last = (await socket.said(4))[-1]
        assert last["ticket"]["id"] == second
        socket.leave()
        await socket.task
        await parts.runtime.stop()

    play(scene)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"type": "websocket.receive", "bytes": b"\x00"}, "must be text"),
        ({"type": "websocket.receive", "text": "{"}, ""),
        ({"type": "websocket.receive", "text": '{"follow": "s0-1"}'}, ""),
        ({"type": "websocket.receive", "text": '{"fellow": []}'}, ""),
        ({"type": "websocket.receive", "text": "[" * 30_000}, ""),
        ({"type": "websocket.receive", "text": '{"after": -1}'}, "a whole number >= 0, got -1"),
    ],
)
def test_bad_message_is_explained_and_the_stream_goes_on(message: Message, words: str) -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        (first,) = await waiting(parts, "a", queue="quiet")
        socket = Socket(parts)
        socket.say_raw(message)
        socket.say(follow=[first])
        problem, present = await socket.said(2)
        assert problem["problem"]["error"] == "invalid_request"
        assert words in problem["problem"]["message"]
        assert present["event"] == "waiting"
        socket.leave()
        await socket.task
        await parts.runtime.stop()

    play(scene)


def test_one_connection_follows_so_many_and_ended_ones_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sockets, "FOLLOWED_MAX", 2)

    async def scene() -> None:
        parts = await started(QUIET)
        ids = await waiting(parts, "a", "b", "c", queue="quiet")
        socket = Socket(parts)
        socket.say(follow=ids)
        (problem,) = await socket.said(1)
        assert problem["problem"]["where"] == "/follow"
        socket.say(follow=ids[:2])
        await socket.said(3)
        await parts.runtime.ask(Cancel(parts.runtime.now(), ids[0]))
        await socket.said(4)
        socket.say(follow=[ids[2]])
        assert (await socket.said(5))[-1]["ticket"]["id"] == ids[2]
        socket.leave()
        await socket.task
        await parts.runtime.stop()

    play(scene)


def test_client_that_does_not_read_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "INBOX_MAX", 3)

    async def scene() -> None:
        parts = await started(QUIET)
        ids = await waiting(parts, *"abcdefgh", queue="quiet")
        socket = Socket(parts)
        # All present states at once are more than the inbox takes.
        socket.say(follow=ids)
        await socket.task
        assert socket.sent[-1] == {"type": "websocket.close", "code": sockets.CUT}
        assert len(parts.followers) == 0
        await parts.runtime.stop()

    play(scene)


@pytest.mark.parametrize(
    ("seconds", "is_cut"), [(sockets.SEND_SECONDS - 2.0, False), (sockets.SEND_SECONDS + 1.0, True)]
)
def test_client_that_reads_slowly_is_cut_by_one_event_and_not_by_many(
    seconds: float, is_cut: bool
) -> None:
    async def scene() -> None:
        loop, away = asyncio.get_running_loop(), 0.0
        clock = loop.time
        loop.time = lambda: clock() + away  # type: ignore[method-assign]

        async def delay() -> None:
            nonlocal away
            away += seconds
            await turns()

        parts = await started(QUIET)
        ids = await waiting(parts, *"abcd", queue="quiet")
        socket = Socket(parts)
        socket.delay = delay
        socket.say(follow=ids)
        # After the acceptance, or the end of it all.
        await until(lambda: socket.task.done() or len(socket.sent) > len(ids))
        socket.leave()
        await socket.task
        assert (socket.sent[-1] == {"type": "websocket.close", "code": sockets.CUT}) == is_cut
        await parts.runtime.stop()

    # `play` has a bound by the clock that goes faster here.
    asyncio.run(scene())


def test_streams_end_when_the_server_stops() -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        socket = Socket(parts)
        await asyncio.sleep(0)
        parts.followers.close()
        await socket.task
        assert socket.sent[-1]["code"] == sockets.CUT
        await parts.runtime.stop()

    play(scene)


def test_stranger_web_page_gets_no_stream() -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
            socket = Socket(parts, **headers)
            await socket.task
            assert socket.sent[0]["type"] == "websocket.http.response.start"
            assert socket.sent[0]["status"] == 403
        welcome = Socket(parts, origin="http://localhost:3000", host="localhost")
        await until(lambda: welcome.sent)
        assert welcome.sent[0]["type"] == "websocket.accept"
        welcome.leave()
        await welcome.task
        await parts.runtime.stop()

    play(scene)


@pytest.mark.parametrize("error", [OSError("gone"), RuntimeError("closing")])
def test_connection_that_breaks_while_something_is_sent_ends_quietly(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        (first,) = await waiting(parts, "a", queue="quiet")
        socket = Socket(parts)
        socket.breaks = error
        socket.say(follow=[first])
        await turns()
        socket.leave()
        await socket.task
        assert len(parts.followers) == 0
        await parts.runtime.stop()

    play(scene)
    assert not caplog.records


def test_client_that_leaves_before_it_is_taken_in_is_no_failure_of_the_server() -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        told: list[str] = []
        parts.metrics.unexpected = lambda error, route: told.append(route)  # type: ignore[method-assign]
        socket = Socket(parts)
        socket.breaks, socket.breaks_at = OSError("the client has left"), "websocket.accept"
        # The server of the sockets knows what that is.
        with pytest.raises(OSError, match="has left"):
            await socket.task
        assert told == []
        assert len(parts.followers) == 0
        await parts.runtime.stop()

    play(scene)


def test_other_paths_and_plain_http_are_told_where_the_stream_is() -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        socket = Socket(parts, path="/v1/streams")
        await socket.task
        assert socket.sent[0]["status"] == 404
        status, problem = await call(parts, "GET", "/v1/stream")
        assert (status, problem["error"]) == (426, "upgrade_required")
        await parts.runtime.stop()

    play(scene)


def test_one_follower_too_many_is_turned_away() -> None:
    async def scene() -> None:
        parts = await started(QUIET)
        parts.followers._most = 0
        socket = Socket(parts)
        await socket.task
        assert socket.sent[0]["status"] == 429
        await parts.runtime.stop()

    play(scene)
