"""The connection to NATS where nobody answers: what it says must help whoever reads it."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from evenmatch.errors import JournalUnavailable
from evenmatch.journals.nats_link import NatsLink, parse_address


@pytest.fixture
def bound() -> Iterator[socket.socket]:
    """Give a port that refuses connections until somebody listens there."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        yield found


def refusal(bound: socket.socket) -> str:
    async def ask() -> None:
        link = NatsLink(parse_address(f"nats://127.0.0.1:{bound.getsockname()[1]}"), "mm", 0.3)
        try:
            await link.largest()
        finally:
            await link.close()

    with pytest.raises(JournalUnavailable) as raised:
        asyncio.run(ask())
    return str(raised.value)


def test_a_refused_connection_is_said_to_be_refused(bound: socket.socket) -> None:
    assert "ConnectionRefusedError" in refusal(bound)


def test_a_server_that_is_silent_is_said_to_be_silent(bound: socket.socket) -> None:
    bound.listen()
    assert "no answer for 0.3 s" in refusal(bound)
