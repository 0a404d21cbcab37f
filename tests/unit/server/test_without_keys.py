"""A journal that was written with keys is not opened to everybody because they are missing."""

import asyncio
import json
from pathlib import Path

import pytest

from evenmatch.errors import ConfigError
from evenmatch.journals.backup import back_up, check_backup, had_keys
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.queue import Queue
from evenmatch.server.games import game
from evenmatch.server.recovery import Plan
from evenmatch.server.runtime import Runtime
from tests.callers import add_key

QUEUE = Queue(name="duel", policy="greedy")


def start(folder: Path, *, may_be_open: bool = False) -> bool:
    """Start a server on a folder, as `serve` does, and end it; return whether it has keys."""
    plan = game(Plan((QUEUE,), data=folder, may_be_open=may_be_open)).plan

    async def scene() -> None:
        runtime = Runtime(plan, SqliteJournal.open(folder))
        await runtime.start()
        await runtime.stop()

    asyncio.run(scene())
    return plan.keyed


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
