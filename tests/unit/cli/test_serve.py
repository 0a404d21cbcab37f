"""`serve` as it is started: what is refused, with which code, and what people are told."""

import errno
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from evenmatch.cli.main import main
from evenmatch.errors import JournalUnavailable
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.journals.sqlite_file import translate_errors
from evenmatch.server.runtime import logs
from evenmatch.server.runtime import serve as server_process
from evenmatch.server.runtime.games import Game
from evenmatch.server.runtime.serve import DataLock, ListenOptions

CONFIG = """
[[queue]]
name = "duel"
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "duel.toml"
    path.write_text(CONFIG)
    return str(path)


def refused(capsys: pytest.CaptureFixture[str], *tokens: str) -> str:
    """Return the sentence of a start that bad input prevents."""
    code = main(["serve", *tokens, "--port", "0"])
    out = capsys.readouterr()
    assert (code, out.out, out.err.count("\n")) == (2, "", 1)
    return out.err


def test_file_for_data_is_bad_input(capsys: pytest.CaptureFixture[str], config: str) -> None:
    assert "is a file" in refused(capsys, config, "--data", config)


def test_waiting_for_a_server_needs_its_directory(
    capsys: pytest.CaptureFixture[str], config: str
) -> None:
    assert "name it with --data" in refused(capsys, config, "--wait")


def test_corrupt_journal_at_start_is_bad_input(
    capsys: pytest.CaptureFixture[str], config: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "journal.db").write_bytes(b"no database" * 100)
    assert "is not a journal" in refused(capsys, config, "--data", str(tmp_path / "data"))
    assert (tmp_path / "data" / "journal.db").read_bytes() == b"no database" * 100


def test_second_server_on_a_directory_is_bad_input(
    capsys: pytest.CaptureFixture[str], config: str, tmp_path: Path
) -> None:
    with DataLock(tmp_path / "data"):
        told = refused(capsys, config, "--data", str(tmp_path / "data"))
    assert "another server runs on" in told


def fake(
    monkeypatch: pytest.MonkeyPatch, *, fails: bool = False
) -> list[tuple[list[Game], ListenOptions]]:
    """Put a server in place that listens and ends at once; return what it is called with."""
    calls = []

    def serve(games: list[Game], place: ListenOptions, announce: Callable[[str], None]) -> None:
        calls.append((games, place))
        announce("http://127.0.0.1:1")
        if fails:
            raise JournalUnavailable("the disk is gone")

    monkeypatch.setattr(server_process, "serve", serve)
    return calls


def test_times_that_nobody_can_keep_to_are_warned_of_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch)
    log = Mock()
    monkeypatch.setattr(logs, "log", log)
    path = tmp_path / "duel.toml"
    path.write_text(CONFIG + "silent_after = 5")
    assert main(["serve", str(path)]) == 0
    (told,) = log.warning.call_args_list
    assert told.args == ("configuration",)
    assert told.kwargs["queue"] == "duel"
    assert "write silent_after = 30" in told.kwargs["warning"]


def test_shard_given_up_while_running_is_a_failure(
    capsys: pytest.CaptureFixture[str], config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch, fails=True)
    assert main(["serve", config]) == 1
    assert capsys.readouterr().err == "evenmatch: the disk is gone\n"


def test_start_on_a_full_disk_is_a_failure_that_may_be_tried_again(
    capsys: pytest.CaptureFixture[str], config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(games: list[Game], place: ListenOptions, announce: Callable[[str], None]) -> None:
        with (
            closing(sqlite3.connect(":memory:")) as connection,
            translate_errors(Path("journal.db")),
        ):
            connection.execute("PRAGMA max_page_count = 1")
            connection.execute("CREATE TABLE records (body BLOB)")

    monkeypatch.setattr(server_process, "serve", serve)
    assert main(["serve", config]) == 1
    assert "free some space" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (errno.EROFS, 1, "server.lock: Read-only file system)"),
        (errno.ENOSPC, 1, "server.lock: No space left on device)"),
        (errno.EIO, 1, "server.lock: Input/output error)"),
        (errno.EACCES, 2, "server.lock: Permission denied); let the user who runs the server"),
    ],
)
def test_data_directory_on_a_disk_that_fails_may_be_tried_again(
    number: int,
    code: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
    config: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = Path.open

    def fails(path: Path, *given: Any, **more: Any) -> Any:
        if path.name == "server.lock":
            raise OSError(number, os.strerror(number), str(path))
        return opened(path, *given, **more)

    monkeypatch.setattr(Path, "open", fails)
    assert main(["serve", config, "--data", str(tmp_path / "data"), "--port", "0"]) == code
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("step", ["lease", "append"])
def test_disk_that_is_full_at_any_step_of_a_start_is_a_failure(
    step: str, config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fill_the_disk(*_: object) -> int:
        with (
            closing(sqlite3.connect(":memory:")) as connection,
            translate_errors(Path("journal.db")),
        ):
            connection.execute("PRAGMA max_page_count = 1")
            connection.execute("CREATE TABLE records (body BLOB)")
        return 0

    monkeypatch.setattr(SqliteJournal, step, fill_the_disk)
    assert main(["serve", config, "--data", str(tmp_path / "data"), "--port", "0"]) == 1


@pytest.mark.parametrize("given", [True, False])
def test_queues_are_dropped_only_on_demand(
    config: str, monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    calls = fake(monkeypatch)
    assert main(["serve", config, *(["--drop-queues"] * given)]) == 0
    ((game,), _), *_ = calls
    assert game.plan.drop_queues is given


def test_terminal_is_told_that_nothing_is_kept(
    capsys: pytest.CaptureFixture[str], config: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch)
    main(["serve", config])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    main(["serve", config])
    assert "Nothing is kept: start with --data DIR" in capsys.readouterr().err
    main(["serve", config, "--data", str(tmp_path)])
    assert capsys.readouterr().err == ""
