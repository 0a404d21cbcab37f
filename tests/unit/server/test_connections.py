"""Connections: all that wait are taken in one round of the loop, and never more than may be."""

import asyncio
import io
import socket

from evenmatch.server.http import connections as accepting
from evenmatch.server.http.connections import Acceptor
from tests.waiting import GIVE_UP, until


class Held(asyncio.Protocol):
    """A connection that stays open."""

    def __init__(self, open_: set["Held"]) -> None:
        self._open = open_

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)


def listening_socket() -> socket.socket:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(100)
    return listening


def connect(listening: socket.socket, count: int) -> list[socket.socket]:
    return [
        socket.create_connection(listening.getsockname(), timeout=GIVE_UP) for _ in range(count)
    ]


async def until_open(open_: set[Held], count: int) -> None:
    await until(lambda: len(open_) >= count)


def test_all_who_wait_are_taken_in_one_round() -> None:
    async def play() -> int:
        open_: set[Held] = set()
        with listening_socket() as listening:
            made = connect(listening, 40)
            acceptor = Acceptor(
                listening,
                lambda: Held(open_),
                lambda: None,
                open_,
                most=100,
                turned_away=lambda: None,
            )
            acceptor._listening.setblocking(False)
            acceptor._take()
            taken = len(acceptor._coming)
            await until_open(open_, 40)
            acceptor.close()
            await acceptor.wait_closed()
            for each in made:
                each.close()
        return taken

    assert asyncio.run(play()) == 40


def test_whoever_comes_beyond_the_limit_is_told_so(told: io.StringIO) -> None:
    async def play() -> tuple[list[bytes], int]:
        open_: set[Held] = set()
        turned: list[None] = []
        with listening_socket() as listening:
            acceptor = Acceptor(
                listening, lambda: Held(open_), lambda: None, open_, most=3,
                turned_away=lambda: turned.append(None),
            )  # fmt: skip
            acceptor.begin()
            made = connect(listening, 3)
            await until_open(open_, 3)
            beyond = connect(listening, 2)
            answers = [await asyncio.to_thread(each.recv, 4096) for each in beyond]
            # A place that is free again is given away again.
            made[0].close()
            await until(lambda: len(open_) < 3)
            made += connect(listening, 1)
            await until_open(open_, 3)
            acceptor.close()
            await acceptor.wait_closed()
            for each in (*made, *beyond):
                each.close()
        return answers, len(turned)

    answers, turned = asyncio.run(play())
    assert turned == 2
    for answer in answers:
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"too many connections are open" in answer
    (line,) = told.getvalue().splitlines()
    assert "3 are open" in line
    assert "ulimit -n" in line


def test_process_keeps_descriptors_for_itself(monkeypatch: object) -> None:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = accepting.connections_most()
    assert most == max(accepting.LEAST, soft - accepting.RESERVED) or most == 1_000_000
