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
    """Match two players as soon as their waits have cost as much as their match.

    Players x and y play at the first instant t with

        wait_price * ((t - x.enqueued_at) + (t - y.enqueued_at)) >= factor * sum f_d q_d(x, y)

    or when the rules let them play, if that is later. If several pairs reach this at the same
    instant, the cheapest plays first. At its deadline a ticket takes the cheapest partner
    available, and later anybody whom the rules allow. Without a deadline, every pair that the rules
    allow plays in the end, because its waits keep growing.

    When to use:
        If you know nothing about the arrivals, and a proved bound matters more to you than the
        average: the cost is at most 18.5 times the optimum for Poisson arrivals. On average,
        `price` costs less.

    Args:
        factor: A pair waits until its waits have cost this many times the match, >= 0; with 0
            everybody plays at once.

    Source:
        "Poisson greedy" of arXiv 2210.07018, with factor 1.

    Complexity:
        O(m log m) for each arrival and each ticket whose partner has left, where m is the number of
        players within the widest limit of a rule, or O(n) without rules; O(n) for each match; one
        timer per ticket.
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
