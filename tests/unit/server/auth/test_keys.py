"""Service keys: what the file holds, and the command that changes it."""

import json
import os
import stat
import time
from pathlib import Path

import pytest

from evenmatch.cli.main import main
from evenmatch.errors import ConfigError
from evenmatch.server.auth.keys import KeyRing, editing, new_key, read_keys, write_keys


def test_file_holds_a_hash_and_is_for_its_owner_only(tmp_path: Path) -> None:
    key, text = new_key("backend", ("tickets",), now=1.0)
    path = tmp_path / "keys.json"
    write_keys(path, (key,))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert text.split("_", 2)[2] not in path.read_text()
    assert read_keys(path) == (key,)
    found = KeyRing((key,)).principal(text, 2.0)
    assert found is not None
    assert (found.kind, found.name, found.key) == ("service", "backend", key.id)
    assert found.rights == {"tickets", "anyone"}


def test_keys_are_long_and_different() -> None:
    texts = {new_key("a", ("read",), now=0.0)[1] for _ in range(50)}
    assert len(texts) == 50
    assert all(len(text.split("_", 2)[2]) == 43 for text in texts), "256 bits in base64"


@pytest.mark.parametrize("change", [str.upper, lambda text: text[:-1], lambda text: text + "a",
                                    lambda text: text.replace("em_", "en_")])  # fmt: skip
def test_altered_key_opens_nothing(change: object) -> None:
    key, text = new_key("backend", ("tickets",), now=1.0)
    assert callable(change)
    assert KeyRing((key,)).principal(change(text), 2.0) is None


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"keys": 7}', '{"keys": [{"id": "a", "name": "b", "sha256": "zz", "rights": []}]}',
     '{"keys": [{"id": "a", "name": "b", "sha256": "' + "0" * 64 + '", "rights": ["all"]}]}',
     '{"keys": [], "more": 1}', "[" * 5000],
)  # fmt: skip
def test_damaged_file_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"keys\.json"):
        read_keys(path)


def test_command_makes_shows_rotates_and_revokes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", str(tmp_path)]
    assert main(["keys", "add", "backend", "--rights", "tickets,matches", "--queues", "duel",
                 "--days", "30", *data]) == 0  # fmt: skip
    told = capsys.readouterr().out
    text = told.splitlines()[0]
    assert "It is the first key at" in told
    assert main(["keys", "add", "other", "--data", str(tmp_path / "other")]) == 0
    capsys.readouterr()
    assert main(["keys", "add", "again", "--data", str(tmp_path / "other")]) == 0
    assert "It is the first key at" not in capsys.readouterr().out
    (first,) = read_keys(tmp_path / "keys.json")
    assert first.rights == ("tickets", "matches")
    assert first.queues == ("duel",)
    assert first.expires == pytest.approx(time.time() + 30 * 86_400, abs=60)
    assert KeyRing((first,)).principal(text, time.time()) is not None

    assert main(["keys", "rotate", "backend", "--keep-hours", "1", "--json", *data]) == 0
    shown = json.loads(capsys.readouterr().out)
    old, new = read_keys(tmp_path / "keys.json")
    assert (new.rights, new.queues) == (old.rights, old.queues)
    ring, now = KeyRing((old, new)), time.time()
    assert ring.principal(shown["key"], now + 7200.0) is not None
    assert ring.principal(text, now + 60.0) is not None, "both count for a while"
    assert ring.principal(text, now + 7200.0) is None

    assert main(["keys", "revoke", old.id, *data]) == 0
    assert main(["keys", "list", "--json", *data]) == 0
    listed = json.loads(capsys.readouterr().out.splitlines()[-1])["keys"]
    assert [each["state"] for each in listed] == ["revoked", "live"]
    assert "sha256" not in listed[0]
    assert main(["keys", "list", *data]) == 0
    assert shown["key"] not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["drop", "x"],
            "the action of keys must be one of add, list, revoke, rotate, copy, got 'drop'",
        ),
        (["add"], "say whose key it is"),
        (["add", "x", "--rights", "all"], "--rights must be some of tickets, matches"),
        (["add", "x", "--rights", ""], "--rights must be some of tickets, matches"),
        (["add", " "], "a key's name has 1 to 64"),
        (["add", "x", "--days", "0"], "--days must be from 1 to 3650, got 0"),
        (["revoke", "nobody"], "cannot be read"),
        (["rotate", "nobody"], "no live key is called 'nobody'"),
        (["list"], "make it with: evenmatch keys add"),
        (["list", "ada"], "keys list takes no name, got 'ada'"),
        (["copy", "ada"], "keys copy takes no name, got 'ada'"),
        (["add", "x", "--queues", ""], "--queues must be names of queues separated by commas"),
        (["add", "x", "--queues", "duel,"], "got 'duel,'; without it the key is for all"),
        (["add", "x", "--keep-hours", "1"], "--keep-hours goes with keys rotate"),
        (["rotate", "x", "--days", "3"], "--days goes with keys add"),
        (["rotate", "x", "--rights", "read"], "--rights goes with keys add"),
        (["rotate", "x", "--queues", "duel"], "--queues goes with keys add"),
        (["rotate", "x", "--signing"], "--signing goes with keys add"),
        (["revoke", "x", "--days", "3"], "--days goes with keys add"),
        (["copy", "--json"], "--json goes with keys add, list, revoke, rotate"),
    ],
)
def test_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["keys", *arguments, "--data", str(tmp_path)]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_option_of_another_action_makes_no_key(tmp_path: Path) -> None:
    assert main(["keys", "add", "x", "--days", "3", "--data", str(tmp_path)]) == 0
    before = read_keys(tmp_path / "keys.json")
    assert main(["keys", "rotate", "x", "--rights", "read", "--data", str(tmp_path)]) == 2
    assert read_keys(tmp_path / "keys.json") == before


