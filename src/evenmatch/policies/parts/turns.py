"""Work in turns: a call does so much, and what is left goes on at the next turn.

A search is a generator that yields when this turn's effort is used up. The turn after an input is
the wake-up of the same instant, the one after a wake-up comes at the next instant of the time grid.
Until then nothing goes on, however often the matcher is asked, unless somebody enters or leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

from evenmatch.cost.expansion import TICKS
from evenmatch.policies.parts.group_search import Effort, Group, Search


class Turns:
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
        self.left = 0
        self.evaluations = 0

    def spend(self, count: int) -> None:
        """Note evaluations."""
        self.left -= count
        self.evaluations += count

    def news(self) -> None:
        """Note that somebody has entered or left: the next call may go on."""
        self._has_news = True

    def restart(self) -> None:
        """Let an interrupted search begin again, with what it may still spend."""
        self._search = None

    def begin(self, now: float, fired: bool) -> float | None:
        """Begin a turn; return the instant until which nothing goes on, None if this is one."""
        resume_at = self._resume_at
        if not self._has_news and (now < resume_at or (now == resume_at and not fired)):
            return resume_at
        self._has_news, self._resume_at, self.left = False, -math.inf, self._most
        return None

    def end(self, wake_at: float, is_done: bool, now: float, fired: bool) -> float:
        """Return when to be asked again, after a turn whose next instant would be `wake_at`."""
        if is_done:
            return wake_at
        if wake_at <= now:
            wake_at = math.nextafter(now, math.inf) if fired else now
            if fired:
                wake_at = max(wake_at, now + 1.0 / TICKS)
        self._resume_at = wake_at
        return wake_at

    def run(self, key: Hashable, make: Callable[[Effort], Search]) -> tuple[bool, Group | None]:
        """Begin a search or go on with it; return whether it is over, and what it has found.

        Args:
            key: Tells which search it is: another one takes the place of one that is interrupted.
            make: Begins it.
        """
        if self.left <= 0:
            return False, None
        if key != self._key:
            self._key, self._search = key, None
            self._effort = Effort(0, self._total, self._judged)
        effort = self._effort
        if self._search is None:
            self._search = make(effort)
        before, effort.left = effort.spent, self.left
        try:
            next(self._search)
            is_over, found = False, None
        except StopIteration as done:
            is_over, found = True, done.value
            self._key = self._search = None
        self.spend(effort.spent - before)
        return is_over, found

    @property
    def gave_up(self) -> bool:
        """Return whether the last search stopped before it had looked at everything."""
        return self._effort.gave_up
