"""The client against a server made of scripted answers: what it repeats, and what it does not."""

import asyncio
import gc
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import parse_qs

import pytest

from evenmatch.client.client import AsyncClient, Client, Retry, ServerRefused, ServerUnreachable
from evenmatch.client.exchange import Exchange, Request
from evenmatch.errors import ConfigError
from evenmatch.model.ticket import Player
from evenmatch.server.http.app import AllowedHosts
from evenmatch.wire.http1 import HttpResponse
from evenmatch.wire.tickets import CreateTicket
from tests.waiting import GIVE_UP, until

CREATED = (201, b'{"id":"s0-1","state":"waiting","queues":["duel"],"enqueued_at":1.0}')
STATE = (200, b'{"id":"s0-1","state":"waiting","wait":1.0}')
BUSY = (429, b'{"error":"overloaded","message":"later"}')
PAUSED = (429, b'{"error":"paused","message":"the queue is paused","seconds":5.0}')
AWAY = (503, b'{"error":"unavailable","message":"later"}')
SLOW = (408, b'{"error":"request_timeout","message":"again"}')
BEHIND = (502, b"<html><head><title>502 Bad Gateway</title></head></html>")
"""What a proxy says whose server is being started again."""
LATE = (504, b"")
GONE = (0, b"")
"""The server closes the connection without an answer."""
ADA = CreateTicket((Player("ada"),))
QUICK = Retry(first=0.0)


class Script:
    """A server that answers one thing after another; `asked` are the requests, as they came."""

    def __init__(self, *answers: tuple[int, bytes], retry_after: str = "0") -> None:
        self._answers = list(answers)
        self._retry_after = retry_after
        self.asked: list[bytes] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = [line for line in head.split(b"\r\n") if line[:15] == b"Content-Length:"]
                body = await reader.readexactly(int(length[0][15:])) if length else b""
                self.asked.append(head + body)
                status, answer = self._answers.pop(0)
                if status == 0:
                    break
                writer.write(
                    b"HTTP/1.1 %d x\r\nretry-after: %b\r\ncontent-length: %d\r\n\r\n%b"
                    % (status, self._retry_after.encode(), len(answer), answer)
                )
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    @property
    def keys(self) -> list[bytes]:
        lines = [line for asked in self.asked for line in asked.split(b"\r\n")]
        return [line[17:] for line in lines if line.startswith(b"Idempotency-Key: ")]


def play(
    script: Script,
    scene: Callable[[AsyncClient], Awaitable[None]],
    retry: Retry = QUICK,
    token: str | None = None,
    chance: float = 1.0,
) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            server = await asyncio.start_server(script.talk, "127.0.0.1", 0)
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with AsyncClient(url, retry=retry, token=token, chance=lambda: chance) as client:
                await scene(client)
            server.close()
            await server.wait_closed()
            await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
            await asyncio.sleep(0)

    asyncio.run(bounded())


@pytest.mark.parametrize("trouble", [BUSY, AWAY, GONE, SLOW, BEHIND, LATE])
def test_create_is_asked_for_again_under_the_same_key(trouble: tuple[int, bytes]) -> None:
    script = Script(trouble, trouble, CREATED)

    async def scene(client: AsyncClient) -> None:
        assert (await client.create(ADA)).id == "s0-1"

    play(script, scene)
    assert len(script.asked) == 3
    first, *others = script.keys
    assert others == [first, first]
    assert len(first) == 32


@pytest.mark.parametrize("trouble", [AWAY, BEHIND, LATE])
def test_events_go_on_when_a_proxy_finds_the_server_again(trouble: tuple[int, bytes]) -> None:
    script = Script(trouble, (200, b"id: 2\ndata: %b\n\n" % STATE[1]), trouble, (204, b""))

    async def scene(client: AsyncClient) -> None:
        assert [now.state async for now in client.events("s0-1")] == ["waiting"]

    play(script, scene, chance=-0.5)
    assert len(script.asked) == 4


@pytest.mark.parametrize("state", [b"cancelled", b"expired"])
def test_events_end_with_the_last_state_and_ask_nothing_more(state: bytes) -> None:
    last = STATE[1].replace(b"waiting", state)
    script = Script((200, b"id: 2\ndata: %b\n\nid: 3\ndata: %b\n\n" % (STATE[1], last)))

    async def scene(client: AsyncClient) -> None:
        states = [now.state async for now in client.events("s0-1")]
        assert states == ["waiting", state.decode()]

    play(script, scene, chance=-0.5)
    assert len(script.asked) == 1


