"""Whom players met last: a bounded memory of recent opponents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

PLAYERS_MAX = 10_000
"""Players remembered; those who played last stay."""
FORGOTTEN = PLAYERS_MAX // 10
"""Players forgotten at a time, once there are too many."""


class Opponents:
    """The last opponents of each player, the latest last.

    Args:
        depth: Opponents remembered of each player, >= 0.
        memory: What `memory()` said before a restart.
    """

    def __init__(self, depth: int, memory: Mapping[str, Any]) -> None:
        self._depth = depth
        self._met: dict[str, list[str]] = {
            player: list(met) for player, met in memory.get("opponents", ())
        }

    def faded(self, own: str) -> dict[str, float]:
        """Return each opponent whom a player remembers, with a factor (1 + n) / (1 + depth).

        n is the number of matches with others that the player has had since; for all whom he
        does not remember the factor is 1.
        """
        met = self._met.get(own, ())
        # In a row of A, B, A only the later A counts, and a dict keeps the later value.
        return {other: (len(met) - at) / (1 + self._depth) for at, other in enumerate(met)}

    def novelty(self, own: str, other: str) -> float:
        """Return the factor of one opponent."""
        return self.faded(own).get(other, 1.0) if own in self._met else 1.0

    def meet(self, one: str, two: str, waiting: Collection[str]) -> None:
        """Remember a match.

        Args:
            one: A player.
            two: The other.
            waiting: Players who wait now; they are not forgotten, for their timers rest on it.
        """
        if self._depth == 0:
            return
        for own, other in ((one, two), (two, one)):
            met = [*self._met.pop(own, ()), other]
            self._met[own] = met[-self._depth :]
        if len(self._met) > PLAYERS_MAX:
            gone = [player for player in self._met if player not in waiting][:FORGOTTEN]
            for player in gone:
                del self._met[player]

    def memory(self) -> dict[str, list[list[Any]]]:
        """Return plain data, those who played longest ago first."""
        return {"opponents": [[player, met] for player, met in self._met.items()]}
