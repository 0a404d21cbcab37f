"""Instants of drawn arrivals.

All Poisson processes come from one: points at rate 1, moved to the instants at which the
expected number of arrivals reaches them. So a change of the rate stretches the same pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile

import numpy as np
from numpy.typing import NDArray

from evenmatch.model.scenario import ArrivalClass, Arrivals

Floats = NDArray[np.float64]
CHUNK = 4096
HOUR = 3600.0


def instants(
    arrivals: Arrivals, rng: np.random.Generator, day: tuple[float, ...] = ()
) -> Iterator[float]:
    """Yield the instants of arrival in ascending order, seconds.

    Args:
        arrivals: Any process but `file`.
        rng: The source of chance; regular arrivals do not use it.
        day: Of a `world`, weights of the UTC hours around its rate; empty means a constant rate.

    Complexity:
        O(1) each, O(1) memory: instants are drawn in chunks of 4,096.
    """
    unbounded = (at for chunk in _chunks(arrivals, rng, day) for at in chunk.tolist())
    counted = unbounded if arrivals.count is None else islice(unbounded, arrivals.count)
    if arrivals.duration is None:
        return counted
    end = arrivals.duration
    return takewhile(lambda at: at <= end, counted)


def _chunks(
    arrivals: Arrivals, rng: np.random.Generator, day: tuple[float, ...]
) -> Iterator[Floats]:
    if arrivals.process == "regular":
        return _regular(arrivals.interval or 1.0)
    if arrivals.process == "ramp" and arrivals.by == "index":
        return _ramp_by_index(arrivals, rng)
    if arrivals.process == "ramp":
        return _moved(rng, _inverse_of_ramp(arrivals))
    if arrivals.process == "hourly":
        return _moved(rng, _inverse_of_hours(arrivals.hours, arrivals.total_rate))
    if any(each.drift and each.rate is not None for each in arrivals.classes):
        return _moved(rng, inverse_of_lines(arrivals.classes))
    rate = arrivals.total_rate
    if day and arrivals.world is not None:
        return _moved(rng, _inverse_of_hours(day, rate, arrivals.world.hour * HOUR))
    return _moved(rng, lambda points: points / rate)


def _regular(interval: float) -> Iterator[Floats]:
    first = 1
    while True:
        yield np.arange(first, first + CHUNK, dtype=np.float64) * interval
        first += CHUNK


def _moved(rng: np.random.Generator, inverse: Callable[[Floats], Floats]) -> Iterator[Floats]:
    """Yield the points of a process of rate 1, moved to the instants of another process."""
    last = 0.0
    while True:
        points = last + np.cumsum(rng.exponential(size=CHUNK))
        last = float(points[-1])
        at = inverse(points)
        yield at[np.isfinite(at)]
        if not np.isfinite(at[-1]):
            return


def _inverse_of_ramp(arrivals: Arrivals) -> Callable[[Floats], Floats]:
    """Return the instant at which a ramp expects a number of arrivals.

    The rate is linear from `rate` at 0 to `to` at the end T and stays there; without a duration
    T is where `count` arrivals are expected. With rates r0 and r1 and the slope s = (r1 - r0) / T
    the expected number is r0 t + s t^2 / 2, so t = 2 e / (r0 + sqrt(r0^2 + 2 s e)).

    Source:
        Schlup, Automatic Game Matching: its rates from 0 to 2a are `rate = 0, to = 2a`.
    """
    r0, r1 = arrivals.rate or 0.0, arrivals.to or 0.0
    end = arrivals.duration or 2.0 * (arrivals.count or 1) / (r0 + r1)
    slope = (r1 - r0) / end
    expected = (r0 + r1) / 2.0 * end

    def inverse(points: Floats) -> Floats:
        inside = np.minimum(points, expected)
        root = np.sqrt(np.maximum(r0 * r0 + 2.0 * slope * inside, 0.0))
        at = 2.0 * inside / (r0 + root)
        beyond = points > expected
        at[beyond] = end + (points[beyond] - expected) / r1 if r1 > 0.0 else np.inf
        return at

    return inverse


def _ramp_by_index(arrivals: Arrivals, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield arrivals whose rate is linear in their index: interval i of n at (i + 1/2) / n."""
    r0, r1, count = arrivals.rate or 0.0, arrivals.to or 0.0, arrivals.count or 1
    last = 0.0
    for first in range(0, count, CHUNK):
        index = np.arange(first, min(first + CHUNK, count), dtype=np.float64)
        rates = r0 + (r1 - r0) * (index + 0.5) / count
        at = last + np.cumsum(rng.exponential(size=CHUNK)[: len(index)] / rates)
        last = float(at[-1])
        yield at


