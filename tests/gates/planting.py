"""Planting faults: the package with one line wrong, in a process of its own.

    python -m tests.gates.planting             all faults, as `make mutants` does
    python -m tests.gates.planting --sample 8  the eight of today
    python -m tests.gates.planting --only I7   those that break one invariant

There are two tables, by who has to notice. A fault of `tests/gates/faults.toml` breaks what one
part promises, and quick tests of that part find it. A fault of `tests/fault/mutants/mutants.toml`
breaks an invariant of the whole server, and the accounts of the simulation must find it, seed after
seed, without knowing what it is; for what the simulation cannot see, tests are named.

The work tree is never touched: a fault replaces the source of one module while it is imported.
Each process is a fork of one that has loaded pytest and the libraries, but nothing of ours.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import os
import random
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import msgspec
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "evenmatch"
TABLE = Path(__file__).with_name("faults.toml")
MUTANTS = ROOT / "tests" / "fault" / "mutants" / "mutants.toml"
SECONDS_MAX = 120
"""Longest time for the tests of one fault: one that never ends is no finding."""
SEEDS_MOST = 500
"""Seeds of the simulation within which a fault must be found."""
SEARCH_SECONDS = 420
"""Longest search through seeds, for a machine that is busy."""
LOADED = (hypothesis, np)
"""What every test loads; a fork has it already."""


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the product that is wrong, and who must say so: tests, or the simulation."""

    invariant: str
    sentence: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...] = ()
    survives: str = ""
    """Why nobody has noticed it so far; such a fault is planted with the whole table alone."""

    @property
    def module(self) -> str:
        return "evenmatch." + self.file.removesuffix(".py").replace("/", ".")

    def planted(self) -> str:
        """Return the source with the fault in it.

        Raises:
            ValueError: The text is not there exactly once, or the fault moves other lines.
        """
        source = (SOURCE / self.file).read_text()
        if (times := source.count(self.text)) != 1:
            raise ValueError(f"{self.invariant}: {self.file} has the text {times} times, not once")
        if self.text.count("\n") != self.replacement.count("\n"):
            raise ValueError(f"{self.invariant}: the replacement has another number of lines")
        return source.replace(self.text, self.replacement)


def faults(table: Path = TABLE) -> list[Fault]:
    """Return a table."""
    return msgspec.convert(tomllib.loads(table.read_text())["fault"], list[Fault])


def mutants() -> list[Fault]:
    """Return the table of faults that break an invariant of the whole server."""
    return faults(MUTANTS)


def sample(count: int, day: date, table: Sequence[Fault] = ()) -> list[Fault]:
    """Return some faults: others on another day, all that can be found in turn."""
    table = [fault for fault in list(table) or faults() if not fault.survives]
    random.Random("evenmatch").shuffle(table)
    start = day.toordinal() * count % len(table)
    return [*table, *table][start : start + min(count, len(table))]


class Planted(importlib.machinery.SourceFileLoader):
    """Loads one module from another source than its file's; what was compiled is not kept."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source.encode()

    def get_data(self, path: str) -> bytes:
        return self._source if path == self.path else super().get_data(path)

    def path_stats(self, path: str) -> dict[str, Any]:
        raise OSError("a planted module has no compiled form")


class Planter(importlib.abc.MetaPathFinder):
    """Finds the module with the fault before anybody else does."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._source = fault.planted()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._fault.module:
            return None
        file = str(SOURCE / self._fault.file)
        loader = Planted(name, file, self._source)
        return importlib.machinery.ModuleSpec(name, loader, origin=file, is_package=False)


class Outcome(msgspec.Struct, frozen=True):
    """What became of a fault: `found`, `survived`, or why that cannot be said; and who found it."""

    word: str
    seconds: float
    by: str = ""


