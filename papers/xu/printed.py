"""Formulas of Xu, Yu and Wu that are not in `theory`; on fractions, so exact."""

from __future__ import annotations

from fractions import Fraction

HALF = Fraction(1, 2)


def wait_of_k(k: int, rate: Fraction) -> Fraction:
    """Return the mean wait of a k-player match, eq. (1)."""
    return Fraction(k - 1) / (2 * rate)


def wait_per_party(solo: Fraction, party: Fraction) -> Fraction:
    """Return the mean wait in one queue of two against two if every party counts once.

    The paper does not have it; its Lemma 2 does not hold for it.
    """
    return (6 * solo**2 + 9 * solo * party + 4 * party**2) / (4 * (solo + party) ** 3)


def sides_factor(b: Fraction, total: Fraction) -> Fraction:
    """Return the improvement factor of side B, eq. (17)."""
    return (total - 2 * b) ** 2 / (total * (total - b))


def series_of_a(z: Fraction, a: Fraction, b: Fraction, c: Fraction, p0: Fraction) -> Fraction:
    """Return the z-transform of the states with players of A waiting, from eq. (28).

    With a and b exchanged it is that of B, from (29).
    """
    return a * p0 * z / (b + c - a * z)


def zones_factor(a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    """Return the improvement factor of experts, eq. (23)."""
    below = 2 * a**2 + 2 * a * b + 4 * a * c + b * c + c**2
    return (a + c) * (b + c) / below


def zones_factor_equal(b: Fraction, c: Fraction) -> Fraction:
    """Return the improvement factor if as many juniors arrive as experts, eq. (24)."""
    return (b + c) / (4 * b + c)


def zones_factor_first(a: Fraction) -> Fraction:
    """Return the improvement factor of the first free expert at a total rate of 1, eq. (25)."""
    return HALF * (1 - a)


def zones_remaining(a: Fraction, b: Fraction, c: Fraction) -> dict[str, Fraction]:
    """Return a junior's remaining wait in the states A, AB and BA: (41) to (43) solved."""
    total = a + b + c
    alone = (1 / total + b / total**2) / (1 - (b / total) ** 2)
    return {
        "A": alone,
        "AB": (1 + b * alone) / total,
        "BA": (1 + (b + c) * alone) / total,
    }
