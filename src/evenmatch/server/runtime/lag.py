"""Measures how late the event loop is, and for how long it read no socket.

A probe asks to be called every `INTERVAL`; by how much it is late, everybody else is late too. A
loop that does not come round reads no socket, so what players sent in time is read late. That time
is not theirs: `notice` returns it once to whoever is about to judge them; `excused` adds it up.

Whoever judges asks before each input, not only when the probe is called: after a stall a timer or a
request may well be the first to run.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from weakref import WeakKeyDictionary

from evenmatch.server.runtime.logs import log

INTERVAL = 0.05
"""Seconds between two calls of the probe."""
AWAY_LEAST = 0.1
"""Seconds by which the probe must be late for the loop to have been away."""
LOGGED_LEAST = 1.0
"""Seconds for which the loop must be away for the log to tell of it."""
LOGGED_EVERY = 60.0
"""Seconds in which the log tells of it once."""
READ_MOST = 1.0
"""Most seconds that are excused besides, until what gathered in the sockets is read."""
SAMPLES = 32
"""Calls of the probe that are remembered one by one: more than a second has."""
RECENT_SECONDS = 60.0
"""The longest of this time is shown."""
STANDING_SECONDS = 1.0
"""A loop that is late throughout this time has more to do than it can."""
PUNCTUAL = 0.001
"""Seconds by which a call is hardly late: no loop that has too much to do is called so soon."""
SLOTS = 12
"""Services of the time of `RecentDurations`: the oldest of them goes at once."""


class RecentDurations:
    """How many durations there were recently, how many of them too long, and the longest.

    Args:
        seconds: What counts as lately.
        limit: Seconds above which one is too long.
    """

    def __init__(self, seconds: float, limit: float) -> None:
        self._slot = seconds / SLOTS
        self._limit = limit
        # By slot: its number, how many, how many too long, the longest.
        self._slots: deque[tuple[int, int, int, float]] = deque(maxlen=SLOTS + 1)

    def add(self, now: float, value: float) -> None:
        """Count a duration at an instant; instants never fall."""
        slot, is_long = int(now / self._slot), value > self._limit
        if self._slots and self._slots[-1][0] == slot:
            _, count, long, most = self._slots[-1]
            self._slots[-1] = (slot, count + 1, long + is_long, max(most, value))
        else:
            self._slots.append((slot, 1, int(is_long), value))

    def of(self, now: float) -> tuple[int, int, float]:
        """Return how many there were, how many too long, and the longest; 0 if there was none."""
        since = int(now / self._slot) - SLOTS
        found = [each for each in self._slots if each[0] >= since]
        longest = max([most for *_, most in found], default=0.0)
        return sum([each[1] for each in found]), sum([each[2] for each in found]), longest


class AbsenceLog:
    """Logs absences of one event loop, each once, however many shards of the loop notice it."""

    def __init__(self) -> None:
        self._ended_at = self._logged_at = -math.inf
        self._logged, self._untold = 0.0, 0

    def tell(self, now: float, away: float) -> None:
        """Log an absence: one a minute, and each that is twice as long as the one before it.

        Args:
            now: Its end.
            away: Its length, seconds.
        """
        if now - away < self._ended_at:
            return
        self._ended_at = now
        if now - self._logged_at < LOGGED_EVERY and away < 2.0 * self._logged:
            self._untold += 1
            return
        untold = {"times_before": self._untold} if self._untold else {}
        self._logged_at, self._logged, self._untold = now, away, 0
        log.warning(
            "server_was_away",
            seconds=round(away, 3),
            **untold,
            consequence="nobody was answered; ready-checks and heartbeats get the time back",
        )


_absence_logs: WeakKeyDictionary[asyncio.AbstractEventLoop, AbsenceLog] = WeakKeyDictionary()


class Lag:
    """The lateness of one event loop.

    Args:
        observe: Told of the lateness of each call of the probe, seconds.
        monotonic: The clock.
    """

    def __init__(
        self,
        observe: Callable[[float], None] | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.excused = 0.0
        self.away = 0.0
        # By how much the loop has been late at the least, for a second: 0 where it came round in
        # time meanwhile, however long it was away at once.
        self.standing = 0.0
        self._observe = observe
        self._monotonic = monotonic
        self._recent = RecentDurations(RECENT_SECONDS, AWAY_LEAST)
        # The calls of the probe within a second, and by how much they were late.
        self._lately: deque[tuple[float, float]] = deque(maxlen=SAMPLES)
        self._seen_at = self._due_at = monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._then: Callable[[], None] | None = None
        self._absences = AbsenceLog()

    @property
    def longest(self) -> float:
        """Return the longest lateness of the last minute, seconds."""
        # A loop that has just come round has not called its probe yet.
        return max(self._recent.of(self._monotonic())[2], self.present)

    @property
    def present(self) -> float:
        """Return for how long the loop has not run; any thread may ask."""
        return max(0.0, self._monotonic() - self._due_at) if self._timer else 0.0

    def begin(self, then: Callable[[], None]) -> None:
        """Start measuring; `then` is called each time that the loop runs."""
        self._then = then
        self._absences = _absence_logs.setdefault(asyncio.get_running_loop(), self._absences)
        self._seen_at = self._monotonic()
        self._arm()

    def end(self) -> None:
        """Stop measuring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def notice(self) -> tuple[float, float]:
        """Return for how long the loop was away, and how much of that to excuse; each time once.

        Returns:
            Seconds since the loop was last seen, and those with a time to read what has gathered,
            as long again, at most `READ_MOST`; zeros if the loop was there.
        """
        now = self._monotonic()
        away = now - self._seen_at
        if self._timer is None or away < INTERVAL + AWAY_LEAST:
            return 0.0, 0.0
        self._seen_at = now
        if away >= LOGGED_LEAST:
            self._absences.tell(now, away)
        excused = away + min(away, READ_MOST)
        self.away += away
        self.excused += excused
        return away, excused

    def _arm(self) -> None:
        self._due_at = self._monotonic() + INTERVAL
        self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._probe)

    def _note_standing(self, now: float, late: float) -> None:
        lately = self._lately
        if late < PUNCTUAL:
            lately.clear()
            self.standing = 0.0
            return
        lately.append((now, late))
        while len(lately) > 2 and lately[1][0] - lately[1][1] <= now - STANDING_SECONDS:
            lately.popleft()
        spans = now - lately[0][0] + lately[0][1]
        is_long = len(lately) > 1 and spans >= STANDING_SECONDS
        self.standing = min([late for _, late in lately]) if is_long else 0.0

    def _probe(self) -> None:
        now = self._monotonic()
        late = max(0.0, now - self._due_at)
        self._recent.add(now, late)
        self._note_standing(now, late)
        if self._observe is not None:
            self._observe(late)
        self._arm()
        if self._then is not None:
            self._then()
        self._seen_at = now
