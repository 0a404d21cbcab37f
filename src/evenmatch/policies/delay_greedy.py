"""`delay_greedy`: a pair meets when its two waits together cost as much as its distance."""

from __future__ import annotations

from evenmatch.model.fields import Weight
from evenmatch.model.queue import Queue
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.step_matcher import (
    SteppedPolicy,
    Steps,
    check_solo,
    check_wait_price,
)
from evenmatch.solvers.steps import delay_greedy, policy_numbers

STEPS = Steps(
    kind=policy_numbers.DELAY_GREEDY,
    arrive=delay_greedy.arrive,
    come_back=delay_greedy.arrive,
    decide=delay_greedy.decide,
    leave=delay_greedy.leave,
    axis="gate",
)


class DelayGreedy(SteppedPolicy, frozen=True, kw_only=True):
    """Match two players as soon as their waits together cost as much as playing each other.

    Players x and y meet at the first instant t with

        wait_price * ((t - x.enqueued_at) + (t - y.enqueued_at)) >= factor * sum f_d q_d(x, y)

    or when the rules let them play, if that is later; of pairs that meet at one instant the
    cheapest first. At its deadline a ticket takes the cheapest
    partner there is, and after it anybody whom the rules allow. Without a deadline every pair
    that rules allow at some time meets at some time, for waits grow without end.

    When to use:
        When nothing is known about arrivals and a proven bound counts more than the average: it
        costs at most 18.5 times the optimum for Poisson arrivals. `price` is cheaper on average.

    Args:
        factor: Pairs wait for so many times their cost, >= 0; at 0 everybody plays at once.

    Source:
        "Poisson greedy" of arXiv 2210.07018, with factor 1.

    Complexity:
        O(m log m) for each arrival and ticket whose partner left, m players within the widest limit
        of a rule, O(n) without one; O(n) for each match; one timer a ticket.
    """

    held_back = "delay_greedy waits until their waits together cost as much as their distance"
    serves_overdue = True
    name = "delay_greedy"
    compiled = STEPS

    factor: Weight = 1.0

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place.

        Raises:
            ConfigError: A parameter is out of range, or the queue has another format.
        """
        check_solo(queue, "delay_greedy", is_duel=True)
        check_parameters(self)
        if self.factor > 0.0:
            check_wait_price(queue, "delay_greedy", " or factor=0")
        return {delay_greedy.SECONDS: self.factor / queue.price if self.factor > 0.0 else 0.0}
