"""Wu's queue of two skills: match at once, or wait for one more player and an even match.

Each period one player joins the pool, high with probability q and low otherwise. A match takes 2n
waiting players and costs alpha for each of them if its teams cannot have equally many high ones,
that is, if their number is odd; a player who waits for a period costs `wait_price / rate`. The
*greedy* policy matches whenever 2n wait. The *patient* one matches 2n only without imbalance; of
2n + 1 players, 2n without imbalance can always be chosen.

One period is one arrival, so that time has no unit in the paper. In time units, with `rate`
players per second and `wait_price` per player-second, its alpha is alpha * rate / wait_price.

Source:
    Q. Wu, Dynamic Matching With Teams, section 3.

Differs from the paper:
    At q = 0 and q = 1, Lemma 3.2 and "patient costs n" are false: no match is ever imbalanced, the
    two policies are the same, and both cost n - 1/2. The costs do not converge to that: at q = .05
    the patient policy still costs exactly n. `test_edges_are_no_limit` shows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from evenmatch.errors import ConfigError
from evenmatch.theory.rates import rational

Pool = tuple[int, int]
"""Number of waiting high and low players."""
Best = Literal["greedy", "patient", "tie"]

N_MAX = 1000
"""The largest team: powers of q are exact, and have 2n times its digits."""
LAW_N_MAX = 50
"""The largest team of `patient_law`, which holds 2n(n + 1) fractions."""
EXACT_BITS_MAX = 256
"""Longer fractions are given only as floats."""


@dataclass(frozen=True)
class WuCosts:
    """The costs of the two policies, and which is lower.

    Args:
        greedy_cost: Per period, that is, per arriving player.
        patient_cost: Likewise.
        threshold: The alpha from which on waiting pays; None if it never does.
        best: The policy that costs less; `tie` if they cost the same.
        pi: Share of periods in which k wait under the patient policy just before an arrival, for
            k = 0 .. 2n.
        states: Pools that occur under the patient policy.
        exact: Figures as fractions, unless they are too long to be read.
    """

    greedy_cost: float
    patient_cost: float
    threshold: float | None
    best: Best
    pi: tuple[float, ...]
    states: int
    exact: dict[str, Any]

    def figures(self) -> dict[str, Any]:
        """Return the output of `evenmatch theory wu --json`."""
        return {**vars(self), "pi": list(self.pi)}


def wu(*, n: int, q: float, alpha: float, rate: float = 1.0, wait_price: float = 1.0) -> WuCosts:
    """Return the costs of greedy and patient matching of two skills.

    Args:
        n: Players of a team, 1 to `N_MAX`.
        q: Probability that a player is high, in [0, 1].
        alpha: Cost per player of a match whose teams differ by one high player, >= 0.
        rate: Players per second, > 0; by default a period is the unit of time.
        wait_price: Cost of a player's waiting, per second, > 0.

    Raises:
        ConfigError: A number is out of range.

    Complexity:
        O(n) numbers, and a power of q with 2n times its digits.

    Source:
        Wu, section 3: Lemma 3.2, the costs after it, Theorem 3.3. See the module for q in {0, 1}.

    >>> found = wu(n=2, q=0.3, alpha=1)
    >>> found.patient_cost, found.exact["greedy_cost"], found.best
    (2.0, '1242/625', 'greedy')
    """
    _check(n, q)
    _check_price("alpha", alpha, is_positive=False)
    _check_price("rate", rate)
    _check_price("wait_price", wait_price)
    price = rational(wait_price) / rational(rate)
    odd = odd_share(n=n, q=q)
    greedy = price * Fraction(2 * n - 1, 2) + rational(alpha) * odd
    patient = price * (n if odd else Fraction(2 * n - 1, 2))
    threshold = price / (2 * odd) if odd else None
    pi = waiting_law(n=n, q=q)
    exact = {
        name: str(value)
        for name, value in (("greedy_cost", greedy), ("patient_cost", patient))
        if _is_short(value)
    }
    if threshold is not None and _is_short(threshold):
        exact["threshold"] = str(threshold)
    return WuCosts(
        greedy_cost=float(greedy),
        patient_cost=float(patient),
        threshold=None if threshold is None else float(threshold),
        best="tie" if greedy == patient else "greedy" if greedy < patient else "patient",
        pi=tuple(map(float, pi)),
        states=2 * n * (n + 1) if odd else 2 * n,
        exact={**exact, "pi": list(map(str, pi))},
    )


def odd_share(*, n: int, q: float) -> Fraction:
    """Return the probability that 2n players have an odd number of high ones, exactly.

    It is the share of greedy's matches with an imbalance: (1 - (2q - 1)^(2n)) / 2.

    >>> odd_share(n=1, q=0.5)
    Fraction(1, 2)
    """
    _check(n, q)
    return (1 - (2 * rational(q) - 1) ** (2 * n)) / 2


def waiting_law(*, n: int, q: float) -> tuple[Fraction, ...]:
    """Return the share of periods in which k wait under the patient policy, for k = 0 .. 2n.

    Args:
        n: Players of a team.
        q: Probability that a player is high; 0 and 1 are special.

    Returns:
        Shares of periods, seen just before an arrival.

    Source:
        Wu, after Lemma 3.2, for 0 < q < 1.
    """
    _check(n, q)
    if q in (0.0, 1.0):
        return (*(Fraction(1, 2 * n),) * (2 * n), Fraction(0))
    end = Fraction(1, 4 * n)
    return (end, *(2 * end,) * (2 * n - 1), end)


def patient_law(*, n: int, q: float) -> dict[Pool, Fraction]:
    """Return the share of periods of each pool under the patient policy, started empty.

    Between two visits to a single player the pool only grows, so it consists of the first player
    and of independent others. How often that first one is high or low follows from the balance of
    these two states alone; so Lemma 3.2 is a result here and not an assumption.

    Args:
        n: Players of a team, at most `LAW_N_MAX`.
        q: Probability that a player is high.

    Returns:
        (high, low) -> share of periods, just before an arrival: 2n(n + 1) pools for 0 < q < 1,
        2n at the edges. They sum to 1.

    Raises:
        ConfigError: A number is out of range.

    Complexity:
        O(n^2) additions of fractions.

    Source:
        Wu, Lemma 3.2 and the transitions before it.

    >>> [str(share) for share in patient_law(n=1, q=0.2).values()]
    ['1/4', '1/4', '1/4', '1/4']
    """
    _check(n, q)
    if n > LAW_N_MAX:
        raise ConfigError(f"n must be at most {LAW_N_MAX} for the law of all pools, got {n}")
    high = rational(q)
    low = 1 - high
    if not high or not low:
        share = Fraction(1, 2 * n)
        return {(k, 0) if high else (0, k): share for k in range(2 * n)}
    from_high, from_low = (_grown(first, n, high) for first in ((1, 0), (0, 1)))
    stuck_high, stuck_low = (_stuck(law, n) for law in (from_high, from_low))
    # The low one is alone after an empty pool and a low arrival, or a stuck pool and a high one.
    of_high = low * (1 - stuck_high) + high * stuck_high
    of_low = 1 - low * (1 - stuck_low) - high * stuck_low
    weight_high, weight_low = of_low / (of_high + of_low), of_high / (of_high + of_low)
    law = {(0, 0): weight_high * (1 - stuck_high) + weight_low * (1 - stuck_low)}
    for pool in sorted({*from_high, *from_low}, key=lambda pool: (sum(pool), pool)):
        if sum(pool) < 2 * n or pool[0] % 2:
            law[pool] = weight_high * from_high.get(pool, 0) + weight_low * from_low.get(pool, 0)
    total = sum(law.values())
    return {pool: share / total for pool, share in law.items()}


def _grown(first: Pool, n: int, high: Fraction) -> dict[Pool, Fraction]:
    """Return the probability of each pool that grows from a first one until 2n wait."""
    law = {first: Fraction(1)}
    level = dict(law)
    for _ in range(2 * n - 1):
        following: dict[Pool, Fraction] = {}
        for (u, v), share in level.items():
            following[u + 1, v] = following.get((u + 1, v), Fraction(0)) + share * high
            following[u, v + 1] = following.get((u, v + 1), Fraction(0)) + share * (1 - high)
        level = following
        law |= level
    return law


def _stuck(law: dict[Pool, Fraction], n: int) -> Fraction:
    """Return the probability that 2n gather with an odd number of high ones."""
    return sum((share for (u, v), share in law.items() if u + v == 2 * n and u % 2), Fraction(0))


def _is_short(value: Fraction) -> bool:
    return value.numerator.bit_length() + value.denominator.bit_length() <= EXACT_BITS_MAX


def _check(n: int, q: float) -> None:
    if not 1 <= n <= N_MAX:
        raise ConfigError(f"n must be from 1 to {N_MAX}, got {n}")
    if not 0.0 <= q <= 1.0:
        raise ConfigError(f"q must be a probability from 0 to 1, got {q:g}")


def _check_price(name: str, value: float, *, is_positive: bool = True) -> None:
    if not (0.0 <= value < math.inf and (value or not is_positive)):
        least = "> 0" if is_positive else ">= 0"
        raise ConfigError(f"{name} must be {least} and finite, got {value:g}")
