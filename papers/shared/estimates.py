"""From repeated runs to figures: means, ratios, their 95 % intervals, and verdicts on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.lab.study.study import mean_and_width, student_t
from papers.shared.findings import Row, Verdict

Floats = NDArray[np.float64]
Found = dict[str, float | None]
"""The figures of one pool, by name; None if there is none."""


class Estimate(msgspec.Struct, frozen=True):
    """A mean and the half-width of its 95 % confidence interval, 0 if it is unknown.

    Args:
        value: The mean.
        half_width: Of the interval.
        runs: Number of runs; 0 if it was not counted.
    """

    value: float
    half_width: float
    runs: int = 0


def ratio(above: Sequence[float], below: Sequence[float]) -> Estimate:
    """Return the ratio of two means over the same sequences.

    Source:
        The ratio estimator: the residuals a_i - R b_i, divided by the mean of b, have mean 0 and
        the scatter of R (Cochran, Sampling Techniques, chapter 6).
    """
    return mean_of_ratios([(above, below)])


def mean_of_ratios(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Estimate:
    """Return the mean over settings of ratios of means; sequence i is the same in all.

    Args:
        pairs: For each setting the numerators and the denominators, one for each sequence.
    """
    count = len(pairs[0][0])
    values = []
    residuals = np.zeros(count)
    for above, below in pairs:
        one, two = np.asarray(above), np.asarray(below)
        value = float(one.sum() / two.sum())
        values.append(value)
        residuals += (one - value * two) / two.mean() / len(pairs)
    return Estimate(math.fsum(values) / len(values), _half_width(residuals), count)


def ratio_of_ratios(
    one: tuple[Sequence[float], Sequence[float]], other: tuple[Sequence[float], Sequence[float]]
) -> Estimate:
    """Return the ratio of two ratios of means; sequence i is the same in all four.

    Args:
        one: Numerators and denominators of the first, one for each sequence.
        other: The same of the second.
    """
    first, second = ratio(*one), ratio(*other)
    value = first.value / second.value
    residuals = np.zeros(len(one[0]))
    for (above, below), each, sign in ((one, first, 1.0), (other, second, -1.0)):
        a, b = np.asarray(above), np.asarray(below)
        residuals += sign * value * (a - each.value * b) / a.mean()
    return Estimate(value, _half_width(residuals), len(residuals))


def _half_width(residuals: Floats) -> float:
    count = len(residuals)
    if count < 2:
        return 0.0
    variance = float((residuals**2).sum()) / (count - 1)
    return student_t(count - 1) * math.sqrt(variance / count)


def mean_of(results: Sequence[Found], key: str) -> Estimate:
    """Return the mean of a figure over the pools that have it."""
    known = [each[key] for each in results]
    values = [value for value in known if value is not None]
    mean, width = mean_and_width(values)
    return Estimate(0.0 if mean is None else mean, width or 0.0, len(values))


def difference(results: Sequence[Found], one: str, other: str) -> Estimate:
    """Return the mean difference of two figures over pools, paired by pool."""
    pairs = [(each[one], each[other]) for each in results]
    known = [a - b for a, b in pairs if a is not None and b is not None]
    mean, width = mean_and_width(known)
    return Estimate(0.0 if mean is None else mean, width or 0.0, len(known))


def is_above(found: Estimate, least: float = 0.0) -> Verdict:
    """Return `holds` if a figure is certainly above a bound, `differs` if it certainly is not.

    If chance may explain either, it is unresolved.

    >>> is_above(Estimate(1.0, 0.4)), is_above(Estimate(0.2, 0.4)), is_above(Estimate(-1.0, 0.4))
    ('holds', 'unresolved', 'differs')
    """
    if found.value - found.half_width > least:
        return "holds"
    return "unresolved" if found.value + found.half_width > least else "differs"


def told(
    row_id: str,
    what: str,
    found: Estimate,
    verdict: Verdict | None = None,
    *,
    aim: float = 0.0,
    **params: Any,
) -> Row:
    """Return a row of a measured figure; a figure without any difference has no verdict.

    Args:
        row_id: Its id.
        what: The meaning of the figure, in words.
        found: The figure.
        verdict: The verdict on the source's statement about it.
        aim: The value with which the figure was compared.
        params: The setting.
    """
    return Row(
        id=row_id,
        params={**params, "what": what},
        simulated=found.value,
        half_width=found.half_width,
        verdict=None if found.value == 0.0 == found.half_width else verdict,
        runs=found.runs,
        aim=None if verdict is None else aim,
    )
