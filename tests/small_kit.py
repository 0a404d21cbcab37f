"""The policy kit without crowds, which take four fifths of its time."""

from evenmatch.policies.hooks import has_jobs
from evenmatch.testing.job_promises import JOB_PROMISES
from evenmatch.testing.memory_promises import MEMORY_PROMISES
from evenmatch.testing.play import Case
from evenmatch.testing.policy_promises import PROMISES


def check_small(case: Case) -> None:
    """Check every promise but those that are played with crowds."""
    for check in (*PROMISES.values(), *MEMORY_PROMISES.values()):
        check(case)
    if has_jobs(case.policy):
        for check in JOB_PROMISES.values():
            check(case)
