"""The nodes that are put under load, and the journal that they write to.

    one node   sqlite in its data directory, PostgreSQL or NATS
    several    PostgreSQL or NATS: each takes requests, the one that holds the lease answers

The journals run on this machine, and force what they acknowledge to the disk; NATS has three
servers where there are several nodes.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgspec

from evenmatch.cli.cluster import signed_by
from evenmatch.journals.opening import open_journal
from tests.bench.journal import records_of
from tests.bench.processes import ROOT, cpu_seconds
from tests.bench.report import percentile
from tests.journal_servers import (
    WHY_NO_NATS,
    WHY_NO_POSTGRES,
    NatsCluster,
    NatsServer,
    PostgresServer,
    nats_program,
    postgres_folder,
)
from tests.load.config import CONFIG
from tests.load.server import KEEP_NAME, TRACE_NAME, WATCH_NAME

WATCH = "watch.json"
JOURNALS = ("sqlite", "postgresql", "nats")
RIGHTS = "tickets,matches,operate,read"
LEASE_SECONDS = 15.0
START_SECONDS = 120.0
BATCHES = (1, 64)
LIMIT_SECONDS = 2.0
"""How long the journal alone is measured with batches of each size."""


class JournalLimit(msgspec.Struct, frozen=True):
    """What the journal takes from one writer before the load begins.

    Args:
        size: Records of an append.
        records: Records per second.
        p50: Seconds of an append.
        p99: Seconds of an append.
    """

    size: int
    records: float
    p50: float
    p99: float


class Node:
    """One server process.

    Args:
        name: Of the node.
        folder: Of its data and its log.
        process: Running.
        port: Where it listens.
    """

    def __init__(
        self, name: str, folder: Path, process: subprocess.Popen[bytes], port: int
    ) -> None:
        self.name, self.folder, self.process, self.port = name, folder, process, port

    @property
    def cpu(self) -> float:
        """Return the seconds of processor time that it has used."""
        return cpu_seconds(self.process.pid)

    def errors(self) -> list[str]:
        """Return the lines of its log that tell of errors."""
        lines = (self.folder / "server.log").read_text().splitlines()
        return [f"{self.name}: {line}" for line in lines if '"error"' in line or "error=" in line]


class Nodes:
    """All nodes, started and ended together.

    Args:
        folder: For everything.
        count: How many.
        journal: One of `JOURNALS`.
        keep: As `--keep` of the command.
        trace: Where what memory grew by is written.
    """

    def __init__(
        self, folder: Path, count: int, journal: str, keep: str, trace: Path | None
    ) -> None:
        if count > 1 and journal == "sqlite":
            raise SystemExit(
                "several nodes need a journal that all of them reach: "
                f"--journal postgresql or --journal nats, not {journal}"
            )
        self._folder, self._journal, self._keep, self._trace = folder, journal, keep, trace
        self._servers = ExitStack()
        self._count = count
        self.nodes: list[Node] = []
        self.key = ""
        self.address = self._start_journal()

    @property
    def ports(self) -> tuple[int, ...]:
        """Return where the nodes listen."""
        return tuple(node.port for node in self.nodes)

    @property
    def watch(self) -> Path:
        """Return the file of the watch in the first node, which all leases go to."""
        return self.nodes[0].folder / WATCH

    def _start_journal(self) -> str:
        """Start the journal's servers, and return its address; empty means the data directory."""
        if self._journal == "sqlite":
            return ""
        server: PostgresServer | NatsServer | NatsCluster
        if self._journal == "postgresql":
            if postgres_folder() is None:
                raise SystemExit(WHY_NO_POSTGRES)
            server = PostgresServer()
        elif nats_program() is None:
            raise SystemExit(WHY_NO_NATS)
        elif self._count > 1:
            server = NatsCluster("evenmatch")
        else:
            server = NatsServer()
        self._servers.callback(server.close)
        server.start()
        return server.url

    def limit(self) -> list[JournalLimit]:
        """Measure what the journal takes from one writer, before anybody else writes to it."""
        return asyncio.run(self._limit())

    async def _limit(self) -> list[JournalLimit]:
        address = self.address or f"sqlite:{self._folder / 'limit' / 'journal.db'}"
        if not self.address:
            (self._folder / "limit").mkdir()
        journal, found = open_journal(address), []
        rng = random.Random(1)
        try:
            for size in BATCHES:
                shard = f"limit-{size}"
                epoch = await journal.lease(shard, "limit", 600.0)
                records = records_of(rng, 64 * 200)
                taken: list[float] = []
                until, at = time.perf_counter() + LIMIT_SECONDS, 0
                while time.perf_counter() < until and at + size <= len(records):
                    began = time.perf_counter()
                    batch = records[at : at + size]
                    await journal.append(shard, "limit", epoch, at + 1, batch)
                    taken.append(time.perf_counter() - began)
                    at += size
                p50, p99 = percentile(taken, 0.5), percentile(taken, 0.99)
                found.append(JournalLimit(size, at / sum(taken), p50, p99))
        finally:
            await journal.close()
        return found

    def start(self) -> None:
        """Start all nodes, which know one key, and wait until they listen."""
        config, secret = self._folder / "load.toml", self._folder / "cluster.key"
        config.write_text(CONFIG)
        secret.write_text(f"{random.SystemRandom().getrandbits(256):064x}")
        names = [f"n{number}" for number in range(self._count)]
        first = self._folder / names[0] / "data"
        made = subprocess.run(
            [sys.executable, "-m", "evenmatch.cli.main", "keys", "add", "load",
             "--data", str(first), "--rights", RIGHTS, "--json"],
            capture_output=True, check=True, cwd=ROOT,
        )  # fmt: skip
        self.key = msgspec.json.decode(made.stdout)["key"]
        for name in names:
            data = self._folder / name / "data"
            if data != first:
                shutil.copytree(first, data)
            options = ["--journal", self.address] if self.address else []
            if self._count > 1:
                options += ["--node", name, "--cluster-key", str(secret)]
                options += ["--lease-seconds", str(LEASE_SECONDS)]
            self.nodes.append(self._node(name, config, data, options))

    def answering(self) -> int:
        """Return the port of the node that answers, once all know it: WebSockets need it."""
        if len(self.nodes) == 1:
            return self.nodes[0].port
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            told = [self._cluster_of(node) for node in self.nodes]
            ports = [
                node.port
                for node, each in zip(self.nodes, told, strict=True)
                if each.get("role") == "answering"
            ]
            # A node that does not know yet who answers sends callers away.
            if len(ports) == 1 and len({each.get("owner") for each in told}) == 1:
                return ports[0]
            time.sleep(0.1)
        raise RuntimeError(f"no node answers within {START_SECONDS:g} s")

    def _cluster_of(self, node: Node) -> dict[str, Any]:
        place = f"http://127.0.0.1:{node.port}/v1/cluster"
        signed = signed_by(self._folder / "cluster.key")
        asked = urllib.request.Request(place, headers=signed)
        with suppress(OSError), urllib.request.urlopen(asked, timeout=5.0) as answer:
            found: dict[str, Any] = msgspec.json.decode(answer.read())
            return found
        return {}

    def _node(self, name: str, config: Path, data: Path, options: list[str]) -> Node:
        folder = data.parent
        # The others are not watched, so that what they cost is their own.
        watched = {} if self.nodes else {WATCH_NAME: str(folder / WATCH)}
        environment = {**os.environ, **watched}
        if self._keep != "contract":
            environment[KEEP_NAME] = self._keep
        if self._trace is not None:
            environment[TRACE_NAME] = str(self._trace.resolve())
        with (folder / "server.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.load.server", "serve", str(config), "--port", "0",
                 "--data", str(data), *options],
                stdout=subprocess.PIPE, stderr=log, cwd=ROOT, env=environment,
            )  # fmt: skip
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError((folder / "server.log").read_text()[-2000:])
        return Node(name, folder, process, int(line.rpartition(b":")[2]))

    def stop(self) -> int:
        """Ask all nodes to end, and return the worst of their exit codes."""
        for node in self.nodes:
            node.process.terminate()
        return max((abs(node.process.wait(60)) for node in self.nodes), default=0)

    def close(self) -> None:
        """End what is left, and the journal."""
        for node in self.nodes:
            if node.process.poll() is None:
                node.process.kill()
                node.process.wait()
        self._servers.close()
