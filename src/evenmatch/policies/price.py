"""`price`: a pair meets when its cost is no more than what both would pay rather than wait."""

from __future__ import annotations

from evenmatch.criteria.scales import Floats
from evenmatch.model.fields import Factor, Limit, Rate, Weight
from evenmatch.model.queue import Queue
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.step_columns import StepColumns
from evenmatch.policies.shared.step_matcher import (
    SteppedPolicy,
    Steps,
    check_solo,
    check_wait_price,
)
from evenmatch.solvers.matching.pairs import CAPPED
from evenmatch.solvers.steps import policy_numbers, price

GROW = 0.05
STEPS = Steps(
    kind=policy_numbers.PRICE,
    arrive=price.arrive,
    come_back=price.come_back,
    decide=price.decide,
    leave=price.forget,
    samples=price.SAMPLES,
    learnt_numbers=(price.RATE_NOW, price.LAST, price.GUESS),
    look=price.LOOK,
    axis="gate",
)


class Price(SteppedPolicy, frozen=True, kw_only=True):
    """Match a newcomer at once if somebody is close enough; otherwise wait for a better opponent.

    T(x) is the most that a match may cost a player x. It balances the price of waiting a second
    with the gain from that second's arrivals, which are expected to be like the last ones:

        rate * E[(T - cost(x, Y))+] = c^2 * wait_price

    A newcomer plays with the waiting player of the largest gain, T - cost + grow * (the waiting
    player's cost of waiting), if that is not negative; here T is 3/4 of the larger T of the two
    plus 1/4 of the smaller. At its deadline a ticket takes the cheapest partner available. If a
    rule keeps a pair apart for a time, the ticket searches again when the rule lets it play. When
    nobody has arrived for four mean intervals, the policy assumes a lower rate, and pairs that are
    good enough for that rate play.

    Players who arrive at the same instant are decided together, for the largest total gain; if
    several have lately arrived at one instant, E counts the cheapest of them.

    There is nothing to tune: the rate is measured over the last 50 arrivals, the distribution over
    the last 256. If several arrive at one instant, the rate is measured over as many arrivals as it
    takes to cover 20 instants.

    When to use:
        For one against one, whenever closeness can be weighed against waiting; it is the default
        for such queues if they have criteria. If players must never be further apart than some
        limit, add a rule.

    Args:
        c: How much to accept: a larger value accepts more distant opponents sooner. Around 1.1 the
            total cost hardly changes.
        theta: A fixed T to use instead, as a distance: the sum of weighted criteria over the sum of
            weights.
        grow: The fraction of its waiting cost by which a ticket accepts a more expensive match; by
            default 0.05, or 0 with `theta`.
        rate: Tickets per second, if you know it; by default it is measured.

    Source:
        A threshold rule with the length L = 1/sqrt(f a wait_max) of Schlup's paper as its unit:
        for one uniform criterion T = c f L. Local densities, several criteria and silence are
        ours.

    Complexity:
        O(m log m) for each ticket that searches, where m is the number of players within the widest
        limit of a rule, or O(n) without rules; O(256) for each arrival.
    """

    held_back = "price waits for somebody whose match costs less than waiting for a closer one"
    serves_overdue = True
    name = "price"
    compiled = STEPS

    c: Factor = 1.1
    theta: Limit | None = None
    grow: Weight | None = None
    rate: Rate | None = None

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place.

        Raises:
            ConfigError: A parameter is out of range, or the queue has another format.
        """
        check_solo(queue, "price", is_duel=True)
        check_parameters(self)
        grow = self.grow
        if grow is None:
            grow = GROW if self.theta is None else 0.0
        if self.theta is None:
            check_wait_price(queue, "price", " or give theta")
        terms = StepColumns(queue, "price").table[0]
        counted = terms[terms[:, 0] > 0.0]
        return {
            price.C: self.c,
            price.THETA: -1.0 if self.theta is None else self.theta,
            price.GROW: grow,
            price.KNOWN_RATE: self.rate or 0.0,
            price.DIMENSIONS: 0.0 if self.theta is not None else float(len(counted)),
            price.DENSITY: density(counted),
        }


def density(terms: Floats) -> float:
    """Return how likely a uniform player costs at most T over T ** dimensions; 0: not uniform."""
    if any(shape != CAPPED for shape in terms[:, 1]):
        return 0.0
    density = 1.0
    for dimension, weight in enumerate(terms[:, 0].tolist(), 1):
        density *= 2.0 / (dimension * weight)
    return density