@pytest.mark.parametrize("trouble", [AWAY, BEHIND, LATE])
def test_feed_goes_on_when_a_proxy_finds_the_server_again(trouble: tuple[int, bytes]) -> None:
    gone = (404, b'{"error":"unknown_queue","message":"no such queue"}')
    script = Script(trouble, trouble, (200, b'{"matches":[],"next":1}'), trouble, gone)

    async def scene(client: AsyncClient) -> None:
        with pytest.raises(ServerRefused, match="no such queue"):
            await anext(client.matches("duel"))

    play(script, scene, Retry(tries=1))
    assert len(script.asked) == 5


def test_long_polls_take_no_place_from_other_requests() -> None:
    held = asyncio.Event()
    polls: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"wait=" in head:
            polls.append(head)
            await held.wait()
        answer = STATE[1]
        writer.write(b"HTTP/1.1 200 x\r\ncontent-length: %d\r\n\r\n%b" % (len(answer), answer))
        writer.close()
        await writer.wait_closed()

    async def scene() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with (
            asyncio.timeout(GIVE_UP),
            AsyncClient(url, connections_max=2, timeout=GIVE_UP) as client,
        ):
            waiting = [asyncio.create_task(client.get("s0-1", wait=25.0)) for _ in range(3)]
            assert (await client.accept("s0-m1", "s0-1")).state == "waiting"
            assert await client.healthz()
            assert not any(each.done() for each in waiting)
            assert len(polls) <= 2, "long polls have a limit too"
            held.set()
            assert len(await asyncio.gather(*waiting)) == 3
        server.close()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    asyncio.run(scene())


def test_whoever_finds_no_place_in_time_hears_of_it() -> None:
    async def scene() -> None:
        async with AsyncClient("http://127.0.0.1:1", connections_max=1, timeout=0.05) as client:
            await client._exchange._home().places.acquire()
            with pytest.raises(ServerUnreachable, match="connections_max is 1, and all are taken"):
                await client._exchange.once(Request("GET", "/"))

    asyncio.run(scene())


def test_long_poll_that_gets_its_place_late_has_no_less_time() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 x\r\ncontent-length: %d\r\n\r\n%b" % (len(STATE[1]), STATE[1]))
        writer.close()
        await writer.wait_closed()

    async def scene() -> None:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with (
            asyncio.timeout(GIVE_UP),
            AsyncClient(url, connections_max=1, timeout=1.0) as client,
        ):
            places, loop = client._exchange._home().poll_places, asyncio.get_running_loop()
            await places.acquire()
            poll = Request("GET", "/v1/tickets/s0-1", wait=0.1)
            asked = asyncio.create_task(client._exchange.once(poll))
            begun = loop.time()
            await until(lambda: loop.time() > begun + 1.2)
            assert not asked.done()
            places.release()
            assert (await asked).status == 200
        server.close()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    asyncio.run(scene())


def test_each_create_has_a_key_of_its_own_unless_one_is_given() -> None:
    script = Script(CREATED, CREATED, CREATED)

    async def scene(client: AsyncClient) -> None:
        for key in (None, None, "mine"):
            await client.create(ADA, key=key)

    play(script, scene)
    assert len(set(script.keys)) == 3
    assert script.keys[2] == b"mine"


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.get("s0-1"),
        lambda client: client.heartbeat("s0-1"),
        lambda client: client.accept("s0-m1", "s0-1"),
        lambda client: client.decline("s0-m1", "s0-1", "ada"),
    ],
)
def test_what_is_done_once_when_done_twice_is_repeated(
    ask: Callable[[AsyncClient], Awaitable[object]],
) -> None:
    script = Script(GONE, AWAY, STATE)

    async def scene(client: AsyncClient) -> None:
        await ask(client)

    play(script, scene)
    assert len(script.asked) == 3
    assert len(set(script.asked)) == 1


def test_patience_has_an_end_and_says_what_the_server_said() -> None:
    script = Script(*[BUSY] * 3)

    async def scene(client: AsyncClient) -> None:
        with pytest.raises(ServerRefused) as caught:
            await client.get("s0-1")
        assert (caught.value.status, caught.value.code) == (429, "overloaded")
        assert caught.value.is_passing

    play(script, scene, Retry(tries=3, first=0.0))
    assert len(script.asked) == 3


def test_create_for_a_paused_queue_is_refused_at_once() -> None:
    script = Script(PAUSED, CREATED)

    async def scene(client: AsyncClient) -> None:
        with pytest.raises(ServerRefused) as caught:
            await client.create(ADA)
        assert (caught.value.code, caught.value.seconds) == ("paused", 5.0)
        assert caught.value.is_passing, "a later create may succeed"

    play(script, scene)
    assert len(script.asked) == 1


