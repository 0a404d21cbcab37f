"""A backup is one moment of a live journal, is judged before it counts, and shows every flip."""

import asyncio
import random
import sqlite3
import threading
from pathlib import Path

import pytest

from evenmatch.errors import ConfigError, JournalCorrupt, JournalError
from evenmatch.journals import backup
from evenmatch.journals.backup import KEYS_NAME, MANIFEST, back_up, check_backup
from evenmatch.journals.sqlite import FILE_NAME, SqliteJournal
from evenmatch.journals.store import MemoryStore
from evenmatch.server.operations.versions import Versions
from evenmatch.testing.journals import sample_records

FLIPS = 200
OTHERS = f"{Versions(Path(), shard='s0.x').path(2)}"
"""Where another shard than the first keeps a configuration that came over HTTP."""


def quiet(what: str, done: int, total: int) -> None:
    assert 0 <= done <= total or total < 1, what


async def write(data: Path, count: int, *, snapshot: int | None = None) -> None:
    journal = SqliteJournal.open(data)
    epoch = await journal.lease("s0", "me", 1e6)
    last, _ = await journal.last("s0")
    await journal.append("s0", "me", epoch, last + 1, sample_records(last + 1, count))
    if snapshot is not None:
        await journal.snapshot("s0", snapshot, b"state")
    await journal.close()


async def sequences(data: Path, first: int = 1) -> list[int]:
    journal = SqliteJournal.open(data, create=False)
    try:
        return [entry.record.sequence async for entry in journal.read("s0", first)]
    finally:
        await journal.close()


def test_copy_holds_all_and_says_what_it_is(tmp_path: Path) -> None:
    asyncio.run(write(tmp_path / "data", 250, snapshot=100))
    copied = back_up(tmp_path / "data", tmp_path / "out", quiet)

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [MANIFEST, FILE_NAME]
    assert copied.shards == {"s0": 250}
    assert check_backup(tmp_path / "out", quiet) == copied
    assert asyncio.run(sequences(tmp_path / "out")) == list(range(1, 251))


@pytest.mark.parametrize("name", ["config/2.json", OTHERS])
def test_configurations_that_came_over_http_are_copied_and_checked(
    tmp_path: Path, name: str
) -> None:
    asyncio.run(write(tmp_path / "data", 5))
    (tmp_path / "data" / name).parent.mkdir()
    (tmp_path / "data" / name).write_text("{}")
    copied = back_up(tmp_path / "data", tmp_path / "out", quiet)
    assert list(copied.beside) == [name]
    check_backup(tmp_path / "out", quiet)
    (tmp_path / "out" / name).write_text("[]")

    with pytest.raises(JournalCorrupt, match=r"2\.json is not what was written"):
        check_backup(tmp_path / "out", quiet)


@pytest.mark.parametrize(
    ("place", "beside"),
    [("sqlite:{}/night.db", "night.db-beside"), ("{}/journal.db", ""), ("sqlite:{}", "")],
)
def test_configurations_beside_a_journal_that_is_named_are_copied(
    tmp_path: Path, place: str, beside: str
) -> None:
    data = tmp_path / "data"
    asyncio.run(write(data, 5))
    if beside:
        (data / FILE_NAME).rename(data / "night.db")
    (data / beside / "config").mkdir(parents=True)
    (data / beside / "config/2.json").write_text("{}")
    (data / beside / KEYS_NAME).write_text("[]")
    copied = back_up(place.format(data), tmp_path / "out", quiet)
    assert (list(copied.beside), copied.keyed) == (["config/2.json"], True)


def test_configurations_of_all_shards_are_fetched_from_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def filled(out: Path) -> None:
        asyncio.run(write(tmp_path / "data", 5))
        (tmp_path / "data" / FILE_NAME).rename(out)

    store = MemoryStore()
    for name in ("config/2.json", OTHERS, "configured.json", KEYS_NAME):
        asyncio.run(store.put(name, b"{}"))
    monkeypatch.setattr(backup, "copy_to_file", lambda address, part, say: filled(part))
    monkeypatch.setattr(backup, "open_store", lambda address, is_read_only: store)
    copied = back_up("postgresql://there/games", tmp_path / "out", quiet)
    assert set(copied.beside) == {"config/2.json", OTHERS}
    assert (tmp_path / "out" / OTHERS).read_text() == "{}"
    assert check_backup(tmp_path / "out", quiet) == copied


def test_copy_of_a_journal_that_is_written_to_is_one_moment_of_it(tmp_path: Path) -> None:
    async def main() -> None:
        journal = SqliteJournal.open(tmp_path / "data")
        epoch = await journal.lease("s0", "me", 1e6)
        stop = threading.Event()
        copied = asyncio.create_task(
            asyncio.to_thread(back_up, tmp_path / "data", tmp_path / "out", quiet)
        )
        first = 1
        while not copied.done() or first < 200:
            await journal.append("s0", "me", epoch, first, sample_records(first, 10))
            first += 10
        stop.set()
        found = (await copied).shards
        await journal.close()
        last = found.get("s0", 0)
        assert last % 10 == 0
        assert last < first
        if last:
            assert await sequences(tmp_path / "out") == list(range(1, last + 1))

    asyncio.run(main())


