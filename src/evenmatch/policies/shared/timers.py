"""Exact timers: the instant from which each waiting ticket is the youngest of a legal group.

Every legal group has a youngest ticket, and to it all others are older. So it is enough that each
ticket keeps one timer: the earliest instant at which it and *older* tickets may play. A newcomer
changes nobody else's timer, for it is younger than all; and a ticket that leaves changes only the
timers that were set with its help. Nothing is ever scanned again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple

import msgspec

from evenmatch.model.ticket import Ticket

STALE_MAX = 1_024
"""A heap may hold this many entries beyond twice the timers; then the stale ones go."""
INF = math.inf


class DueTimer(NamedTuple):
    """Who is to play at its turn: the ticket whose turn it is, and whose timer has come."""

    sequence: int
    owner: int
    group: tuple[Ticket, ...] = ()


class _Timer(msgspec.Struct, gc=False):
    """The instant, the older tickets it was set with, and the ticket's own arrival."""

    at: float
    needs: tuple[int, ...]
    enqueued_at: float


class Timers:
    """One timer a ticket, known by the ticket's sequence."""

    def __init__(self) -> None:
        self._timers: dict[int, _Timer] = {}
        self._needed_by: dict[int, dict[int, None]] = {}
        self._heap: list[tuple[float, int]] = []
        # Those that are due as soon as their ticket has come, apart from all others: so no call
        # looks at timers that are due only when fired. Of both heaps the first entry counts: one
        # that counts no more is taken out as soon as it is the first.
        self._born: list[tuple[float, int]] = []

    def put(self, sequence: int, at: float, needs: tuple[int, ...], enqueued_at: float) -> None:
        """Set a ticket's timer to `at`, which holds as long as the tickets `needs` wait.

        Args:
            sequence: Of the ticket.
            at: Engine time, seconds.
            needs: Sequences of older tickets.
            enqueued_at: An instant equal to it is due without being fired; -inf for a timer that
                is due only after the inputs of its instant.
        """
        timers = self._timers
        before = timers.get(sequence)
        timers[sequence] = _Timer(at, needs, enqueued_at)
        if before is not None:
            self._forget(sequence, before)
        for other in needs:
            needed_by = self._needed_by.get(other)
            if needed_by is None:
                self._needed_by[other] = {sequence: None}
            else:
                needed_by[sequence] = None
        if at != INF:
            heap = self._born if at == enqueued_at else self._heap
            heappush(heap, (at, sequence))
            if len(heap) > 2 * len(timers) + STALE_MAX:
                self._compact()

    def put_all_at_birth(self, tickets: Iterable[Ticket]) -> None:
        """Set the timers of all who wait to the instants at which they came.

        Complexity:
            O(n log n), with a far smaller constant than n times `put`.
        """
        self._needed_by.clear()
        self._heap.clear()
        self._timers = {
            each.sequence: _Timer(each.enqueued_at, (), each.enqueued_at) for each in tickets
        }
        self._born = sorted([(timer.at, sequence) for sequence, timer in self._timers.items()])

    def drop(self, sequence: int) -> list[int]:
        """Forget a ticket; return those whose timers it helped to set, to be set again."""
        self._forget(sequence, self._timers.pop(sequence))
        needed_by = self._needed_by.pop(sequence, None)
        return sorted(needed_by) if needed_by else []

    def next(self) -> float:
        """Return the earliest instant of all timers; inf if there is none."""
        born, heap = self._born, self._heap
        at = heap[0][0] if heap else INF
        return born[0][0] if born and born[0][0] < at else at

    def first(self) -> tuple[float, int] | None:
        """Return the earliest instant of all timers and whose it is; None if there is none."""
        return min([heap[0] for heap in (self._heap, self._born) if heap], default=None)

    def pop_due(self, now: float, fired: bool, most: float = math.inf) -> list[int]:
        """Take out the tickets whose instant has come; set their timers again, or drop them.

        Args:
            now: The present instant.
            fired: Whether instants equal to `now` are due. A timer set for the very instant of
                the ticket's own arrival is due at once: nobody has to wait for it.
            most: Take out so many at the most.

        Returns:
            Their sequences, ascending.
        """
        due: dict[int, None] = {}
        for heap, is_now_due in ((self._born, True), (self._heap, fired)):
            while heap and len(due) < most:
                item = heap[0]
                if item[0] > now or (item[0] == now and not is_now_due):
                    break
                due[heappop(heap)[1]] = None
                self._clear_front(heap)
        return sorted(due)

    def put_back(self, sequence: int) -> None:
        """Let a timer that was taken out come again at its instant."""
        timer = self._timers[sequence]
        self.put(sequence, timer.at, timer.needs, timer.enqueued_at)

    def is_due(self, sequence: int, now: float, fired: bool) -> bool:
        """Return whether a ticket's timer, as it is set now, has come; see `pop_due`."""
        timer = self._timers[sequence]
        return timer.at < now or (timer.at == now and (fired or timer.enqueued_at == now))

    def _clear_front(self, heap: list[tuple[float, int]]) -> None:
        """Take out of a heap what counts no more before the first entry that does."""
        timers = self._timers
        while heap:
            at, sequence = heap[0]
            timer = timers.get(sequence)
            if timer is not None and timer.at == at:
                return
            heappop(heap)

    def _compact(self) -> None:
        """Keep only the entries that count, each once."""
        self._heap = sorted({(at, s) for at, s in self._heap if self._counts(at, s)})
        self._born = sorted({(at, s) for at, s in self._born if self._counts(at, s)})

    def _counts(self, at: float, sequence: int) -> bool:
        timer = self._timers.get(sequence)
        return timer is not None and timer.at == at

    def _forget(self, sequence: int, timer: _Timer) -> None:
        """Forget what rests on the former timer of a ticket."""
        for other in timer.needs:
            needed_by = self._needed_by.get(other)
            if needed_by is not None:
                needed_by.pop(sequence, None)
        heap, born = self._heap, self._born
        if heap and heap[0][1] == sequence:
            self._clear_front(heap)
        if born and born[0][1] == sequence:
            self._clear_front(born)

    def _check(self, waiting: set[int]) -> None:
        """Assert that each waiting ticket has a timer, set with waiting tickets only."""
        assert set(self._timers) == waiting
        for sequence, timer in self._timers.items():
            assert all(other in waiting for other in timer.needs)
            assert all(sequence in self._needed_by[other] for other in timer.needs)
        for heap in (self._heap, self._born):
            assert not heap or self._counts(*heap[0])
