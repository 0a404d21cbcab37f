"""Put real servers under load: `python -m tests.load --rate 300 --minutes 30 --json OUT`.

`--nodes 3 --journal postgresql` has three nodes on one journal, of which one answers at a time and
the others hand on; the report says what the journal alone takes, measured just before.

Server and clients share the machine. What is judged is that nothing fails, nothing is lost and
memory does not grow; a machine with other work to do gives a lower rate and later answers.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tests.load.config import QUEUES
from tests.load.crowd import Crowd
from tests.load.nodes import JOURNALS, Nodes
from tests.load.report import Figures, show
from tests.load.wire import Pool, request

CONNECTIONS = 64
SAMPLE_EVERY = 2.0
LOOK_EVERY = 5.0
END_SECONDS = 120.0
"""How long tickets may take to end after the last one has come."""


def main() -> int:
    """Run the command."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="evenmatch-load-") as name:
        folder = Path(name)
        console = Console(stderr=True)
        nodes = Nodes(folder, options.nodes, options.journal, options.keep, options.trace)
        try:
            limit = nodes.limit()
            nodes.start()
            figures = asyncio.run(_drive(nodes, options))
            figures.journal_limit = limit
            watch = nodes.watch
            figures.exit_code = nodes.stop()
        finally:
            nodes.close()
        figures.log_errors = [line for node in nodes.nodes for line in node.errors()][:20]
        figures.read_watch(watch)
    show(Console(), figures)
    if options.json is not None:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=1))
        console.print(f"Wrote {options.json}.")
    return 0 if figures.is_well else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make load", description=__doc__)
    parser.add_argument("--rate", type=float, default=300.0, help="tickets per second")
    parser.add_argument("--minutes", type=float, default=30.0, help="how long they come")
    parser.add_argument("--seed", type=int, default=1, help="of all chance")
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    parser.add_argument(
        "--keep",
        default="120,10000",
        help="seconds for which ended tickets are kept and matches kept at the most, so that "
        "tables are full early; 'contract' keeps 600 s and 100,000 as a server does",
    )
    parser.add_argument("--nodes", type=int, default=1, help="how many; several need a server")
    parser.add_argument("--journal", choices=JOURNALS, default="sqlite", help="where records go")
    parser.add_argument("--trace", type=Path, help="write what memory grew by into this file")
    return parser.parse_args()


async def _drive(nodes: Nodes, options: argparse.Namespace) -> Figures:
    key = nodes.key
    pool = Pool(nodes.ports, CONNECTIONS)
    pool.socket_port = nodes.answering()
    await pool.open()
    crowd = Crowd(pool, key, options.rate, options.seed)
    figures = Figures(options.rate, options.minutes, options.keep)
    figures.journal = options.journal
    await crowd.open()
    began, cpu = time.monotonic(), [node.cpu for node in nodes.nodes]
    watches = (
        asyncio.create_task(_sample(nodes.nodes[0].process.pid, crowd, figures, options.json)),
        asyncio.create_task(_operate(pool, key, figures)),
        asyncio.create_task(_show_progress(crowd, figures, 60.0 * options.minutes)),
    )
    await crowd.arrive(60.0 * options.minutes)
    figures.seconds = time.monotonic() - began
    await _end(crowd)
    figures.node_cpu = {
        node.name: node.cpu - before for node, before in zip(nodes.nodes, cpu, strict=True)
    }
    for watch in watches:
        watch.cancel()
    await _final(crowd, key, figures)
    crowd.close()
    pool.close()
    return figures


async def _end(crowd: Crowd) -> None:
    """Wait until all tickets have ended, then ask after those of which nothing was heard."""
    until = time.monotonic() + END_SECONDS
    while crowd.ledger.live() and time.monotonic() < until:
        await asyncio.sleep(1.0)
    for name in crowd.ledger.live():
        crowd.look(name)
    until = time.monotonic() + 30.0
    while crowd.pool.waiting and time.monotonic() < until:
        await asyncio.sleep(0.5)
    await asyncio.sleep(3.0)


async def _final(crowd: Crowd, key: str, figures: Figures) -> None:
    """Compare what clients heard with what the server counts."""
    crowd.ledger.settle()
    # Each node counts its own; a connection leads to one of them.
    for _ in range(4 * len(crowd.pool.ports)):
        text: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        data = request("GET", "/metrics", key)
        crowd.pool.ask("GET /metrics", data, lambda status, body, text=text: text.set_result(body))
        figures.read_metrics((await text).decode())
    figures.conclude(crowd)


async def _sample(pid: int, crowd: Crowd, figures: Figures, out: Path | None) -> None:
    """Note memory and progress from time to time."""
    began = time.monotonic()
    while True:
        figures.sample(pid, time.monotonic() - began, crowd)
        if out is not None and len(figures.samples) % 30 == 0:
            out.with_suffix(".partial").write_bytes(msgspec.json.encode(figures))
        await asyncio.sleep(SAMPLE_EVERY)


async def _operate(pool: Pool, key: str, figures: Figures) -> None:
    """Do what operators and their programs do all the time."""
    turn = 0
    while True:
        turn += 1
        for path in ("/v1/queues", "/metrics", "/readyz", "/healthz", "/openapi.json"):
            then = figures.heard_metrics if path == "/metrics" else None
            pool.ask(f"GET {path}", request("GET", path, key), then)
        for queue in QUEUES:
            for end in ("stats", "waiting?most=20"):
                route = f"GET /v1/queues/{{queue}}/{end.partition('?')[0]}"
                pool.ask(route, request("GET", f"/v1/queues/{queue}/{end}", key))
        if turn % 24 == 0:
            body = msgspec.json.encode({"policy": "window" if turn % 48 else "window:every=1"})
            path = "/v1/queues/duel/policy"
            data = request("PUT", path, key, body, content_type="application/json")
            pool.ask("PUT /v1/queues/{queue}/policy", data)
        await asyncio.sleep(LOOK_EVERY)


async def _show_progress(crowd: Crowd, figures: Figures, seconds: float) -> None:
    console = Console(stderr=True)
    text = TextColumn("{task.description}")
    with Progress(text, BarColumn(), TimeRemainingColumn(), console=console) as progress:
        bar = progress.add_task("load", total=seconds)
        began = time.monotonic()
        while True:
            last: Any = figures.samples[-1] if figures.samples else None
            mega = 0.0 if last is None else last.resident / 1e6
            created, live = len(crowd.ledger.states), len(crowd.pool.waiting)
            progress.update(
                bar,
                completed=min(seconds, time.monotonic() - began),
                description=f"{created:,} tickets, {mega:.0f} MB, {live} requests wait",
            )
            await asyncio.sleep(1.0)


if __name__ == "__main__":
    sys.exit(main())
