"""Many runs at once: seeds, policies, processes, and means with their confidence."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import msgspec
import numpy as np

from evenmatch.errors import ArrivalsError
from evenmatch.forecast.student import T_975 as T_975
from evenmatch.forecast.student import student_t as student_t
from evenmatch.lab.simulate import Run, simulate
from evenmatch.model.scenario import Scenario
from evenmatch.simulation.metrics import Summary, summaries_of_shares

Given = TypeVar("Given")
Made = TypeVar("Made")


class Task(msgspec.Struct, frozen=True):
    """One run to do, small enough to send to another process.

    Args:
        scenario: What is simulated.
        seed: Root of all chance; None takes the scenario's.
        child: Which child of the seed this run uses; None uses the seed itself.
        arrivals: A file in place of the scenario's arrivals.
        policy: SPEC in place of the queues' policies.
        by: What to split waits and quality by.
        optimum: Whether to add the best that was possible.
        keeps_run: Whether matches and tickets are wanted, or the figures alone.
        shares: Into how many parts to divide the run, with figures of each.
    """

    scenario: Scenario
    seed: int | None = None
    child: int | None = None
    arrivals: str | None = None
    policy: str | None = None
    by: tuple[str, ...] = ()
    optimum: bool = False
    keeps_run: bool = False
    shares: int = 0


class TaskResult(msgspec.Struct, frozen=True):
    """What came of a task: the figures, the whole run if it was asked for, and its shares'."""

    task: Task
    summary: Summary
    run: Run | None
    shares: tuple[Summary, ...] = ()


def execute(task: Task) -> TaskResult:
    """Do one task here and now.

    Raises:
        MatchmakingError: What `simulate` raises.
    """
    seed: int | np.random.SeedSequence | None = task.seed
    if task.child is not None:
        entropy = task.scenario.seed if task.seed is None else task.seed
        seed = np.random.SeedSequence(entropy, spawn_key=(task.child,))
    try:
        run = simulate(
            task.scenario,
            arrivals=task.arrivals,
            policy=task.policy,
            seed=seed,
            optimum=task.optimum,
            by=task.by,
        )
    except ArrivalsError as error:
        # What an arrival lacks may be what this policy compares.
        raise ArrivalsError(
            f"policy {task.policy}: {error}" if task.policy else str(error)
        ) from None
    shares = tuple(summaries_of_shares(run.history, run.queues, task.shares))
    return TaskResult(task, run.summary, run if task.keeps_run else None, shares)


def execute_all(
    tasks: Sequence[Task],
    on_done: Callable[[], None] = lambda: None,
    executor: Executor | None = None,
) -> list[TaskResult]:
    """Do tasks, several at a time, and return the results in the order of the tasks.

    Args:
        tasks: What to do.
        on_done: Called after each task.
        executor: See `map_all`.

    Raises:
        MatchmakingError: The first error of a task; the rest is given up.
    """
    return map_all(execute, tasks, on_done, executor)


def map_all(
    function: Callable[[Given], Made],
    items: Sequence[Given],
    on_done: Callable[[], None] = lambda: None,
    executor: Executor | None = None,
) -> list[Made]:
    """Call a function with each item, several at a time, and return the results in their order.

    The results do not depend on how many processes there are.

    Args:
        function: A module's function, so that another process can import it.
        items: What to call it with; small values, they are sent to the processes.
        on_done: Called after each item.
        executor: Where to do it; by default a process for each processor, and none for one item.

    Raises:
        MatchmakingError: The first error of a call; the rest is given up.
    """
    if executor is not None:
        return list(_ticked(executor.map(function, items), on_done))
    workers = min(len(items), os.cpu_count() or 1)
    if workers <= 1:
        return list(_ticked(map(function, items), on_done))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_interrupts) as pool:
        try:
            with _interrupts_deferred():
                results = pool.map(function, items)
            return list(_ticked(results, on_done))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Start processes with Ctrl-C put off: one that came meanwhile would be a traceback of theirs.

    They inherit that it is blocked, and the terminal sends Ctrl-C to all; the one that was meant
    ends the others. Blocked alone does not do here: any other thread of this process can take the
    signal, and would break off in the middle of what a process that starts is being told.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    caught: list[tuple[int, FrameType | None]] = []
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        # It is not the one that is interrupted.
        handler = None
    if callable(handler):
        signal.signal(signal.SIGINT, lambda *given: caught.append(given))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if callable(handler):
            signal.signal(signal.SIGINT, handler)
            for given in caught[:1]:
                handler(*given)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _ticked(results: Iterator[Made], on_done: Callable[[], None]) -> Iterator[Made]:
    for result in results:
        on_done()
        yield result


def averages(summaries: Sequence[Summary]) -> Summary:
    """Return means under the keys of a summary, and `ci95`, their half-widths under the same keys.

    A figure that is null in some runs is averaged over the others. A half-width is Student's t at
    0.975 times the standard error; null where fewer than two runs have the figure.

    >>> averages([{"matches": 1}, {"matches": 3}])["matches"]
    2.0
    """
    means, widths = _merged(summaries)
    return {**means, "ci95": widths}


def _merged(nodes: Sequence[Mapping[str, Any]]) -> tuple[Summary, Summary]:
    means: Summary = {}
    widths: Summary = {}
    for key in dict.fromkeys(key for node in nodes for key in node):
        values = [node[key] for node in nodes if node.get(key) is not None]
        if values and isinstance(values[0], Mapping):
            means[key], widths[key] = _merged(values)
        else:
            means[key], widths[key] = mean_and_width(values)
    return means, widths


def mean_and_width(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the mean of values and the half-width of its 95 % confidence interval.

    >>> mean_and_width([1.0, 1.0, 4.0])[0]
    2.0
    """
    count = len(values)
    if not count:
        return None, None
    mean = math.fsum(values) / count
    if count < 2:
        return mean, None
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, student_t(count - 1) * math.sqrt(variance / count)
