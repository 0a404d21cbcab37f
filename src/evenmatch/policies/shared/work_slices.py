"""Work in slices: one call does a bounded part, and the next goes on where it stopped.

A search is a generator that yields when the effort of this slice is used up. Where few tickets
wait, slices follow each other at the next instant of the time grid, since such a search ends soon.
Otherwise work that cannot wait goes on `PAUSE` later, so that the server's loop gets to everything
else between two slices. Work that can wait is done while it stays within a number of evaluations a
second of engine time, or once in `PATIENCE`, however much there is to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

from evenmatch.criteria.expansion import TICKS, round_up
from evenmatch.policies.shared.group_search import Effort, Group, Search

FEW = 32
"""Tickets that are few."""
PAUSE = 2.0**-6
"""Seconds of engine time between two turns, on the time grid: a few times what a turn takes."""
TURNS_A_SECOND = 20
"""What may be done a second in the long run, in calls that do as much as one call may."""
SAVED_SECONDS = 0.125
"""Seconds for which a matcher that did less may save up."""
PATIENCE = 1.0
"""Seconds after which one search that can wait has its turn, whatever was done before."""


class WorkSlices:
    """What one call may do, and the search that is interrupted.

    Args:
        most: Evaluations of one call.
        total: Evaluations of one search.
        judged: Groups that one search may judge.
    """

    def __init__(self, most: int, total: int, judged: int) -> None:
        self._most, self._total, self._judged = most, total, judged
        self._key: Hashable = None
        self._search: Search | None = None
        self._effort = Effort(0, 0, 0)
        self._resume_at = -math.inf
        self._has_news = True
        # When there is time again for what can wait, and what was noted before.
        self._free_at = -math.inf
        self._noted = 0
        # Since when what can wait has had no turn.
        self._waits_from = -math.inf
        self._has_searched = False
        self._now, self._fired, self._are_few = -math.inf, False, True
        self.evaluations_left = 0
        self.evaluations = 0

    def spend(self, count: int) -> None:
        """Note evaluations."""
        self.evaluations_left -= count
        self.evaluations += count

    def news(self) -> None:
        """Note that somebody has entered or left: the next call may go on."""
        self._has_news = True

    def restart(self) -> None:
        """Let an interrupted search begin again, with what it may still spend."""
        self._search = None

    def begin(self, now: float, fired: bool, waiting: int) -> float | None:
        """Begin a turn; return the instant until which nothing goes on, None if this is one.

        Args:
            now: The present instant.
            fired: Whether all inputs of this instant have come.
            waiting: How many tickets wait.
        """
        resume_at = self._resume_at
        if not self._has_news and (now < resume_at or (now == resume_at and not fired)):
            return resume_at
        self._has_news, self._has_searched, self._now, self._fired = False, False, now, fired
        self._are_few, self.evaluations_left = waiting <= FEW, self._most
        return None

    def begin_search(self) -> bool:
        """Return whether there is time in this turn for a whole search that can wait; note it."""
        is_time = self.evaluations_left > 0 if self._are_few else self._has_time()
        self._has_searched |= is_time
        return is_time

    def _has_time(self) -> bool:
        return self._freed_at() <= self._now and self.evaluations_left >= self._total

    def end(self, is_done: bool, next_at: float) -> float:
        """Return when to go on after a turn; inf if nothing is left.

        Args:
            is_done: Whether this turn sufficed.
            next_at: When the next of what cannot wait is due; -inf if some is due already.
        """
        if is_done or self._has_searched or self._waits_from == -math.inf:
            self._waits_from = self._now
        self._free_at, self._noted = self._freed_at(), self.evaluations
        before, self._resume_at = self._resume_at, -math.inf
        if is_done:
            return math.inf
        if self._are_few:
            self._resume_at = self._now
            if self._fired:
                self._resume_at = max(math.nextafter(self._now, math.inf), self._now + 1.0 / TICKS)
            return self._resume_at
        self._resume_at = max(self._now + PAUSE, min(round_up(self._free_at), next_at))
        if self._now < before:
            # Else those who come one soon after the other would put it off for ever.
            self._resume_at = min(self._resume_at, before)
        return self._resume_at

    def _freed_at(self) -> float:
        """Return when there is time for what can wait, after all that was done so far."""
        seconds = (self.evaluations - self._noted) / (self._most * TURNS_A_SECOND)
        freed_at = max(self._free_at, self._now - SAVED_SECONDS) + seconds
        return min(freed_at, max(self._now, self._waits_from + PATIENCE))

    def run(self, key: Hashable, make: Callable[[Effort], Search]) -> tuple[bool, Group | None]:
        """Begin a search or go on with it; return whether it is over, and what it has found.

        Args:
            key: Tells which search it is: another one takes the place of one that is interrupted.
            make: Begins it.
        """
        if self.evaluations_left <= 0:
            return False, None
        if key != self._key:
            self._key, self._search = key, None
            self._effort = Effort(0, self._total, self._judged)
        effort = self._effort
        if self._search is None:
            effort.judgements.clear()
            self._search = make(effort)
        before, effort.evaluations_left = effort.evaluations_spent, self.evaluations_left
        try:
            next(self._search)
            is_over, found = False, None
        except StopIteration as done:
            is_over, found = True, done.value
            self._key = self._search = None
        self.spend(effort.evaluations_spent - before)
        return is_over, found

    @property
    def gave_up(self) -> bool:
        """Return whether the last search stopped before it had looked at everything."""
        return self._effort.gave_up
