"""Learns how good a match must be to start now, so that the mean wait is the target wait.

By Little's law the mean wait is T exactly if, on average, as many players have left by now as had
come T seconds ago. The **lag** is the difference: how many more should have left. Two things keep
its mean at zero, whatever the arrivals do, since no rate is ever estimated:

- a match starts when its quality, and the relief that the waits of its players earn it, reach the
  **floor**: the usual quality, less what the lag takes off. The usual quality drifts down while
  players lag behind, and up while they leave too soon;
- once the lag is larger than chance makes the number of those who come within T seconds, any legal
  match starts, the best first: where they fill n matches, at a lag of the root of n. So a crowd
  that comes at once is not held back until the floor has followed, nor are too many let go later.

The quality of a match is here what `rolling` takes for it: its merit, see `TentativeMatch`.

Where a ready-check asks players before their match is made, that time is part of the wait: those
who are being asked on average count as lagging behind.

A match of usual quality therefore starts at once after a lull, and so does a perfect one always.
Relief grows with the mean square of waits: slowly at first, so that nearly all matches meet the
same floor, and faster the longer somebody waits, so that nobody hard to match waits for ever.

A queue that has a price of waiting in place of a target learns its T: half of a pool tells what
the other half is worth, so the gain of another second is known, and T moves to where it is the
price.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from evenmatch.criteria.expansion import round_up
from evenmatch.policies.shared.round_clock import is_due

SLOTS = 32
"""Arrivals within this part of T are counted together."""
DEVIATION_FIRST, DEVIATION_MIN = 0.05, 0.005
FRESHNESS = 0.02
"""Weight of the newest match in what is usual."""
GAIN, DRIFT = 1.0, 2.0
"""Deviations of quality that a lag of all who came within T takes off the floor: at once, and for
each T that it lasts."""
BAND = 4.0
"""Deviations within which the floor drifts around the usual quality."""
LAG_MAX = 1.0
"""A larger lag lets any legal match start: in standard deviations of how many come within T, were
matches to come by chance. Of one match these are all of its players."""
SHORTFALL = 0.01
"""Who lacks less than this of a perfect match has nothing to wait for."""
WORTH_OF_FIRST = 0.03
"""Quality that the first guess of a learnt T is worth at the price of waiting."""
CROWD, CROWD_MAX = 10.0, 3.5
"""Relief grows with the root of how many players come within T, as multiples of so many, and ends
there: more relief for all who wait would need a floor beyond `BAND`."""
LEARN = 0.1
"""By what share a learnt T moves towards where its gain is its price, with each estimate."""
TARGET_MIN = 1.0


class Pace:
    """What is usual in one queue, and how far its players lag behind.

    Args:
        target: The mean wait wanted, T, s; None learns it from the price.
        price: Quality that a second of a match's players is worth, where there is no target.
        wait_max: A learnt T stays below half of it, s.
        spread: Deviations of quality that a wait of T makes up for where ten players come within T;
            where more come, times the root of their number.
        k: Players of a match.
        memory: What `memory()` said before a restart.
    """

    def __init__(
        self,
        *,
        target: float | None,
        price: float,
        wait_max: float,
        spread: float,
        k: int,
        memory: Mapping[str, Any] | None = None,
    ) -> None:
        known = memory or {}
        self._price = None if target is not None else price
        self._spread, self._k = spread, k
        self._high = wait_max / 2.0
        first = WORTH_OF_FIRST / price if price > 0.0 else math.inf
        self.target: float = known.get("target") or (target or self._bounded(first))
        self.lag: float = known.get("lag", 0.0)
        self.quality: float | None = known.get("quality")
        self.variance: float = known.get("variance", DEVIATION_FIRST**2)
        self.wait: float = known.get("wait", 0.0)
        self.matches: int = known.get("matches", 0)
        self.check: float = known.get("check", 0.0)
        self._checks: int = known.get("checks", 0)
        self._drift: float = known.get("drift", 0.0)
        self._lagged: float = known.get("lagged", 0.0)
        self._at: float | None = known.get("at")
        # Players who came, and when their time is up; and how many they are together.
        self._coming: deque[list[float]] = deque([list(each) for each in known.get("coming", ())])
        self._recent = math.fsum(players for _, players in self._coming)

    @property
    def deviation(self) -> float:
        """Return the standard deviation of the quality of matches."""
        return max(DEVIATION_MIN, math.sqrt(self.variance))

    @property
    def behind(self) -> float:
        """Return the lag, with those among who came within T who are being asked, on average."""
        return self.lag + self._recent * self.check / self.target

    @property
    def floor(self) -> float:
        """Return the quality from which on a match starts whose players have not waited."""
        if self.quality is None or self.behind >= LAG_MAX * self._chance:
            return -math.inf
        off = self._drift - GAIN * self.behind / self._usual
        return min(self.quality + self.deviation * off, 1.0 - SHORTFALL)

    @property
    def next_at(self) -> float:
        """Return the next instant at which the lag grows."""
        return self._coming[0][0] if self._coming else math.inf

    def relief(self, waited: float) -> float:
        """Return by how much the floor falls for somebody who has waited for so long."""
        return self._earned * (waited / self._scale) ** 2

    def needed_mean_square(self, quality: float) -> float:
        """Return the mean square of waits at which a match of this quality reaches the floor."""
        missing = self.floor - quality
        if missing <= 0.0:
            return -math.inf
        return self._scale**2 * missing / self._earned

    def came(self, players: int, at: float, now: float) -> None:
        """Count players who came at an instant, which may lie back: they wait again, say."""
        width = self.target / SLOTS
        due = at + round_up(self.target + width / 2.0)
        if due <= now:
            self.count_departures(-players, now)
            return
        self._recent += players
        if not self._coming or due >= self._coming[-1][0] + width:
            self._coming.append([due, float(players)])
            return
        place = bisect_left(self._coming, due, key=operator.itemgetter(0))
        if place < len(self._coming) and self._coming[place][0] - due < width:
            self._coming[place][1] += players
        elif place and due - self._coming[place - 1][0] < width:
            self._coming[place - 1][1] += players
        else:
            self._coming.insert(place, [due, float(players)])

    def restored(self, players: int) -> None:
        """Take the lag from the players who wait: a memory may be older than they are."""
        self.lag = players - self._recent

    def count_departures(self, players: int, now: float) -> None:
        """Count players who have left; a negative number lets some lag behind."""
        self._to(now)
        self.lag -= players

    def advance(self, now: float, fired: bool) -> None:
        """Let time pass: who came T seconds ago should leave."""
        while self._coming and is_due(self._coming[0][0], now, fired):
            due, players = self._coming.popleft()
            self._to(due)
            usual = self._usual
            share = self._lagged / (usual * self.target)
            self._drift -= DRIFT * min(max(share, -1.0), 1.0)
            self._drift = min(max(self._drift, -BAND), BAND)
            self._lagged = 0.0
            self._recent -= players
            self.lag += players

    def expect(self, qualities: Sequence[float]) -> None:
        """Take tentative matches for usual as long as there were no others."""
        if self.quality is None and qualities:
            self.quality = math.fsum(qualities) / len(qualities)

    def learn_from_match(self, quality: float, players: int, wait: float, now: float) -> None:
        """Learn from a match that starts, after a mean wait of its players."""
        self.count_departures(players, now)
        self.matches += 1
        weight = max(FRESHNESS, 1.0 / (self.matches + 1))
        off = quality - (self.quality if self.quality is not None else quality)
        self.quality = quality - off + weight * off
        self.variance += weight * (off * off - self.variance)
        self.wait += weight * (wait - self.wait)

    def confirmed(self, seconds: float) -> None:
        """Learn how long players are asked before a match is made: that is part of their wait."""
        if self._price is not None:
            return
        self._checks += 1
        self.check += max(FRESHNESS, 1.0 / self._checks) * (seconds - self.check)

    def learn(self, gain: float) -> None:
        """Take what a pool twice as large added to quality, and move a learnt T towards it."""
        if self._price is None:
            return
        # Quality grows with the logarithm of the pool, so a second of T gains this over T.
        best = self._bounded(gain / math.log(2.0) / self._price if self._price else math.inf)
        self.target *= (best / self.target) ** LEARN

    def memory(self) -> dict[str, Any]:
        """Return what was learnt."""
        return {
            "target": self.target,
            "lag": self.lag,
            "quality": self.quality,
            "variance": self.variance,
            "wait": self.wait,
            "matches": self.matches,
            "check": self.check,
            "checks": self._checks,
            "drift": self._drift,
            "lagged": self._lagged,
            "at": self._at,
            "coming": [list(each) for each in self._coming],
        }

    @property
    def _usual(self) -> float:
        """Return the players who came within T, one match at least."""
        return max(self._recent, float(self._k))

    @property
    def _chance(self) -> float:
        """Return by how many players chance moves the number of those who come within T."""
        return math.sqrt(self._usual * self._k)

    @property
    def _scale(self) -> float:
        """Return the wait by which relief is measured: T, or what is usual if longer."""
        return max(self.target, self.wait)

    @property
    def _earned(self) -> float:
        """Return the relief that a wait of T earns: the more, the more there is to choose from."""
        choice = min(math.sqrt(self._usual / CROWD), CROWD_MAX)
        return self._spread * self.deviation * choice

    def _to(self, now: float) -> None:
        """Add up the lag over time."""
        if self._at is not None and now > self._at:
            self._lagged += self.behind * (now - self._at)
        self._at = now if self._at is None else max(self._at, now)

    def _bounded(self, target: float) -> float:
        return min(max(target, min(TARGET_MIN, self._high)), self._high)
