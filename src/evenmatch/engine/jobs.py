"""Jobs that queues asked for: what the engine keeps of them, and what it believes of their plans.

    decision with a job --> asked --> taken by the shell --> settled
                              `--------------+--> forgotten (configured, paused, recovered, failed)

The engine numbers jobs and forgets them; it never solves one. A forgotten job may still be on its
way: when its plan comes, nobody knows its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from evenmatch.errors import PolicyError
from evenmatch.policies.base import PARTS_MAX, Job, JobResult

if TYPE_CHECKING:
    from evenmatch.engine.pool import Pool

Plan = tuple[tuple[str, ...], ...]
"""Matches as groups of ticket ids."""


class RunningJob(msgspec.Struct, frozen=True):
    """A job at work, under the number that the engine gave it."""

    number: int
    queue: str
    job: Job

    def solve(self) -> Plan:
        """Return the plan, one part after the other."""
        return self.plan([self.job.solve(part) for part in range(self.job.parts)])

    def plan(self, results: Sequence[object]) -> Plan:
        """Return the plan that the parts' results make, in order of the parts.

        Raises:
            PolicyError: The job does not make a plan of them.
        """
        result = self.job.combine(results)
        if type(result) is not JobResult or result.number != self.job.number:
            raise PolicyError(f"combine must return the JobResult of job {self.job.number}")
        groups = result.matches
        if type(groups) is not tuple or not all(map(_is_group, groups)):
            raise PolicyError("the matches of a JobResult must be tuples of ticket ids")
        return groups


def _is_group(group: object) -> bool:
    return type(group) is tuple and all(type(each) is str for each in group)


def check_job(pool: Pool, job: Job, now: float, fired: bool) -> None:
    """Check that a queue's policy may ask for this job now.

    Raises:
        PolicyError: The contract in `policies.base` forbids it.
    """
    parts = job.parts
    if not pool.has_jobs:
        objection = "a policy that asks for jobs says so with jobs = True"
    elif not fired:
        objection = "a job is asked for only by a decide with fired=True"
    elif pool.running is not None:
        objection = "a second job was asked for while one runs"
    elif pool.asked_at == now:
        objection = f"a second job was asked for at {now} s"
    elif type(parts) is not int or not 1 <= parts <= PARTS_MAX:
        objection = f"a job has 1 to {PARTS_MAX} parts, got {parts!r:.40}"
    elif type(job.number) is not int:
        objection = f"the number of a job is an int, got {job.number!r:.40}"
    else:
        return
    raise PolicyError(f"policy {pool.queue.policy} of queue {pool.name}: {objection}")
