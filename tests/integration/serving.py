"""A real `evenmatch serve` in a subprocess, on a free port of this machine."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.waiting import GIVE_UP

CONFIG = """
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "window:limit=100"

[[queue]]
name = "squad"
teams = 2
players = 2
policy = "greedy"
attributes = ["mode"]

[server.limits]
body_bytes_max = 200000
followers_max = 50
"""


class Reply(NamedTuple):
    status: int
    body: Any
    headers: Mapping[str, str]


class Server:
    """One process; `kill` is `kill -9`."""

    def __init__(
        self,
        directory: Path,
        config: str = CONFIG,
        *,
        durable: bool = True,
        env: Mapping[str, str] = {},
        port: int = 0,
        descriptors: int | None = None,
        options: Sequence[str] = (),
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "config.toml"
        path.write_text(config, encoding="utf-8")
        command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(path)]
        command += ["--port", str(port)]
        command += ["--data", str(directory / "data")] if durable else []
        command += options
        if descriptors is not None:
            command = ["/bin/sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *command]
        self.log = directory / "server.log"
        with self.log.open("a", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
                env={**os.environ, **env},
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.url = line.split()[-1]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        headers: Mapping[str, str] = {},
        timeout: float = GIVE_UP,
    ) -> Reply:
        data = raw if raw is not None else json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(
            self.url + path, data=data, method=method, headers=dict(headers)
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return _reply(answer.status, answer.read(), answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return _reply(error.code, error.read(), error.headers)

    def create(self, player: str, rating: float = 1500.0, **more: Any) -> Reply:
        return self.call("POST", "/v1/tickets", ticket(player, rating=rating), **more)

    def kill(self) -> None:
        self.process.kill()
        self._reap()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self._reap()

    def _reap(self) -> int:
        code = self.process.wait(GIVE_UP)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@contextmanager
def running(directory: Path, config: str = CONFIG, *, durable: bool = True) -> Iterator[Server]:
    server = Server(directory, config, durable=durable)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def ticket(*players: str, rating: float = 1500.0, queue: str = "duel") -> dict[str, Any]:
    return {
        "queues": [queue],
        "players": [{"id": player, "rating": {"mean": rating}} for player in players],
    }


def _reply(status: int, body: bytes, headers: Mapping[str, str]) -> Reply:
    kind = headers.get("content-type", "")
    value = json.loads(body) if kind.startswith("application/json") else body.decode()
    return Reply(status, value, headers)