def test_caller_hears_at_once_of_what_takes_longer_than_a_client_waits() -> None:
    script = Script(BUSY, CREATED, retry_after="600")

    async def scene(client: AsyncClient) -> None:
        with pytest.raises(ServerRefused) as caught:
            await client.create(ADA)
        assert caught.value.retry_after == 600.0

    play(script, scene)
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    "answer", [(200, b"<html>Sign in to this network</html>"), (200, b'{"id":"s0-1"}'), (200, b"")]
)
def test_answer_of_something_else_is_no_answer(answer: tuple[int, bytes]) -> None:
    async def scene(client: AsyncClient) -> None:
        with pytest.raises(
            ServerUnreachable, match="is not an evenmatch server, or has another version"
        ):
            await client.get("s0-1")

    play(Script(answer), scene)


def test_redirect_is_an_error_that_says_its_status() -> None:
    async def scene(client: AsyncClient) -> None:
        with pytest.raises(ServerRefused, match="the answer has status 302") as caught:
            await client.get("s0-1")
        assert (caught.value.status, caught.value.code) == (302, "http_error")

    play(Script((302, b"")), scene)


def test_path_of_the_address_stands_before_that_of_each_request() -> None:
    script = Script(STATE)

    async def talk() -> None:
        server = await asyncio.start_server(script.talk, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/match/"
        async with AsyncClient(url) as client:
            await client.get("s0-1")
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0)

    asyncio.run(talk())
    assert script.asked[0].startswith(b"GET /match/v1/tickets/s0-1 HTTP/1.1")


@pytest.mark.parametrize("wait", [0.5, 1e9, 1e-7])
def test_wait_arrives_as_it_was_given(wait: float) -> None:
    script = Script(STATE)

    async def scene(client: AsyncClient) -> None:
        await client.get("s0-1", wait=wait)

    play(script, scene)
    query = script.asked[0].split()[1].partition(b"?")[2].decode()
    assert parse_qs(query) == {"wait": [str(wait)]}


def test_lost_connections_end_as_unreachable() -> None:
    script = Script(*[GONE] * 3)

    async def scene(client: AsyncClient) -> None:
        with pytest.raises(ServerUnreachable):
            await client.create(ADA)

    play(script, scene, Retry(tries=3, first=0.0))
    assert len(script.asked) == 3


def test_refusals_are_not_repeated() -> None:
    script = Script((409, b'{"error":"too_late","message":"matched","match":"s0-m1"}'))

    async def scene(client: AsyncClient) -> None:
        with pytest.raises(ServerRefused) as caught:
            await client.cancel("s0-1")
        assert caught.value.match == "s0-m1"

    play(script, scene)
    assert len(script.asked) == 1


def test_token_goes_with_each_request_and_nonsense_is_refused() -> None:
    script = Script(STATE)

    async def scene(client: AsyncClient) -> None:
        await client.get("s0-1")

    play(script, scene, token="em_secret")
    assert b"\r\nAuthorization: Bearer em_secret\r\n" in script.asked[0]
    for strange in ("a\r\nX-Evil: 1", "em_secret ", " em_secret", "em_secret\n", "", "clé"):
        with pytest.raises(ConfigError, match="a token is printable ASCII text without blanks"):
            AsyncClient("http://127.0.0.1:1", token=strange)


def test_pauses_double_up_to_a_limit_and_are_drawn() -> None:
    retry = Retry(first=0.5, most=3.0)
    assert [retry.pause(tried, 0.0, lambda: 1.0) for tried in (1, 2, 3, 4, 9)] == [
        0.5, 1.0, 2.0, 3.0, 3.0,
    ]  # fmt: skip
    assert retry.pause(3, 7.0, lambda: 0.25) == 7.5
    assert retry.pause(3, 0.0, lambda: 0.0) == 0.0
    assert retry.pause(5_000, 0.0, lambda: 1.0) == 3.0


def test_address_that_is_none_is_refused() -> None:
    strange = ("http://host:99999", "http://host:port", "http://[::1", "http://me:secret@host")
    for url in ("ftp://x", "localhost:8080", "http://", "http://host/?a=1", *strange):
        with pytest.raises(ConfigError, match="http://host:port"):
            AsyncClient(url)


def test_client_without_a_loop_says_the_same() -> None:
    with Client("http://127.0.0.1:9", retry=Retry(tries=1)) as client:
        assert not client.healthz()
        with pytest.raises(ServerUnreachable):
            client.get("s0-1")


class HomeConnection:
    """A connection that works in the loop that made it only."""

    is_free = is_used = True

    def __init__(self) -> None:
        self._home = asyncio.get_running_loop()

    def send(self, *request: object) -> None:
        assert asyncio.get_running_loop() is self._home

    async def response(self) -> HttpResponse:
        for _ in range(5):  # A loop that is to stop goes on for a step or two.
            await asyncio.sleep(0)
        return HttpResponse(CREATED[0], {}, CREATED[1])

    async def closed(self) -> None:
        assert asyncio.get_running_loop() is self._home


