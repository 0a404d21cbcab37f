"""A shadow beside the live server: both worlds' figures, counted from the same records."""

from __future__ import annotations

from evenmatch.engine.ledger import Ledger
from evenmatch.engine.records import Record
from evenmatch.engine.shadow import ShadowEngine
from evenmatch.engine.state.state import Tables
from evenmatch.model.inputs import Configure
from evenmatch.server.runtime.recovery import resolve
from evenmatch.server.views.ledger import WAITS_MOST, figures_of
from evenmatch.wire.operate import ShadowStats


class Shadow:
    """A shadow world and, beside it, what the live world did since.

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
            Dropped: The shadow cannot go on.
        """
        given = record.input
        self.now = given.now
        self.live.hear(record)
        if isinstance(given, Configure):
            self._queues = {queue.name: queue for queue in given.queues}
        self._world.hear(record)

    def _count(self, record: Record) -> None:
        self.mine.hear(record)

    def of(self, queue: str) -> ShadowStats | None:
        """Return both worlds' figures of a queue; None if it has no shadow."""
        policy = self._queues[queue].shadow if queue in self._queues else None
        if policy is None:
            return None
        live, mine = (
            figures_of(ledger, queue, since=self.since, now=self.now)
            for ledger in (self.live, self.mine)
        )
        return ShadowStats(policy, "running", None, self.since, self.now, self.merged, live, mine)
