"""`by_rules`: a match as soon as the conditions of a rule set allow one."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from evenmatch.model.queue import Queue
from evenmatch.policies.base import Memory
from evenmatch.policies.shared.condition_matcher import ConditionMatcher
from evenmatch.policies.shared.parameters import check_parameters


class ByRules(msgspec.Struct, frozen=True, kw_only=True):
    """Make a match around the longest waiting ticket as soon as the rule set allows one.

    The policy is for queues with a `rules_file`; the queue may have further rules of its own, if
    these widen in steps or not at all. It searches again whenever a waiting ticket reaches an age
    at which a rule changes. It tries fuller matches first, and starts the fullest legal match that
    it has found.

    When to use:
        For a FlexMatch rule set, for which it is the default. It makes a match at the first instant
        at which one is legal; if you want players to wait for better matches, say so in the rule
        set, with limits that widen.

    Source:
        The FlexMatch developer guide of AWS, for the clocks of expansions; the search is ours.

    Args:
        evaluations_max: How many half-built matches one call examines.

    Complexity:
        A search has up to (teams + 1)^tickets branches, and leaves a branch as soon as no further
        player can make it legal. Pools of up to `condition_search.WHOLE_MAX` tickets are searched
        completely, in as many calls as that takes. In larger pools a search considers the
        `condition_matcher.CONSIDERED_MAX` nearest tickets and ends after one call. It may then miss
        a legal match; the search is repeated when a quarter of the pool has changed.
    """

    knows_conditions: ClassVar[bool] = True
    knows_each_clock: ClassVar[bool] = True
    evaluations_max: Annotated[int, Meta(ge=100, le=100_000)] = 250

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> ConditionMatcher:
        """Return a matcher for a queue whose rules are conditions.

        Raises:
            ConfigError: The queue has no conditions, or roles, or other rules not in steps.
        """
        del seed, memory
        check_parameters(self)
        return ConditionMatcher(queue, self.evaluations_max)