def test_client_of_one_loop_works_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async def connect(self: Exchange) -> HomeConnection:
        return HomeConnection()

    async def create() -> None:
        # More than may be under way at the same time: some wait for a place.
        made = await asyncio.gather(*[client.create(ADA) for _ in range(5)])
        assert {each.id for each in made} == {"s0-1"}

    monkeypatch.setattr(Exchange, "connect", connect)
    client = AsyncClient("http://127.0.0.1:9", connections_max=2)
    for _ in range(3):
        asyncio.run(create())
    asyncio.run(client.__aexit__())


def test_client_of_several_loops_works_in_each(monkeypatch: pytest.MonkeyPatch) -> None:
    async def connect(self: Exchange) -> HomeConnection:
        return HomeConnection()

    async def begun() -> asyncio.Task[object]:
        task = asyncio.create_task(client.create(ADA))
        await asyncio.sleep(0)
        return task

    monkeypatch.setattr(Exchange, "connect", connect)
    client = AsyncClient("http://127.0.0.1:9")
    with asyncio.Runner() as first, asyncio.Runner() as second:
        # As in two threads: the one is asked while the answer to the other is under way.
        under_way = first.run(begun())
        second.run(client.create(ADA))
        first.get_loop().run_until_complete(under_way)
        for runner in (second, first, second):
            runner.run(client.create(ADA))
        for runner in (first, second):
            runner.run(client.__aexit__())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes begin otherwise here")
def test_client_is_refused_in_another_process() -> None:
    with Client("http://127.0.0.1:9", retry=Retry(tries=1)) as client:
        assert not client.healthz()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                client.healthz()
            except ConfigError as error:
                os.write(writing, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        with os.fdopen(reading, "rb") as said:
            assert b"make one in each process" in said.read()
        assert not client.healthz()


@pytest.mark.filterwarnings("error")
def test_iteration_that_outlives_its_client_ends_in_silence() -> None:
    async def told() -> AsyncIterator[int]:
        yield 1
        yield 2

    with Client("http://127.0.0.1:9") as client:
        following, dropped = client._iterate(told()), client._iterate(told())
        assert [next(following), next(dropped)] == [1, 1]
    del dropped
    with pytest.raises(ConfigError, match="until it is closed"):
        next(following)


@pytest.mark.filterwarnings("error")
def test_client_that_another_thread_uses_says_so_and_sends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as threads:
        silent.settimeout(GIVE_UP)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Client(url, retry=Retry(tries=1)) as client:
            polling = threads.submit(client.get, "s0-1", wait=20.0)
            connection, _ = silent.accept()
            assert b"/v1/tickets/s0-1" in connection.recv(1000)
            with pytest.raises(ConfigError, match="make one in each thread"):
                client.create(ADA)
            connection.close()
            assert isinstance(polling.exception(GIVE_UP), ServerUnreachable)
            gc.collect()
    assert not caplog.records


@pytest.mark.filterwarnings("error")
def test_client_says_where_it_does_not_work() -> None:
    with Client("http://127.0.0.1:9", retry=Retry(tries=1)) as client:

        async def within() -> None:
            with pytest.raises(ConfigError, match="use AsyncClient"):
                client.queues()

        asyncio.run(within())
    with pytest.raises(ConfigError, match="until it is closed"):
        client.queues()


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://[::1]:8080", "[::1]:8080"),
        ("https://[2001:db8::7]", "[2001:db8::7]:443"),
        ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
    ],
)
def test_host_header_says_an_address_as_the_url_does(url: str, host: str) -> None:
    assert Exchange(url).headers(Request("GET", "/health"))["Host"] == host
    is_here = "::1" in url or "127" in url
    assert AllowedHosts(()).admit(host.encode()) == is_here


@pytest.mark.parametrize(
    "key", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\x00b", "a\x85b", " a", "a ", "clé"]
)
def test_idempotency_key_that_cannot_go_out_as_it_is_is_refused(key: str) -> None:
    async def scene(client: AsyncClient) -> None:
        with pytest.raises(ConfigError, match="a header is one line of printable text"):
            await client.create(ADA, key=key)

    script = Script(CREATED)
    play(script, scene)
    assert not script.asked, "nothing was sent"


def test_empty_key_is_not_replaced_by_another() -> None:
    script = Script((400, b'{"error":"invalid_request","message":"an Idempotency-Key has..."}'))

    async def scene(client: AsyncClient) -> None:
        with pytest.raises(ServerRefused):
            await client.create(ADA, key="")

    play(script, scene)
    assert script.keys == [b""]
