"""More creates than the server can decide upon: refused at once, or answered in time."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.attack.report import Row
from tests.attack.wire import Caller, Seen, at_rate, by_status, callers, share
from tests.integration.serving import Server, ticket

CONFIG = """
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "tests.attack.policies.heavy"
"""
RATE = 40.0
"""Players per second; the policy alone makes the server take about ten."""
HEALTH_RATE = 20.0
IN_TIME = 3.0
"""Seconds: one in line, and what a busy machine adds; minutes is what was seen before."""


def overload(folder: Path, seconds: float) -> list[Row]:
    """Create four times as many tickets as can be decided upon, and look at the health."""
    server = Server(folder, CONFIG)
    try:
        creates, health = asyncio.run(_flood(server.port, seconds))
    finally:
        server.kill()
    late = share([each.seconds for each in creates if each.status == 201], 1.0)
    shed = share([each.seconds for each in creates if each.status in (429, 503)], 0.99)
    waits = [int(e.headers.get("retry-after", "0")) for e in creates if e.status in (429, 503)]
    said = f"{min(waits)} to {max(waits)} s" if waits else "-"
    return [
        Row("overload", "creates", by_status(creates), "429 for what is too much",
            any(each.status == 429 for each in creates)),
        Row("overload", "longest 201", f"{late:.2f} s", f"<= {IN_TIME:g} s", late <= IN_TIME),
        Row("overload", "p99 of refusals", f"{shed:.2f} s", f"<= {IN_TIME:g} s", shed <= IN_TIME),
        Row("overload", "Retry-After", said, ">= 1 s", bool(waits) and min(waits) >= 1),
        Row("overload", "p90 of /healthz", f"{1000 * share(health, 0.9):.0f} ms", "(told)", True),
    ]  # fmt: skip


async def _flood(port: int, seconds: float) -> tuple[list[Seen], list[float]]:
    async def create(caller: Caller, number: int) -> Seen:
        return await caller.ask("POST", "/v1/tickets", ticket(f"player-{number}"))

    async def health(caller: Caller, _: int) -> Seen:
        return await caller.ask("GET", "/healthz")

    async with callers(port, 200) as crowd, callers(port, 20) as watchers:
        creates, seen = await asyncio.gather(
            at_rate(crowd, RATE, seconds, create), at_rate(watchers, HEALTH_RATE, seconds, health)
        )
    return creates, [each.seconds for each in seen]
