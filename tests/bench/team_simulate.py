"""How long `simulate` takes for 1,000 players of the hero shooter, by policy.

Each policy is a process of its own that plays a few players first, so that kernels are loaded and
compiled before the clock starts, and is ended after a minute. What is refused says why.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

import evenmatch
from evenmatch.config.files import load_scenario
from evenmatch.model.scenario import Scenario
from tests.bench.processes import ROOT
from tests.bench.report import Row, Setting
from tests.bench.team_players import SCENE

POLICIES = ("", "rolling", "greedy", "rounds:every=30", "threshold")
PLAYERS, QUICK_PLAYERS, WARM_PLAYERS = 1_000, 100, 60
SECONDS_MAX, WARM_SECONDS_MAX = 60.0, 400.0
ROUNDS = 3


class Job(msgspec.Struct, frozen=True):
    """What to simulate: a policy, empty for the one that the queue takes itself, and how many."""

    policy: str
    players: int
    rounds: int


def run(setting: Setting) -> Iterator[Row]:
    """Measure each policy."""
    players = QUICK_PLAYERS if setting.quick else PLAYERS
    for policy in POLICIES:
        name = policy or "the queue's own policy"
        label = f"simulate {players:,} players of hero_5v5, {name}"
        times, reason = timed(Job(policy, players, 1 if setting.quick else ROUNDS))
        if times:
            yield Row(label, tuple(times), "s", "<= 10", reason)
        else:
            yield Row(f"{label}: not measured", (0.0,), "", "", reason)


def timed(job: Job, seconds_max: float = SECONDS_MAX) -> tuple[list[float], str]:
    """Return the seconds of each round that ended, and why the others did not."""
    command = [sys.executable, "-m", "tests.bench.team_simulate"]
    process = subprocess.Popen(
        command, cwd=ROOT,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    limit = WARM_SECONDS_MAX + job.rounds * seconds_max
    try:
        out, errors = process.communicate(msgspec.json.encode(job), timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
        reason = f"did not end in {limit:g} s"
    else:
        lines = errors.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if process.returncode and lines else ""
    return [float(line) for line in out.split()], reason


def some(scenario: Scenario, players: int) -> Scenario:
    """Return the scenario with arrivals for so many players, on average."""
    arrivals = scenario.arrivals
    assert arrivals is not None
    assert arrivals.world is not None
    duration = players / arrivals.world.player_rate
    return replace(scenario, arrivals=replace(arrivals, duration=duration, count=None))


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    scenario = load_scenario(SCENE)
    policy = job.policy or None
    evenmatch.simulate(some(scenario, min(WARM_PLAYERS, job.players)), policy=policy)
    for turn in range(job.rounds):
        began = time.perf_counter()
        evenmatch.simulate(some(scenario, job.players), policy=policy, seed=turn + 1)
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main()
