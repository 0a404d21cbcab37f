"""Classes of arrivals whose rates or shares move along straight lines from instant to instant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from evenmatch.model.scenario import ArrivalClass

Floats = NDArray[np.float64]
CHUNK = 4096


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
