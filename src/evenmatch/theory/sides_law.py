"""The whole law of a wait in duels with sides, not the mean alone.

Where i players of side a wait, a newcomer of side a waits for i + 1 others who may play him, and i
is geometric: a geometric number of exponential times is exponential again. So each class waits 0
or an exponential time.

Source:
    M. Xu, Y. Yu and C. Wu, Rule Designs for Optimal Online Game Matchmaking, section IV, has the
    stationary law (13)-(15) and the means; the law of the wait is not in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.theory.sides import sides
from evenmatch.theory.waiting_law import PhaseTypeLaw


@dataclass(frozen=True, eq=False)
class SidesLaw:
    """Laws of the wait, seconds.

    Attributes:
        everybody: Of a random player.
        a, b, flexible: Of the classes; of a rate of 0, what a single such player would wait.
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
    p0 = sides(a=a, b=b, flexible=flexible).p0
    if p0 is None:
        raise ConfigError(
            f"a={a:g}, b={b:g}, flexible={flexible:g} has no stationary law: flexible must exceed "
            f"the difference of the sides, {abs(a - b):g}"
        )
    total = a + b + flexible
    of_a = _zero_or_exponential((b + flexible) * p0 / (b + flexible - a), b + flexible - a)
    of_b = _zero_or_exponential((a + flexible) * p0 / (a + flexible - b), a + flexible - b)
    of_flexible = _zero_or_exponential(p0, total)
    shares = [a / total, b / total, flexible / total]
    return SidesLaw(
        PhaseTypeLaw.mixture([of_a, of_b, of_flexible], shares), of_a, of_b, of_flexible
    )


def _zero_or_exponential(p_wait: float, rate: float) -> PhaseTypeLaw:
    return PhaseTypeLaw(np.array([p_wait]), np.zeros((1, 1)), np.array([rate]))
