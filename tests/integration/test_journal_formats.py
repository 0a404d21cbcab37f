"""What a version with an older format can read of a journal that a newer one writes."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from evenmatch.engine.records import FORMAT
from evenmatch.errors import JournalCorrupt
from evenmatch.journals import nats, postgres_link, sqlite_file
from evenmatch.journals.base import Segment
from evenmatch.journals.opening import open_journal
from evenmatch.testing.journals import sample_records
from tests.integration.test_serve_journal import address as address

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("postgres")]
OLD = FORMAT - 1


@contextmanager
def older_version() -> Iterator[None]:
    """Let the adapters know the older formats only."""
    with pytest.MonkeyPatch.context() as patched:
        for module in (nats, postgres_link, sqlite_file):
            patched.setattr(module, "FORMAT", OLD)
        yield


async def write(address: str, sequence: int, number: int) -> None:
    """Begin a segment of a format, and append a record to it."""
    journal = open_journal(address)
    epoch = await journal.lease("s0", "a", 30.0)
    await journal.begin("s0", Segment(sequence, number, "0", {}, 0.0))
    await journal.append("s0", "a", epoch, sequence, sample_records(sequence, 1))
    await journal.close()


async def read(address: str) -> list[int]:
    journal = open_journal(address)
    try:
        await journal.last("s0")
        return [each.record.sequence async for each in journal.read("s0", 1)]
    finally:
        await journal.close()


def test_older_version_reads_and_writes_on_until_the_format_is_raised(address: str) -> None:
    async def scene() -> None:
        with older_version():
            await write(address, 1, OLD)
        await write(address, 2, OLD)
        with older_version():
            await write(address, 3, OLD)
            assert await read(address) == [1, 2, 3]
        await write(address, 4, FORMAT)
        # What a server has raised stays so, whatever it is told later.
        await write(address, 5, OLD)
        assert await read(address) == [1, 2, 3, 4, 5]
        with older_version(), pytest.raises(JournalCorrupt, match=f"has format {FORMAT}"):
            await read(address)

    asyncio.run(scene())
