"""How many tickets arrive per second, as far as one can tell from the last ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from evenmatch.solvers.steps.waiting import RATE_OF, measured_rate


class ArrivalRate:
    """An estimate from the last arrivals, for matchers whose steps are not compiled.

    Args:
        price: Cost of a second of waiting, > 0; it makes the guess before there are arrivals.
        memory: What `memory()` said before a restart.

    Source:
        `solvers.steps.waiting.measured_rate`; the span ends now: silence lowers the estimate.
    """

    def __init__(self, price: float, memory: Sequence[float] = ()) -> None:
        self._price = price
        self._last: deque[float] = deque(memory, maxlen=RATE_OF)

    def note(self, at: float) -> None:
        """Count an arrival; instants ascend."""
        self._forget_after(at)
        self._last.append(at)

    def rate(self, now: float) -> float:
        """Return tickets per second."""
        self._forget_after(now)
        last = self._last
        if not last:
            return measured_rate(0, 0.0, self._price)
        return measured_rate(len(last) - 1, now - last[0], self._price)

    def memory(self) -> list[float]:
        """Return the instants of the last arrivals, ascending."""
        return list(self._last)

    def _forget_after(self, now: float) -> None:
        """Forget arrivals of a memory that is newer than the pool: they will come again."""
        while self._last and self._last[-1] > now:
            self._last.pop()
