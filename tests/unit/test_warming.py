import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import evenmatch
import evenmatch.cli.warm
from evenmatch import warming
from evenmatch.cli.main import main
from evenmatch.errors import MatchmakingError
from evenmatch.model.queue import Queue
from evenmatch.policies.registry import NEED_KERNELS, POLICIES, check_kernels, policies_of
from evenmatch.warming import Warming, missing

SOURCE = Path(evenmatch.__file__).parents[1]
CONFIG = """
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "{policy}"
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {{kind = "linear", min = 0, max = 3000}}
"""
HIDDEN = "import sys; sys.modules['numba'] = None\n"
CHECKS = (
    "import sys\nfrom evenmatch.cli.main import main\n"
    "for path in sys.argv[1:]: print(main(['check', path]), file=sys.stderr)\n"
)
RUN = "import sys\nfrom evenmatch.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"


def run(
    folder: Path, *tokens: str, program: str = RUN, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line with a cache in a folder of its own."""
    return subprocess.run(
        [sys.executable, "-c", program, *tokens],
        env={
            **os.environ,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PYTHONPATH": str(SOURCE),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )


def config(folder: Path, policy: str) -> str:
    path = folder / f"{policy}.toml"
    path.write_text(CONFIG.format(policy=policy))
    return str(path)


def names(calls: warming.Calls, module: str) -> set[str]:
    return {name.partition(":")[2] for name in calls if name.startswith(f"{module}:")}


def order_of(calls: warming.Calls) -> list[str]:
    """Return the kernels in the order in which one process would take them."""
    work = Warming(calls)
    order = []
    while (name := work._take()) is not None:
        order.append(name)
        work._running.remove(name)
    return order


def take(work: Warming, count: int) -> None:
    """Let so many kernels be compiled."""
    for _ in range(count):
        name = work._take()
        assert name is not None
        work._note(name)


def test_kernel_comes_after_those_that_it_calls() -> None:
    calls = {"a": ["b", "c"], "b": ["d"], "c": [], "d": [], "e": ["kept already"]}
    order = order_of(calls)
    assert sorted(order) == sorted(calls)
    for name, callees in calls.items():
        for callee in callees:
            assert callee not in calls or order.index(callee) < order.index(name)


def test_longest_chain_is_begun_first() -> None:
    assert order_of({"a": [], "b": [], "c": ["b"], "d": ["c"], "z": []})[0] == "b"


def test_kernels_that_call_each_other_are_compiled_nevertheless() -> None:
    assert sorted(order_of({"a": ["b"], "b": ["a"], "c": ["c"]})) == ["a", "b", "c"]


def test_time_left_is_stated_when_some_is_done() -> None:
    work = Warming({str(number): [] for number in range(40)})
    assert str(work) == "0 of 40"
    take(work, 10)
    work._began -= 30.0
    assert re.fullmatch(r"10 of 40, about (89|90|91) s left", str(work))


def test_time_left_counts_the_large_kernels_that_come_last() -> None:
    calls = {**{f"leaf{number}": [] for number in range(30)}, "top": ["middle"], "middle": ["base"]}
    work = Warming({**calls, "base": []}, {"base": 2_000, "middle": 2_000, "top": 1_800})
    take(work, 1)
    work._began -= 20.0
    # Each of the three takes as long as the other, and the small ones next to nothing.
    assert re.fullmatch(r"1 of 33, about (39|40|41|42) s left", str(work))
    take(work, 32)
    assert str(work) == "33 of 33, about 0 s left"


def test_deferred_kernels_are_replaced_when_they_are_settled(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    program = """
from evenmatch.solvers import kernel
compiled = []
kernel.on_compile.append(lambda: compiled.append(1))
import numpy
with kernel.defer(load_kept=True):
    from evenmatch.solvers.matching import forest
    from evenmatch.solvers.matching.forest import top_of
    table = numpy.full((forest.ROWS, 9), 8)
    print(len(compiled), type(forest.top_of).__name__, forest.top_of(table, 0))
    held = [top_of]
    kernel.settle()
print(len(compiled), type(forest.top_of).__name__, type(top_of).__name__)
print(forest.top_of(table, 0), held[0](table, 0), type(held[0]).__name__)
"""
    first = run(tmp_path, program=program)
    assert first.stdout.splitlines() == [
        "0 DeferredKernel 8",
        "1 CPUDispatcher CPUDispatcher",
        "8 8 DeferredKernel",
    ], first.stderr
    assert run(tmp_path, program=program).stdout.splitlines() == [
        "0 LoadedKernel 8",
        "0 LoadedKernel LoadedKernel",
        "8 8 LoadedKernel",
    ]


@pytest.mark.long
def test_warm_compiles_what_a_queue_uses_and_nothing_twice(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    path = config(tmp_path, "first_come")
    first = run(tmp_path, "warm", path, "--jobs", "2")
    assert first.returncode == 0, first.stderr
    assert re.match(r"Compiled \d+ kernels in \d+ s; they are kept in ", first.stdout)
    kept = {folder.name.rpartition("-")[0] for folder in (tmp_path / "cache").rglob("*-*/")}
    assert "service_orders.lines" in kept
    assert not [name for name in kept if name.startswith(("batch.", "bounds.", "steps."))]
    again = run(tmp_path, "warm", path, "--json")
    assert '"compiled":0' in again.stdout
    # A process that plays the queue has nothing left to compile.
    play = f"""
from evenmatch.policies.registry import parse_policy
from evenmatch.config.files import load_scenario
from evenmatch.engine.matching.pool import Pool
from evenmatch.solvers import kernel
kernel.on_compile.append(lambda: sys.exit("compiled"))
(queue,) = load_scenario({path!r}).queues
Pool(queue, parse_policy(queue.policy), seed=1)
print("numba.np.arrayobj" in sys.modules)
"""
    played = run(tmp_path, program="import sys\n" + play)
    assert played.stdout.strip() == "False", played.stderr


def test_queue_misses_the_kernels_that_it_uses_and_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("XDG_CACHE_HOME", "/nonexistent/nowhere")
    calls, sizes = missing([Queue("duel", policy="first_come")])
    assert sizes.keys() == calls.keys()
    assert "add_party" in names(calls, "evenmatch.solvers.service_orders.lines")
    modules = {name.partition(":")[0].removeprefix("evenmatch.solvers.") for name in calls}
    assert not [each for each in modules if "batch" in each or "bounds" in each]


def test_all_kernels_that_there_are_can_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("XDG_CACHE_HOME", "/nonexistent/nowhere")
    calls, sizes = missing()
    assert all(size > 0 for size in sizes.values())
    written = sum(
        len(re.findall(r"(?m)^@kernel\(", path.read_text()))
        for path in (SOURCE / "evenmatch" / "solvers").rglob("*.py")
    )
    assert len(calls) == written > 100
    assert "energy_of" in names(calls, "evenmatch.solvers.teams.evaluate")
    called = {callee for callees in calls.values() for callee in callees}
    assert "evenmatch.solvers.teams.evaluate:energy_of" in called


def test_kernel_that_cannot_be_compiled_is_named() -> None:
    pytest.importorskip("numba")
    work = Warming({"evenmatch.solvers.matching.forest:no_such_kernel": []})
    with pytest.raises(MatchmakingError, match="no_such_kernel"):
        work.run(1)


def test_policies_in_trial_and_in_shadow_are_compiled_too() -> None:
    queue = Queue("duel", policy="price", shadow="gap_value")
    assert policies_of(queue) == ["price", "gap_value"]


def test_check_refuses_the_policies_that_need_numba_where_it_is_missing(tmp_path: Path) -> None:
    needing = sorted(NEED_KERNELS)
    free = ["greedy", "price", "window:attribute=rating,limit=150"]
    paths = [config(tmp_path, policy) for policy in (*needing, *free)]

    done = run(tmp_path, *paths, program=HIDDEN + CHECKS)

    told = iter(done.stderr.splitlines())
    for policy in needing:
        sentence = next(told)
        assert f"policy {policy} " in sentence
        assert "pip install 'evenmatch[server]'" in sentence
        assert next(told) == "2"
    assert list(told) == ["0"] * len(free)


def test_serve_refuses_a_policy_that_needs_numba_where_it_is_missing(tmp_path: Path) -> None:
    path = config(tmp_path, "rounds")
    done = run(tmp_path, "serve", path, "--port", "0", program=HIDDEN + RUN)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "policy rounds " in done.stderr
    assert "pip install 'evenmatch[server]'" in done.stderr


def test_simulate_says_that_it_will_be_slow_without_numba(tmp_path: Path) -> None:
    path = config(tmp_path, "rounds")
    with Path(path).open("a") as file:
        file.write("[arrivals]\nrate = 1.0\ncount = 4\n[attributes.rating]\n")
        file.write('distribution = "uniform"\nmin = 0.0\nmax = 3000.0\n')
    done = run(tmp_path, "simulate", path, program=HIDDEN + RUN)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("with numba: pip install 'evenmatch[server]'") == 1


def test_warm_without_numba_says_how_to_get_it(tmp_path: Path) -> None:
    done = run(tmp_path, "warm", program=HIDDEN + RUN)
    assert done.returncode == 2
    assert "pip install 'evenmatch[server]'" in done.stderr


def test_warm_without_a_place_to_keep_things_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    (tmp_path / "cache").write_text("")
    done = run(tmp_path, "warm")
    assert done.returncode == 2
    assert "XDG_CACHE_HOME" in done.stderr


def test_only_known_policies_need_kernels() -> None:
    assert set(POLICIES) >= NEED_KERNELS
    check_kernels("greedy", "duel")


def test_warm_of_several_configurations_says_once_what_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("numba")
    asked: list[list[str]] = []

    def nothing(queues: Sequence[Queue] | None) -> warming.MissingKernels:
        asked.append([queue.policy or "" for queue in queues or ()])
        return warming.MissingKernels({})

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(evenmatch.cli.warm, "missing", nothing)
    paths = [config(tmp_path, policy) for policy in ("price", "greedy")]
    assert main(["warm", *paths]) == 0
    assert asked == [["price", "greedy"]]
    assert capsys.readouterr().out.count("All kernels were compiled before") == 1