def test_key_for_a_queue_without_a_name_is_not_shown_as_one_for_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_keys(tmp_path / "keys.json", (new_key("x", ("read",), queues=("",), now=0.0)[0],))
    assert main(["keys", "list", "--data", str(tmp_path)]) == 0
    assert 'queues: ""' in capsys.readouterr().out


def test_second_revoke_says_that_the_key_is_revoked_already(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", str(tmp_path)]
    assert main(["keys", "add", "x", *data]) == 0
    assert main(["keys", "revoke", "x", *data]) == 0
    assert main(["keys", "revoke", "x", *data]) == 2
    assert "all keys with the id or name 'x' are revoked already" in capsys.readouterr().err
    assert main(["keys", "revoke", "y", *data]) == 2
    assert "no key has the id or name 'y'" in capsys.readouterr().err


@pytest.mark.parametrize("beside", ["", "more"])
def test_file_in_the_place_of_a_folder_is_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], beside: str
) -> None:
    (tmp_path / "game.toml").touch()
    data = tmp_path / "game.toml" / beside
    assert main(["keys", "add", "x", "--data", str(data)]) == 2
    assert f"{data / 'keys.json.lock'} cannot be written" in capsys.readouterr().err


def test_command_asks_where_the_keys_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "list"]) == 2
    assert "--data DIR" in capsys.readouterr().err


def test_two_editors_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    with editing(path):
        write_keys(path, (new_key("a", ("read",), now=0.0)[0],))
    with editing(path):
        write_keys(path, (*read_keys(path), new_key("b", ("read",), now=0.0)[0]))
    assert [key.name for key in read_keys(path)] == ["a", "b"]


SOMEBODY = 65534
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root works for other users"
)


@as_root
def test_keys_that_root_changes_stay_those_of_the_servers_user(tmp_path: Path) -> None:
    os.chown(tmp_path, SOMEBODY, SOMEBODY)
    for arguments in (["add", "first"], ["add", "second"], ["revoke", "first"]):
        assert main(["keys", *arguments, "--data", str(tmp_path)]) == 0
        for each in tmp_path.iterdir():
            assert (each.stat().st_uid, each.stat().st_gid) == (SOMEBODY, SOMEBODY)


@as_root
def test_keys_of_another_user_are_not_taken_from_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    path = tmp_path / "keys.json"
    assert main(["keys", "add", "first", "--data", str(tmp_path)]) == 0
    before = path.read_bytes()
    os.chown(path, SOMEBODY, SOMEBODY)
    monkeypatch.setattr(os, "fchown", refused)
    assert main(["keys", "revoke", "first", "--data", str(tmp_path)]) == 2
    assert f"belongs to user {SOMEBODY}" in " ".join(capsys.readouterr().err.split())
    assert (path.read_bytes(), path.stat().st_uid) == (before, SOMEBODY)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["keys.json", "keys.json.lock"]


def test_place_that_may_not_be_written_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "keys.json.lock").mkdir()
    assert main(["keys", "add", "first", "--data", str(tmp_path)]) == 2
    assert "keys.json.lock cannot be written" in " ".join(capsys.readouterr().err.split())


@as_root
def test_group_that_may_read_the_keys_still_may(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    assert main(["keys", "add", "first", "--data", str(tmp_path)]) == 0
    os.chown(path, 0, SOMEBODY)
    path.chmod(0o640)
    assert main(["keys", "revoke", "first", "--data", str(tmp_path)]) == 0
    assert (path.stat().st_gid, path.stat().st_mode & 0o777) == (SOMEBODY, 0o640)


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="this system opens links in any case")
@pytest.mark.parametrize("is_hard", [False, True])
def test_file_to_which_the_lock_is_a_link_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_hard: bool
) -> None:
    others = tmp_path / "others"
    others.write_text("of somebody else")
    before = others.stat()
    data = tmp_path / "data"
    data.mkdir()
    link = data / "keys.json.lock"
    if is_hard:
        link.hardlink_to(others)
        if os.geteuid() == 0:
            os.chown(data, SOMEBODY, SOMEBODY)
    else:
        link.symlink_to(others)
    assert main(["keys", "add", "first", "--data", str(data)]) == (0 if is_hard else 2)
    told = " ".join(capsys.readouterr().err.split())
    assert ("keys.json.lock cannot be written" in told) is not is_hard
    assert others.read_text() == "of somebody else"
    assert (others.stat().st_uid, others.stat().st_mode) == (before.st_uid, before.st_mode)
