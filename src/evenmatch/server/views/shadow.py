"""A shadow beside the live server: both worlds' figures, counted from the same records."""

from __future__ import annotations

import threading
import time
from collections import deque

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.ledger import Ledger
from evenmatch.engine.records import Record
from evenmatch.engine.shadow import ShadowDropped, ShadowEngine, extract, specs_of
from evenmatch.engine.state.state import Tables
from evenmatch.model.inputs import Configure
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.recovery import resolve
from evenmatch.server.views.statistics import wait_stats
from evenmatch.wire.operate import ShadowStats, WorldFigures


class Shadow:
    """A shadow engine, and what the live engine did since it started.

    Args:
        start: The live tables, copied; not touched by anybody else any more.
    """

    def __init__(self, start: Tables) -> None:
        self.since = self.now = start.now
        queues = tuple(start.queues.values())
        self.live = Ledger(start.waiting.values(), queues, waits_most=WAITS_MOST)
        self._queues = dict(start.queues)
        self._world = ShadowEngine(start, resolve, self._count)
        self.engine = self._world.engine
        rows = self.engine.tables.waiting.values()
        self.mine = Ledger(rows, queues, waits_most=WAITS_MOST)

    @property
    def merged(self) -> int:
        """Return how many tickets came for a player who still waits in the shadow."""
        return self._world.merged

    def hear(self, record: Record) -> None:
        """Take a durable record of the live shard.

        Raises:
            ShadowDropped: The shadow cannot go on.
        """
        input_ = record.input
        self.now = input_.now
        self.live.hear(record)
        if isinstance(input_, Configure):
            self._queues = {queue.name: queue for queue in input_.queues}
        self._world.hear(record)

    def _count(self, record: Record) -> None:
        self.mine.hear(record)

    def of(self, queue: str) -> ShadowStats | None:
        """Return the figures of both engines for a queue; None if it has no shadow."""
        policy = self._queues[queue].shadow if queue in self._queues else None
        if policy is None:
            return None
        live, mine = (
            figures_of(ledger, queue, since=self.since, now=self.now)
            for ledger in (self.live, self.mine)
        )
        return ShadowStats(policy, "running", None, self.since, self.now, self.merged, live, mine)


# The sums of one world as figures over the wire.

WAITS_MOST = 1_000
"""Percentiles are those of this many players at the most, the last ones."""


def figures_of(ledger: Ledger, queue: str, *, since: float, now: float) -> WorldFigures:
    """Return the figures of a queue; instants are engine time."""
    sums = ledger.of(queue)
    minutes = (now - since) / 60.0
    return WorldFigures(
        sums.matches,
        sums.matches / minutes if minutes > 0.0 else 0.0,
        sums.players,
        sums.wait / sums.players if sums.players else None,
        wait_stats(sums.waits),
        sums.quality / sums.rated if sums.rated else None,
        sums.bots,
        sums.expired,
        sums.waiting,
        max(0.0, now - sums.entered / sums.waiting) if sums.waiting else None,
    )


# The thread in which a shadow lives, and how it is kept from touching the live shard.
#
# The event loop only puts durable records into a bounded queue. Whatever goes wrong with the
# shadow, an error, a lag, too many tickets, drops it with one line in the log; nothing goes back.

LAG_MAX = 20_000
"""Records that may wait for the shadow; one that is further behind is dropped."""
PUBLISH_EVERY = 0.25
"""Seconds between two looks at the shadow's figures."""
IDLE = 1.0
"""Seconds after which a thread without records looks whether it is still wanted."""


class Shadows:
    """Runs the shadows of all queues in one thread, from durable records.

    Args:
        lag_max: Records that may wait for it.
    """

    def __init__(self, *, lag_max: int = LAG_MAX) -> None:
        self._lag_max = lag_max
        self._engine: Engine | None = None
        self._specs: dict[str, str] = {}
        self._run: _Run | None = None

    def reset(self, engine: Engine) -> None:
        """Start over with the waiting tickets."""
        self._engine = engine
        self._begin()

    def hear(self, record: Record) -> None:
        """Pass a durable record on."""
        if type(record.input) is Configure:
            queues = {queue.name: queue for queue in record.input.queues}
            if specs_of(queues) != self._specs:
                self._begin()
        run = self._run
        if run is not None and record.sequence > run.start and run.reason is None:
            run.records.append(record)
            if len(run.records) > self._lag_max:
                run.drop(f"it is more than {self._lag_max:,} records behind")
            run.has_records.set()

    def of(self, queue: str) -> ShadowStats | None:
        """Return what a queue's shadow did; None if it has none."""
        if queue not in self._specs or self._run is None:
            return None
        return self._run.stats(queue, self._specs[queue])

    def close(self) -> None:
        """End the thread."""
        if self._run is not None:
            self._run.end()

    def _begin(self) -> None:
        self.close()
        assert self._engine is not None
        tables = self._engine.tables
        self._specs, self._run = specs_of(tables.queues), None
        if self._specs:
            # Memory may be ahead of the journal; records up to here are in the copy already.
            self._run = _Run(extract(tables), tuple(self._specs))


class _Run:
    """One shadow and its thread, from one configuration of shadows to the next.

    Args:
        tables: What it starts with.
        queues: Those that have a shadow.
    """

    def __init__(self, tables: object, queues: tuple[str, ...]) -> None:
        self.records: deque[Record] = deque()
        self.has_records = threading.Event()
        self.reason: str | None = None
        self.start: int = tables.sequence  # type: ignore[attr-defined]
        self._queues = queues
        self._tables = tables
        self._published: dict[str, ShadowStats] = {}
        self._is_over = False
        self._thread = threading.Thread(target=self._live, name="shadow", daemon=True)
        self._thread.start()

    def drop(self, reason: str) -> None:
        """Stop the shadow for good, and say why."""
        if self.reason is None:
            self.reason = reason
            log.warning("shadow_dropped", queues=self._queues, reason=reason)
        self.end()

    def end(self) -> None:
        """Stop the shadow without a word."""
        self._is_over = True
        self.records.clear()
        self.has_records.set()

    def stats(self, queue: str, policy: str) -> ShadowStats:
        """Return the figures published last."""
        found = self._published.get(queue)
        if found is None:
            found = ShadowStats(policy, "running", None, 0.0, 0.0, 0, None, None)
        if self.reason is not None:
            found = msgspec.structs.replace(found, state="dropped", reason=self.reason)
        return found

    def _live(self) -> None:
        try:
            shadow = Shadow(self._tables)  # type: ignore[arg-type]
            self._tables = None
            while not self._is_over:
                self._hear_some(shadow)
        except ShadowDropped as why:
            self.drop(str(why))
        except Exception as error:  # noqa: BLE001
            self.drop(repr(error))

    def _hear_some(self, shadow: Shadow) -> None:
        """Hear what has gathered, for a while, and publish what came of it."""
        until = time.monotonic() + PUBLISH_EVERY
        self.has_records.clear()
        while self.records and not self._is_over and time.monotonic() < until:
            shadow.hear(self.records.popleft())
        found = ((queue, shadow.of(queue)) for queue in self._queues)
        self._published = {queue: stats for queue, stats in found if stats is not None}
        if not self.records:
            self.has_records.wait(IDLE)
            # Let more than one record gather: publishing costs more than hearing one.
            time.sleep(0.0 if self._is_over else PUBLISH_EVERY / 5)
