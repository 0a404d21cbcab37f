"""Creates that go past ASGI: the same answers, whatever way the bytes come."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evenmatch.server.runtime.games import Games
from tests.unit.server.raw_http import GIVE_UP, played
from tests.waiting import turns

TICKET = b'{"queues":["duel"],"players":[{"id":"%s"}]}'


def post(player: str, *headers: str, body: bytes | None = None, version: str = "1.1") -> bytes:
    content = TICKET % player.encode() if body is None else body
    lines = [f"POST /v1/tickets HTTP/{version}", "host: 127.0.0.1", *headers]
    if not any(line.startswith("transfer-encoding") for line in lines):
        lines.append(f"content-length: {len(content)}")
    return "\r\n".join([*lines, "", ""]).encode() + content


def test_requests_one_after_the_other_keep_their_connection(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            for number in range(3):
                one.send(post(f"p{number}"))
                status, headers, body = await one.answer()
                assert (status, headers["content-type"]) == (201, "application/json")
                assert body["id"].startswith("s0-")

    played(tmp_path, scene)


def test_requests_that_come_at_once_are_answered_in_order(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            read = b"GET /v1/queues HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
            one.send(post("a") + read + post("b") + post("a"))
            answers = [await one.answer() for _ in range(4)]
        assert [status for status, _, _ in answers] == [201, 200, 201, 201]
        assert answers[1][2][0]["name"] == "duel"

    played(tmp_path, scene)


def test_body_may_come_byte_by_byte_or_in_chunks(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            for byte in post("slow"):
                one.send(bytes([byte]))
                await asyncio.sleep(0)
            assert (await one.answer())[0] == 201
            body = TICKET % b"chunked"
            chunks = (
                b"5\r\n" + body[:5] + b"\r\n%x\r\n" % len(body[5:]) + body[5:] + b"\r\n0\r\n\r\n"
            )
            one.send(post("", "transfer-encoding: chunked", body=chunks))
            assert (await one.answer())[0] == 201

    played(tmp_path, scene)


@pytest.mark.parametrize("chunked", [False, True])
def test_body_that_is_too_large_is_refused_and_the_rest_of_it_read(
    tmp_path: Path, chunked: bool
) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            if chunked:
                body = b"800\r\n" + b"x" * 2048 + b"\r\n0\r\n\r\n"
                one.send(post("", "transfer-encoding: chunked", body=body))
            else:
                one.send(post("", body=b"x" * 2048))
            status, _, problem = await one.answer()
            assert (status, problem["error"]) == (413, "body_too_large")
            one.send(post("next"))
            assert (await one.answer())[0] == 201

    played(tmp_path, scene, body_bytes_max=1024)


def test_expecting_clients_old_ones_and_web_pages_take_the_long_way(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            head, _, body = post("expects", "expect: 100-continue").partition(b"\r\n\r\n")
            one.send(head + b"\r\n\r\n")
            assert (await one.answer())[0] == 100
            one.send(body)
            assert (await one.answer())[0] == 201
            one.send(post("page", "origin: https://evil.example"))
            status, _, problem = await one.answer()
            assert (status, problem["error"]) == (403, "origin_not_allowed")
        async with wire() as old:
            old.send(post("old", version="1.0"))
            assert (await old.answer())[0] == 201
            assert await old.is_closed()

    played(tmp_path, scene)


def test_other_name_of_the_machine_is_refused(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a").replace(b"host: 127.0.0.1", b"host: evil.example"))
            status, _, problem = await one.answer()
            assert (status, problem["error"]) == (403, "origin_not_allowed")

    played(tmp_path, scene)


def test_connection_that_shall_be_closed_is_closed_after_the_answer(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("last", "connection: close"))
            status, headers, _ = await one.answer()
            assert (status, headers["connection"]) == (201, "close")
            assert await one.is_closed()

    played(tmp_path, scene)


def test_bad_input_is_answered_and_the_connection_goes_on(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            for body, code in (
                (b"", "invalid_request"),
                (b"[]", "invalid_ticket"),
                (b'{"queues":["nope"],"players":[{"id":"a"}]}', "unknown_queue"),
                (b'{"queues":["duel"],"players":[]}', "invalid_ticket"),
            ):
                one.send(post("", body=body))
                status, _, problem = await one.answer()
                assert status in (400, 404)
                assert problem["error"] == code
            one.send(post("key", "idempotency-key: " + "k" * 5000))
            assert (await one.answer())[0] == 400
            one.send(post("good"))
            assert (await one.answer())[0] == 201

    played(tmp_path, scene)


def test_client_that_leaves_before_the_answer_leaves_its_ticket(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("gone"))
            await one.writer.drain()
            one.writer.transport.abort()
        async with asyncio.timeout(GIVE_UP):
            while not games.services[0].runtime.engine.tables.waiting:
                await asyncio.sleep(0)
        async with wire() as two:
            two.send(post("gone"))
            # The ticket was made; a client that comes back gets it.
            assert (await two.answer())[0] == 200

    played(tmp_path, scene)


H2C = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__")
"""What Java's HttpClient adds to each request over plain HTTP."""


