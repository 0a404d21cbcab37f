"""Journals brought from a data directory to a server and back: all of it, or nothing."""

import asyncio
import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from evenmatch.cli.main import main
from evenmatch.engine.records import Record
from evenmatch.errors import JournalUnavailable, StaleOwner
from evenmatch.journals import restoring
from evenmatch.journals.base import AnswerLost, Journal
from evenmatch.journals.nats_link import NatsLink
from evenmatch.journals.opening import open_journal, open_on_server, open_store
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.testing import new_ticket
from tests.integration.serving import Server, running, ticket
from tests.integration.test_copies import SHARD, fill
from tests.integration.test_copies import address as address
from tests.integration.test_shared_keys import WIDER, ask, serving
from tests.journal_servers import NatsServer
from tests.unit.cli.test_replay import a_story
from tests.unit.lab.journals import Played

pytestmark = pytest.mark.xdist_group("postgres")


def long_story() -> Played:
    """Return more records than are stored in one piece."""
    played = a_story().stop()
    for number in range(restoring.BATCH_RECORDS * 2):
        player = new_ticket(f"p{number}", 1500.0, queues=("duel",))
        played.hand_in(Enqueue(700.0 + number, (player,)))
    return played.stop()


async def everything(journal: Journal, first: int = 1) -> tuple[Any, ...]:
    try:
        records: list[tuple[Record, float]] = [
            (each.record, each.wall) async for each in journal.read(SHARD, first)
        ]
        last = await journal.last(SHARD)
        return records, await journal.segments(SHARD), await journal.latest_snapshot(SHARD), last
    finally:
        await journal.close()


