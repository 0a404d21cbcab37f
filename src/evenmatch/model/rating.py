"""What is known of a player's skill."""

from __future__ import annotations

import msgspec

POINTS_MAX = 1e9
"""Largest mean or deviation that is rated, so that squares and sums stay far from overflow."""
VOLATILITY_MIN, VOLATILITY_MAX = 1e-12, 10.0


class Rating(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A player's skill as a rating system sees it.

    Args:
        mean: The estimate, in the rating system's points.
        deviation: Its standard deviation, in the same points, >= 0.
        volatility: Glicko-2's volatility; None elsewhere.
    """

    mean: float
    deviation: float = 350.0
    volatility: float | None = None

    @property
    def is_ratable(self) -> bool:
        """Return whether a rating system can go on from here."""
        return (
            abs(self.mean) <= POINTS_MAX
            and 0.0 <= self.deviation <= POINTS_MAX
            and (self.volatility is None or 0.0 < self.volatility <= VOLATILITY_MAX)
        )
