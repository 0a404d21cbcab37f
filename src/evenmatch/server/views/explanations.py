"""Explains in a thread why tickets wait, from a copy of the pool made on the event loop.

On the loop an explanation costs a shallow copy of its pools. The thread takes one ticket, or a
slice of the longest waiting, at a time, so that whoever asks about one ticket waits for no batch.
What was told is told again until the pool has changed materially: until one in a hundred waiting
tickets has come or gone, a queue was changed or stopped, or the seconds in its sentences are wrong.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.errors import Overloaded
from evenmatch.explain.explanations import Explainer
from evenmatch.explain.snapshot import (
    ExplanationSubject,
    QueueSnapshot,
    snapshot_of,
    subject_of,
)
from evenmatch.model.explanation import Explanation, LongestWaiting, LongWait
from evenmatch.server.http.responses import unknown_queue
from evenmatch.server.runtime.runtime import Runtime

MATERIAL = 0.01
"""Part of the waiting tickets that may come or go before an explanation is made anew."""
FRESH = 1.0
"""Seconds for which an explanation may be told again: it says how long things take."""
FRESH_LINES = 2.0
"""The same for the longest waiting."""
AT_ONCE = 8
"""Tickets that are looked at at once: each look holds copies of the ticket's pools."""
ASKING_MAX = 1_000
"""Questions that wait for their turn; more are refused."""
KEPT = 1_000
"""Explanations that are kept."""
SLICE = 16
"""Lines that the thread makes at a time: a few milliseconds."""

T = TypeVar("T")


class Mark(msgspec.Struct, frozen=True):
    """A state of the queues of a ticket; explanations of equal states are equal."""

    now: float
    changed: int
    version: int
    stopped: tuple[str, ...]
    churn: int
    waiting: int

    def is_as_good_as(self, newer: Mark, fresh: float) -> bool:
        """Return whether an explanation made at this mark still holds at a newer one."""
        return (
            newer.now - self.now < fresh
            and (newer.changed, newer.version) == (self.changed, self.version)
            and newer.stopped == self.stopped
            and newer.churn - self.churn <= MATERIAL * self.waiting
        )


class LongestWaitingCache(msgspec.Struct, frozen=True):
    """The explanations of the longest waiting tickets that somebody has asked for."""

    mark: Mark
    most: int
    told: LongestWaiting


class Explanations:
    """Explains why tickets wait, and keeps the explanations.

    Args:
        runtime: The shard.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._one, self._many = Explainer(), Explainer()
        # Made for the first question: many servers are never asked.
        self._thread: ThreadPoolExecutor | None = None
        self._told: OrderedDict[str, tuple[Mark, Explanation]] = OrderedDict()
        self._lines: dict[str, LongestWaitingCache] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._few = asyncio.Semaphore(AT_ONCE)
        self._asking = 0

    async def of(self, ticket_id: str) -> Explanation:
        """Return why a ticket waits, or how it ended.

        Raises:
            UnknownTicket: It was never accepted.
            Forgotten: It ended long ago.
            Overloaded: Too many ask.
        """
        with self._queuing():
            async with self._few:
                return await self._of(ticket_id)

    async def _of(self, ticket_id: str) -> Explanation:
        now = self._runtime.now()

        def query(engine: Engine) -> tuple[Mark, ExplanationSubject | Explanation]:
            view = engine.view(ticket_id)
            mark = mark_of(engine, view.changed, now)
            if view.state != "waiting":
                return mark, self._one.explain(subject_of(engine, ticket_id, now))
            known = self._told.get(ticket_id)
            if known is not None and known[0].is_as_good_as(mark, FRESH):
                return known
            return mark, subject_of(engine, ticket_id, now)

        mark, found = await self._runtime.look(query)
        if isinstance(found, Explanation):
            return found
        explanation = await self._in_thread(lambda: self._one.explain(found))
        self._told[ticket_id] = (mark, explanation)
        self._told.move_to_end(ticket_id)
        if len(self._told) > KEPT:
            self._told.popitem(last=False)
        return explanation

    async def longest(self, queue: str, most: int) -> LongestWaiting:
        """Return a line for each of the longest waiting tickets of a queue.

        Whoever asks while they are being made gets the same.

        Raises:
            UnknownQueue: There is no such queue.
            Overloaded: Too many ask.
        """
        if self._runtime.failure is None and queue not in self._runtime.engine.pools:
            # Locks are kept by queue: none for names that anybody makes up.
            raise unknown_queue(queue, self._runtime.engine.pools)
        with self._queuing():
            async with self._turns.setdefault(queue, asyncio.Lock()):
                return await self._longest(queue, most)

    async def _longest(self, queue: str, most: int) -> LongestWaiting:
        now = self._runtime.now()

        def query(engine: Engine) -> tuple[Mark, QueueSnapshot | LongestWaiting]:
            if queue not in engine.pools:
                raise unknown_queue(queue, engine.pools)
            mark = mark_of(engine, 0, now)
            known = self._lines.get(queue)
            if (
                known is not None
                and known.most >= min(most, known.told.waiting)
                and known.mark.is_as_good_as(mark, FRESH_LINES)
            ):
                return known.mark, known.told
            return mark, snapshot_of(engine, queue, now)

        mark, found = await self._runtime.look(query)
        if isinstance(found, QueueSnapshot):
            lines = tuple(await self._made(found, most))
            found = LongestWaiting(queue, now, len(found.tickets), lines)
            self._lines[queue] = LongestWaitingCache(mark, most, found)
        return LongestWaiting(queue, found.at, found.waiting, found.tickets[:most])

    async def _made(self, scene: QueueSnapshot, most: int) -> list[LongWait]:
        """Return the lines of a queue, made slice by slice."""
        lines: Iterator[LongWait] = self._many.longest(scene, most)
        waits: list[LongWait] = []
        while True:
            some = await self._in_thread(lambda: list(islice(lines, SLICE)))
            waits += some
            if len(some) < SLICE:
                return waits

    @contextmanager
    def _queuing(self) -> Iterator[None]:
        """Count a question while it waits and is answered."""
        if self._asking >= ASKING_MAX:
            raise Overloaded("too many explanations were requested at once; try again later")
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1

    async def _in_thread(self, tell: Callable[[], T]) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="explain")
        return await asyncio.get_running_loop().run_in_executor(self._thread, tell)


def mark_of(engine: Engine, changed: int, now: float) -> Mark:
    """Return the mark of the engine as it is now.

    Args:
        engine: The engine.
        changed: The record of the last change of a ticket; 0 where no ticket is meant.
        now: Engine time.
    """
    tables, counters = engine.tables, engine.tables.counters
    stopped = [*tables.paused, *(name for name, pool in engine.pools.items() if pool.fault)]
    gone = counters.matched + counters.cancelled + counters.expired
    # Whoever is in a proposal is in no pool, and comes back when it fails.
    checks = counters.proposed + counters.checks_failed + counters.dissolved
    churn = counters.accepted + gone + checks
    return Mark(now, changed, tables.version, tuple(stopped), churn, len(tables.waiting))
