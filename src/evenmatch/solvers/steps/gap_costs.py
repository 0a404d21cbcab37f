"""Waiting players on a line, by the value of one criterion, and the future cost of the gaps.

The functions were fitted to the exact solution for players who arrive all over the line, in units
of the length at which waiting and gaps balance.
"""

from __future__ import annotations

import math

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.pairs import FIRST_VALUE, TIME, Floats, unweighted_cost
from evenmatch.solvers.steps.price import GUESS, WORTH
from evenmatch.solvers.steps.skip_list import LEFT, RIGHT
from evenmatch.solvers.steps.waiting import NONE, PRICE, WAIT_MAX, WaitingRoster

IS_BOUNDED, LOW_END, HIGH_END, FALLS = range(GUESS + 1, GUESS + 5)
"""Numbers: 1 if all values lie in [0, 1]; the lowest and highest value at which players arrive; how
often silence has lowered the rate. The others are those of `price`."""
GAP_FAR, GAP_RISE, GAP_NEAR = 0.3443, 0.1555, 2.519
END_FAR, END_RISE, END_NEAR = 0.248, 0.295, 1.374
AGE_COST = 1.063


@kernel("float64(float64, float64)", inline=True)
def gap_value(gap: float, length: float) -> float:
    """Return the future cost of a gap between neighbours, over the weight; both are distances."""
    if not length > 0.0:
        return 0.0
    near = max(0.0, GAP_NEAR - gap / length)
    return length * (GAP_FAR + GAP_RISE * near * near)


@kernel("float64(float64, float64)", inline=True)
def end_value(gap: float, length: float) -> float:
    """Return the same for the gap between the first or last player and the end of the line."""
    if not length > 0.0:
        return 0.0
    near = max(0.0, END_NEAR - gap / length)
    return length * (END_FAR + END_RISE * near * near)


@kernel(
    "float64(float64[:,::1], float64[:,::1], float64[::1], float64[:,::1], int64, int64, float64)",
    inline=True,
)
def between(
    points: Floats,
    marks: Floats,
    numbers: Floats,
    terms: Floats,
    left: int,
    right: int,
    scale: float,
) -> float:
    """Return the future cost of the gap between two players if they were neighbours.

    `NONE` is an end of the line; between both ends nobody waits, and that costs nothing.
    """
    if left == NONE and right == NONE:
        return 0.0
    if left == NONE:
        gap = points[FIRST_VALUE, right] - numbers[LOW_END]
        return end_value(unweighted_cost(terms, 0, max(gap, 0.0)), scale * marks[WORTH, right])
    if right == NONE:
        gap = numbers[HIGH_END] - points[FIRST_VALUE, left]
        return end_value(unweighted_cost(terms, 0, max(gap, 0.0)), scale * marks[WORTH, left])
    gap = points[FIRST_VALUE, right] - points[FIRST_VALUE, left]
    length = 0.5 * scale * (marks[WORTH, left] + marks[WORTH, right])
    return gap_value(unweighted_cost(terms, 0, gap), length)


@kernel("float64(float64[:,::1], float64[::1], int64, float64)", inline=True)
def age_value(points: Floats, numbers: Floats, slot: int, now: float) -> float:
    """Return the future cost of a player's nearness to its deadline."""
    wait_max = numbers[WAIT_MAX]
    if wait_max == np.inf:
        return 0.0
    age: float = (now - points[TIME, slot]) / wait_max
    # The power 4.25, without the cost of computing a general power.
    square = age * age
    return AGE_COST * numbers[PRICE] * wait_max * square * square * math.sqrt(math.sqrt(age))


@kernel("float64(WaitingRoster, int64, int64, float64, float64)", inline=True)
def change(waiting: WaitingRoster, left: int, right: int, scale: float, now: float) -> float:
    """Return the change of the others' future cost, without ages, if two players go; negative."""
    points, marks, links = waiting.points, waiting.marks, waiting.links
    numbers, terms = waiting.numbers, waiting.terms
    before, after = links[LEFT, left], links[RIGHT, right]
    kept = between(points, marks, numbers, terms, before, left, scale) + between(
        points, marks, numbers, terms, right, after, scale
    )
    if links[RIGHT, left] == right:
        kept += between(points, marks, numbers, terms, left, right, scale)
        change = between(points, marks, numbers, terms, before, after, scale) - kept
    else:
        inner, outer = links[RIGHT, left], links[LEFT, right]
        kept += between(points, marks, numbers, terms, left, inner, scale) + between(
            points, marks, numbers, terms, outer, right, scale
        )
        if inner == outer:
            change = between(points, marks, numbers, terms, before, inner, scale) + between(
                points, marks, numbers, terms, inner, after, scale
            )
        else:
            change = between(points, marks, numbers, terms, before, inner, scale) + between(
                points, marks, numbers, terms, outer, after, scale
            )
        change -= kept
    ages = age_value(points, numbers, left, now) + age_value(points, numbers, right, now)
    return terms[0, 0] * change - ages
