"""The exact cost of greedy matches, bots included: what formula (2) leaves out."""

from __future__ import annotations

import math


def greedy_cost_exact(*, k: int, rate: float, wait_max: float) -> float:
    """Return the expected cost of a match of the first k players, with one criterion.

    With N more arrivals in the first player's `wait_max`, Poisson of mean rate * wait_max:

    - N >= k - 1: the criterion costs k (k-1)/(k+1). The last comes after S, Gamma(k-1), and the
      k - 2 between are uniform before it, so the waits are k S / 2 on the mean, and
      E[S; N >= k-1] = (k-1)/rate * P(N >= k).
    - N = m <= k - 2: the first waits `wait_max`, m others half of it, and k - 1 - m bots count
      as if they had waited it; the criterion costs its weight k.

    Args:
        k: Players of a match, >= 2.
        rate: Tickets per second.
        wait_max: Deadline in seconds, which costs 1.

    >>> round(greedy_cost_exact(k=2, rate=1, wait_max=5), 4)
    0.881
    """
    mean = rate * wait_max
    chance = [math.exp(m * math.log(mean) - mean - math.lgamma(m + 1)) for m in range(k)]
    full, one_more = 1.0 - math.fsum(chance[: k - 1]), 1.0 - math.fsum(chance)
    in_time = full * k * (k - 1) / (k + 1) + one_more * k * (k - 1) / (2.0 * mean)
    with_bots = math.fsum(chance[m] * (k + 1.0 + m / 2.0 + (k - 1 - m)) for m in range(k - 1))
    return in_time + with_bots
