"""The floor: what any policy must pay that does not know who comes next.

Duels with one criterion, uniform on [0, 1]; Poisson arrivals; a match costs `weight` times the
difference, a second of waiting costs 1/wait_max, and nobody is ever timed out. Waiting that is
spent is spent, and silence carries no news, so a good policy decides at arrivals only, by where
the waiting players stand. With [0, 1] cut into m cells, each empty or occupied, that is a Markov
decision process of 2^m states, solved exactly by relative value iteration.

A policy that sees cells only, and matches two players of one cell at once, could really be used,
and the mean distances between and within cells are exact; so each grid's value is attained, and
the true floor is at or below it. Distances on a grid are multiples of its width, which suits some
grids better than others: the least of several is taken. The error that is left falls about with
the square of the width; grids with half as many cells show how much it is.

Source:
    Puterman, Markov Decision Processes (1994), section 8.5: relative value iteration, bounds.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ConfigError
from evenmatch.theory.rates import check_expected

Floats = NDArray[np.float64]
FINE, COARSE = (14, 16, 18), (7, 8, 9)
"""Numbers of cells of the grids, and of those with half as many."""
TOLERANCE = 1e-5
"""Relative distance of the bounds of value iteration at which it stops."""
ITERATIONS_MAX = 20_000


def floor(*, rate: float, weight: float, wait_max: float) -> dict[str, float]:
    """Return the least long-run cost of any policy without foreknowledge.

    Args:
        rate: Tickets per second, > 0.
        weight: Cost of a criterion difference of 1, > 0.
        wait_max: Seconds of waiting that cost 1, > 0; nobody is timed out.

    Returns:
        `cost_per_match` and `cost_per_player`, half of it; `error_per_match`, an estimate of how
        much lower the true floor is.

    Raises:
        ConfigError: A number is out of range.

    Complexity:
        O(cells^2 * 2^cells) per iteration; about 5 s in all.
    """
    for name, value in (("rate", rate), ("weight", weight), ("wait_max", wait_max)):
        if not (0.0 < value < math.inf):
            raise ConfigError(f"{name} must be > 0 and finite, got {value:g}")
    check_expected(rate, wait_max)
    hold = 1.0 / (rate * wait_max)
    fine, coarse = (
        min(2.0 * cost_on_grid(cells, weight=weight, hold=hold) for cells in grids)
        for grids in (FINE, COARSE)
    )
    # At half the width, an error that falls with the square has lost three parts of four.
    return {
        "cost_per_match": fine,
        "cost_per_player": fine / 2.0,
        "error_per_match": max(0.0, coarse - fine) / 3.0,
    }


def cost_on_grid(cells: int, *, weight: float, hold: float) -> float:
    """Return the least cost per arrival on a grid of cells.

    Args:
        cells: Number of cells.
        weight: Cost of a difference of 1.
        hold: Cost of one player's waiting between two arrivals.

    Returns:
        The middle of bounds that are closer than `TOLERANCE` of it.
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
        # Half steps: the number of waiting players is odd and even in turn.
        values += 0.5 * change
        values -= values.flat[0]
        if high - low <= TOLERANCE * max(high, 1e-300):
            return (low + high) / 2.0
    raise ConfigError("floor found no answer: rate, weight and wait_max are too far apart")


def _at(cells: int, fixed: dict[int, int]) -> tuple[slice | int, ...]:
    """Return the index of the states in which some cells are as given."""
    return tuple(fixed.get(cell, slice(None)) for cell in range(cells))


def _after_matching(values: Floats, weight: float, cells: int) -> Floats:
    """Return the value of each pool when pairs may be matched before waiting goes on."""
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
