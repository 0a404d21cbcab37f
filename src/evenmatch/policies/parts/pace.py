"""How good a match must be to start now, learnt from what waiting has brought.

A match of usual quality starts when its players have waited for the **usual wait** W; a better one
sooner, a worse one later. What is required falls with the squares of their waits, by `spread`
standard deviations of quality within W: slowly at first, so that nearly all matches meet the same
requirement, and faster the longer somebody waits, so that nobody hard to match waits for ever.

W is learnt. Each arrival is held against the matches that are about to start: by how much would it
improve them, in the seat of whoever suits least? The mean of that, times the arrivals a second, is
what another second of waiting gains. W grows while this is more than the price of a second, and
falls while it is less. Where nobody who fits comes, waiting is not worth it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evenmatch.cost.expansion import round_up
from evenmatch.model.ticket import Ticket
from evenmatch.policies.parts.arrival_rate import ArrivalRate

DEVIATION_FIRST, DEVIATION_MIN = 0.05, 0.01
WORTH_OF_FIRST = 0.03
"""Quality that the first guess of W is worth at the price of waiting."""
FRESHNESS = 0.01
"""Weight of the newest match in the usual quality, of the newest arrival in what arrivals bring."""
STEP, STEP_IN_W = 0.02, 0.3
"""By what share of itself W moves with a match, and within W seconds: it must be slower than what
it is learnt from, and than its own effect, or it swings."""
EXCESS_MAX = 2.0


class Pace:
    """What is usual in one queue.

    Args:
        price: Quality that a second of a match's players is worth, >= 0.
        spread: Standard deviations of quality that a wait of W makes up for.
        wait_max: W stays below half of it, seconds.
        memory: What `memory()` said before a restart.
    """

    def __init__(self, price: float, spread: float, wait_max: float, memory: Any = None) -> None:
        self.price = price
        self.spread = spread
        self._wait_high = wait_max / 2.0
        self._wait_low = min(1.0, self._wait_high)
        known: Mapping[str, Any] = memory or {}
        first = WORTH_OF_FIRST / price if price > 0.0 else math.inf
        self.wait: float = known.get("wait") or self._bounded(first)
        self.quality: float | None = known.get("quality")
        self.variance: float = known.get("variance", DEVIATION_FIRST**2)
        self.matches: int = known.get("matches", 0)
        self._gain: float = known.get("gain", 0.0)
        self._asked: float = known.get("asked", 0.0)
        self._moved_at: float | None = known.get("moved_at")
        self._rate = ArrivalRate(1.0, known.get("arrivals", ()))

    @property
    def deviation(self) -> float:
        """Return the standard deviation of the quality of matches."""
        return max(DEVIATION_MIN, math.sqrt(self.variance))

    @property
    def high(self) -> float:
        """Return the quality of a match that starts without any wait."""
        return (self.quality or 0.0) + self.spread * self.deviation

    def relief(self, waited: float) -> float:
        """Return by how much the requirement falls for somebody who has waited for so long."""
        return self.spread * self.deviation * (waited / self.wait) ** 2

    def gain(self, now: float) -> float:
        """Return the quality that another second of waiting adds to a match about to start."""
        return self._rate.rate(now) * self._gain / self._asked if self._asked else 0.0

    def ready_at(self, tickets: Sequence[Ticket], quality: float) -> float:
        """Return the instant from which a match is good enough; maybe before its players came."""
        newest = max(ticket.enqueued_at for ticket in tickets)
        players = sum(ticket.size for ticket in tickets)
        waits = [(newest - ticket.enqueued_at, ticket.size) for ticket in tickets]
        mean = math.fsum(wait * size for wait, size in waits) / players
        scatter = math.fsum((wait - mean) ** 2 * size for wait, size in waits) / players
        # The mean square of waits is the square of their mean and their scatter.
        needed = self.wait**2 * (self.high - quality) / (self.spread * self.deviation) - scatter
        return newest + round_up(math.copysign(math.sqrt(abs(needed)), needed) - mean)

    def arrived(self, at: float, offered: float, asked: int) -> None:
        """Learn from an arrival: what it would add to the matches that are about to start."""
        self._rate.note(at)
        keep = 1.0 - FRESHNESS
        self._gain = keep * self._gain + offered
        self._asked = keep * self._asked + asked

    def expect(self, qualities: Sequence[float]) -> None:
        """Take tentative matches for usual as long as there were no others."""
        if self.quality is None and qualities:
            self.quality = math.fsum(qualities) / len(qualities)

    def played(self, quality: float, now: float) -> None:
        """Learn from a match that starts."""
        self.matches += 1
        weight = max(FRESHNESS, 1.0 / (self.matches + 1))
        off = quality - (self.quality if self.quality is not None else quality)
        self.quality = quality - off + weight * off
        self.variance += weight * (off * off - self.variance)
        if self.price > 0.0 and self._asked:
            excess = min(self.gain(now) / self.price - 1.0, EXCESS_MAX)
            since = 0.0 if self._moved_at is None else (now - self._moved_at) / self.wait
            step = min(STEP, STEP_IN_W * since)
            self.wait = self._bounded(self.wait * math.exp(step * excess))
        self._moved_at = now

    def memory(self) -> dict[str, object]:
        """Return what was learnt."""
        return {
            "wait": self.wait,
            "quality": self.quality,
            "variance": self.variance,
            "matches": self.matches,
            "gain": self._gain,
            "asked": self._asked,
            "moved_at": self._moved_at,
            "arrivals": self._rate.memory(),
        }

    def _bounded(self, wait: float) -> float:
        return min(max(wait, self._wait_low), self._wait_high)
