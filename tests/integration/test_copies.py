"""Copies of journals on servers: a replay, an export and a backup read them as they read a file."""

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import nats
import pytest

from evenmatch.cli.main import main
from evenmatch.engine.records import Record
from evenmatch.errors import JournalUnavailable
from evenmatch.journals import copying
from evenmatch.journals.opening import name_of, open_journal, open_on_server
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.testing import new_ticket
from tests.integration.test_serve_journal import make_database
from tests.journal_servers import NatsServer, PostgresServer
from tests.unit.cli.test_replay import a_story
from tests.unit.lab.journals import Played

pytestmark = pytest.mark.xdist_group("postgres")
SHARD = "s0"
LATER = Enqueue(700.0, (new_ticket("gus", 1500.0, queues=("duel",)),))


@pytest.fixture(params=["postgresql", "nats"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give the address of a journal that no other test has."""
    name = f"copies_{os.urandom(8).hex()}"
    if request.param == "nats":
        server: NatsServer = request.getfixturevalue("nats_server")
        yield f"{server.url}#{name}"
    else:
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        asyncio.run(make_database(postgres.url, name))
        yield postgres.url.rpartition("/")[0] + f"/{name}"


def fill(address: str, played: Played, *, seconds: float = 60.0) -> None:
    """Write what was played; the owner holds its lease on, as a server that runs."""

    async def write() -> None:
        journal = open_on_server(address)
        journal.wall = lambda: 1e9  # as in the files to compare with
        try:
            epoch = await journal.lease(SHARD, "server", seconds)
            await played.store(journal, epoch, "server")
        finally:
            await journal.close()

    asyncio.run(write())


def test_copy_takes_no_more_room_than_the_journal(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = Played()
    played.records += [
        Record(n, Enqueue(0.0, (), key=os.urandom(200_000).hex()), ()) for n in range(1, 31)
    ]
    fill(address, played)
    monkeypatch.setattr(copying, "SAY_EVERY", 1)
    monkeypatch.setattr(copying, "GATHERED", 1)
    path, most = tmp_path / "journal.db", 0

    def look(done: int, total: int) -> None:
        nonlocal most
        most = max(most, sum(each.stat().st_size for each in tmp_path.iterdir()))

    transaction = copying.transaction

    @contextmanager
    def observed(target: sqlite3.Connection) -> Iterator[None]:
        with transaction(target):
            yield
        look(1, 1)

    monkeypatch.setattr(copying, "transaction", observed)
    copying.copy_to_file(address, path, look)
    assert path.stat().st_size > 30 * 400_000
    assert most < 1.2 * path.stat().st_size


async def _rows_of_postgres(address: str) -> dict[str, Any]:
    connection = await asyncpg.connect(address)
    try:
        names = await connection.fetch(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'evenmatch'"
        )
        return {
            name: await connection.fetch(f"SELECT t.*, xmin FROM evenmatch.{name} AS t")
            for (name,) in names
        }
    finally:
        await connection.close()


async def _messages_of_nats(address: str) -> dict[str, Any]:
    place, _, game = address.partition("#")
    client = await nats.connect(place)
    try:
        context = client.jetstream()
        names = [f"{name_of(game)}-{part}" for part in ("log", "state")]
        return {name: (await context.stream_info(name)).state for name in names}
    finally:
        await client.close()


def stored(address: str) -> dict[str, Any]:
    """Return all that the server keeps, with what changes at each write."""
    look = _messages_of_nats if address.startswith("nats") else _rows_of_postgres
    found = asyncio.run(look(address))
    return {name: getattr(state, "last_seq", state) for name, state in found.items()}


def said(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    code = main([*command])
    return code, capsys.readouterr().out


def test_a_journal_on_a_server_is_replayed_like_a_file(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = a_story()
    fill(address, played)
    data = played.write(tmp_path / "data")
    for options in (
        ("--json",),
        ("--match", "s0-m1", "--json"),
        ("--policy", "threshold", "--json"),
    ):
        code, out = said(capsys, "replay", address, *options)
        assert (code, out) == said(capsys, "replay", str(data), *options)
        assert code == 0
        assert json.loads(out)


def test_reading_takes_no_lease_and_writes_nothing(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(address, a_story())
    before = stored(address)
    assert before
    assert said(capsys, "replay", address)[0] == 0
    assert said(capsys, "export", address, "--out", str(tmp_path / "t.csv"))[0] == 0
    assert said(capsys, "backup", address, str(tmp_path / "copy"))[0] == 0
    assert stored(address) == before


def test_an_export_of_a_server_is_that_of_a_file(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = a_story()
    fill(address, played)
    data = played.write(tmp_path / "data")
    for place, name in ((address, "one.csv"), (str(data), "two.csv")):
        assert said(capsys, "export", place, "--out", str(tmp_path / name))[0] == 0
    one, two = ((tmp_path / name).read_text() for name in ("one.csv", "two.csv"))
    assert one == two
    assert "ada" in one
    matches = [(tmp_path / name).read_text() for name in ("one.matches.jsonl", "two.matches.jsonl")]
    assert matches[0] == matches[1]


async def records_of(path: Path, first: int = 1) -> list[Record]:
    journal = SqliteJournal(path, create=False)
    try:
        return [entry.record async for entry in journal.read(SHARD, first)]
    finally:
        await journal.close()


def test_a_backup_of_a_server_is_a_data_directory(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = a_story()
    fill(address, played)
    code, out = said(capsys, "backup", address, str(tmp_path / "copy"))
    assert code == 0
    assert f"{len(played.records)} records of shard {SHARD}" in out
    assert said(capsys, "backup", "--check", str(tmp_path / "copy"))[0] == 0
    kept = asyncio.run(records_of(tmp_path / "copy" / "journal.db"))
    assert kept == played.records

    async def go_on() -> None:
        journal = SqliteJournal.open(tmp_path / "copy", create=False)
        # Whoever held it at the server, nobody holds the copy.
        epoch = await journal.lease(SHARD, "local", 10.0)
        last, _ = await journal.last(SHARD)
        more = played.hand_in(LATER).records[last:]
        await journal.append(SHARD, "local", epoch, last + 1, more)
        await journal.close()

    asyncio.run(go_on())


def test_a_copy_begins_where_old_records_are_deleted(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = a_story().stop().hand_in(LATER).stop()
    first = min(played.snapshots) + 1

    async def write() -> None:
        journal = open_journal(address)
        try:
            epoch = await journal.lease(SHARD, "server", 60.0)
            await journal.append(SHARD, "server", epoch, 1, played.records[: first - 1])
            await journal.append(SHARD, "server", epoch, first, played.records[first - 1 :])
            for sequence, state in sorted(played.snapshots.items()):
                await journal.snapshot(SHARD, sequence, state)
            assert await journal.forget(SHARD, 1e10) == first - 1
        finally:
            await journal.close()

    asyncio.run(write())
    code, out = said(capsys, "replay", address, "--json")
    assert (code, json.loads(out)["first"]) == (0, first)
    assert said(capsys, "backup", address, str(tmp_path / "copy"))[0] == 0
    kept = asyncio.run(records_of(tmp_path / "copy" / "journal.db", first))
    assert kept == played.records[first - 1 :]


def test_a_damaged_journal_on_a_server_is_named_and_leaves_no_copy(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if address.startswith("nats"):
        pytest.skip("what is stored in NATS cannot be changed from outside; the kit flips its bits")
    fill(address, a_story())

    async def harm() -> None:
        connection = await asyncpg.connect(address)
        await connection.execute(
            "UPDATE evenmatch.batches SET body = set_byte(body, 9, get_byte(body, 9) # 1)"
        )
        await connection.close()

    asyncio.run(harm())
    assert main(["backup", address, str(tmp_path / "copy")]) == 1
    told = capsys.readouterr().err
    assert "fails its checksum" in told
    assert "127.0.0.1" in told
    assert not (tmp_path / "copy").exists()
    assert main(["replay", address]) == 1


def test_where_no_journal_is_none_is_made(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["replay", address], ["export", address, "--out", "never.csv"]):
        assert main(command) == 2
        assert "check the address" in capsys.readouterr().err
    assert main(["replay", address]) == 2


def test_keys_alone_are_no_journal(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", "add", "backend", "--journal", address]) == 0
    for command in (["backup", address, str(tmp_path / "copy")], ["replay", address]):
        assert main(command) == 2
        assert "check the address" in capsys.readouterr().err


def test_a_journal_that_is_only_read_refuses_to_write(address: str) -> None:
    fill(address, a_story())

    async def write() -> None:
        journal = open_journal(address, is_read_only=True)
        try:
            with pytest.raises(JournalUnavailable, match=r"read-only|read only"):
                await journal.lease(SHARD, "server", 10.0)
            assert (await journal.last(SHARD))[0] > 0
        finally:
            await journal.close()

    asyncio.run(write())
