"""The cell of a ticket: its size, its best region, and its decile of skill."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import NamedTuple

from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Ticket, Value, attribute_of

RATINGS_MOST = 1_000
"""Ratings of so many tickets, the last ones, say what a decile is."""
RATINGS_MIN = 100
"""With fewer, nobody has a decile."""
DECILES_EVERY = 100
"""Tickets after which the deciles are computed anew."""
REGION_MOST = 40
"""Characters of a region's name that count."""


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


def region_of(ticket: Ticket | NewTicket, latency: str) -> str:
    """Return a party's region: the one it names, or the one with the least mean latency.

    Args:
        ticket: The party.
        latency: The attribute that holds milliseconds by region.
    """
    named = attribute_of(ticket, ticket.players[0], "region")
    if isinstance(named, str):
        return named[:REGION_MOST]
    maps = [_latencies(attribute_of(ticket, player, latency)) for player in ticket.players]
    shared = [name for name in maps[0] if all(name in each for each in maps[1:])]
    if not shared:
        return ""
    best = min(shared, key=lambda name: (sum(each[name] for each in maps), name))
    return best[:REGION_MOST]


def latency_attribute(queue: Queue) -> str:
    """Return the attribute by which a queue compares latencies, `latency` where it does not."""
    for criterion in queue.criteria:
        if criterion.kind == "latency":
            return criterion.attribute
    for rule in queue.rules:
        if rule.kind == "latency":
            return rule.attribute
    return "latency"


def _latencies(value: Value | None) -> dict[str, float]:
    return value if isinstance(value, dict) else {}
