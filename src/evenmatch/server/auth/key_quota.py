"""How many idempotency keys a player may have remembered: all of them share one memory.

Every key of a create is kept for ten minutes with its answer, half a million in all. A hundred
players who ask as often as they may would fill that, and then nobody's create is taken any more,
the game's own backend's neither. So each player has a few, all players together most of them, and
the rest is the backend's.
"""

from __future__ import annotations

from collections import deque

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.retention import KEYS_MOST
from evenmatch.engine.state.rows import KEEP_ENDED
from evenmatch.model.inputs import Enqueue
from evenmatch.server.auth.principal import Principal
from evenmatch.server.auth.refusals import TooManyRequests

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
    """Counts the keys that players have remembered; it hears of durable records.

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
        """Begin anew with the keys that an engine remembers."""
        self._used.clear()
        self._own.clear()
        for key, row in engine.tables.keys.items():
            self._note(key, row.at)

    def hear(self, record: Record) -> None:
        """Count the key of a create."""
        given = record.input
        if type(given) is Enqueue and given.key is not None:
            self._note(given.key, given.now)

    def check(self, principal: Principal, engine: Engine, key: str, now: float) -> None:
        """Refuse a key that is one too many; one that is remembered already is none.

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
