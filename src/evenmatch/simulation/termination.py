"""Decides when a simulation is over, although some policies ask to be woken for ever.

When no arrival and no leave is left, a run goes on while a deadline or an expansion of a waiting
ticket lies ahead, or while players are asked for their readiness. After that it goes on until every
queue that still asks for it was woken once, made no match, plans none, and left its memory
unchanged but for its clock. The plan of a job may make the match later; until it is there, nothing
is over, and then the memory after it is compared, which may have counted one job more.

Some searches learn from finding nothing, so a queue is also given up after `SEARCHES_MAX` of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evenmatch.criteria.expansion import inverse, last_change, round_up
from evenmatch.criteria.registry import NUMERIC, comparison_of
from evenmatch.criteria.rules import relative
from evenmatch.criteria.values import numbers
from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.pool import Pool
from evenmatch.model.events import Event, JobAsked, JobSettled
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import Ticket

IDLE_MAX = 10_000
"""Wakes without a match after which a policy whose memory keeps changing is given up."""
SEARCHES_MAX = 65
"""Jobs in a row without a match after which a queue is given up. Whom `rolling` searched for in
vain rests for 64 searches at the most, so by then everybody has taken part in one more."""


class _Search(NamedTuple):
    """A job whose plan is on its way: by number, with the memory before the wake that asked."""

    memory: Mapping[str, object]
    asked_at: float
    number: int


class Termination:
    """Watches the wakes after the last input.

    Args:
        engine: What is woken.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._busy_until: float | None = None
        self._idle: set[str] = set()
        self._idle_wakes = 0
        self._due: dict[str, Mapping[str, object]] = {}
        self._searches: dict[str, _Search] = {}
        # Jobs without a match by queue.
        self._in_vain: Counter[str] = Counter()

    def is_over(self) -> bool:
        """Return whether no further wake can end a ticket."""
        if self._engine.tables.proposals:
            # Whoever comes back from a ready-check may have a deadline or be held back.
            self._busy_until = None
            return False
        if not self._engine.tables.waiting or self._idle_wakes >= IDLE_MAX:
            return True
        pools = self._engine.pools.items()
        return all(name in self._idle or pool.wake_at == math.inf for name, pool in pools) and (
            self._engine.next_wakeup > self._last_change()
        )

    def before(self, now: float) -> None:
        """Note the memories of the queues that are about to be woken."""
        self._due = {
            name: pool.matcher.memory()
            for name, pool in self._engine.pools.items()
            if pool.wake_at <= now
        }

    def after(self, now: float, events: tuple[Event, ...]) -> None:
        """Judge a wake by its result; a job that it requested may still come to nothing."""
        if self.settled(events):
            return
        if self._engine.tables.proposals or now <= self._last_change():
            return
        self._idle_wakes += 1
        for name, known in self._due.items():
            running = self._engine.pools[name].slot.running
            if running is None:
                self._judge(name, known, now)
            else:
                self._searches.setdefault(name, _Search(known, now, running.job.number))

    def settled(self, events: tuple[Event, ...]) -> bool:
        """Return whether anything happened but for jobs that come and go; then all begins anew."""
        if all(isinstance(event, JobAsked | JobSettled) for event in events):
            for event in events:
                if isinstance(event, JobSettled) and event.queue in self._searches:
                    self._judge_search(event.queue, self._searches.pop(event.queue))
            return False
        self._idle.clear()
        self._idle_wakes = 0
        self._searches.clear()
        self._in_vain.clear()
        return True

    def _judge_search(self, name: str, search: _Search) -> None:
        """Judge a job whose plan made no match; that it was counted is no change of memory."""
        self._in_vain[name] += 1
        memory = self._engine.pools[name].matcher.memory()
        known = {
            key: memory[key] if memory.get(key) == search.number else value
            for key, value in search.memory.items()
        }
        self._judge(name, known, search.asked_at)

    def _judge(self, name: str, known: Mapping[str, object], now: float) -> None:
        """Note that a queue is idle if it plans nothing and has learnt nothing since `now`."""
        pool = self._engine.pools[name]
        if not pool.starts() and (
            self._in_vain[name] >= SEARCHES_MAX
            or is_same_but_clock(known, pool.matcher.memory(), now)
        ):
            self._idle.add(name)

    def _last_change(self) -> float:
        """Return the last deadline or expansion; nobody enters any more, so it is found once."""
        if self._busy_until is None:
            pools = self._engine.pools.values()
            self._busy_until = max((_last_change(pool) for pool in pools), default=-math.inf)
        return self._busy_until


def is_same_but_clock(old: object, new: object, now: float) -> bool:
    """Return whether two memories differ only by instants that the wake at `now` moved.

    A number is such an instant if it was not later than `now` and is not earlier any more.

    >>> is_same_but_clock({"round_at": 6.0, "seen": 3}, {"round_at": 8.0, "seen": 3}, 6.0)
    True
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(
            is_same_but_clock(old[key], new[key], now) for key in old
        )
    if isinstance(old, str) or isinstance(new, str):
        return old == new
    if isinstance(old, Sequence) and isinstance(new, Sequence):
        return len(old) == len(new) and all(
            is_same_but_clock(a, b, now) for a, b in zip(old, new, strict=True)
        )
    if isinstance(old, int | float) and isinstance(new, int | float):
        return old == new or old <= now <= new
    return old == new


def _last_change(pool: Pool) -> float:
    """Return the last deadline or growth of a limit among a queue's waiting tickets."""
    tickets = list(pool.tickets.values())
    if not tickets:
        return -math.inf
    latest = max(ticket.enqueued_at for ticket in tickets)
    wait_max = pool.queue.wait_max
    at = -math.inf if wait_max is None else latest + wait_max
    at = max([at, *pool.delayed_until.values()])
    if (conditions := pool.objective.rules.conditions) is not None:
        at = max(at, round_up(latest + conditions.waits[-1]))
    for rule in pool.queue.rules:
        if rule.expand is not None:
            at = max(at, latest + _growth_ends(rule, tickets, pool.queue))
    return at


def _growth_ends(rule: Rule, tickets: list[Ticket], queue: Queue) -> float:
    """Return the wait after which a rule's limit grows no more, or forbids nothing any more."""
    last = last_change(rule.expand, rule.limit)
    if last < math.inf:
        return round_up(last)
    if rule.kind not in NUMERIC:
        return inverse(rule.limit, rule.expand)(comparison_of(rule, queue).gap_max(tickets))
    if rule.unit == "percentile":
        return inverse(rule.limit, rule.expand)(1.0)
    values = [value for ticket in tickets for value in numbers(ticket, rule.attribute)]
    gap = max(values) - min(values)
    if rule.measure == "sum":
        gap = 2.0 * max(queue.format.players) * max(map(abs, values))
    if rule.unit == "relative":
        shares = [relative(gap, numbers(ticket, rule.attribute)) for ticket in tickets]
        gap = max((share for share in shares if share < math.inf), default=0.0)
    return inverse(rule.limit, rule.expand)(gap)
