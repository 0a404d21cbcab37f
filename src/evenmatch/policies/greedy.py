"""`greedy`: play as soon as the waiting tickets fill a legal match, longest waiting first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
from msgspec import Meta

from evenmatch.model.queue import Queue
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.shared.greedy_matcher import GreedyMatcher as GreedyMatcher
from evenmatch.policies.shared.parameters import check_parameters

if TYPE_CHECKING:
    from evenmatch.policies.shared.step_matcher import Steps

EVALUATIONS_MAX = 4_000
"""Evaluations of one call, unless the policy says otherwise."""
HALF_BUILT = 16
"""Evaluations that looking at a half-built match counts for, where conditions are searched."""
EVALUATIONS_MIN, EVALUATIONS_LIMIT = 1_000, 10**9


class Greedy(msgspec.Struct, frozen=True, kw_only=True):
    """Make a match as soon as the waiting tickets can fill a legal one, the longest waiting first.

    A newcomer plays with the longest waiting tickets that complete a match with it. If rules widen
    with the wait, the policy acts again at the instant at which they allow a match. It makes full
    matches only; if smaller ones may start, the engine starts them at deadlines. In a queue with a
    rule set it starts every size that is legal, the largest first, like `by_rules`.

    When to use:
        If only waiting matters, with any parties, sides, roles and rules, and as the baseline to
        compare other policies with. For one against one, `price` makes far closer matches.

    Source:
        Schlup, Automatic Game Matching, algorithm A_G.

    Args:
        evaluations_max: The most evaluations that one call makes. Looking at a ticket, or at the
            seats that a party may take, counts as one; checking all rules for two tickets as 8;
            judging a group as 15 for each player, or 3 for each pair of players if rules compare
            teams. Passes over columns count by their size. The default takes 2 to 5 ms.

    Complexity:
        Without rules, O(kinds x k) for each newcomer, where tickets of the same kind have the same
        size, side and roles. Whether sizes, sides and roles fit is decided exactly: with the bits
        of one number for up to `seat_completion.BITS_MAX` ways to fill the seats, and with up to
        `team_packing.STATES_MAX` half-filled matches in larger formats. With rules, one pass over
        columns compares a newcomer with all older tickets. In a duel this finds the partner, if
        columns tell all about the rules and the pair may play on its sides. Otherwise a search for
        a match begins only if enough of them may meet the newcomer; it looks first for a match that
        is legal at the instant before which the rules on numbers allow none. The search considers
        the `CONSIDERED_MAX` that may meet it soonest, judges at most `SEATINGS_MAX` groups, and
        makes `evaluations_max` evaluations in all. It may then miss the group that becomes legal
        first: the policy wakes up later than it could, never earlier. The matches that it makes are
        still legal, and it searches again when a quarter of those tickets have left.

        A ticket that leaves or comes back costs as much as a newcomer. Timers that depend on a
        ticket that has left are computed again only when they are the next to fire. Work beyond
        `evaluations_max`, such as that for a crowd that enters at one instant, goes on
        `work_slices.PAUSE` later, the longest waiting first. If all players must meet at one place,
        it is expensive to find the instant at which a newcomer will complete a match. Such searches
        are limited to `work_slices.TURNS_A_SECOND` calls a second, so that a crowd cannot use up a
        server's time; if newcomers need all of these calls, one such search is still made every
        `work_slices.PATIENCE` seconds.
    """

    knows_conditions: ClassVar[bool] = True
    evaluations_max: Annotated[int, Meta(ge=EVALUATIONS_MIN, le=EVALUATIONS_LIMIT)] = (
        EVALUATIONS_MAX
    )

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for any format.

        Raises:
            ConfigError: The queue has conditions, and roles or other rules not in steps.
        """
        del seed, memory
        check_parameters(self)
        if any(rule.condition is not None for rule in queue.rules):
            # Loaded here, since few queues play by the conditions of a rule set.
            from evenmatch.policies.shared.condition_matcher import ConditionMatcher

            return ConditionMatcher(queue, self.evaluations_max // HALF_BUILT)
        return GreedyMatcher(queue, self.evaluations_max)

    def steps(self, queue: Queue) -> Steps:
        """Return the compiled steps, which a compiled run takes; single players without rules."""
        # Loaded here, since the matcher needs no kernels.
        from evenmatch.policies.shared.step_matcher import Steps
        from evenmatch.solvers.steps import greedy, policy_numbers
        from evenmatch.solvers.steps.waiting import free_slot

        del queue
        return Steps(policy_numbers.GREEDY, greedy.arrive, greedy.arrive, greedy.decide, free_slot)

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place: none."""
        del queue
        return {}
