"""Deadlines of tickets and matches: a heap whose dead entries are dropped when they surface."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Protocol

Entry = tuple[float, int, int, str, str]
"""(instant, sequence, place of the queue, id of the ticket or match, name of the queue)."""


class TimerSource(Protocol):
    """Whatever makes the engine wake up."""

    def next(self) -> float:
        """Return the first instant that counts; inf if there is none."""


class Deadlines:
    """Instants in order; an entry whose owner is gone is skipped.

    Args:
        is_alive: Whether an entry still counts.
    """

    def __init__(self, is_alive: Callable[[Entry], bool]) -> None:
        self._is_alive = is_alive
        self._heap: list[Entry] = []
        self._compact_at = 1024

    def add(self, entry: Entry) -> None:
        """Put an entry in.

        Complexity:
            O(log n); dead entries are swept out whenever the heap has doubled.
        """
        heapq.heappush(self._heap, entry)
        if len(self._heap) > self._compact_at:
            self._heap = [item for item in self._heap if self._is_alive(item)]
            heapq.heapify(self._heap)
            self._compact_at = max(1024, 2 * len(self._heap))

    def next(self) -> float:
        """Return the first instant that counts; inf if there is none."""
        heap = self._heap
        while heap:
            if self._is_alive(heap[0]):
                return heap[0][0]
            heapq.heappop(heap)
        return math.inf

    def take_due(self, now: float) -> list[Entry]:
        """Take out and return the entries up to `now` that count, in order."""
        found = []
        while self.next() <= now:
            found.append(heapq.heappop(self._heap))
        return found

    def clear(self) -> None:
        """Forget all entries."""
        self._heap.clear()

    def put_back(self, entries: list[Entry]) -> None:
        """Make entries that were taken out due again."""
        for entry in entries:
            heapq.heappush(self._heap, entry)
