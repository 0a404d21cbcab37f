"""`multi_queue`: one queue for each bracket of the criteria; the overdue take their neighbours."""

from __future__ import annotations

import math

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue
from evenmatch.policies.shared.step_matcher import (
    SteppedPolicy,
    Steps,
    check_solo,
    check_wait_price,
    check_without_rules,
)
from evenmatch.solvers.steps import multi_queue, policy_numbers
from evenmatch.solvers.steps.waiting import free_slot

CRITERIA_MAX, BRACKETS_MAX = multi_queue.CRITERIA_MAX, multi_queue.BRACKETS_MAX
STEPS = Steps(
    kind=policy_numbers.MULTI_QUEUE,
    arrive=multi_queue.arrive,
    come_back=multi_queue.come_back,
    decide=multi_queue.decide,
    leave=free_slot,
    samples=64,
    learnt_numbers=tuple(range(multi_queue.BRACKETS, multi_queue.BRACKETS + CRITERIA_MAX)),
)
SCALES = ("linear", "percentile")
"""Scales that bring values, not gaps, to [0, 1]."""


class MultiQueue(SteppedPolicy, frozen=True, kw_only=True):
    """Cut each criterion into brackets, and match players of one cell as soon as there are enough.

    For a criterion with r brackets, a player of scaled value v is in bracket min(r - 1, floor(v
    r)); players in the same bracket of every criterion share a cell. The k-th player of a cell
    completes a match of its k longest waiting. At its deadline a ticket plays with players of its
    own cell, then with those one bracket away, then two, and so on, the longest waiting first at
    each distance. If fewer than k players wait in all, the queue's `on_deadline` decides. Without a
    deadline, players wait until their cell is full.

    Without `brackets`, the number of brackets follows from the rate a of the last 50 arrivals and
    the price of waiting: r = (2 a W / (k D (k + 1) wait_price)) ^ (1/(D + 1)), rounded to whichever
    whole number costs less, where W is the sum of the weights of the D criteria. The policy checks
    this at each arrival, and changes r if another number is expected to cost at least 2 % less.
    Then all tickets move to their new cells, and full cells play at once, the cell of the longest
    waiting ticket first.

    When to use:
        For matches of more than two players whose criteria are spread evenly between 0 and 1, or if
        you want brackets that you can explain to players. For one against one, `price` costs less.

    Args:
        brackets: The number of brackets of all criteria, or one number for each criterion, joined
            by `+`; with 1 this is `greedy`. By default the measured rate decides.
        adaptive: Whether the measured rate decides; by default it does unless `brackets` are given.

    Source:
        Schlup, Automatic Game Matching, algorithm A_MQ and eq. (9).

    Differs from the paper:
        Eq. (9) is stated for any number D of criteria but holds only for one. With several, a
        cell's rate is a / r^D, as in `theory.schlup.r_opt`.

    Complexity:
        O(n) for each arrival and each overdue ticket.
    """

    held_back = "multi_queue looks within a bracket until a ticket reaches its deadline"
    serves_overdue = True
    name = "multi_queue"
    compiled = STEPS

    brackets: tuple[int, ...] = ()
    adaptive: bool | None = None

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place.

        Raises:
            ConfigError: A parameter is out of range, a criterion is not scaled to [0, 1], or the
                queue has another format, or rules.
        """
        check_solo(queue, "multi_queue", is_duel=False)
        check_without_rules(queue, "multi_queue")
        _check_scales(queue)
        if not self.brackets:
            check_wait_price(queue, "multi_queue", " or give brackets")
        numbers = {
            multi_queue.IS_ADAPTIVE: float(not self.brackets),
            multi_queue.SEATS: float(queue.format.k),
        }
        for place, count in enumerate(self._by_criterion(queue)):
            numbers[multi_queue.BRACKETS + place] = float(count)
        return numbers

    def _by_criterion(self, queue: Queue) -> tuple[int, ...]:
        """Return the brackets of each criterion; none if they are to be measured."""
        given, count = self.brackets, len(queue.criteria)
        if not given and self.adaptive is False:
            raise ConfigError("multi_queue: adaptive=false needs brackets, e.g. brackets=6")
        if not given:
            return ()
        if self.adaptive:
            raise ConfigError("multi_queue: give brackets or adaptive=true, not both")
        if len(given) not in (1, count):
            raise ConfigError(
                f"multi_queue: brackets must be one number, or one for each of the {count} "
                f"criteria of queue {queue.name}, got {len(given)}"
            )
        if any(not 1 <= each <= BRACKETS_MAX for each in given):
            raise ConfigError(
                f"multi_queue: brackets must be 1 to {BRACKETS_MAX}, "
                f"got {'+'.join(map(str, given))}"
            )
        found = given * count if len(given) == 1 else given
        if math.prod(found) > multi_queue.CELLS_MAX:
            raise ConfigError(
                f"multi_queue: {math.prod(found):.0e} cells are too many: use fewer brackets"
            )
        return found


def _check_scales(queue: Queue) -> None:
    if len(queue.criteria) > CRITERIA_MAX:
        raise ConfigError(
            f"multi_queue takes up to {CRITERIA_MAX} criteria, "
            f"queue {queue.name} has {len(queue.criteria)}"
        )
    for criterion in queue.criteria:
        if criterion.scale.kind not in SCALES:
            raise ConfigError(
                f"multi_queue cuts values between 0 and 1 into brackets, and criterion "
                f"{criterion.attribute} of queue {queue.name} has the scale "
                f"{criterion.scale.kind}: give it a linear scale with min and max"
            )
