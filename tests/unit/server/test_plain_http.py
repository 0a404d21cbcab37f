"""Where requests begin and end, whatever they carry, and what those are told who break off."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evenmatch.server.http.plain_http import PIPELINED_MOST
from evenmatch.server.runtime.games import Games
from tests.unit.server.raw_http import GIVE_UP, played
from tests.unit.server.test_direct_requests import H2C, TICKET, post
from tests.waiting import turns

LONG = ("origin: http://localhost",)
WAYS = pytest.mark.parametrize("way", [(), LONG], ids=["short", "long"])
SOCKET = (
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
)
CHUNKED = "transfer-encoding: chunked"


def get(path: str, *headers: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "host: 127.0.0.1", *headers, "", ""]).encode()


def chunked(player: str, *headers: str, trailer: str) -> bytes:
    body = TICKET % player.encode()
    parts = b"%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(body), body, trailer.encode())
    return post("", CHUNKED, *headers, body=parts)


async def ids_of(one: Any, player: str) -> list[str]:
    one.send(get(f"/v1/tickets?player={player}"))
    return [ticket["id"] for ticket in (await one.answer())[2]]


@WAYS
def test_trailers_of_a_body_are_no_headers(tmp_path: Path, way: tuple[str, ...]) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            made = []
            for player in ("a", "b"):
                one.send(chunked(player, *way, trailer="idempotency-key: once"))
                status, _, ticket = await one.answer()
                assert status == 201
                made.append(ticket["id"])
            assert made[0] != made[1]

    played(tmp_path, scene)


@WAYS
def test_white_space_around_a_value_is_no_part_of_it(tmp_path: Path, way: tuple[str, ...]) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a", *way, "idempotency-key: key"))
            assert (await one.answer())[0] == 201
            for value in ("key ", "\tkey \t"):
                one.send(post("b", *way, f"idempotency-key: {value}"))
                assert (await one.answer())[0] == 409

    played(tmp_path, scene)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ([f"x{number}: y" for number in range(130)], 431),
        (["x: " + "y" * 9_000], 431),
        (["content-length: 5"], 400),
        ([CHUNKED], 400),
    ],
    ids=["many headers", "a long one", "a body", "chunks"],
)
def test_handshake_that_begins_no_socket_is_answered(
    tmp_path: Path, more: list[str], status: int
) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(get("/v1/stream", *SOCKET, *more) + b"12345")
            async with asyncio.timeout(GIVE_UP):
                assert (await one.reader.readline()).startswith(b"HTTP/1.1 %d " % status)
                await one.reader.read()
        async with wire() as one:
            one.send(get("/v1/stream", *SOCKET))
            assert (await one.answer())[0] == 101

    played(tmp_path, scene)


@WAYS
def test_request_before_a_handshake_is_carried_out_once_and_answered_first(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("other"))
            assert (await one.answer())[0] == 201
            one.send(post("a", *way) + get("/v1/stream", *SOCKET) + post("b", *way))
            answers = [await one.answer() for _ in range(3)]
            assert [status for status, _, _ in answers] == [201, 426, 201]
            assert len(await ids_of(one, "a")) == 1

    played(tmp_path, scene)


@WAYS
def test_hundreds_of_wishes_at_once_are_answered(tmp_path: Path, way: tuple[str, ...]) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a", *way, *H2C) * 300)
            answers = [await one.answer() for _ in range(300)]
            assert {status for status, _, _ in answers[1:]} == {200}

    played(tmp_path, scene)


def test_requests_that_wait_on_a_connection_have_a_limit(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a"))
            ticket = (await one.answer())[2]["id"]
            read = get(f"/v1/tickets/{ticket}")
            one.send(read * (1 + PIPELINED_MOST))
            for _ in range(1 + PIPELINED_MOST):
                assert (await one.answer())[0] == 200
            # At once, however the socket cuts it.
            (protocol,) = wire.connections
            protocol.data_received(read * (2 + PIPELINED_MOST))
            # The one that was being answered is, and none that only waited.
            status, headers, _ = await one.answer()
            assert (status, headers["connection"]) == (200, "close")
            assert await one.is_closed()

    played(tmp_path, scene)


@WAYS
def test_whoever_was_answered_before_the_end_of_a_body_gets_no_second_answer(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("", CHUNKED, *way, body=b"800\r\n" + b"x" * 2048 + b"\r\n"))
            assert (await one.answer())[0] == 413
            one.send(b"ZZZ\r\n")
            assert await one.is_closed()

    played(tmp_path, scene, body_bytes_max=1024)


def test_stream_behind_a_refusal_is_not_closed_as_idle(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a"))
            ticket = (await one.answer())[2]["id"]
            one.send(post("", body=b"[]") + get(f"/v1/tickets/{ticket}/events"))
            assert (await one.answer())[0] == 400
            assert (await one.answer())[0] == 200
            (protocol,) = wire.connections
            assert protocol.timeout_keep_alive_task is None

    played(tmp_path, scene)


def test_whoever_is_not_read_meanwhile_is_not_late(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a"))
            ticket = (await one.answer())[2]["id"]
            head, _, body = post("b").partition(b"\r\n\r\n")
            one.send(get(f"/v1/tickets/{ticket}?wait=1") + head + b"\r\n\r\n")
            (protocol,) = wire.connections
            async with asyncio.timeout(GIVE_UP):
                while not protocol.flow.read_paused:
                    await asyncio.sleep(0)
            # As if its time were up.
            protocol._lose_patience()
            one.send(body)
            assert (await one.answer())[0] == 200
            assert (await one.answer())[0] == 201

    played(tmp_path, scene)


def test_head_of_a_stream_ends(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a"))
            ticket = (await one.answer())[2]["id"]
            one.send(get(f"/v1/tickets/{ticket}/events", method="HEAD") + get("/healthz"))
            status, headers, _ = await one.answer()
            assert (status, headers["content-type"]) == (200, "text/event-stream")
            assert (await one.answer())[0] == 200

    played(tmp_path, scene)


def test_long_head_with_a_wish_counts_once(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            head, _, body = post("a", *H2C, "x: " + "y" * 40_000).partition(b"\r\n\r\n")
            one.send(head + b"\r\n\r\n")
            await turns(50)
            one.send(body)
            assert (await one.answer())[0] == 201

    played(tmp_path, scene)


def test_whoever_says_no_more_still_gets_the_answer(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a"))
            one.writer.write_eof()
            status, headers, _ = await one.answer()
            # The answer may be on its way before the server has seen the end.
            assert (status, headers.get("connection", "close")) == (201, "close")
            assert await one.is_closed()

    played(tmp_path, scene)


def test_polls_are_no_figures_of_speed_however_they_are_written(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            one.send(post("a"))
            ticket = (await one.answer())[2]["id"]
            for query in ("?wait=0", "?w%61it=0", ""):
                one.send(get(f"/v1/tickets/{ticket}{query}"))
                assert (await one.answer())[0] == 200
            text = games.services[0].metrics.text().decode()
            route = 'route="GET /v1/tickets/{ticket}",status="200"'
            assert f"evenmatch_request_seconds_count{{{route}}} 1.0" in text

    played(tmp_path, scene)
