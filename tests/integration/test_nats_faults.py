"""The NATS journal when connections are cut, servers killed and owners replaced."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing

import msgspec
import nats
import pytest

from evenmatch.engine.records import Record
from evenmatch.errors import ConfigError, JournalCorrupt, JournalUnavailable
from evenmatch.journals.nats import NatsJournal, encode_head
from evenmatch.journals.nats_link import NatsMessage, parse_address
from evenmatch.model.inputs import Enqueue
from evenmatch.testing.journals import sample_records
from tests.extent import kills, more
from tests.journal_faults import CuttingProxy, KilledServer
from tests.journal_servers import WHY_NO_NATS, NatsCluster, NatsServer, nats_program, started

pytestmark = pytest.mark.xdist_group("nats")

KILLS = kills(5, 100)
LEADER_KILLS = kills(2, 20)


@pytest.fixture
def name() -> str:
    return f"faults-{os.urandom(8).hex()}"


@pytest.fixture
def own_server() -> Iterator[NatsServer]:
    """Give a server that the test may kill."""
    if nats_program() is None:
        pytest.skip(WHY_NO_NATS)
    with started(NatsServer) as server:
        yield server


async def stored(journal: NatsJournal, first: int = 1) -> list[int]:
    return [entry.record.sequence async for entry in journal.read("main", first)]


def is_append(block: bytes) -> bool:
    return b'"kind":"batch"' in block


def through_proxy(
    server: NatsServer, name: str, test: Callable[[CuttingProxy, NatsJournal], Awaitable[None]]
) -> None:
    async def main() -> None:
        async with CuttingProxy(server.port, is_append) as proxy:
            journal = NatsJournal(server.url_at(proxy.port), name=name)
            try:
                await test(proxy, journal)
            finally:
                await journal.close()

    asyncio.run(main())


def test_a_message_that_arrives_after_the_batch_was_looked_up_is_not_stored(
    nats_server: NatsServer, name: str
) -> None:
    async def main(proxy: CuttingProxy, journal: NatsJournal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, 2))
        then = journal._tips["main"]
        proxy.cut_requests = True
        with pytest.raises(JournalUnavailable):
            await journal.append("main", "one", epoch, 3, sample_records(3, 2))
        assert then.head is not None
        late = msgspec.structs.replace(then.head, first_seq=3, last_seq=4)
        subject = f"{name}-log.main"
        assert await journal._link.publish(subject, encode_head(late, "main", b""), then.at) is None
        assert await stored(journal) == [1, 2]

    through_proxy(nats_server, name, main)


def test_a_leader_that_does_not_know_the_last_message_yet_is_asked_again(
    nats_server: NatsServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name, timeout=1.0)
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, 2))
        publish, refusals = journal._link.publish, 3

        async def refuse(subject: str, data: bytes, expected: int | None = None) -> int | None:
            nonlocal refusals
            refusals -= 1
            return None if refusals >= 0 else await publish(subject, data, expected)

        monkeypatch.setattr(journal._link, "publish", refuse)
        assert await journal.append("main", "one", epoch, 3, sample_records(3, 2)) == 4
        refusals = 1_000
        with pytest.raises(JournalUnavailable, match="refuses records 5 to 6"):
            await journal.append("main", "one", epoch, 5, sample_records(5, 2))
        refusals = 0
        assert await journal.append("main", "one", epoch, 5, sample_records(5, 2)) == 6
        assert await stored(journal) == [1, 2, 3, 4, 5, 6]
        await journal.close()

    asyncio.run(main())


def test_what_is_too_large_for_a_message_is_stored_in_parts(
    nats_server: NatsServer, name: str
) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name)
        epoch = await journal.lease("main", "one", 60.0)
        large = [Record(n, Enqueue(0.0, (), key="k" * 300_000), ()) for n in range(2, 12)]
        await journal.append("main", "one", epoch, 1, sample_records(1, 1))
        await journal.append("main", "one", epoch, 2, large)
        await journal.append("main", "one", epoch, 12, sample_records(12, 1))
        state = os.urandom(2_500_000)
        await journal.snapshot("main", 12, state)
        await journal.close()
        journal = NatsJournal(nats_server.url, name=name)
        found = [entry.record async for entry in journal.read("main", 1)]
        assert found == [*sample_records(1, 1), *large, *sample_records(12, 1)]
        snapshot = await journal.latest_snapshot("main")
        assert snapshot is not None
        assert snapshot.state == state
        await journal.close()

    asyncio.run(main())


def test_reading_finds_any_record_among_many_batches(nats_server: NatsServer, name: str) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name)
        epoch = await journal.lease("main", "one", 60.0)
        other = await journal.lease("other", "one", 60.0)
        for number in range(150):
            first = 2 * number + 1
            await journal.append("main", "one", epoch, first, sample_records(first, 2))
            await journal.append("other", "one", other, number + 1, sample_records(number + 1, 1))
        for first in (1, 2, 3, 150, 151, 299, 300, 301):
            assert await stored(journal, first) == list(range(first, 301))
        await journal.close()

    asyncio.run(main())


def test_who_reads_on_does_not_search_the_log_again(
    nats_server: NatsServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name)
        epoch = await journal.lease("main", "one", 60.0)
        for first in range(1, 61, 2):
            await journal.append("main", "one", epoch, first, sample_records(first, 2))
        asked, ask = 0, journal._link.next_message

        async def count(stream: str, subject: str, start: int) -> NatsMessage | None:
            nonlocal asked
            asked += 1
            return await ask(stream, subject, start)

        monkeypatch.setattr(journal._link, "next_message", count)
        assert await stored(journal, 60) == [60]
        searched, asked = asked, 0
        assert searched > 3
        for _ in range(3):
            assert await stored(journal, 60) == [60]
        assert asked == 3
        await journal.append("main", "one", epoch, 61, sample_records(61, 2))
        assert await stored(journal, 60) == [60, 61, 62]
        assert await stored(journal, 62) == [62]
        assert asked == 5
        assert await stored(journal, 31) == list(range(31, 63))
        await journal.close()

    asyncio.run(main())


def test_readers_leave_no_consumer_at_the_server(nats_server: NatsServer, name: str) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name)
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, 3))
        for _ in range(20):
            assert await stored(journal) == [1, 2, 3]
            # One that stops amid the log.
            async with aclosing(journal.read("main", 1)) as entries:
                await anext(entries)
        # What was published before a question is read before it.
        told = await journal._link._api(f"STREAM.INFO.{journal._link.log}", {})
        assert told["state"]["consumer_count"] <= 1
        await journal.close()

    asyncio.run(main())


@pytest.mark.parametrize("change", ["deleted", "rewritten"])
def test_who_reads_on_finds_a_log_that_was_changed(
    nats_server: NatsServer, name: str, change: str
) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name)
        epoch = await journal.lease("main", "one", 60.0)
        for first in range(1, 21):
            await journal.append("main", "one", epoch, first, sample_records(first, 1))
        assert await stored(journal, 19) == [19, 20]
        assert await stored(journal, 18) == [18, 19, 20]
        assert await stored(journal, 19) == [19, 20]
        link, subject = journal._link, f"{name}-log.main"
        log = [each.data async for each in link.messages(f"{name}-log", subject, 1)]
        if change == "deleted":
            (at, _) = journal._places["main"]
            await link._api(f"STREAM.MSG.DELETE.{name}-log", {"seq": at - 1})
            assert await stored(journal, 20) == [20]
            with pytest.raises(JournalCorrupt, match=r"record 19 .* is missing"):
                await stored(journal, 19)
        else:
            await link.purge(f"{name}-log", subject)
            for data in log:
                await link.publish(subject, data)
            assert await stored(journal, 20) == [20]
            assert await stored(journal, 19) == [19, 20]
        await journal.close()

    asyncio.run(main())


def test_old_batches_go_once_two_snapshots_cover_them(nats_server: NatsServer, name: str) -> None:
    async def main() -> None:
        now = 100.0
        journal = NatsJournal(nats_server.url, name=name, wall=lambda: now)
        epoch = await journal.lease("main", "one", 60.0)
        for first in (1, 3, 5, 7):
            await journal.append("main", "one", epoch, first, sample_records(first, 2))
            now += 100.0
        assert await journal.forget("main", 1e9) == 0
        await journal.snapshot("main", 6, b"older")
        assert await journal.forget("main", 1e9) == 0
        await journal.snapshot("main", 8, b"newer")
        assert await journal.forget("main", 250.0) == 4
        assert await journal.forget("main", 250.0) == 0
        assert await stored(journal, 5) == [5, 6, 7, 8]
        with pytest.raises(JournalCorrupt, match=r"record 1 .* is missing"):
            await stored(journal)
        assert await journal.forget("main", 1e9) == 2
        assert await stored(journal, 7) == [7, 8]
        assert (await journal.last("main"))[0] == 8
        await journal.close()

    asyncio.run(main())


def test_renewals_of_a_lease_keep_no_old_batch(
    nats_server: NatsServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        monkeypatch.setattr("evenmatch.journals.nats.PRUNED_MESSAGES", 3)
        journal = NatsJournal(nats_server.url, name=name, wall=lambda: 100.0)
        for first in range(1, 5):
            for _ in range(8):
                epoch = await journal.lease("main", "one", 60.0)
            await journal.append("main", "one", epoch, first, sample_records(first, 1))
        await journal.snapshot("main", 2, b"older")
        await journal.snapshot("main", 3, b"newer")
        assert [await journal.forget("main", 1e9) for _ in range(3)] == [1, 1, 0]
        assert await stored(journal, 3) == [3, 4]
        await journal.snapshot("main", 4, b"newest")
        assert await journal.forget("main", 1e9) == 1
        await journal.close()

    asyncio.run(main())


def test_each_snapshot_is_read_once_however_many_slices_it_lets_go(
    nats_server: NatsServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name, wall=lambda: 100.0)
        epoch = await journal.lease("main", "one", 60.0)
        for first in range(1, 10):
            await journal.append("main", "one", epoch, first, sample_records(first, 1))
        await journal.snapshot("main", 7, b"older")
        await journal.snapshot("main", 8, b"newer")
        read, ask = list[str](), journal._link.last_message

        async def note(stream: str, subject: str) -> NatsMessage | None:
            read.extend([subject] if ".part." in subject else [])
            return await ask(stream, subject)

        monkeypatch.setattr(journal._link, "last_message", note)
        monkeypatch.setattr("evenmatch.journals.nats.PRUNED_MESSAGES", 3)
        assert await journal.forget("main", 50.0) == 0
        assert read == []
        # The first slice begins with the lease.
        assert [await journal.forget("main", 1e9) for _ in range(4)] == [2, 3, 2, 0]
        assert len(read) == len(set(read)) == 2
        await journal.snapshot("main", 9, b"newest")
        assert await journal.forget("main", 1e9) == 1
        assert len(read) == len(set(read)) == 3
        await journal.close()

    asyncio.run(main())


def test_snapshot_that_is_damaged_lets_nothing_go(nats_server: NatsServer, name: str) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name, wall=lambda: 100.0)
        epoch = await journal.lease("main", "one", 60.0)
        for first in (1, 3):
            await journal.append("main", "one", epoch, first, sample_records(first, 2))
            await journal.snapshot("main", first + 1, b"state")
        (subject, _) = await journal._link.subjects(f"{name}-state", f"{name}-state.main.part.>")
        await journal._link.publish(subject, b"other")
        assert await journal.forget("main", 1e9) == 0
        assert await stored(journal) == [1, 2, 3, 4]
        await journal.close()

    asyncio.run(main())


def test_lost_tail_is_found_by_the_next_process(nats_server: NatsServer, name: str) -> None:
    async def main() -> None:
        journal = NatsJournal(nats_server.url, name=name)
        epoch = await journal.lease("main", "one", 60.0)
        for first in (1, 3, 5):
            await journal.append("main", "one", epoch, first, sample_records(first, 2))
        at = journal._tips["main"].at
        await journal.close()
        client = await nats.connect(nats_server.url)
        await client.jetstream().delete_msg(f"{name}-log", at)
        await client.close()
        journal = NatsJournal(nats_server.url, name=name)
        with pytest.raises(JournalCorrupt, match="ends at record 4"):
            await journal.lease("main", "one", 60.0)
        with pytest.raises(JournalCorrupt, match="ends at record 4"):
            await stored(journal)
        await journal.close()

    asyncio.run(main())


def test_reader_of_a_broken_connection_leaves_the_one_that_was_opened_since(
    nats_server: NatsServer, name: str
) -> None:
    async def main(proxy: CuttingProxy, journal: NatsJournal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        for first in range(1, 70):
            await journal.append("main", "one", epoch, first, sample_records(first, 1))
        reader = journal.read("main", 1)
        await anext(reader)
        proxy.cut_requests = True
        with pytest.raises(JournalUnavailable, match="nothing of the batch was stored"):
            await journal.append("main", "one", epoch, 70, sample_records(70, 1))
        opened = journal._link._connection
        with pytest.raises(JournalUnavailable):
            [entry async for entry in reader]
        assert journal._link._connection is opened
        assert await journal.append("main", "one", epoch, 70, sample_records(70, 1)) == 70

    through_proxy(nats_server, name, main)


@pytest.mark.parametrize("looks", ["writer", "another process"])
def test_append_that_is_stored_during_a_look_is_no_lost_tail(
    nats_server: NatsServer, name: str, monkeypatch: pytest.MonkeyPatch, looks: str
) -> None:
    async def main() -> None:
        writer = NatsJournal(nats_server.url, name=name)
        epoch = await writer.lease("main", "one", 60.0)
        await writer.append("main", "one", epoch, 1, sample_records(1, 2))
        reader = writer if looks == "writer" else NatsJournal(nats_server.url, name=name)
        ask = reader._link.last_message

        async def ask_slowly(stream: str, subject: str) -> NatsMessage | None:
            answer = await ask(stream, subject)
            if subject == f"{name}-log.main":
                monkeypatch.setattr(reader._link, "last_message", ask)
                await writer.append("main", "one", epoch, 3, sample_records(3, 2))
                await writer._ends.flush()
            return answer

        monkeypatch.setattr(reader._link, "last_message", ask_slowly)
        assert (await reader.last("main"))[0] == 2
        assert (await reader.last("main"))[0] == 4
        await reader.close()
        await writer.close()

    asyncio.run(main())


def test_no_server_is_reported_within_the_timeout(name: str) -> None:
    async def main() -> None:
        # It is connected to, and nobody is there.
        silent = socket.create_server(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        journal = NatsJournal(f"nats://u:secret@127.0.0.1:{port}", name=name, timeout=0.1)
        with pytest.raises(JournalUnavailable) as raised:
            await journal.lease("main", "one", 60.0)
        assert f"127.0.0.1:{port}" in str(raised.value)
        assert "secret" not in str(raised.value)
        silent.close()
        with pytest.raises(JournalUnavailable):
            await journal.last("main")
        await journal.close()
        with pytest.raises(JournalUnavailable, match="was closed"):
            await journal.last("main")

    asyncio.run(main())


@pytest.mark.parametrize(
    "address", ["nats://", "nats://a,,b", "nats://a?replicas=2", "nats://a?x=1"]
)
def test_address_that_cannot_be_read_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"nats://HOST:PORT"):
        parse_address(address)


@more
@pytest.mark.slow
def test_kills_of_the_server_amid_appends_lose_and_double_nothing(
    own_server: NatsServer, name: str
) -> None:
    def open_journal(clock: Callable[[], float]) -> NatsJournal:
        return NatsJournal(own_server.url, name=name, clock=clock, timeout=1.0)

    counts = asyncio.run(KilledServer(own_server, open_journal, seed=2).run(KILLS))
    print(counts)
    assert (counts.lost, counts.misplaced) == (0, 0)
    assert counts.kills == counts.stale_refused == KILLS
    assert counts.unanswered > 0
    assert counts.acknowledged > 10 * KILLS


@more
@pytest.mark.long
def test_kills_of_the_leader_of_three_lose_and_double_nothing(name: str) -> None:
    if nats_program() is None:
        pytest.skip(WHY_NO_NATS)
    cluster = NatsCluster(f"{name}-log")

    def open_journal(clock: Callable[[], float]) -> NatsJournal:
        return NatsJournal(cluster.url, name=name, clock=clock, timeout=4.0)

    try:
        cluster.start()
        counts = asyncio.run(KilledServer(cluster, open_journal, seed=3).run(LEADER_KILLS))
    finally:
        cluster.close()
    print(counts)
    assert (counts.lost, counts.misplaced) == (0, 0)
    assert counts.kills == counts.stale_refused == LEADER_KILLS
    assert counts.acknowledged > 10 * LEADER_KILLS
