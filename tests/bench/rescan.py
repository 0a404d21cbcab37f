"""The policy `window` without an index: every decision looks at every pair that waits."""

from __future__ import annotations

import math

from evenmatch.criteria.expansion import inverse
from evenmatch.criteria.values import number
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, NoJobs


class RescanMatcher(NoJobs):
    """The waiting tickets in order of age; O(n^2) for each decision."""

    def __init__(self, queue: Queue) -> None:
        rule = queue.rules[0]
        self._attribute = rule.attribute
        self._when = inverse(rule.limit, rule.expand)
        self._pool: list[tuple[float, float, str]] = []
        """(value, instant of entry, id), the oldest first."""

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        assert isinstance(entry, Ticket)
        self._pool.append((number(entry, self._attribute), entry.enqueued_at, entry.id))

    def leave(self, entry_id: str, now: float) -> None:
        self._pool = [waiting for waiting in self._pool if waiting[2] != entry_id]

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Match what may play now, longest waiting first; then look for the next instant."""
        due, wake_at = self._scan(now, fired)
        if not due:
            return Decision((), wake_at)
        taken: set[str] = set()
        groupings = []
        for elder, younger in sorted(due):
            first, second = self._pool[elder][2], self._pool[younger][2]
            if first not in taken and second not in taken:
                taken.update((first, second))
                groupings.append(Grouping((first, second)))
        self._pool = [waiting for waiting in self._pool if waiting[2] not in taken]
        return Decision(tuple(groupings), self._scan(now, fired)[1])

    def _scan(self, now: float, fired: bool) -> tuple[list[tuple[int, int]], float]:
        """Return the pairs that may play, by place in the pool, and the next instant of others."""
        pool, when = self._pool, self._when
        due: list[tuple[int, int]] = []
        wake_at = math.inf
        for place, (value, born, _) in enumerate(pool):
            for older in range(place):
                at = born + when(abs(pool[older][0] - value))
                if at >= wake_at:
                    continue
                if at < now or (at == now and (fired or at == born)):
                    due.append((older, place))
                else:
                    wake_at = at
        return due, wake_at
