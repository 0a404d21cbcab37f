"""Limits of each caller: a bucket of requests that fills up steadily, and places to stay at."""

from __future__ import annotations

CALLERS_MAX = 100_000
"""Buckets that are not full and are remembered."""
PLACES_MAX = 32
"""Streams and long polls that one player may have open at the same time."""


class Buckets:
    """One bucket a caller; a full one need not be remembered.

    Kept is the instant at which a bucket will be full, which is all there is to know of it.

    Args:
        rate: Requests per second that flow back, > 0.
        burst: Requests that a full bucket holds, >= 1.
        most: Callers that are remembered; beyond, those who asked least are forgotten.
    """

    def __init__(self, rate: float, burst: float, *, most: int = CALLERS_MAX) -> None:
        self._each = 1.0 / rate
        self._whole = burst / rate
        self._most = most
        self._full_at: dict[str, float] = {}

    def __len__(self) -> int:
        """Return how many callers are remembered."""
        return len(self._full_at)

    def take(self, caller: str, now: float) -> float:
        """Take one request out of a caller's bucket.

        Args:
            caller: Who asks.
            now: A clock that never falls, seconds.

        Returns:
            0 if there was one, else the seconds until there will be one.

        Complexity:
            O(1); once in `most` / 2 new callers O(most log most).
        """
        full_at = self._full_at.get(caller)
        if full_at is None:
            if len(self._full_at) >= self._most:
                self._forget(now)
            full_at = now
        full_at = max(full_at, now) + self._each
        # Half a request of tolerance: sums of floats must not turn away the last of a burst.
        if (missing := full_at - now - self._whole) > 0.5 * self._each:
            return missing
        self._full_at[caller] = full_at
        return 0.0

    def missing(self, caller: str, now: float) -> float:
        """Return the seconds until a caller's bucket holds a request; 0 if it does."""
        full_at = max(self._full_at.get(caller, now), now) + self._each
        missing = full_at - now - self._whole
        return missing if missing > 0.5 * self._each else 0.0

    def _forget(self, now: float) -> None:
        """Forget full buckets, then the fullest, until half of the places are free."""
        busy = sorted(
            ((at, caller) for caller, at in self._full_at.items() if at > now), reverse=True
        )
        self._full_at = {caller: at for at, caller in busy[: self._most // 2]}


class OpenStreams:
    """How many streams and long polls each caller has open.

    The server holds so many in all; without a limit for each, one player takes them from everybody.

    Args:
        most: Places of one caller.
    """

    def __init__(self, most: int = PLACES_MAX) -> None:
        self.most = most
        self._taken: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many callers have a place."""
        return len(self._taken)

    def enter(self, caller: str) -> bool:
        """Take a place for a caller; return whether there was one."""
        taken = self._taken.get(caller, 0)
        if taken >= self.most:
            return False
        self._taken[caller] = taken + 1
        return True

    def leave(self, caller: str) -> None:
        """Give a place back."""
        self._taken[caller] -= 1
        if not self._taken[caller]:
            del self._taken[caller]
