"""Snapshots keep recovery quick, and records that they make superfluous are deleted.

records --every so often--> a snapshot --stored--> what is old and no longer needed goes
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from evenmatch.engine.records import FORMAT
from evenmatch.engine.shard import Shard
from evenmatch.engine.state.snapshot import encode_snapshot, take
from evenmatch.journals.base import Journal
from evenmatch.model.queue import DAY
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.recovery import ShardPlan

SNAPSHOT_EVERY = 50_000
"""Records between two snapshots."""
EVENTS_EACH = 4
"""Events for each of these records that make a snapshot due as well; only arrays bring as many."""
LOOK_EVERY = 0.01
"""Seconds between two looks whether the journal has caught up."""
PRUNE_PAUSE = 0.02
"""Seconds between two slices of old records that are deleted, for others to write in."""
PRUNE_END_SECONDS = 1.0
"""How long a slice that is being deleted may take, where the server stops."""


class Snapshots:
    """Decides when snapshots of a shard are taken, and which may be stored.

    A snapshot is taken at once, encoded in a thread, and stored when the journal has its last
    record. A shard that fails meanwhile is rebuilt with another past under the same numbers: its
    snapshots are thrown away, or recovery would read tickets that nobody acknowledged, and miss
    some that were.

    Args:
        journal: Where they are stored.
        plan: Of the shard; its `keep_days` says how old records get that recovery does not need.
        every: Records between two of them; fewer where they are large, see `EVENTS_EACH`.
        wall: The wall clock, Unix seconds.
    """

    def __init__(
        self, journal: Journal, plan: ShardPlan, every: int, wall: Callable[[], float] = time.time
    ) -> None:
        self._journal = journal
        self._old = OldRecords(journal, plan.shard, plan.settings.keep_days * DAY, wall)
        self._name = plan.shard
        self._every = every
        self._shard: Shard | None = None
        self._durable = 0
        self.format = FORMAT
        # The record of the newest one, and the record from which the next one is due.
        self._at = self._due = 0
        # Durable events that the newest one does not cover.
        self._events = 0
        self._task: asyncio.Task[None] | None = None

    def follow(self, shard: Shard, *, durable: int, stored: int, events: int) -> None:
        """Go on with a shard recovered from a snapshot after record `stored`, and events since."""
        self._shard, self._durable, self._events = shard, durable, events
        self._at, self._due = stored, stored + self._every

    @property
    def behind(self) -> int:
        """Return how many durable records the newest snapshot does not include."""
        return self._durable - self._at

    def committed(self, sequence: int, events: int = 0) -> None:
        """Note what is durable, with how many more events, and begin a snapshot if one is due."""
        self._durable = sequence
        self._events += events
        is_due = sequence >= self._due or self._events >= EVENTS_EACH * self._every
        if is_due and self._task is None and self._shard is not None:
            self._begin()

    async def finish(self, *, with_last: bool) -> None:
        """Wait for the snapshot that is on its way, and take a last one of what is new."""
        if self._task is not None:
            await asyncio.wait([self._task])
        # Meanwhile the shard may have failed.
        if with_last and self._durable > self._at and self._shard is not None:
            await asyncio.wait([self._begin()])

    async def stop(self, *, with_last: bool) -> None:
        """Finish, and begin to delete nothing more; `close` waits for what is being deleted."""
        self._old.end()
        await self.finish(with_last=with_last)

    async def close(self) -> None:
        """End the deletion of old records."""
        await self._old.stop(PRUNE_END_SECONDS)

    def drop(self) -> None:
        """Store nothing more of the shard: it has failed, maybe half-way through an input."""
        self._shard = None

    async def forget(self) -> None:
        """Drop the shard, and wait until nothing of it is on its way."""
        self.drop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._old.stop(0.0)

    def _begin(self) -> asyncio.Task[None]:
        assert self._shard is not None
        self._events = 0
        self._task = asyncio.create_task(self._take(self._shard))
        self._task.add_done_callback(self._done)
        return self._task

    async def _take(self, shard: Shard) -> None:
        # It may have failed since the snapshot fell due, a turn of the loop ago.
        if self._shard is not shard:
            return
        snapshot = take(shard.engine, self.format)
        sequence = snapshot.tables.sequence
        state = await asyncio.to_thread(encode_snapshot, snapshot)
        while self._durable < sequence and self._shard is shard:
            await asyncio.sleep(LOOK_EVERY)
        if self._shard is shard:
            await self._journal.snapshot(self._name, sequence, state)
            self._at, self._due = sequence, sequence + self._every
            self._old.begin()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._due = self._durable + self._every
            log.error(
                "snapshot_failed",
                shard=self._name,
                error=str(error),
                consequence="recovery takes longer",
            )


class OldRecords:
    """Deletes what is older than the operator keeps and recovery does not need.

    A slice after the other, which may take minutes: nobody waits for it.

    Args:
        journal: Where the records are.
        shard: Whose they are.
        keep: Seconds for which they are kept.
        wall: The wall clock, Unix seconds.
    """

    def __init__(
        self, journal: Journal, shard: str, keep: float, wall: Callable[[], float]
    ) -> None:
        self._journal = journal
        self._shard = shard
        self._keep = keep
        self._wall = wall
        self._task: asyncio.Task[None] | None = None
        self._is_ended = False

    def begin(self) -> None:
        """Begin to delete, unless that is under way."""
        if self._task is None and not self._is_ended:
            self._task = asyncio.create_task(self._delete())
            self._task.add_done_callback(self._done)

    def end(self) -> None:
        """Begin nothing from now on, and end after the present slice."""
        self._is_ended = True

    async def stop(self, patience: float) -> None:
        """Leave the rest for another time.

        Args:
            patience: Seconds for the present slice: a statement that is cancelled costs some
                journals their connection.
        """
        if (task := self._task) is not None:
            await asyncio.wait([task], timeout=patience)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _delete(self) -> None:
        before, count = self._wall() - self._keep, 0
        while found := await self._journal.forget(self._shard, before):
            count += found
            if self._is_ended:
                break
            await asyncio.sleep(PRUNE_PAUSE)
        if count:
            log.info("records_deleted", shard=self._shard, records=count, older_than=before)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning(
                "records_not_deleted",
                shard=self._shard,
                error=str(error),
                consequence="tried again after the next snapshot",
            )
