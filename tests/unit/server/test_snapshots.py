"""Snapshots of a shard that has failed."""

import asyncio

from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.queue import Queue
from evenmatch.server.runtime.recovery import ShardPlan, Snapshots


def test_nothing_is_taken_of_a_shard_that_has_failed() -> None:
    async def main() -> None:
        journal = MemoryJournal()
        snapshots = Snapshots(journal, ShardPlan((Queue("duel"),)), 1)
        await snapshots.forget()
        snapshots.committed(5)
        await snapshots.finish(with_last=True)
        assert snapshots.behind == 5
        assert await journal.latest_snapshot("s0") is None

    asyncio.run(main())
