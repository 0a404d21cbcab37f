"""The clock of rounds: a beat that starts at the first entry and never drifts.

Rounds fall on first entry + n * every, not on multiples of `every`: so the same arrivals at
another hour give the same matches. Nobody is woken while nobody waits, and the beat goes on as if
they had been.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evenmatch.criteria.expansion import round_up


def is_due(at: float, now: float, fired: bool) -> bool:
    """Return whether an instant has come; at its very moment only when fired."""
    return at < now or (at == now and fired)


class RoundClock:
    """When the next round is due, from a memory or from the first entry on.

    Args:
        every: Seconds between rounds, > 0.
        memory: What `memory()` of the clock's predecessor said; its other keys are not read.
    """

    def __init__(self, every: float, memory: Mapping[str, Any]) -> None:
        self.every = every
        self.anchor: float | None = memory.get("anchor")
        self.round_at: float = memory.get("round_at") or math.inf

    def start(self, now: float) -> None:
        """Go on, or begin to count: somebody has entered."""
        if self.anchor is None:
            self.anchor = now
        # A memory may be newer than those who enter: no round is more than one beat ahead.
        if self.round_at > now:
            self.round_at = min(self.round_at, self.after(now))

    def stop(self) -> None:
        """Wake nobody until somebody enters."""
        self.round_at = math.inf

    def is_due(self, now: float, fired: bool) -> bool:
        """Return whether the next round has come; at its very instant only when fired."""
        return is_due(self.round_at, now, fired)

    def move_on(self, now: float) -> None:
        """Set the first round after `now`."""
        self.round_at = self.after(now)

    def after(self, now: float) -> float:
        """Return the first instant of the beat later than `now`."""
        assert self.anchor is not None
        rounds = math.floor((now - self.anchor) / self.every) + 1
        at = self.anchor + round_up(rounds * self.every)
        return at if at > now else self.anchor + round_up((rounds + 1) * self.every)

    def memory(self) -> dict[str, float | None]:
        """Return the anchor and the next round, None where there is none."""
        round_at = None if self.round_at == math.inf else self.round_at
        return {"anchor": self.anchor, "round_at": round_at}
