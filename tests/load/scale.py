"""What a ticket costs in processor time, and what that is in players: python -m tests.load.scale.

    creates       duels that nobody follows, over HTTP, durable
    a whole life  what `make load` does: ready-checks, sockets, outcomes, a shadow policy
    policies      the engine alone, simulated, by policy of team matches

Processor time is the server's alone, not that of the clients, and not the time on the clock: so a
busy machine changes it less. `--out` writes docs/scale.md.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import random
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import msgspec

import evenmatch
from evenmatch.config.files import load_scenario
from tests.bench.team_players import SCENE
from tests.bench.team_simulate import WARM_PLAYERS, some
from tests.load import nodes as load_nodes
from tests.load.__main__ import _drive
from tests.load.nodes import Nodes
from tests.load.wire import Pool, request

PLAIN = """
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "window:limit=150,rate=10,limit_max=600"

[server]
log_tickets = false

[server.limits]
key_requests_max = 100000
key_burst_max = 200000
"""
CREATES, QUICK_CREATES = 6_000, 600
CONNECTIONS = 32
WARM = 300
LIFE_RATE, LIFE_MINUTES = 300.0, 0.75
POLICIES = ("greedy", "rounds:every=30", "threshold", "rolling")
PLAYERS, QUICK_PLAYERS = 1_000, 150
CORE = 0.6
"""Share of a core that a node may use; the rest is for peaks."""
GAMES = {
    "duels of 10 minutes": (600.0, 1, 15.0),
    "5v5 of 30 minutes": (1_800.0, 10, 60.0),
}
"""Seconds of a match, players of it (1: a ticket a player), seconds of waiting and of the menu."""


class Cost(msgspec.Struct, frozen=True):
    """What a ticket costs.

    Args:
        what: Of a ticket.
        milliseconds: Of processor time, a ticket.
        tickets: How many were measured.
        note: What it says of whom.
    """

    what: str
    milliseconds: float
    tickets: int
    note: str


def creates(count: int) -> Cost:
    """Measure creates alone: a request, a durable record, an answer."""
    before, load_nodes.CONFIG = load_nodes.CONFIG, PLAIN
    try:
        with tempfile.TemporaryDirectory(prefix="evenmatch-scale-") as folder:
            nodes = Nodes(Path(folder), 1, "sqlite", "contract", None)
            try:
                nodes.start()
                asyncio.run(_create(nodes, WARM, 0))
                began = nodes.nodes[0].cpu
                asyncio.run(_create(nodes, count, WARM))
                used = nodes.nodes[0].cpu - began
                nodes.stop()
            finally:
                nodes.close()
    finally:
        load_nodes.CONFIG = before
    note = f"{CONNECTIONS} connections; nobody follows the ticket; callers that wait share commits"
    return Cost("create of a duel, over HTTP, durable", 1e3 * used / count, count, note)


async def _create(nodes: Nodes, count: int, first: int) -> None:
    """Create tickets, as many at a time as there are connections."""
    pool = Pool(nodes.ports, CONNECTIONS)
    await pool.open()
    rng, done = random.Random(first), asyncio.Event()
    left, bad = count, 0

    def told(status: int, body: bytes) -> None:
        nonlocal left, bad
        left -= 1
        bad += status != 201
        if not left:
            done.set()

    for number in range(first, first + count):
        rating = {"mean": rng.gauss(1500.0, 250.0), "deviation": 80.0}
        body = {"queues": ["duel"], "players": [{"id": f"p{number}", "rating": rating}]}
        text = msgspec.json.encode(body)
        data = request("POST", "/v1/tickets", nodes.key, text, content_type="application/json")
        pool.ask("POST /v1/tickets", data, told)
    await done.wait()
    pool.close()
    if bad:
        raise RuntimeError(f"{bad} of {count} creates failed: {pool.refused}")


def whole_life(minutes: float) -> Cost:
    """Measure what `make load` does to a ticket."""
    options = argparse.Namespace(rate=LIFE_RATE, minutes=minutes, seed=1, json=None)
    options.keep, options.trace, options.journal = "120,10000", None, "sqlite"
    with tempfile.TemporaryDirectory(prefix="evenmatch-scale-") as folder:
        nodes = Nodes(Path(folder), 1, "sqlite", options.keep, None)
        try:
            nodes.start()
            figures = asyncio.run(_drive(nodes, options))
            nodes.stop()
        finally:
            nodes.close()
    count = figures.tickets["created"]
    note = f"{LIFE_RATE:g} tickets/s of duels and squads, while operators and dashboards read"
    return Cost("a ticket's whole life", 1e3 * sum(figures.node_cpu.values()) / count, count, note)


def policy_cost(policy: str, players: int) -> Cost:
    """Measure a policy of team matches in the simulator: the engine and its decisions alone."""
    scenario = load_scenario(SCENE)
    evenmatch.simulate(some(scenario, WARM_PLAYERS), policy=policy)
    began = process_time()
    report = evenmatch.simulate(some(scenario, players), policy=policy, seed=1)
    used = process_time() - began
    count = len(report.tickets)
    note = f"{SCENE.name}: five against five with roles and parties; the engine alone"
    return Cost(f"policy {policy}", 1e3 * used / max(1, count), count, note)


def page(costs: Sequence[Cost], day: str) -> str:
    """Return docs/scale.md."""
    python = platform.python_version()
    lines = [
        "# What a ticket costs",
        "",
        (
            "How much processor time the server spends on each ticket, and how many players it can "
            "serve."
        ),
        "`python -m tests.load.scale --out docs/scale.md` measures it and writes this page.",
        f"Measured on {day} with Python {python} on {_machine()}, while other programs ran.",
        "They affect processor time less than waits, but they do affect it.",
        "",
        "| what | processor time per ticket | measured | how |",
        "|---|---|---|---|",
    ]
    for each in costs:
        time = f"{each.milliseconds:.2f} ms"
        lines.append(f"| {each.what} | {time} | {each.tickets:,} tickets | {each.note} |")
    lines += [
        "",
        "## In players",
        "",
        (
            f"One node decides on one core; this page uses {CORE:.0%} of it, and leaves the rest "
            "for peaks."
        ),
        "A player who is online queues once per round, which is a match, the menu and the wait.",
        (
            "So a node carries this many players online: its tickets per second, times the seconds "
            "of a round."
        ),
        "",
        "| game | cost of each ticket | tickets/s on a node | players online |",
        "|---|---|---|---|",
    ]
    life = costs[1]
    for game, (match, players, pause) in GAMES.items():
        rows = [life] if players == 1 else [life, *costs[2:]]
        for each in rows:
            spent = life.milliseconds + (each.milliseconds if each is not life else 0.0)
            rate = CORE * 1e3 / spent
            what = each.what if each is life else f"whole life, plus {each.what}"
            online = rate * (match + pause)
            lines.append(f"| {game} | {what}: {spent:.2f} ms | {rate:,.0f} | {_round(online)} |")
    lines += [
        "",
        "- Each ticket counts as one player; with parties, the same players need fewer tickets.",
        "- A whole life includes failed ready-checks, a shadow policy, streams, feeds and ratings.",
        "- It also includes decisions, so adding a policy's figure counts some work twice.",
        "- A policy costs more when more tickets wait, so simulate your own game.",
    ]
    return "\n".join(lines) + "\n"


def _machine() -> str:
    """Return what the processor calls itself."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(": ")[2] for line in text.splitlines() if line.startswith("model name")]
    return f"{len(names)} cores of {names[0]}" if names else platform.machine()


def _round(value: float) -> str:
    """Return a figure with two digits that count."""
    digits = max(0, len(str(int(value))) - 2)
    return f"{round(value, -digits):,.0f}"


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.scale", description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="less of each, and rougher")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--out", type=Path, help="write the page to this file")
    given = parser.parse_args(words)
    quick = given.quick
    costs = [
        creates(QUICK_CREATES if quick else CREATES),
        whole_life(LIFE_MINUTES / 3 if quick else LIFE_MINUTES),
    ]
    players = QUICK_PLAYERS if quick else PLAYERS
    costs += [policy_cost(policy, players) for policy in POLICIES]
    for each in costs:
        print(f"{each.milliseconds:8.3f} ms  {each.what} ({each.tickets:,} tickets)", flush=True)
    if given.json is not None:
        given.json.write_bytes(msgspec.json.encode(costs))
    if given.out is not None:
        given.out.write_text(page(costs, datetime.now(UTC).date().isoformat()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
