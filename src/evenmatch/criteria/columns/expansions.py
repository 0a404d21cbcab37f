"""The inverse of a tolerance for whole columns: when will a limit suffice for each of many gaps?"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from evenmatch.criteria.expansion import TICKS, curve_points, round_up
from evenmatch.criteria.scales import Floats
from evenmatch.model.queue import Expansion


def inverse_table(limit: float, expand: Expansion | None) -> Callable[[Floats], Floats]:
    """Return `expansion.inverse` for arrays: the same operations in the same order.

    Args:
        limit: The limit at once.
        expand: How it widens.

    >>> when = inverse_table(150, Expansion(rate=2.0, max=500.0))
    >>> when(np.array([150.0, 151.0, 501.0])).tolist()
    [0.0, 0.5, inf]
    """
    if expand is None:
        return lambda gaps: np.where(gaps <= limit, 0.0, math.inf)
    top = math.inf if expand.max is None else expand.max
    if expand.steps:
        waits = np.array([*(round_up(step[0]) for step in expand.steps), math.inf])
        limits = np.array([min(step[1], top) for step in expand.steps])
        return lambda gaps: np.where(gaps <= limit, 0.0, waits[np.searchsorted(limits, gaps)])
    if expand.curve:
        return _by_curve(limit, expand, top)
    if expand.rate <= 0.0:
        return lambda gaps: np.where(gaps <= limit, 0.0, math.inf)
    return _by_rate(limit, expand.rate, top)


def _by_rate(limit: float, rate: float, top: float) -> Callable[[Floats], Floats]:
    def when(gaps: Floats) -> Floats:
        waits: Floats = gaps - limit
        with np.errstate(over="ignore"):
            waits /= rate
            waits *= TICKS
        np.ceil(waits, out=waits)
        waits *= 1.0 / TICKS
        # Whoever is within the limit at once would have had to wait less than nothing.
        np.maximum(waits, 0.0, out=waits)
        if top < math.inf:
            np.putmask(waits, gaps > top, math.inf)
        return waits

    return when


def _by_curve(limit: float, expand: Expansion, top: float) -> Callable[[Floats], Floats]:
    points = curve_points(limit, expand)
    x, y = np.array(points).T
    widths, heights = np.diff(x), np.diff(y)

    def when(gaps: Floats) -> Floats:
        at = np.searchsorted(y, gaps)
        below = np.clip(at - 1, 0, max(0, len(widths) - 1))
        if len(widths):
            steep = np.where(heights > 0.0, heights, 1.0)
            waits = x[below] + widths[below] * (gaps - y[below]) / steep[below]
        else:
            waits = np.zeros(len(gaps))
        found: Floats
        with np.errstate(over="ignore"):
            ticks = waits * TICKS
            found = np.where(ticks < math.inf, np.ceil(ticks) / TICKS, waits)
        found[at == 0] = 0.0
        found[(gaps > top) | (at == len(y))] = math.inf
        found[gaps <= limit] = 0.0
        return found

    return when
