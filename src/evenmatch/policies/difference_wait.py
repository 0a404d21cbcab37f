"""`difference_wait`: tentative matches, which become definitive the sooner the closer they are."""

from __future__ import annotations

import math
from typing import Literal

from evenmatch.criteria.objective import weights_of
from evenmatch.model.fields import LARGEST, Power, Wait
from evenmatch.model.queue import Queue
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.step_matcher import (
    SteppedPolicy,
    Steps,
    check_solo,
    check_wait_price,
    check_without_rules,
)
from evenmatch.solvers.steps import difference_wait, policy_numbers, tentative

STEPS = Steps(
    kind=policy_numbers.DIFFERENCE_WAIT,
    arrive=difference_wait.arrive,
    come_back=difference_wait.arrive,
    decide=difference_wait.decide,
    leave=difference_wait.leave,
    learnt_numbers=(tentative.SEARCH,),
    axis="term",
)


class DifferenceWait(SteppedPolicy, frozen=True, kw_only=True):
    """Match players tentatively, and let each match wait in proportion to its players' distance.

    The distance q of a match is the sum of its weighted criteria over the sum of the weights. A
    newcomer takes the nearest player who is free, or who is strictly closer to the newcomer than to
    their present mate; of equally near players it takes the one who waits longest. A player who
    loses their mate then does the same. A match becomes final after factor * q^power seconds, or at
    the deadline of its longest waiting ticket if that is earlier. Times are rounded up to 2^-20 s.

    For matches of more than two players, the mates are added one by one. Candidates are the 4 (k -
    1) players nearest to the ticket that searches who are free or whose present group is strictly
    more distant; each time, the one who adds the least to the group's distance joins. A group that
    loses a player is dissolved, and the longest waiting of the others searches again. Whenever k
    players are free, one of them searches too. A ticket without a group at its deadline takes the
    players who add the least, even from other groups; if fewer than k players wait, the queue's
    `on_deadline` decides.

    When to use:
        For matches of more than two players, where its groups are closer than those of
        `multi_queue`. Also for one against one if you want to show players a likely opponent who
        may still change; otherwise `price` costs less there.

    Args:
        factor: Seconds that a match of distance 1 waits; with 0 this is `greedy`. The best value
            hardly depends on the rate. The default is W / (k wait_price), where W is the sum of the
            weights; if you leave weights and wait_price to their defaults, that is wait_max.
        origin: Whether the wait counts from the `arrival` of the match's longest waiting ticket, or
            from the moment at which the `pair` was found.
        power: With a larger power, close matches wait less. Combine it with a larger factor, which
            costs a little less in total: try 1.5 with 1.6 times the factor.

    Source:
        Schlup, Automatic Game Matching, algorithm A_DW.

    Differs from the paper:
        The paper leaves open who is taken, from when the wait counts, and what happens with more
        than two players or several criteria; see above. A group's mean gap is judged by its spread.

    Complexity:
        O(n) for each decision; if there is one criterion, about O(log n + k^2) for each ticket that
        searches, which are the newcomer and those who lose their mate.
    """

    held_back = "difference_wait lets a match wait longer the further apart its players are"
    serves_overdue = True
    name = "difference_wait"
    compiled = STEPS

    factor: Wait | None = None
    origin: Literal["arrival", "pair"] = "arrival"
    power: Power = 1.0

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place.

        Raises:
            ConfigError: A parameter is out of range, or the queue has another format, or rules.
        """
        check_solo(queue, "difference_wait", is_duel=False)
        check_without_rules(queue, "difference_wait")
        check_parameters(self)
        factor = self.factor
        if factor is None:
            check_wait_price(queue, "difference_wait", " or give factor")
            factor = min(math.fsum(weights_of(queue)) / (queue.format.k * queue.price), LARGEST)
        return {
            difference_wait.FACTOR: factor,
            difference_wait.POWER: self.power,
            difference_wait.IS_FROM_ARRIVAL: float(self.origin == "arrival"),
            difference_wait.SEATS: float(queue.format.k),
        }
