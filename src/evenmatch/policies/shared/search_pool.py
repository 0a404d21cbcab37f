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

MISSES_MAX = 16
"""Parties too large for the room that is left, after which nobody else is asked."""

Age = tuple[float, int]


class SearchPool:
    """The tickets of a queue whose turn it is.

    Args:
        players: Players whom a search holds at the most.
        memory: What `memory()` said before a restart.
    """

    def __init__(self, players: int, memory: Mapping[str, Any]) -> None:
        self._most = players
        # By age; who rests stands in `_resting` instead, and in `_until` with its number.
        self._ready: list[Age] = []
        self._resting: dict[int, dict[int, None]] = {
            number: dict.fromkeys(tickets) for number, tickets in memory.get("resting", ())
        }
        self._until = {each: number for number, found in self._resting.items() for each in found}
        self._vain: dict[int, int] = dict(memory.get("vain", ()))
        self._unseen: bool = memory.get("unseen", False)

    @property
    def has_more(self) -> bool:
        """Return whether somebody could take part in a search who was not in the last one."""
        return self._unseen

    @property
    def has_resting(self) -> bool:
        """Return whether somebody rests."""
        return bool(self._until)

    def enter(self, ticket: Ticket) -> None:
        """Let a ticket take part, unless it rested before a restart: O(log n)."""
        if ticket.sequence not in self._until:
            insort(self._ready, ticket.age_key)

    def leave(self, ticket: Ticket) -> None:
        """Forget a ticket: O(log n)."""
        self._vain.pop(ticket.sequence, None)
        self._wake(ticket.sequence)
        self._take_out(ticket)

    def restored(self, tickets: Mapping[int, Ticket]) -> None:
        """Forget whom a memory knows and who did not come back after a restart."""
        self._vain = {each: count for each, count in self._vain.items() if each in tickets}
        for sequence in [each for each in self._until if each not in tickets]:
            self._wake(sequence)

    def chosen(self, tickets: Mapping[int, Ticket], players: int, number: int) -> list[Ticket]:
        """Return who takes part in a search, longest waiting first.

        Args:
            tickets: All who wait, by sequence.
            players: How many they are; if one search holds them all, nobody rests.
            number: Of the search; they ascend.

        Complexity:
            O(tickets that it holds), and O(log n) for each that has rested.
        """
        everybody = players <= self._most
        for due in [each for each in self._resting if everybody or each <= number]:
            for sequence in list(self._resting[due]):
                self._wake(sequence)
                insort(self._ready, tickets[sequence].age_key)
        oldest, room = self._take(tickets, 0, 1, self._most * (1.0 - NEWEST))
        newest, _ = self._take(tickets, len(self._ready) - 1, -1, self._most * NEWEST + room)
        seen = set(oldest)
        both = oldest + [each for each in reversed(newest) if each not in seen]
        self._unseen = len(both) < len(self._ready)
        return [tickets[sequence] for sequence in both]

    def searched(
        self, chosen: Collection[Ticket], seated: Collection[int], number: int, waiting: int
    ) -> None:
        """Note for whom a search found nothing.

        Args:
            chosen: Who took part and still waits.
            seated: Sequences of those who are in some match now.
            number: Of the search.
            waiting: Players who wait.
        """
        for ticket in chosen:
            sequence = ticket.sequence
            if sequence in seated or waiting <= self._most:
                self._vain.pop(sequence, None)
                continue
            count = self._vain[sequence] = self._vain.get(sequence, 0) + 1
            if self._take_out(ticket):
                until = number + min(2 ** min(count, 10), RESTS_MAX)
                self._resting.setdefault(until, {})[sequence] = None
                self._until[sequence] = until

    def memory(self) -> dict[str, Any]:
        """Return who rests until which search, and how often each was searched for in vain."""
        return {
            "vain": [[sequence, count] for sequence, count in self._vain.items()],
            "resting": [[number, list(found)] for number, found in self._resting.items()],
            "unseen": self._unseen,
        }

    def _wake(self, sequence: int) -> None:
        """Let a ticket rest no longer."""
        until = self._until.pop(sequence, None)
        if until is not None:
            del self._resting[until][sequence]
            if not self._resting[until]:
                del self._resting[until]

    def _take_out(self, ticket: Ticket) -> bool:
        at = bisect_left(self._ready, ticket.age_key)
        if self._ready[at : at + 1] != [ticket.age_key]:
            return False
        del self._ready[at]
        return True

    def _take(
        self, tickets: Mapping[int, Ticket], start: int, step: int, room: float
    ) -> tuple[list[int], float]:
        """Return tickets from one end on as long as they fit, and how much room is left."""
        found: list[int] = []
        at, misses = start, 0
        while 0 <= at < len(self._ready) and room >= 1.0 and misses < MISSES_MAX:
            sequence = self._ready[at][1]
            size = tickets[sequence].size
            if size <= room:
                found.append(sequence)
                room -= size
            else:
                misses += 1
            at += step
        return found, room
