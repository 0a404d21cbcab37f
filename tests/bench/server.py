"""A server process under load over loopback: CPU a request, bulk creates, time to the match."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector

import msgspec

from tests.bench.disk import sync_seconds
from tests.bench.load import Job
from tests.bench.processes import ROOT, ask
from tests.bench.report import Row, Setting, percentile
from tests.bench.workload import duel_toml

START_SECONDS = 20.0
BATCH = 500
RATE = 500.0
FAST_RATES = (2_000.0, 3_000.0, 4_000.0)
"""Tickets per second at which a server has about as much to do as it can."""
FAST_AIM = 4_000.0
FAST_P99_AIM = 50.0
SYNCS = 300


class Size(msgspec.Struct, frozen=True):
    """How much is measured."""

    rounds: int
    creates: int
    bulks: int
    pairs: int


FULL = Size(rounds=5, creates=10_000, bulks=40, pairs=5_000)
QUICK = Size(rounds=2, creates=2_000, bulks=8, pairs=1_000)


class Server(msgspec.Struct, frozen=True):
    """A process that listens."""

    port: int
    pid: int


def run(setting: Setting) -> Iterator[Row]:
    size = QUICK if setting.quick else FULL
    config = setting.data / "duel.toml"
    config.write_text(duel_toml())
    script = str(Path(sys.executable).with_name("evenmatch"))
    data = str(setting.data / "journal")
    ours = [script, "serve", str(config), "--port", "0", "--data", data]
    bare = [sys.executable, "-m", "tests.bench.bare"]
    # Two tickets of a fresh server meet nobody else, so the time to the match comes first.
    with started(ours, setting.data) as server:
        yield from _times_to_match(server, size, setting.data)
        yield from _fast_pairs(server, size)
        with started(bare, setting.data) as other:
            yield from _cpu(server, other, size)
        yield from _bulk(server, size)


@contextmanager
def started(
    command: list[str],
    logs: Path,
    *,
    seconds: float = START_SECONDS,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Start a server that announces its address within some seconds, and end it."""
    log = (logs / "server.log").open("ab")
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, env=environment
    )
    try:
        assert process.stdout is not None
        with DefaultSelector() as selector:
            selector.register(process.stdout, EVENT_READ)
            line = process.stdout.readline() if selector.select(seconds) else b""
        if b"http://127.0.0.1:" not in line:
            said = Path(log.name).read_text(errors="replace")[-1000:].strip()
            raise RuntimeError(f"{' '.join(command)} did not start: {said or line!r}")
        yield Server(int(line.rpartition(b":")[2]), process.pid)
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()
        log.close()


def load(job: Job) -> dict[str, float]:
    """Let the load generator do a job."""
    command = [sys.executable, "-m", "tests.bench.load"]
    return ask(command, job.seconds_max + 60.0, msgspec.json.encode(job))


def _times_to_match(server: Server, size: Size, directory: Path) -> Iterator[Row]:
    load(Job("pairs", server.port, server.pid, 200, 256, rate=RATE, seed=99))  # warms up
    rounds = min(3, size.rounds)
    found, syncs = [], sync_seconds(directory, SYNCS)
    for number in range(rounds):
        job = Job("pairs", server.port, server.pid, size.pairs, 256, rate=RATE, seed=100 + number)
        found.append(load(job))
        syncs += sync_seconds(directory, SYNCS)
    p50, p99 = (percentile(syncs, share) * 1e3 for share in (0.5, 0.99))
    rate = min(each["rate"] for each in found)
    missing = sum(each["missing"] for each in found)
    note = f"{rate:.0f} tickets/s in pairs, {size.pairs:,} a round, {missing:.0f} not heard of"
    yield Row("create to match event, p50", _column(found, "p50", 1e3), "ms", "", note)
    yield Row(
        "create to match event, p99",
        _column(found, "p99", 1e3),
        "ms",
        f"<= {15 + 3 * p99:.1f}",
        "the aim is 15 ms + 3 x p99 of fdatasync",
    )
    yield Row("fdatasync of 4 KB, p50", (p50,), "ms", "", f"{len(syncs)} while the server idles")
    yield Row("fdatasync of 4 KB, p99", (p99,), "ms")


def _fast_pairs(server: Server, size: Size) -> Iterator[Row]:
    """The same at high rates; the generator beside the server needs a core of its own."""
    rounds = min(3, size.rounds)
    for rate in FAST_RATES:
        found = []
        for number in range(rounds):
            job = Job("pairs", server.port, server.pid, 2 * size.pairs, 256, rate=rate, seed=number)
            found.append(load(job))
        missing = sum(each["missing"] for each in found)
        reached = min(each["rate"] for each in found)
        note = f"{reached:,.0f} tickets/s at the least, {missing:.0f} not heard of"
        what = f"create to match event at {rate:,.0f} tickets/s"
        aim = f"<= {FAST_P99_AIM:g}" if rate == FAST_AIM else ""
        yield Row(f"{what}, p50", _column(found, "p50", 1e3), "ms", "", note)
        yield Row(f"{what}, p99", _column(found, "p99", 1e3), "ms", aim)


def _cpu(server: Server, bare: Server, size: Size) -> Iterator[Row]:
    """Let both servers take turns."""
    found: dict[int, list[dict[str, float]]] = {server.pid: [], bare.pid: []}
    for number in range(size.rounds + 1):
        for side in (server, bare):
            count = size.creates if number else size.creates // 5
            answer = load(Job("create", side.port, side.pid, count, seed=200 + number))
            if number:  # the first round warms up
                found[side.pid].append(answer)
    ours, theirs = found[server.pid], found[bare.pid]
    note = f"256 connections, {size.creates:,} creates a round"
    yield Row("durable creates, CPU of the server", _cpu_micro(ours), "µs/request", "", note)
    yield Row("bare Starlette route, CPU", _cpu_micro(theirs), "µs/request", "", note)
    ratios = tuple(
        one / other for one, other in zip(_cpu_micro(ours), _cpu_micro(theirs), strict=True)
    )
    yield Row("durable creates against the bare route", ratios, "x", "<= 2.6", "in turns")
    yield Row("durable creates", _rates(ours, "requests"), "requests/s")
    yield Row("bare Starlette route", _rates(theirs, "requests"), "requests/s")
    yield Row("durable creates, answer, p99", _column(ours, "p99", 1e3), "ms")


def _bulk(server: Server, size: Size) -> Iterator[Row]:
    found = []
    for number in range(min(4, size.rounds + 1)):
        job = Job("create", server.port, server.pid, size.bulks, 2, batch=BATCH, seed=300 + number)
        answer = load(job)
        if number:
            found.append(answer)
    yield Row(
        "bulk creates",
        _rates(found, "tickets"),
        "tickets/s",
        ">= 20,000",
        f"arrays of {BATCH}, two under way",
    )
    micro = tuple(each["cpu"] / each["tickets"] * 1e6 for each in found)
    yield Row("bulk creates, CPU of the server", micro, "µs/ticket")
    yield Row("bulk creates, answer, p50", _column(found, "p50", 1e3), "ms")


def _column(found: list[dict[str, float]], key: str, factor: float) -> tuple[float, ...]:
    return tuple(each[key] * factor for each in found)


def _cpu_micro(found: list[dict[str, float]]) -> tuple[float, ...]:
    return tuple(each["cpu"] / each["requests"] * 1e6 for each in found)


def _rates(found: list[dict[str, float]], key: str) -> tuple[float, ...]:
    return tuple(each[key] / each["seconds"] for each in found)
