"""What a policy and its matcher may say beyond what they must: one list, with what silence means.

A policy may be anybody's code, so the engine asks through `hook_value`, and guards every call as it
guards `decide`. `check_policy` proves that answers are of these kinds and that asking changes no
match.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from evenmatch.errors import ConfigError

if TYPE_CHECKING:
    from evenmatch.model.queue import Queue, Rule
    from evenmatch.model.ticket import Ticket

EvaluationsMax = int | tuple[int, ...]
"""What a policy declares: a number, or coefficients of powers of the number that wait."""


class Promise(msgspec.Struct, frozen=True):
    """When a ticket's next round begins.

    Args:
        latest: At the latest, in engine time.
        expected: Sooner, where players still missing are expected; equal where that is exact.
    """

    latest: float
    expected: float


class PolicyHooks(Protocol):
    """What a policy may say of itself.

    Args:
        jobs: Its matchers ask for jobs.
        evaluations_max: The most evaluations that one call of a matcher makes.
        horizon: Seconds ahead that its matchers want to be told of arrivals.
        held_back: A clause that says why it may leave a legal match unmade.
        in_rounds: It makes matches only at the instants of its `wake_at`; a policy with an `every`
            that is not None does so in any case.
        knows_conditions: It plays by conditions, which may cease to hold as a match ages.
        knows_each_clock: It plays by conditions that go by the age of each ticket of a match, too.
        serves_overdue: Who has waited for the queue's `wait_max`, or for a shorter one of its own,
            gets the best match there is at once.
    """

    jobs: bool = False
    evaluations_max: EvaluationsMax | None = None
    horizon: float = 0.0
    held_back: str = ""
    in_rounds: bool = False
    serves_overdue: bool = False
    knows_conditions: bool = False
    knows_each_clock: bool = False

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return hard rules that its parameters stand for; the engine holds every match to them."""
        del queue
        return ()

    def is_wide(self, first: float, second: float) -> bool:
        """Return whether a duel of these ratings is one that is rated as `wide`."""
        del first, second
        return False


class MatcherHooks(Protocol):
    """What a matcher may be told, or say, beside its decisions."""

    def announce(self, ticket: Ticket, now: float) -> None:
        """Hear of a ticket that is said to come; see `horizon`."""

    def confirmed(self, seconds: float, now: float) -> None:
        """Hear that a match is made, so long after its players were asked first."""

    def starts(self) -> Mapping[str, float]:
        """Return when it means to start a match with each ticket, in engine time."""
        return {}

    def promise(self, ticket_id: str, now: float) -> Promise | None:
        """Return when a ticket's next round begins; None where there are none."""
        del ticket_id, now
        return None


POLICY_HOOKS = ("jobs", "evaluations_max", "horizon", "held_back", "in_rounds", "serves_overdue",
                "knows_conditions", "knows_each_clock", "rules", "is_wide")  # fmt: skip


def hook_value(by: object, hook: str) -> Any:
    """Return what a policy or a matcher says by a hook: a value, or the method to call.

    Args:
        by: The policy or the matcher.
        hook: A name in `PolicyHooks` or `MatcherHooks`; without it, silence is as written there.

    >>> hook_value(object(), "jobs"), hook_value(object(), "starts")()
    (False, {})
    """
    own = getattr(by, hook, None)
    if own is not None:
        return own
    default = getattr(PolicyHooks if hook in POLICY_HOOKS else MatcherHooks, hook)
    return partial(default, by) if callable(default) else default


def listens(matcher: object, hook: str) -> bool:
    """Return whether a matcher has a hook of its own."""
    return callable(getattr(matcher, hook, None))


def rules_of(policy: object, queue: Queue) -> tuple[Rule, ...]:
    """Return the hard rules that a policy's parameters stand for on this queue."""
    return tuple(hook_value(policy, "rules")(queue))


def check_conditions(policy: object, queue: Queue) -> None:
    """Refuse a policy that would make matches which the conditions of a queue do not allow.

    Raises:
        ConfigError: The queue has conditions, and the policy knows none.
    """
    if any(rule.condition is not None for rule in queue.rules) and not hook_value(
        policy, "knows_conditions"
    ):
        raise ConfigError(
            "does not support the conditions of a rules_file; by_rules, greedy, rounds, rolling "
            "and threshold do"
        )

    if any(
        rule.condition is not None and rule.condition.clock == "each" for rule in queue.rules
    ) and not hook_value(policy, "knows_each_clock"):
        raise ConfigError(
            "does not support rules that tighten with the wait of each ticket; by_rules does"
        )


def has_jobs(policy: object) -> bool:
    """Return whether a policy's matchers ask for jobs."""
    return hook_value(policy, "jobs") is True


def is_in_rounds(policy: object) -> bool:
    """Return whether a policy makes matches at certain instants only."""
    return bool(hook_value(policy, "in_rounds")) or getattr(policy, "every", None) is not None


def serves_after(policy: object, queue: Queue) -> float:
    """Return the wait after which a policy matches a ticket if the rules allow it; inf if none."""
    if not hook_value(policy, "serves_overdue"):
        return math.inf
    own = getattr(policy, "wait_max", None)
    return min([each for each in (own, queue.wait_max) if each is not None], default=math.inf)


def evaluations_limit(policy: object, waiting: int) -> int | None:
    """Return the most evaluations of one call of a policy's matcher; None if it says nothing.

    Args:
        policy: Declares `evaluations_max`.
        waiting: Tickets that wait, those that enter or leave with the call included.

    >>> class Pairs:
    ...     evaluations_max = (10, 2)
    >>> evaluations_limit(Pairs(), 500)
    1010
    """
    declared: EvaluationsMax | None = hook_value(policy, "evaluations_max")
    if declared is None:
        return None
    most, power = 0, 1
    for each in (declared,) if isinstance(declared, int) else declared:
        most, power = most + each * power, power * waiting
    return most


TARGET = "target_wait"
"""The parameter of policies that keep a mean wait."""


def target_of(queue: Queue, policy: object) -> float | None:
    """Return the mean wait that a policy keeps in a queue, seconds; None where it keeps none."""
    if not hasattr(policy, TARGET):
        return None
    own: float | None = getattr(policy, TARGET)
    return queue.target if own is None else own
