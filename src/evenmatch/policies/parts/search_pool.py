"""Who takes part in the next search, where more wait than one search can hold.

The longest waiting take part first, and some of the newest beside them, so that a crowd that can't
play keeps nobody from playing. Who was searched for in vain rests for one search, then for two,
four and so on: a look at them costs as much as one at anybody else.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Mapping
from typing import Any

from evenmatch.model.ticket import Ticket

NEWEST = 0.25
"""Share of a search for those who came last."""
RESTS_MAX = 64
"""Searches for which a ticket rests at the most."""

Age = tuple[float, int]


class SearchPool:
    """The tickets of a queue whose turn it is.

    Args:
        players: Players whom a search holds at the most.
        memory: What `memory()` said before a restart.
    """

    def __init__(self, players: int, memory: Mapping[str, Any]) -> None:
        self._most = players
        self._ready: list[Age] = []
        self._vain: dict[int, int] = dict(memory.get("vain", ()))
        self._resting: dict[int, list[int]] = {
            number: list(tickets) for number, tickets in memory.get("resting", ())
        }
        self._known = {each for tickets in self._resting.values() for each in tickets}

    def enter(self, ticket: Ticket) -> None:
        """Let a ticket take part, unless it rested before a restart: O(log n)."""
        if ticket.sequence in self._known:
            self._known.discard(ticket.sequence)
        else:
            insort(self._ready, ticket.age_key)

    def leave(self, ticket: Ticket) -> None:
        """Forget a ticket: O(log n)."""
        self._vain.pop(ticket.sequence, None)
        at = bisect_left(self._ready, ticket.age_key)
        if at < len(self._ready) and self._ready[at] == ticket.age_key:
            del self._ready[at]

    def chosen(self, tickets: Mapping[int, Ticket], number: int) -> list[Ticket]:
        """Return who takes part in a search, longest waiting first.

        Args:
            tickets: All who wait, by sequence.
            number: Of the search; they ascend by one.

        Complexity:
            O(tickets that it holds), and O(log n) for each that has rested.
        """
        self._known.clear()
        for sequence in self._resting.pop(number, ()):
            ticket = tickets.get(sequence)
            if ticket is not None and sequence in self._vain:
                at = bisect_left(self._ready, ticket.age_key)
                if self._ready[at : at + 1] != [ticket.age_key]:
                    self._ready.insert(at, ticket.age_key)
        oldest, room = self._take(tickets, 0, 1, self._most * (1.0 - NEWEST))
        newest, _ = self._take(tickets, len(self._ready) - 1, -1, self._most * NEWEST + room)
        seen = set(oldest)
        both = oldest + [each for each in reversed(newest) if each not in seen]
        return [tickets[sequence] for sequence in both]

    def searched(
        self, chosen: Collection[Ticket], seated: Collection[int], number: int, waiting: int
    ) -> None:
        """Note for whom a search found nothing.

        Args:
            chosen: Who took part and still waits.
            seated: Sequences of those who are in some match now.
            number: Of the search.
            waiting: Players who wait; while one search holds them all, nobody rests.
        """
        for ticket in chosen:
            sequence = ticket.sequence
            if sequence in seated or waiting <= self._most:
                self._vain.pop(sequence, None)
                continue
            count = self._vain[sequence] = self._vain.get(sequence, 0) + 1
            rest = min(2 ** min(count, 10), RESTS_MAX)
            at = bisect_left(self._ready, ticket.age_key)
            if self._ready[at : at + 1] == [ticket.age_key]:
                del self._ready[at]
                self._resting.setdefault(number + rest, []).append(sequence)

    def memory(self) -> dict[str, Any]:
        """Return who rests until which search, and how often each was searched for in vain."""
        return {
            "vain": [[sequence, count] for sequence, count in self._vain.items()],
            "resting": [[number, list(found)] for number, found in self._resting.items()],
        }

    def _take(
        self, tickets: Mapping[int, Ticket], start: int, step: int, room: float
    ) -> tuple[list[int], float]:
        """Return tickets from one end on as long as they fit, and how much room is left."""
        found: list[int] = []
        at = start
        while 0 <= at < len(self._ready):
            sequence = self._ready[at][1]
            size = tickets[sequence].size
            if size > room:
                break
            found.append(sequence)
            room -= size
            at += step
        return found, room
