"""Student's t, for the width of the confidence interval of a mean of few values."""

from __future__ import annotations

import math

T_975 = (12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004)
"""Student's t at 0.975 for 1 to 8 degrees of freedom; beyond, a series is exact to 1e-4."""
Z_975 = 1.9599639845400536
"""The limit of t for many degrees of freedom: the quantile of the normal distribution."""


def student_t(degrees: int) -> float:
    """Return Student's t at 0.975.

    Args:
        degrees: Degrees of freedom, >= 1.

    Source:
        Beyond 8 degrees: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.

    >>> round(student_t(10), 3), round(student_t(1000), 3)
    (2.228, 1.962)
    """
    if degrees <= len(T_975):
        return T_975[degrees - 1]
    z = Z_975
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / degrees**power for power, term in enumerate(terms))
