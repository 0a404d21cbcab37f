"""The clocks of a server and of a shard: engine time, on the engine's grid of instants."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

import msgspec

from evenmatch.criteria.expansion import TICKS, round_up

PAUSE_MAX = 60.0
"""Longest time without a server that counts as waiting, seconds."""

RETURN_SECONDS = 30.0
"""How long clients may take to come back to a server that was away."""


def seconds_since_boot() -> float:
    """Return seconds that never fall, and that pass while the machine is suspended as well.

    Where the system has no such clock, those of `time.monotonic`.
    """
    if (clock := getattr(time, "CLOCK_BOOTTIME", None)) is not None:
        return time.clock_gettime(clock)
    return time.monotonic()


class Clocks(msgspec.Struct, frozen=True):
    """Where a server reads the time; a server in virtual time gets other clocks.

    The event loop has a clock of its own for its timers, which runs like `monotonic`.

    Args:
        monotonic: Seconds, never falls: engine time and what waits for others rest on it.
        wall: Unix seconds; it may step at any time.
        stopwatch: Seconds, only differences count: what something took.
        lease: Seconds, never falls: for how long a lease counts. Other nodes' time passes on while
            this machine is suspended.
    """

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    stopwatch: Callable[[], float] = time.perf_counter
    lease: Callable[[], float] = seconds_since_boot


class Clock:
    """Engine time: seconds since the shard's birth; steps of the wall clock do not touch it.

    Args:
        start: Engine time now.
        speed: Engine seconds per real second.
        monotonic: The clock underneath.
    """

    def __init__(
        self, start: float, *, speed: float = 1.0, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._start = round_up(start)
        self.speed = speed
        self._monotonic = monotonic
        self._zero = monotonic()

    def now(self) -> float:
        """Return engine time, a multiple of 2^-20 s that never falls."""
        elapsed = (self._monotonic() - self._zero) * self.speed
        return math.floor((self._start + elapsed) * TICKS) / TICKS

    def before(self, seconds: float) -> float:
        """Return the engine instant of so many real seconds ago, a multiple of 2^-20 s."""
        return math.floor((self.now() - seconds * self.speed) * TICKS) / TICKS

    def delay(self, at: float) -> float:
        """Return the real seconds until an engine instant, >= 0."""
        return max(0.0, (at - self.now()) / self.speed)


def resumed_at(last_now: float, last_wall: float, wall: float) -> float:
    """Return where engine time goes on after a restart.

    A server that was away for a minute lets its players have waited for it; one that was away for
    a night, or whose wall clock was set back, does not.

    >>> resumed_at(100.0, 1000.0, 1020.0), resumed_at(100.0, 1000.0, 500.0)
    (120.0, 100.0)
    """
    return last_now + min(max(wall - last_wall, 0.0), PAUSE_MAX)


# One timer on the event loop, set to an instant of engine time.

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
        """Cancel the call."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _call(self) -> None:
        self._handle = None
        self._fire()
