"""`patient`: a match starts as soon as its teams can be exactly even, and never before."""

from __future__ import annotations

import msgspec

from evenmatch.model.queue import Queue
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.shared.balance import Balance
from evenmatch.policies.shared.even_sets import PLAYERS_MAX
from evenmatch.policies.shared.imbalance_matcher import FixedLimit, ImbalanceMatcher


class Patient(msgspec.Struct, frozen=True, kw_only=True):
    """Match players as soon as they divide into two exactly even teams, the longest waiting first.

    Teams are even if the queue's first `imbalance` criterion is 0, or in a duel without one, its
    first criterion that compares numbers. If several sets could play, the one with the longest
    waiting players does, so of two types of players the youngest of the more numerous type stay.
    With two teams of n and two types, at most 2n players wait at any time, because 2n + 1 always
    contain an even set.

    If skill is a real number, no two teams are ever exactly even, and nobody plays before the
    deadline: choose `imbalance_threshold` then, or give the criterion a `step`.

    For teams of more than seven, the policy only finds even teams in which tickets come in pairs of
    the same skills, one in each team. With two skills, all even teams are of this form; with more,
    it does not look for teams whose sums are equal in other ways.

    When to use:
        If there are only a few types of skill, and an uneven match costs more than the wait for an
        even one; `theory wu` says at which price that is so. `imbalance_threshold` with `delta` 0
        is the same policy; without `delta` it learns by itself how even a match should be.

    Source:
        Wu, Dynamic Matching With Teams, the patient policy of section 3.

    Complexity:
        O(log n) for each arrival in duels. For teams, every set of the longest waiting 24 tickets
        is examined for two against two, of 15 for three against three, and of 12 to 14 up to seven
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
