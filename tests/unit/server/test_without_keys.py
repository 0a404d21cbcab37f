"""A journal that was written with keys is not opened to everybody because they are missing."""

import asyncio
import json
from pathlib import Path

import pytest

from evenmatch.errors import ConfigError, JournalUnavailable
from evenmatch.journals.backup import back_up, check_backup, had_keys
from evenmatch.journals.base import Segment
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.queue import Queue
from evenmatch.server.runtime.games import Games, game
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from tests.callers import add_key
from tests.waiting import turns

QUEUE = Queue(name="duel", policy="greedy")


def start(folder: Path, *, may_be_open: bool = False) -> bool:
    """Start a server on a folder, as `serve` does, and end it; return whether it has keys."""
    plan = game(ShardPlan((QUEUE,), data=folder, may_be_open=may_be_open)).plan

    async def scene() -> None:
        runtime = Runtime(plan, SqliteJournal.open(folder))
        await runtime.start()
        await runtime.stop()

    asyncio.run(scene())
    return plan.has_keys


def add_while_running(folder: Path, *, fails: int = 0) -> None:
    """Start a server without keys, add the first one, and kill it when that counts.

    Args:
        folder: Its data.
        fails: How often the journal cannot be written then.
    """

    async def scene() -> None:
        games = Games([game(ShardPlan((QUEUE,), data=folder))], snapshot_every=100)
        (parts,) = games.services
        await games.start()
        add_key(folder)
        begin, left = parts.runtime.journal.begin, fails

        async def stumbling(shard: str, segment: Segment) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                raise JournalUnavailable("the disk is full")
            await begin(shard, segment)

        parts.runtime.journal.begin = stumbling  # type: ignore[method-assign]
        games.gate.look()
        await noted(parts.runtime)
        # Killed: nothing else is written.
        await parts.runtime.journal.close()
        parts.runtime.failure = "killed"
        await games.stop()

    asyncio.run(scene())


async def noted(runtime: Runtime) -> None:
    """Wait until the journal knows of keys."""
    while not (await runtime.journal.segments("s0"))[-1].keyed:
        await turns(1)


def say(what: str, done: int, of: int) -> None:
    """Say nothing."""


def test_journal_knows_that_there_were_keys(tmp_path: Path) -> None:
    add_key(tmp_path)
    assert start(tmp_path)
    (tmp_path / "keys.json").unlink()
    with pytest.raises(ConfigError, match=r"written with keys.*--without-keys"):
        start(tmp_path)
    # Another try does not wear the refusal out.
    with pytest.raises(ConfigError, match="written with keys"):
        start(tmp_path)
    add_key(tmp_path)
    assert start(tmp_path)


@pytest.mark.parametrize("fails", [0, 1])
def test_journal_knows_of_the_first_key_at_once(
    tmp_path: Path, fails: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.server.runtime.games.NOTE_AGAIN", 0.0)
    add_while_running(tmp_path, fails=fails)
    journal = SqliteJournal.open(tmp_path)
    assert len(asyncio.run(journal.segments("s0"))) == 1, "no other start is told of"
    asyncio.run(journal.close())
    (tmp_path / "keys.json").unlink()
    with pytest.raises(ConfigError, match="written with keys"):
        start(tmp_path)


def test_shard_is_rebuilt_after_its_first_key(tmp_path: Path) -> None:
    async def scene() -> None:
        games = Games([game(ShardPlan((QUEUE,), data=tmp_path))], snapshot_every=100)
        await games.start()
        runtime = games.services[0].runtime
        add_key(tmp_path)
        games.gate.look()
        await noted(runtime)
        await runtime._rebuild()
        assert (await runtime.journal.segments("s0"))[-1].keyed
        await games.stop()

    asyncio.run(scene())


def test_whoever_says_so_goes_on_without(tmp_path: Path) -> None:
    add_key(tmp_path)
    start(tmp_path)
    (tmp_path / "keys.json").unlink()
    assert not start(tmp_path, may_be_open=True)
    assert not start(tmp_path), "it was said once, and the journal knows"


def test_backup_knows_that_there_were_keys(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    start(data)
    # The key comes while the server runs, and the copy is made before it starts anew.
    add_key(data)
    back_up(data, out, say)
    assert had_keys(out)
    assert check_backup(out, say).keyed is True
    assert not (out / "keys.json").exists()
    with pytest.raises(ConfigError, match="written with keys"):
        start(out)


def test_server_that_never_had_keys_needs_none(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    assert not start(data)
    assert not start(data)
    back_up(data, out, say)
    assert "keyed" not in json.loads((out / "backup.json").read_text())
    check_backup(out, say)
    assert not start(out)
