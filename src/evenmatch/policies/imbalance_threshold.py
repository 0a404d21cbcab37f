"""`imbalance_threshold`: the most even match starts as soon as it is even enough."""

from __future__ import annotations

import msgspec

from evenmatch.errors import ConfigError
from evenmatch.model.fields import Limit
from evenmatch.model.queue import Queue
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.shared.balance import Balance
from evenmatch.policies.shared.imbalance_matcher import FixedLimit, ImbalanceLimit, ImbalanceMatcher
from evenmatch.policies.shared.learnt_limit import LearntLimit
from evenmatch.policies.shared.parameters import check_parameters


class ImbalanceThreshold(msgspec.Struct, frozen=True, kw_only=True):
    """Start the match with the most even teams as soon as their imbalance is at most `delta`.

    The imbalance is that of the queue's first `imbalance` criterion, before its weight; in a duel
    without one, that of the first criterion that compares numbers. Of several matches with the same
    imbalance, the one with the longest waiting players starts. Other criteria do not count.

    Without `delta` the policy learns the limit. It tries five limits side by side on the real
    arrivals, in pools in which nobody really plays, and uses the one whose waiting and imbalance
    cost least, given the queue's `wait_price`, the criterion's weight and the rate of the last 50
    tickets. So in a duel the limit halves when four times as many players arrive. The limit is
    renewed every 16 arrivals; until the first limit is known, players play as soon as they can. In
    a duel on evenly distributed skill it comes to .8 sqrt(wait_price / (weight / 2 * rate *
    density)). In the trial pools, players who cancel count as if they had stayed.

    The limit does not grow with a player's wait: players who are hard to match wait until the
    deadline.

    When to use:
        If you want even teams at the least total cost of waiting and imbalance, for a few types of
        skill or for ratings. Give the queue a `wait_max` for players who are hard to match. In
        duels, `price` and `gap_value` cost as little on evenly distributed skill, and less on
        ratings, because they see which players are rare. With rules, sides or roles choose
        `rolling`.

    Args:
        delta: The largest imbalance that is accepted, as the criterion gives it: in [0, 1] with a
            scale, raw with the scale `none`. By default the policy learns it from the arrivals.

    Source:
        The optimal policies of small cases, as `theory skill_mdp` computes them: all of them start
        the most even match or wait, by a limit that hardly depends on who waits. A fixed best limit
        costs at most 1.1 % more there. Wu, Dynamic Matching With Teams, theorem 3.3, is the case of
        two types. How `delta` is learnt is ours.

    Complexity:
        O(log n) for each arrival in duels. For teams, every set of the longest waiting 24 tickets
        is examined for two against two, of 15 for three against three, and of 12 to 14 for larger
        teams, up to seven against seven. Without `delta` it is six times as much. When the limit
        grows, all tickets are examined again.
    """

    held_back = "imbalance_threshold waits for more even teams"
    evaluations_max = (8, 65_536, 2)
    """A newcomer is tried with at most `even_sets.ROWS_MAX` divisions of those who wait."""

    delta: Limit | None = None

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of two teams.

        Raises:
            ConfigError: `delta` is out of range; the queue has another format, rules, or no
                criterion to be even in; or without `delta` neither waiting nor imbalance counts.
        """
        del seed
        check_parameters(self)
        balance = Balance(queue, "imbalance_threshold")
        known = memory or {}
        limit: ImbalanceLimit
        if self.delta is None:
            _check_priced(queue, balance)
            limit = LearntLimit(balance, queue.price, queue.wait_max, known.get("limit"))
        else:
            limit = FixedLimit(self.delta)
        return ImbalanceMatcher(balance, limit, known)


def _check_priced(queue: Queue, balance: Balance) -> None:
    for what, number in (("wait_price", queue.price), ("the criterion's weight", balance.weight)):
        if not number > 0.0:
            raise ConfigError(
                f"policy imbalance_threshold weighs imbalance against waiting, and in queue "
                f"{queue.name} {what} is {number:g}: set it above 0 or give delta"
            )
