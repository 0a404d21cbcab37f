"""The floor of a scenario: the long-run cost that no policy without foreknowledge undercuts."""

from __future__ import annotations

from functools import lru_cache

from evenmatch.criteria.base import NumberGap
from evenmatch.criteria.registry import number_gap_of
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Arrivals, Scenario, Uniform
from evenmatch.theory.floor import floor, least_cost


def floor_of(scenario: Scenario) -> dict[str, float] | None:
    """Return the floor of a scenario; None if the theory does not apply.

    It applies to one queue of duels with one criterion that compares a uniform attribute, at a
    constant Poisson rate, if nobody gives up: tickets are kept, or play with bots at a deadline at
    a cost above the floor. Rules only raise the cost, so they are allowed.

    Args:
        scenario: With the arrivals that are simulated.

    Returns:
        `cost_per_match`, `cost_per_player` and `error_per_match`; see `theory.floor`.
    """
    arrivals = scenario.arrivals
    if len(scenario.queues) != 1 or arrivals is None:
        return None
    (queue,) = scenario.queues
    if not _is_constant(arrivals) or not _is_endured(queue):
        return None
    weight = _weight(queue, arrivals)
    if weight is None:
        return None
    rate, wait_max = arrivals.total_rate, 1.0 / queue.price
    if queue.wait_max is not None and queue.on_deadline == "bots":
        # A match with a bot costs the criterion's weight and the bot's wait in addition to the
        # player's own wait. If that exceeds the floor, such matches cannot lower the mean below it.
        alone = weight + queue.wait_max * queue.price
        if alone < least_cost(rate=rate, weight=weight, wait_max=wait_max):
            return None
    return _floor(rate, weight, wait_max)


@lru_cache(maxsize=16)
def _floor(rate: float, weight: float, wait_max: float) -> dict[str, float]:
    return floor(rate=rate, weight=weight, wait_max=wait_max)


def _is_constant(arrivals: Arrivals) -> bool:
    return arrivals.process == "poisson" and not arrivals.classes and arrivals.patience is None


def _is_endured(queue: Queue) -> bool:
    """Return whether every player waits for a match, possibly with a bot."""
    if not queue.price > 0.0 or queue.exclusive_match:
        return False
    return queue.wait_max is None or queue.on_deadline in ("keep", "bots")


def _weight(queue: Queue, arrivals: Arrivals) -> float | None:
    """Return the cost of the criterion's whole range; None if values are not uniform."""
    if not queue.format.is_duel or queue.format.sides or len(queue.criteria) != 1:
        return None
    (criterion,) = queue.criteria
    drawn = arrivals.attributes.get(criterion.attribute)
    compares_players = number_gap_of(criterion) in (NumberGap.WIDEST, NumberGap.PAIRS)
    if not isinstance(drawn, Uniform) or not compares_players:
        return None
    low, high = drawn.min, drawn.max
    weight = float(queue.format.k) if criterion.weight is None else criterion.weight
    scale = criterion.scale
    if scale.kind == "none":
        share = high - low
    elif scale.kind == "linear" and scale.min <= low and high <= scale.max:
        share = (high - low) / (scale.max - scale.min)
    else:
        return None
    return weight * share if weight * share > 0.0 else None