def test_a_data_directory_comes_to_a_server_and_back_as_it_was(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = long_story().write(tmp_path / "data")
    before = asyncio.run(everything(SqliteJournal.open(data)))
    assert main(["backup", str(data), address]) == 0
    out = capsys.readouterr().out
    assert f"{len(before[0]):,} records of shard {SHARD}" in out
    assert "every record was read there again" in out
    assert asyncio.run(everything(open_journal(address))) == before
    assert main(["backup", address, str(tmp_path / "back")]) == 0
    assert asyncio.run(everything(SqliteJournal.open(tmp_path / "back"))) == before
    code = main(["replay", address, "--json"])
    assert (code, json.loads(capsys.readouterr().out.splitlines()[-1])["same"]) == (0, True)


def test_what_is_left_of_an_old_journal_comes_along(tmp_path: Path, address: str) -> None:
    played = long_story()
    data = played.write(tmp_path / "data")
    first = min(played.snapshots) + 1

    async def forget() -> None:
        journal = SqliteJournal.open(data, wall=lambda: 1e9)
        assert await journal.forget(SHARD, 1e10) == first - 1
        await journal.close()

    asyncio.run(forget())
    assert main(["backup", str(data), address]) == 0
    before = asyncio.run(everything(SqliteJournal.open(data), first))
    assert asyncio.run(everything(open_journal(address), first)) == before


def test_a_server_that_has_a_journal_takes_no_other(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    played = a_story()
    fill(address, played)
    data = long_story().write(tmp_path / "data")
    assert main(["backup", str(data), address]) == 2
    assert f"already (shard {SHARD})" in capsys.readouterr().err
    records, *_ = asyncio.run(everything(open_journal(address)))
    assert [record for record, _ in records] == played.records


def test_a_copy_that_fails_half_way_leaves_nothing(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = long_story().write(tmp_path / "data")
    batches = restoring.FileShard.batches

    def broken(self: restoring.FileShard, say: Any) -> Any:
        yield next(iter(batches(self, say)))
        raise JournalUnavailable("the network is gone")

    with monkeypatch.context() as patch:
        patch.setattr(restoring.FileShard, "batches", broken)
        assert main(["backup", str(data), address]) == 1
    assert asyncio.run(_shards(address)) == []
    assert main(["backup", str(data), address]) == 0


@pytest.mark.parametrize("part", ["_compare", "_put_documents"])
def test_a_copy_that_fails_at_its_end_leaves_nothing(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    data = long_story().write(tmp_path / "data")
    (data / "config").mkdir()
    (data / "config/2.json").write_text("{}")
    whole = getattr(restoring, part)

    async def broken(*given: Any) -> None:
        await whole(*given)
        raise JournalUnavailable("the network is gone")

    with monkeypatch.context() as patch:
        patch.setattr(restoring, part, broken)
        assert main(["backup", str(data), address]) == 1
    assert asyncio.run(_shards(address)) == []
    assert asyncio.run(_documents(address)) == []
    assert main(["backup", str(data), address]) == 0
    assert asyncio.run(_documents(address)) == ["config/2.json"]


async def _documents(address: str) -> list[str]:
    store = open_store(address)
    try:
        return await store.names()
    finally:
        await store.close()


def test_a_copy_to_a_server_in_use_changes_no_configuration(tmp_path: Path, address: str) -> None:
    fill(address, a_story())
    data = long_story().write(tmp_path / "data")
    (data / "config").mkdir()
    (data / "config/2.json").write_text("{}")
    assert main(["backup", str(data), address]) == 2
    assert asyncio.run(_documents(address)) == []


def test_what_a_killed_copy_left_is_told_from_a_journal(
    tmp_path: Path,
    nats_server: NatsServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = long_story().write(tmp_path / "data")
    address = f"{nats_server.url}#killed_{os.urandom(8).hex()}"

    async def nothing(*given: Any) -> None:
        raise JournalUnavailable("the process was killed")

    with monkeypatch.context() as patch:
        patch.setattr(restoring, "_compare", nothing)
        patch.setattr(NatsLink, "purge", nothing)
        assert main(["backup", str(data), address]) == 1
    assert asyncio.run(_shards(address)) == [SHARD]
    capsys.readouterr()
    assert main(["backup", str(data), address]) == 2
    assert "was killed: if none is, delete the streams evenmatch_killed" in capsys.readouterr().err


def test_a_copy_whose_first_answer_is_lost_leaves_nothing(
    tmp_path: Path, nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = long_story().write(tmp_path / "data")
    address = f"{nats_server.url}#lost_{os.urandom(8).hex()}"
    publish = NatsLink.publish

    async def lost(self: NatsLink, *given: Any) -> int | None:
        await publish(self, *given)
        raise AnswerLost("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(NatsLink, "publish", lost)
        assert main(["backup", str(data), address]) == 1
    assert asyncio.run(_shards(address)) == []
    assert main(["backup", str(data), address]) == 0


async def _shards(address: str) -> list[str]:
    journal = open_on_server(address)
    try:
        return await journal.shards()
    finally:
        await journal.close()


def test_no_server_begins_with_half_of_a_copy(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = long_story().write(tmp_path / "data")
    refusals: list[str] = []

    async def begin() -> None:
        journal = open_on_server(address)
        try:
            await journal.lease(SHARD, "server", 10.0)
        except (StaleOwner, JournalUnavailable) as error:
            refusals.append(type(error).__name__)
        finally:
            await journal.close()

    batches = restoring.FileShard.batches

    def observed(self: restoring.FileShard, say: Any) -> Any:
        for each in batches(self, say):
            yield each
            if len(refusals) == 0 and address.startswith("nats"):
                _in_thread(begin)

    monkeypatch.setattr(restoring.FileShard, "batches", observed)
    assert main(["backup", str(data), address]) == 0
    # In PostgreSQL nobody sees any of it before its transaction ends.
    assert refusals == (["StaleOwner"] if address.startswith("nats") else [])


def _in_thread(work: Any) -> None:

    thread = Thread(target=lambda: asyncio.run(work()))
    thread.start()
    thread.join()


def test_a_server_moves_to_a_journal_with_keys_and_a_changed_configuration(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "old" / "data"
    assert main(["keys", "add", "backend", "--data", str(data), "--json",
                 "--rights", "tickets,read,operate"]) == 0  # fmt: skip
    key = json.loads(capsys.readouterr().out)
    with running(tmp_path / "old") as old:
        headers = {"authorization": f"Bearer {key['key']}", "content-type": "application/toml"}
        assert old.call("PUT", "/v1/config", raw=WIDER.encode(), headers=headers).status == 200
        own = ask(old, "POST", "/v1/tickets", key, ticket("ada")).body["id"]
        shown = ask(old, "GET", "/v1/config", key).body
        assert old.stop() == 0
    assert main(["backup", str(data), address]) == 0
    assert "evenmatch keys copy" in capsys.readouterr().out
    assert main(["keys", "copy", "--data", str(data), "--journal", address]) == 0
    with serving(tmp_path / "new", address) as new:
        assert ask(new, "GET", f"/v1/tickets/{own}", key).body["state"] == "waiting"
        assert ask(new, "GET", "/v1/config", key).body == shown
        more = ask(new, "POST", "/v1/tickets", key, ticket("bob", rating=3000.0)).body["id"]
        assert new.stop() == 0
    # And back.
    assert main(["backup", address, str(tmp_path / "back")]) == 0
    (tmp_path / "back" / "keys.json").write_bytes((data / "keys.json").read_bytes())
    (tmp_path / "again").mkdir()
    (tmp_path / "back").rename(tmp_path / "again" / "data")
    again = Server(tmp_path / "again")
    try:
        assert ask(again, "GET", "/v1/config", key).body == shown
        for each in (own, more):
            assert ask(again, "GET", f"/v1/tickets/{each}", key).body["state"] == "waiting"
        assert again.stop() == 0
    finally:
        if again.process.poll() is None:
            again.kill()
