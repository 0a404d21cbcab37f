"""What it is worth to a waiting player that others will come: the price of pairing it now."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def break_even(costs: NDArray[np.float64], gain: float) -> float:
    """Return the cost T at which taking a partner and waiting for the next are equally good.

    An arrival Y saves (T - cost(x, Y))+ against T; T is where the mean of that is `gain`. The
    costs of the last arrivals stand for those to come, so T is large where players are rare.

    Args:
        costs: Of pairing the player with each of the last arrivals; inf where forbidden.
        gain: The mean saving that pays for the wait, > 0.

    Returns:
        T; inf if no pair is possible.

    Complexity:
        O(m log m) for m costs.

    >>> break_even(np.array([0.0, 0.5, 4.0]), 0.5)
    1.0
    """
    found = np.sort(costs[np.isfinite(costs)])
    if not len(found):
        return float("inf")
    tops = (gain * len(costs) + np.cumsum(found)) / np.arange(1, len(found) + 1)
    # With the k cheapest below T, T is right if the next is not below it.
    is_right = tops[:-1] <= found[1:]
    return float(tops[int(np.argmax(is_right))] if is_right.any() else tops[-1])
