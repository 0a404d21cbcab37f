"""Scales: from attribute values and gaps to costs in [0, 1].

A `linear` scale acts on values: (v - min) / (max - min), clipped at the ends, so that gaps of
scaled values lie in [0, 1]. `percentile` replaces a value by its place in a table; if the table is
the last values, tickets carry their places, see `percentile`. `capped` and `log` act on gaps of raw
values. `none` leaves the raw gap, which may exceed 1; quality ignores such a criterion.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.percentile import percentile, percentiles
from evenmatch.model.queue import Scale

Floats = NDArray[np.float64]
STEP_SLACK = 1e-9
"""A difference this close below a multiple of `step` counts as that multiple."""


def scale_value(scale: Scale, value: float) -> float:
    """Return the value as the comparison uses it.

    Args:
        scale: `linear` and `percentile` map to [0, 1]; `log` clips at `cap`; the others leave it.
        value: In the attribute's own unit.

    >>> scale_value(Scale(kind="linear", min=1000, max=2000), 1750)
    0.75
    """
    if scale.kind == "linear":
        return min(1.0, max(0.0, (value - scale.min) / (scale.max - scale.min)))
    if scale.kind == "percentile":
        return percentile(scale.sample.quantiles, value)
    if scale.cap is not None:
        return min(value, scale.cap)
    return value


def scale_gap(scale: Scale, gap: float) -> float:
    """Return the cost of a gap between scaled values; in [0, 1] unless the scale is `none`.

    >>> scale_gap(Scale(kind="capped", max=400), 100)
    0.25
    >>> round(scale_gap(Scale(kind="log", knee=100, max=1000), 100), 4)
    0.2891
    """
    if scale.kind in ("linear", "percentile"):
        return min(1.0, gap)
    if scale.kind == "capped":
        return min(gap, scale.max) / scale.max
    if scale.kind == "log":
        top = math.log1p(scale.max / scale.knee)
        return math.log1p(min(gap, scale.max) / scale.knee) / top
    return gap


def scale_values(scale: Scale, values: Floats) -> Floats:
    """Return `scale_value` of every element; any shape."""
    if scale.kind == "linear":
        return np.clip((values - scale.min) / (scale.max - scale.min), 0.0, 1.0)
    if scale.kind == "percentile":
        return percentiles(scale.sample.quantiles, values)
    if scale.cap is not None:
        return np.minimum(values, scale.cap)
    return values


def scale_gaps(scale: Scale, gaps: Floats) -> Floats:
    """Return `scale_gap` of every element; any shape."""
    if scale.kind in ("linear", "percentile"):
        return np.minimum(gaps, 1.0)
    if scale.kind == "capped":
        return np.minimum(gaps, scale.max) / scale.max
    if scale.kind == "log":
        top = math.log1p(scale.max / scale.knee)
        return np.log1p(np.minimum(gaps, scale.max) / scale.knee) / top
    return gaps
