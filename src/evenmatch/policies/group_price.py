"""`group_price`: k players meet when their match costs no more than they would pay to play now."""

from __future__ import annotations

from evenmatch.criteria.base import Form, NumberGap
from evenmatch.criteria.registry import form_of, number_gap_of
from evenmatch.errors import ConfigError
from evenmatch.model.fields import Limit, Weight
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
from evenmatch.solvers.steps import group_price, policy_numbers, price

GROW = 0.2
STEPS = Steps(
    kind=policy_numbers.GROUP_PRICE,
    arrive=group_price.arrive,
    come_back=group_price.come_back,
    decide=group_price.decide,
    leave=group_price.leave,
    samples=group_price.SAMPLES,
    learnt_numbers=(price.RATE_NOW, price.LAST, price.GUESS),
    look=price.LOOK,
    axis="gate",
)


class GroupPrice(SteppedPolicy, frozen=True, kw_only=True):
    """Grow a group around each newcomer; it plays if it is good enough, or waits for a better one.

    The player who adds least to sum f_d q_d joins the group, until it has k players. They play if
    sum f_d q_d <= theta + grow * wait_price * (the sum of their waits). At its deadline a ticket
    grows a group and plays at any cost; if fewer than k players wait, the queue's `on_deadline`
    decides. Players who arrive at the same instant are decided together, the largest gain first. If
    a rule keeps players apart for a time, the ticket searches again when the rule lets it play.
    Because the group grows step by step, it may miss a legal group if rules forbid many pairs. A
    mean gap is judged by the spread.

    Without `theta` there is nothing to tune. Take a box around a player that holds the share F of
    all arrivals: until k of its players are there, they wait k (k - 1) / (2 rate F) seconds in
    total, and the larger the box, the more their match costs. The best box balances both. The
    distance T from the player to the border of the best box solves

        rate * E[(T - cost(x, Y))+] = c^2 * wait_price

    over the last 128 arrivals Y. This is the equation of `price`, with a c that depends only on k
    and the number of criteria, so T follows the rate and the local density. theta is half the
    group's mean T plus half its largest T, in units of a box, times .82 (1 + 1/((k - 1) D^1.5)) for
    D criteria. The factor is there because waits add to theta, and because theta bounds the most
    expensive match and not the mean one, which differ most for few players and criteria. The .82 is
    the only fitted number.

    When nobody has arrived for four mean intervals, the policy assumes a lower rate, and groups
    that are good enough for that rate play. So even in a queue without a deadline, k players who
    may play together will do so, unless a fixed `theta` forbids it.

    When to use:
        For free-for-all matches of three or more players, where it is the default. For one against
        one, `price` is better.

    Args:
        theta: The most expensive match that is accepted at once, in criteria cost sum f_d q_d; by
            default the policy finds the limit itself.
        grow: The fraction of its waiting cost by which a group accepts a more expensive match.

    Source:
        Ours: a threshold on the cost of a greedily grown group. Schlup's paper leaves better
        policies for k > 2 open.

    Complexity:
        O(k m) for each ticket that searches, where m is the number of players within the widest
        limit of a rule; O(128) for each arrival.
    """

    held_back = "group_price waits for a match that costs less than waiting for a closer one"
    serves_overdue = True
    name = "group_price"
    compiled = STEPS

    theta: Limit | None = None
    grow: Weight = GROW

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place.

        Raises:
            ConfigError: A parameter is out of range, or the queue has another format.
        """
        check_solo(queue, "group_price", is_duel=False)
        self._check(queue)
        terms = StepColumns(queue, "group_price").table[0]
        counted = terms[terms[:, 0] > 0.0]
        c, factor = group_price.factors(queue.format.k, len(counted))
        return {
            price.C: c,
            price.THETA: -1.0 if self.theta is None else self.theta,
            price.GROW: self.grow,
            price.KNOWN_RATE: 0.0,
            price.DIMENSIONS: 0.0 if self.theta is not None else float(len(counted)),
            price.DENSITY: density(counted),
            group_price.FACTOR: factor,
        }

    def _check(self, queue: Queue) -> None:
        check_parameters(self)
        if self.theta is None:
            check_wait_price(queue, "group_price", " or give theta")
        if queue.format.k == 2:
            return
        if queue.format.strict_sides:
            raise ConfigError(
                f"group_price supports sides only for two players; queue {queue.name} has "
                f"{len(queue.format.players)}: choose greedy"
            )
        for rule in queue.rules:
            if form_of(rule) is not Form.WORD and number_gap_of(rule) is not NumberGap.WIDEST:
                raise ConfigError(
                    f"group_price does not support rules of {rule.kind} between more than two "
                    f"players, which queue {queue.name} uses: choose greedy"
                )
