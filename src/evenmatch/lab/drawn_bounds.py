"""Bounds of what is drawn for rules: a limit beyond them stands for none."""

from __future__ import annotations

from evenmatch.model.fields import LARGEST
from evenmatch.model.scenario import Normal

DEVIATION_MAX = LARGEST / 1e3
LATENCY_MS_MAX = 1e6


def spread_around(mean: float, deviation: float) -> Normal:
    """Return a normal distribution, from 0 on, of numbers that a ticket may have."""
    most = LARGEST if mean > LARGEST / 2 else None
    return Normal(mean=mean, deviation=min(deviation, DEVIATION_MAX), min=0.0, max=most)
