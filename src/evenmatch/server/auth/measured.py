"""What the game's own servers have measured of players, such as latencies by region.

A player's client may claim what it likes about its connection. Where a service has sent a map of
the same name for the player, by changing his ticket, its entries win over the client's: when he
changes the ticket, and in his next tickets. This is kept in memory, for as long as it is worth
something.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from evenmatch.model.ticket import Player, Value

PLAYERS_MAX = 100_000
KEPT_SECONDS = 3_600.0


class _Known(msgspec.Struct, frozen=True, gc=False):
    until: float
    maps: dict[str, dict[str, float]]


class Measured:
    """The measurements of one game.

    Args:
        most: Players that are remembered; beyond, those measured longest ago are forgotten.
        clock: A clock that never falls, seconds.
    """

    def __init__(
        self, *, most: int = PLAYERS_MAX, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._clock = clock
        self._known: dict[str, _Known] = {}

    def __len__(self) -> int:
        """Return how many players are remembered."""
        return len(self._known)

    def note(self, players: tuple[Player, ...]) -> None:
        """Remember the maps that a service has sent of players."""
        for player in players:
            maps = {
                name: value for name, value in player.attributes.items() if isinstance(value, dict)
            }
            if not maps:
                continue
            before = self.of(player.id)
            self._known.pop(player.id, None)
            if len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
            both = {name: before.get(name, {}) | value for name, value in maps.items()}
            self._known[player.id] = _Known(self._clock() + KEPT_SECONDS, before | both)

    def of(self, player: str) -> dict[str, dict[str, float]]:
        """Return what was measured of a player lately, by attribute."""
        known = self._known.get(player)
        return known.maps if known is not None and known.until > self._clock() else {}

    def facts(self, player: str, signed: dict[str, Value]) -> dict[str, Value]:
        """Return what is better known of a player than his client says: signed or measured."""
        if player not in self._known:
            return signed
        facts = dict(signed)
        for name, value in self.of(player).items():
            other = facts.get(name)
            facts[name] = other | value if isinstance(other, dict) else value
        return facts
