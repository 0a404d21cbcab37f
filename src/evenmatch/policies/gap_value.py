"""`gap_value`: a pair meets when the pool without it is worth more than the pair costs."""

from __future__ import annotations

from evenmatch.errors import ConfigError
from evenmatch.model.fields import Rate
from evenmatch.model.queue import Queue
from evenmatch.policies.price import density
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.step_columns import StepColumns
from evenmatch.policies.shared.step_matcher import (
    SteppedPolicy,
    Steps,
    check_solo,
    check_wait_price,
)
from evenmatch.solvers.steps import gap_costs, gap_value, policy_numbers, price

BOUNDED = ("linear", "percentile")
"""Scales whose values lie in [0, 1]."""
STEPS = Steps(
    kind=policy_numbers.GAP_VALUE,
    arrive=gap_value.arrive,
    come_back=gap_value.come_back,
    decide=gap_value.decide,
    leave=gap_value.leave,
    samples=gap_value.SAMPLES,
    learnt_numbers=(
        price.RATE_NOW,
        price.LAST,
        price.GUESS,
        gap_costs.LOW_END,
        gap_costs.HIGH_END,
        gap_costs.FALLS,
    ),
    axis="term",
)


class GapValue(SteppedPolicy, frozen=True, kw_only=True):
    """Weigh each pair of neighbours against what the others will cost without it.

    Those who wait lie on a line, by their one criterion. What they will still cost is

        V = weight * (e(first, end) + sum of v(gap) + e(last, end)) + what deadlines will cost

    where v(gap) = L (.3443 + .1555 max(0, 2.519 - gap/L)^2), e(gap) = L (.248 + .295 max(0, 1.374
    - gap/L)^2), nobody waiting costs nothing, and a player of age t adds 1.063 wait_price
    wait_max (t/wait_max)^4.25 where there is a deadline. At each instant of arrivals, once all who
    come at it are there, the neighbours with the lowest sum of their own cost and the change of V
    play, as long as that is negative. At its
    deadline a ticket takes the partner with the lowest sum. Neighbours whom rules keep apart for
    good are passed over, up to eight; where rules keep them apart for a time, they are weighed
    again when rules let them play.

    L is the length in which waiting and gaps balance, .9/sqrt(weight rate wait_max) for uniform
    players; in general it follows from the last 50 arrivals' rate and the last 128 arrivals'
    values, for each player by the density around it, as in `price`; 1/wait_price takes
    wait_max's place. The line ends at 0 and 1, or at the extremes of the last 128 arrivals where
    values are not scaled to [0, 1].

    When nobody has come for n = 5.7 mean intervals, the rate is taken for 4/n of what it was, and
    again whenever n has grown by 3/7. So in a queue without a deadline the last two who may play
    do so at some time.

    When to use:
        For one against one with a single criterion and players all over its range: the closest
        to the best that is possible without knowing the future. `price` takes any number of
        criteria.

    Args:
        rate: Tickets per second, if known; None measures it.

    Source:
        The value function is fitted to the exact dynamic programme for Schlup's setting; see
        `theory.floor.cost_on_grid`. Local lengths, silence and rules are ours.

    Complexity:
        O(n) for each arrival and match, O(128) for each arrival.
    """

    held_back = "gap_value waits until the pool without them is worth more than their match costs"
    serves_overdue = True
    name = "gap_value"
    compiled = STEPS

    rate: Rate | None = None

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place.

        Raises:
            ConfigError: A parameter is out of range, or the queue has another format, another
                number of criteria, or waiting that costs nothing.
        """
        check_solo(queue, "gap_value", is_duel=True)
        check_parameters(self)
        terms = StepColumns(queue, "gap_value").table[0]
        if len(terms) != 1 or not terms[0, 0] > 0.0:
            raise ConfigError(
                f"gap_value is for one criterion with a weight above 0; queue {queue.name} has "
                f"{len(terms)} with weights {terms[:, 0].tolist()}: choose price"
            )
        check_wait_price(queue, "gap_value")
        return {
            price.C: gap_value.PICKINESS,
            price.THETA: -1.0,
            price.KNOWN_RATE: self.rate or 0.0,
            price.DIMENSIONS: 1.0,
            price.DENSITY: density(terms),
            gap_costs.IS_BOUNDED: float(queue.criteria[0].scale.kind in BOUNDED),
        }
