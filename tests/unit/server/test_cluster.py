"""Nodes of a cluster without processes: names, signatures, and who is asked."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.requests import Request

from evenmatch.errors import ConfigError, JournalUnavailable
from evenmatch.server.cluster import forwarding
from evenmatch.server.cluster.forwarding import FORWARDED, Peer
from evenmatch.server.cluster.frames import UNHEARD_SECONDS, end_when_unheard
from evenmatch.server.cluster.identity import NodeIdentity, address_of, check_address, node_identity
from evenmatch.server.cluster.peers import Peers
from evenmatch.server.http.responses import Disconnected, InvalidRequest
from evenmatch.server.http.ticket_routes import seconds_of
from evenmatch.server.runtime.serve import ClusterOptions
from tests.waiting import turns, until

GIVE_UP = 20.0
KEY = b"0123456789abcdef"


def identity(name: str = "a", key: bytes = KEY) -> NodeIdentity:
    return NodeIdentity(name, "127.0.0.1:1", key, "00")


def test_signature_names_the_client_and_only_our_nodes_can_make_it() -> None:
    signed = identity("a").sign("10.1.2.3", "chess/s0")
    assert identity("b").note_of(signed) == ("10.1.2.3", "chess/s0")
    assert identity("b", b"f" * 16).note_of(signed) is None
    assert identity("b").note_of(signed.replace(b"10.1.2.3", b"10.1.2.4")) is None
    assert identity("b").note_of(signed.replace(b"chess", b"draft")) is None
    assert identity("b").note_of(b"") is None
    assert identity("b").note_of("ä ß".encode()) is None


def test_note_counts_for_what_it_was_made_for_and_nothing_else() -> None:
    signed = identity("a").sign("10.1.2.3", "chess/s0")
    asked = identity("a").sign("3", "a/1@h:1", purpose="nodes")
    for purpose in ("nodes", "frames"):
        assert identity("b").note_of(signed, purpose=purpose) is None
    assert identity("b").note_of(asked) is None
    assert identity("b").note_of(asked, purpose="nodes") == ("3", "a/1@h:1")


@pytest.mark.parametrize("difference", [-61.0, 61.0])
def test_note_of_another_minute_counts_no_more(
    monkeypatch: pytest.MonkeyPatch, difference: float
) -> None:
    now = 1_700_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    signed = identity("a").sign("10.1.2.3", "chess/s0")
    assert identity("b").note_of(signed) is not None
    # Clocks of two machines may differ a little.
    now += difference / 2
    assert identity("b").note_of(signed) is not None
    now += difference / 2
    assert identity("b").note_of(signed) is None


@pytest.mark.parametrize(
    ("name", "address", "words"),
    [
        ("", "h:1", "--node"),
        ("a b", "h:1", "--node"),
        ("a", "nowhere", "--node-address"),
        ("a", "h:0", "--node-address"),
        ("a", "h:70000", "--node-address"),
    ],
)
def test_names_and_addresses_that_cannot_be_used_are_refused(
    tmp_path: Path, name: str, address: str, words: str
) -> None:
    key = tmp_path / "key"
    key.write_bytes(KEY)
    with pytest.raises(ConfigError, match=words):
        node_identity(name, address, key)


def test_secret_must_be_there_and_long_enough(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        node_identity("a", "h:1", tmp_path / "none")
    short = tmp_path / "short"
    short.write_bytes(b"abc\n")
    with pytest.raises(ConfigError, match="16 to 4,096 bytes"):
        node_identity("a", "h:1", short)


def test_address_of_ipv6_without_brackets_is_refused_since_its_port_could_be_a_part_of_it() -> None:
    with pytest.raises(ConfigError, match=r"\[ADDRESS\]:PORT with an IPv6 address"):
        check_address("fd00::12:8080")


def test_process_that_starts_again_is_another_owner_at_the_same_address(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(KEY)
    one, two = (node_identity("a", "[::1]:8080", key) for _ in range(2))
    assert one.owner != two.owner
    assert address_of(one.owner) == address_of(two.owner) == ("::1", 8080)
    assert address_of("laptop-3fe1") is None


# Handing requests on, to an owner that does what a test says.

Owner = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def forwarded(
    owner: Owner, *bodies: bytes, method: str = "POST", asked: dict[str, Any] | None = None
) -> list[Any]:
    """Hand requests on, and return the messages of each answer, or its error."""

    async def main() -> list[Any]:
        served: list[asyncio.Task[Any]] = []

        async def tracked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            served.append(task)
            await owner(reader, writer)
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(tracked, "127.0.0.1", 0)
        peer = Peer("127.0.0.1", server.sockets[0].getsockname()[1], identity())
        found: list[Any] = []
        async with asyncio.timeout(GIVE_UP):
            for body in bodies:
                messages: list[Any] = []
                try:
                    other = await peer.answer(
                        asked or scope(method), receive(b""), take(messages), body, "/s0"
                    )
                    messages += [other] if other else []
                except (JournalUnavailable, InvalidRequest) as error:
                    messages = [str(error)]
                found.append(messages)
            peer.close()
            server.close()
            await asyncio.gather(*served, return_exceptions=True)
        return found

    return asyncio.run(main())


OWN = [(b"host", b"here"), (b"connection", b"close"), (b"x-own", b"1")]


def scope(method: str, headers: list[tuple[bytes, bytes]] = OWN) -> dict[str, Any]:
    return {
        "type": "http", "method": method, "path": "/v1/tickets", "raw_path": b"/v1/tickets",
        "query_string": b"a=1", "client": ("10.9.8.7", 5),
        "headers": headers,
    }  # fmt: skip


def receive(body: bytes) -> Callable[[], Awaitable[Any]]:
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_part() -> Any:
        if parts:
            return parts.pop()
        await asyncio.Event().wait()
        return None

    return next_part


def take(messages: list[Any]) -> Callable[[Any], Awaitable[None]]:
    async def send(message: Any) -> None:
        messages.append(message)

    return send


def answering(seen: list[bytes], *, requests: int = 10, answer: bytes = b"201 Created") -> Owner:
    async def owner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(requests):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                break
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            seen.append(head + await reader.readexactly(length))
            writer.write(b"HTTP/1.1 " + answer + b"\r\ncontent-length: 2\r\nx-theirs: 2\r\n\r\nok")

    return owner


def test_request_goes_on_as_it_came_with_a_note_of_who_asks() -> None:
    seen: list[bytes] = []
    (messages,) = forwarded(answering(seen), b"body")
    assert [each["type"] for each in messages] == ["http.response.start"] + [
        "http.response.body"
    ] * 2
    assert messages[0]["status"] == 201
    assert (b"x-theirs", b"2") in messages[0]["headers"]
    assert b"".join(each["body"] for each in messages[1:]) == b"ok"
    head, _, body = seen[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/tickets?a=1 HTTP/1.1\r\n")
    assert body == b"body"
    lines = {
        line.partition(b": ")[0].lower(): line.partition(b": ")[2] for line in head.split(b"\r\n")
    }
    assert lines[b"host"] == b"here"
    assert lines[b"x-own"] == b"1"
    assert b"connection" not in lines
    assert identity().note_of(lines[FORWARDED]) == ("10.9.8.7", "/s0")


def test_header_lines_go_on_byte_for_byte_and_one_by_one() -> None:
    seen: list[bytes] = []
    lines = [
        (b"host", b"here"),
        (b"x-forwarded-for", b"10.0.0.1"),
        (b"x-name", "Zo\xeb".encode()),
        (b"x-forwarded-for", b"10.0.0.2"),
        (b"x-name", b"\xff"),
    ]
    # Twice: the second one goes over the connection that is kept.
    found = forwarded(answering(seen), b"", b"", method="GET", asked=scope("GET", lines))
    assert [each[0]["status"] for each in found] == [201, 201]
    for head in seen:
        sent = [tuple(line.split(b": ", 1)) for line in head.split(b"\r\n") if b": " in line]
        assert [each for each in sent if each in lines] == lines


def test_request_without_a_host_goes_on_with_that_of_the_owner() -> None:
    seen: list[bytes] = []
    (messages,) = forwarded(answering(seen), b"", asked=scope("GET", []))
    assert messages[0]["status"] == 201
    assert b"\r\nhost: 127.0.0.1:" in seen[0]


def test_request_that_cannot_go_on_is_refused_and_costs_no_connection() -> None:
    seen: list[bytes] = []
    twice = scope("GET", [(b"host", b"here"), (b"host", b"there")])
    assert ["not HTTP" in said for (said,) in forwarded(answering(seen), b"", asked=twice)] == [
        True
    ]
    assert seen == []


def test_connection_is_kept_and_a_closed_one_is_not_used_again() -> None:
    seen: list[bytes] = []
    answers = forwarded(answering(seen), b"1", b"2", b"3")
    assert [each[0]["status"] for each in answers] == [201] * 3
    assert len(seen) == 3
    # An owner that closes after each answer costs a new connection, and loses nothing that is read.
    seen.clear()
    answers = forwarded(answering(seen, requests=1), b"", b"", method="GET")
    assert [each[0]["status"] for each in answers] == [201] * 2


def test_owner_that_dies_before_its_answer_leaves_it_open_whether_it_was_done() -> None:
    async def dying(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    ((said,),) = forwarded(dying, b"body")
    assert "whether this was done is not known" in said


def test_node_that_does_not_own_the_shard_names_the_owner_and_nothing_goes_back() -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            with suppress(asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(
                    b"HTTP/1.1 503 Later\r\ncontent-length: 2\r\n"
                    b"evenmatch-owner: b/1@10.0.0.6:80\r\n\r\nok"
                )

    # A second one comes over the same connection.
    assert forwarded(other, b"", b"", method="POST") == [["b/1@10.0.0.6:80"]] * 2


def test_request_that_was_sent_is_not_sent_again() -> None:
    seen: list[bytes] = []

    async def dying(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # It answers the first request of its connection, and dies of the second.
        await answering(seen, requests=1)(reader, writer)
        with suppress(asyncio.IncompleteReadError):
            seen.append(await reader.readuntil(b"\r\n\r\n"))

    first, second = forwarded(dying, b"1", b"2")
    assert first[0]["status"] == 201
    assert "whether this was done is not known" in second[0]
    assert len(seen) == 2


def test_owner_that_is_silent_is_asked_once_however_many_connections_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forwarding, "ANSWER_SECONDS", 0.2)

    async def main() -> None:
        silent: list[bytes] = []
        served: list[asyncio.Task[Any]] = []
        all_here = asyncio.Barrier(3)
        kept = 3

        async def owner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            served.append(cast(Any, asyncio.current_task()))
            await reader.readuntil(b"\r\n\r\n")
            # Each is answered over a connection of its own.
            await all_here.wait()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            with suppress(asyncio.IncompleteReadError):
                silent.append(await reader.readuntil(b"\r\n\r\n"))
                await reader.read()
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(owner, "127.0.0.1", 0)
        peer = Peer("127.0.0.1", server.sockets[0].getsockname()[1], identity())
        asked = [peer.answer(scope("GET"), receive(b""), take([]), b"") for _ in range(kept)]
        async with asyncio.timeout(GIVE_UP):
            assert await asyncio.gather(*asked) == [""] * kept
            assert len(peer._free) == kept
            with pytest.raises(JournalUnavailable, match="whether this was done is not known"):
                await peer.answer(scope("GET"), receive(b""), take([]), b"")
            peer.close()
            server.close()
            await asyncio.gather(*served)
        assert len(silent) == 1

    asyncio.run(main())


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_client_who_leaves_ends_a_read_at_its_owner_and_no_change(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "ANSWER_SECONDS", 2.0)

    async def main() -> None:
        asked, has_left, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def owner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            if method == "POST":
                await has_left.wait()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            await reader.read()
            writer.close()
            await writer.wait_closed()
            ended.set()

        async def leave() -> Any:
            await asked.wait()
            has_left.set()
            return {"type": "http.disconnect"}

        server = await asyncio.start_server(owner, "127.0.0.1", 0)
        peer = Peer("127.0.0.1", server.sockets[0].getsockname()[1], identity())
        messages: list[Any] = []
        async with asyncio.timeout(GIVE_UP):
            work = peer.answer(scope(method), leave, take(messages), b"")
            if method == "GET":
                with pytest.raises(Disconnected):
                    await work
                assert messages == []
            else:
                assert await work == ""
                assert messages[0]["status"] == 200
                peer.close()
            # What it followed there is given free.
            await ended.wait()
        server.close()

    asyncio.run(main())


def test_owner_that_is_not_there_is_said_to_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "CONNECT_SECONDS", 0.2)

    async def main() -> None:
        server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        with pytest.raises(JournalUnavailable, match="another one takes over"):
            await Peer("127.0.0.1", port, identity()).answer(
                scope("GET"), receive(b""), take([]), b""
            )

    asyncio.run(main())


def test_owner_has_time_to_answer_the_longest_poll() -> None:
    asked = Request({**scope("GET"), "query_string": b"wait=1e9"})
    assert seconds_of(asked, "wait") + 5.0 <= forwarding.ANSWER_SECONDS


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
def test_poll_that_another_node_answers_ends_where_this_one_is_stopped(
    monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    monkeypatch.setattr(forwarding, "LAST_SECONDS", 0.1)

    async def main() -> None:
        asked = asyncio.Event()
        served: list[asyncio.Task[Any]] = []

        async def owner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            served.append(cast(Any, asyncio.current_task()))
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            await reader.read()
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(owner, "127.0.0.1", 0)
        peer = Peer("127.0.0.1", server.sockets[0].getsockname()[1], identity())
        if is_late:
            peer.close()
        poll = peer.answer(scope("GET"), receive(b""), take([]), b"", "/s0")
        work = asyncio.create_task(poll)
        async with asyncio.timeout(GIVE_UP):
            await asked.wait()
            if not is_late:
                peer.close()
            with pytest.raises(JournalUnavailable, match="this node is being stopped: ask again"):
                await work
            server.close()
            await asyncio.gather(*served)

    asyncio.run(main())


def test_node_is_stopped_in_whichever_turn_of_the_loop_a_client_leaves() -> None:
    async def main() -> None:
        asked, has_left = asyncio.Event(), asyncio.Event()
        served: list[asyncio.Task[Any]] = []

        async def owner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            served.append(cast(Any, asyncio.current_task()))
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            await reader.read()
            writer.close()
            await writer.wait_closed()

        async def leave() -> Any:
            await has_left.wait()
            return {"type": "http.disconnect"}

        server = await asyncio.start_server(owner, "127.0.0.1", 0)
        peer = Peer("127.0.0.1", server.sockets[0].getsockname()[1], identity())
        work = asyncio.create_task(peer.answer(scope("GET"), leave, take([]), b"", "/s0"))
        async with asyncio.timeout(GIVE_UP):
            await asked.wait()
            has_left.set()
            while not work.done():
                peer.close()
                await asyncio.sleep(0)
            with pytest.raises(Disconnected):
                await work
            server.close()
            await asyncio.gather(*served)

    asyncio.run(main())


def test_stream_of_events_that_is_cut_ends_as_a_stream_does() -> None:
    async def owner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        writer.write(head + b"transfer-encoding: chunked\r\n\r\n2\r\nok\r\n")

    (messages,) = forwarded(owner, b"", method="GET")
    assert messages[-2]["body"] == b"ok"
    assert messages[-1] == {"type": "http.response.body", "body": b""}


def test_answers_of_a_node_that_has_lost_their_shard_end_in_time() -> None:
    async def main() -> None:
        served: list[asyncio.Task[Any]] = []

        async def owner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            served.append(cast(Any, asyncio.current_task()))
            await reader.readuntil(b"\r\n\r\n")
            # A stream that never ends by itself.
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n")
            await reader.read()
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(owner, "127.0.0.1", 0)
        place = ("127.0.0.1", server.sockets[0].getsockname()[1])
        owners: dict[str, Any] = {"/s0": place, "/s1": place}
        peers = Peers(identity(), lambda: owners)
        peer = peers.peer(place)
        told: dict[str, list[Any]] = {"/s0": [], "/s1": []}
        async with asyncio.timeout(GIVE_UP):
            first, second = (
                asyncio.create_task(
                    peer.answer(scope("GET"), receive(b""), take(told[about]), b"", about)
                )
                for about in told
            )
            await until(lambda: all(len(each) == 2 for each in told.values()), "both streams")
            owners["/s0"] = None
            peers.tidy()
            # It may end them itself, and do so in order.
            assert all(each in peer._busy.values() for each in told)
            peers.tidy()
            await first
            assert len(told["/s0"]) == 2, "cut off, and not ended"
            peers.tidy()
            assert not second.done()
            owners["/s1"] = ("127.0.0.2", 1)
            peers.tidy()
            peers.tidy()
            await second
            assert not peer._is_closed
            peers.tidy()
            assert peer._is_closed
            assert peers._peers == {}
            server.close()
            await asyncio.gather(*served)

    asyncio.run(main())


def test_connections_to_owners_end_when_their_machine_is_not_heard_any_more() -> None:
    async def main() -> None:
        seen: list[bytes] = []
        served: list[asyncio.Task[Any]] = []

        async def owner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            served.append(cast(Any, asyncio.current_task()))
            await answering(seen)(reader, writer)
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(owner, "127.0.0.1", 0)
        peer = Peer("127.0.0.1", server.sockets[0].getsockname()[1], identity())
        async with asyncio.timeout(GIVE_UP):
            await peer.answer(scope("GET"), receive(b""), take([]), b"")
            own = peer._free[0].transport.get_extra_info("socket")
            # A stream is only read: nothing is sent whose confirmation could fail to come.
            assert own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) < UNHEARD_SECONDS
            unheard = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            assert unheard == UNHEARD_SECONDS * 1_000
            peer.close()
            server.close()
            await asyncio.gather(*served)
        # What stands in for a connection has no socket.
        end_when_unheard(asyncio.Transport())

    asyncio.run(main())


def test_connection_that_comes_back_to_what_was_closed_is_closed_too() -> None:
    async def main() -> None:
        left = asyncio.Event()
        asked = asyncio.Event()

        async def owner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            asked.set()
            await closed.wait()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            await reader.read()
            left.set()
            writer.close()

        closed = asyncio.Event()
        server = await asyncio.start_server(owner, "127.0.0.1", 0)
        peer = Peer("127.0.0.1", server.sockets[0].getsockname()[1], identity())
        messages: list[Any] = []
        async with asyncio.timeout(GIVE_UP):
            work = asyncio.create_task(peer.answer(scope("GET"), receive(b""), take(messages), b""))
            await asked.wait()
            # The node has another owner to ask by now; this answer is still under way.
            peer.close()
            closed.set()
            assert await work == ""
            assert messages[-1] == {"type": "http.response.body", "body": b""}
            await left.wait()
        server.close()

    asyncio.run(main())


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("has_more", [False, True], ids=["owns nothing", "owns another"])
def test_question_to_a_silent_node_ends_when_another_one_has_the_shard(
    method: str, has_more: bool
) -> None:
    async def main() -> None:
        served: list[asyncio.Task[Any]] = []

        async def frozen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            served.append(cast(Any, asyncio.current_task()))
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            await reader.read()
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(frozen, "127.0.0.1", 0)
        place = ("127.0.0.1", server.sockets[0].getsockname()[1])
        owners: dict[str, Any] = {"/s0": place, "/s1": place if has_more else None}
        peers = Peers(identity(), lambda: owners)
        peer = peers.peer(place)
        async with asyncio.timeout(GIVE_UP):
            # Over a kept connection: a lost one would be asked again over another.
            assert await peer.answer(scope("GET"), receive(b""), take([]), b"", "/s0") == ""
            asked = asyncio.create_task(
                peer.answer(scope(method), receive(b""), take([]), b"", "/s0")
            )
            await until(lambda: list(peer._asked_for.values()) == ["/s0"], "the question")
            owners["/s0"] = ("127.0.0.2", 1)
            peers.tidy()
            await turns()
            assert not asked.done()
            peers.tidy()
            # This node is not stopping, and does not say so.
            with pytest.raises(JournalUnavailable, match="not known"):
                await asked
            assert len(served) == 1
            assert peer._asked_for == {}
            peers.tidy()
            assert (peers._peers == {}) == (not has_more)
        peers.close()
        server.close()
        await asyncio.gather(*served)

    asyncio.run(main())


def test_connection_for_frames_to_a_node_that_owns_nothing_is_closed() -> None:
    class Link:
        is_lost = False

        def close(self) -> None:
            self.is_lost = True

    place, other = ("127.0.0.1", 1), ("127.0.0.1", 2)
    owners: dict[str, Any] = {"/s0": place, "/s1": other}
    peers = Peers(identity(), lambda: owners)
    links = {each: Link() for each in (place, other)}
    peers._links = dict(cast(Any, links))
    peers.tidy()
    owners["/s0"] = other
    peers.tidy()
    # What a node is asked that gives a shard away, it answers within a second.
    assert not links[place].is_lost
    peers.tidy()
    assert links[place].is_lost
    assert list(peers._links) == [other]
    assert not links[other].is_lost


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_all_addresses_of_a_machine_are_no_address_for_others(host: str, tmp_path: Path) -> None:
    key = tmp_path / "cluster.key"
    key.write_bytes(KEY)
    with pytest.raises(ConfigError, match="add --node-address HOST:PORT"):
        ClusterOptions("a", key).identity(host, 8080)
    assert ClusterOptions("a", key, "10.0.0.5:8080").identity(host, 8080).address == "10.0.0.5:8080"
