"""Duels in two zones; some experts are flexible and play in either.

Three Poisson streams: juniors, who play in their zone; experts, who play in theirs; flexible
experts, who wait in both. A newcomer plays the longest waiting of those whom they may meet. At most
one player waits in each zone, so there are six states: nobody, a junior, an expert, both with the
junior first, both with the expert first, a flexible one. "Flexible" is the paper's "choice-free".

Source:
    M. Xu, Y. Yu and C. Wu, Rule Designs for Optimal Online Game Matchmaking, section V. Its
    formulas (19)-(25) and (35)-(39) are right; `graph.compatibility_graph` gives the same
    fractions.

Differs from the paper:
    (40) must read pi_B for pi_2, and in figure 8 an arc "lambda_1" is lambda_A. The text says that
    a crowded junior zone leaves no reason to be flexible; its (25) says the opposite, and so does
    its next paragraph: that is when flexible players save most. And flexible players shorten the
    mean wait of all players together, but not of the remaining experts, who wait longer; see the
    tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from evenmatch.theory.rates import Exact, exact_rates
from evenmatch.theory.share_grid import triangle

STATES = ("nobody", "junior", "expert", "junior_expert", "expert_junior", "flexible")
"""Who waits, longest first."""


@dataclass(frozen=True)
class Zones:
    """Waits in two zones; seconds. Zones are always stable.

    Attributes:
        mean, mean_junior, mean_expert, mean_flexible: Mean waits. That of a class with rate 0 is
            what a single such player would wait; None where they would never play.
        improvement: mean_flexible / mean_expert; None where an expert would never play.
        p0: Probability that nobody waits.
        exact: The same as fractions.
    """

    mean: float
    mean_junior: float | None
    mean_expert: float | None
    mean_flexible: float
    improvement: float | None
    p0: float
    exact: Exact

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return dict(vars(self))


def zones(*, junior: float, expert: float, flexible: float) -> Zones:
    """Return the waits of duels in two zones.

    Args:
        junior: Players per second who play in the junior zone only, >= 0.
        expert: Players per second who play in the expert zone only, >= 0.
        flexible: Players per second who wait in both, >= 0; at least one rate is positive.

    Raises:
        ConfigError: A rate is out of range, or all are 0.

    Source:
        Xu, Yu and Wu, (19)-(23).

    >>> zones(junior=0.3, expert=0.3, flexible=0.4).exact["mean"]
    '31/44'
    """
    a, b, c = exact_rates({"junior": junior, "expert": expert, "flexible": flexible})
    p0 = _law(a, b, c)["nobody"]
    mean_a, mean_b = _mean_of_zone(a, b, c, p0), _mean_of_zone(b, a, c, p0)
    mean_c = p0 / (a + b + c)
    waiting = (a * mean_a if mean_a else 0) + (b * mean_b if mean_b else 0) + c * mean_c
    mean = waiting / (a + b + c)
    improvement = mean_c / mean_b if mean_b else None
    found = {
        "mean": mean,
        "mean_junior": mean_a,
        "mean_expert": mean_b,
        "mean_flexible": mean_c,
        "improvement": improvement,
        "p0": p0,
    }
    return Zones(
        mean=float(mean),
        mean_junior=float(mean_a) if mean_a else None,
        mean_expert=float(mean_b) if mean_b else None,
        mean_flexible=float(mean_c),
        improvement=float(improvement) if improvement else None,
        p0=float(p0),
        exact={key: str(value) for key, value in found.items() if value is not None},
    )


def stationary_law(*, junior: float, expert: float, flexible: float) -> dict[str, Fraction]:
    """Return the probability of each of `STATES`.

    Args:
        junior: Players per second who play in the junior zone only.
        expert: Players per second who play in the expert zone only.
        flexible: Players per second who wait in both.

    Raises:
        ConfigError: A rate is out of range, or all are 0.

    Source:
        Xu, Yu and Wu, (35)-(39).
    """
    return _law(*exact_rates({"junior": junior, "expert": expert, "flexible": flexible}))


def _law(a: Fraction, b: Fraction, c: Fraction) -> dict[str, Fraction]:
    total = a + b + c
    # A zone whose players never come stays empty; without the test it would be 0/0.
    in_a = a / (a + c) if a else Fraction(0)
    in_b = b / (b + c) if b else Fraction(0)
    weights = (Fraction(1), in_a, in_b, in_a * b / total, in_b * a / total, c / total)
    every = sum(weights)
    return {state: weight / every for state, weight in zip(STATES, weights, strict=True)}


def _mean_of_zone(own: Fraction, other: Fraction, c: Fraction, p0: Fraction) -> Fraction | None:
    """Return the mean wait of those who play in one zone only; None if nobody can meet them."""
    total = own + other + c
    if own + c == 0:
        return None
    if other + c == 0:
        return p0 / own
    above = 2 * own * other + own * c + 2 * other**2 + 4 * other * c + c**2
    return above * p0 / ((own + c) * (other + c) * total)


def figure_12(parts: int = 20) -> list[tuple[float, float, float]]:
    """Return (junior, flexible, improvement) on a grid of shares, one player per second in all.

    Args:
        parts: Into how many parts the axes are cut, from 2 to 200.

    Source:
        Xu, Yu and Wu, figure 12. For flexible = 0 it is (1 - junior) / 2, (25).
    """
    shares = [(Fraction(i, parts), Fraction(j, parts)) for i, j in triangle(parts) if 0 < i < parts]
    return [(float(a), float(c), _improvement(a, c)) for a, c in shares]


def figure_13(parts: int = 20) -> list[tuple[float, float, float]]:
    """Return (junior, expert, mean wait) on a grid of shares, one player per second in all.

    Args:
        parts: Into how many parts the axes are cut, from 2 to 200.

    Source:
        Xu, Yu and Wu, figure 13.
    """
    found = []
    for i, j in triangle(parts):
        a, b = Fraction(i, parts), Fraction(j, parts)
        law = _law(a, b, 1 - a - b)
        # By Little's law, at one player per second.
        waiting = 1 - law["nobody"] + law["junior_expert"] + law["expert_junior"]
        found.append((float(a), float(b), float(waiting)))
    return found


def _improvement(a: Fraction, c: Fraction) -> float:
    """Return (23) for one player per second and a > 0."""
    b = 1 - a - c
    above = (a + c) * (b + c)
    return float(above / (2 * a * a + 2 * a * b + 4 * a * c + b * c + c * c))
