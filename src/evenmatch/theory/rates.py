"""Rates as exact numbers: 0.1 per second means one tenth, not the nearest float."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from evenmatch.errors import ConfigError

RATE_MIN, RATE_MAX = 1e-12, 1e12
"""Bounds on a rate that is not 0."""

EXPECTED_MIN, EXPECTED_MAX = 1e-100, 1e100
"""Bounds on the expected number of arrivals in some wait, for formulas."""

Exact = dict[str, Any]
"""Figures as texts "p/q": one for a number, a mapping of them for a mapping."""


def rational(value: float | Fraction) -> Fraction:
    """Return the fraction that a number is written as: 0.1 is 1/10, not the nearest float.

    >>> rational(0.1)
    Fraction(1, 10)
    """
    return value if isinstance(value, Fraction) else Fraction(repr(float(value)))


def exact_rate(name: str, value: Any) -> Fraction:
    """Return a rate as the fraction that its decimal digits denote.

    Args:
        name: Name of the rate in the error.
        value: Per second: 0, or from `RATE_MIN` to `RATE_MAX`; int, float or Fraction.

    Raises:
        ConfigError: The value is no such number.

    >>> exact_rate("rate", 0.1)
    Fraction(1, 10)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise ConfigError(f"{name} must be a number per second, got {str(value)[:64]!r}")
    if value != 0 and not (RATE_MIN <= value <= RATE_MAX):
        allowed = f"0 or from {RATE_MIN:g} to {RATE_MAX:g} per second"
        shown = value if isinstance(value, int) else float(value)
        raise ConfigError(f"{name} must be {allowed}, got {str(shown)[:64]}")
    return rational(value)


def exact_rates(rates: dict[str, Any]) -> list[Fraction]:
    """Return rates as fractions, at least one of them positive.

    Raises:
        ConfigError: A rate is out of range, or all are 0.
    """
    found = [exact_rate(name, value) for name, value in rates.items()]
    if not any(found):
        raise ConfigError(f"{', '.join(rates)} must not all be 0: nobody would come")
    return found


def check_expected(rate: float, wait_max: float) -> None:
    """Refuse a rate and a wait whose product is out of range for formulas.

    Raises:
        ConfigError: rate * wait_max is too close to 0 or to infinity.
    """
    if not EXPECTED_MIN <= rate * wait_max <= EXPECTED_MAX:
        raise ConfigError(
            f"rate * wait_max must be from {EXPECTED_MIN:g} to {EXPECTED_MAX:g}, "
            f"got {rate:g} * {wait_max:g}"
        )


def rate_text(value: Fraction | float) -> str:
    """Return a rate for people to read: at most six digits, no needless zeros.

    >>> rate_text(Fraction(1, 20)), rate_text(0.3333333333)
    ('0.05', '0.333333')
    """
    return f"{float(value):.6g}" if math.isfinite(value) else "infinite"


def list_in_words(names: Iterable[str]) -> str:
    """Return names as a phrase.

    >>> list_in_words(["a"]), list_in_words(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = list(names)
    return f"{', '.join(first)} and {last}" if first else last
