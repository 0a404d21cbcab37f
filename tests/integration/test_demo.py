"""The demo, short: the real trace through a real server."""

import json
import subprocess
import sys
import time

import pytest


def evenmatch(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evenmatch.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_demo_loses_nobody_and_matches_nobody_twice() -> None:
    began = time.monotonic()
    done = evenmatch("demo", "--seconds", "8", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    figures = json.loads(done.stdout)
    assert time.monotonic() - began < 30.0
    assert figures["lost"] == figures["duplicated"] == 0
    assert figures["tickets"] + figures["merged"] == 9_690
    assert figures["tickets"] == figures["matched"] + figures["waiting"]
    assert figures["matched"] > 0.95 * figures["tickets"]
    assert set(figures["wait"]) == set(figures["rating_gap"]) == {"mean", "p50", "p95"}
    assert figures["url"].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["demo", "--world", "moon"], "--world must be halo"),
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


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_help_has_an_example(command: str) -> None:
    done = evenmatch(command, "--help")
    assert done.returncode == 0
    assert f"evenmatch {command} " in done.stdout
    assert "For example" in done.stdout
