"""What is known of a player's skill."""

from __future__ import annotations

import msgspec


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
