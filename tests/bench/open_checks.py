"""What a stall costs a server with many open ready-checks, and when it is over it.

Everybody is asked at once, and nobody answers. The loop is held up for 0.2 s, once: what follows is
what making up for it takes. A server whose giving back were itself the next stall would never end
the checks. In memory, without clients, so that nothing else takes time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import NamedTuple

from evenmatch.config.server import ServerSettings
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import assemble
from tests.bench.report import Row, Setting

CHECKS, QUICK = (1_000, 3_000, 6_000), (200,)
SECONDS = 4.0
"""Of a ready-check."""
STALL = 0.2
GIVE_UP = 60.0
BATCH = 50


class Ending(NamedTuple):
    """How the checks ended; seconds.

    Args:
        stalled: Processor time within a second after the stall.
        all_over: From the first question until nobody is asked any more.
        away: For how long the loop was away altogether, without the stall itself.
    """

    stalled: float
    all_over: float
    away: float


def run(setting: Setting) -> Iterator[Row]:
    """Let checks end, and yield what that took."""
    for count in QUICK if setting.quick else CHECKS:
        ends = [asyncio.run(_ending(count)) for _ in range(1 if setting.quick else 3)]
        name = f"{count:,} open checks"
        stalled = tuple(1e3 * each.stalled for each in ends)
        yield Row(f"{name}: processor time in the second after a stall", stalled, "ms")
        over = tuple(each.all_over for each in ends)
        yield Row(f"{name}: until all are over that nobody answers", over, "s")
        yield Row(f"{name}: loop away besides", tuple(each.away for each in ends), "s")


async def _ending(count: int) -> Ending:
    check = ReadyCheck(seconds=SECONDS, repair=0.0, cooldowns=())
    queue = Queue("duel", policy="sweep:every=2", accept=check)
    parts = assemble(ShardPlan((queue,), settings=ServerSettings()), MemoryJournal())
    runtime = parts.runtime
    await runtime.start()
    try:
        for first in range(0, 2 * count, BATCH):
            names = range(first, min(first + BATCH, 2 * count))
            new = tuple(
                NewTicket((Player(f"p{at}", attributes={"rating": 1500.0}),), ("duel",))
                for at in names
            )
            await runtime.ask(Enqueue(runtime.now(), new))
        proposals = runtime.engine.tables.proposals
        asked_by = time.monotonic() + SECONDS
        while len(proposals) < count:
            if time.monotonic() > asked_by:
                raise RuntimeError("the machine is too slow to ask everybody at once")
            await asyncio.sleep(0.05)
        began = time.monotonic()
        await asyncio.sleep(0.5)
        before = runtime.lag.away
        time.sleep(STALL)
        cpu = time.process_time()
        await asyncio.sleep(1.0)
        stalled = time.process_time() - cpu
        while runtime.engine.tables.proposals and time.monotonic() < began + GIVE_UP:
            await asyncio.sleep(0.05)
        return Ending(stalled, time.monotonic() - began, runtime.lag.away - before - STALL)
    finally:
        parts.presence.close()
        await runtime.stop()
