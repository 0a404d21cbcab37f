"""Records of engine time, for times at which a journal that others can reach gets no other.

Whoever goes on with such a journal has no note from the disk of the last owner (`time_notes.py`),
and only `PAUSE_MAX` of what passed since the last record counts. So while anybody waits, a record
follows after some time without one, and another before the owner stops or hands over. That is a
`Skip` that skips nothing: it changes only the time of the tables, and older versions know it.
"""

from __future__ import annotations

import asyncio

from evenmatch.model.inputs import Advance, Skip
from evenmatch.server.runtime.answer_futures import ignore
from evenmatch.server.runtime.runtime import Runtime

LOOK_EVERY = 5.0
"""Seconds between two looks."""
QUIET_MOST = 25.0
"""Seconds without a record after which a look makes one, so that none is missing for over 30."""


class TimeRecords:
    """Keeps the time of one shard in its journal.

    Args:
        runtime: The shard at work.
        every: Seconds between two looks.
    """

    def __init__(self, runtime: Runtime, *, every: float = LOOK_EVERY) -> None:
        self._runtime = runtime
        self._every = every

    async def watch(self) -> None:
        """Look again and again whether a record is due."""
        while True:
            await asyncio.sleep(self._every)
            self._record(QUIET_MOST)

    def end(self) -> None:
        """Make the last record, before the journal is closed."""
        self._record(0.0)

    def _record(self, quiet: float) -> None:
        """Record the time if anybody waits, and nothing was recorded for so many seconds."""
        runtime = self._runtime
        if runtime.refusal is not None or not (tables := runtime.engine.tables).waiting:
            return
        if runtime.now() - tables.now > quiet * runtime.clock.speed:
            now = runtime.in_turn(Advance(runtime.now())).now
            runtime.handle(Skip(now, now), ignore, is_in_turn=True)
