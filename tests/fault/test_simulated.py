"""The server in virtual time: a few seeds, and that the simulation itself can be trusted."""

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenmatch.server.cluster import node
from evenmatch.server.cluster.forwarding import Peer
from evenmatch.server.cluster.frames import FrameLink
from evenmatch.server.cluster.members import Members
from evenmatch.server.cluster.seat import Seat
from evenmatch.testing import check_journal
from tests.extent import extent, in_turn
from tests.fault.simulated import __main__ as command
from tests.fault.simulated.__main__ import KEPT, kept_seeds, main
from tests.fault.simulated.faults import SHARES
from tests.fault.simulated.judge import Judge
from tests.fault.simulated.loop import NodeLoop, World
from tests.fault.simulated.network import Network
from tests.fault.simulated.planted import CONTROLS
from tests.fault.simulated.run import Outcome, Setting, run
from tests.fault.simulated.shrink import invariants, shrunk
from tests.fault.simulated.store import Store, StoreJournal, Weakness

ROOT = Path(__file__).resolve().parents[2]
SEEDS = (0, 4)
"""In the first one the nodes are a cluster."""
SOON = {"fence on reads": 14, "leases on a clock that never falls": 14}
"""Where to begin, so that a seed that misses it comes soon: from 0 on, 16 and 17 are the first."""
PRINT_TRACE = "from tests.fault.simulated.run import run; print(run({}).trace)"


def without(name: str) -> Setting:
    return Setting(weakness=CONTROLS[name].weakness, mutant=CONTROLS[name].mutant)


def failures(setting: Setting, seeds: Iterator[int]) -> Iterator[Outcome]:
    return (outcome for seed in seeds if (outcome := run(seed, setting)).violations)


@pytest.mark.parametrize("number", SEEDS)
def test_nothing_is_lost_whatever_happens(number: int) -> None:
    outcome = run(number)
    assert outcome.violations == ()
    assert sum(outcome.faults.values()) >= 50
    assert outcome.matches >= 5
    assert outcome.statuses[201] >= 20


@pytest.mark.long
def test_nothing_is_lost_in_many_seeds() -> None:
    seeds = [*kept_seeds(KEPT), *range(40)]
    outcomes = [run(seed) for seed in seeds]
    assert {each.seed: each.violations for each in outcomes if each.violations} == {}
    assert set().union(*(each.faults for each in outcomes)) >= set(SHARES)


@pytest.mark.parametrize("number", in_turn([56, 3], 2))
def test_seed_gives_one_trace_however_strings_are_hashed(number: int) -> None:
    traces = []
    for hashing in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": hashing, "PYTHONPATH": os.pathsep.join(sys.path)}
        line = [sys.executable, "-c", PRINT_TRACE.format(number)]
        made = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, check=True)
        traces.append(made.stdout)
    assert traces[0] == traces[1]
    assert traces[0].strip().decode() == run(number).trace
    assert traces[0].strip().decode() != run(4).trace


