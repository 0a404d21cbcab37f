"""The cell of a ticket: its size, its best region, and its decile of skill."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import NamedTuple

from evenmatch.model.ticket import NewTicket, Ticket, attribute_of

RATINGS_MOST = 1_000
"""Ratings of so many tickets, the last ones, say what a decile is."""
RATINGS_MIN = 100
"""With fewer, nobody has a decile."""
DECILES_EVERY = 100
"""Tickets after which the deciles are computed anew."""


class Cell(NamedTuple):
    """Tickets that wait alike.

    Args:
        size: Players.
        region: The best region, or "" if none is known.
        decile: 0 for the weakest tenth to 9 for the strongest; -1 if it is not known.
    """

    size: int
    region: str = ""
    decile: int = -1


class Deciles:
    """Where the tenths of a queue's ratings begin, by the last tickets that came."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=RATINGS_MOST)
        self._edges: list[float] = []
        self._new = 0

    def place(self, rating: float) -> int:
        """Return the decile of a rating, -1 while there are too few ratings."""
        if not self._edges:
            return -1
        return bisect_right(self._edges, rating)

    def note(self, rating: float) -> None:
        """Take a new ticket's rating into account."""
        self._recent.append(rating)
        self._new += 1
        count = len(self._recent)
        if count >= RATINGS_MIN and self._new >= DECILES_EVERY:
            self._new = 0
            ordered = sorted(self._recent)
            self._edges = [ordered[count * tenth // 10] for tenth in range(1, 10)]


def rating_of(ticket: Ticket | NewTicket) -> float | None:
    """Return the mean rating of a party's players; None if one of them has none."""
    total = 0.0
    for player in ticket.players:
        value = attribute_of(ticket, player, "rating")
        if not isinstance(value, float | int):
            return None
        total += value
    return total / len(ticket.players)
