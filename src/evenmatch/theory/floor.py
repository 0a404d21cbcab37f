"""The floor: a cost that no policy without knowledge of future arrivals can undercut.

Duels with one criterion, uniform on [0, 1]; Poisson arrivals; a match costs `weight` times the
difference, and a second of waiting costs 1/wait_max. The floor is proved for every policy without
foreknowledge, whatever its state, its timing or its randomness:

1. Let n players wait when somebody arrives. The waiting between two arrivals costs `hold` times n
   on average, hold = 1/(rate * wait_max): since the policy does not know the next arrival, its
   instant is that of a Poisson process.
2. In each match, one player came later than the other, who waited already. Wherever the n players
   are, they cover at most 2 n d of [0, 1] up to a distance d, and the newcomer's place is uniform.
   So if the newcomer is such a later player with probability p, the arrival adds at least
   weight * p^2 / (4 n) to the mean distance: the contribution of the nearest newcomers.
3. hold * n + weight * p^2 / (4 n) >= p * s for every n >= 1 and p in [0, 1], with
   s = sqrt(weight * hold), and s = hold + weight/4 if hold > weight/4 (then n = 1 is the
   minimum). With n = 0, no newcomer can be the later player: p = 0.
4. Summed over all arrivals, p is the number of matches; so a match costs at least s on average,
   even in a sequence that ends, and even if some players are never matched.

Two policies bound how far the optimum can be above the floor. Brackets of equal width without a
deadline cost weight/(3 r) + r * hold per match. With [0, 1] cut into m cells, each empty or
occupied, the best policy that sees only cells, and matches two players of one cell at once, is a
Markov decision process of 2^m states, solved by relative value iteration; mean distances between
and within cells are exact, so its value is attained. Distances on a grid are multiples of its
width, which suits some grids better than others, so the least of several is taken.

Source:
    Puterman, Markov Decision Processes (1994), section 8.5: relative value iteration, bounds. The
    proof of the floor is ours.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ConfigError
from evenmatch.theory.rates import check_expected

Floats = NDArray[np.float64]
GRIDS = (14, 16, 18)
"""Numbers of cells of the grids."""
TOLERANCE = 1e-5
"""Relative distance of the bounds at which value iteration stops."""
ITERATIONS_MAX = 20_000


def floor(*, rate: float, weight: float, wait_max: float) -> dict[str, float]:
    """Return a lower bound on the mean cost of any policy without foreknowledge; see the module.

    Args:
        rate: Tickets per second, > 0.
        weight: Cost of a criterion difference of 1, > 0.
        wait_max: Seconds of waiting that cost 1, > 0.

    Returns:
        `cost_per_match` and `cost_per_player`, half of it: proved lower bounds.
        `error_per_match`: by how much the optimum may exceed `cost_per_match`, since a policy at
        that distance is known.

    Raises:
        ConfigError: A number is out of range.

    Complexity:
        O(cells^2 * 2^cells) per iteration; about 5 s in all.
    """
    least = least_cost(rate=rate, weight=weight, wait_max=wait_max)
    hold = 1.0 / (rate * wait_max)
    known = min(
        cost_of_brackets(weight=weight, hold=hold),
        *(2.0 * cost_on_grid(cells, weight=weight, hold=hold) for cells in GRIDS),
    )
    return {
        "cost_per_match": least,
        "cost_per_player": least / 2.0,
        "error_per_match": max(0.0, known - least),
    }


def least_cost(*, rate: float, weight: float, wait_max: float) -> float:
    """Return a proved lower bound on the mean cost per match, without foreknowledge.

    Args:
        rate: Tickets per second, > 0.
        weight: Cost of a criterion difference of 1, > 0.
        wait_max: Seconds of waiting that cost 1, > 0.

    Raises:
        ConfigError: A number is out of range.

    >>> round(least_cost(rate=10, weight=2, wait_max=5), 3)
    0.2
    """
    for name, value in (("rate", rate), ("weight", weight), ("wait_max", wait_max)):
        if not (0.0 < value < math.inf):
            raise ConfigError(f"{name} must be > 0 and finite, got {value:g}")
    check_expected(rate, wait_max)
    hold = 1.0 / (rate * wait_max)
    return math.sqrt(weight * hold) if hold <= weight / 4.0 else hold + weight / 4.0


def cost_of_brackets(*, weight: float, hold: float) -> float:
    """Return the cost per match of the best number of brackets, each with its own pool.

    >>> round(cost_of_brackets(weight=2.0, hold=1 / 50), 4)
    0.2311
    """
    best = math.sqrt(weight / (3.0 * hold))
    counts = (max(1, math.floor(best)), math.floor(best) + 1)
    return min(weight / (3.0 * count) + count * hold for count in counts)


def cost_on_grid(cells: int, *, weight: float, hold: float) -> float:
    """Return the least cost per arrival on a grid of cells.

    Args:
        cells: Number of cells.
        weight: Cost of a difference of 1.
        hold: Cost of one player's waiting between two arrivals.

    Returns:
        The middle of two bounds whose relative distance is below `TOLERANCE`.
    """
    counts = np.zeros((2,) * cells)
    for cell in range(cells):
        counts[_at(cells, {cell: 1})] += 1.0
    values: Floats = np.zeros((2,) * cells)
    same = weight / (3.0 * cells)
    for _ in range(ITERATIONS_MAX):
        after = _after_matching(values, weight, cells)
        new = hold * counts + _mean_over_arrivals(after, same, cells)
        change = new - values
        low, high = float(change.min()), float(change.max())
        # Half steps, since the number of waiting players alternates between odd and even.
        values += 0.5 * change
        values -= values.flat[0]
        if high - low <= TOLERANCE * max(high, 1e-300):
            return (low + high) / 2.0
    raise ConfigError("floor found no answer: rate, weight and wait_max are too far apart")


def _at(cells: int, fixed: dict[int, int]) -> tuple[slice | int, ...]:
    """Return the index of the states in which some cells have given contents."""
    return tuple(fixed.get(cell, slice(None)) for cell in range(cells))


def _after_matching(values: Floats, weight: float, cells: int) -> Floats:
    """Return the value of each pool if pairs may be matched before the wait goes on."""
    after = values.copy()
    for gap in range(1, cells):
        cost = weight * gap / cells
        for one in range(cells - gap):
            both = _at(cells, {one: 1, one + gap: 1})
            none = _at(cells, {one: 0, one + gap: 0})
            after[both] = np.minimum(after[both], cost + after[none])
    return after


def _mean_over_arrivals(after: Floats, same: float, cells: int) -> Floats:
    """Return the mean value after an arrival; one in an occupied cell is matched at once.

    Two points of one cell are a third of its width apart on average.
    """
    total: Floats = np.zeros_like(after)
    for cell in range(cells):
        empty, taken = _at(cells, {cell: 0}), _at(cells, {cell: 1})
        total[empty] += after[taken]
        total[taken] += same + after[empty]
    return total / cells
