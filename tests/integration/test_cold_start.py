"""A server whose kernels are compiled nowhere yet: what it says until they are."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import evenmatch

pytest.importorskip("numba")

CONFIG = """
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "first_come"
"""
GIVE_UP = 300.0


@contextmanager
def cold_server(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start a server with an empty cache; yield it and its address."""
    config = folder / "duel.toml"
    config.write_text(CONFIG)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "evenmatch.cli.main",
        "serve",
        str(config),
        "--port",
        str(port),
    ]
    log = (folder / "log").open("a")
    server = subprocess.Popen(
        [*command, *options],
        env={
            **os.environ,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PYTHONPATH": str(Path(evenmatch.__file__).parents[1]),
        },
        stdout=subprocess.DEVNULL,
        stderr=log,
    )
    log.close()
    try:
        yield server, f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def get(url: str) -> tuple[int, dict[str, object]]:
    """Return the code and the JSON of an answer; 0 while nobody listens."""
    try:
        with urllib.request.urlopen(url, timeout=GIVE_UP) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
    except OSError:
        return 0, {}


def answers(server: subprocess.Popen[bytes], url: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Ask again and again, and yield what is answered."""
    began = time.monotonic()
    while time.monotonic() - began < GIVE_UP:
        assert server.poll() is None
        code, told = get(url)
        if code:
            yield code, told
        time.sleep(0.02)
    pytest.fail(f"{url} never answered as expected")


def test_cold_server_lives_and_says_what_it_waits_for(tmp_path: Path) -> None:
    with cold_server(tmp_path) as (server, url):
        code, told = next(answers(server, f"{url}/readyz"))
        assert code == 503
        assert str(told["reason"]).startswith("compiling solvers for this machine")
        assert "`evenmatch warm` does this beforehand" in str(told["reason"])
        assert get(f"{url}/healthz") == (200, {"status": "ok"})
        code, told = get(f"{url}/v1/queues")
        assert (code, told["error"]) == (503, "unavailable")
        # It ends when it is told to.
        server.send_signal(signal.SIGTERM)
        assert server.wait(GIVE_UP) == 0
    said = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert any("compiling solvers" in line.get("detail", "") for line in said)


@pytest.mark.long
def test_cold_server_becomes_ready(tmp_path: Path) -> None:
    with cold_server(tmp_path) as (server, url):
        codes = []
        for code, _ in answers(server, f"{url}/readyz"):
            codes.append(code)
            if code == 200:
                break
    assert set(codes) == {503, 200}


@pytest.mark.long
def test_successor_compiles_before_it_waits_for_the_directory(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with cold_server(tmp_path, "--data", data, "--wait") as (server, url):
        assert next(answers(server, f"{url}/readyz")) == (200, {"status": "ready"})
    # The next start finds what it compiled.
    with cold_server(tmp_path) as (server, url):
        assert next(answers(server, f"{url}/readyz")) == (200, {"status": "ready"})
