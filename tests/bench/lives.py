"""What each request of a ticket's life costs the server: create, look, accept, assign, report.

A duel with a ready-check, from its two creates to its outcome, one kind of request after another,
as fast as the server answers over 64 connections. Processor time is the server's; that of a bare
route, which validates a body and answers, is measured in turns with it (`server` does the same for
creates alone).
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.http import Connection, get, post
from tests.bench.processes import cpu_seconds
from tests.bench.report import Row, Setting, percentile
from tests.bench.server import Server, started
from tests.bench.workload import body

CONFIG = """
[[queue]]
name = "duel"
teams = 2
players = 1
wait_max = 600.0
policy = "window:limit=3000"
accept = {seconds = 300.0}

[server]
log_tickets = false
"""
CONNECTIONS = 64
ROUNDS, TICKETS = 5, 4_000
QUICK_ROUNDS, QUICK_TICKETS = 2, 600
KINDS = ("create", "look", "accept", "assign", "report")


class Figures(msgspec.Struct, frozen=True):
    """What requests of one kind took.

    Args:
        cpu: Processor time of the server, seconds a request.
        p99: Of the time until the answer, seconds.
    """

    cpu: float
    p99: float


class Client:
    """Sends requests over many connections, each one when the one before is answered.

    Args:
        server: It.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connections: list[Connection] = []
        self._left: list[tuple[int, bytes]] = []
        self._at: dict[Connection, int] = {}
        self._answers: list[bytes] = []
        self._waits: list[float] = []
        self._done: asyncio.Future[None]

    async def open(self) -> None:
        """Connect."""
        loop = asyncio.get_running_loop()
        for _ in range(CONNECTIONS):
            _, connection = await loop.create_connection(
                lambda: Connection(self._answered), "127.0.0.1", self._server.port
            )
            self._connections.append(connection)

    def close(self) -> None:
        """Disconnect."""
        for connection in self._connections:
            connection.transport.close()

    async def send(self, requests: Sequence[bytes]) -> tuple[list[bytes], Figures]:
        """Send requests, and return their answers and what they took."""
        self._left = list(enumerate(requests))[::-1]
        self._answers, self._waits = [b""] * len(requests), []
        self._done = asyncio.get_running_loop().create_future()
        before = cpu_seconds(self._server.pid)
        for connection in self._connections:
            self._next(connection)
        await asyncio.wait_for(self._done, 120.0)
        await asyncio.sleep(0.2)  # until the last commit and the views of it are done
        cpu = (cpu_seconds(self._server.pid) - before) / len(requests)
        return self._answers, Figures(cpu, percentile(self._waits, 0.99))

    def _next(self, connection: Connection) -> None:
        if self._left:
            self._at[connection], request = self._left.pop()
            connection.send(request, time.perf_counter())

    def _answered(self, connection: Connection, status: int, answer: bytes) -> None:
        if status not in (200, 201):
            if not self._done.done():
                self._done.set_exception(RuntimeError(f"status {status}: {answer[:300]!r}"))
            return
        self._waits.append(time.perf_counter() - connection.sent_at)
        self._answers[self._at[connection]] = answer
        if len(self._waits) == len(self._answers):
            self._done.set_result(None)
        self._next(connection)


def run(setting: Setting) -> Iterator[Row]:
    """Live many lives, and yield what each kind of request took."""
    rounds, tickets = (QUICK_ROUNDS, QUICK_TICKETS) if setting.quick else (ROUNDS, TICKETS)
    config = setting.data / "lives.toml"
    config.write_text(CONFIG)
    script = str(Path(sys.executable).with_name("evenmatch"))
    ours = [script, "serve", str(config), "--port", "0", "--data", str(setting.data / "journal")]
    bare = [sys.executable, "-m", "tests.bench.bare"]
    found: dict[str, list[Figures]] = {}
    with started(ours, setting.data) as server, started(bare, setting.data) as other:
        for number in range(rounds + 1):
            for kind, figures in asyncio.run(_round(server, other, tickets, number)):
                if number:  # the first one warms up
                    found.setdefault(kind, []).append(figures)
    bases = [each.cpu for each in found["bare"]]
    yield Row("bare Starlette route", tuple(1e6 * each for each in bases), "µs/request")
    for kind in KINDS:
        each = found[kind]
        yield Row(f"{kind}, CPU of the server", tuple(1e6 * one.cpu for one in each), "µs/request")
        yield Row(f"{kind}, answer, p99", tuple(1e3 * one.p99 for one in each), "ms")
        ratios = tuple(one.cpu / base for one, base in zip(each, bases, strict=True))
        yield Row(f"{kind} against the bare route", ratios, "x")


async def _round(
    server: Server, bare: Server, count: int, number: int
) -> list[tuple[str, Figures]]:
    """Let tickets live, and return what each kind of request took."""
    client, other = Client(server), Client(bare)
    await client.open()
    await other.open()
    port, found = server.port, []

    async def send(kind: str, requests: Sequence[bytes]) -> list[Any]:
        answers, figures = await client.send(requests)
        found.append((kind, figures))
        return [msgspec.json.decode(each) for each in answers]

    creates = [post(body(f"p{number}-{each}", 1500.0), port) for each in range(count)]
    _, base = await other.send(creates)
    found.append(("bare", base))
    ids = [each["id"] for each in await send("create", creates)]
    seen = await send("look", [get(f"/v1/tickets/{each}", port) for each in ids])
    matches = list(dict.fromkeys(each["match"] for each in seen if each["match"]))
    await send(
        "accept",
        [
            post(
                b'{"ticket":"%b"}' % each["id"].encode(),
                port,
                f"/v1/matches/{each['match']}/accept",
            )
            for each in seen
            if each["match"]
        ],
    )
    place = b'{"connection":"10.0.0.1:7777"}'
    assigns = [post(place, port, f"/v1/matches/{each}/assignment") for each in matches]
    await send("assign", [each.replace(b"POST", b"PUT", 1) for each in assigns])
    ranks = b'{"ranks":[1,2]}'
    await send("report", [post(ranks, port, f"/v1/matches/{each}/outcome") for each in matches])
    client.close()
    other.close()
    return found
