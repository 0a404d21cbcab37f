"""A node whose address is not its own, and owners that are gone from theirs."""

import asyncio
import io
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from evenmatch.errors import JournalUnavailable, StaleOwner
from evenmatch.journals.memory import MemoryJournal
from evenmatch.server.cluster.node import Node
from evenmatch.server.cluster.own_address import CHECK_EVERY, CHECKS
from evenmatch.server.cluster.peer_calls import PeerAnswer, answer_of_node
from evenmatch.server.http.responses import encode, send_body
from tests.unit.server.test_cluster import take
from tests.unit.server.test_cluster_nodes import IDENTITY, asked, node, status_of, with_node
from tests.waiting import turns, until

OTHER = "b/1@127.0.0.1:2"
ITSELF = msgspec.structs.replace(status_of("a"), owns_as=IDENTITY.owner)


class AtOwnAddress:
    """What answers at the address that a node gives to others.

    Args:
        monkeypatch: Lets it answer.
        answer: What it says.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: PeerAnswer | None) -> None:
        self.answer = answer
        self.asked = 0
        module = "evenmatch.server.cluster"
        monkeypatch.setattr(f"{module}.own_address.answer_of_node", self._answer)
        monkeypatch.setattr(f"{module}.node.HELLO_EVERY", 0.01)

    async def _answer(self, *_: Any) -> PeerAnswer | None:
        self.asked += 1
        return self.answer


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        (None, 1),
        (PeerAnswer(404, b"{}"), 1),
        (PeerAnswer(200, b"<html>"), 1),
        (PeerAnswer(200, encode(ITSELF)), 0),
    ],
)
def test_node_that_does_not_reach_itself_says_so_once(
    answer: PeerAnswer | None, count: int, monkeypatch: pytest.MonkeyPatch, told: io.StringIO
) -> None:
    there = AtOwnAddress(monkeypatch, answer)

    async def main() -> None:
        address = node()._greetings.address
        for _ in range(CHECKS + 5 * CHECK_EVERY):
            await address.check()
        assert address.taken_by == ""

    asyncio.run(main())
    assert told.getvalue().count("node_does_not_reach_itself") == count
    assert there.asked == (5 + CHECKS if count else 6)


def test_node_at_whose_address_another_one_answers_keeps_away_from_shards(
    monkeypatch: pytest.MonkeyPatch, told: io.StringIO
) -> None:
    there = AtOwnAddress(monkeypatch, PeerAnswer(200, encode(status_of("b"))))
    journal = MemoryJournal()

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        monkeypatch.setattr("evenmatch.server.cluster.seat.ASK_EVERY", 0.01)
        await until(lambda: there.asked > 40, "many looks")
        assert not seat.is_held, "it took a shard that nobody could reach"
        ready = await asked(running, "/readyz")
        assert (ready.status, b"--node-address of its own" in ready.body) == (503, True)
        assert "another node answers" in running.status.problem
        there.answer = PeerAnswer(200, encode(ITSELF))
        await until(lambda: seat.present is not None, "the lease")
        assert (running._unready, running.status.problem) == (None, "")

    with_node(scene, journal=journal)
    assert told.getvalue().count("node_address_is_taken") == 1
    assert told.getvalue().count("node_address_is_free") == 1


def test_node_gives_its_shards_to_the_one_that_comes_up_at_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evenmatch.server.cluster.own_address.CHECK_EVERY", 1)
    there = AtOwnAddress(monkeypatch, None)
    journal = MemoryJournal()

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.present is not None, "the lease")
        there.answer = PeerAnswer(200, encode(status_of("b")))
        await until(lambda: not seat.is_held, "the end of it")
        await until(lambda: seat.holder == OTHER, "its successor")

    with_node(scene, journal=journal)


def test_node_goes_on_asking_while_the_other_one_is_silent(
    monkeypatch: pytest.MonkeyPatch, told: io.StringIO
) -> None:
    there = AtOwnAddress(monkeypatch, PeerAnswer(200, encode(status_of("b"))))

    async def main() -> None:
        address = node()._greetings.address
        for _ in range(2 * CHECKS):
            await address.check()
        there.answer, asked_before = None, there.asked
        for _ in range(CHECKS - 1):
            await address.check()
        assert (address.taken_by, there.asked - asked_before) == (OTHER, CHECKS - 1)
        await address.check()
        assert address.taken_by == ""

    asyncio.run(main())
    assert told.getvalue().count("node_address_is_taken") == 1


def test_check_of_an_address_makes_no_node_known_to_the_one_that_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes: list[bytes] = []

    async def answer_of_node(place: Any, method: str, path: str, signed: bytes, _: float) -> None:
        notes.append(signed)

    monkeypatch.setattr("evenmatch.server.cluster.own_address.answer_of_node", answer_of_node)

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.present is not None, "the lease")
        for note in (notes[0], IDENTITY.sign("0", "twin/1@127.0.0.1:1", purpose="nodes")):
            answer = await asked(running, "/v1/cluster", signed=note)
            assert answer.status == 200
            assert running._members.alive == [], "its own address is no other node's"

    with_node(scene)


class Owner:
    """A node that answers every request with its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.owner = ""

    async def __aenter__(self) -> "Owner":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.owner = f"{self.name}/1@127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = self.name.encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b"
            % (len(body), body)
        )
        writer.close()
        await writer.wait_closed()


