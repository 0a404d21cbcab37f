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
    """Match tentatively, and let a match wait in proportion to its players' distance.

    The distance q of a match is the sum of its weighted criteria over the sum of the weights. A
    newcomer, and then everyone who is dropped, takes the nearest player who is free or strictly
    closer to it than to the present mate; equal ones by age. A match becomes definitive after
    factor * q^power seconds, no later than at the deadline of its longest waiting ticket and
    never before now. Instants are rounded up to 2^-20 s.

    With more than two players a match the mates are found one by one: each time the player who
    adds the least to the distance of the group, among the 4 (k - 1) nearest to the one who looks
    who are free or whose present group is strictly more distant. A group that loses a player is
    dissolved, and the longest waiting of the rest looks again; so does one of any k players who
    are free. An overdue ticket without a group takes those who add the least, from wherever they
    are; where fewer than k wait in all, the engine decides (`on_deadline`).

    When to use:
        For matches of more than two players, where its groups are closer than those of
        `multi_queue`; and for pairs, where players may be shown a likely opponent who can
        still change. One against one, `price` costs less.

    Args:
        factor: Seconds of waiting at distance 1; 0 is `greedy`. The best one hardly depends on
            the rate: None takes W / (k wait_price), W the sum of weights, which is wait_max where
            weights and wait_price are left to their defaults.
        origin: The wait counts from the `arrival` of the longest waiting of the match, or from
            the moment at which the match was found (`pair`).
        power: Larger lets close matches wait less; a larger factor belongs to it, and then it
            costs a little less: try 1.5 with 1.6 times the factor.

    Source:
        Schlup, Automatic Game Matching, algorithm A_DW.

    Differs from the paper:
        It leaves open who is taken, from when the wait counts and what happens with more than two
        players or several criteria; see above. A mean gap of a group is judged by its spread.

    Complexity:
        O(n) for each decision; about O(log n + k^2) for each ticket that looks for a match, a
        newcomer and those it drops, where one criterion decides.
    """

    held_back = "difference_wait makes a match definitive the later the further apart they are"
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
