"""The server of the demo: a process of its own, ended in order whatever ends the demo."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from evenmatch.errors import MatchmakingError

STOP_SECONDS = 5.0
READY_SECONDS = 180.0
"""How long the server may take without saying anything new, such as how many kernels it has."""
ASK_EVERY = 0.05
SAY_EVERY = 10.0
"""Seconds between two sentences about what the server is busy with."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block in order, so that no server and no folder stay behind.

    Raises:
        SystemExit: One of them came; the code is 128 and its number.
    """
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

    def end(number: int, _: object) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = [(number, signal.getsignal(number)) for number in numbers]
    for number, present in before:
        # `nohup` has the process ignore SIGHUP.
        if present is not signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield
    finally:
        for number, present in before:
            signal.signal(number, present)


@contextmanager
def stopped_by_ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C call a function, and the next one interrupt as ever."""

    def hear(number: int, _: object) -> None:
        signal.signal(number, signal.default_int_handler)
        stop()

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def server(config_text: str, say: Callable[[str], None] = lambda _: None) -> Iterator[str]:
    """Run `evenmatch serve` on a journal in a temporary directory; yield its address when ready.

    Args:
        config_text: The server's configuration, TOML.
        say: Told what it is busy with, where that takes a while.
    """
    with tempfile.TemporaryDirectory(prefix="evenmatch-demo-") as folder:
        config = Path(folder) / "demo.toml"
        config.write_text(config_text, encoding="utf-8")
        command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(config)]
        command += ["--port", "0", "--data", folder]
        with (Path(folder) / "server.log").open("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
            )
            try:
                url = _address(process, errors.name)
                _wait_until_ready(process, url, say)
                yield url
            finally:
                _stop(process)


def _address(process: subprocess.Popen[str], errors: str) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        process.wait(STOP_SECONDS)
        told = Path(errors).read_text(encoding="utf-8")[-500:].removeprefix("evenmatch: ")
        raise MatchmakingError(f"the server did not start: {told}")
    return line.split()[-1]


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _wait_until_ready(process: subprocess.Popen[str], url: str, say: Callable[[str], None]) -> None:
    """Return when the server says that its queues make matches; nobody comes before."""
    news, told_at, now = "", -SAY_EVERY, time.monotonic()
    give_up = now + READY_SECONDS
    while (reason := _why_not_ready(url)) is not None:
        now = time.monotonic()
        if reason != news:
            news, give_up = reason, now + READY_SECONDS
        if news and now - told_at >= SAY_EVERY:
            told_at = now
            say(news)
        if process.poll() is not None or now > give_up:
            raise MatchmakingError(f"the server did not become ready{news and f': {news}'}")
        time.sleep(ASK_EVERY)


def _why_not_ready(url: str) -> str | None:
    """Return what the server is busy with, "" if it says nothing; None once it is ready."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=STOP_SECONDS)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        if answer.status == 200:
            return None
        return str(json.loads(answer.read()).get("reason", ""))
    except (OSError, HTTPException, ValueError):
        return ""
    finally:
        connection.close()
