"""Policies on streams of arrivals: what they make of the same players, at the same mean wait.

A policy that lets people wait longer makes better matches, so two policies are compared at equal
mean waits: the period of `rounds` is chosen so that its mean wait is that of the other.

Nothing is dropped: players who came after the warm-up and early enough before the end count, with
the wait they had when the stream ended if nobody had matched them (`censored`), and such players
are given.
"""

from __future__ import annotations

import msgspec
import numpy as np

from evenmatch.lab.simulate import simulate
from evenmatch.model.scenario import Scenario

WARMUP = 1_200.0
COOLDOWN = 900.0
"""Seconds at the begin and at the end of a stream whose arrivals do not count."""


class StreamFigures(msgspec.Struct, frozen=True):
    """What one policy made of one stream; all is per player.

    Args:
        mean: Mean quality, in points of 100.
        p10: Tenth percentile of quality, in points of 100.
        wait: Mean wait, s.
        p95: 95th percentile of waits, s.
        longest: The longest wait, s.
        players: How many count.
        censored: Of them, those without a match, with their waits so far; not in `mean` and `p10`.
    """

    mean: float
    p10: float
    wait: float
    p95: float
    longest: float
    players: int
    censored: int


def stream_figures(scenario: Scenario, policy: str, seed: int) -> StreamFigures:
    """Run a policy on one stream."""
    assert scenario.arrivals is not None
    end = scenario.arrivals.duration or 0.0
    run = simulate(scenario, policy=policy, seed=seed)
    past = run.history
    qualities: list[float] = []
    waits: list[float] = []
    censored = 0
    for came, ended, size, number in zip(
        past.enqueued_at, past.ended_at, past.sizes, past.match_of, strict=True
    ):
        if not WARMUP <= came < end - COOLDOWN:
            continue
        waits += [ended - came] * size
        quality = None if number < 0 else past.matches[number].quality
        if quality is None:
            censored += size
        else:
            qualities += [100.0 * quality] * size
    return StreamFigures(
        mean=float(np.mean(qualities)),
        p10=float(np.quantile(qualities, 0.1)),
        wait=float(np.mean(waits)),
        p95=float(np.quantile(waits, 0.95)),
        longest=float(max(waits)),
        players=len(waits),
        censored=censored,
    )
