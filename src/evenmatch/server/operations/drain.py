"""Draining: the server takes no new tickets, matches those that wait, and then stops by itself.

What still waits when the time is over is in the journal, and waits on in the next server on it.
"""

from __future__ import annotations

import asyncio

from evenmatch.server.runtime.logs import log_from_here
from evenmatch.server.runtime.runtime import Runtime

LOOK_EVERY = 0.1
"""Seconds between two looks whether anybody still waits."""


class Drain:
    """Whether a server drains, and until when.

    Args:
        runtime: The shard at work.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._log = log_from_here()
        self._clock = runtime.clocks.monotonic
        self._task: asyncio.Task[None] | None = None
        self._until = 0.0
        self.over = asyncio.Event()

    @property
    def is_on(self) -> bool:
        """Return whether new tickets are refused."""
        return self._runtime.draining

    @property
    def seconds_left(self) -> float | None:
        """Return after how many seconds the server stops at the latest; None if it does not."""
        return max(0.0, self._until - self._clock()) if self.is_on else None

    @property
    def waiting(self) -> int:
        """Return how many tickets the drain still waits for."""
        return len(self._runtime.engine.tables.waiting)

    def begin(self, limit: float) -> None:
        """Refuse new tickets, and stop when no ticket waits or after `limit` seconds.

        A second call sets the limit anew.
        """
        self._until = self._clock() + limit
        self._log.warning("draining", waiting=self.waiting, seconds_max=round(limit, 3))
        self._runtime.draining = True
        if self._task is None or self._task.done():
            self.over.clear()
            self._task = asyncio.create_task(self._watch())

    def end(self) -> None:
        """Take tickets again, also where it is over and the server has not stopped yet."""
        if self.is_on:
            self._runtime.draining = False
            self.over.clear()
            self._log.warning("draining_ended", waiting=self.waiting)
        self.close()
        self._task = None

    def close(self) -> None:
        """Watch no more: the game stops."""
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        while self.waiting and self._clock() < self._until:
            await asyncio.sleep(min(LOOK_EVERY, max(0.0, self._until - self._clock())))
        consequence = "the server stops, once all its games and shards have drained"
        self._log.warning("drained", waiting=self.waiting, consequence=consequence)
        self.over.set()
