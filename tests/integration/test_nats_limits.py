"""Servers and streams of NATS with limits: what fits is stored whole, what forgets is refused."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import nats
import pytest

from evenmatch.engine.records import FORMAT, Record
from evenmatch.errors import JournalCorrupt, JournalUnavailable
from evenmatch.journals.base import Segment
from evenmatch.journals.nats import NatsJournal
from evenmatch.journals.nats_state import Documents
from evenmatch.model.inputs import Enqueue
from evenmatch.testing.journals import sample_records
from tests.integration.test_nats_parts import parts
from tests.journal_servers import WHY_NO_NATS, NatsServer, nats_program

pytestmark = pytest.mark.xdist_group("nats")


@pytest.fixture
def name() -> str:
    return f"limits-{os.urandom(8).hex()}"


@contextmanager
def limited(payload: int) -> Iterator[NatsServer]:
    """Give a server with a limit of its own for messages."""
    if nats_program() is None:
        pytest.skip(WHY_NO_NATS)
    server = NatsServer()
    config = server.directory / "config"
    config.write_text(f"{config.read_text()}\nmax_payload: {payload}\n")
    try:
        server.start()
        yield server
    finally:
        server.close()


async def change(server: NatsServer, stream: str, **limits: Any) -> None:
    """Set limits of a stream, as an operator does."""
    client = await nats.connect(server.url)
    config = (await client.jetstream().stream_info(stream)).config
    for limit, value in limits.items():
        setattr(config, limit, value)
    await client.jetstream().update_stream(config)
    await client.close()


async def made(server: NatsServer, name: str) -> None:
    """Make the streams of a journal."""
    journal = NatsJournal(server.url, name=name)
    assert await journal.shards() == []
    await journal.close()


async def keeps_large_batches(server: NatsServer, name: str) -> None:
    """Store what is large, and read it again."""
    journal = NatsJournal(server.url, name=name)
    epoch = await journal.lease("main", "one", 60.0)
    large = [Record(1, Enqueue(0.0, (), key=os.urandom(300_000).hex()), ())]
    await journal.append("main", "one", epoch, 1, large)
    state = os.urandom(300_000)
    await journal.snapshot("main", 1, state)
    await journal.close()
    journal = NatsJournal(server.url, name=name)
    assert [entry.record async for entry in journal.read("main", 1)] == large
    snapshot = await journal.latest_snapshot("main")
    assert snapshot is not None
    assert snapshot.state == state
    await journal.close()


@pytest.mark.parametrize("payload", [8_192, 16_384])
def test_server_that_takes_no_message_of_ours_is_refused(payload: int, name: str) -> None:
    async def main(server: NatsServer) -> None:
        journal = NatsJournal(server.url, name=name)
        with pytest.raises(JournalUnavailable, match="max_payload"):
            await journal.lease("main", "one", 60.0)
        await journal.close()

    with limited(payload) as server:
        asyncio.run(main(server))


def test_large_batches_fit_a_server_with_small_messages(name: str) -> None:
    with limited(65_536) as server:
        asyncio.run(keeps_large_batches(server, name))


def test_large_batches_fit_streams_with_small_messages(nats_server: NatsServer, name: str) -> None:
    async def main() -> None:
        await made(nats_server, name)
        for stream in (f"{name}-log", f"{name}-state"):
            await change(nats_server, stream, max_msg_size=100_000)
        await keeps_large_batches(nats_server, name)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("part", "limits", "named"),
    [
        ("log", {"max_bytes": 200_000}, "max_bytes"),
        ("log", {"max_msgs": 100}, "max_msgs"),
        ("log", {"max_msgs_per_subject": 100}, "max_msgs_per_subject"),
        ("log", {"max_age": 3_600.0}, "max_age"),
        ("state", {"max_age": 3_600.0}, "max_age"),
    ],
)
def test_stream_that_forgets_is_refused(
    nats_server: NatsServer, name: str, part: str, limits: dict[str, Any], named: str
) -> None:
    async def main() -> None:
        await made(nats_server, name)
        await change(nats_server, f"{name}-{part}", **limits)
        journal = NatsJournal(nats_server.url, name=name)
        with pytest.raises(JournalUnavailable, match=f"{name}-{part}.*{named}"):
            await journal.lease("main", "one", 60.0)
        await journal.close()
        # What it still has can be read.
        reader = NatsJournal(nats_server.url, name=name, is_read_only=True)
        assert await reader.shards() == []
        await reader.close()

    asyncio.run(main())


def test_stream_that_refuses_when_it_is_full_is_taken(nats_server: NatsServer, name: str) -> None:
    async def main() -> None:
        await made(nats_server, name)
        await change(nats_server, f"{name}-log", max_bytes=10_000_000, discard="new")
        journal = NatsJournal(nats_server.url, name=name)
        epoch = await journal.lease("main", "one", 60.0)
        assert await journal.append("main", "one", epoch, 1, sample_records(1, 1)) == 1
        await journal.close()

    asyncio.run(main())


POLICIES = {f"queue-{number}": os.urandom(60_000).hex() for number in range(10)}


def segment(first_seq: int) -> Segment:
    return Segment(first_seq, FORMAT, "1.0", POLICIES, 0.0)


def test_starts_that_fit_no_message_are_all_noted(nats_server: NatsServer, name: str) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name)
        for first_seq in (1, 2, 3):
            await journal.begin("main", segment(first_seq))
        await journal.close()
        journal = NatsJournal(nats_server.url, name=name)
        assert await journal.segments("main") == [segment(first_seq) for first_seq in (1, 2, 3)]
        # Only the parts of the newest list stay; of one that fits a message there are none.
        assert len(await parts(journal)) == 1
        kept = [Segment(1, FORMAT, "1.0", {}, 0.0)]
        await journal._documents.change("main", "segments", list[Segment], lambda _: kept)
        assert await journal.segments("main") == kept
        assert await parts(journal) == set()
        await journal.close()

    asyncio.run(main())


def test_list_whose_parts_are_lost_is_damaged(nats_server: NatsServer, name: str) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name)
        await journal.begin("main", segment(1))
        await journal._link.purge(f"{name}-state", journal._link.state_subject("main", "part", ">"))
        with pytest.raises(JournalCorrupt, match="list of segments"):
            await journal.segments("main")
        await journal.close()

    asyncio.run(main())


def test_list_that_is_replaced_while_it_is_read_is_read_again(
    nats_server: NatsServer, name: str
) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name)
        writer = NatsJournal(nats_server.url, name=name)
        await writer.begin("main", segment(1))
        get_parts = Documents.get_parts

        async def late(self: Documents, shard: str, parts: str) -> bytes | None:
            patch.undo()
            await writer.begin("main", segment(2))
            return await get_parts(self, shard, parts)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Documents, "get_parts", late)
            assert await journal.segments("main") == [segment(1), segment(2)]
        await journal.close()
        await writer.close()

    asyncio.run(main())
