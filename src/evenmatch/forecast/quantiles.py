"""From rates to times: the quantiles of the remaining wait."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from evenmatch.forecast.life_table import BINS, EDGES

LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9
"""An interval contains four fifths of the waits: a tenth are shorter, a tenth are longer."""
ESTIMATE_MAX = 86_400.0
"""Longest estimate, in seconds: nobody waits longer than a day, so there are no data."""


class Quantiles(msgspec.Struct, frozen=True, gc=False):
    """Seconds that a tenth, half and nine tenths of such tickets do not exceed."""

    p50: float
    low: float
    high: float


class Curve(msgspec.Struct, frozen=True):
    """The rate of matching of a cell's tickets, by age.

    Args:
        spent: The integral of the rate up to each edge of `EDGES`.
        last: The rate beyond the last edge, per second, > 0.
        at_once: Share of tickets matched on arrival.
    """

    spent: list[float]
    last: float
    at_once: float


def earliest_of(curves: Sequence[Curve]) -> Curve:
    """Return the curve of a ticket that waits in several queues until the first one matches it."""
    if len(curves) == 1:
        return curves[0]
    return Curve(
        [math.fsum(each) for each in zip(*(curve.spent for curve in curves), strict=True)],
        math.fsum(curve.last for curve in curves),
        1.0 - math.prod(1.0 - curve.at_once for curve in curves),
    )


def remaining_wait(curve: Curve, waited: float, most: float = math.inf) -> Quantiles:
    """Return the remaining wait of a ticket that has waited for some time.

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
    """Return the wait of a ticket that arrives now; some are matched on arrival."""
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
