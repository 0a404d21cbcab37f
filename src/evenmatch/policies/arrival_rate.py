"""How many tickets arrive per second, as far as one can tell from the last ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

ARRIVALS = 50
"""Arrivals remembered: fewer follow a change of the rate sooner, more are steadier."""


class ArrivalRate:
    """An estimate from the last arrivals and a guess that counts as two more.

    Args:
        prior: The guess in tickets per second, > 0.
        memory: What `memory()` said before a restart.

    Source:
        (m + 2) / (span of the last m arrivals + 2 / prior), m <= 50; the span ends now, so that
        silence lowers the estimate.

    >>> rate = ArrivalRate(prior=2.0)
    >>> rate.note(1.0), rate.note(3.0)
    (None, None)
    >>> rate.rate(4.0)
    1.0
    """

    def __init__(self, prior: float, memory: Sequence[float] = ()) -> None:
        self._prior = prior
        self._last: deque[float] = deque(memory, maxlen=ARRIVALS)

    def note(self, at: float) -> None:
        """Count an arrival; instants ascend."""
        self._last.append(at)

    def rate(self, now: float) -> float:
        """Return tickets per second."""
        last = self._last
        span = now - last[0] if last else 0.0
        return (len(last) + 2) / (span + 2.0 / self._prior)

    def memory(self) -> list[float]:
        """Return the instants of the last arrivals, ascending."""
        return list(self._last)
