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
    """Match two neighbours when their match costs less than it saves all who wait.

    The waiting players lie on a line, by their one criterion. The policy estimates their future
    cost as

        V = weight * (e(first, end) + sum of v(gap) + e(last, end)) + what deadlines will cost

    where v(gap) = L (.3443 + .1555 max(0, 2.519 - gap/L)^2) and e(gap) = L (.248 + .295 max(0,
    1.374 - gap/L)^2). An empty line costs nothing. If there is a deadline, a player of age t adds
    1.063 wait_price wait_max (t/wait_max)^4.25. After all arrivals of an instant, the neighbours
    play whose match has the lowest sum of its own cost and the change of V; this is repeated as
    long as the sum is negative. At its deadline a ticket takes the partner with the lowest sum.
    Neighbours whom rules keep apart for good are skipped, up to eight; neighbours whom rules keep
    apart for a time are considered again when the rules let them play.

    L is the length at which waiting and gaps balance, .9/sqrt(weight rate wait_max) for uniform
    players. In general it follows from the rate of the last 50 arrivals and from the values of the
    last 128, for each player by the density around them, as in `price`; 1/wait_price takes the
    place of wait_max. The line ends at 0 and 1, or at the extremes of the last 128 arrivals if
    values are not scaled to [0, 1].

    When nobody has arrived for n = 5.7 mean intervals, the rate is reduced to 4/n of what it was,
    and again whenever n has grown by 3/7. So even in a queue without a deadline, the last two
    players who may play will do so.

    When to use:
        For one against one with a single criterion and players all over its range: of all policies
        it comes closest to the best that is possible without knowing the future. `price` takes any
        number of criteria.

    Args:
        rate: Tickets per second, if you know it; by default it is measured.

    Source:
        The value function is fitted to the exact dynamic programme of Schlup's setting; see
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
