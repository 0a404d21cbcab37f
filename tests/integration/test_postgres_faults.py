"""The PostgreSQL journal when connections are cut, servers killed and owners replaced."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import asyncpg
import pytest

from evenmatch.errors import JournalCorrupt, JournalUnavailable
from evenmatch.journals import postgres
from evenmatch.journals.base import Segment
from evenmatch.journals.batches import make_batch
from evenmatch.journals.postgres import PostgresJournal, Statements
from evenmatch.journals.postgres_link import LOCK, PostgresLink
from evenmatch.journals.postgres_store import PostgresStore
from evenmatch.testing.journals import sample_records
from tests.extent import kills, more
from tests.journal_faults import CuttingProxy, KilledServer
from tests.journal_servers import WHY_NO_POSTGRES, PostgresServer, postgres_folder, started

pytestmark = pytest.mark.xdist_group("postgres")

KILLS = kills(3, 50)


@pytest.fixture
def schema() -> str:
    return f"faults_{os.urandom(8).hex()}"


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """Give a server that the test may kill and configure."""
    if postgres_folder() is None:
        pytest.skip(WHY_NO_POSTGRES)
    with started(PostgresServer) as server:
        yield server


async def stored(journal: PostgresJournal, shard: str = "main") -> list[int]:
    return [entry.record.sequence async for entry in journal.read(shard, 1)]


async def wait_for_nobody(admin: Any) -> None:
    """Let commits wait for a standby that is not there, and return when they do."""
    await admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    await admin.execute("SELECT pg_reload_conf()")
    while True:
        try:
            # It has a number, so it leaves a commit behind.
            await admin.execute("SELECT pg_current_xact_id()", timeout=0.2)
        except TimeoutError:
            return


@pytest.mark.parametrize("what", ["journal", "store"])
def test_tables_are_made_once_by_nodes_that_start_together(
    own_server: PostgresServer, schema: str, what: str
) -> None:
    def opened() -> PostgresJournal | PostgresStore:
        kind = PostgresJournal if what == "journal" else PostgresStore
        return kind(own_server.url, schema=schema, timeout=10.0)

    async def used(each: PostgresJournal | PostgresStore, number: int) -> object:
        if isinstance(each, PostgresJournal):
            return await each.lease(f"s{number}", "me", 5.0)
        return await each.put("keys.json", b"{}")

    async def main() -> None:
        admin = await asyncpg.connect(own_server.url)
        if what == "store":
            first = PostgresJournal(own_server.url, schema=schema)
            await first.lease("s0", "me", 5.0)
            await first.close()
        several = [opened() for _ in range(3)]
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        # All have seen that there are no tables, and wait to make them.
        async with asyncio.TaskGroup() as tasks, admin.transaction():
            await admin.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
            for number, each in enumerate(several):
                tasks.create_task(used(each, number))
            while await admin.fetchval(waiting) < len(several):
                await asyncio.sleep(0.01)
        for each in several:
            await each.close()
        await admin.close()

    asyncio.run(main())


def is_append(block: bytes) -> bool:
    """Return whether bytes for the server hold a batch; its statement was sent before."""
    return b'"sequence":' in block


def through_proxy(
    server: PostgresServer,
    schema: str,
    test: Callable[[CuttingProxy, PostgresJournal], Awaitable[None]],
) -> None:
    async def main() -> None:
        async with CuttingProxy(server.port, is_append) as proxy:
            journal = PostgresJournal(server.url_at(proxy.port), schema=schema)
            try:
                await test(proxy, journal)
            finally:
                await journal.close()

    asyncio.run(main())


def test_a_statement_that_arrives_after_the_batch_was_looked_up_has_no_effect(
    postgres_server: PostgresServer, schema: str
) -> None:
    async def main(proxy: CuttingProxy, journal: PostgresJournal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, 2))
        turn_then = journal._turns["main"]
        proxy.cut_requests = True
        with pytest.raises(JournalUnavailable):
            await journal.append("main", "one", epoch, 3, sample_records(3, 2))
        batch = make_batch("main", 1.0, sample_records(3, 2))
        values = (batch.first_seq, batch.last_seq, batch.wall, batch.crc, batch.body, 0)
        connection = await asyncpg.connect(postgres_server.url)
        late = await connection.execute(
            Statements(schema).append, "main", "one", epoch, turn_then, *values
        )
        await connection.close()
        assert late == "INSERT 0 0"
        assert await stored(journal) == [1, 2]

    through_proxy(postgres_server, schema, main)


def test_what_is_not_on_a_synchronous_standby_is_not_acknowledged(
    own_server: PostgresServer, schema: str
) -> None:
    async def main() -> None:
        admin = await asyncpg.connect(own_server.url)
        journal = PostgresJournal(own_server.url, schema=schema, timeout=1.0)
        try:
            epoch = await journal.lease("main", "one", 60.0)
            await journal.append("main", "one", epoch, 1, sample_records(1, 2))
            # A standby that is not there: commits stay on the primary alone, and wait.
            await wait_for_nobody(admin)
            with pytest.raises(JournalUnavailable, match="cannot be said"):
                await journal.append("main", "one", epoch, 3, sample_records(3, 2))
            await admin.execute("SET synchronous_commit = local")
            await admin.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            await admin.execute("SELECT pg_reload_conf()")
            end, _ = await journal.last("main")
            assert end in (2, 4)
            epoch = await journal.lease("main", "one", 60.0)
            later = sample_records(end + 1, 1)
            assert await journal.append("main", "one", epoch, end + 1, later) == end + 1
            assert await stored(journal) == list(range(1, end + 2))
        finally:
            await journal.close()
            await admin.close()

    asyncio.run(main())


def test_a_commit_that_stopped_waiting_for_its_standby_is_not_acknowledged(
    own_server: PostgresServer, schema: str
) -> None:
    async def main() -> None:
        admin = await asyncpg.connect(own_server.url)
        journal = PostgresJournal(own_server.url, schema=schema, timeout=2.0)
        try:
            epoch = await journal.lease("main", "one", 60.0)
            await wait_for_nobody(admin)
            appending = asyncio.create_task(
                journal.append("main", "one", epoch, 1, sample_records(1, 2))
            )
            while not appending.done():
                # PostgreSQL says then that all went well, and warns that it may not be so.
                await admin.execute(
                    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
                    " WHERE wait_event = 'SyncRep'"
                )
                await asyncio.sleep(0.05)
            with pytest.raises(JournalUnavailable, match="cannot be said"):
                await appending
        finally:
            await journal.close()
            await admin.close()

    asyncio.run(main())


def test_a_server_that_forces_nothing_to_the_disk_is_refused(
    own_server: PostgresServer, schema: str
) -> None:
    async def main() -> None:
        admin = await asyncpg.connect(own_server.url)
        await admin.execute("ALTER SYSTEM SET synchronous_commit = off")
        await admin.close()
        own_server.settings["fsync"] = "off"
        del own_server.settings["synchronous_commit"]
        own_server.kill()
        own_server.start()
        journal = PostgresJournal(own_server.url, schema=schema)
        with pytest.raises(JournalUnavailable, match="fsync = off"):
            await journal.lease("main", "one", 60.0)
        own_server.settings["fsync"] = "on"
        own_server.kill()
        own_server.start()
        await journal.lease("main", "one", 60.0)
        setting = await journal._writer.run(lambda each: each.fetchval("SHOW synchronous_commit"))
        assert setting == "on"
        await journal.close()

    asyncio.run(main())


def test_settings_of_a_session_are_made_in_it_since_poolers_refuse_them_at_its_start(
    postgres_server: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, asked = asyncpg.connect, set[str]()

    async def noted(*given: Any, server_settings: dict[str, str], **more: Any) -> Any:
        asked.update(server_settings)
        return await connect(*given, server_settings=server_settings, **more)

    monkeypatch.setattr(asyncpg, "connect", noted)

    async def main() -> None:
        journal = PostgresJournal(postgres_server.url, schema=schema, timeout=2.0)
        await journal.lease("main", "one", 60.0)
        waits = await journal._writer.run(lambda each: each.fetchval("SHOW lock_timeout"))
        await journal.close()
        reader = PostgresLink(postgres_server.url, schema, 2.0, is_read_only=True)
        reads = await reader.run(lambda each: each.fetchval("SHOW default_transaction_read_only"))
        await reader.close()
        assert (waits, reads) == ("2s", "on")

    asyncio.run(main())
    # Of all that PostgreSQL knows, PgBouncer passes this one on without a setting of its own.
    assert asked == {"application_name"}


def test_no_server_is_reported_within_the_timeout(schema: str) -> None:
    async def main() -> None:
        # It is connected to, and nobody is there.
        silent = socket.create_server(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        journal = PostgresJournal(
            f"postgresql://u:secret@127.0.0.1:{port}/d", schema=schema, timeout=0.1
        )
        with pytest.raises(JournalUnavailable) as raised:
            await journal.lease("main", "one", 60.0)
        assert f"127.0.0.1:{port}/d" in str(raised.value)
        assert "secret" not in str(raised.value)
        silent.close()
        with pytest.raises(JournalUnavailable):
            await journal.last("main")
        await journal.close()
        with pytest.raises(JournalUnavailable, match="was closed"):
            await journal.last("main")

    asyncio.run(main())


def test_reading_goes_by_slices_and_begins_anywhere(
    postgres_server: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "SLICE_ROWS", 7)
    monkeypatch.setattr(postgres, "SLICE_BYTES", 2_000)

    async def main() -> None:
        journal = PostgresJournal(postgres_server.url, schema=schema)
        epoch = await journal.lease("main", "one", 60.0)
        for number in range(100):
            first = 2 * number + 1
            await journal.append("main", "one", epoch, first, sample_records(first, 2))
        for first in (1, 2, 3, 100, 199, 200, 201):
            found = [entry.record async for entry in journal.read("main", first)]
            assert found == sample_records(first, 201 - first)
        await journal.close()

    asyncio.run(main())


def test_old_batches_go_once_two_snapshots_cover_them(
    postgres_server: PostgresServer, schema: str
) -> None:
    async def main() -> None:
        now = 100.0
        journal = PostgresJournal(postgres_server.url, schema=schema, wall=lambda: now)
        epoch = await journal.lease("main", "one", 60.0)
        await journal.begin("main", Segment(1, 1, "0.1", {}, 0.5))
        await journal.begin("main", Segment(3, 1, "0.2", {}, 0.5))
        for first in (1, 3, 5, 7):
            await journal.append("main", "one", epoch, first, sample_records(first, 2))
            now += 100.0
        assert await journal.forget("main", 1e9) == 0
        await journal.snapshot("main", 6, b"older")
        assert await journal.forget("main", 1e9) == 0
        await journal.snapshot("main", 8, b"newer")
        assert await journal.forget("main", 250.0) == 4
        assert await journal.forget("main", 250.0) == 0
        assert [each.first_seq for each in await journal.segments("main")] == [3]
        assert [entry.record.sequence async for entry in journal.read("main", 5)] == [5, 6, 7, 8]
        with pytest.raises(JournalCorrupt, match=r"record 1 .* is missing"):
            await stored(journal)
        assert await journal.forget("main", 1e9) == 2
        assert (await journal.last("main"))[0] == 8
        await journal.close()

    asyncio.run(main())


def test_damaged_snapshot_keeps_what_it_covers(
    postgres_server: PostgresServer, schema: str
) -> None:
    async def main() -> None:
        journal = PostgresJournal(postgres_server.url, schema=schema, wall=lambda: 100.0)
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, 2))
        await journal.append("main", "one", epoch, 3, sample_records(3, 2))
        await journal.snapshot("main", 2, b"older")
        await journal.snapshot("main", 4, b"newer")
        admin = await asyncpg.connect(postgres_server.url)
        await admin.execute(f"UPDATE {schema}.snapshots SET body = 'other' WHERE seq = 4")
        await admin.close()
        assert await journal.forget("main", 1e9) == 0
        snapshot = await journal.latest_snapshot("main")
        assert snapshot is not None
        assert (snapshot.sequence, snapshot.state) == (2, b"older")
        await journal.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE heads SET last_seq = 2",
        "UPDATE heads SET last_wall = last_wall + 1",
        "UPDATE heads SET owner = 'two'",
        "UPDATE heads SET renewals = 7",
        "DELETE FROM heads",
    ],
)
def test_damaged_head_is_found(postgres_server: PostgresServer, schema: str, harm: str) -> None:
    async def main() -> None:
        journal = PostgresJournal(postgres_server.url, schema=schema)
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, 4))
        admin = await asyncpg.connect(postgres_server.url)
        await admin.execute(f"SET search_path = {schema}")
        await admin.execute(harm)
        await admin.close()
        with pytest.raises(JournalCorrupt, match="head of shard 'main'"):
            await journal.last("main")
        with pytest.raises(JournalCorrupt, match="head of shard 'main'"):
            await journal.lease("main", "one", 60.0)
        await journal.close()

    asyncio.run(main())


def test_of_several_hosts_the_one_that_answers_is_used(
    postgres_server: PostgresServer, schema: str
) -> None:
    async def main() -> None:
        # It is connected to, and nobody is there.
        silent = socket.create_server(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        one, refusing = f"127.0.0.1:{postgres_server.port}", "127.0.0.1:1"
        url = f"postgresql://evenmatch@127.0.0.1:{port},{refusing},{one}/postgres"
        journal = PostgresJournal(url, schema=schema, timeout=6.0)
        epoch = await journal.lease("main", "one", 60.0)
        assert await journal.append("main", "one", epoch, 1, sample_records(1, 2)) == 2
        await journal.close()
        silent.close()

    asyncio.run(main())


@more
@pytest.mark.slow
def test_kills_of_the_server_amid_appends_lose_and_double_nothing(
    own_server: PostgresServer, schema: str
) -> None:
    def open_journal(clock: Callable[[], float]) -> PostgresJournal:
        return PostgresJournal(own_server.url, schema=schema, clock=clock, timeout=1.0)

    counts = asyncio.run(KilledServer(own_server, open_journal, seed=1).run(KILLS))
    print(counts)
    assert (counts.lost, counts.misplaced) == (0, 0)
    assert counts.kills == counts.stale_refused == KILLS
    assert counts.unanswered > 0
    assert counts.acknowledged > 10 * KILLS