def _inverse_of_hours(
    hours: tuple[float, ...], mean_rate: float, start: float = 0.0
) -> Callable[[Floats], Floats]:
    """Return the instant at which rates by hour of day expect a number of arrivals.

    Args:
        hours: 24 weights around the mean rate, or rates where that is 0.
        mean_rate: Tickets per second.
        start: Seconds after midnight at time 0.
    """
    weights = np.asarray(hours, dtype=np.float64)
    rates = weights * (mean_rate / weights.mean()) if mean_rate > 0.0 else weights
    expected = np.concatenate([[0.0], np.cumsum(rates * HOUR)])
    edges = np.arange(len(rates) + 1) * HOUR
    day, before = float(expected[-1]), float(np.interp(start, edges, expected))

    def inverse(points: Floats) -> Floats:
        shifted = points + before
        days = np.floor(shifted / day)
        of_day = np.interp(shifted - days * day, expected, edges)
        return np.asarray(days * edges[-1] + of_day - start, dtype=np.float64)

    return inverse


# Classes of arrivals whose rates or shares move along straight lines from instant to instant.


def has_drift(classes: Sequence[ArrivalClass]) -> bool:
    """Return whether any class changes over the run."""
    return any(each.drift for each in classes)


class RateLines:
    """The rates, or shares, of classes over time: straight between knots, then constant.

    Args:
        classes: All with a rate, or all with a share.
    """

    def __init__(self, classes: Sequence[ArrivalClass]) -> None:
        ends = {at for each in classes for at, _ in each.drift}
        self.knots: Floats = np.array([0.0, *sorted(ends)])
        self._amounts: Floats = np.array(
            [[each.amount(at) for at in self.knots.tolist()] for each in classes]
        )

    def amounts(self, times: Floats) -> Floats:
        """Return each class's rate or share at instants; shape (classes, instants)."""
        return np.array([np.interp(times, self.knots, own) for own in self._amounts])

    def totals(self) -> Floats:
        """Return the sum over all classes at each knot."""
        return np.asarray(self._amounts.sum(axis=0))


def drifting_kinds(
    classes: Sequence[ArrivalClass], times: Iterator[float], rng: np.random.Generator
) -> Iterator[int]:
    """Yield the class of each arrival, drawn in proportion to what the classes are then.

    Args:
        classes: What is drawn from.
        times: Instants of the arrivals; read 4,096 ahead.
        rng: Takes one number an arrival, as for classes that do not change.
    """
    lines = RateLines(classes)
    while some := list(islice(times, CHUNK)):
        bounds = np.cumsum(lines.amounts(np.array(some)), axis=0)
        lots = rng.random(CHUNK)[: len(some)] * bounds[-1]
        drawn = (bounds <= lots).sum(axis=0)
        yield from np.minimum(drawn, len(classes) - 1).tolist()


def inverse_of_lines(classes: Sequence[ArrivalClass]) -> Callable[[Floats], Floats]:
    """Return the instant at which the classes' rates expect a number of arrivals in all.

    From a knot t0 with total rate r0 and slope s the expected number is r0 (t - t0) + s (t - t0)^2
    / 2, so t = t0 + 2 e / (r0 + sqrt(r0^2 + 2 s e)). Where the last rate is 0, nobody comes later.
    """
    lines = RateLines(classes)
    knots, rates = lines.knots, lines.totals()
    lengths = np.diff(knots)
    slopes = np.append(np.diff(rates) / lengths, 0.0)
    before = np.concatenate([[0.0], np.cumsum((rates[:-1] + rates[1:]) / 2.0 * lengths)])

    def inverse(points: Floats) -> Floats:
        part = np.searchsorted(before, points, side="right") - 1
        more, rate = points - before[part], rates[part]
        root = np.sqrt(np.maximum(rate * rate + 2.0 * slopes[part] * more, 0.0))
        speed = rate + root
        ways = np.divide(2.0 * more, speed, out=np.full(len(points), np.inf), where=speed > 0.0)
        return np.asarray(knots[part] + ways)

    return inverse
