"""Grids of shares that add up to at most 1, on which the figures of sides and zones are drawn."""

from __future__ import annotations

from evenmatch.errors import ConfigError

PARTS_MIN, PARTS_MAX = 2, 200


def triangle(parts: int) -> list[tuple[int, int]]:
    """Return all i, j >= 0 with i + j <= parts.

    Raises:
        ConfigError: The parts are out of range.

    >>> triangle(2)
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]
    """
    check_parts(parts)
    return [(i, j) for i in range(parts + 1) for j in range(parts + 1 - i)]


def check_parts(parts: int) -> None:
    """Refuse a number of parts of an axis that is too small or too large."""
    if not PARTS_MIN <= parts <= PARTS_MAX:
        raise ConfigError(f"parts must be from {PARTS_MIN} to {PARTS_MAX}, got {parts}")
