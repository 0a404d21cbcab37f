"""`patient`: a match starts as soon as its teams can be exactly even, and never before."""

from __future__ import annotations

import msgspec

from evenmatch.model.queue import Queue
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.shared.balance import Balance
from evenmatch.policies.shared.even_sets import PLAYERS_MAX
from evenmatch.policies.shared.imbalance_matcher import FixedLimit, ImbalanceMatcher


class Patient(msgspec.Struct, frozen=True, kw_only=True):
    """Match players at once if they divide into two even teams, the longest waiting first.

    Teams are even where the queue's first `imbalance` criterion is 0; in a duel without one, its
    first criterion that compares numbers. Where several sets could play, the one that has the
    longest waiting does: so of two types of players the youngest of the surplus type stays. Then
    at most 2n players of two teams of n wait at any time, for 2n + 1 always hold an even set.

    On skill that is a real number no two teams are ever exactly even, and nobody plays before the
    deadline: choose `imbalance_threshold` there, or give the criterion a `step`.

    Teams of more than seven are even if every kind of ticket, players of equal skill alone or in
    parties alike, comes in pairs, one in each team. Of two skills all even teams are such; of more,
    teams that are even by other sums are not looked for.

    When to use:
        Skill of a few types, where an uneven match costs more than the wait for an even one:
        `theory wu` says from which price on that is so. `imbalance_threshold` with `delta` 0 is
        the same; without `delta` it finds out by itself how even a match has to be.

    Source:
        Wu, Dynamic Matching With Teams, the patient policy of section 3.

    Complexity:
        O(log n) for each arrival to a duel. Of teams every set of the longest waiting 24 is
        looked at for two against two, of 15 for three against three, and of 12 to 14 up to seven
        against seven. For larger teams O(kinds) for each arrival, and O(n kinds) for each match.
    """

    held_back = "patient waits until teams can be exactly even"
    evaluations_max = (8, 65_536, 2)
    """A newcomer is tried with at most `even_sets.ROWS_MAX` divisions of those who wait."""

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of two teams.

        Raises:
            ConfigError: The queue has another format, rules, or no criterion to be even in.
        """
        del seed
        balance = Balance(queue, "patient", team_max=PLAYERS_MAX)
        return ImbalanceMatcher(balance, FixedLimit(0.0), memory or {})