@pytest.mark.parametrize("way", [(), ("origin: http://localhost",)], ids=["short", "long"])
@pytest.mark.parametrize("wish", [H2C, ("connection: upgrade", "upgrade: websocket")])
def test_wish_for_another_protocol_is_passed_over(
    tmp_path: Path, way: tuple[str, ...], wish: tuple[str, ...]
) -> None:
    read = "\r\n".join(["GET /v1/queues HTTP/1.1", "host: a", *H2C, "", ""]).encode()
    read = read.replace(b"host: a", b"host: 127.0.0.1")

    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a", *wish, *way))
            assert (await one.answer())[0] == 201
            # Its body may come later, and other requests behind it.
            head, _, body = post("b", *wish, *way).partition(b"\r\n\r\n")
            one.send(head + b"\r\n\r\n")
            await turns(20)
            one.send(body + read + post("c", *wish, *way) + post("d"))
            answers = [await one.answer() for _ in range(4)]
            assert [status for status, _, _ in answers] == [201, 200, 201, 201]
            # A request in the body of another one is none.
            within = b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
            one.send(post("", *wish, *way, body=within) + post("e"))
            answers = [await one.answer() for _ in range(2)]
            assert [status for status, _, _ in answers] == [400, 201]
            body = TICKET % b"chunked"
            chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
            one.send(post("", "transfer-encoding: chunked", *wish, *way, body=chunks))
            assert (await one.answer())[0] == 201
            one.send(post("last", *wish, "connection: close", *way))
            status, headers, _ = await one.answer()
            assert (status, headers.get("connection")) == (201, "close")

    played(tmp_path, scene)


def test_connect_is_no_request_that_is_read_for_ever(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(b"CONNECT /v1/tickets HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            status, _, _ = await one.answer()
            assert status in (400, 404, 405)
        async with wire() as two:
            two.send(post("a"))
            assert (await two.answer())[0] == 201

    played(tmp_path, scene)


@pytest.mark.parametrize("way", [(), ("origin: http://localhost",)], ids=["short", "long"])
def test_half_a_request_is_told_that_it_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: tuple[str, ...]
) -> None:
    monkeypatch.setenv("EVENMATCH_REQUEST_SECONDS", "1")

    async def scene(wire: Any, games: Games) -> None:
        for size in (-6, 30):
            async with wire() as one:
                # The second request of its connection, as often.
                one.send(post("a", *way))
                assert (await one.answer())[0] in (200, 201)
                one.send(post("b", *way)[:size])
                status, headers, problem = await one.answer()
                assert (status, headers["connection"]) == (408, "close")
                assert problem["error"] == "request_timeout"
                assert await one.is_closed()
        assert not any(
            row.ticket.players[0].id == "b"
            for row in games.services[0].runtime.engine.tables.waiting.values()
        )

    played(tmp_path, scene)


@pytest.mark.parametrize("way", [(), ("origin: http://localhost",)], ids=["short", "long"])
def test_what_is_no_request_is_told_so_unless_another_answer_is_owed(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a", *way))
            assert (await one.answer())[0] == 201
            one.send(b"this is no HTTP\r\n\r\n")
            status, headers, problem = await one.answer()
            assert (status, headers["connection"]) == (400, "close")
            assert problem["error"] == "invalid_request"
            assert await one.is_closed()
        async with wire() as one:
            # Its client would take the refusal for the answer to its ticket.
            one.send(post("b", *way) + b"this is no HTTP\r\n\r\n")
            assert (await one.answer())[0] == 201
            assert await one.is_closed()
        async with wire() as one:
            one.send(b"POST /v1/tickets HTTP/1.1\r\nx: " + b"y" * 70_000)
            status, _, problem = await one.answer()
            assert status == 400
            assert "65,536 bytes" in problem["message"]
            assert await one.is_closed()
        async with wire() as one:
            one.send(b"GET /v1/tickets?player=b HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            status, _, tickets = await one.answer()
            assert (status, len(tickets)) == (200, 1)

    played(tmp_path, scene)
