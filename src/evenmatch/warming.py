"""Compiling kernels before they are needed: which a queue uses, and all of them in parallel.

A kernel is compiled after all that it calls, by processes that keep what they compile where the
others find it, so nothing is compiled twice. What a queue uses is found by making its pool in a
process that compiles nothing.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import BinaryIO, NamedTuple

from evenmatch.engine.matching.pool import Pool
from evenmatch.errors import MatchmakingError
from evenmatch.model.queue import Queue
from evenmatch.policies.registry import parse_policy, policies_of
from evenmatch.solvers import kernel
from evenmatch.solvers.kernel_keys import PACKAGE, sources

SOME = 0.1
"""Share of the work after which the time left is stated."""
CALLED = 0.05
"""Share of a kernel's size that it adds to the work on each kernel that calls it, however far up.

The compiler reads a kernel's own code, and optimises it together with all that it calls.
"""

Calls = Mapping[str, Sequence[str]]
"""Kernels that are kept nowhere, `module:name`, and the kernels that each calls."""


class MissingKernels(NamedTuple):
    """Kernels that are kept nowhere.

    Args:
        calls: Which each calls.
        sizes: Bytes of the code of each, as Python runs it.
    """

    calls: Calls
    sizes: Mapping[str, int] = {}


class Warming:
    """Kernels that are being compiled.

    Args:
        calls: What is missing, of `missing`.
        sizes: How large each is; by default all alike.
    """

    def __init__(self, calls: Calls, sizes: Mapping[str, int] = {}) -> None:
        self._calls = {name: set(callees) & calls.keys() for name, callees in calls.items()}
        self._left = set(calls)
        self._running: set[str] = set()
        self._change = threading.Condition()
        self._workers: list[subprocess.Popen[bytes]] = []
        self._failure = ""
        self._began = time.monotonic()
        self._work = _work_on(self._calls, sizes)
        self._work_done = 0.0
        self.total = len(calls)
        self.done = 0
        """Kernels that are compiled, of `total`."""

    def __str__(self) -> str:
        """Say how far it is: `12 of 40, about 60 s left`."""
        seconds = self.seconds_left
        left = "" if seconds is None else f", about {seconds:.0f} s left"
        return f"{self.done} of {self.total}{left}"

    @property
    def seconds_left(self) -> float | None:
        """Return the seconds that the rest will take; None while that is not known."""
        done, whole = self._work_done, sum(self._work.values())
        if done < SOME * whole or not done:
            return None
        return (time.monotonic() - self._began) / done * max(0.0, whole - done)

    def run(self, jobs: int, on_kernel: Callable[[], None] = lambda: None) -> None:
        """Compile all, and return when that is done.

        Args:
            jobs: Processes at once.
            on_kernel: Called after each kernel, by any thread.

        Raises:
            MatchmakingError: A kernel could not be compiled, or the work was stopped.
        """
        self._began = time.monotonic()
        threads = [
            threading.Thread(target=self._drive, args=(on_kernel,), daemon=True)
            for _ in range(min(jobs, self.total))
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:
            self.stop()
            raise
        if self._failure:
            raise MatchmakingError(f"kernels could not be compiled: {self._failure}")

    def stop(self) -> None:
        """End all processes; what they have compiled stays."""
        with self._change:
            self._failure = self._failure or "the work was stopped"
            self._change.notify_all()
            for worker in self._workers:
                worker.kill()

    def _drive(self, on_kernel: Callable[[], None]) -> None:
        """Let one process compile one kernel after the other."""
        worker = _process("work")
        assert worker.stdin is not None
        assert worker.stdout is not None
        with self._change:
            self._workers.append(worker)
        with worker:
            while (name := self._take()) is not None:
                with suppress(BrokenPipeError):
                    worker.stdin.write(f"{name}\n".encode())
                    worker.stdin.flush()
                answer = worker.stdout.readline().decode().strip()
                with self._change:
                    self._note(name)
                    if answer != "done":
                        self._failure = self._failure or answer or f"{name}: the process ended"
                    self._change.notify_all()
                on_kernel()
            with suppress(BrokenPipeError):
                worker.stdin.close()

    def _take(self) -> str | None:
        """Return the next kernel, waiting for one; None if there is no more to do."""
        with self._change:
            while self._left and not self._failure:
                unfinished = self._left | self._running
                ready = [name for name in self._left if not self._calls[name] & unfinished]
                if not ready and not self._running:
                    # Kernels that call each other: any order will do.
                    ready = list(self._left)
                if ready:
                    chosen = max(ready, key=lambda name: (self._heights[name], name))
                    self._left.remove(chosen)
                    self._running.add(chosen)
                    return chosen
                self._change.wait()
        return None

    def _note(self, name: str) -> None:
        """Note that a kernel is compiled."""
        self._running.remove(name)
        self.done += 1
        self._work_done += self._work[name]

    @property
    def _heights(self) -> Mapping[str, int]:
        """Return for each kernel the length of the longest chain of those that wait for it."""
        return _heights(tuple((name, tuple(callees)) for name, callees in self._calls.items()))


def _work_on(calls: Mapping[str, set[str]], sizes: Mapping[str, int]) -> dict[str, float]:
    """Return how much work each kernel is, compared with the others."""
    work = {}
    for name in calls:
        called: set[str] = set()
        coming = [name]
        while coming:
            found = calls[coming.pop()] - called
            called |= found
            coming += found
        others = sum(sizes.get(each, 1) for each in called - {name})
        work[name] = sizes.get(name, 1) + CALLED * others
    return work


@cache
def _heights(calls: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, int]:
    heights = {name: 0 for name, _ in calls}
    for _ in calls:
        grown = False
        for name, callees in calls:
            for callee in callees:
                # Circles would grow for ever; no chain is longer than all kernels.
                if heights[name] >= heights[callee] < len(heights):
                    heights[callee] = heights[name] + 1
                    grown = True
        if not grown:
            break
    return heights


def missing(queues: Sequence[Queue] | None = None) -> MissingKernels:
    """Return the kernels that are kept nowhere, of those that queues use or of all.

    Args:
        queues: With their policies in trial and in shadow; None means all kernels there are.

    Raises:
        MatchmakingError: They could not be found.
    """
    finder = _process("find")
    answer, _ = finder.communicate(pickle.dumps(None if queues is None else tuple(queues)))
    if finder.returncode:
        raise MatchmakingError("the kernels that the queues use could not be found")
    found: dict[str, tuple[int, list[str]]] = json.loads(answer)
    calls = {name: callees for name, (_, callees) in found.items()}
    return MissingKernels(calls, {name: size for name, (size, _) in found.items()})


def processors() -> int:
    """Return how many processes can run at once."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def work() -> None:
    """Compile the kernels that standard input names; the program of a process."""
    out = _own_output()
    with kernel.defer(load_kept=False):
        _compile_named(out)