def try_out(tests: Sequence[str], fault: Fault | None = None) -> Outcome:
    """Run tests in a fork, with a fault or without; what they print is left out."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _run(tests, fault)
    status = os.waitpid(child, 0)[1]
    seconds = time.monotonic() - began
    if os.WIFSIGNALED(status):
        hung = os.WTERMSIG(status) == signal.SIGALRM
        return Outcome("never ended" if hung else f"died of {os.WTERMSIG(status)}", seconds)
    words = {pytest.ExitCode.OK: "survived", pytest.ExitCode.TESTS_FAILED: "found"}
    code = os.WEXITSTATUS(status)
    return Outcome(words.get(pytest.ExitCode(code), f"pytest ended with {code}"), seconds)


def _run(tests: Sequence[str], fault: Fault | None) -> None:
    """Be the child: run tests and end."""
    code = 70
    try:
        _prepare(fault, SECONDS_MAX)
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
    finally:
        os._exit(code)


def _prepare(fault: Fault | None, seconds: int) -> None:
    """Plant a fault in a child, which has some seconds and says nothing."""
    signal.alarm(seconds)
    assert not [name for name in sys.modules if name.split(".")[0] == "evenmatch"]
    if not os.environ.get("EVENMATCH_GATES_LOUD"):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    if fault is not None:
        sys.meta_path.insert(0, Planter(fault))


def search(seeds: Sequence[int], fault: Fault | None = None) -> Outcome:
    """Run the simulation in a fork, a seed after the other, until an invariant is broken.

    Returns:
        `found`, by which seed and what that says; or that all seeds passed.
    """
    began = time.monotonic()
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        _search(seeds, fault, writes)
    os.close(writes)
    with os.fdopen(reads) as file:
        told = " ".join(file.read().splitlines()[-1:])
    status = os.waitpid(child, 0)[1]
    seconds = time.monotonic() - began
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status):
        hung = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        return Outcome(f"{'never ended' if hung else f'ended with {status}'} {told}", seconds)
    word, _, by = told.partition(" ")
    return Outcome(word, seconds, by)


def _search(seeds: Sequence[int], fault: Fault | None, writes: int) -> None:
    """Be the child: run seeds, tell what came of it, and end."""
    code = 70
    try:
        _prepare(fault, SEARCH_SECONDS)
        from tests.fault.simulated.run import run
        from tests.fault.simulated.shrink import invariants

        told = "survived"
        for seed in seeds:
            # The last line is what counts: one that never ends has said where it is.
            os.write(writes, f"in seed {seed}\n".encode())
            if (outcome := run(seed)).violations:
                told = f"found seed {seed}: {', '.join(sorted(invariants(outcome)))}"
                break
        os.write(writes, told.encode())
        code = 0
    except BaseException as error:
        os.write(writes, repr(error)[:200].encode())
        raise
    finally:
        os._exit(code)


def judge(fault: Fault, seeds: int = SEEDS_MOST) -> Outcome:
    """Return what becomes of a fault; what finds it must find nothing without it."""
    if not fault.tests:
        outcome = search(range(seeds), fault)
        if outcome.word == "found":
            seed = int(outcome.by.removeprefix("seed ").partition(":")[0])
            if (clean := search([seed])).word != "survived":
                return Outcome(f"fails without it: {clean.word}", outcome.seconds, clean.by)
        return outcome
    clean = try_out(fault.tests)
    if clean.word != "survived":
        return Outcome(f"its tests fail without it: {clean.word}", clean.seconds)
    outcome = try_out(fault.tests, fault)
    return Outcome(outcome.word, clean.seconds + outcome.seconds)


def main(words: Sequence[str] | None = None) -> int:
    """Try faults out and print what became of each; return 1 unless all are found."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.gates.planting", description=main.__doc__
    )
    parser.add_argument("--sample", type=int, metavar="N", help="only N of them, others each day")
    parser.add_argument("--only", metavar="WORDS", help="those whose invariant has these words")
    parser.add_argument("--table", choices=("faults", "mutants"), help="one table, not both")
    parser.add_argument("--seeds", type=int, default=SEEDS_MOST, help="of the simulation at most")
    parser.add_argument("--json", type=Path, help="write what became of each to this file as well")
    given = parser.parse_args(words)
    today = datetime.now(UTC).date()
    tables = {"faults": faults(), "mutants": mutants()}
    chosen = [
        each
        for name, table in tables.items()
        if given.table in (None, name)
        for each in (table if given.sample is None else sample(given.sample, today, table))
    ]
    chosen = [fault for fault in chosen if is_meant(given.only or "", fault)]
    # No plugin but our own conftest has a say, and none takes time to load.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_XDIST_WORKER", None)
    os.chdir(ROOT)
    bad = 0
    results: list[tuple[Fault, Outcome]] = []
    with tempfile.TemporaryDirectory() as folder:
        # What Hypothesis learns from a fault is nothing to remember.
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        for fault in chosen:
            outcome = judge(fault, given.seeds)
            bad += outcome.word != "found"
            results.append((fault, outcome))
            if given.json is not None:
                given.json.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1))
            told = f"{outcome.word:9} {outcome.seconds:5.1f} s  {fault.file}: {fault.invariant}"
            print(f"{told}  {outcome.by}".rstrip(), flush=True)
    print(f"{len(chosen) - bad} of {len(chosen)} planted faults were found.", flush=True)
    return int(bad > 0 or not chosen)


def is_meant(words: str, fault: Fault) -> bool:
    """Return whether a fault is one of those that words ask for; "I1" does not ask for I11."""
    if words[1:].isdigit():
        return fault.invariant.partition(":")[0] == words
    return words in fault.invariant


if __name__ == "__main__":
    sys.exit(main())
