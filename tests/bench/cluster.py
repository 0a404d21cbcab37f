"""What a cluster costs and how long it is silent, on PostgreSQL, all on this machine.

`python -m tests.bench cluster --only hand-over --quick` measures one part of it, roughly. It starts
one PostgreSQL and up to three nodes, and sends creates with idempotency keys over kept connections:

- forwarding: processor time of a ticket where it is created at its owner, and where another node
  hands it on, at either end;
- spread: processor time of a ticket with three nodes that share three groups out, all nodes
  together, creates sent to any node, against one node alone with the same groups;
- hand-over: the owner is told to stop in the middle of a load;
- takeover: the owner is killed while tickets wait.

Reads /proc, so it needs Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from evenmatch.cli.cluster import signed_by
from evenmatch.wire.http1 import Connection
from tests.bench.processes import cpu_seconds
from tests.bench.report import Row, Setting
from tests.bench.server import started
from tests.integration.serving import Server
from tests.journal_servers import PostgresServer, postgres_folder

GROUPS = ("default", "casual", "arena")
CONFIG = "".join(
    f'[[queue]]\nname = "{each}"\ngroup = "{each}"\npolicy = "window:limit=100"\n'
    for each in GROUPS
)
LIMITS = "[server.limits]\npool_max = 200000\n"
ONE = '[[queue]]\nname = "default"\npolicy = "window:limit=100"\n'
FORWARDED_RATES = (300.0, 1_000.0)
"""Creates a second, one by one and as they share turns of the loop."""
LEASE = 5.0
GIVE_UP = 60.0


class LoadResult(msgspec.Struct):
    """What became of the requests of a load.

    Args:
        seconds: From each question to its answer, or to the end of its connection.
        codes: How often each status came; 0 for a connection that ended.
        at: When each was asked, seconds of the load.
        hard: Answers that may not be retried.
    """

    seconds: list[float] = msgspec.field(default_factory=list)
    at: list[float] = msgspec.field(default_factory=list)
    codes: dict[int, int] = msgspec.field(default_factory=dict)
    hard: list[str] = msgspec.field(default_factory=list)

    def note(self, asked_at: float, seconds: float, status: int, what: str = "") -> None:
        self.at.append(asked_at)
        self.seconds.append(seconds)
        self.codes[status] = self.codes.get(status, 0) + 1
        if status not in (0, 200, 201, 429, 503):
            self.hard.append(f"{status} {what}")


class Nodes:
    """Nodes on one database.

    Args:
        folder: Their files.
        address: Of the journal.
        config: What they run.
    """

    def __init__(self, folder: Path, address: str, config: str) -> None:
        self._folder = folder
        self._address = address
        self._config = config + LIMITS
        self.running: dict[str, Server] = {}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "key").write_text("0123456789abcdef0123456789abcdef")

    def start(self, *names: str) -> None:
        options = ["--journal", self._address, "--cluster-key", str(self._folder / "key")]
        options += ["--lease-seconds", str(LEASE)]
        for name in names:
            self.running[name] = Server(
                self._folder / name, self._config, options=[*options, "--node", name]
            )

    def shards(self, name: str) -> Sequence[Any]:
        signed = signed_by(self._folder / "key")
        return list(self.running[name].call("GET", "/v1/cluster", headers=signed).body["shards"])

    def owners(self) -> dict[str, str]:
        """Return who answers for each shard, once all nodes agree and no node has two more."""
        until = time.monotonic() + GIVE_UP
        while time.monotonic() < until:
            told = [{one["shard"]: one["owner"] for one in self.shards(n)} for n in self.running]
            counts = [list(told[0].values()).count(name) for name in self.running]
            if all(each == told[0] for each in told) and max(counts) - min(counts) < 2:
                return told[0]
            time.sleep(0.1)
        raise AssertionError(told)

    def stop(self) -> None:
        for server in self.running.values():
            if server.process.poll() is None:
                server.kill()
        self.running.clear()


class Load:
    """Creates at a steady rate, over connections that are kept.

    Args:
        ports: Of the nodes that are asked by turns.
        rate: Creates a second.
        seconds: For so long.
        queues: Which are named by turns.
        seed: Of ratings; and a name of the players.
    """

    def __init__(
        self, ports: Sequence[int], rate: float, seconds: float, queues: Sequence[str], seed: int
    ) -> None:
        self.ports = list(ports)
        self.sent = LoadResult()
        self._rate = rate
        self._seconds = seconds
        self._queues = queues
        self._seed = seed
        self._free: dict[int, list[Connection]] = {}
        self._began = 0.0

    async def run(self) -> LoadResult:
        rng, tasks = random.Random(self._seed), []
        count = int(self._rate * self._seconds)
        self._began = time.perf_counter()
        for number in range(count):
            wait = self._began + number / self._rate - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            tasks.append(asyncio.create_task(self._create(number, rng.gauss(1500, 350))))
        await asyncio.gather(*tasks)
        for each in self._free.values():
            for connection in each:
                connection.close()
        return self.sent

    async def _create(self, number: int, rating: float) -> None:
        player = f"p{self._seed}-{number}"
        queue = self._queues[number % len(self._queues)]
        ticket = {"queues": [queue], "players": [{"id": player, "rating": {"mean": rating}}]}
        body = json.dumps(ticket).encode()
        for _ in range(100):
            port = self.ports[number % len(self.ports)]
            began = time.perf_counter()
            status, text = await self._ask(port, body, player)
            done = time.perf_counter()
            self.sent.note(began - self._began, done - began, status, text)
            if status not in (0, 429, 503):
                return
            # As clients do: what may be retried is retried, at another node.
            number += 1
            await asyncio.sleep(0.05)

    async def _ask(self, port: int, body: bytes, key: str) -> tuple[int, str]:
        free = self._free.setdefault(port, [])
        connection = None
        try:
            while free and connection is None:
                connection = free.pop()
                if not connection.is_free:
                    connection.close()
                    connection = None
            async with asyncio.timeout(GIVE_UP):
                connection = connection or await Connection.open("127.0.0.1", port, None)
                headers = {"host": "127.0.0.1", "content-length": str(len(body))}
                connection.send("POST", "/v1/tickets", {**headers, "idempotency-key": key}, body)
                answer = await connection.response()
        except (OSError, ValueError, TimeoutError) as error:
            if connection is not None:
                connection.close()
            return 0, repr(error)
        free.append(connection)
        return answer.status, answer.body[:200].decode()


PARTS = ("forwarding", "spread", "hand-over", "takeover")


def run(setting: Setting) -> Iterator[Row]:
    yield from measured(setting, PARTS)


def measured(setting: Setting, parts: Sequence[str]) -> Iterator[Row]:
    assert postgres_folder() is not None, "PostgreSQL is not installed"
    seconds, rounds = (4.0, 2) if setting.quick else (10.0, 3)
    with _database(setting.data) as address:
        if "forwarding" in parts:
            yield from _forwarding(
                Nodes(setting.data / "f", address("f"), ONE), setting.data, seconds, rounds
            )
        if "spread" in parts:
            yield from _spread(setting.data, address, seconds, rounds)
        if "hand-over" in parts:
            yield from _hand_over(Nodes(setting.data / "h", address("h"), ONE), seconds, rounds)
        if "takeover" in parts:
            waiting = 2_000 if setting.quick else 100_000
            yield from _takeover(Nodes(setting.data / "t", address("t"), ONE), waiting)


def main(argv: Sequence[str]) -> int:
    """Measure some parts."""
    parser = argparse.ArgumentParser(prog="tests.bench cluster")
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="evenmatch-bench-") as folder:
        for row in measured(Setting(chosen.quick, Path(folder)), chosen.only or PARTS):
            values = ", ".join(f"{each:,.4g}" for each in row.values)
            print(f"{row.name}: {values} {row.unit} (aim {row.aim or 'none'}) {row.note}")
    return 0


@contextmanager
def _database(folder: Path) -> Iterator[Any]:
    import asyncpg

    server = PostgresServer(folder)

    def made(name: str) -> str:
        async def make() -> None:
            connection = await asyncpg.connect(server.url)
            await connection.execute(f"CREATE DATABASE bench_{name}")
            await connection.close()

        asyncio.run(make())
        return str(server.url.rpartition("/")[0]) + f"/bench_{name}"

    try:
        server.start()
        yield made
    finally:
        server.close()


def _forwarding(nodes: Nodes, logs: Path, seconds: float, rounds: int) -> Iterator[Row]:
    """Tickets at their owner, then by another node, then as many requests to a bare route."""
    bare_route = [sys.executable, "-m", "tests.bench.bare"]
    try:
        nodes.start("a", "b")
        holder = nodes.owners()["s0"]
        here, there = nodes.running[holder], nodes.running["b" if holder == "a" else "a"]
        with started(bare_route, logs) as bare:
            sides = (("owner", here.port), ("other", there.port), ("bare", bare.port))
            pids = (here.process.pid, there.process.pid, bare.pid)
            for rate in FORWARDED_RATES:
                costs: dict[str, list[list[float]]] = {name: [] for name, _ in sides}
                for number in range(rounds):
                    for at, (name, port) in enumerate(sides):
                        before = [cpu_seconds(pid) for pid in pids]
                        seed = round(rate) * 1_000 + 3 * number + at
                        sent = asyncio.run(Load([port], rate, seconds, ["default"], seed).run())
                        after = [cpu_seconds(pid) for pid in pids]
                        created = sent.codes.get(201, 0)
                        costs[name].append(
                            [1e6 * (b - a) / created for a, b in zip(before, after, strict=True)]
                        )
                yield from _forwarded(rate, seconds, costs)
    finally:
        nodes.stop()


def _forwarded(rate: float, seconds: float, costs: dict[str, list[list[float]]]) -> Iterator[Row]:
    """Return what creates cost at the owner and at the other node, by who was asked."""
    at_owner, along = zip(*((one[0], one[1]) for one in costs["owner"]), strict=True)
    owner, other = zip(*((one[0], one[1]) for one in costs["other"]), strict=True)
    bare = tuple(one[2] for one in costs["bare"])
    note = f"{rate:g}/s for {seconds:g} s, two nodes, one reads along"
    yield Row(f"{rate:g}/s, created at the owner: CPU of a ticket there", at_owner, "us", "", note)
    yield Row(f"{rate:g}/s, the same: CPU of a ticket at the node that reads along", along, "us")
    yield Row(
        f"{rate:g}/s, a bare route: CPU of a request",
        bare,
        "us",
        "",
        "Starlette, under the same load",
    )
    more = tuple(two - one for one, two in zip(at_owner, owner, strict=True))
    yield Row(f"{rate:g}/s, handing on: more CPU at the owner", more, "us", "<= 25")
    more = tuple(two - one for one, two in zip(along, other, strict=True))
    note = "with the client's own request over HTTP, which the owner is spared"
    yield Row(f"{rate:g}/s, handing on: more CPU at the other node", more, "us", "<= 25", note)
    ratios = tuple(one / two for one, two in zip(more, bare, strict=True))
    yield Row(
        f"{rate:g}/s, handing on: more CPU at the other node, against a bare route", ratios, "x"
    )


def _spread(folder: Path, address: Any, seconds: float, rounds: int) -> Iterator[Row]:
    """The same load on one node and on three that share the groups out."""
    found: dict[str, list[float]] = {}
    for names in (("a",), ("a", "b", "c")):
        nodes = Nodes(folder / f"s{len(names)}", address(f"s{len(names)}"), CONFIG)
        try:
            nodes.start(*names)
            nodes.owners()
            servers = list(nodes.running.values())
            for number in range(rounds):
                before = sum(cpu_seconds(each.process.pid) for each in servers)
                load = Load([each.port for each in servers], 300.0, seconds, GROUPS, number)
                # Not by the same turns as the queues: a node in three is the ticket's own.
                random.Random(number).shuffle(load.ports)
                load.ports = [random.Random(n).choice(load.ports) for n in range(997)]
                sent = asyncio.run(load.run())
                used = sum(cpu_seconds(each.process.pid) for each in servers) - before
                name = f"{len(names)} node{'s'[: len(names) - 1]}"
                found.setdefault(name, []).append(1e6 * used / sent.codes.get(201, 1))
        finally:
            nodes.stop()
    note = f"300/s for {seconds:g} s, three groups, creates at any node"
    for name, values in found.items():
        yield Row(f"{name}: CPU of a ticket, all nodes", tuple(values), "us", "", note)
    one, three = (statistics.median(values) for values in found.values())
    yield Row("three nodes against one, CPU of a ticket", (three / one,), "x", "<= 1.3")


def _hand_over(nodes: Nodes, seconds: float, rounds: int) -> Iterator[Row]:
    """The owner is told to stop while creates come at 500 a second."""
    slowest, retried, hard = [], [], []
    try:
        nodes.start("a", "b", "c")
        for number in range(rounds):
            holder = nodes.owners()["s0"]
            stopping = nodes.running.pop(holder)
            ports = [each.port for each in nodes.running.values()]
            load = Load([*ports, stopping.port], 500.0, seconds, ["default"], number)

            async def main(load: Load = load, gone: Server = stopping) -> LoadResult:
                running = asyncio.create_task(load.run())
                await asyncio.sleep(seconds / 2)
                # A load balancer sees that it is not ready any more; here it is told.
                load.ports.remove(gone.port)
                await asyncio.to_thread(gone.stop)
                return await running

            sent = asyncio.run(main())
            slowest.append(max(sent.seconds))
            retried.append(sum(sent.codes.get(each, 0) for each in (0, 429, 503)))
            hard.append(len(sent.hard))
            nodes.start(holder)
    finally:
        nodes.stop()
    kinds = ", ".join(sorted({each[:120] for each in load.sent.hard}))
    note = f"500/s, the owner of three nodes gets SIGTERM; every answer counts {kinds}".strip()
    yield Row("hand-over: slowest answer", tuple(slowest), "s", "<= 1", note)
    yield Row("hand-over: answers that had to be retried", tuple(map(float, retried)), "")
    yield Row("hand-over: answers that may not be retried", tuple(map(float, hard)), "", "0")


def _takeover(nodes: Nodes, waiting: int) -> Iterator[Row]:
    """The owner is killed while many wait."""
    try:
        nodes.start("a", "b", "c")
        holder = nodes.owners()["s0"]
        owner = nodes.running[holder]
        for first in range(0, waiting, 500):
            # A thousand apart, so that they go on waiting.
            tickets = [
                {
                    "queues": ["default"],
                    "players": [{"id": f"w{n}", "rating": {"mean": 1000.0 * n}}],
                }
                for n in range(first, min(first + 500, waiting))
            ]
            assert owner.call("POST", "/v1/tickets", tickets).status == 200
        time.sleep(2.0)
        nodes.running.pop(holder).kill()
        began, other = time.monotonic(), next(iter(nodes.running.values()))
        while other.call("GET", "/v1/tickets/s0-1").status == 503:
            time.sleep(0.01)
        took = time.monotonic() - began
    finally:
        nodes.stop()
    note = f"lease {LEASE:g} s, {waiting:,} waiting, three nodes"
    yield Row("killed: until the next answer", (took,), "s", f"<= {LEASE + 1:g}", note)
