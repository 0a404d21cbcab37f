"""`check_policy`: prove that a policy keeps the promises on which the engine relies.

Each check is one promise, in one function, on many random scripts. A broken promise raises
AssertionError, whose message starts with the promise; `policy_promises.py` holds them, and
`job_promises.py` those of policies with jobs, `memory_promises.py` those about recovery.
"""

from __future__ import annotations

from collections.abc import Iterable

from evenmatch.criteria.rules import Rules
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.model.queue import Queue
from evenmatch.policies.base import FunctionPolicy, Policy
from evenmatch.policies.hooks import check_conditions, evaluations_limit, has_jobs
from evenmatch.policies.registry import parse_policy
from evenmatch.testing.job_promises import JOB_PROMISES
from evenmatch.testing.memory_promises import MEMORY_PROMISES, check_pace
from evenmatch.testing.play import Case
from evenmatch.testing.policy_promises import BOUND, PROMISES, check_evaluations
from evenmatch.testing.scripts import QUEUES, RULED_QUEUES

SEEDS = range(12)
"""Scripts for each queue."""

ACCEPTS = "at least one queue is accepted"


def check_policy(
    policy: Policy | str, *, queue: Queue | None = None, seeds: Iterable[int] = SEEDS
) -> tuple[str, ...]:
    """Raise AssertionError with a sentence unless the policy keeps every promise.

    A policy need not make any particular match. But the matches that it makes must be legal, and
    must depend only on who waits, since when and with what; not on ids, on restarts, on how often
    it is asked, or on when the clock began.

    Args:
        policy: A policy, a function under `@policy`, or a SPEC such as `window:limit=150`.
        queue: The queue to check it on; by default every kind in `scripts.QUEUES` that the policy
            does not refuse with ConfigError, of which it must accept at least one. A function under
            `@policy` cannot refuse a queue, so it is checked on duels without rules.
        seeds: One random script is played for each seed; more seeds find rarer faults.

    Returns:
        The promises that were not checked, each with why: a policy that declares no
        `evaluations_max` promises nothing about its work.

    Raises:
        AssertionError: A promise is broken; the message starts with the promise and names the
            policy, the queue, the seed and the tickets.
        ConfigError: The SPEC names no policy.

    Complexity:
        About fifteen runs with 20 tickets for each queue and seed, and for each queue three with
        120 and the crowds of `scripts.draw_crowds`, up to 500; seconds in all for a quick policy.

    Example:
        >>> from evenmatch import policy
        >>> @policy(every=2.0)
        ... def pairs(pool, now):
        ...     return zip(pool[::2], pool[1::2])
        >>> for unchecked in check_policy(pairs):
        ...     print(unchecked)
        a call makes no more evaluations than the policy declares: pairs has no evaluations_max
    """
    chosen = parse_policy(policy) if isinstance(policy, str) else policy
    name = policy if isinstance(policy, str) else name_of(chosen)
    refusals: list[str] = []
    accepted = 0
    all_seeds = tuple(seeds)
    has_bound = evaluations_limit(chosen, 0) is not None
    checks = [*PROMISES.values(), *MEMORY_PROMISES.values()]
    checks += JOB_PROMISES.values() if has_jobs(chosen) else ()
    for each in _queues_for(chosen) if queue is None else (queue,):
        if (refusal := _refusal(chosen, each, name)) is not None:
            refusals.append(f"{each.name}: {refusal}")
            continue
        accepted += 1
        for seed in all_seeds:
            case = Case(chosen, name, each, seed)
            for check in checks:
                check(case)
        once = Case(chosen, name, each, all_seeds[0] if all_seeds else 0)
        check_pace(once)
        if has_bound:
            check_evaluations(once)
    if not accepted:
        raise AssertionError(f"{ACCEPTS}: policy {name} refused {'; '.join(refusals)}")
    return () if has_bound else (f"{BOUND}: {name} has no evaluations_max",)


def name_of(policy: Policy) -> str:
    """Return what to call a policy: its function's or its class's name."""
    if isinstance(policy, FunctionPolicy):
        return getattr(policy.function, "__name__", "function")
    return type(policy).__name__


def _queues_for(policy: Policy) -> Iterable[Queue]:
    if not isinstance(policy, FunctionPolicy):
        return (*QUEUES, *RULED_QUEUES)
    return [each for each in QUEUES if each.format.is_duel and Rules(each).are_none]


def _refusal(policy: Policy, queue: Queue, name: str) -> str | None:
    """Return why the policy cannot work on a queue, or None if it can."""
    try:
        if not isinstance(policy, FunctionPolicy):
            check_conditions(policy, queue)
        policy.matcher(queue, seed=0)
        Case(policy, name, queue, 0)
    except (ConfigError, NotSupported) as error:
        return str(error)
    return None
