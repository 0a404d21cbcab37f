"""Judges on this machine's clock when a lease that another machine holds is over.

No two machines have the same time, and a clock may be set. So a journal that machines share stores
how long a lease lasts and how often it was renewed, and never when it ends. Who wants to take it
over asks again and again; once the same renewal has stood there for the whole length of the lease,
measured from the answer that first showed it, the owner's own count has run out as well: that
began before the owner asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from evenmatch.errors import StaleOwner

Renewal: TypeAlias = tuple[str, int, int]
"""Owner, epoch, and how often the lease was taken or renewed in all."""


class LeaseWatch:
    """Remembers for how long each shard's lease has not been renewed.

    Args:
        clock: Monotonic seconds.

    Example:
        >>> now = 0.0
        >>> watch = LeaseWatch(lambda: now)
        >>> watch.remaining("s0", ("one", 1, 1), ttl=5.0)
        5.0
        >>> now = 4.0
        >>> watch.remaining("s0", ("one", 1, 1), ttl=5.0)
        1.0
        >>> watch.remaining("s0", ("one", 1, 2), ttl=5.0)
        5.0
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[Renewal, float]] = {}

    def remaining(self, shard: str, renewal: Renewal, ttl: float) -> float:
        """Return for how long a lease must still be watched, seconds; 0 if it is over.

        Call it with what was just read, never before: time that passed on the way counts for
        the owner.
        """
        now = self._clock()
        seen, since = self._seen.get(shard, (None, now))
        if seen != renewal:
            self._seen[shard] = renewal, now
            return ttl
        return max(0.0, since + ttl - now)

    def check_over(self, shard: str, renewal: Renewal, ttl: float, newcomer: str) -> None:
        """Refuse a new owner while the lease is not over.

        Raises:
            StaleOwner: It is not, as far as was seen here.
        """
        left = self.remaining(shard, renewal, ttl)
        if left > 0:
            raise StaleOwner(
                f"shard {shard!r} is held by {renewal[0]!r} for at least {left:.3f} s more, so "
                f"{newcomer!r} does not answer for it: in a cluster whose nodes share the journal, "
                f"the other node does, and there is nothing to do; otherwise two servers use one "
                f"journal, so stop the one that you do not want",
                renewal[0],
                left=left,
                length=ttl,
            )
