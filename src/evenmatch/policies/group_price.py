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
    """Grow a group around each newcomer, and play if it is worth it; else wait for a better one.

    The group grows by whoever adds least to sum f_d q_d, until k players are together. They play
    if sum f_d q_d <= theta + grow * wait_price * (the sum of their waits). At its deadline a
    ticket grows a group and plays at any cost; where fewer than k wait, the queue's `on_deadline`
    decides. Who comes at one instant is decided together, the largest gain first. Where a rule
    keeps players apart for a time, the ticket looks around again when the
    rule lets it play. The group is grown step by step, so a legal one may be overlooked where
    rules forbid many pairs. A mean gap is judged by the spread.

    Without `theta` nothing has to be tuned. Players of a box that holds the share F of all
    arrivals wait k (k - 1) / (2 rate F) seconds together until k of them are there, and their
    match costs the more the larger the box is. The best box balances both. With T as the
    distance from a player to the box's border it is the solution of

        rate * E[(T - cost(x, Y))+] = c^2 * wait_price

    over the last 128 arrivals Y, so it is `price`'s own equation, with c from k and the number of
    criteria alone. Hence T follows the rate and the local density. theta is T in units of a box,
    half the group's mean and half its largest, times .82 (1 + 1/((k - 1) D^1.5)) for D criteria:
    ages add to it, and it is the dearest match that is accepted and not the mean, which differ
    most for few players and criteria. The .82 is the one number that was fitted, once for all.

    When nobody has come for four mean intervals, the rate is no longer believed, and groups that
    fewer arrivals make good enough play. So in a queue without a deadline k players who may play
    together do so at some time; with a fixed `theta` they play only if it allows it.

    When to use:
        For free-for-all matches of three players or more, one a team, in any number: the default
        there. For one against one `price` is better.

    Args:
        theta: Dearest match in criteria cost, sum f_d q_d, that is accepted at once; None finds
            it.
        grow: Part of its waiting cost by which a group accepts more.

    Source:
        A threshold on the cost of a group that is grown greedily; the paper of Schlup leaves
        better policies for k > 2 open. The rule for theta is ours.

    Complexity:
        O(k m) for each ticket that looks around, m players within the widest limit of a rule;
        O(128) for each arrival.
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
                f"group_price knows sides only between two players; queue {queue.name} has "
                f"{len(queue.format.players)}: choose greedy"
            )
        for rule in queue.rules:
            if form_of(rule) is not Form.WORD and number_gap_of(rule) is not NumberGap.WIDEST:
                raise ConfigError(
                    f"group_price does not know rules of {rule.kind} between more than two "
                    f"players, which queue {queue.name} uses: choose greedy"
                )