class HeldJournal(MemoryJournal):
    """A journal in which another node always has the lease."""

    holder = "b/99@127.0.0.1:9"
    is_away = False

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        if self.is_away:
            raise JournalUnavailable("nobody answers")
        raise StaleOwner(f"{owner} is refused {shard} for {ttl} s", self.holder)


def test_request_waits_where_the_owner_has_just_handed_the_shard_over() -> None:
    journal = HeldJournal()

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.holder == journal.holder, "who has the lease")
        async with Owner("c") as successor:
            asking = asyncio.create_task(asked(running, "/v1/tickets/s0-1"))
            await turns()
            assert not asking.done()
            journal.holder = successor.owner
            answer = await asking
            assert (answer.status, answer.body) == (200, b"c")

    with_node(scene, journal=journal)


@pytest.mark.parametrize(
    ("is_away", "words"), [(False, b"another one takes over"), (True, b"the journal cannot be")]
)
def test_request_whose_owner_is_gone_is_told_why_nobody_takes_over(
    is_away: bool, words: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.server.cluster.node.HOLD_SECONDS", 0.05)
    journal = HeldJournal()

    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.holder == journal.holder, "who has the lease")
        journal.is_away = is_away
        await until(lambda: seat.is_cut_off == is_away, "the journal")
        answer = await asked(running, "/v1/tickets/s0-1")
        assert (answer.status, words in answer.body) == (503, True), answer.body

    with_node(scene, journal=journal)


def test_request_waits_from_the_moment_in_which_a_shard_is_given_away() -> None:
    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.present is not None, "the lease")
        async with Owner("c") as successor:
            is_saved = asyncio.Event()

            async def stop(**_: Any) -> None:
                await is_saved.wait()

            cast(Any, seat.games).stop = stop
            handing = asyncio.create_task(seat.hand_over(successor.owner))
            await turns(1)
            asking = asyncio.create_task(asked(running, "/v1/tickets/s0-1"))
            await turns()
            assert not asking.done()
            is_saved.set()
            assert await handing
            assert (await asking).body == b"c"

    with_node(scene)


def test_request_whose_shard_comes_here_while_its_body_is_read_is_answered_here() -> None:
    async def scene(running: Node) -> None:
        (seat,) = running._seats.values()
        await until(lambda: seat.present is not None, "the lease")
        answered: list[Any] = []

        async def gate(scope: Any, receive: Any, send: Any) -> None:
            answered.append(await receive())
            await send_body(send, 200, b"here")

        games = cast(Any, seat)._games
        games.gate = gate
        # Another node has it until half of the body has come.
        cast(Any, seat)._games, seat.holder = None, "b/99@127.0.0.1:9"
        parts = [b"{", b"}"]

        async def receive() -> Any:
            if len(parts) == 1:
                cast(Any, seat)._games, seat.holder = games, IDENTITY.owner
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        messages: list[Any] = []
        scope = {"type": "http", "method": "POST", "path": "/v1/tickets", "headers": []}
        await running({**scope, "client": ("10.9.8.7", 5)}, receive, take(messages))
        assert [each.get("body", each.get("status")) for each in messages] == [200, b"here"]
        assert answered[0]["body"] == b"{}"
        games.gate = SimpleNamespace(look=lambda: None)

    with_node(scene)


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_a_node_is_asked_by_the_name_of_its_place(host: str, shown: str) -> None:
    heard: list[str] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower())
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        writer.close()

    async def scene() -> tuple[PeerAnswer | None, int]:
        server = await asyncio.start_server(hear, host, 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await answer_of_node((host, port), "GET", "/v1/cluster", b"signed"), port

    try:
        answer, port = asyncio.run(scene())
    except OSError as error:
        pytest.skip(f"this machine has no {host}: {error}")
    assert answer == PeerAnswer(200, b"{}")
    assert f"host: {shown}:{port}\r\n" in heard[0]
