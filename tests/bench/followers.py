"""Ten thousand clients who follow their tickets: memory of each, and the time to tell them all.

A round matches everybody at once in matches of a hundred, and a backend assigns them one by one.
The clients are a process of their own that does as little as it can; it shares the machine with
the server, so the CPU time of the server says what one core has to do, and the clock what came out
on this machine.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.bench.http import Connection, get, post
from tests.bench.processes import ROOT, cpu_seconds, resident_of
from tests.bench.report import Row, Setting
from tests.bench.server import Server, started

HOST = "127.0.0.1"
K = 100
"""Players of a match."""
AT_ONCE = 200
"""Connections that are opened at the same time."""
SECONDS_MAX = 60.0
KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
CONFIG = """
[[queue]]
name = "big"
teams = {k}
players = 1
policy = "periodic:rounds_of={rounds}"

[server.limits]
followers_max = {limit}
"""


class Job(msgspec.Struct, frozen=True):
    """What the clients do.

    Args:
        port: Where the server listens.
        pid: The server's process.
        followers: How many, each with a ticket of its own; a multiple of `K`.
        kind: `sse` or `ws`.
    """

    port: int
    pid: int
    followers: int
    kind: str


def run(setting: Setting) -> Iterator[Row]:
    """Measure both kinds of streams, each with a server of its own."""
    count = 1_000 if setting.quick else 10_000
    for kind, name in (("sse", "server-sent events"), ("ws", "WebSocket")):
        found = _measure(setting.data / kind, count, kind)
        label = f"{count:,} followers, {name}"
        yield Row(
            f"{label}: memory of one", (found["bytes"] / 1024,), "KB", "<= 25", "resident, idle"
        )
        yield Row(f"{label}: CPU to take one", (found["join_cpu"] * 1e6,), "µs")
        aim = "<= 1.5"
        note = f"one record matches all in {count // K} matches"
        yield Row(f"{label}: a round told to all, CPU", (found["match_cpu"],), "s", aim, note)
        yield Row(f"{label}: a round told to all, clock", (found["match"],), "s", aim)
        note = f"{count // K} requests, one after another"
        yield Row(f"{label}: assignments told to all, CPU", (found["assign_cpu"],), "s", aim, note)
        yield Row(f"{label}: assignments told to all, clock", (found["assign"],), "s", aim)


def _measure(data: Path, count: int, kind: str) -> dict[str, float]:
    data.mkdir(parents=True, exist_ok=True)
    config = data / "big.toml"
    config.write_text(CONFIG.format(k=K, rounds=count // K, limit=2 * count))
    script = str(Path(sys.executable).with_name("evenmatch"))
    command = [script, "serve", str(config), "--port", "0", "--data", str(data / "journal")]
    with started(command, data) as server, _clients(server, count, kind) as process:
        out, errors = process.communicate(timeout=4 * SECONDS_MAX)
        if process.returncode:
            raise RuntimeError(errors.decode(errors="replace").strip()[-2000:])
        return msgspec.json.decode(out, type=dict[str, float])


@contextmanager
def _clients(server: Server, count: int, kind: str) -> Iterator[subprocess.Popen[bytes]]:
    job = msgspec.json.encode(Job(server.port, server.pid, count, kind))
    command = [sys.executable, "-m", "tests.bench.followers", job.decode()]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Crowd:
    """All the clients, and what they have heard."""

    def __init__(self) -> None:
        self.open = 0
        self.heard = {b"waiting": 0, b"matched": 0, b"assigned": 0}
        self._news = asyncio.Event()

    def note(self, data: bytes, mark: bytes) -> None:
        """Count the events in what came."""
        for name in self.heard:
            self.heard[name] += data.count(mark % name)
        self._news.set()

    async def until(self, name: bytes, count: int) -> float:
        """Return the instant at which so many events of a kind have come."""
        async with asyncio.timeout(SECONDS_MAX):
            while self.heard[name] < count:
                self._news.clear()
                await self._news.wait()
        return time.perf_counter()


class Listener(asyncio.Protocol):
    """One client that follows one ticket."""

    def __init__(self, crowd: Crowd, job: Job, ticket: str) -> None:
        self._crowd = crowd
        self._job = job
        self._ticket = ticket
        self._mark = b"event: %b\n" if job.kind == "sse" else b'"event":"%b"'
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        port = self._job.port
        if self._job.kind == "sse":
            path = f"/v1/tickets/{self._ticket}/events"
            self._transport.write(get(path, port, "text/event-stream"))
        else:
            upgrade = (
                b"GET /v1/stream HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nupgrade: websocket\r\n"
                b"connection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: %b\r\n\r\n"
            )
            self._transport.write(upgrade % (port, KEY))

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"HTTP/1.1 101"):
            self._transport.write(frame(msgspec.json.encode({"follow": [self._ticket]})))
        elif data[:1] == b"\x89":
            # A ping comes alone: it is sent when nothing else is.
            self._transport.write(bytes((0x8A, 0x80 | data[1])) + bytes(4) + data[2:])
        self._crowd.note(data, self._mark)


def frame(text: bytes) -> bytes:
    """Return a text frame of a client, masked with zeros."""
    assert len(text) < 126
    return bytes((0x81, 0x80 | len(text))) + bytes(4) + text


async def _play(job: Job) -> dict[str, float]:
    loop, crowd = asyncio.get_running_loop(), Crowd()
    answers: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
    _, backend = await loop.create_connection(
        lambda: Connection(lambda _, status, body: answers.put_nowait((status, body))),
        HOST,
        job.port,
    )

    async def ask(request: bytes) -> bytes:
        backend.send(request, 0.0)
        status, body = await answers.get()
        assert status < 300, body
        return body

    tickets = await _enter(job, ask)
    before, cpu = resident_of(job.pid), cpu_seconds(job.pid)
    await _connect(job, crowd, tickets)
    await crowd.until(b"waiting", job.followers - 1)
    join_cpu = (cpu_seconds(job.pid) - cpu) / job.followers
    await asyncio.sleep(1.0)
    memory = (resident_of(job.pid) - before) / job.followers
    cpu, began = cpu_seconds(job.pid), time.perf_counter()
    await ask(post(b'{"players":[{"id":"last"}]}', job.port))
    matched = await crowd.until(b"matched", job.followers - 1) - began
    await asyncio.sleep(0.5)
    match_cpu = cpu_seconds(job.pid) - cpu
    cpu, began = cpu_seconds(job.pid), time.perf_counter()
    for number in range(job.followers // K):
        request = post(b'{"connection":"10.0.0.1:7777"}', job.port, f"/v1/matches/s0-m{number + 1}")
        path = b"/assignment HTTP/1.1"
        await ask(request.replace(b" HTTP/1.1", path, 1).replace(b"POST", b"PUT", 1))
    assigned = await crowd.until(b"assigned", job.followers - 1) - began
    await asyncio.sleep(0.5)
    return {
        "bytes": memory,
        "join_cpu": join_cpu,
        "match": matched,
        "match_cpu": match_cpu,
        "assign": assigned,
        "assign_cpu": cpu_seconds(job.pid) - cpu,
    }


async def _enter(job: Job, ask) -> list[str]:  # type: ignore[no-untyped-def]
    """Create all tickets but the one that makes the round begin."""
    found: list[str] = []
    while len(found) < job.followers - 1:
        count = min(1_000, job.followers - 1 - len(found))
        bodies = [b'{"players":[{"id":"p%d"}]}' % (len(found) + each) for each in range(count)]
        created = msgspec.json.decode(await ask(post(b"[%b]" % b",".join(bodies), job.port)))
        found += [each["id"] for each in created]
    return found


async def _connect(job: Job, crowd: Crowd, tickets: list[str]) -> None:
    loop, turn = asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE)

    async def connect(ticket: str) -> None:
        async with turn:
            await loop.create_connection(lambda: Listener(crowd, job, ticket), HOST, job.port)

    await asyncio.gather(*map(connect, tickets))


def main() -> None:
    import uvloop

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    job = msgspec.json.decode(sys.argv[1], type=Job)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        sys.stdout.buffer.write(msgspec.json.encode(runner.run(_play(job))))


if __name__ == "__main__":
    main()
