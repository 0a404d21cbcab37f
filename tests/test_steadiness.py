"""Tests wait for what is to happen and hold nobody to the clock on the wall: a busy machine is no
fault of the code.

A sleep stands within a loop that asks for something, or takes the place of work in a stand-in that
is named here. No assertion compares a clock on the wall with a limit, but in such a loop. Where
processes are started, nothing is given up before half a minute is over.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PROGRAMS = ("bench", "load", "attack")
"""They are run by hand, or measure."""
FILES = sorted(
    path for path in TESTS.rglob("*.py") if path.relative_to(TESTS).parts[0] not in PROGRAMS
)
CLOCKS = ("monotonic", "perf_counter", "time")
WORDS = re.compile(r"sleep|timeout|\btime\b")
"""A file that has none of them has nothing to do with time: most need not be parsed."""
GIVE_UP_MIN = 30.0
STAND_INS = {
    ("integration/inside/sitecustomize.py", "reach"): "lets the last answers leave",
    ("integration/inside/sitecustomize.py", "_commit_append"): "a disk",
    ("integration/blocking.py", "walls"): "a policy that blocks",
    ("integration/kill_points.py", "one_round"): "a kill at a random moment",
    ("fault/simulated/clients.py", "*"): "virtual time",
    ("fault/simulated/hosts.py", "*"): "virtual time",
    ("fault/simulated/package_client.py", "*"): "virtual time",
    ("fault/test_simulated.py", "*"): "virtual time",
    ("integration/test_client.py", "scene"): "nothing is to happen meanwhile",
    (
        "integration/test_cluster_shards.py",
        "test_nodes_drain_together_also_over_the_death_of_one",
    ): ("greetings that nothing shows"),
    ("integration/test_cluster_under_load.py", "*"): "how long a process stands still, and clients",
    ("journal_faults.py", "*"): "writers that go on, and a server that is away",
    ("integration/test_stall.py", "stopped"): "how long a process stands still",
    ("unit/server/test_alerts.py", "append"): "a disk",
    ("unit/server/test_allocation.py", "serve"): "an allocator",
    ("unit/server/test_cluster_nodes.py", "*"): "nothing is to happen meanwhile",
    ("unit/server/test_jobs.py", "scene"): "a search that goes on",
    ("unit/server/test_timeouts.py", "scene"): "a loop that is away",
    ("unit/server/test_lease_keeping.py", "*"): "nothing is to happen meanwhile",
    ("unit/server/test_runtime.py", "append"): "a disk",
    ("unit/server/test_runtime.py", "scene"): "nothing is to happen meanwhile",
    ("unit/server/test_shadow.py", "hear"): "a shadow that is slow",
    ("browser/picture.py", "*"): "pictures are of a page at work",
    ("browser/test_at_night.py", "*"): "nothing is to happen meanwhile",
}

IMPATIENT = frozenset({"integration/test_nats_faults.py", "integration/test_postgres_faults.py"})
"""Here `timeout` is that of a journal, and giving up is what is tried."""


def problems(text: str, name: str) -> Iterator[str]:
    """Yield where a file waits for the clock; `name` is its path below tests/."""
    if WORDS.search(text):
        yield from _problems(ast.parse(text), name, function="", loops=False)


def _problems(node: ast.AST, name: str, *, function: str, loops: bool) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        inner, within = function, loops or isinstance(child, ast.While)
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inner, within = child.name, False
        if isinstance(child, ast.Call):
            yield from _of_call(child, name, function, within)
        if isinstance(child, ast.Assert) and not within and _is_short(child.test):
            yield f"{name}:{child.lineno}: asserts how long something took; wait for it instead"
        yield from _problems(child, name, function=inner, loops=within)


def _of_call(call: ast.Call, name: str, function: str, loops: bool) -> Iterator[str]:
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    is_stand_in = bool({(name, function), (name, "*")} & STAND_INS.keys())
    if called == "sleep" and not (loops or is_stand_in or _is_zero(call)):
        yield f"{name}:{call.lineno}: sleeps; wait for a condition (tests/waiting.py)"
    if name.startswith("integration/") and name not in IMPATIENT:
        for each in call.keywords:
            value = getattr(each.value, "value", None)
            if each.arg == "timeout" and isinstance(value, int | float) and value < GIVE_UP_MIN:
                yield f"{name}:{call.lineno}: gives up after {value} s; take GIVE_UP"


def _is_zero(call: ast.Call) -> bool:
    return len(call.args) == 1 and getattr(call.args[0], "value", None) == 0


def _is_short(test: ast.expr) -> bool:
    """Return whether an assertion compares a clock on the wall with something."""
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and getattr(call.func.value, "id", "") == "time"
        and call.func.attr in CLOCKS
        for compared in ast.walk(test)
        if isinstance(compared, ast.Compare)
        and any(isinstance(each, ast.Lt | ast.LtE) for each in compared.ops)
        for call in ast.walk(compared)
    )


def test_files_wait_for_conditions() -> None:
    assert len(FILES) > 300
    assert [
        problem
        for path in FILES
        for problem in problems(path.read_text("utf-8"), path.relative_to(TESTS).as_posix())
    ] == []


def test_stand_ins_are_there() -> None:
    for name, function in STAND_INS:
        text = (TESTS / name).read_text(encoding="utf-8")
        assert "sleep(" in text
        assert function == "*" or f"def {function}(" in text


@pytest.mark.parametrize(
    "text",
    [
        "def test_a():\n    time.sleep(0.3)\n",
        "async def test_a():\n    await asyncio.sleep(0.3)\n",
        "async def test_a():\n    for _ in range(3):\n        await asyncio.sleep(pause)\n",
        "def test_a():\n    assert time.monotonic() - began < 5.0\n",
        "def test_a():\n    assert 0.5 < time.monotonic() - began < 5.0\n",
        "def test_a():\n    process.communicate(timeout=10.0)\n",
    ],
)
def test_waiting_for_the_clock_is_found(text: str) -> None:
    assert len(list(problems(text, "integration/test_a.py"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def test_a():\n    while not is_so():\n        time.sleep(0.3)\n",
        "async def test_a():\n    await asyncio.sleep(0)\n",
        "def test_a():\n    while not is_so():\n        assert time.monotonic() < end\n",
        "def test_a():\n    process.communicate(timeout=GIVE_UP)\n",
        "def test_a():\n    assert time.thread_time() - began < 5.0\n",
    ],
)
def test_waiting_for_a_condition_is_not(text: str) -> None:
    assert list(problems(text, "integration/test_a.py")) == []


IGNORING = """
import signal, subprocess, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
import tests.conftest
tests.conftest.pytest_configure()
child = "import signal; print(signal.getsignal(signal.SIGHUP), signal.getsignal(signal.SIGINT))"
subprocess.run([sys.executable, "-c", child], check=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_signals_that_a_shell_ignored_reach_what_tests_start() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IGNORING],
        capture_output=True, text=True, check=True, cwd=TESTS.parent,
    )  # fmt: skip
    assert "SIG_IGN" not in done.stdout
    assert "default_int_handler" in done.stdout
