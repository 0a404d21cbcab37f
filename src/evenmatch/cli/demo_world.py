"""What the demo plays: who comes when, the queue they meet in, and the server for it."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from evenmatch.errors import MatchmakingError
from evenmatch.model.scenario import Arrivals
from evenmatch.model.ticket import Player
from evenmatch.sim.arrivals import arrivals_of
from evenmatch.wire import CreateTicket

QUEUE = "slayer"
TRACE = Arrivals(
    process="file",
    file="evenmatch:halo2_1v1_queue_trace.csv.gz",
    columns={
        "at": "arrival_est_unix",
        "player": "player",
        "rating": "ts_mu",
        "rating_deviation": "ts_sigma",
    },
)
# TrueSkill points: half of the players lie within 4 points of the mean, and a gap of 4 wins 72 %.
CONFIG = f"""
[server]
clock_speed = %r

[[queue]]
name = "{QUEUE}"
teams = 2
players = 1
policy = "window:limit=2,rate=0.02,limit_max=25"

[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {{kind = "linear", min = 0.0, max = 50.0}}
"""
STOP_SECONDS = 5.0


class Guest(msgspec.Struct, frozen=True, gc=False):
    """Somebody who comes at an instant of the trace, seconds."""

    at: float
    player: Player


def halo() -> list[Guest]:
    """Return the players of the trace that ships with evenmatch, in order."""
    arrivals = arrivals_of(TRACE, np.random.SeedSequence(0))
    return [Guest(each.at, each.ticket.players[0]) for each in arrivals]


def ticket_of(guest: Guest) -> CreateTicket:
    """Return the ticket of a guest."""
    return CreateTicket((guest.player,), (QUEUE,))


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
def server(speed: float) -> Iterator[str]:
    """Run `evenmatch serve` on a journal in a temporary directory; yield its address."""
    with tempfile.TemporaryDirectory(prefix="evenmatch-demo-") as folder:
        config = Path(folder) / "demo.toml"
        config.write_text(CONFIG % speed, encoding="utf-8")
        command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(config)]
        command += ["--port", "0", "--data", folder]
        with (Path(folder) / "server.log").open("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
            )
            try:
                yield _address(process, errors.name)
            finally:
                _stop(process)


def _address(process: subprocess.Popen[str], errors: str) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        process.wait(STOP_SECONDS)
        raise MatchmakingError(f"the server did not start: {Path(errors).read_text()[-500:]}")
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