@pytest.mark.parametrize("there", ["file", "folder"])
def test_nothing_is_overwritten(tmp_path: Path, there: str) -> None:
    asyncio.run(write(tmp_path / "data", 1))
    out = tmp_path / "out"
    if there == "file":
        out.write_text("mine")
    else:
        out.mkdir()
        (out / "mine").write_text("mine")

    with pytest.raises(ConfigError, match="out is not empty: name a directory that does not exist"):
        back_up(tmp_path / "data", out, quiet)
    assert (out if there == "file" else out / "mine").read_text() == "mine"


def test_without_a_journal_there_is_nothing_to_copy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no journal at"):
        back_up(tmp_path / "data", tmp_path / "out", quiet)
    with pytest.raises(ConfigError, match="there is no backup at"):
        check_backup(tmp_path / "out", quiet)


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE records SET body = x'00' WHERE seq = 7",
        "DELETE FROM records WHERE seq = 7",
        "DELETE FROM records WHERE seq > 7",
        "DELETE FROM records",
        "UPDATE snapshots SET body = x'00'",
        "UPDATE records SET wall = 1.0 WHERE seq = 7",
    ],
)
def test_damaged_journal_gives_no_backup(tmp_path: Path, harm: str) -> None:
    asyncio.run(write(tmp_path / "data", 20, snapshot=5))
    for name in ("config/2.json", OTHERS):
        (tmp_path / "data" / name).parent.mkdir()
        (tmp_path / "data" / name).write_text("{}")
    connection = sqlite3.connect(tmp_path / "data" / FILE_NAME)
    with connection:
        connection.execute(harm)
    connection.close()

    with pytest.raises(JournalCorrupt):
        back_up(tmp_path / "data", tmp_path / "out", quiet)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "harm",
    ["UPDATE heads SET owner = 'm'", "UPDATE heads SET last_wall = 1.0", "DELETE FROM heads"],
)
def test_damaged_or_lost_head_gives_no_backup(tmp_path: Path, harm: str) -> None:
    asyncio.run(write(tmp_path / "data", 5))
    connection = sqlite3.connect(tmp_path / "data" / FILE_NAME)
    connection.execute(harm)
    connection.commit()
    connection.close()
    with pytest.raises(JournalCorrupt, match="head of shard 's0' is lost or damaged"):
        back_up(tmp_path / "data", tmp_path / "out", quiet)
    assert not (tmp_path / "out").exists()


def test_lease_of_the_original_does_not_hold_the_copy(tmp_path: Path) -> None:
    async def begin() -> int:
        journal = SqliteJournal.open(tmp_path / "out", create=False)
        try:
            return await journal.lease("s0", "another", 30.0)
        finally:
            await journal.close()

    asyncio.run(write(tmp_path / "data", 5))
    back_up(tmp_path / "data", tmp_path / "out", quiet)
    assert asyncio.run(begin()) == 2


def test_backup_that_fails_at_its_end_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(write(tmp_path / "data", 20))
    for name in ("config/2.json", OTHERS):
        (tmp_path / "data" / name).parent.mkdir()
        (tmp_path / "data" / name).write_text("{}")

    def full(copied: object) -> bytes:
        raise OSError("no space left on device")

    monkeypatch.setattr(backup, "_written", full)
    with pytest.raises(OSError, match="no space left"):
        back_up(tmp_path / "data", tmp_path / "out", quiet)
    assert not (tmp_path / "out").exists()


def test_journal_whose_old_records_are_gone_can_be_copied(tmp_path: Path) -> None:
    async def main() -> None:
        await write(tmp_path / "data", 50, snapshot=20)
        await write(tmp_path / "data", 50, snapshot=60)
        journal = SqliteJournal.open(tmp_path / "data")
        assert await journal.forget("s0", 1e12) == 20
        await journal.close()

    asyncio.run(main())
    back_up(tmp_path / "data", tmp_path / "out", quiet)

    assert asyncio.run(sequences(tmp_path / "out", 21)) == list(range(21, 101))


def test_every_flip_of_a_bit_is_found(tmp_path: Path) -> None:
    asyncio.run(write(tmp_path / "data", 300, snapshot=100))
    out, rng = tmp_path / "out", random.Random(5)
    back_up(tmp_path / "data", out, quiet)
    for number in range(FLIPS):
        path = out / (MANIFEST if number % 10 == 0 else FILE_NAME)
        body = path.read_bytes()
        changed = bytearray(body)
        changed[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(JournalError):
            check_backup(out, quiet)
        path.write_bytes(body)
    check_backup(out, quiet)


def test_cut_is_found(tmp_path: Path) -> None:
    asyncio.run(write(tmp_path / "data", 300))
    back_up(tmp_path / "data", tmp_path / "out", quiet)
    path = tmp_path / "out" / FILE_NAME
    body = path.read_bytes()
    for length in (0, 100, len(body) // 2, len(body) - 1):
        path.write_bytes(body[:length])
        with pytest.raises(JournalCorrupt, match="is not what was written"):
            check_backup(tmp_path / "out", quiet)
