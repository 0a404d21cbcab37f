"""Many runs in parallel: seeds, policies, processes, and means with confidence intervals."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from evenmatch.errors import ArrivalsError
from evenmatch.forecast.student import T_975 as T_975
from evenmatch.forecast.student import student_t as student_t
from evenmatch.lab.simulate import Run, simulate
from evenmatch.model.scenario import Scenario
from evenmatch.simulation.metrics import Summary, summaries_of_shares

if TYPE_CHECKING:
    from concurrent.futures import Executor

ROUNDING = 1e-9
"""A spread below this share of the values is rounding: they are taken as equal."""
Item = TypeVar("Item")
Output = TypeVar("Output")


class RunTask(msgspec.Struct, frozen=True):
    """One run to make, small enough to send to another process.

    Args:
        scenario: The scenario.
        seed: Root of all randomness; None takes the scenario's.
        child: Which child of the seed this run uses; None uses the seed itself.
        arrivals: A file in place of the scenario's arrivals.
        policy: SPEC in place of the queues' policies.
        by: Attributes by which to split waits and quality.
        optimum: Whether to add the least cost that was possible.
        keeps_run: Whether to return matches and tickets, or only the figures.
        shares: Number of parts into which to divide the run, with figures of each.
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
    """The result of a task: the figures, the whole run if requested, and those of its shares."""

    task: RunTask
    summary: Summary
    run: Run | None
    shares: tuple[Summary, ...] = ()


def execute(task: RunTask) -> TaskResult:
    """Make one run in this process.

    Raises:
        MatchmakingError: As from `simulate`.
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
        # An attribute that an arrival lacks may be one that this policy compares.
        raise ArrivalsError(
            f"policy {task.policy}: {error}" if task.policy else str(error)
        ) from None
    shares = tuple(summaries_of_shares(run.history, run.queues, task.shares))
    return TaskResult(task, run.summary, run if task.keeps_run else None, shares)


def execute_all(
    tasks: Sequence[RunTask],
    on_done: Callable[[], None] = lambda: None,
    executor: Executor | None = None,
) -> list[TaskResult]:
    """Make several runs at a time, and return the results in the order of the tasks.

    Args:
        tasks: The runs.
        on_done: Called after each task.
        executor: See `map_all`.

    Raises:
        MatchmakingError: The first error of a task; the others are abandoned.
    """
    return map_all(execute, tasks, on_done, executor)


def map_all(
    function: Callable[[Item], Output],
    items: Sequence[Item],
    on_done: Callable[[], None] = lambda: None,
    executor: Executor | None = None,
) -> list[Output]:
    """Call a function with each item, several at a time, and return the results in their order.

    The results do not depend on how many processes there are.

    Args:
        function: A module-level function, so that another process can import it.
        items: Its arguments; small values, since they are sent to the processes.
        on_done: Called after each item.
        executor: Where to run; by default a process for each processor, and none for one item.

    Raises:
        MatchmakingError: The first error of a call; the others are abandoned.
    """
    if executor is not None:
        return list(_ticked(executor.map(function, items), on_done))
    workers = min(len(items), os.cpu_count() or 1)
    if workers <= 1:
        return list(_ticked(map(function, items), on_done))
    # Imported here, since a single run needs no other process.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

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
    """Start processes while Ctrl-C is blocked, since during their start it would cause tracebacks.

    They inherit the block, and the terminal sends Ctrl-C to all; the parent process ends the
    others. Blocking alone is not enough here: any other thread of this process can receive the
    signal, and would interrupt the transfer of data to a process that is starting.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    caught: list[tuple[int, FrameType | None]] = []
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        # Another thread received the signal.
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


def _ticked(results: Iterator[Output], on_done: Callable[[], None]) -> Iterator[Output]:
    for result in results:
        on_done()
        yield result


def averages(summaries: Sequence[Summary]) -> Summary:
    """Return means under the keys of a summary, and `ci95`, their half-widths under the same keys.

    A figure that is null in some runs, or missing there, is averaged over the others; but a count
    that is missing, as of the players of a group that nobody belongs to, is 0. A half-width is
    Student's t at 0.975 times the standard error; null if fewer than two runs have the figure.

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
            means[key], widths[key] = _merged([node.get(key) or {} for node in nodes])
        else:
            if values and all(isinstance(value, int) for value in values):
                values += [0 for node in nodes if key not in node]
            means[key], widths[key] = mean_and_width(values)
    return means, widths


def mean_and_width(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the mean of values and the half-width of its 95 % confidence interval.

    The half-width of values that differ by rounding alone is 0.

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
    width = student_t(count - 1) * math.sqrt(variance / count)
    return mean, width if width > _rounding(values) else 0.0


def _rounding(values: Iterable[float]) -> float:
    """Return what figures of this size may differ by rounding alone."""
    return ROUNDING * max(map(abs, values), default=0.0)


# Which of several policies is better by more than chance explains.
#
# All policies get the same arrivals, so they are compared in pairs: the differences of two
# policies run by run, or, with a single run, in equal consecutive shares of its tickets. Runs are
# independent; shares of one run are nearly so, if each is much longer than its waits.

Samples = Sequence[Sequence[float | None]]
"""A figure of each policy, run by run or share by share; None if it is unknown."""
SHARES = 10
"""Number of parts of a single run."""


class RepeatedRuns(NamedTuple):
    """The figures of policies from several runs.

    Args:
        samples_of: Returns a figure by its key.
        runs: Runs of each policy; 1 means that there is a figure for each share of the one run.
    """

    samples_of: Callable[[str], Samples]
    runs: int


def best_of(values: Sequence[float | None], samples: Samples, direction: int) -> set[int]:
    """Return which policies have the best figure, as far as the data can tell.

    A policy that cannot be distinguished from the best one is returned with it; if that holds for
    all, none is returned.

    Args:
        values: A figure of each policy, over all runs.
        samples: The same figure by run or share, equally many for each policy.
        direction: 1 if more is better, -1 if less is, 0 if neither.

    >>> best_of([5.0, 7.0], [[4.0, 5.0, 6.0], [6.0, 7.1, 7.9]], -1)
    {0}
    >>> best_of([5.0, 7.0], [[1.0, 5.0, 9.0], [9.0, 5.0, 7.0]], -1)
    set()
    """
    known = [(value * direction, at) for at, value in enumerate(values) if value is not None]
    if not direction or len(known) < 2:
        return set()
    _, first = max(known)
    alike = {at for _, at in known if not is_distinct(samples[first], samples[at])}
    return set() if len(alike) == len(known) else alike


def is_distinct(one: Sequence[float | None], two: Sequence[float | None]) -> bool:
    """Return whether the mean of paired differences differs from 0, at 95 % confidence."""
    pairs = [(a, b) for a, b in zip(one, two, strict=True) if a is not None and b is not None]
    mean, width = mean_and_width([a - b for a, b in pairs])
    if mean is None or width is None:
        return False
    return abs(mean) > max(width, _rounding(chain.from_iterable(pairs)))


def footnote(runs: int) -> str:
    """Return the meaning of a mark at a figure.

    Args:
        runs: Runs of each policy.
    """
    over = f"{runs} runs" if runs > 1 else f"{SHARES} equal shares of the run"
    return (
        f"* best of its row by more than chance explains (paired differences over {over}, 95 %); "
        "several in a row cannot be told apart"
    )
