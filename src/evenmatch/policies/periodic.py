"""`periodic`: collect players, then cut them into matches along one criterion."""

from __future__ import annotations

import math
from itertools import islice

import msgspec

from evenmatch.cost.objective import Objective
from evenmatch.cost.rules import numbers
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs

ROUNDS_OF_MAX = 10_000


class Periodic(msgspec.Struct, frozen=True, kw_only=True):
    """Collect `rounds_of` matches' worth of players, sort them, and cut.

    The pool is flushed when an arrival fills it to rounds_of * k players, or when the longest
    waiting ticket reaches its deadline. Of m players the first m - m mod k in order of arrival
    are sorted by the criterion and cut into matches of neighbours; the rest keep their places and
    deadlines. A match that a hard rule forbids is not made; its tickets wait for the next flush.

    Args:
        rounds_of: Matches per flush, x in the paper; 1 is `greedy`.
        sort: The attribute to sort by; needed with several criteria.
        adaptive: Reserved.

    Source:
        Schlup, Automatic Game Matching, algorithm A_PM.

    Complexity:
        O(m log m) per flush.
    """

    fills = False

    rounds_of: int = 4
    sort: str | None = None
    adaptive: bool = False

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of solo tickets."""
        del seed
        if self.adaptive:
            raise NotSupported("periodic: adaptive comes with a later version")
        if not 1 <= self.rounds_of <= ROUNDS_OF_MAX:
            raise ConfigError(
                f"periodic: rounds_of must be 1 to {ROUNDS_OF_MAX}, got {self.rounds_of}"
            )
        if not queue.format.solo_only:
            raise ConfigError(
                f"policy periodic takes solo tickets: give queue {queue.name} party_sizes = [1]"
            )
        return PeriodicMatcher(queue, self.rounds_of, self._attribute(queue), memory or {})

    def _attribute(self, queue: Queue) -> str | None:
        names = [each.attribute for each in queue.criteria if each.kind != "rematch"]
        if self.sort is not None:
            if self.sort not in names:
                raise ConfigError(
                    f"periodic: sort must be the attribute of a criterion of queue "
                    f"{queue.name} ({', '.join(names) or 'it has none'}), got {self.sort}"
                )
            return self.sort
        if len(set(names)) > 1:
            raise ConfigError(
                f"periodic sorts by one criterion and queue {queue.name} has {len(names)}: "
                f"choose one, e.g. periodic:sort={names[0]}"
            )
        return names[0] if names else None


class PeriodicMatcher(NoJobs):
    """The waiting tickets in order of arrival, and when the pool was last flushed."""

    def __init__(self, queue: Queue, rounds_of: int, attribute: str | None, memory: Memory) -> None:
        self._objective = Objective(queue)
        self._k = queue.format.k
        self._full = rounds_of * self._k
        self._wait_max = math.inf if queue.wait_max is None else queue.wait_max
        self._attribute = attribute
        self._pool: dict[str, Ticket] = {}
        self._newest = 0
        self._flushed_at: float = memory.get("flushed_at", -1.0)
        self._flushed_to: int = memory.get("flushed_to", 0)

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in."""
        del now
        if isinstance(entry, OpenMatch):
            return
        last = next(reversed(self._pool.values()), None)
        self._pool[entry.id] = entry
        self._newest = max(self._newest, entry.sequence)
        if last is not None and entry.age_key < last.age_key:
            self._pool = {t.id: t for t in sorted(self._pool.values(), key=lambda t: t.age_key)}

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        self._pool.pop(entry_id, None)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Flush when an arrival fills the pool or the longest waiting ticket is overdue."""
        is_full = len(self._pool) >= self._full and self._newest > self._flushed_to
        deadline = self._deadline()
        if is_full or deadline < now or (deadline == now and fired):
            matches = self._flush(now)
            return Decision(matches, self._deadline())
        return Decision(wake_at=deadline)

    def memory(self) -> Memory:
        """Return when and up to which ticket the pool was flushed."""
        return {"flushed_at": self._flushed_at, "flushed_to": self._flushed_to}

    def _deadline(self) -> float:
        """Return the first deadline after the last flush; inf if there is none."""
        for ticket in self._pool.values():
            deadline = ticket.enqueued_at + self._wait_max
            if deadline > self._flushed_at:
                return deadline
        return math.inf

    def _flush(self, now: float) -> tuple[Grouping, ...]:
        self._flushed_at, self._flushed_to = now, self._newest
        count = len(self._pool) - len(self._pool) % self._k
        tickets = list(islice(self._pool.values(), count))
        attribute = self._attribute
        if attribute is not None:
            tickets.sort(key=lambda ticket: numbers(ticket, attribute)[0])
        groups = []
        for start in range(0, count, self._k):
            group = sorted(tickets[start : start + self._k], key=lambda t: t.age_key)
            seating = self._objective.seat(group, now=now)
            if seating is not None and seating.ready_at <= now:
                groups.append(Grouping(tuple(ticket.id for ticket in group)))
                for ticket in group:
                    del self._pool[ticket.id]
        return tuple(groups)