def test_cluster_does_what_clusters_do_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two shards are shared out, handed over by name, and served through any node."""
    times = Counter[str]()

    def counted(owner: Any, name: str) -> None:
        before = getattr(owner, name)

        def call(*given: Any, **named: Any) -> Any:
            times[name] += 1
            return before(*given, **named)

        monkeypatch.setattr(owner, name, call)

    for owner, name in (
        (FrameLink, "send_request"),
        (Seat, "hand_over"),
        (Seat, "expect"),
        (Members, "note_handover"),
        (Peer, "answer"),
        (node, "relay"),
        (Judge, "_stream"),
    ):
        counted(owner, name)
    outcome = run(0)
    assert outcome.violations == ()
    # Of those that are handed over, some go to a node that has less, and some from one that stops.
    assert times["hand_over"] >= times["note_handover"] >= 2
    assert times["expect"] >= 2
    assert times["send_request"] >= 10
    assert times["answer"] >= 100
    assert times["relay"] >= 10
    assert times["_stream"] >= 50


def test_controls_are_missed_in_a_cluster_too() -> None:
    setting = msgspec.structs.replace(without("gate"), world="clusters")
    assert "I4" in invariants(next(failures(setting, iter(range(20)))))


def test_answers_before_the_commit_are_noticed() -> None:
    outcome = run(1, without("gate"))
    assert "I4" in invariants(outcome)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(CONTROLS))
def test_what_is_taken_away_is_missed_within_200_seeds(name: str) -> None:
    first = SOON.get(name, 0)
    outcome = next(failures(without(name), iter(range(first, first + 200))), None)
    assert outcome is not None, f"200 seeds do not miss the {name}"


@pytest.mark.long
def test_failing_run_is_made_smaller() -> None:
    setting = without("fence on appends")
    # Seed 0 is a cluster, whose every run takes four times as long.
    first = next(failures(setting, iter(range(1, 200))))
    small, outcome = shrunk(first.seed, setting, runs_most=extent(12, 120))
    assert outcome.violations
    assert len(small.faults or ()) < len(first.planned) // extent(1, 2)
    assert run(first.seed, small).violations == outcome.violations


def test_command_says_how_a_failing_seed_is_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "seeds.txt"
    kept.write_text("1 # once\n")
    figures = tmp_path / "figures.json"
    options = ["--seeds", "1", "--kept", str(kept), "--json", str(figures)]
    assert main([*options, "--without", "gate"]) == 1
    told = capsys.readouterr()
    assert "python -m tests.fault.simulated --seed 1 --without 'gate'" in told.err
    assert "violations" in told.out
    assert kept.read_text() == "1 # once\n"
    assert msgspec.json.decode(figures.read_bytes())["seeds"] == 2


def test_processes_share_the_seeds(tmp_path: Path) -> None:
    kept, figures = tmp_path / "seeds.txt", tmp_path / "figures.json"
    line = [sys.executable, "-m", "tests.fault.simulated", "--first", "1", "--seeds", "2"]
    line += ["--processes", "2", "--kept", str(kept), "--json", str(figures)]
    subprocess.run(line, cwd=ROOT, capture_output=True, check=True)
    told = msgspec.json.decode(figures.read_bytes())
    faults = Counter[str]()
    for seed in (1, 2):
        faults.update(run(seed).faults)
    assert (told["seeds"], told["faults by kind"]) == (2, faults)


def test_interrupt_tells_of_the_seeds_until_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(seed: int, setting: Setting) -> Outcome:
        if seed == interrupted_at:
            raise KeyboardInterrupt
        return run(seed, setting)

    monkeypatch.setattr(command, "run", interrupted)
    figures = tmp_path / "figures.json"
    options = ["--seeds", "3", "--kept", str(tmp_path / "seeds.txt"), "--json", str(figures)]
    interrupted_at = 0
    assert main(options) == 130
    assert not figures.exists()
    interrupted_at = 1
    assert main(options) == 130
    assert msgspec.json.decode(figures.read_bytes())["seeds"] == 1


def test_store_keeps_the_promises_of_a_journal() -> None:
    world = World(0)
    network = Network(world, lost=0.0, repeated=0.0, slow=0.0)
    loop = NodeLoop(world, "node")

    def make() -> StoreJournal:
        return StoreJournal(Store(world, Weakness()), network, "node", loop, lambda: world.now)

    def reopen(journal: object) -> StoreJournal:
        assert isinstance(journal, StoreJournal)
        return StoreJournal(journal._store, network, "node", loop, lambda: world.now)

    done = loop.begin(check_journal(make, reopen=reopen))
    world.run(600.0)
    assert done.done()
    assert done.exception() is None


def test_time_passes_only_where_nobody_has_anything_to_do() -> None:
    world, told = World(0), []
    one, other = NodeLoop(world, "one", rate=2.0, offset=100.0), NodeLoop(world, "other")

    async def tell(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        told.append((name, world.now))

    one.begin(tell("one", 8.0))
    other.begin(tell("other", 3.0))
    world.at(1.0, other.pause)
    world.at(5.0, other.resume)
    world.run(10.0)
    assert told == [("one", 4.0), ("other", 5.0)]
    assert (one.time(), other.time()) == (120.0, 10.0)


def test_killed_process_does_not_even_clean_up() -> None:
    world, told = World(0), list[str]()
    loop = NodeLoop(world, "one")

    async def work() -> None:
        try:
            await asyncio.sleep(5.0)
        finally:
            told.append("cleaned up")

    task = loop.begin(work())
    world.at(1.0, loop.kill)
    world.run(10.0)
    assert told == []
    assert not task.done()


def test_work_in_a_thread_is_done_later() -> None:
    world = World(0)
    loop = NodeLoop(world, "one")

    async def work() -> tuple[float, float]:
        return await asyncio.to_thread(lambda: world.now), world.now

    task = loop.begin(work())
    world.run(1.0)
    done_at, heard_at = task.result()
    assert 0.0 < done_at < heard_at < 0.1
