"""Limits of each caller: a bucket of requests that fills up steadily, and places to stay at."""

from __future__ import annotations

from collections import deque

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.reducers import KEYS_MOST
from evenmatch.engine.state.rows import KEEP_ENDED
from evenmatch.model.inputs import Enqueue
from evenmatch.server.auth.principal import Principal, TooManyRequests

CALLERS_MAX = 100_000
"""Buckets that are not full and are remembered."""
PLACES_MAX = 32
"""Streams and long polls that one player may have open at the same time."""


class Buckets:
    """One bucket for each caller; a full one need not be remembered.

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
        """Return the seconds until a caller's bucket holds a request; 0 if it already does."""
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


# How many idempotency keys a player may have remembered: all of them share one memory.
#
# Every key of a create is kept for ten minutes with its answer, half a million in all. A hundred
# players who ask as often as they may would fill that, and then nobody's create is taken any
# more, the game's own backend's neither. So each player has a few, all players together most of
# them, and the rest is the backend's.

KEYS_OF_ONE = 100
"""Keys of one player that are remembered."""
RESERVED = KEYS_MOST // 5
"""Keys that no player may take."""
BETWEEN = "\n"
"""Stands between a player's id and the key; no header has one, so no service's key does."""


def key_of(principal: Principal, key: str) -> str:
    """Return the key under which a caller's is remembered: players' must not meet anybody's."""
    return f"{principal.name}{BETWEEN}{key}" if principal.is_player else key


class KeyQuota:
    """Counts the idempotency keys that are remembered for players, from durable records.

    Args:
        of_one: Keys that a player may have.
        of_all: Keys that all players may have together.
    """

    def __init__(self, of_one: int = KEYS_OF_ONE, of_all: int = KEYS_MOST - RESERVED) -> None:
        self._of_one = of_one
        self._of_all = of_all
        # When each was used, and by whom; oldest first.
        self._used: deque[tuple[float, str]] = deque()
        self._own: dict[str, deque[float]] = {}

    def reset(self, engine: Engine) -> None:
        """Start over with the keys that an engine remembers."""
        self._used.clear()
        self._own.clear()
        for key, row in engine.tables.keys.items():
            self._note(key, row.at)

    def hear(self, record: Record) -> None:
        """Count the key of a create."""
        input_ = record.input
        if type(input_) is Enqueue and input_.key is not None:
            self._note(input_.key, input_.now)

    def check(self, principal: Principal, engine: Engine, key: str, now: float) -> None:
        """Refuse a key beyond the quota; one that is already remembered is free.

        Raises:
            TooManyRequests: The caller, or all players, have as many as they may.
        """
        if not principal.is_player or key in engine.tables.keys:
            return
        self._forget(now)
        own = self._own.get(principal.name) or deque()
        if len(own) >= self._of_one:
            at, why = own[0], f"you have used {len(own)} idempotency keys within ten minutes"
        elif len(self._used) >= self._of_all:
            at, why = self._used[0][0], "players have used too many idempotency keys"
        else:
            return
        raise TooManyRequests(
            f"{why}; repeat a request with the key that it had, or wait", at + KEEP_ENDED - now
        )

    def _note(self, key: str, at: float) -> None:
        player, between, _ = key.rpartition(BETWEEN)
        if between:
            self._used.append((at, player))
            self._own.setdefault(player, deque()).append(at)

    def _forget(self, now: float) -> None:
        used = self._used
        while used and used[0][0] < now - KEEP_ENDED:
            _, player = used.popleft()
            own = self._own[player]
            own.popleft()
            if not own:
                del self._own[player]
