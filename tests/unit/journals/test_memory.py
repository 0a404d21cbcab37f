"""What only the journal in memory does; `check_journal` covers what all adapters do."""

import asyncio

import pytest

from evenmatch.errors import JournalCorrupt
from evenmatch.journals.memory import MemoryJournal
from evenmatch.testing.journals import sample_records


def test_records_that_both_snapshots_cover_are_dropped() -> None:
    async def main() -> None:
        journal = MemoryJournal()
        epoch = await journal.lease("main", "one", 60.0)
        for first in range(1, 1001, 10):
            await journal.append("main", "one", epoch, first, sample_records(first, 10))
            await journal.snapshot("main", first + 9, b"state")
            assert len(journal.shelves["main"].rows) <= 20
        assert [entry.record.sequence async for entry in journal.read("main", 991)] == list(
            range(991, 1001)
        )
        with pytest.raises(JournalCorrupt, match="up to 990 are no longer in memory"):
            [entry async for entry in journal.read("main", 990)]
        assert [entry async for entry in journal.read("main", 1001)] == []
        assert (await journal.last("main"))[0] == 1000

    asyncio.run(main())
