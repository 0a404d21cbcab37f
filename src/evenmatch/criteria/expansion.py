"""Tolerances that widen with the wait, and their inverse: the wait at which a limit suffices.

Every decision uses the inverse. A rule holds at `now` iff `now >= enqueued_at + when(gap)` for each
ticket that must accept. No decision compares a limit with a gap, because `limit(wait)` at a
computed instant may fall short of the gap by one rounding. Solvers of batches do search by the
limits at an instant (`policies.shared.batch_rules`); the inverse then checks every match that they
find before it is played.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable

import numpy as np

from evenmatch.criteria.scales import Floats
from evenmatch.model.queue import Expansion

TICKS = 2.0**20
"""Computed instants lie on a grid of 2^-20 s, so that sums of times are exact."""


def round_up(seconds: float) -> float:
    """Return the first instant of the time grid at or after `seconds`.

    >>> round_up(0.5)
    0.5
    >>> round_up(0.1) >= 0.1
    True
    >>> round_up(1e304)
    1e+304
    """
    ticks = seconds * TICKS
    # Floats so large that their ticks overflow are all on the grid.
    return math.ceil(ticks) / TICKS if ticks < math.inf else seconds


def limit_at(limit: float, expand: Expansion | None, wait: float) -> float:
    """Return the limit after `wait` seconds: for people, plots, and searches of solvers.

    Args:
        limit: The limit at once, in the rule's unit.
        expand: How it widens.
        wait: Seconds since the ticket was enqueued, >= 0.

    >>> limit_at(150, Expansion(rate=2.0, max=500), 60.0)
    270.0
    """
    if expand is None:
        return limit
    widened = limit + expand.rate * wait
    if expand.steps:
        at = bisect_right([step[0] for step in expand.steps], wait)
        widened = expand.steps[at - 1][1] if at else limit
    elif expand.curve:
        widened = _on_curve(curve_points(limit, expand), wait)
    return widened if expand.max is None else min(widened, expand.max)


def inverse(limit: float, expand: Expansion | None) -> Callable[[float], float]:
    """Return the function `when(gap)`: the shortest wait at which the limit reaches the gap.

    The wait is rounded up to the time grid; 0 if the gap is within the limit at once, infinity
    if the limit never reaches it. It never falls as the gap grows.

    >>> when = inverse(150, Expansion(steps=((60, 250.0), (120, 350.0)), max=500.0))
    >>> when(150.0), when(151.0), when(300.0), when(351.0)
    (0.0, 60.0, 120.0, inf)
    """
    if expand is None:
        return lambda gap: 0.0 if gap <= limit else math.inf
    top = math.inf if expand.max is None else expand.max
    if expand.steps:
        return _inverse_of_steps(limit, expand, top)
    if expand.curve:
        return _inverse_of_curve(limit, expand, top)
    rate = expand.rate

    def when(gap: float) -> float:
        if gap <= limit:
            return 0.0
        if gap > top or rate <= 0.0:
            return math.inf
        ticks = (gap - limit) / rate * TICKS
        # A relative gap to a value of 0 is infinite, and so is a quotient by a tiny rate.
        return math.ceil(ticks) / TICKS if ticks < math.inf else math.inf

    return when


def widest(limit: float, expand: Expansion | None) -> float:
    """Return the largest gap that the limit ever reaches; infinity if it has no end.

    >>> widest(150, None), widest(150, Expansion(rate=2.0, max=500.0))
    (150, 500.0)
    >>> widest(150, Expansion(steps=((60, 250.0), (120, 350.0)), max=300.0))
    300.0
    """
    if expand is None:
        return limit
    top = math.inf if expand.max is None else expand.max
    if expand.steps or expand.curve:
        top = min(top, (expand.steps or expand.curve)[-1][1])
    elif expand.rate <= 0.0:
        return limit
    return max(limit, top)


def last_change(expand: Expansion | None, limit: float) -> float:
    """Return the wait after which the limit no longer grows; infinity if it always grows."""
    if expand is None:
        return 0.0
    if expand.steps:
        return expand.steps[-1][0]
    if expand.curve:
        return expand.curve[-1][0]
    if expand.rate <= 0.0:
        return 0.0
    return math.inf if expand.max is None else max(0.0, (expand.max - limit) / expand.rate)


def _inverse_of_steps(limit: float, expand: Expansion, top: float) -> Callable[[float], float]:
    waits = [round_up(step[0]) for step in expand.steps]
    limits = [min(step[1], top) for step in expand.steps]

    def when(gap: float) -> float:
        if gap <= limit:
            return 0.0
        at = bisect_left(limits, gap)
        return waits[at] if at < len(limits) else math.inf

    return when


def curve_points(limit: float, expand: Expansion) -> list[tuple[float, float]]:
    """Return the points of a curve, which starts at the limit unless it states another start."""
    points = list(expand.curve)
    return points if points[0][0] <= 0.0 else [(0.0, limit), *points]


def _on_curve(points: list[tuple[float, float]], wait: float) -> float:
    at = bisect_right([point[0] for point in points], wait)
    if at == 0:
        return points[0][1]
    if at == len(points):
        return points[-1][1]
    (x0, y0), (x1, y1) = points[at - 1], points[at]
    return y0 + (y1 - y0) * (wait - x0) / (x1 - x0)


def _inverse_of_curve(limit: float, expand: Expansion, top: float) -> Callable[[float], float]:
    points = curve_points(limit, expand)
    limits = [point[1] for point in points]

    def when(gap: float) -> float:
        if gap <= limit:
            return 0.0
        at = bisect_left(limits, gap)
        if gap > top or at == len(points):
            return math.inf
        if at == 0:
            return 0.0
        (x0, y0), (x1, y1) = points[at - 1], points[at]
        return round_up(x0 + (x1 - x0) * (gap - y0) / (y1 - y0))

    return when


# The inverse of a tolerance for whole columns: the wait at which the limit reaches each gap.


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
        # For gaps within the limit at once, the quotient is negative.
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
