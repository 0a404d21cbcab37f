"""Duels in which players may insist on one of two sides; some are flexible.

Three Poisson streams: players who insist on side a, players who insist on side b, and flexible
ones. A newcomer plays the longest waiting of those whom they may meet. Only one side can ever be
waiting, so a state is a whole number: i > 0 players of side a, or -i of side b, or one flexible
player. "Flexible" is the paper's "choice-free".

Source:
    M. Xu, Y. Yu and C. Wu, Rule Designs for Optimal Online Game Matchmaking, section IV. Its
    formulas (12)-(18) are right; `graph.compatibility_graph` gives the same fractions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.theory.rates import Exact, exact_rates
from evenmatch.theory.share_grid import check_parts, triangle
from evenmatch.theory.waiting_law import PhaseTypeLaw

STATES_MAX = 100_000


@dataclass(frozen=True)
class Sides:
    """Waits if players may choose sides; seconds and players per second.

    Attributes:
        stable: Whether the pool returns to empty in finite mean time.
        kind: If not, why: `transient`, the pool grows for ever; `null recurrent`, it empties
            again and again, but waits have no mean.
        growth: Players per second by which the waiting players of the crowded side grow, such as
            a - b - flexible; 0 if null recurrent, None if stable.
        starved: The crowded side, `a` or `b`; both if neither has anybody else to meet.
        mean, mean_a, mean_b, mean_flexible: Mean waits, None if infinite. For a class with rate 0,
            the wait of a single such player.
        p0: Probability that nobody waits.
        improvement_a, improvement_b: Mean wait of the flexible players over that of the side.
        exact: The same as fractions.
    """

    stable: bool
    kind: str | None
    growth: float | None
    starved: tuple[str, ...] = ()
    mean: float | None = None
    mean_a: float | None = None
    mean_b: float | None = None
    mean_flexible: float | None = None
    p0: float | None = None
    improvement_a: float | None = None
    improvement_b: float | None = None
    exact: Exact = field(default_factory=dict)

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {**vars(self), "starved": list(self.starved)}


def sides(*, a: float, b: float, flexible: float) -> Sides:
    """Return stability and waits of duels with sides.

    Args:
        a: Players per second who insist on side a, >= 0.
        b: Players per second who insist on side b, >= 0.
        flexible: Players per second who take either side, >= 0; at least one rate is positive.

    Raises:
        ConfigError: A rate is out of range, or all are 0.

    Source:
        Xu, Yu and Wu, Fact 3 (12), (13)-(17).

    >>> sides(a=0.3, b=0.3, flexible=0.4).exact["mean"]
    '121/116'
    >>> sides(a=0.5, b=0.2, flexible=0.2).growth
    0.1
    """
    rate_a, rate_b, rate_c = exact_rates({"a": a, "b": b, "flexible": flexible})
    spare_a, spare_b = rate_b + rate_c - rate_a, rate_a + rate_c - rate_b
    least = min(spare_a, spare_b)
    if least <= 0:
        crowded = tuple(side for side, spare in (("a", spare_a), ("b", spare_b)) if spare <= 0)
        kind = "transient" if least < 0 else "null recurrent"
        return Sides(False, kind, float(-least), crowded)
    total = rate_a + rate_b + rate_c
    p0 = 1 / (rate_a / spare_a + rate_b / spare_b + rate_c / total + 1)
    mean_a = (rate_b + rate_c) * p0 / spare_a**2
    mean_b = (rate_a + rate_c) * p0 / spare_b**2
    mean_c = p0 / total
    found = {
        "mean": (rate_a * mean_a + rate_b * mean_b + rate_c * mean_c) / total,
        "mean_a": mean_a,
        "mean_b": mean_b,
        "mean_flexible": mean_c,
        "p0": p0,
        "improvement_a": mean_c / mean_a,
        "improvement_b": mean_c / mean_b,
    }
    return Sides(
        stable=True,
        kind=None,
        growth=None,
        mean=float(found["mean"]),
        mean_a=float(mean_a),
        mean_b=float(mean_b),
        mean_flexible=float(mean_c),
        p0=float(p0),
        improvement_a=float(found["improvement_a"]),
        improvement_b=float(found["improvement_b"]),
        exact={key: str(value) for key, value in found.items()},
    )


def mean_by_formula(a: Fraction, b: Fraction, flexible: Fraction) -> Fraction:
    """Return the mean wait of a player by the paper's single formula.

    Args:
        a: Players per second who insist on side a.
        b: Players per second who insist on side b.
        flexible: Players per second who take either side, > |a - b|.

    Source:
        Xu, Yu and Wu, (16); equal to the mean of (13)-(15), which `sides` gives.
    """
    pairs = 2 * a * b + a * flexible + b * flexible + flexible**2
    return (
        1 / (2 * (a + flexible - b))
        + 1 / (2 * (b + flexible - a))
        + 1 / (a + b + flexible)
        - 1 / (2 * flexible)
        - (a + b + 2 * flexible) / (2 * pairs)
    )


def stationary_law(
    *, a: float, b: float, flexible: float, states: int = 100
) -> dict[int | str, float]:
    """Return the probabilities of the states of the pool.

    Args:
        a: Players per second who insist on side a.
        b: Players per second who insist on side b.
        flexible: Players per second who take either side, > |a - b|.
        states: Longest queue of a side that is listed.

    Returns:
        i > 0: that many of side a wait; i < 0: -i of side b; 0: nobody; "flexible": one flexible
        player (the state 1' of the paper's figure 8).

    Raises:
        ConfigError: There is no stationary law, or a number is out of range.

    Source:
        Xu, Yu and Wu, appendix VII-A.
    """
    found = sides(a=a, b=b, flexible=flexible)
    if found.p0 is None:
        raise ConfigError(
            f"a={a:g}, b={b:g}, flexible={flexible:g} has no stationary law: flexible must exceed "
            "the difference of a and b"
        )
    if not 1 <= states <= STATES_MAX:
        raise ConfigError(f"states must be from 1 to {STATES_MAX:,}, got {states}")
    p0 = found.p0
    law: dict[int | str, float] = {
        -i: p0 * (b / (a + flexible)) ** i if b else 0.0 for i in range(states, 0, -1)
    }
    law[0] = p0
    law.update({i: p0 * (a / (b + flexible)) ** i if a else 0.0 for i in range(1, states + 1)})
    law["flexible"] = p0 * flexible / (a + b + flexible)
    return law


def improvement_slope(b: float) -> float:
    """Return the derivative of side b's improvement by its share of all players.

    Args:
        b: Share of the players who insist on side b, in [0, 1/2); it is negative throughout.

    Source:
        Xu, Yu and Wu, (18).
    """
    if not 0 <= b < 0.5:
        raise ConfigError(f"b must be a share in [0, 0.5), got {b:g}")
    return 1 / (1 - b) ** 2 - 4


def figure_9(parts: int = 20) -> list[tuple[float, float, float | None]]:
    """Return (a, b, mean wait) on a grid of shares, one player per second in all.

    Args:
        parts: Number of parts of each axis, from 2 to 200.

    Source:
        Xu, Yu and Wu, figure 9; the mean is None where it is unstable.
    """
    grid = [(Fraction(i, parts), Fraction(j, parts)) for i, j in triangle(parts)]
    return [(float(a), float(b), _mean_of(a, b)) for a, b in grid]


def figure_10(parts: int = 50) -> list[tuple[float, float]]:
    """Return (a, mean wait) for b = .4 and one player per second, a below 1/2.

    Args:
        parts: Number of parts of [0, 1/2], from 2 to 200.

    Source:
        Xu, Yu and Wu, figure 10. The fall that it zooms in on is true and small: 1.8333 at a = 0,
        1.8312 at a = .147, 1.8796 at a = .3.
    """
    check_parts(parts)
    shares = [Fraction(i, 2 * parts) for i in range(parts)]
    found = [(float(a), _mean_of(a, Fraction(2, 5))) for a in shares]
    return [(a, mean) for a, mean in found if mean is not None]


def _mean_of(a: Fraction, b: Fraction) -> float | None:
    flexible = 1 - a - b
    return float(mean_by_formula(a, b, flexible)) if flexible > abs(a - b) else None


# The full law of a wait in duels with sides, not only the mean.
#
# If i players of side a wait, a newcomer of side a waits for i + 1 others who may play them, and i
# is geometric: a geometric number of exponential times is exponential again. So the wait of each
# class is 0 or exponential.
#
# Source:
#     M. Xu, Y. Yu and C. Wu, Rule Designs for Optimal Online Game Matchmaking, section IV, has the
#     stationary law (13)-(15) and the means; the law of the wait is not in the paper.


@dataclass(frozen=True, eq=False)
class SidesLaw:
    """Laws of the wait, seconds.

    Attributes:
        everybody: The law of a random player.
        a, b, flexible: The laws of the classes; at rate 0, that of a single such player.
    """

    everybody: PhaseTypeLaw
    a: PhaseTypeLaw
    b: PhaseTypeLaw
    flexible: PhaseTypeLaw


def sides_law(*, a: float, b: float, flexible: float) -> SidesLaw:
    """Return the laws of the waits in duels with sides.

    Args:
        a: Players per second who insist on side a, >= 0.
        b: Players per second who insist on side b, >= 0.
        flexible: Players per second who take either side, > |a - b|.

    Raises:
        ConfigError: Waits have no stationary law, or a rate is out of range.

    >>> law = sides_law(a=0.3, b=0.3, flexible=0.4)
    >>> round(law.a.mean, 6), round(law.everybody.quantile(0.9), 6)
    (1.508621, 3.341724)
    """
    found = sides(a=a, b=b, flexible=flexible)
    if not found.stable:
        raise ConfigError(
            f"a={a:g}, b={b:g}, flexible={flexible:g} has no stationary law: flexible must exceed "
            f"the difference of the sides, {abs(a - b):g}"
        )
    # In fractions, since near the boundary the differences have no digits in floats.
    rate_a, rate_b, rate_c = exact_rates({"a": a, "b": b, "flexible": flexible})
    p0, total = Fraction(found.exact["p0"]), rate_a + rate_b + rate_c
    spare_a, spare_b = rate_b + rate_c - rate_a, rate_a + rate_c - rate_b
    of_a = _zero_or_exponential((rate_b + rate_c) * p0 / spare_a, spare_a)
    of_b = _zero_or_exponential((rate_a + rate_c) * p0 / spare_b, spare_b)
    of_flexible = _zero_or_exponential(p0, total)
    shares = [float(rate / total) for rate in (rate_a, rate_b, rate_c)]
    return SidesLaw(
        PhaseTypeLaw.mixture([of_a, of_b, of_flexible], shares), of_a, of_b, of_flexible
    )


def _zero_or_exponential(p_wait: Fraction, rate: Fraction) -> PhaseTypeLaw:
    return PhaseTypeLaw(np.array([float(p_wait)]), np.zeros((1, 1)), np.array([float(rate)]))
