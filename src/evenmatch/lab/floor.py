"""The floor of a scenario: what no policy without foreknowledge can undercut in the long run."""

from __future__ import annotations

from functools import lru_cache

from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Arrivals, Scenario
from evenmatch.theory.floor import floor

COMERS_MIN = 5.0
"""Fewest tickets expected within `wait_max` for which bots at the deadline are left out: with
fewer, a bot may come cheaper than to wait for the next player, which the theory has to."""


def floor_of(scenario: Scenario) -> dict[str, float] | None:
    """Return the floor of a scenario; None where the theory does not apply.

    It applies to one queue of duels with one criterion that compares a uniform attribute, at a
    constant Poisson rate, where nobody gives up: tickets are kept, or play with bots at a deadline
    that few reach. Rules only raise the cost, so they may be there.

    Args:
        scenario: With the arrivals that are simulated.

    Returns:
        `cost_per_match`, `cost_per_player` and `error_per_match`; see `theory.floor`.
    """
    arrivals = scenario.arrivals
    if len(scenario.queues) != 1 or arrivals is None:
        return None
    (queue,) = scenario.queues
    if not _is_constant(arrivals) or not _is_endured(queue, arrivals):
        return None
    weight = _weight(queue, arrivals)
    return None if weight is None else _floor(arrivals.total_rate, weight, 1.0 / queue.price)


@lru_cache(maxsize=16)
def _floor(rate: float, weight: float, wait_max: float) -> dict[str, float]:
    return floor(rate=rate, weight=weight, wait_max=wait_max)


def _is_constant(arrivals: Arrivals) -> bool:
    return arrivals.process == "poisson" and not arrivals.classes and arrivals.patience is None


def _is_endured(queue: Queue, arrivals: Arrivals) -> bool:
    """Return whether everybody waits for a match, and a bot is no cheap way out."""
    if not queue.price > 0.0 or queue.exclusive_match:
        return False
    if queue.wait_max is None or queue.on_deadline == "keep":
        return True
    return queue.on_deadline == "bots" and arrivals.total_rate * queue.wait_max >= COMERS_MIN


def _weight(queue: Queue, arrivals: Arrivals) -> float | None:
    """Return what the whole range of the criterion costs; None if it is not uniform."""
    if not queue.format.is_duel or queue.format.sides or len(queue.criteria) != 1:
        return None
    (criterion,) = queue.criteria
    drawn = arrivals.attributes.get(criterion.attribute)
    if drawn is None or drawn.kind != "uniform" or criterion.kind not in ("spread", "mean_gap"):
        return None
    low, high = drawn.min or 0.0, 1.0 if drawn.max is None else drawn.max
    weight = float(queue.format.k) if criterion.weight is None else criterion.weight
    scale = criterion.scale
    if scale.kind == "none":
        share = high - low
    elif scale.kind == "linear" and scale.min <= low and high <= scale.max:
        share = (high - low) / (scale.max - scale.min)
    else:
        return None
    return weight * share if weight * share > 0.0 else None
