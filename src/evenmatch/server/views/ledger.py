"""The sums of one world as figures over the wire."""

from __future__ import annotations

from evenmatch.engine.ledger import Ledger
from evenmatch.server.views.statistics import wait_stats
from evenmatch.wire.operate import WorldFigures

WAITS_MOST = 1_000
"""Percentiles are those of this many players at the most, the last ones."""


def figures_of(ledger: Ledger, queue: str, *, since: float, now: float) -> WorldFigures:
    """Return the figures of a queue; instants are engine time."""
    sums = ledger.of(queue)
    minutes = (now - since) / 60.0
    return WorldFigures(
        sums.matches,
        sums.matches / minutes if minutes > 0.0 else 0.0,
        sums.players,
        sums.wait / sums.players if sums.players else None,
        wait_stats(sums.waits),
        sums.quality / sums.rated if sums.rated else None,
        sums.bots,
        sums.expired,
        sums.waiting,
        max(0.0, now - sums.entered / sums.waiting) if sums.waiting else None,
    )
