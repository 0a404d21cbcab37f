"""Measures how long the engine keeps the event loop busy, by kind of input and by policy.

The engine has no clock. So the shell times each input, and puts a stopwatch around each matcher: a
decision takes what `decide` or `settle` takes, and all that the matcher did since the decision
before to let tickets in and out. What a job takes on its thread is not the loop's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.state import Tables
from evenmatch.model.inputs import Enqueue, Input, Settle
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, JobResult, Matcher, Memory
from evenmatch.server.runtime.lag import RecentDurations

BUDGET = 0.025
"""Seconds of the loop that a decision may take."""
RECENT_SECONDS = 300.0
"""A policy is judged by its decisions of this time."""
AGAIN_AND_AGAIN = 10
"""Decisions over the budget in that time from which on a policy is called slow."""


class RecentDecisions(msgspec.Struct, frozen=True):
    """The recent decisions of a queue's policy, and how long they kept the loop busy.

    Args:
        decisions: Of the last five minutes.
        over: How many of them were over the budget.
        longest: Seconds of the longest.
    """

    queue: str
    policy: str
    decisions: int
    over: int
    longest: float

    @property
    def is_slow(self) -> bool:
        """Return whether decisions repeatedly exceed the budget."""
        return self.over >= AGAIN_AND_AGAIN

    def __str__(self) -> str:
        """Say it in a sentence."""
        return (
            f"policy {self.policy} of queue {self.queue} is slow: {self.over:,} of its "
            f"{self.decisions:,} decisions of the last {RECENT_SECONDS / 60:g} minutes took longer "
            f"than {BUDGET * 1000:g} ms, the longest {_span(self.longest)}"
        )


class Timings:
    """Measures inputs and decisions on one loop.

    Args:
        handled: Told of the seconds of an input, its kind and its queue.
        decided: Told of the seconds of a decision, and its queue.
        clock: Seconds, only differences count.
    """

    def __init__(
        self,
        handled: Callable[[float, str, str], None] | None = None,
        decided: Callable[[float, str], None] | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.clock = clock
        self._handled = handled
        self._decided = decided
        self._recent: dict[tuple[str, str], RecentDurations] = {}
        self._began = clock()

    def input(self, input_: Input, queue: str, began: float) -> None:
        """Count an input that was handed in at an instant of `clock` and is dealt with now."""
        if self._handled is not None:
            self._handled(self.clock() - began, type(input_).__name__.lower(), queue)

    def watch(self, queue: Queue, matcher: Matcher) -> Matcher:
        """Return a matcher with a stopwatch around it."""
        return _TimedMatcher(matcher, queue, self)

    def decision(self, queue: Queue, seconds: float) -> None:
        """Count a decision."""
        if self._decided is not None:
            self._decided(seconds, queue.name)
        key = (queue.name, queue.policy)
        recent = self._recent.get(key)
        if recent is None:
            recent = self._recent[key] = RecentDurations(RECENT_SECONDS, BUDGET)
        recent.add(self.clock() - self._began, seconds)

    def recent(self, name: str, engine: Engine) -> RecentDecisions:
        """Return the recent decisions of the policy that works in a queue."""
        pool = engine.pools.get(name)
        policy = "" if pool is None else pool.queue.policy
        recent = self._recent.get((name, policy))
        found = (0, 0, 0.0) if recent is None else recent.of(self.clock() - self._began)
        return RecentDecisions(name, policy, *found)

    def slow(self, engine: Engine) -> list[RecentDecisions]:
        """Return the policies that are slow, in the order of their queues."""
        found = [self.recent(name, engine) for name in engine.pools]
        return [each for each in found if each.is_slow]

    def begin(self, engine: Engine) -> None:
        """Forget what letting the tickets of a recovered engine in took: no loop waited for it."""
        for pool in engine.pools.values():
            if isinstance(pool.matcher, _TimedMatcher):
                pool.matcher.forget()


class _TimedMatcher:
    """A matcher and what it takes; whatever else it has or can do is its own."""

    def __init__(self, matcher: Matcher, queue: Queue, timings: Timings) -> None:
        self._matcher = matcher
        self._queue = queue
        self._timings = timings
        self._clock = timings.clock
        self._spent = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._matcher, name)

    def forget(self) -> None:
        self._spent = 0.0

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        began = self._clock()
        self._matcher.enter(entry, now)
        self._spent += self._clock() - began

    def leave(self, entry_id: str, now: float) -> None:
        began = self._clock()
        self._matcher.leave(entry_id, now)
        self._spent += self._clock() - began

    def decide(self, now: float, fired: bool = False) -> Decision:
        began = self._clock()
        try:
            return self._matcher.decide(now, fired)
        finally:
            self._end(began)

    def settle(self, result: JobResult, now: float) -> Decision:
        began = self._clock()
        try:
            return self._matcher.settle(result, now)
        finally:
            self._end(began)

    def memory(self) -> Memory:
        return self._matcher.memory()

    def _end(self, began: float) -> None:
        spent, self._spent = self._spent, 0.0
        self._timings.decision(self._queue, spent + self._clock() - began)


def queue_of(input_: Input, tables: Tables) -> str:
    """Return the queue that an input is about, the first of several; empty where it names none.

    A name that a caller made up is none of ours.
    """
    if isinstance(input_, Enqueue):
        named = input_.tickets[0].queues if input_.tickets else ("",)
        name = next(iter(named or tables.queues), "")
    elif isinstance(input_, Settle):
        name = input_.queue
    else:
        row = tables.waiting.get(getattr(input_, "ticket", ""))
        kept_match = tables.matches.get(getattr(input_, "match", ""))
        name = (
            next(iter(row.queues), "")
            if row is not None
            else kept_match.match.queue
            if kept_match
            else ""
        )
    return name if name in tables.queues else ""


def _span(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1.0 else f"{seconds:.1f} s"
