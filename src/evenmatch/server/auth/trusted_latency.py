"""What the game's own servers have measured of players, such as latencies by region.

A player's client may claim what it likes about its connection. Where a service has sent a map of
the same name for the player, by changing their ticket, its entries win over the client's: when the
client changes the ticket, and in their next tickets. This is kept in memory, for as long as it is
worth something.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from evenmatch.model.ticket import Player, Value

Sent = TypeVar("Sent")

PLAYERS_MAX = 100_000
MAPS_MAX = 8
ENTRIES_MAX = 64
"""Maps of a player, and entries of each, that are remembered; beyond, the oldest are forgotten."""
VALUE_MAX = 1e15
"""What is larger is no measurement, and no ticket may have it."""
KEPT_SECONDS = 3_600.0


class _Known(msgspec.Struct, frozen=True, gc=False):
    until: float
    maps: dict[str, dict[str, float]]


class MeasuredLatencies:
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
        """Remember the maps that a service has sent of players and that were accepted."""
        for player in players:
            maps = {
                name: _sound(value)
                for name, value in player.attributes.items()
                if isinstance(value, dict)
            }
            if not any(maps.values()):
                continue
            before = self.of(player.id)
            self._known.pop(player.id, None)
            if len(self._known) >= self._most:
                del self._known[next(iter(self._known))]
            both = {name: _newest(before.get(name, {}), maps[name], ENTRIES_MAX) for name in maps}
            kept = _newest(before, both, MAPS_MAX)
            self._known[player.id] = _Known(self._clock() + KEPT_SECONDS, kept)

    def of(self, player: str) -> dict[str, dict[str, float]]:
        """Return what was measured of a player lately, by attribute."""
        known = self._known.get(player)
        return known.maps if known is not None and known.until > self._clock() else {}

    def facts(self, player: str, signed: dict[str, Value]) -> dict[str, Value]:
        """Return what is better known of a player than their client says: signed or measured."""
        if player not in self._known:
            return signed
        facts = dict(signed)
        for name, value in self.of(player).items():
            other = facts.get(name)
            facts[name] = other | value if isinstance(other, dict) else value
        return facts


def _sound(value: dict[str, float]) -> dict[str, float]:
    return {name: number for name, number in value.items() if abs(number) <= VALUE_MAX}


def _newest(before: dict[str, Sent], new: dict[str, Sent], most: int) -> dict[str, Sent]:
    """Return both, what is new last and first to count, with the oldest left out.

    >>> _newest({"a": 1, "b": 2}, {"a": 3, "c": 4}, most=2)
    {'a': 3, 'c': 4}
    """
    both = {name: value for name, value in before.items() if name not in new} | new
    return dict(list(both.items())[-most:])
