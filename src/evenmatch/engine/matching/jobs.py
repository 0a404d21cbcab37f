"""The engine's view of jobs: what it keeps of each one, and how far it trusts its plan.

    decision with a job --> asked --> taken by the shell --> settled
                              `--------------+--> forgotten (configured, paused, recovered, failed)

The engine numbers jobs and forgets them; it never solves one. A forgotten job may still be on its
way: when its plan comes, nobody knows its number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from evenmatch.errors import PolicyError
from evenmatch.model.inputs import Settle
from evenmatch.policies.base import PARTS_MAX, Job, JobResult

Plan = tuple[tuple[str, ...], ...]
"""Matches as groups of ticket ids."""


class RunningJob(msgspec.Struct, frozen=True):
    """A job that is being solved, under its number."""

    number: int
    queue: str
    job: Job

    def solve(self) -> JobResult:
        """Return the plan after solving the parts one by one."""
        return self.plan([self.job.solve(part) for part in range(self.job.parts)])

    def plan(self, results: Sequence[object]) -> JobResult:
        """Combine the results of the parts, in their order, into the plan.

        Raises:
            PolicyError: The job does not make a plan of them.
        """
        result = self.job.combine(results)
        if type(result) is not JobResult or result.number != self.job.number:
            raise PolicyError(f"combine must return the JobResult of job {self.job.number}")
        groups = result.matches
        if type(groups) is not tuple or not all(map(_is_group, groups)):
            raise PolicyError("the matches of a JobResult must be tuples of ticket ids")
        if not _is_plain(result.data):
            raise PolicyError("the data of a JobResult must be a dict that JSON brings back equal")
        return result

    def settle(self, plan: JobResult, now: float) -> Settle:
        """Return the input that brings the plan to the engine."""
        return Settle(now, self.queue, self.number, plan.matches, dict(plan.data))


def _is_plain(data: object) -> bool:
    """Return whether a journal gives data back as they are."""
    try:
        return type(data) is dict and bool(msgspec.json.decode(msgspec.json.encode(data)) == data)
    except (TypeError, ValueError):
        return False


def _is_group(group: object) -> bool:
    return type(group) is tuple and all(type(each) is str for each in group)


class JobSlot:
    """The place of a queue for its one job.

    Args:
        is_declared: Whether its policy says that it has jobs.
    """

    def __init__(self, is_declared: bool) -> None:
        self.is_declared = is_declared
        self.running: RunningJob | None = None
        self.asked_at = -math.inf

    def objection(self, job: Job, now: float, fired: bool) -> str:
        """Return why this job may not be requested now; "" if it may."""
        if not self.is_declared:
            return "a policy that asks for jobs says so with jobs = True"
        if not fired:
            return "a job is asked for only by a decide with fired=True"
        if self.running is not None:
            return "a second job was asked for while one runs"
        if self.asked_at == now:
            return f"a second job was asked for at {now} s"
        if type(job.parts) is not int or not 1 <= job.parts <= PARTS_MAX:
            return f"a job has 1 to {PARTS_MAX} parts, got {job.parts!r:.40}"
        if type(job.number) is not int:
            return f"the number of a job is an int, got {job.number!r:.40}"
        return ""

    def begin(self, running: RunningJob, now: float) -> RunningJob:
        """Note that a job which was requested now is running."""
        self.running, self.asked_at = running, now
        return running
