"""One timer on the event loop, set to an instant of engine time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from evenmatch.server.runtime.clock import Clock

TIMER_MAX = 3_600.0
"""Longest sleep, seconds; then it looks again."""


class Timer:
    """Calls back at an instant of engine time, or sooner.

    Args:
        fire: What to call; it sets the timer again if it was too soon.
    """

    def __init__(self, fire: Callable[[], None]) -> None:
        self._fire = fire
        self._handle: asyncio.TimerHandle | None = None
        self._at = 0.0

    def arm(self, clock: Clock, at: float) -> None:
        """Fire at this instant at the latest.

        A timer that fires too early does no harm; setting it anew at each input costs time.
        """
        if self._handle is not None and self._at <= at:
            return
        self.disarm()
        self._at = at
        delay = min(clock.delay(at), TIMER_MAX)
        self._handle = asyncio.get_running_loop().call_later(delay, self._call)

    def disarm(self) -> None:
        """Do not fire."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _call(self) -> None:
        self._handle = None
        self._fire()
