"""The demo, short: the real trace through a real server."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenmatch.cli.main import main
from evenmatch.client.client import AsyncClient, ServerRefused
from evenmatch.demo.ledger import DemoFigures
from evenmatch.demo.run import DemoRun, simulated_wait
from evenmatch.demo.server import server
from evenmatch.demo.world import SETTINGS, arrivals_at
from evenmatch.lab.simulate import simulate
from evenmatch.model.scenario import Answers
from evenmatch.wire.matches import FeedPage
from evenmatch.wire.tickets import Problem, TicketState
from tests.extent import only
from tests.waiting import GIVE_UP, wait_until


def evenmatch(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evenmatch.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=GIVE_UP)


def assert_checks_add_up(figures: dict[str, Any]) -> None:
    """Everybody was matched or waits, but for those who failed a ready-check."""
    checks = figures["checks"]
    failed = checks["declined"] + checks["silent"] + checks["late"]
    assert figures["tickets"] == figures["matched"] + figures["waiting"] + failed
    assert checks["proposed"] >= checks["failed"] >= checks["repaired"] > 0


def test_hour_of_the_demo_loses_nobody_and_matches_nobody_twice() -> None:
    done = evenmatch("demo", "--hours", "1", "--seconds", "6", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    figures = json.loads(done.stdout)
    assert figures["lost"] == figures["duplicated"] == 0
    checks = figures["checks"]
    assert figures["tickets"] + figures["merged"] + checks["cooling"] == 604
    assert_checks_add_up(figures)
    assert figures["matched"] > 0.9 * (figures["tickets"] - checks["declined"] - checks["silent"])
    assert figures["speed"] == 800.0
    assert figures["simulated"]["mean"] > 0.0
    assert set(figures["wait"]) == set(figures["rating_gap"]) == {"mean", "p50", "p95"}


@pytest.mark.long
def test_demo_loses_nobody_and_matches_nobody_twice() -> None:
    done = evenmatch("demo", "--seconds", "8", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    figures = json.loads(done.stdout)
    assert figures["lost"] == figures["duplicated"] == 0
    checks = figures["checks"]
    assert figures["tickets"] + figures["merged"] + checks["cooling"] == 2_532
    assert_checks_add_up(figures)
    assert figures["matched"] > 0.95 * (figures["tickets"] - checks["declined"] - checks["silent"])
    # Shares of 8 % and 2 % of about 2,500 tickets that are asked 1.1 times: standard errors of
    # .6 % and .3 %.
    assert 0.06 < checks["declined"] / figures["tickets"] < 0.11
    assert 0.01 < checks["silent"] / figures["tickets"] < 0.04
    # Five hours in six seconds: the output says what that does to the waits.
    assert figures["speed"] == 3_000.0
    assert figures["note"].startswith("at 3,000 times real time a message")
    assert figures["simulated"]["mean"] > 0.0
    assert set(figures["wait"]) == set(figures["rating_gap"]) == {"mean", "p50", "p95"}
    assert figures["url"].startswith("http://127.0.0.1:")


@pytest.mark.long
def test_waits_of_players_who_accept_are_those_of_a_simulation_of_the_same_players() -> None:
    setting = msgspec.structs.replace(SETTINGS["duel"], answers=Answers())
    plan = setting.plan(None, None, 0.5)

    async def play(url: str) -> DemoFigures:
        async with AsyncClient(url) as client:
            run = DemoRun(client, plan.guests, setting, speed=plan.speed, tell=lambda _: None)
            return await run.play(time.monotonic() + plan.seconds + 3.0)

    with server(setting.server_config(plan.speed)) as url:
        figures = asyncio.run(play(url))
    assert figures.lost == figures.duplicated == figures.checks.failed == 0
    simulated, trip = simulated_wait(setting, plan).mean, figures.round_trip
    assert simulated > 10.0
    assert trip is not None
    # A twentieth; and what messages took, if this machine is so busy that it is more.
    assert abs(figures.wait.mean - simulated) < max(0.05 * simulated, 5.0 * trip)


@pytest.mark.long
def test_waits_of_the_demo_are_among_those_of_simulations_of_the_same_players() -> None:
    done = evenmatch("demo", "--hours", "0.25", "--seconds", "14", "--speed", "100", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    # The same players decline and are silent in both.
    own = waits_after(0.0)
    assert own["wait"]["mean"] == figures["simulated"]["mean"]
    # Whoever declines changes whom many others meet, and so does a message that comes later: the
    # means of simulations that differ by no more than that have a deviation of a sixth.
    means = [waits_after(figures["round_trip"], seed)["wait"]["mean"] for seed in range(20)]
    assert min(means) < figures["wait"]["mean"] < max(means)
    declined = own["cancelled_by"]["declined"]
    assert abs(figures["checks"]["declined"] - declined) <= max(3, 0.2 * declined)


def waits_after(latest: float, seed: int = 0) -> dict[str, Any]:
    """Return what a quarter of an hour comes to if each player comes up to so much later."""
    setting, chance = SETTINGS["duel"], random.Random(seed)
    guests = [
        msgspec.structs.replace(each, at=each.at + chance.uniform(0.0, latest))
        for each in setting.plan(None, None, 0.25).guests
    ]
    arrivals = arrivals_at(sorted(guests, key=lambda guest: guest.at))
    return simulate(setting.scenario(100.0), arrivals=arrivals).summary


@pytest.mark.long
def test_demo_of_teams_loses_nobody_and_tells_of_every_region() -> None:
    done = evenmatch("demo", "--world", "3v3", "--seconds", "5", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["lost"] == figures["duplicated"] == figures["merged"] == 0
    assert_checks_add_up(figures)
    # At the end some matches of six are still being repaired.
    assert figures["matched"] > 0.75 * (figures["tickets"] - figures["checks"]["declined"])
    # 4 s of 30 world seconds each, in which 200 players a minute come: 400 +- 4 x 20, roughly.
    assert 320 < figures["players"] < 480
    regions = figures["regions"]
    assert regions["europe_west"]["players"] > regions["us_east"]["players"] > 25
    assert sum(each["players"] for each in regions.values()) <= figures["players"]
    assert all(0.0 < each["quality"]["mean"] <= 1.0 for each in regions.values())
    assert all(each["wait"]["mean"] >= 0.0 for each in regions.values())


@pytest.mark.long
def test_demo_of_heroes_loses_nobody() -> None:
    done = evenmatch("demo", "--world", "5v5", "--seconds", "12", "--speed", "20", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["lost"] == figures["duplicated"] == 0
    # 9 s of 20 world seconds each, in which 200 players a minute come: 600 +- 4 x 28, roughly.
    assert 480 < figures["players"] < 720
    checks = figures["checks"]
    failed = checks["declined"] + checks["silent"] + checks["late"]
    assert figures["tickets"] == figures["matched"] + figures["waiting"] + failed
    assert figures["matched"] > 0
    assert figures["note"] if figures["round_trip"] > 2.0 else "note" not in figures


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["demo", "--world", "moon"], "--world must be duel, 3v3 or 5v5, got 'moon'"),
        pytest.param(
            ["demo", "--world", "3v3", "--speed", "20000"],
            "more than 200,000 parties would come",
            marks=pytest.mark.long,
        ),
        (["demo", "--seconds", "0"], "--seconds must be from 3"),
        (["demo", "--speed", "-1"], "--speed must be above 0"),
        (["demo", "--hours", "0"], "--hours must be above 0 and at most 1000, or all, got '0'"),
        (["demo", "--hours", "few"], "--hours must be above 0"),
        (["demo", "--world", "3v3", "--hours", "2"], "--hours goes with --world duel"),
        (["serve", "nothing.toml"], "nothing.toml"),
        (["serve", "scenarios/duel.toml", "--host", "0.0.0.0"], "loopback"),
        (["serve", "scenarios/duel.toml", "--port", "99999"], "--port must be"),
        (["serve", "scenarios/duel.toml", "--journal", "valkey://x"], "a journal is postgresql://"),
        (["fly"], "fly"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert sentence in told.err
    assert (told.err.count("\n"), told.out) == (1, "")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("number", only([signal.SIGTERM, signal.SIGHUP], 1))
def test_ended_demo_leaves_no_server_and_no_folder(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "evenmatch.cli.main", "demo", "--seconds", "30"]
    process = subprocess.Popen(
        command,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: list(tmp_path.glob("*/journal.db-wal")))
    process.send_signal(number)
    _, errors = process.communicate(timeout=GIVE_UP)
    # The folder goes after the server has ended.
    assert (process.returncode, errors) == (128 + number, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal to send")
def test_ctrl_c_prints_the_summary_of_those_who_came(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evenmatch.cli.main", "demo", "--hours", "1"]
    process = subprocess.Popen(
        command,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    url = next(line.split()[-1] for line in process.stdout if "Dashboard" in line).rstrip("/")
    # 600 players come in 36 s.
    wait_until(lambda: figure(url, "evenmatch_matches_total"))
    process.send_signal(signal.SIGINT)
    shown, errors = process.communicate(timeout=GIVE_UP)
    assert (process.returncode, errors) == (0, "")
    assert list(tmp_path.iterdir()) == []
    for words in ("matched", "wait", "ready-checks", "lost", "tickets were taken"):
        assert words in shown


def figure(url: str, name: str) -> float:
    """Return the sum of a metric over its labels."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=GIVE_UP) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


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
    client, duel = Forgetful(), SETTINGS["duel"]
    run = DemoRun(client, [], duel, speed=1.0, tell=lambda ledger: None)  # type: ignore[arg-type]
    run.ledger.born = {"t1": 0.0, "t2": 0.0}
    run.ledger.match_count.update(["t1", "t2"])
    assert asyncio.run(run.play(0.0)).lost == 1


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_help_has_an_example(command: str) -> None:
    done = evenmatch(command, "--help")
    assert done.returncode == 0
    assert f"evenmatch {command} " in done.stdout
    assert "For example" in done.stdout
