"""From rates to times: how long it takes until so many of a hundred would be matched."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from evenmatch.forecast.life_table import BINS, EDGES

LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9
"""An interval holds four fifths of the waits: a tenth are shorter, a tenth are longer."""
ESTIMATE_MAX = 86_400.0
"""Longer than a day nobody waits, and nothing is known of it; seconds."""


class Quantiles(msgspec.Struct, frozen=True, gc=False):
    """Seconds that a tenth, half and nine tenths of such tickets do not exceed."""

    p50: float
    low: float
    high: float


class Curve(msgspec.Struct, frozen=True):
    """How a cell's tickets are matched with age.

    Args:
        spent: The integral of the rate up to each edge of `EDGES`.
        last: The rate beyond the last edge, per second, > 0.
        at_once: Share of tickets matched as they come.
    """

    spent: list[float]
    last: float
    at_once: float


def earliest_of(curves: Sequence[Curve]) -> Curve:
    """Return how a ticket is matched that waits in several queues: whichever is first."""
    if len(curves) == 1:
        return curves[0]
    return Curve(
        [math.fsum(each) for each in zip(*(curve.spent for curve in curves), strict=True)],
        math.fsum(curve.last for curve in curves),
        1.0 - math.prod(1.0 - curve.at_once for curve in curves),
    )


def remaining_wait(curve: Curve, waited: float, most: float = math.inf) -> Quantiles:
    """Return how long a ticket still waits that has waited so long already.

    Args:
        curve: Of its cell.
        waited: Its age, seconds.
        most: Seconds after which its wait ends in any case, by its deadline.
    """
    spent = _spent_at(curve, waited)
    limit = min(most, ESTIMATE_MAX)
    found = [
        min(max(_age_at(curve, spent - math.log1p(-share)) - waited, 0.0), limit)
        for share in (MIDDLE, LOW, HIGH)
    ]
    return Quantiles(*found)


def newcomer(curve: Curve, most: float = math.inf) -> Quantiles:
    """Return how long a ticket waits that comes now; some are matched as they come."""
    limit, found = min(most, ESTIMATE_MAX), []
    for share in (MIDDLE, LOW, HIGH):
        if share <= curve.at_once:
            found.append(0.0)
        else:
            still = (1.0 - share) / (1.0 - curve.at_once)
            found.append(min(_age_at(curve, -math.log(still)), limit))
    return Quantiles(*found)


def _spent_at(curve: Curve, age: float) -> float:
    spent, place = curve.spent, bisect_right(EDGES, age) - 1
    beyond = age - EDGES[place]
    if place == BINS - 1:
        return spent[place] + curve.last * beyond
    width = EDGES[place + 1] - EDGES[place]
    return spent[place] + (spent[place + 1] - spent[place]) * beyond / width


def _age_at(curve: Curve, target: float) -> float:
    spent = curve.spent
    place = bisect_right(spent, target) - 1
    beyond = target - spent[place]
    if place == BINS - 1:
        return EDGES[place] + beyond / curve.last
    width = EDGES[place + 1] - EDGES[place]
    return EDGES[place] + width * beyond / (spent[place + 1] - spent[place])
