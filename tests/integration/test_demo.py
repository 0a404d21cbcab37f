"""The demo, short: the real trace through a real server."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evenmatch.cli.demo_run import Run
from evenmatch.client import ServerRefused
from evenmatch.wire import Problem, TicketState
from evenmatch.wire_matches import FeedPage


def evenmatch(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evenmatch.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def assert_checks_add_up(figures: dict[str, Any]) -> None:
    """Everybody was matched or waits, but for those who failed a ready-check."""
    checks = figures["checks"]
    failed = checks["declined"] + checks["silent"] + checks["late"]
    assert figures["tickets"] == figures["matched"] + figures["waiting"] + failed
    assert checks["proposed"] >= checks["failed"] >= checks["repaired"] > 0


def test_demo_loses_nobody_and_matches_nobody_twice() -> None:
    began = time.monotonic()
    done = evenmatch("demo", "--seconds", "8", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    figures = json.loads(done.stdout)
    assert time.monotonic() - began < 30.0
    assert figures["lost"] == figures["duplicated"] == 0
    checks = figures["checks"]
    assert figures["tickets"] + figures["merged"] + checks["cooling"] == 9_690
    assert_checks_add_up(figures)
    assert figures["matched"] > 0.95 * (figures["tickets"] - checks["declined"])
    # Shares of 8 % and 2 % of more than 5,000 tickets: standard errors of .4 % and .2 %.
    assert 0.06 < checks["declined"] / figures["tickets"] < 0.10
    assert 0.01 < checks["silent"] / figures["tickets"] < 0.03
    assert set(figures["wait"]) == set(figures["rating_gap"]) == {"mean", "p50", "p95"}
    assert figures["url"].startswith("http://127.0.0.1:")


def test_demo_of_teams_loses_nobody_and_tells_of_every_region() -> None:
    done = evenmatch("demo", "--world", "3v3", "--seconds", "8", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["lost"] == figures["duplicated"] == figures["merged"] == 0
    assert_checks_add_up(figures)
    # An answer takes up to 3 s, so that after 6 + 2 s matches of six are still being repaired.
    assert figures["matched"] > 0.85 * (figures["tickets"] - figures["checks"]["declined"])
    # 6 s of 60 world seconds each, in which 200 players a minute come: 1,200 +- 4 x 35, roughly.
    assert 1_000 < figures["players"] < 1_400
    regions = figures["regions"]
    assert regions["europe_west"]["players"] > regions["us_east"]["players"] > 100
    assert sum(each["players"] for each in regions.values()) <= figures["players"]
    assert all(0.0 < each["quality"]["mean"] <= 1.0 for each in regions.values())
    assert all(each["wait"]["mean"] >= 0.0 for each in regions.values())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["demo", "--world", "moon"], "--world must be duel or 3v3, got 'moon'"),
        (["demo", "--world", "3v3", "--speed", "1000000"], "more than 200,000 parties would come"),
        (["demo", "--seconds", "0"], "--seconds must be from 3"),
        (["demo", "--speed", "-1"], "--speed must be above 0"),
        (["serve", "nothing.toml"], "nothing.toml"),
        (["serve", "scenarios/duel.toml", "--host", "0.0.0.0"], "loopback"),
        (["serve", "scenarios/duel.toml", "--port", "99999"], "--port must be"),
        (["serve", "scenarios/duel.toml", "--journal", "valkey://x"], "later version"),
        (["fly"], "fly"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(arguments: list[str], sentence: str) -> None:
    done = evenmatch(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_ended_demo_leaves_no_server_and_no_folder(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "evenmatch.cli.main", "demo", "--seconds", "30"]
    process = subprocess.Popen(
        command,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    began = time.monotonic()
    while not list(tmp_path.glob("*/journal.db-wal")) and time.monotonic() - began < 20.0:
        time.sleep(0.05)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20.0)
    # The folder goes after the server has ended.
    assert (process.returncode, errors) == (128 + number, "")
    assert list(tmp_path.iterdir()) == []


class Forgetful:
    """A client of a server that has forgotten one of its tickets."""

    url = ""

    async def get(self, ticket: str) -> TicketState:
        if ticket == "t1":
            raise ServerRefused(404, Problem("unknown_ticket", "no such ticket"))
        raise ServerRefused(410, Problem("forgotten", "ended long ago"))

    async def page(self, queue: str, after: int, *, wait: float = 0.0) -> FeedPage:
        return FeedPage((), after)


def test_acknowledged_ticket_that_the_server_denies_is_lost() -> None:
    run = Run(Forgetful(), [], speed=1.0, tell=lambda ledger: None)  # type: ignore[arg-type]
    run.ledger.born = {"t1": 0.0, "t2": 0.0}
    run.ledger.match_count.update(["t1", "t2"])
    assert asyncio.run(run.play(0.0)).lost == 1


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_help_has_an_example(command: str) -> None:
    done = evenmatch(command, "--help")
    assert done.returncode == 0
    assert f"evenmatch {command} " in done.stdout
    assert "For example" in done.stdout
