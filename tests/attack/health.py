"""A policy computes in Python while a probe asks whether the server lives."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.attack.report import Row
from tests.attack.wire import Caller, Seen, at_rate, by_status, callers, share
from tests.integration.serving import Server, free_port

CONFIG = """
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "tests.attack.policies.{policy}"
"""
POLICIES = ("busy", "slower")
RATE = 20.0
OWN_RATE = 2.0
"""Less: one answer takes several rounds of a loop that is seconds late."""
IN_TIME = 1.0
"""Seconds that probes give by default; on an idle machine it is some ten milliseconds."""


def health(folder: Path, seconds: float, policies: tuple[str, ...] = POLICIES) -> list[Row]:
    """Ask both ports while decisions take .3 s and 3 s."""
    rows: list[Row] = []
    for policy in policies:
        port = free_port()
        server = Server(
            folder / policy, CONFIG.format(policy=policy), options=("--health-port", str(port))
        )
        try:
            assert server.create("waits").status == 201
            own, beside = asyncio.run(_probe((server.port, port), seconds))
        finally:
            server.kill()
        slowest = share([each.seconds for each in beside], 0.99)
        rows += [
            Row("health", f"{policy}: own port, median and p99", _both(own), "(told)", True),
            Row("health", f"{policy}: health port, median and p99", _both(beside),
                f"<= {IN_TIME:g} s", slowest <= IN_TIME),
            Row("health", f"{policy}: health port", by_status(beside), "200 only",
                set(by_status(beside)) == {200}),
        ]  # fmt: skip
    return rows


def _both(seen: list[Seen]) -> str:
    times = [each.seconds for each in seen]
    return f"{1000 * share(times, 0.5):.0f}, {1000 * share(times, 0.99):.0f} ms"


async def _probe(ports: tuple[int, int], seconds: float) -> tuple[list[Seen], list[Seen]]:
    async def ask(caller: Caller, _: int) -> Seen:
        try:
            return await caller.ask("GET", "/healthz")
        finally:
            # As probes do: each has a connection of its own.
            await caller.close()

    async with callers(ports[0], 40) as at_own, callers(ports[1], 40) as at_health:
        own, beside = await asyncio.gather(
            at_rate(at_own, OWN_RATE, seconds, ask), at_rate(at_health, RATE, seconds, ask)
        )
    return own, beside
