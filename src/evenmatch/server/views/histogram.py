"""Histograms that cost next to nothing to feed: one search and two additions an observation."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class Tally:
    """The observations under one set of labels.

    Args:
        bounds: Upper bounds of the buckets, ascending; the last bucket is open.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Tallies(Collector):
    """A histogram with labels, in Prometheus's terms, read when somebody looks.

    Args:
        name: Of the metric.
        text: What it measures.
        labels: Their names.
        bounds: Upper bounds of the buckets, ascending.
    """

    def __init__(
        self, name: str, text: str, labels: Sequence[str], bounds: Sequence[float]
    ) -> None:
        self._name, self._text, self._labels, self._bounds = name, text, labels, bounds
        self._tallies: dict[tuple[str, ...], Tally] = {}

    def of(self, *labels: str) -> Tally:
        """Return the tally under these labels; there are few, so they are kept for ever."""
        tally = self._tallies.get(labels)
        if tally is None:
            tally = self._tallies[labels] = Tally(self._bounds)
        return tally

    def describe(self) -> list[Metric]:
        """Return the metric without values."""
        return [HistogramMetricFamily(self._name, self._text, labels=self._labels)]

    def collect(self) -> Iterator[Metric]:
        """Yield the present counts."""
        family = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        names = [*(str(float(bound)) for bound in self._bounds), "+Inf"]
        for labels, tally in self._tallies.items():
            buckets = list(zip(names, accumulate(tally.counts), strict=True))
            family.add_metric(labels, buckets, sum_value=tally.total)
        yield family
