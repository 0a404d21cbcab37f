"""How soon a client that lost its server asks for news again."""

import asyncio
import ssl
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any

import pytest

from evenmatch.client import streams
from evenmatch.client.client import AsyncClient, ServerUnreachable
from evenmatch.client.exchange import Exchange
from evenmatch.client.streams import RESUME_MOST, TicketStream, _pause
from tests.waiting import GIVE_UP

READY_CHECK = 10.0
"""Seconds that games give players to answer."""
ANSWER = 4.0
"""Seconds that a player takes to answer."""


@pytest.mark.parametrize("drawn", [0.0, 0.5, 1.0])
def test_whoever_comes_back_after_a_long_outage_has_time_to_answer(drawn: float) -> None:
    exchange: Any = SimpleNamespace(chance=lambda: drawn)
    # A server may be away for hours.
    pauses = [_pause(exchange, tried, 0.0) for tried in range(1, 5_000)]
    assert max(pauses) <= RESUME_MOST
    assert max(pauses) + ANSWER < READY_CHECK
    assert pauses == sorted(pauses)


def test_stream_whose_server_vanished_without_a_word_is_taken_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "SILENT_MOST", 0.05)
    state = b'{"id":"s0-1","state":"%b","wait":1.0}'
    asked: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        word = b"waiting" if len(asked) == 1 else b"matched"
        writer.write(b"id: %d\ndata: %b\n\n" % (len(asked), state % word))
        # Then nothing, for ever, as from a machine that lost its power.
        try:
            await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()

    async def scene() -> list[str]:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        heard: list[str] = []
        async with (
            AsyncClient(url, chance=lambda: -0.5) as client,
            asyncio.timeout(GIVE_UP),
            aclosing(client.events("s0-1")) as events,
        ):
            async for now in events:
                heard.append(now.state)
                if now.state == "matched":
                    break
        server.close()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
        return heard

    assert asyncio.run(scene()) == ["waiting", "matched"]
    assert b"Last-Event-ID: 1" in asked[1]


def test_stream_of_a_server_that_is_not_trusted_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def connect(self: Exchange) -> Any:
        raise ssl.SSLCertVerificationError("self-signed certificate")

    monkeypatch.setattr(Exchange, "connect", connect)

    async def scene() -> None:
        async with AsyncClient("https://127.0.0.1:9") as client, asyncio.timeout(GIVE_UP):
            with pytest.raises(ServerUnreachable, match="self-signed"):
                await anext(aiter(client.events("s0-1")))

    asyncio.run(scene())


def test_ticket_that_is_followed_again_after_a_problem_is_told_of_from_the_beginning() -> None:
    state = '{"event":"waiting","sequence":7,"ticket":{"id":"s0-1","state":"waiting","wait":1.0}}'
    problem = '{"event":"problem","ticket":"s0-1","problem":{"error":"unavailable","message":"-"}}'

    async def scene() -> list[str]:
        stream = TicketStream(Exchange("http://127.0.0.1:9"), ["s0-1"])
        told = [stream._heard(state), stream._heard(problem)]
        await stream.follow("s0-1")
        told.append(stream._heard(state))
        return [each.event for each in told if each is not None]

    assert asyncio.run(scene()) == ["waiting", "problem", "waiting"]


def test_stream_takes_what_a_server_says_that_was_set_back_to_a_copy() -> None:
    def told(sequence: int, state: bytes) -> bytes:
        ticket = b'{"id":"s0-1","state":"%b","wait":1.0}' % state
        return b'{"event":"%b","sequence":%d,"ticket":%b}' % (state, sequence, ticket)

    stream = TicketStream(Exchange("http://127.0.0.1:9"), ["s0-1"])
    messages = [told(90, b"matched"), told(90, b"matched"), told(40, b"waiting")]
    messages += [told(40, b"waiting"), told(51, b"matched")]
    heard = [stream._heard(each) for each in messages]
    assert [each and each.event for each in heard] == ["matched", None, "waiting", None, "matched"]
