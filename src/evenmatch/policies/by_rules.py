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
    """Make a match as soon as the conditions of a rule set allow one, around who waits longest.

    It plays by the conditions of a queue with a `rules_file`, and by the queue's own rules beside
    them if these widen in steps or not at all. It wakes up at each age at which one of them changes
    for somebody, tries fuller matches first, and starts the fullest that it has met when one is
    legal.

    When to use:
        For a FlexMatch rule set, where it is the default. It makes a match at the first instant at
        which there is one; whoever would rather wait for a better match says so in the rule set, by
        limits that widen.

    Source:
        The FlexMatch developer guide of AWS, for the clocks of expansions; the search is ours.

    Args:
        evaluations_max: Half-built matches that one call looks at.

    Complexity:
        A search has up to (teams + 1)^tickets ways to go, and leaves each of them as soon as more
        players cannot mend what is wrong. Pools of up to `condition_search.WHOLE_MAX` tickets are
        searched to the end, in as many calls as that takes. In larger ones a search considers the
        `condition_matcher.CONSIDERED_MAX` nearest tickets and ends with a call; it may then miss a
        match that is legal, and is made again when a quarter of the pool has changed.
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
