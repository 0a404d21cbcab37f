"""Records that views have not folded yet: the server answers first, and then updates its views.

Statistics, figures and forecasts cost as much as a decision does, and nobody waits for them. So
they hear of records a slice of the event loop at a time, after the answers that rest on those
records are out. A request has the rest folded first (`server.http.app`), so its answer is never
behind; only the ticks of the dashboard may be one slice late.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.server.views.listener import Listener

SLICE = 0.002
"""Seconds that views may take of one round of the loop."""
RECORDS_MAX = 10_000
"""Records that may wait to be folded; beyond, all are folded at once."""


class Backlog:
    """Hands durable records to a listener a little later, a slice at a time.

    Args:
        listener: Who hears of them in the end, in order.
        clock: Seconds, only differences count.

    Complexity:
        O(1) a record, and what the listener does with it later.
    """

    def __init__(
        self, listener: Listener, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._listener = listener
        self._clock = clock
        self._records: deque[Record] = deque()
        self._failed: Callable[[Exception], object] | None = None
        self._turn: asyncio.Handle | None = None

    def __len__(self) -> int:
        """Return how many records wait to be folded."""
        return len(self._records)

    def begin(self, failed: Callable[[Exception], object]) -> None:
        """Say where an error of the listener is reported."""
        self._failed = failed

    def reset(self, engine: Engine) -> None:
        """Start over: everything in the engine's tables is durable."""
        self._records.clear()
        self._listener.reset(engine)

    def hear(self, record: Record) -> None:
        """Keep a durable record for the next slice."""
        self._records.append(record)
        if len(self._records) > RECORDS_MAX:
            self.catch_up()
        elif self._turn is None:
            self._turn = asyncio.get_running_loop().call_soon(self._take_turn)

    def catch_up(self) -> None:
        """Fold all records that are left."""
        self._fold(float("inf"))

    def _take_turn(self) -> None:
        self._turn = None
        self._fold(self._clock() + SLICE)
        if self._records:
            self._turn = asyncio.get_running_loop().call_soon(self._take_turn)

    def _fold(self, until: float) -> None:
        """Fold records until an instant, at least one."""
        records = self._records
        while records:
            try:
                self._listener.hear(records.popleft())
            except Exception as error:
                # What is durable stays true; the runtime lets all listeners begin anew.
                records.clear()
                if self._failed is None:
                    raise
                self._failed(error)
            if self._clock() >= until:
                return
