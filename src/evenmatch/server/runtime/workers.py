"""Threads that solve jobs, while the event loop goes on serving.

The parts of a job are spread over as many threads as there are cores; kernels release the
interpreter, so they run beside the loop and beside each other. What is left to Python takes turns
with the loop every few milliseconds (see `process_setup.share_interpreter`).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from evenmatch.engine.matching.jobs import RunningJob
from evenmatch.policies.base import JobResult


class Workers:
    """Solves jobs in threads, and hands in their plans on the thread of the event loop.

    Args:
        settle: Takes the plan of a job.
        fail: Takes the error of a job that raised.
        solved: Told of the seconds that a job took.
        stopwatch: Seconds, only differences count.
    """

    def __init__(
        self,
        settle: Callable[[RunningJob, JobResult], None],
        fail: Callable[[RunningJob, BaseException], None],
        solved: Callable[[float], None] | None = None,
        *,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._settle = settle
        self._fail = fail
        self._solved = solved
        self._stopwatch = stopwatch
        # In the order in which they began, so that they are cancelled in it.
        self._tasks: dict[asyncio.Task[None], None] = {}
        # Made for the first job: most servers have none.
        self._threads: ThreadPoolExecutor | None = None

    def start(self, running: RunningJob) -> None:
        """Begin to solve a job."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(cores(), thread_name_prefix="job")
        task = asyncio.create_task(self._solve(running, self._threads))
        self._tasks[task] = None
        task.add_done_callback(self._forget)

    def forget(self) -> None:
        """Discard the plans of the running jobs.

        A part that is being solved cannot be stopped; its thread is free when it ends.
        """
        for task in self._tasks:
            task.cancel()

    async def stop(self) -> None:
        """Forget all jobs and let the threads end; parts that are being solved are not awaited."""
        tasks = list(self._tasks)
        self.forget()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)

    async def _solve(self, running: RunningJob, threads: ThreadPoolExecutor) -> None:
        loop, job, began = asyncio.get_running_loop(), running.job, self._stopwatch()
        tried = await asyncio.gather(
            *(loop.run_in_executor(threads, _try, job.solve, part) for part in range(job.parts))
        )
        error = next((error for _, error in tried if error is not None), None)
        if error is None:
            results = [result for result, _ in tried]
            plan, error = await loop.run_in_executor(threads, _try, running.plan, results)
        if error is not None:
            self._fail(running, error)
            return
        if self._solved is not None:
            self._solved(self._stopwatch() - began)
        self._settle(running, plan)


def _try(call: Callable[[Any], Any], argument: object) -> tuple[Any, BaseException | None]:
    """Return what a call returns, or the error that it raises.

    A policy may be anybody's code, and not every exception can be raised through a future.
    """
    try:
        return call(argument), None
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return None, error


def cores() -> int:
    """Return how many cores this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)
