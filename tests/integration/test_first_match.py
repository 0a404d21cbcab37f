"""The how-to from an empty folder to a match: its files and its commands, on a real server."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from tests.integration.serving import running
from tests.waiting import GIVE_UP

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "first-match.md"
TEXT = PAGE.read_text(encoding="utf-8")
FILES = dict(re.findall(r"^<!-- file: (\S+) -->\n\n```\w+\n(.*?)^```$", TEXT, re.M | re.S))
CURLS = [shlex.split(line) for line in re.findall(r"^\$ (curl [^|\n]*)", TEXT, re.M)]
PLAYS = re.findall(r"^python (player\.py .*)$", TEXT, re.M)


def test_every_request_of_the_page_is_answered_and_its_programs_play(tmp_path: Path) -> None:
    assert len(CURLS) >= 9
    with running(tmp_path / "server", FILES["CONFIG.toml"]) as server:
        for command in CURLS:
            address = next(word for word in command if "localhost:8080" in word)
            parts = urlsplit(address if "//" in address else "//" + address)
            body = command[command.index("-d") + 1].encode() if "-d" in command else None
            usual = "GET" if body is None else "POST"
            method = command[command.index("-X") + 1] if "-X" in command else usual
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            reply = server.call(method, path, raw=body)
            assert reply.status < 300, (command, reply.body)
        assert server.call("GET", "/v1/tickets/s0-1").body["state"] == "assigned"
        said = played(server.url, tmp_path)
    assert sorted(said) == ["cleo plays at 203.0.113.5:7777", "dan plays at 203.0.113.5:7777"]


def played(url: str, folder: Path) -> list[str]:
    """Return what the page's two players print while its backend runs."""
    for name, source in FILES.items():
        (folder / name).write_text(source.replace("http://127.0.0.1:8080", url), encoding="utf-8")
    backend = subprocess.Popen([sys.executable, "backend.py"], cwd=folder)
    players = [
        subprocess.Popen(
            [sys.executable, *command.split()], cwd=folder, stdout=subprocess.PIPE, text=True
        )
        for command in PLAYS
    ]
    try:
        return [player.communicate(timeout=GIVE_UP)[0].strip() for player in players]
    finally:
        for process in (backend, *players):
            process.kill()
            process.wait()