def _compile_named(out: BinaryIO) -> None:
    for line in sys.stdin:
        name = line.strip()
        try:
            import_module(name.partition(":")[0])
            _ = (kernel.deferred_kernels or {})[name].compiled
            answer = "done"
        except Exception as error:  # noqa: BLE001
            # Whatever it is, the process that waits has to say so.
            answer = " ".join(f"{name}: {type(error).__name__}: {error}".split())
        out.write(f"{answer}\n".encode())
        out.flush()


def find() -> None:
    """Say which kernels are missing for the queues that standard input holds; a program too."""
    out = _own_output()
    queues: tuple[Queue, ...] | None = pickle.loads(sys.stdin.buffer.read())
    with kernel.defer(load_kept=False):
        if queues is None:
            for module in sources().modules():
                if sources().kernels(module):
                    import_module(f"{PACKAGE}.{module}")
        for queue in queues or ():
            for policy in policies_of(queue):
                with suppress(MatchmakingError):
                    Pool(queue, parse_policy(policy), seed=0)
        found = list((kernel.deferred_kernels or {}).values())
        lacking = {
            each.name: (len(each.function.__code__.co_code), sorted(each.callees))
            for each in found
            if not each.is_kept
        }
    out.write(json.dumps(lacking).encode())
    out.flush()


def _own_output() -> BinaryIO:
    """Return standard output; what anything else prints goes to standard error from now on."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def _process(program: str) -> subprocess.Popen[bytes]:
    """Start a process of Python that finds the modules that this one finds."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", f"from {__name__} import {program}; {program}()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
    )
