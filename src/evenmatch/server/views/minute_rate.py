"""How many events the last minute had, counted by the second."""

from __future__ import annotations

from collections import deque

RATE_SECONDS = 60.0
"""Rates are counted over this much engine time."""


class Rate:
    """How many events the last minute of engine time had."""

    def __init__(self) -> None:
        self._seconds: deque[tuple[int, int]] = deque(maxlen=int(RATE_SECONDS))
        self._second = 0
        self._count = 0

    def add(self, now: float) -> None:
        """Count an event at an instant; instants never fall."""
        second = int(now)
        if second != self._second:
            self._seconds.append((self._second, self._count))
            self._second, self._count = second, 0
        self._count += 1

    def take_back(self, now: float) -> None:
        """Count an event no more, which was counted at an instant."""
        second = int(now)
        if second == self._second:
            self._count -= 1
            return
        for place, (counted, count) in enumerate(self._seconds):
            if counted == second:
                self._seconds[place] = (counted, count - 1)

    def per_minute(self, now: float) -> float:
        """Return the events of the last minute; its first second counts by the part inside."""
        since = now - RATE_SECONDS
        seconds = (*self._seconds, (self._second, self._count))
        return sum(count * min(max(second + 1 - since, 0.0), 1.0) for second, count in seconds)
