"""The load generator, a process of its own: a job as JSON on standard input, figures as output.

Every job is bounded in requests and in time, and talks to 127.0.0.1 only.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Sequence
from itertools import islice

import msgspec
import uvloop

from tests.bench.http import Connection, EventStream, get, post
from tests.bench.processes import cpu_seconds
from tests.bench.report import percentile
from tests.bench.workload import QUEUE, body, player_id, rating

HOST = "127.0.0.1"
FEED = f"/v1/queues/{QUEUE}/matches"
PAGES_MAX = 1_000


class Job(msgspec.Struct, frozen=True):
    """What to do.

    Args:
        kind: `create`: requests as fast as they are answered. `pairs`: two creates at a time at
            random instants, and the stream of matches beside them.
        port: Where the server listens.
        pid: The server's process.
        count: Requests.
        connections: Requests under way at the most.
        batch: Tickets of a request; 0 sends one ticket without an array.
        rate: Tickets per second of `pairs`.
        seconds_max: The job ends after this time, whatever is left to do.
        seed: Of the players' ids.
    """

    kind: str
    port: int
    pid: int
    count: int
    connections: int = 256
    batch: int = 0
    rate: float = 0.0
    seconds_max: float = 20.0
    seed: int = 0


class Creator:
    """Sends requests over many connections, each one when the one before is answered."""

    def __init__(self, job: Job) -> None:
        rng = random.Random(job.seed)
        self._job = job
        self._requests = [post(_create(rng, job.batch), job.port) for _ in range(job.count)]
        self._requests.reverse()
        self._waits: list[float] = []
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way = 0
        self._end = 0.0

    async def run(self) -> dict[str, float]:
        job = self._job
        connections = await _connect(job, self._answered)
        cpu, began = cpu_seconds(job.pid), time.perf_counter()
        self._end = began + job.seconds_max
        for connection in connections:
            self._send(connection)
        await asyncio.wait_for(self._done, job.seconds_max + 10.0)
        seconds = time.perf_counter() - began
        # The server's thread may still be at the end of its last commit.
        await asyncio.sleep(0.05)
        done = len(self._waits)
        return {
            "requests": done,
            "tickets": done * max(1, job.batch),
            "seconds": seconds,
            "cpu": cpu_seconds(job.pid) - cpu,
            "p50": percentile(self._waits, 0.5),
            "p99": percentile(self._waits, 0.99),
        }

    def _send(self, connection: Connection) -> None:
        now = time.perf_counter()
        if self._requests and now < self._end:
            self._under_way += 1
            connection.send(self._requests.pop(), now)
        elif not self._under_way and not self._done.done():
            self._done.set_result(None)

    def _answered(self, connection: Connection, status: int, answer: bytes) -> None:
        self._under_way -= 1
        self._waits.append(time.perf_counter() - connection.sent_at)
        if status != (200 if self._job.batch else 201):
            if not self._done.done():
                self._done.set_exception(RuntimeError(f"status {status}: {answer[:500]!r}"))
            return
        self._send(connection)


class Pairs:
    """Sends two tickets at a time, and hears of their matches."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._rng = random.Random(job.seed)
        self._sent: dict[str, float] = {}
        self._waits: list[float] = []
        self._refused = b""

    async def run(self) -> dict[str, float]:
        job, loop = self._job, asyncio.get_running_loop()
        after = await _last_match(job)
        connections = await _connect(job, self._answered)
        transport, _ = await loop.create_connection(
            lambda: EventStream(self._heard), HOST, job.port
        )
        transport.write(get(f"{FEED}?after={after}", job.port, "text/event-stream"))
        await asyncio.sleep(0.2)
        cpu, began = cpu_seconds(job.pid), time.perf_counter()
        await self._send_all(connections, began)
        sent = time.perf_counter() - began
        for _ in range(100):
            if not self._sent:
                break
            await asyncio.sleep(0.02)
        transport.close()
        if self._refused:
            raise RuntimeError(f"a create was refused: {self._refused[:500]!r}")
        if not self._waits:
            raise RuntimeError("no match was heard of")
        return {
            "tickets": len(self._waits),
            "missing": len(self._sent),
            "rate": job.count / sent,
            "cpu": cpu_seconds(job.pid) - cpu,
            "p50": percentile(self._waits, 0.5),
            "p99": percentile(self._waits, 0.99),
        }

    async def _send_all(self, connections: Sequence[Connection], began: float) -> None:
        job, rng, at = self._job, self._rng, began
        for _ in range(job.count // 2):
            at += rng.expovariate(job.rate / 2)
            # Sleeps end late by up to a millisecond; what is due by then is sent at once.
            if (delay := at - time.perf_counter()) > 0.0:
                await asyncio.sleep(delay)
            if time.perf_counter() > began + job.seconds_max:
                return
            due, free = None, _free(connections)
            while len(free) < 2:
                # The server is behind: what waits for a connection has waited since it was due.
                due = at
                await asyncio.sleep(0.001)
                if time.perf_counter() > began + job.seconds_max:
                    return
                free = _free(connections)
            for connection in free:
                player = player_id(rng)
                request = post(body(player, 1500.0), job.port)
                now = time.perf_counter()
                self._sent[player] = now if due is None else due
                connection.send(request, now)

    def _answered(self, connection: Connection, status: int, answer: bytes) -> None:
        if status != 201 and not self._refused:
            self._refused = answer or b"the connection was lost"

    def _heard(self, data: bytes) -> None:
        now = time.perf_counter()
        for match in msgspec.json.decode(data)["matches"]:
            for team in match["players"]:
                for player in team:
                    sent = self._sent.pop(player, None)
                    if sent is not None:
                        self._waits.append(now - sent)


def _free(connections: Sequence[Connection]) -> list[Connection]:
    """Return two connections without a request under way, or as many as there are."""
    return list(islice((each for each in connections if each.is_free), 2))


async def _connect(job: Job, answered: object) -> list[Connection]:
    loop = asyncio.get_running_loop()
    connections = []
    for _ in range(job.connections):
        _, connection = await loop.create_connection(
            lambda: Connection(answered),  # type: ignore[arg-type]
            HOST,
            job.port,
        )
        connections.append(connection)
    return connections


async def _last_match(job: Job) -> int:
    """Return the number after which the feed has nothing yet."""
    after, loop = 0, asyncio.get_running_loop()
    bodies: asyncio.Queue[bytes] = asyncio.Queue()
    _, connection = await loop.create_connection(
        lambda: Connection(lambda _, status, answer: bodies.put_nowait(answer)), HOST, job.port
    )
    for _ in range(PAGES_MAX):
        connection.send(get(f"{FEED}?after={after}", job.port), 0.0)
        page = msgspec.json.decode(await bodies.get())
        after = page["next"]
        if not page["matches"]:
            break
    connection.transport.close()
    return int(after)


def _create(rng: random.Random, batch: int) -> bytes:
    bodies = [body(player_id(rng), rating(rng)) for _ in range(max(1, batch))]
    return b"[%b]" % b",".join(bodies) if batch else bodies[0]


async def _run(job: Job) -> dict[str, float]:
    return await (Pairs(job) if job.kind == "pairs" else Creator(job)).run()


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(_run(job))
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main()
