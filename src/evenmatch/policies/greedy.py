"""`greedy`: play as soon as the waiting tickets fill a legal match, longest waiting first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
EVALUATIONS_MIN, EVALUATIONS_LIMIT = 1_000, 10**9


class Greedy(msgspec.Struct, frozen=True, kw_only=True):
    """Match the first tickets that fill a legal match, as soon as they do.

    The newcomer plays with the longest waiting tickets that complete a match with it. Where rules
    widen with the wait, the policy acts again at the instant at which they allow a match. It makes
    full matches only; where smaller ones may start, the engine starts them at deadlines.

    When to use:
        Where only waiting matters, with parties, sides, roles and rules of any kind, and as the
        yardstick for every other policy. One against one, `price` makes far closer matches.

    Source:
        Schlup, Automatic Game Matching, algorithm A_G.

    Args:
        evaluations_max: The most that one call does. To look at a ticket, or at the seats that a
            party may take, is one evaluation; to ask all rules about two tickets 8; to judge a
            group 15 for each player, or 3 for each two where rules compare teams. Passes over
            columns count by their size. The default takes 2 to 5 ms.

    Complexity:
        O(kinds x k) for each newcomer without rules, where tickets of a kind (size, side and
        roles) fill a match alike. Sizes, sides and roles are told exactly: as bits of one number
        up to `completion.BITS_MAX` ways to have filled the seats, and up to half-filled matches of
        `teams.STATES_MAX` in larger formats. With rules a newcomer is compared with all older ones
        in one pass over columns, and a match is looked for only where enough of them may meet it.
        Such a search considers the soonest `CONSIDERED_MAX` of them, judges at most
        `SEATINGS_MAX` groups, and makes `evaluations_max` evaluations in all. It may then miss the
        group that is legal first: the policy wakes up later than it could, never earlier, what it
        makes is legal all the same, and it looks again when a quarter of those have left.

        A ticket that leaves, or comes back, costs what a newcomer does. Timers that rest on a
        ticket that has left are found anew only when they come first. What is beyond
        `evaluations_max`, such as a crowd that enters at one instant, goes on `turns.PAUSE` later,
        longest waiting first. Where all have to meet at one place, a newcomer that completes no
        match now waits for the dear search for the instant at which it will; such searches keep to
        `turns.TURNS_A_SECOND` calls a second, so that a crowd never fills a server's time; where
        newcomers take all of that, one such search in `turns.PATIENCE` is made all the same.
    """

    evaluations_max: Annotated[int, Meta(ge=EVALUATIONS_MIN, le=EVALUATIONS_LIMIT)] = (
        EVALUATIONS_MAX
    )

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for any format."""
        del seed, memory
        check_parameters(self)
        return GreedyMatcher(queue, self.evaluations_max)

    def steps(self, queue: Queue) -> Steps:
        """Return the compiled steps, which a compiled run takes; single players without rules."""
        # Loaded here, since the matcher needs no kernels.
        from evenmatch.policies.shared.step_matcher import Steps
        from evenmatch.solvers.steps import greedy, kinds
        from evenmatch.solvers.steps.waiting import free_slot

        del queue
        return Steps(kinds.GREEDY, greedy.arrive, greedy.arrive, greedy.decide, free_slot)

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place: none."""
        del queue
        return {}
